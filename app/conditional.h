/* conditional: If-Match and If-None-Match (RFC 9110 section 13.1) against a strong entity tag. */
#ifndef LARDER_CONDITIONAL_H
#define LARDER_CONDITIONAL_H

#include <stdbool.h>

#include "request.h"
#include "response.h"
#include "text.h"

/* If-None-Match: true when the header names the tag (weak comparison: W/ does not matter) or is
 * "*": the reader has this representation already, answer 304. A header that is absent or malformed
 * names nothing. */
bool conditional_none_match(struct text header, struct text etag);

/* If-Match: true when the request may go on: the header is absent, "*", or names the tag by strong
 * comparison (a weak tag never matches). Else answer 412. */
bool conditional_match(struct text header, struct text etag);

/* For the end of a read: gives the finished answer its ETag, and makes it a 304 when the client has
 * this representation already. */
void conditional_read(const struct request *request, struct response *response);

/* For the beginning of a change: the response holds the representation as it is now. Returns true,
 * and the response is fresh, when the change may go on; else it has been answered with 412:
 * If-Match does not name the tag, or If-None-Match does. */
bool conditional_change(const struct request *request, struct response *response);

#endif
