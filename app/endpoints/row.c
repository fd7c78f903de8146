#include "row.h"

#include "../conditional.h"
#include "../json.h"

bool row_append(const struct row_kind *kind, const struct request *request,
                struct response *response, int64_t id) {
    struct db_statement *statement = kind->by_id(request->db);
    db_bind_integer(statement, ":id", id);
    if (!db_row(statement)) {
        return false;
    }
    json_row(&response->body, statement);
    return true;
}

bool row_show(const struct row_kind *kind, const struct request *request, struct response *response,
              int status, int64_t id) {
    response_json(response, status);
    if (!row_append(kind, request, response, id)) {
        response_problem(response, 404, "there is no %s with this id", kind->noun);
        return false;
    }
    return true;
}

void row_read(const struct row_kind *kind, const struct request *request,
              struct response *response) {
    if (request_query(request, response, NULL, 0, NULL) &&
        row_show(kind, request, response, 200, request->id)) {
        conditional_read(request, response);
    }
}

bool row_may_change(const struct row_kind *kind, const struct request *request,
                    struct response *response) {
    return request_query(request, response, NULL, 0, NULL) &&
           row_show(kind, request, response, 200, request->id) &&
           conditional_change(request, response);
}

void row_changed(const struct row_kind *kind, const struct request *request,
                 struct response *response) {
    if (row_show(kind, request, response, 200, request->id)) {
        response_etag(response);
    }
}

void row_created(const struct row_kind *kind, const struct request *request,
                 struct response *response, int64_t id) {
    if (row_show(kind, request, response, 201, id)) {
        response_etag(response);
        response_location(response, request->prefix, kind->path, id);
    }
}
