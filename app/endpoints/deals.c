#include "../body.h"
#include "../conditional.h"
#include "endpoints.h"
#include "idempotency.h"
#include "row.h"

/* The representation: the aliases are the JSON. */
#define DEAL                                                                                       \
    "SELECT d.id AS \"id\", d.title AS \"title\", d.amount_cents AS \"amount_cents\","             \
    "       d.status AS \"status\", u.id AS \"owner.id\", u.name AS \"owner.name\","               \
    "       d.created_at AS \"created_at\" "                                                       \
    "  FROM deals d JOIN users u ON u.id = d.owner_id WHERE d.id = :id"

static const char *const statuses[] = {"open", "won", "lost", NULL};

static const struct field fields[] = {
    {":title", FIELD_TEXT, 1, 200},
    {":amount_cents", FIELD_INTEGER, 0, INT64_C(1000000000000000)},
    {":status", FIELD_WORD, .optional = true, .words = statuses},
};

/* ---- reading -------------------------------------------------------------------------------- */

static struct db_statement *by_id(struct db *db) {
    return db_statement(db, DEAL);
}

static const struct row_kind kind = {by_id, "deal", DEAL_PATH};

void deal_read(const struct request *request, struct response *response) {
    row_read(&kind, request, response);
}

/* From the counts that triggers keep (schema.sql). */
static int64_t count(struct db *db, const struct parameter_value *status) {
    struct db_statement *statement = NULL;
    if (status->given) {
        statement = db_statement(db, "SELECT count FROM deal_counts WHERE status = :status");
        db_bind_text(statement, ":status", status->text);
    } else {
        statement = db_statement(
            db, "SELECT sum(count) FROM deal_counts WHERE status IN ('open', 'won', 'lost')");
    }
    return db_row(statement) ? db_integer(statement, 0) : 0;
}

/* The page's ids come from an index alone, however far down it is; only its own rows are read. */
static void append_page(const struct request *request, struct response *response, int64_t offset,
                        int64_t limit, const struct parameter_value *status) {
    struct db_statement *statement =
        status->given
            ? db_statement(request->db, "SELECT id FROM deals WHERE status = :status"
                                        " ORDER BY created_at DESC, id DESC"
                                        " LIMIT :limit OFFSET :offset")
            : db_statement(request->db, "SELECT id FROM deals ORDER BY created_at DESC, id DESC"
                                        " LIMIT :limit OFFSET :offset");
    db_bind_integer(statement, ":limit", limit);
    db_bind_integer(statement, ":offset", offset);
    if (status->given) {
        db_bind_text(statement, ":status", status->text);
    }
    for (bool first = true; db_row(statement); first = false) {
        buffer_append(&response->body, first ? TEXT("") : TEXT(","));
        row_append(&kind, request, response, db_integer(statement, 0));
    }
}

void deal_list(const struct request *request, struct response *response) {
    enum { PAGE, PER_PAGE, STATUS, COUNT };
    static const struct parameter parameters[COUNT] = {
        {"page", PARAMETER_INTEGER, 1, INT64_MAX, .standard = 1},
        {"per_page", PARAMETER_INTEGER, 1, 100, .standard = 20},
        {"status", PARAMETER_WORD, .words = statuses},
    };
    struct parameter_value values[COUNT];
    if (!request_query(request, response, parameters, COUNT, values)) {
        return;
    }
    int64_t page = values[PAGE].integer;
    int64_t per_page = values[PER_PAGE].integer;
    int64_t total = count(request->db, &values[STATUS]);
    int64_t pages = (total + per_page - 1) / per_page;
    struct buffer *body = &response->body;
    response_json(response, 200);
    buffer_append(body, TEXT("{\"items\":["));
    if (page <= pages) { /* so that page times per_page cannot overflow */
        append_page(request, response, (page - 1) * per_page, per_page, &values[STATUS]);
    }
    buffer_append(body, TEXT("],\"page\":"));
    buffer_append_integer(body, page);
    buffer_append(body, TEXT(",\"per_page\":"));
    buffer_append_integer(body, per_page);
    buffer_append(body, TEXT(",\"total\":"));
    buffer_append_integer(body, total);
    buffer_append(body, TEXT(",\"pages\":"));
    buffer_append_integer(body, pages);
    buffer_append(body, TEXT("}"));
    conditional_read(request, response);
}

/* ---- writing -------------------------------------------------------------------------------- */

static void insert(const struct request *request, struct response *response,
                   const struct body *body) {
    struct db_statement *statement = db_statement(
        request->db, "INSERT INTO deals (title, amount_cents, status, owner_id, created_at)"
                     " VALUES (:title, :amount_cents, :status, :owner, :now)");
    body_bind(body, statement);
    db_bind_integer(statement, ":owner", request->user);
    db_bind_text(statement, ":now", request->now);
    db_run(statement);
    int64_t id = db_inserted_id(request->db);
    row_created(&kind, request, response, id);
    idempotency_keep(request, response, id);
}

void deal_create(const struct request *request, struct response *response) {
    struct body body;
    if (!request_query(request, response, NULL, 0, NULL) ||
        !idempotency_check_key(request, response) ||
        !body_open(&body, request, response, BODY_JSON)) {
        return;
    }
    if (!body_read(&body, BODY_ROOT, fields, sizeof fields / sizeof *fields, BODY_FULL)) {
        body_refuse(&body, response, 422);
    } else if (idempotency_begin(request, response)) {
        insert(request, response, &body);
    }
}

static bool is_owner(const struct request *request) {
    struct db_statement *statement =
        db_statement(request->db, "SELECT owner_id FROM deals WHERE id = :id");
    db_bind_integer(statement, ":id", request->id);
    return db_row(statement) && db_integer(statement, 0) == request->user;
}

void deal_delete(const struct request *request, struct response *response) {
    if (!request_query(request, response, NULL, 0, NULL) ||
        !row_show(&kind, request, response, 200, request->id)) {
        return;
    }
    if (!is_owner(request)) {
        response_problem(response, 403, "the deal belongs to somebody else");
    } else if (conditional_change(request, response)) {
        struct db_statement *statement =
            db_statement(request->db, "DELETE FROM deals WHERE id = :id");
        db_bind_integer(statement, ":id", request->id);
        db_run(statement);
        response_empty(response, 204);
    }
}
