/* scoreboard: what the processes know of each other, in memory they share.
 *
 * The supervisor makes it before it forks, as a file in the run directory, so that another program
 * can look at it too. Each worker writes its own slot with plain atomic
 * stores, anyone reads; there is no lock. Slot 0 is the writer's, the readers' follow, then the
 * login worker's. */
#ifndef LARDER_SCOREBOARD_H
#define LARDER_SCOREBOARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SCOREBOARD_READERS = 64, SCOREBOARD_SLOTS = SCOREBOARD_READERS + 2, SCOREBOARD_LAYOUT = 1 };

struct scoreboard_slot {
    _Atomic bool serving; /* set by the worker when it takes requests, cleared when it has ended */
    _Atomic uint32_t generation; /* the worker has come so far */
    _Atomic uint32_t answered;   /* of watchdog.h */
    _Atomic uint64_t requests;
    _Atomic uint64_t batches;
};

struct scoreboard {
    uint32_t layout;       /* SCOREBOARD_LAYOUT; of another version of the program another one */
    uint32_t bytes;        /* of all of it */
    _Atomic bool stopping; /* set by the supervisor: the whole service ends */
    _Atomic uint32_t generation; /* how often the service was reloaded; set by the supervisor */
    _Atomic uint32_t asked;      /* of watchdog.h; set by the supervisor */
    struct scoreboard_slot slots[SCOREBOARD_SLOTS];
};

#define SCOREBOARD_NAME "scoreboard"

/* Where it lies, the place, is the run directory, in a file of its own. Where there is none it has
 * no name: the supervisor holds it open, under a number that stays the same, and the place is
 * "/proc/PID/fd/NUMBER". This chooses the number. Returns it, the caller's to keep open, or -1. */
int scoreboard_reserve(char *place, size_t size);

/* Makes a new zeroed one in its place and maps it; children inherit the mapping. NULL with errno
 * set on failure. */
struct scoreboard *scoreboard_create(const char *place);

/* Maps the one that is there, to go on with it after a reload. NULL with errno set on failure:
 * EPROTO when another version of the program made it. */
struct scoreboard *scoreboard_join(const char *place);

/* Removes the file, if there is one; mappings stay. */
void scoreboard_remove(const char *place);

static inline bool scoreboard_has_writer(const struct scoreboard *scoreboard) {
    return atomic_load_explicit(&scoreboard->slots[0].serving, memory_order_relaxed);
}

/* Requests served so far. */
uint64_t scoreboard_requests(const struct scoreboard *scoreboard);

/* Adds to a counter that only this process writes. */
static inline void scoreboard_add(_Atomic uint64_t *counter, uint64_t amount) {
    uint64_t value = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, value + amount, memory_order_relaxed);
}

#endif
