#include "../body.h"
#include "endpoints.h"
#include "list.h"
#include "row.h"

#define CATEGORY "SELECT id AS \"id\", name AS \"name\" FROM categories "

static const struct field fields[] = {{":name", FIELD_TEXT, 1, 100}};

static struct db_statement *by_id(struct db *db) {
    return db_statement(db, CATEGORY "WHERE id = :id");
}

static const struct row_kind kind = {by_id, "category", "/categories/"};

void category_read(const struct request *request, struct response *response) {
    row_read(&kind, request, response);
}

void category_list(const struct request *request, struct response *response) {
    static const struct parameter parameters[] = {LIST_PARAMETERS};
    struct parameter_value values[LIST_FILTERS];
    if (request_query(request, response, parameters, LIST_FILTERS, values)) {
        list_write(
            request, response,
            db_statement(request->db, CATEGORY "WHERE id > :after ORDER BY id LIMIT :limit + 1"),
            "/categories", parameters, LIST_FILTERS, values);
    }
}

/* Reads the body and runs the statement with it. Returns false when the response is the answer. */
static bool write_name(const struct request *request, struct response *response,
                       struct db_statement *(*statement)(const struct request *request)) {
    struct body body;
    if (!body_open(&body, request, response, BODY_JSON)) {
        return false;
    }
    if (!body_read(&body, BODY_ROOT, fields, 1, BODY_FULL)) {
        body_refuse(&body, response, 422);
        return false;
    }
    struct db_statement *write = statement(request);
    body_bind(&body, write);
    if (db_run(write) == DB_UNIQUE) {
        response_problem(response, 409, "another category has this name");
        return false;
    }
    return true;
}

static struct db_statement *insert(const struct request *request) {
    return db_statement(request->db, "INSERT INTO categories (name) VALUES (:name)");
}

static struct db_statement *rename_one(const struct request *request) {
    struct db_statement *statement =
        db_statement(request->db, "UPDATE categories SET name = :name WHERE id = :id");
    db_bind_integer(statement, ":id", request->id);
    return statement;
}

void category_create(const struct request *request, struct response *response) {
    if (request_query(request, response, NULL, 0, NULL) && write_name(request, response, insert)) {
        row_created(&kind, request, response, db_inserted_id(request->db));
    }
}

void category_replace(const struct request *request, struct response *response) {
    if (row_may_change(&kind, request, response) && write_name(request, response, rename_one)) {
        row_changed(&kind, request, response);
    }
}

void category_delete(const struct request *request, struct response *response) {
    if (!row_may_change(&kind, request, response)) {
        return;
    }
    struct db_statement *statement =
        db_statement(request->db, "DELETE FROM categories WHERE id = :id");
    db_bind_integer(statement, ":id", request->id);
    if (db_run(statement) == DB_REFERENCE) {
        response_problem(response, 409, "a product is in this category");
    } else {
        response_empty(response, 204);
    }
}
