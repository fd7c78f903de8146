#include "idempotency.h"

#include <sodium.h>

#include "../db.h"
#include "../utc.h"

enum { HASH_BYTES = 2 * crypto_hash_sha256_BYTES + 1 };

bool idempotency_check_key(const struct request *request, struct response *response) {
    struct text key = request->idempotency_key;
    bool valid = key.length <= IDEMPOTENCY_KEY_BYTES;
    for (size_t i = 0; i < key.length; i++) {
        valid &= key.data[i] > ' ' && key.data[i] <= '~';
    }
    if (!valid) {
        response_problem(response, 400, "Idempotency-Key must be 1 to %d visible ASCII characters",
                         IDEMPOTENCY_KEY_BYTES);
    }
    return valid;
}

static struct text hash_body(const struct request *request) {
    unsigned char hash[crypto_hash_sha256_BYTES];
    char *hex = arena_alloc(request->arena, HASH_BYTES);
    crypto_hash_sha256(hash, (const unsigned char *)request->body.data, request->body.length);
    sodium_bin2hex(hex, HASH_BYTES, hash, sizeof hash);
    return (struct text){.data = hex, .length = HASH_BYTES - 1};
}

/* Answers of this time and before are forgotten. */
static struct text expired(const struct request *request) {
    char *time = arena_alloc(request->arena, UTC_BYTES);
    utc_format(request->now_s - IDEMPOTENCY_KEPT_S, time);
    return (struct text){.data = time, .length = UTC_BYTES - 1};
}

bool idempotency_begin(const struct request *request, struct response *response) {
    if (request->idempotency_key.length == 0) {
        return true;
    }
    struct db_statement *statement = db_statement(
        request->db, "SELECT body_hash, deal_id, answer FROM idempotency_keys"
                     " WHERE user_id = :user AND key = :key AND created_at > :expired");
    db_bind_integer(statement, ":user", request->user);
    db_bind_text(statement, ":key", request->idempotency_key);
    db_bind_text(statement, ":expired", expired(request));
    if (!db_row(statement)) {
        return true;
    }
    if (!text_equals(db_text(statement, 0), hash_body(request))) {
        response_problem_open(response, 422, TEXT("the Idempotency-Key was used before"));
        buffer_append(&response->body,
                      TEXT(",\"errors\":[{\"pointer\":\"\",\"detail\":"
                           "\"is not the body that was sent with this Idempotency-Key first\"}]}"));
        return false;
    }
    response_json(response, 201);
    buffer_append(&response->body, db_text(statement, 2));
    response_etag(response);
    response_location(response, request->prefix, DEAL_PATH, db_integer(statement, 1));
    response_header(response, TEXT("Idempotency-Replayed"), TEXT("true"));
    return false;
}

void idempotency_keep(const struct request *request, const struct response *response,
                      int64_t deal) {
    if (request->idempotency_key.length == 0) {
        return;
    }
    struct db_statement *statement = db_statement(
        request->db,
        "DELETE FROM idempotency_keys WHERE rowid IN (SELECT rowid FROM idempotency_keys"
        " WHERE created_at <= :expired ORDER BY created_at LIMIT 4)");
    db_bind_text(statement, ":expired", expired(request));
    db_run(statement);
    /* replace: an expired row of the same key may still be there */
    statement = db_statement(request->db, "INSERT OR REPLACE INTO idempotency_keys"
                                          " (user_id, key, body_hash, deal_id, answer, created_at)"
                                          " VALUES (:user, :key, :hash, :deal, :answer, :now)");
    db_bind_integer(statement, ":user", request->user);
    db_bind_text(statement, ":key", request->idempotency_key);
    db_bind_text(statement, ":hash", hash_body(request));
    db_bind_integer(statement, ":deal", deal);
    db_bind_text(statement, ":answer", buffer_text(&response->body));
    db_bind_text(statement, ":now", request->now);
    db_run(statement);
}
