/* response: the answer to one request while it is made, and its way out.
 *
 * A handler fills it; the worker sends it after the batch's commit. Memory is the arena's. Errors
 * are problem documents (RFC 9457). Only response_send() may block. */
#ifndef LARDER_RESPONSE_H
#define LARDER_RESPONSE_H

#include <stdbool.h>

#include "buffer.h"
#include "fastcgi.h"
#include "text.h"

enum {
    RESPONSE_ETAG_BYTES = 18, /* 16 hex digits in quotes */
    RESPONSE_STATUSES = 18,   /* that the service answers with */
};

struct response {
    int status;
    struct text content_type; /* empty: an answer without a body */
    struct buffer headers;    /* further header lines, each ended by CRLF */
    struct buffer body;
    int64_t delay_ms; /* the answer leaves so much later, and holds no worker while it waits */
};

/* Starts empty; status 0 until a handler has answered. */
void response_start(struct response *response, struct arena *arena);

/* Appends a header. The value must not hold CR or LF. */
void response_header(struct response *response, struct text name, struct text value);

/* Answers with JSON: the handler then appends it to the body. */
void response_json(struct response *response, int status);

/* Answers without a body (204, 304). */
void response_empty(struct response *response, int status);

/* Answers with a problem document: type about:blank, the status's title, and a detail that tells
 * the reader what to mend. What was in the response before is dropped, headers too. */
__attribute__((format(printf, 3, 4))) void response_problem(struct response *response, int status,
                                                            const char *format, ...);

/* The same, left open before the closing brace for members of its own (RFC 9457 section 3.2). */
void response_problem_open(struct response *response, int status, struct text detail);

/* Computes a strong entity tag (RFC 9110 section 8.8.3) from the body as it stands: a hash, so that
 * it changes with every change of the representation. Appends the ETag header and returns the tag
 * with its quotes, in the arena. */
struct text response_etag(struct response *response);

/* Appends Location: the prefix, the path that ends in a slash, and the id. */
void response_location(struct response *response, struct text prefix, const char *path, int64_t id);

/* True for 2xx: what the request did is to be kept. */
static inline bool response_is_success(const struct response *response) {
    return response->status >= 200 && response->status < 300;
}

/* The standard title of a status, such as "Not Found". */
struct text response_title(int status);

/* The statuses by number: 0 to RESPONSE_STATUSES - 1. Another status than these is sent as 500. */
int response_status(int index);
int response_status_index(int status);

/* Writes the whole answer and ends the request; without_body for HEAD. Returns false when the
 * connection is closed (fastcgi_send()). */
bool response_send(const struct response *response, struct fastcgi_connection *connection,
                   bool without_body);

/* The whole answer as one text in the arena, for a request that is parked. */
struct text response_text(const struct response *response, bool without_body);

#endif
