/* routes: the one table of all routes, and the way from a request to its handler. */
#ifndef LARDER_ROUTES_H
#define LARDER_ROUTES_H

#include <stdbool.h>

#include "request.h"
#include "response.h"

/* Serves one request: fills the response. Reads and writes only through request->db, never blocks
 * otherwise, keeps nothing. An answer other than 2xx undoes what the handler wrote. */
typedef void handler(const struct request *request, struct response *response);

/* Which worker may serve a route: nginx sends reads to the readers, the rest to the one writer. */
enum lane { LANE_READ = 1, LANE_WRITE = 2 };

struct route {
    const char *path;      /* "/products/{id}": {id} is a positive integer */
    bool without_database; /* no transaction is opened for it */
    bool probe;            /* not there unless the setting `probes` is on */
    handler *handlers[METHOD_OTHER];
};

struct match {
    const struct route *route;
    handler *handler; /* NULL: the response is the answer already */
    enum lane lane;
};

/* Finds the handler of a request and sets its id. Unknown paths are answered with 404, unknown
 * methods of known paths with 405, OPTIONS with 204. HEAD gives GET's handler. */
struct match routes_match(struct request *request, struct response *response);

/* The table and its length, for tests. */
extern const struct route routes[];
extern const int routes_count;

#endif
