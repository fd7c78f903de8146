/* cors: cross-origin answers for one configured origin (Fetch standard, section 3.2). */
#ifndef LARDER_CORS_H
#define LARDER_CORS_H

#include "request.h"
#include "response.h"

/* Adds the headers to a finished answer when the request's Origin is the allowed one, or it is "*".
 * allowed is NULL when the service is not open to other origins: then nothing is added. */
void cors_apply(const char *allowed, const struct request *request, struct response *response);

#endif
