/* bearer: who a request is from, by its Authorization header (RFC 6750).
 *
 * The token is verified and then the user looked up, in the database and for each request: a user
 * who is switched off is refused at once, whatever tokens there are. Reads request->db. */
#ifndef LARDER_BEARER_H
#define LARDER_BEARER_H

#include "../request.h"
#include "../response.h"

/* Sets request->user. Returns false when the answer is 401, the same for every reason. */
bool bearer_check(struct request *request, struct response *response);

#endif
