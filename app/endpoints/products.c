#include "../body.h"
#include "endpoints.h"
#include "list.h"
#include "row.h"
#include "search.h"

/* The representation: the aliases are the JSON. */
#define PRODUCT_COLUMNS                                                                            \
    "SELECT p.id AS \"id\", p.sku AS \"sku\", p.name AS \"name\","                                 \
    "       p.price_cents AS \"price_cents\", p.stock AS \"stock\","                               \
    "       c.id AS \"category.id\", c.name AS \"category.name\","                                 \
    "       p.created_at AS \"created_at\", p.updated_at AS \"updated_at\" "
#define PRODUCT PRODUCT_COLUMNS "FROM products p JOIN categories c ON c.id = p.category_id "
#define PRODUCT_MATCHES                                                                            \
    PRODUCT_COLUMNS "FROM products_search s JOIN products p ON p.id = s.rowid"                     \
                    " JOIN categories c ON c.id = p.category_id"                                   \
                    " WHERE s.products_search MATCH :q AND s.rowid > :after "

enum { BULK_LIMIT = 1000 };

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

enum { FIELD_COUNT = sizeof fields / sizeof *fields };

#define SKU_TAKEN "another product has this sku"

/* ---- reading -------------------------------------------------------------------------------- */

static struct db_statement *by_id(struct db *db) {
    return db_statement(db, PRODUCT "WHERE p.id = :id");
}

static const struct row_kind kind = {by_id, "product", "/products/"};

void product_read(const struct request *request, struct response *response) {
    row_read(&kind, request, response);
}

void product_list(const struct request *request, struct response *response) {
    enum { CATEGORY = LIST_FILTERS, Q, COUNT };
    static const struct parameter parameters[COUNT] = {
        LIST_PARAMETERS,
        {"category_id", PARAMETER_INTEGER, 1, INT64_MAX},
        {"q", PARAMETER_TEXT, 1, 100},
    };
    struct parameter_value values[COUNT];
    if (!request_query(request, response, parameters, COUNT, values)) {
        return;
    }
    struct db *db = request->db;
    struct db_statement *statement = NULL;
    bool in_category = values[CATEGORY].given;
    if (values[Q].given) {
        struct text expression = search_expression(request->arena, values[Q].text);
        if (expression.length == 0) {
            request_refuse_parameter(request, response, TEXT("q"), "has no word in it");
            return;
        }
        statement = in_category
                        ? db_statement(db, PRODUCT_MATCHES "AND p.category_id = :category_id"
                                                           " ORDER BY s.rowid LIMIT :limit + 1")
                        : db_statement(db, PRODUCT_MATCHES "ORDER BY s.rowid LIMIT :limit + 1");
        db_bind_text(statement, ":q", expression);
    } else {
        statement =
            in_category
                ? db_statement(db, PRODUCT "WHERE p.category_id = :category_id AND p.id > :after"
                                           " ORDER BY p.id LIMIT :limit + 1")
                : db_statement(db, PRODUCT "WHERE p.id > :after ORDER BY p.id LIMIT :limit + 1");
    }
    if (in_category) {
        db_bind_integer(statement, ":category_id", values[CATEGORY].integer);
    }
    list_write(request, response, statement, "/products", parameters, COUNT, values);
}

/* ---- creating ------------------------------------------------------------------------------- */

/* Inserts what the body holds. Returns the id, 0 after noting that the sku is taken. */
static int64_t insert(struct body *body) {
    struct db *db = body->request->db;
    struct db_statement *statement = db_statement(
        db,
        "INSERT INTO products (sku, name, price_cents, stock, category_id, created_at, updated_at)"
        " VALUES (:sku, :name, :price_cents, :stock, :category_id, :now, :now)");
    body_bind(body, statement);
    db_bind_text(statement, ":now", body->request->now);
    if (db_run(statement) == DB_UNIQUE) {
        body_error(body, "sku", SKU_TAKEN);
        return 0;
    }
    return db_inserted_id(db);
}

/* All or nothing: an answer other than 2xx undoes the rows before the error. */
static void create_all(struct body *body, struct response *response) {
    int64_t count = body_elements(body);
    if (count < 1 || count > BULK_LIMIT) {
        body_error(body, NULL, "must have 1 to 1000 elements");
    }
    int status = 422;
    response_json(response, 201);
    buffer_append(&response->body, TEXT("{\"items\":["));
    for (int i = 0; count <= BULK_LIMIT && i < count; i++) {
        if (!body_read(body, i, fields, FIELD_COUNT, BODY_FULL)) {
            status = 422;
        } else if (body->error_count == 0 || status == 409) {
            int64_t id = insert(body);
            if (id == 0) {
                status = 409;
            } else if (body->error_count == 0) {
                buffer_append(&response->body, i == 0 ? TEXT("") : TEXT(","));
                row_append(&kind, body->request, response, id);
            }
        }
    }
    buffer_append(&response->body, TEXT("]}"));
    if (body->error_count > 0) {
        body_refuse(body, response, status);
    }
}

static void create_one(struct body *body, struct response *response) {
    if (!body_read(body, BODY_ROOT, fields, FIELD_COUNT, BODY_FULL)) {
        body_refuse(body, response, 422);
        return;
    }
    const struct request *request = body->request;
    int64_t id = insert(body);
    if (id == 0) {
        response_problem(response, 409, SKU_TAKEN);
        return;
    }
    row_created(&kind, request, response, id);
}

void product_create(const struct request *request, struct response *response) {
    struct body body;
    if (!request_query(request, response, NULL, 0, NULL) ||
        !body_open(&body, request, response, BODY_JSON)) {
        return;
    }
    if (body_elements(&body) >= 0) {
        create_all(&body, response);
    } else {
        create_one(&body, response);
    }
}

/* ---- changing ------------------------------------------------------------------------------- */

static void update(const struct request *request, struct response *response, enum body_media media,
                   enum body_mode mode) {
    struct body body;
    if (!row_may_change(&kind, request, response) || !body_open(&body, request, response, media)) {
        return;
    }
    if (!body_read(&body, BODY_ROOT, fields, FIELD_COUNT, mode)) {
        body_refuse(&body, response, 422);
        return;
    }
    if (body_gives_any(&body)) {
        struct db_statement *statement = db_statement(
            request->db,
            "UPDATE products SET sku = coalesce(:sku, sku), name = coalesce(:name, name),"
            " price_cents = coalesce(:price_cents, price_cents), stock = coalesce(:stock, stock),"
            " category_id = coalesce(:category_id, category_id), updated_at = :now"
            " WHERE id = :id");
        body_bind(&body, statement);
        db_bind_text(statement, ":now", request->now);
        db_bind_integer(statement, ":id", request->id);
        if (db_run(statement) == DB_UNIQUE) {
            response_problem(response, 409, SKU_TAKEN);
            return;
        }
    }
    row_changed(&kind, request, response);
}

void product_replace(const struct request *request, struct response *response) {
    update(request, response, BODY_JSON, BODY_FULL);
}

void product_patch(const struct request *request, struct response *response) {
    update(request, response, BODY_MERGE_PATCH, BODY_PARTIAL);
}

void product_delete(const struct request *request, struct response *response) {
    if (row_may_change(&kind, request, response)) {
        struct db_statement *statement =
            db_statement(request->db, "DELETE FROM products WHERE id = :id");
        db_bind_integer(statement, ":id", request->id);
        db_run(statement);
        response_empty(response, 204);
    }
}
