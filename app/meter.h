/* meter: what a worker counts while it serves, written to its slot of the scoreboard.
 *
 * It costs no lock and no system call: plain stores, and the clock is read two times a batch, four
 * times one that commits. The times of a request are its batch's: they begin with the wake-up that
 * finds it and end when the batch's last answer has been sent. What a request waits before the
 * wake-up, or put aside (waiting.h), is not in them. Nothing blocks. */
#ifndef LARDER_METER_H
#define LARDER_METER_H

#include "clients.h"
#include "clock.h"
#include "response.h"
#include "routes.h"
#include "scoreboard.h"

struct meter {
    struct scoreboard_slot *slot;
    int64_t woken_ns;
    uint64_t requests_before, batches_before; /* of predecessors */
};

/* Takes over the slot: gauges begin anew, counters go on. */
void meter_start(struct meter *meter, struct scoreboard_slot *slot, unsigned lanes);

/* The worker ends: writes W10, how much it served. */
void meter_end(const struct meter *meter);

/* Something is ready. */
static inline void meter_wake(struct meter *meter) {
    meter->woken_ns = clock_ns();
}

/* An answer is about to leave: whoever has received it finds it counted. route is NULL for a path
 * that is none of ours. */
static inline void meter_answer(const struct meter *meter, const struct route *route,
                                enum method method, int status) {
    int place = route == NULL ? SCOREBOARD_ROUTES - 1 : (int)(route - routes);
    scoreboard_add(&meter->slot->answers[place][method][response_status_index(status)], 1);
}

/* A commit of changes that began at begun_ns has ended. */
void meter_commit(const struct meter *meter, int64_t begun_ns, bool succeeded);

/* A batch has been answered. Returns the time, nanoseconds of the monotonic clock. */
int64_t meter_batch(const struct meter *meter, int requests);

/* Takes over what the parts have counted since the last call. Called before each sleep. */
void meter_collect(const struct meter *meter, struct db *db, struct clients *clients);

#endif
