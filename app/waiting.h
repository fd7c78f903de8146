/* waiting: answers that leave later, so that a request that waits holds no worker.
 *
 * A parked connection keeps its descriptor and this entry, nothing else: about 250 bytes and the
 * answer. Entries stand in a binary heap, the earliest first. Times are milliseconds of the
 * monotonic clock. Nothing blocks. */
#ifndef LARDER_WAITING_H
#define LARDER_WAITING_H

#include <stddef.h>
#include <stdint.h>

#include "text.h"

/* Part of what waits; zeroed while it does not. */
struct waiter {
    int64_t due_ms;
    size_t place; /* in the heap, counted from 1; 0: does not wait */
    struct text answer;
};

struct waiting_room {
    struct waiter **heap;
    size_t count, capacity;
};

/* A room starts zeroed ({0}). */

/* Lets a waiter wait. Takes a copy of the answer. */
void waiting_add(struct waiting_room *room, struct waiter *waiter, int64_t due_ms,
                 struct text answer);

/* Ends the wait, early or not, and frees the copy. Does nothing for one that does not wait. */
void waiting_remove(struct waiting_room *room, struct waiter *waiter);

/* The one that is due first, NULL when nobody waits. */
struct waiter *waiting_first(const struct waiting_room *room);

/* Frees the room; nobody may wait in it. */
void waiting_destroy(struct waiting_room *room);

#endif
