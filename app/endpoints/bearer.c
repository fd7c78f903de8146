#include "bearer.h"

#include "../db.h"
#include "../jwt.h"

static bool is_active(struct db *db, int64_t user) {
    struct db_statement *statement =
        db_statement(db, "SELECT 1 FROM users WHERE id = :id AND active = 1");
    db_bind_integer(statement, ":id", user);
    return db_row(statement);
}

bool bearer_check(struct request *request, struct response *response) {
    struct text token = request->authorization;
    struct text scheme;
    int64_t user = 0;
    if (text_split(&token, ' ', &scheme) && token.data != NULL &&
        text_equals_ignoring_case(scheme, TEXT("Bearer"))) {
        user = jwt_verify(request->tokens, text_trim(token), request->now_s, request->arena);
    }
    if (user != 0 && is_active(request->db, user)) {
        request->user = user;
        return true;
    }
    response_problem(response, 401, "a valid token is needed: Authorization: Bearer TOKEN");
    response_header(response, TEXT("WWW-Authenticate"), TEXT("Bearer error=\"invalid_token\""));
    return false;
}
