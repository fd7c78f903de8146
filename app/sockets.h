/* sockets: what the service listens on: a socket for each lane in the run directory, one for all
 * lanes (--listen), or what the program was started with (handed_over.h). */
#ifndef LARDER_SOCKETS_H
#define LARDER_SOCKETS_H

#include <limits.h>
#include <sys/un.h>

#include "handover.h"
#include "settings.h"

enum socket_lane { READ_SOCKET, WRITE_SOCKET, LOGIN_SOCKET, SOCKETS };

struct sockets {
    int listeners[SOCKETS]; /* listening, not blocking, closed on exec; -1: none */
    bool one;               /* that of WRITE_SOCKET is for all lanes */
    int run_dir_lock;       /* -1: there is no run directory, and none is needed */
    char place[PATH_MAX];   /* of the scoreboard */
    int scoreboard;         /* the descriptor reserved for it; -1 where there is a run directory */
    const char *where;      /* for people: the run directory, the address, "descriptor 0" */
    struct {
        char path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* empty: no name of ours */
        ino_t inode;
    } names[SOCKETS];
};

/* Makes the run directory if need be, locks it until the process ends, and opens the sockets. With
 * --listen or sockets handed over, the run directory is needed only when --run-dir says so. Returns
 * false after one sentence on standard error. */
bool sockets_open(struct sockets *sockets, const struct settings *settings);

/* Leaves them, and the directory's lock, to the program that follows; the other takes them there.
 */
void sockets_give(const struct sockets *sockets, struct handover *state);
void sockets_take(struct sockets *sockets, struct handover *state);

/* Removes the sockets' names and refuses new connections where the sockets are ours alone; what is
 * queued can still be accepted. */
void sockets_refuse(const struct sockets *sockets);

#endif
