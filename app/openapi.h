/* openapi: the description of the whole API (OpenAPI 3.1), embedded from docs/openapi.json.
 *
 * Written by hand. tests/unit/openapi.c holds it against routes.c, tests/checks/openapi.py against
 * the running service: a new route needs its part of the document first. */
#ifndef LARDER_OPENAPI_H
#define LARDER_OPENAPI_H

/* The document, ending in NUL. */
extern const char openapi_json[];

#endif
