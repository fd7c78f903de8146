/* list: pages of rows in order of id, each naming the next (keyset pagination).
 *
 * The statement selects one row more than the page has: that row only tells that there is a next
 * page. */
#ifndef LARDER_LIST_H
#define LARDER_LIST_H

#include "../db.h"
#include "../request.h"
#include "../response.h"

/* The parameters that every list takes, for a handler's table, and where they stand in it. */
#define LIST_PARAMETERS                                                                            \
    {"limit", PARAMETER_INTEGER, 1, 100, .standard = 20}, {                                        \
        "after", PARAMETER_INTEGER, 0, INT64_MAX, .standard = 0                                    \
    }
enum { LIST_LIMIT, LIST_AFTER, LIST_FILTERS };

/* Binds :limit and :after, writes {"items": […], "next": …}, and the Link header (RFC 8288). The
 * first column must be the id. path is the list's address below the prefix; table and values are
 * what request_query() read, and go into the next page's address. Answers 304 when the client has
 * the page. */
void list_write(const struct request *request, struct response *response,
                struct db_statement *statement, const char *path, const struct parameter *table,
                int count, const struct parameter_value *values);

#endif
