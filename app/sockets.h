/* sockets: what the service listens on. */
#ifndef LARDER_SOCKETS_H
#define LARDER_SOCKETS_H

#include <sys/un.h>

#include "handover.h"
#include "settings.h"

enum socket_lane { READ_SOCKET, WRITE_SOCKET, LOGIN_SOCKET, SOCKETS };

struct sockets {
    int listeners[SOCKETS]; /* listening, not blocking, closed on exec */
    int run_dir_lock;
    char paths[SOCKETS][sizeof(((struct sockaddr_un *)0)->sun_path)];
};

/* Makes the run directory if need be, locks it until the process ends, and makes read.sock,
 * write.sock and login.sock in it. Returns false after one sentence on standard error. */
bool sockets_open(struct sockets *sockets, const struct settings *settings);

/* Leaves them, and the directory's lock, to the program that follows; the other takes them there.
 */
void sockets_give(const struct sockets *sockets, struct handover *state);
void sockets_take(struct sockets *sockets, struct handover *state);

/* Removes the sockets' names and refuses new connections; what is queued can still be accepted. */
void sockets_refuse(const struct sockets *sockets);

#endif
