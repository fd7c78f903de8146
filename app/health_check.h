/* health_check: the command `larder health`, for containers and scripts.
 *
 * Asks a reader for GET /ready over its socket, as nginx does. */
#ifndef LARDER_HEALTH_CHECK_H
#define LARDER_HEALTH_CHECK_H

#include "settings.h"

/* Returns the exit status: 0 after "ready" on standard output when the service in --run-dir, or
 * at --listen, can read its database and has a writer, else 1 after one sentence on standard error.
 * Waits for an answer 3 s at the most. */
int health_check(const struct settings *settings);

#endif
