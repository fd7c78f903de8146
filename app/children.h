/* children: the supervisor's worker processes: forked, counted, and started again when one dies, at
 * once and then with growing pauses. Nothing blocks. */
#ifndef LARDER_CHILDREN_H
#define LARDER_CHILDREN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "handover.h"
#include "jwt.h"
#include "scoreboard.h"
#include "settings.h"
#include "sockets.h"

struct child {
    pid_t pid; /* 0: none is running */
    int64_t started_ms;
    int64_t restart_at_ms; /* when pid is 0 */
    int backoff_ms;
    char name[24];
};

/* The pointers are borrowed; what they point at is set before the first child is forked. */
struct children {
    const struct settings *settings;
    const struct jwt_rules *tokens; /* NULL: no secret file is configured */
    struct scoreboard *scoreboard;
    const struct sockets *sockets;
    int lock;    /* of the database; the writer inherits it */
    int readers; /* 0: the writer serves reads too */
    int count;   /* the writer, the readers, and the login worker where tokens are */
    struct child each[SCOREBOARD_SLOTS];
};

/* Sets readers, count and names, from settings, tokens and sockets. */
void children_setup(struct children *children);

/* Forks those whose time has come. Returns how long to wait for the next one, -1 for ever. */
int64_t children_start_due(struct children *children);

/* Makes the scoreboard, with a slot for each. Returns false with errno set. */
bool children_make_scoreboard(struct children *children);

/* A process has ended with this status of waitpid(): if it was one of ours, it is to start again.
 */
void children_bury(struct children *children, pid_t pid, int status);

/* Whether any is running. */
bool children_run(const struct children *children);

/* Whether all take requests. */
bool children_serve(const struct children *children);

void children_signal(const struct children *children, int signal_number);

/* Leaves the processes to the program that follows; the other takes them there, after setup. */
void children_give(const struct children *children, struct handover *state);
void children_take(struct children *children, struct handover *state);

#endif
