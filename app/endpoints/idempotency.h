/* idempotency: a POST that is sent twice is carried out once.
 *
 * The client names its request with an Idempotency-Key. The first answer is kept for a day under
 * the user and the key, written in the same savepoint as the deal it tells of, and is given again
 * byte for byte. Requests of one user reach one writer, one after the other: of two at once the
 * second finds the first's answer. */
#ifndef LARDER_IDEMPOTENCY_H
#define LARDER_IDEMPOTENCY_H

#include "../request.h"
#include "../response.h"

/* Where deals are, below the prefix. */
#define DEAL_PATH "/api/deals/"

enum {
    IDEMPOTENCY_KEY_BYTES = 128, /* visible ASCII */
    IDEMPOTENCY_KEPT_S = 24 * 3600,
};

/* True when the request is to be carried out. Else the response is the answer: 400 for a malformed
 * key. */
bool idempotency_check_key(const struct request *request, struct response *response);

/* True when the request is to be carried out: it has no key, or the key is new or expired. Else the
 * response is the first answer, or 422 when the key was sent with another body. */
bool idempotency_begin(const struct request *request, struct response *response);

/* Keeps the finished answer, which created the deal of this id, and forgets a few expired ones. */
void idempotency_keep(const struct request *request, const struct response *response, int64_t deal);

#endif
