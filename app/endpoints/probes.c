/* The endpoints that published comparisons measure. */
#include "../db.h"
#include "../json.h"
#include "../random.h"
#include "endpoints.h"

enum { WORLD_ROWS = 10000, QUERIES_LIMIT = 500 };

static void message(struct response *response, struct text text) {
    response_json(response, 200);
    buffer_append(&response->body, TEXT("{\"message\":"));
    json_string(&response->body, text);
    buffer_append(&response->body, TEXT("}"));
}

void probe_greet(const struct request *request, struct response *response) {
    static const struct parameter parameters[] = {{"name", PARAMETER_TEXT, 1, 100}};
    struct parameter_value name;
    if (!request_query(request, response, parameters, 1, &name)) {
        return;
    }
    if (!name.given) {
        request_refuse_parameter(request, response, TEXT("name"), "is required");
        return;
    }
    struct buffer greeting = {.arena = request->arena};
    buffer_append(&greeting, TEXT("hello, "));
    buffer_append(&greeting, name.text);
    message(response, buffer_text(&greeting));
}

void probe_json(const struct request *request, struct response *response) {
    if (request_query(request, response, NULL, 0, NULL)) {
        message(response, TEXT("Hello, World!"));
    }
}

static void append_world_row(const struct request *request, struct response *response) {
    struct db_statement *statement = db_statement(
        request->db,
        "SELECT id AS \"id\", random_number AS \"randomNumber\" FROM world WHERE id = :id");
    uint64_t random = random_next(request->random) >> 32;
    db_bind_integer(statement, ":id", (int64_t)(random * WORLD_ROWS >> 32) + 1);
    if (db_row(statement)) {
        json_row(&response->body, statement);
    } else {
        response_problem(response, 404, "the table world is empty: it comes with the demo data");
    }
}

void probe_db(const struct request *request, struct response *response) {
    if (request_query(request, response, NULL, 0, NULL)) {
        response_json(response, 200);
        append_world_row(request, response);
    }
}

static struct text decoded(const struct request *request, struct text text) {
    char *output = arena_alloc(request->arena, text.length);
    ptrdiff_t length = text_percent_decode(text, true, output);
    return (struct text){.data = output, .length = length < 0 ? 0 : (size_t)length};
}

/* The one parameter in the contract that is clamped, never refused. */
static int64_t queries_wanted(const struct request *request) {
    struct text query = request->query;
    struct text pair;
    while (text_split(&query, '&', &pair)) {
        struct text name;
        int64_t count = 0;
        if (!text_split(&pair, '=', &name) ||
            !text_equals(decoded(request, name), TEXT("queries"))) {
            continue;
        }
        struct text value = decoded(request, pair);
        bool digits = value.length > 0;
        for (size_t i = 0; i < value.length; i++) {
            digits = digits && value.data[i] >= '0' && value.data[i] <= '9';
        }
        while (digits && value.length > 1 && value.data[0] == '0') {
            value.data++;
            value.length--;
        }
        if (digits && !text_integer(value, 0, QUERIES_LIMIT, &count)) {
            count = QUERIES_LIMIT;
        }
        return count < 1 ? 1 : count;
    }
    return 1;
}

void probe_queries(const struct request *request, struct response *response) {
    int64_t count = queries_wanted(request);
    response_json(response, 200);
    buffer_append(&response->body, TEXT("["));
    for (int64_t i = 0; i < count && response->status == 200; i++) {
        if (i > 0) {
            buffer_append(&response->body, TEXT(","));
        }
        append_world_row(request, response);
    }
    if (response->status == 200) {
        buffer_append(&response->body, TEXT("]"));
    }
}

void probe_wait(const struct request *request, struct response *response) {
    static const struct parameter parameters[] = {
        {"ms", PARAMETER_INTEGER, 0, 30000, .standard = 1000}};
    struct parameter_value ms;
    if (request_query(request, response, parameters, 1, &ms)) {
        response_json(response, 200);
        buffer_append(&response->body, TEXT("{\"waited_ms\":"));
        buffer_append_integer(&response->body, ms.integer);
        buffer_append(&response->body, TEXT("}"));
        response->delay_ms = ms.integer;
    }
}
