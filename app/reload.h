/* reload: what SIGHUP does to a running service, without a lost request.
 *
 *   1. the program that is now at our path is tried (trial.h); when it could not serve, one log
 *      line says why and nothing else happens;
 *   2. it replaces the supervisor: same pid, sockets, locks and children (handover.h);
 *   3. each worker replaces itself between two batches (worker.h), one after the other: the rest
 *      serve meanwhile, and SQLite, who recovers its shared memory when the last connection has
 *      gone, need not. The last is the login worker, who signs tokens, after those who verify them.
 *
 * Nothing blocks. While a reload runs, the next SIGHUP stays pending: it is for the supervisor to
 * look for it only when reload_is_idle(). */
#ifndef LARDER_RELOAD_H
#define LARDER_RELOAD_H

#include "children.h"
#include "trial.h"

enum reload_stage { RELOAD_IDLE, RELOAD_TRIES, RELOAD_WORKERS };

struct reload {
    enum reload_stage stage;
    struct trial trial;
    int64_t began_ms;
    int worker; /* whose turn it is, and until when */
    int64_t ends_ms;
    bool new_scoreboard; /* the predecessor's had another layout */
    bool incomplete;     /* a worker has not come over in time */
};

static inline bool reload_is_idle(const struct reload *reload) {
    return reload->stage == RELOAD_IDLE;
}

/* Begins the first step; call when idle. */
void reload_begin(struct reload *reload);

/* The second half of the second step, in the new program: fills in children, for whom settings,
 * sockets and the place of the rules are given. Returns false after a sentence. */
bool reload_take_over(struct reload *reload, struct children *children, struct sockets *sockets,
                      struct jwt_rules *rules, struct handover *state);

/* Goes on as far as it can. Returns how long to wait before it is called again, -1 for ever. */
int64_t reload_step(struct reload *reload, struct children *children);

/* A process has ended: whether it was the one that is tried. When all went well it does not return:
 * the new program begins. */
bool reload_bury(struct reload *reload, const struct children *children, pid_t pid, int status);

/* The service stops. */
void reload_cancel(struct reload *reload);

#endif
