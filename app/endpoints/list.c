#include "list.h"

#include "../conditional.h"
#include "../json.h"

/* The address of the page behind the row of this id. */
static struct text next_page(const struct request *request, const char *path, int64_t after,
                             const struct parameter *table, int count,
                             const struct parameter_value *values) {
    struct buffer url = {.arena = request->arena};
    buffer_append(&url, request->prefix);
    buffer_append(&url, text_from(path));
    buffer_append(&url, TEXT("?after="));
    buffer_append_integer(&url, after);
    buffer_append(&url, TEXT("&limit="));
    buffer_append_integer(&url, values[LIST_LIMIT].integer);
    for (int i = LIST_FILTERS; i < count; i++) {
        if (!values[i].given) {
            continue;
        }
        buffer_append(&url, TEXT("&"));
        buffer_append(&url, text_from(table[i].name));
        buffer_append(&url, TEXT("="));
        if (table[i].type == PARAMETER_INTEGER) {
            buffer_append_integer(&url, values[i].integer);
        } else {
            char *place = buffer_reserve(&url, 3 * values[i].text.length);
            url.length += text_percent_encode(values[i].text, place);
        }
    }
    return buffer_text(&url);
}

void list_write(const struct request *request, struct response *response,
                struct db_statement *statement, const char *path, const struct parameter *table,
                int count, const struct parameter_value *values) {
    struct buffer *body = &response->body;
    int64_t last = 0;
    int64_t rows = 0;
    db_bind_integer(statement, ":limit", values[LIST_LIMIT].integer);
    db_bind_integer(statement, ":after", values[LIST_AFTER].integer);
    response_json(response, 200);
    buffer_append(body, TEXT("{\"items\":["));
    bool more = db_row(statement);
    for (; more && rows < values[LIST_LIMIT].integer; more = db_row(statement)) {
        if (rows++ > 0) {
            buffer_append(body, TEXT(","));
        }
        json_row(body, statement);
        last = db_integer(statement, 0);
    }
    buffer_append(body, TEXT("],\"next\":"));
    if (more) {
        struct text next = next_page(request, path, last, table, count, values);
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
    conditional_read(request, response);
}
