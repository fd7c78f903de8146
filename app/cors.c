#include "cors.h"

void cors_apply(const char *allowed, const struct request *request, struct response *response) {
    if (allowed == NULL) {
        return;
    }
    struct text origin = text_from(allowed);
    bool any = text_equals(origin, TEXT("*"));
    if (!any) { /* the answer depends on the header, whichever way it goes */
        response_header(response, TEXT("Vary"), TEXT("Origin"));
    }
    if (request->origin.length == 0 || (!any && !text_equals(request->origin, origin))) {
        return;
    }
    response_header(response, TEXT("Access-Control-Allow-Origin"), origin);
    if (request->method == METHOD_OPTIONS) {
        response_header(response, TEXT("Access-Control-Allow-Methods"),
                        TEXT("GET, POST, PUT, PATCH, DELETE"));
        response_header(response, TEXT("Access-Control-Allow-Headers"),
                        TEXT("Authorization, Content-Type, Idempotency-Key, If-Match, "
                             "If-None-Match, X-Request-Id"));
        response_header(response, TEXT("Access-Control-Max-Age"), TEXT("86400"));
    } else {
        response_header(response, TEXT("Access-Control-Expose-Headers"),
                        TEXT("ETag, Idempotency-Replayed, Link, Location, Retry-After, "
                             "WWW-Authenticate, X-Request-Id"));
    }
}
