/* handed_over: listening sockets that the program was started with.
 *
 * systemd's socket activation gives descriptors from 3 on and says so in LISTEN_PID, LISTEN_FDS and
 * LISTEN_FDNAMES (sd_listen_fds(3)); spawn-fcgi and its like give one as descriptor 0 (FastCGI 1.0,
 * section 2.2). They stay open and belong to whoever made them: neither their names nor their
 * queues are ours to end. */
#ifndef LARDER_HANDED_OVER_H
#define LARDER_HANDED_OVER_H

#include <stdbool.h>

#include "sockets.h"

/* Fills in sockets->listeners and where, and sockets->one when there is one for all lanes. *count
 * is how many there are, 0 when none was handed over. Returns false after one sentence on standard
 * error. */
bool handed_over_take(struct sockets *sockets, int *count);

#endif
