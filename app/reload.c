#define _GNU_SOURCE
#include "reload.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "program.h"

enum {
    WORKER_MS = 10000, /* for a worker to come over */
    POLL_MS = 1,
};

/* ---- the trial ------------------------------------------------------------------------------ */

void reload_begin(struct reload *reload) {
    char sentence[TRIAL_BYTES];
    if (trial_begin(&reload->trial, sentence)) {
        reload->stage = RELOAD_TRIES;
    } else {
        log_event("R07", "does not reload: %s", sentence);
    }
}

void reload_cancel(struct reload *reload) {
    if (reload->trial.pid != 0) {
        kill(reload->trial.pid, SIGKILL);
    }
}

/* ---- the supervisor ------------------------------------------------------------------------- */

/* Does not return when all goes well. */
static void hand_over(const struct children *children, int program) {
    struct handover state;
    handover_begin(&state, HANDOVER_SUPERVISOR);
    handover_put_text(&state, text_from(program_path()));
    handover_put(&state, clock_ms());
    handover_put(&state, children->readers);
    handover_put(&state, atomic_load(&children->scoreboard->generation));
    handover_put_descriptor(&state, children->lock);
    sockets_give(children->sockets, &state);
    jwt_rules_give(children->tokens, &state);
    children_give(children, &state);
    handover_pass(&state, program);
    log_event("R08", "does not reload: %s cannot be executed: %s", program_path(), strerror(errno));
    handover_free(&state);
}

bool reload_bury(struct reload *reload, const struct children *children, pid_t pid, int status) {
    char sentence[TRIAL_BYTES];
    if (reload->stage != RELOAD_TRIES || pid != reload->trial.pid) {
        return false;
    }
    reload->stage = RELOAD_IDLE;
    bool stopping = atomic_load(&children->scoreboard->stopping);
    if (trial_end(&reload->trial, status, sentence)) {
        if (!stopping) {
            hand_over(children, reload->trial.program);
        }
        close(reload->trial.program);
    } else if (!stopping) {
        log_event("R09", "does not reload: %s", sentence);
    }
    return true;
}

/* What this program cannot read is replaced by a new file: workers find it when they come over. */
static bool join_scoreboard(struct reload *reload, struct children *children, uint32_t generation) {
    const char *place = children->sockets->place;
    struct scoreboard *scoreboard = scoreboard_join(place);
    if (scoreboard != NULL && scoreboard->slots == (uint32_t)children->count) {
        children->scoreboard = scoreboard;
    } else {
        scoreboard_close(scoreboard);
        reload->new_scoreboard = true;
        if (!children_make_scoreboard(children)) {
            return log_refuse("cannot make the scoreboard in %s: %s", place, strerror(errno));
        }
    }
    atomic_store(&children->scoreboard->generation, generation);
    return true;
}

/* ---- the workers ---------------------------------------------------------------------------- */

static void tell_worker(struct reload *reload, const struct children *children, int i) {
    reload->worker = i;
    reload->ends_ms = clock_ms() + WORKER_MS;
    if (i < children->count && children->each[i].pid != 0) {
        kill(children->each[i].pid, SIGHUP);
    }
}

/* One that has died is started with the new program. */
static bool has_come_over(const struct children *children, int i) {
    const struct scoreboard *scoreboard = children->scoreboard;
    return children->each[i].pid == 0 ||
           atomic_load(&scoreboard->slot[i].generation) == atomic_load(&scoreboard->generation);
}

/* It goes on with the old program, unless what it writes to the scoreboard is not read any more. */
static void give_up(struct reload *reload, const struct child *child) {
    log_event("R10", "%s has not taken the new program within %d s%s", child->name,
              WORKER_MS / 1000, reload->new_scoreboard ? " and is replaced" : "");
    reload->incomplete = true;
    if (reload->new_scoreboard) {
        kill(child->pid, SIGTERM);
    }
}

static int64_t follow_workers(struct reload *reload, const struct children *children) {
    while (reload->worker < children->count) {
        if (!has_come_over(children, reload->worker)) {
            if (clock_ms() < reload->ends_ms) {
                return POLL_MS;
            }
            give_up(reload, &children->each[reload->worker]);
        }
        tell_worker(reload, children, reload->worker + 1);
    }
    if (!reload->incomplete) {
        log_event("R11", "has reloaded in %lld ms: all processes run larder %s",
                  (long long)(clock_ms() - reload->began_ms), program_version());
    }
    reload->stage = RELOAD_IDLE;
    return -1;
}

bool reload_take_over(struct reload *reload, struct children *children, struct sockets *sockets,
                      struct jwt_rules *rules, struct handover *state) {
    static struct settings settings;
    static char path[PATH_MAX];
    struct text text = handover_text(state);
    snprintf(path, sizeof path, "%.*s", (int)text.length, text.data);
    program_set_path(path);
    reload->began_ms = handover_number(state);
    settings = *children->settings;
    settings.readers = (int)handover_number(state); /* its default may be another today */
    children->settings = &settings;
    uint32_t generation = (uint32_t)handover_number(state) + 1;
    children->lock = handover_descriptor(state);
    sockets_take(sockets, state);
    if (settings.secret_file == NULL) {
        handover_text(state);
    } else {
        children->tokens = rules;
        state->broken = !jwt_rules_take(rules, &settings, state) || state->broken;
    }
    children_setup(children);
    children_take(children, state);
    bool whole = handover_is_whole(state);
    handover_free(state);
    if (!whole) {
        return log_refuse("cannot read what the program before left");
    }
    if (!join_scoreboard(reload, children, generation)) {
        return false;
    }
    reload->stage = RELOAD_WORKERS;
    tell_worker(reload, children, 0);
    return true;
}

int64_t reload_step(struct reload *reload, struct children *children) {
    switch (reload->stage) {
    case RELOAD_TRIES:
        return trial_timeout(&reload->trial);
    case RELOAD_WORKERS:
        return follow_workers(reload, children);
    default:
        return -1;
    }
}
