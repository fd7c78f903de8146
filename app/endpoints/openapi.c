#include "../openapi.h"

#include "../conditional.h"
#include "endpoints.h"

void openapi(const struct request *request, struct response *response) {
    if (!request_query(request, response, NULL, 0, NULL)) {
        return;
    }
    response_json(response, 200);
    buffer_append(&response->body, text_from(openapi_json));
    struct text etag = response_etag(response);
    if (conditional_none_match(request->if_none_match, etag)) {
        response_empty(response, 304);
    }
}
