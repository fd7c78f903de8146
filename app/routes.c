#include "routes.h"

#include "endpoints/endpoints.h"
#include "scoreboard.h"

/* The busiest first: they are compared in this order. */
const struct route routes[] = {
    {"/products/{id}", .handlers = {[METHOD_GET] = product_read,
                                    [METHOD_PUT] = product_replace,
                                    [METHOD_PATCH] = product_patch,
                                    [METHOD_DELETE] = product_delete}},
    {"/products", .handlers = {[METHOD_GET] = product_list, [METHOD_POST] = product_create}},
    {"/categories/{id}", .handlers = {[METHOD_GET] = category_read,
                                      [METHOD_PUT] = category_replace,
                                      [METHOD_DELETE] = category_delete}},
    {"/categories", .handlers = {[METHOD_GET] = category_list, [METHOD_POST] = category_create}},
    {"/api/deals/{id}", .access = ACCESS_BEARER,
     .handlers = {[METHOD_GET] = deal_read, [METHOD_DELETE] = deal_delete}},
    {"/api/deals", .access = ACCESS_BEARER,
     .handlers = {[METHOD_GET] = deal_list, [METHOD_POST] = deal_create}},
    {"/api/login", .access = ACCESS_LOGIN, .handlers = {[METHOD_POST] = login}},
    {"/health", .without_database = true, .handlers = {[METHOD_GET] = health}},
    {"/ready", .handlers = {[METHOD_GET] = ready}},
    {"/json", .without_database = true, .probe = true, .handlers = {[METHOD_GET] = probe_json}},
    {"/db", .probe = true, .handlers = {[METHOD_GET] = probe_db}},
    {"/queries", .probe = true, .handlers = {[METHOD_GET] = probe_queries}},
    {"/greet", .without_database = true, .probe = true, .handlers = {[METHOD_GET] = probe_greet}},
    {"/wait", .without_database = true, .probe = true, .handlers = {[METHOD_GET] = probe_wait}},
    {"/openapi.json", .without_database = true, .handlers = {[METHOD_GET] = openapi}},
    {"/metrics", .without_database = true, .handlers = {[METHOD_GET] = metrics}},
};

_Static_assert(sizeof routes / sizeof *routes < SCOREBOARD_ROUTES, "the scoreboard counts each");

const int routes_count = sizeof routes / sizeof *routes;

static bool fits(const struct route *route, struct request *request) {
    if (route->access != ACCESS_ALL && request->tokens == NULL) {
        return false;
    }
    struct text pattern = text_from(route->path + 1);
    struct text part;
    int i = 0;
    for (; text_split(&pattern, '/', &part); i++) {
        if (i >= request->segment_count) {
            return false;
        }
        if (text_equals(part, TEXT("{id}"))) {
            if (!text_id(request->segments[i], &request->id)) {
                return false;
            }
        } else if (!text_equals(part, request->segments[i])) {
            return false;
        }
    }
    return i == request->segment_count;
}

static void allow(const struct route *route, struct response *response) {
    static const struct {
        enum method method;
        struct text names;
    } order[] = {
        {METHOD_GET, TEXT("GET, HEAD, ")}, {METHOD_POST, TEXT("POST, ")},
        {METHOD_PUT, TEXT("PUT, ")},       {METHOD_PATCH, TEXT("PATCH, ")},
        {METHOD_DELETE, TEXT("DELETE, ")},
    };
    struct buffer methods = {.arena = response->headers.arena};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        if (route->handlers[order[i].method] != NULL) {
            buffer_append(&methods, order[i].names);
        }
    }
    buffer_append(&methods, TEXT("OPTIONS"));
    response_header(response, TEXT("Allow"), buffer_text(&methods));
}

struct match routes_match(struct request *request, struct response *response) {
    struct match match = {0};
    for (int i = 0; i < routes_count; i++) {
        if ((request->probes || !routes[i].probe) && fits(&routes[i], request)) {
            match.route = &routes[i];
            break;
        }
    }
    if (match.route == NULL) {
        response_problem(response, 404, "there is nothing at this address");
        return match;
    }
    enum method method = request->method == METHOD_HEAD ? METHOD_GET : request->method;
    match.lane = method == METHOD_GET                  ? LANE_READ
                 : match.route->access == ACCESS_LOGIN ? LANE_LOGIN
                                                       : LANE_WRITE;
    match.handler = method == METHOD_OTHER ? NULL : match.route->handlers[method];
    if (match.handler != NULL) {
        return match;
    }
    if (method == METHOD_OPTIONS) {
        response_empty(response, 204);
    } else {
        response_problem(response, 405, "this address does not know the method; see Allow");
    }
    allow(match.route, response);
    return match;
}
