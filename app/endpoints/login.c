#include "../body.h"
#include "../json.h"
#include "../jwt.h"
#include "../password.h"
#include "../utc.h"
#include "endpoints.h"

enum { EMAIL, PASSWORD };

static const struct field fields[] = {
    [EMAIL] = {":email", FIELD_STRING, 1, 254},
    [PASSWORD] = {":password", FIELD_STRING, 1, 200},
};

/* Returns the user of the pair, 0 for any other. One lookup and one hash, whether or not there is
 * such a user: an answer's time tells nobody who has an account. */
static int64_t find_user(struct db *db, const struct body *body) {
    struct db_statement *statement =
        db_statement(db, "SELECT id, active, password_hash FROM users WHERE email = :email");
    body_bind(body, statement);
    bool found = db_row(statement);
    struct text hash = found ? db_text(statement, 2) : TEXT("");
    bool matches = password_matches(hash, body->values[PASSWORD].text);
    return found && matches && db_integer(statement, 1) == 1 ? db_integer(statement, 0) : 0;
}

void login(const struct request *request, struct response *response) {
    struct body body;
    if (!request_query(request, response, NULL, 0, NULL) ||
        !body_open(&body, request, response, BODY_JSON)) {
        return;
    }
    if (!body_read(&body, BODY_ROOT, fields, sizeof fields / sizeof *fields, BODY_FULL)) {
        body_refuse(&body, response, 422);
        return;
    }
    int64_t user = find_user(request->db, &body);
    if (user == 0) {
        response_problem(response, 401, "the email or the password is wrong");
        response_header(response, TEXT("WWW-Authenticate"), TEXT("Bearer"));
        return;
    }
    char expires_at[UTC_BYTES];
    struct buffer *out = &response->body;
    utc_format(request->now_s + request->tokens->ttl_s, expires_at);
    response_json(response, 200);
    response_header(response, TEXT("Cache-Control"), TEXT("no-store"));
    buffer_append(out, TEXT("{\"token\":\""));
    jwt_sign(request->tokens, user, request->now_s, request->tokens->ttl_s, out);
    buffer_append(out, TEXT("\",\"expires_at\":\""));
    buffer_append(out, text_from(expires_at));
    buffer_append(out, TEXT("\"}"));
}
