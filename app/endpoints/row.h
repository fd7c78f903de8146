/* row: what every resource does with one row by its id: show it, read it, guard a change, answer a
 * creation. A resource says how its row is selected, and what to call it. */
#ifndef LARDER_ROW_H
#define LARDER_ROW_H

#include "../db.h"
#include "../request.h"
#include "../response.h"

struct row_kind {
    struct db_statement *(*by_id)(struct db *db); /* a SELECT with the parameter :id */
    const char *noun; /* "product", for "there is no product with this id" */
    const char *path; /* "/products/" */
};

/* Appends the row to the body. Returns false when there is none. */
bool row_append(const struct row_kind *kind, const struct request *request,
                struct response *response, int64_t id);

/* Answers with the row, or with 404 and false. */
bool row_show(const struct row_kind *kind, const struct request *request, struct response *response,
              int status, int64_t id);

/* The whole of GET /…/{id}: 200 with ETag, 304, 400 or 404. */
void row_read(const struct row_kind *kind, const struct request *request,
              struct response *response);

/* The beginning of PUT, PATCH and DELETE /…/{id}: returns true, and the response is fresh, when the
 * row is there and in the state the client asks for; else it has been answered with 400, 404 or
 * 412. */
bool row_may_change(const struct row_kind *kind, const struct request *request,
                    struct response *response);

/* Answers with the row as it is after a change: 200 and ETag. */
void row_changed(const struct row_kind *kind, const struct request *request,
                 struct response *response);

/* Answers with a new row: 201, ETag and Location. */
void row_created(const struct row_kind *kind, const struct request *request,
                 struct response *response, int64_t id);

#endif
