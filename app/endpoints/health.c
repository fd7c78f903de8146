#include "../db.h"
#include "../schema.h"
#include "../scoreboard.h"
#include "endpoints.h"

void health(const struct request *request, struct response *response) {
    if (request_query(request, response, NULL, 0, NULL)) {
        response->status = 200;
        response->content_type = TEXT("text/plain");
        buffer_append(&response->body, TEXT("ok"));
    }
}

void ready(const struct request *request, struct response *response) {
    if (!request_query(request, response, NULL, 0, NULL)) {
        return;
    }
    struct db_statement *statement = db_statement(
        request->db,
        "SELECT user_version, (SELECT max(id) FROM categories) FROM pragma_user_version");
    bool schema = db_row(statement) && db_integer(statement, 0) == SCHEMA_VERSION;
    bool database = db_failure(request->db) == DB_FINE;
    bool writer = scoreboard_has_writer(request->scoreboard);
    db_clear_failure(request->db); /* to tell of it is this route's answer */
    if (database && schema && writer) {
        response_json(response, 200);
        buffer_append(&response->body, TEXT("{\"ready\":true"));
    } else {
        response_problem_open(response, 503, TEXT("a part of the service is not ready"));
        buffer_append(&response->body, TEXT(",\"ready\":false"));
    }
    buffer_append(&response->body, TEXT(",\"database\":"));
    buffer_append(&response->body, database ? TEXT("true") : TEXT("false"));
    buffer_append(&response->body, TEXT(",\"schema\":"));
    buffer_append(&response->body, schema ? TEXT("true") : TEXT("false"));
    buffer_append(&response->body, TEXT(",\"writer\":"));
    buffer_append(&response->body, writer ? TEXT("true}") : TEXT("false}"));
}
