#include "../conditional.h"
#include "../json.h"
#include "endpoints.h"

static void unless_known(const struct request *request, struct response *response) {
    struct text etag = response_etag(response);
    if (conditional_none_match(request->if_none_match, etag)) {
        response_empty(response, 304);
    }
}

void category_read(const struct request *request, struct response *response) {
    if (!request_query(request, response, NULL, 0, NULL)) {
        return;
    }
    struct db_statement *statement = db_statement(
        request->db, "SELECT id AS \"id\", name AS \"name\" FROM categories WHERE id = :id");
    db_bind_integer(statement, ":id", request->id);
    if (!db_row(statement)) {
        response_problem(response, 404, "there is no category with this id");
        return;
    }
    response_json(response, 200);
    json_row(&response->body, statement);
    unless_known(request, response);
}

/* The address of the page behind the row of this id. */
static struct text next_page(const struct request *request, int64_t after, int64_t limit) {
    struct buffer url = {.arena = request->arena};
    buffer_append(&url, request->prefix);
    buffer_append(&url, TEXT("/categories?after="));
    buffer_append_integer(&url, after);
    buffer_append(&url, TEXT("&limit="));
    buffer_append_integer(&url, limit);
    return buffer_text(&url);
}

void category_list(const struct request *request, struct response *response) {
    static const struct parameter parameters[] = {
        {"limit", 1, 100, 20},
        {"after", 0, INT64_MAX, 0},
    };
    int64_t values[2];
    if (!request_query(request, response, parameters, 2, values)) {
        return;
    }
    int64_t limit = values[0];
    /* one row more than asked for tells whether there is a next page */
    struct db_statement *statement =
        db_statement(request->db, "SELECT id AS \"id\", name AS \"name\" FROM categories"
                                  " WHERE id > :after ORDER BY id LIMIT :limit + 1");
    db_bind_integer(statement, ":limit", limit);
    db_bind_integer(statement, ":after", values[1]);
    struct buffer *body = &response->body;
    int64_t last = 0;
    int64_t rows = 0;
    response_json(response, 200);
    buffer_append(body, TEXT("{\"items\":["));
    bool more = db_row(statement);
    for (; more && rows < limit; more = db_row(statement)) {
        if (rows++ > 0) {
            buffer_append(body, TEXT(","));
        }
        json_row(body, statement);
        last = db_integer(statement, 0);
    }
    buffer_append(body, TEXT("],\"next\":"));
    if (more) {
        struct text next = next_page(request, last, limit);
        json_string(body, next);
        struct buffer link = {.arena = request->arena};
        buffer_append(&link, TEXT("<"));
        buffer_append(&link, next);
        buffer_append(&link, TEXT(">; rel=\"next\""));
        response_header(response, TEXT("Link"), buffer_text(&link));
    } else {
        buffer_append(body, TEXT("null"));
    }
    buffer_append(body, TEXT("}"));
    unless_known(request, response);
}
