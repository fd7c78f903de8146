#include "../openapi.h"

#include "../conditional.h"
#include "endpoints.h"

void openapi(const struct request *request, struct response *response) {
    if (!request_query(request, response, NULL, 0, NULL)) {
        return;
    }
    response_json(response, 200);
    buffer_append(&response->body, text_from(openapi_json));
    conditional_read(request, response);
}
