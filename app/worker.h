/* worker: one process, one thread, one epoll loop; every wake-up is one transaction.
 *
 * It takes all requests that are ready, serves them in one transaction, commits, and only then
 * sends the answers: locks, commits and fsyncs are shared by the batch, and no answer leaves before
 * what it tells is durable. */
#ifndef LARDER_WORKER_H
#define LARDER_WORKER_H

#include "clients.h"
#include "routes.h"
#include "scoreboard.h"
#include "settings.h"

struct worker_job {
    const struct settings *settings;
    const struct jwt_rules *tokens; /* NULL: no secret file is configured */
    struct scoreboard *scoreboard;
    int slot;                         /* of the scoreboard; 0 is the writer */
    unsigned lanes;                   /* enum lane, added up */
    int listeners[CLIENTS_LISTENERS]; /* listening sockets, -1 where unused; not blocking */
};

/* Runs until SIGTERM, which must be blocked when this is called, has been drained: what has been
 * received is answered and connections are closed. Returns the exit status of the process: 0, or 1
 * after a log line when it could not start. */
int worker_run(const struct worker_job *job);

#endif
