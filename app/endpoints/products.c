#include "../body.h"
#include "../conditional.h"
#include "../json.h"
#include "endpoints.h"

/* The representation: the aliases are the JSON. */
#define SELECT_PRODUCT                                                                             \
    "SELECT p.id AS \"id\", p.sku AS \"sku\", p.name AS \"name\","                                 \
    "       p.price_cents AS \"price_cents\", p.stock AS \"stock\","                               \
    "       c.id AS \"category.id\", c.name AS \"category.name\","                                 \
    "       p.created_at AS \"created_at\", p.updated_at AS \"updated_at\""                        \
    "  FROM products p JOIN categories c ON c.id = p.category_id "

static bool category_exists(struct db *db, int64_t id) {
    struct db_statement *statement = db_statement(db, "SELECT 1 FROM categories WHERE id = :id");
    db_bind_integer(statement, ":id", id);
    return db_row(statement);
}

static const struct field fields[] = {
    {":sku", FIELD_TOKEN, 1, 64},
    {":name", FIELD_TEXT, 1, 200},
    {":price_cents", FIELD_INTEGER, 0, INT64_C(1000000000000)},
    {":stock", FIELD_INTEGER, 0, 1000000000, .optional = true},
    {":category_id", FIELD_REFERENCE, 1, INT64_MAX, .exists = category_exists},
};

/* Answers with the product and its ETag; with 404 when there is none, and returns an empty tag. */
static struct text show(const struct request *request, struct response *response, int status,
                        int64_t id) {
    struct db_statement *statement = db_statement(request->db, SELECT_PRODUCT "WHERE p.id = :id");
    db_bind_integer(statement, ":id", id);
    if (!db_row(statement)) {
        response_problem(response, 404, "there is no product with this id");
        return (struct text){0};
    }
    response_json(response, status);
    json_row(&response->body, statement);
    return response_etag(response);
}

void product_read(const struct request *request, struct response *response) {
    if (!request_query(request, response, NULL, 0, NULL)) {
        return;
    }
    struct text etag = show(request, response, 200, request->id);
    if (etag.length > 0 && conditional_none_match(request->if_none_match, etag)) {
        response_empty(response, 304);
    }
}

void product_create(const struct request *request, struct response *response) {
    struct body body;
    if (!request_query(request, response, NULL, 0, NULL) ||
        !body_check(request, response, fields, sizeof fields / sizeof *fields, &body)) {
        return;
    }
    struct db_statement *statement = db_statement(
        request->db,
        "INSERT INTO products (sku, name, price_cents, stock, category_id, created_at, updated_at)"
        " VALUES (:sku, :name, :price_cents, :stock, :category_id, :now, :now)");
    body_bind(&body, statement);
    db_bind_text(statement, ":now", request->now);
    if (db_run(statement) == DB_UNIQUE) {
        response_problem(response, 409, "another product has this sku");
        return;
    }
    int64_t id = db_inserted_id(request->db);
    show(request, response, 201, id);
    struct buffer location = {.arena = request->arena};
    buffer_append(&location, request->prefix);
    buffer_append(&location, TEXT("/products/"));
    buffer_append_integer(&location, id);
    response_header(response, TEXT("Location"), buffer_text(&location));
}

void product_delete(const struct request *request, struct response *response) {
    if (!request_query(request, response, NULL, 0, NULL)) {
        return;
    }
    if (request->if_match.length > 0) {
        struct text etag = show(request, response, 200, request->id);
        if (etag.length == 0) {
            return;
        }
        if (!conditional_match(request->if_match, etag)) {
            response_problem(response, 412, "the product has changed since; read it again");
            return;
        }
        response_start(response, request->arena);
    }
    struct db_statement *statement =
        db_statement(request->db, "DELETE FROM products WHERE id = :id");
    db_bind_integer(statement, ":id", request->id);
    db_run(statement);
    if (db_changes(request->db) == 0) {
        response_problem(response, 404, "there is no product with this id");
    } else {
        response_empty(response, 204);
    }
}
