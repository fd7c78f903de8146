/* job: what one worker is there for. The supervisor gives it to a worker it forks; a worker leaves
 * it, with its connections, to the program that replaces it. */
#ifndef LARDER_JOB_H
#define LARDER_JOB_H

#include <limits.h>
#include <sys/types.h>

#include "clients.h"
#include "db.h"
#include "handover.h"
#include "jwt.h"
#include "scoreboard.h"
#include "settings.h"

struct worker_job {
    const struct settings *settings;
    const struct jwt_rules *tokens; /* NULL: no secret file is configured */
    struct scoreboard *scoreboard;
    char place[PATH_MAX]; /* of the scoreboard */
    pid_t supervisor;
    char name[24];                    /* "writer", "reader 1", "login" */
    int slot;                         /* of the scoreboard; 0 is the writer */
    unsigned lanes;                   /* enum lane, added up */
    int listeners[CLIENTS_LISTENERS]; /* listening sockets, -1 where unused; not blocking */
    int lock;                         /* of the database, held by the writer; else -1 */
};

/* Makes this process the worker: name, signals, and an end when the supervisor ends. */
void job_begin(const struct worker_job *job);

/* Leaves all to the program that the supervisor runs, closes the database, and becomes it. Returns
 * only when that fails, after a log line. */
void job_hand_over(const struct worker_job *job, const struct clients *clients, struct db *db);

/* In the new program: what it is there for. Rules is where tokens then points. Returns false after
 * a log line when it cannot be done. */
bool job_take(struct worker_job *job, const struct settings *settings, struct jwt_rules *rules,
              struct handover *state);

/* Then, once clients can watch: the connections. Returns false after a log line. */
bool job_take_clients(struct clients *clients, struct handover *state);

#endif
