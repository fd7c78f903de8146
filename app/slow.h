/* slow: tells of requests that took long, and where their time went.
 *
 * A request takes as long as its batch, from the wake-up that finds it until its answer may leave.
 * What the web server takes to read the answer is not in it, nor what /wait waits on purpose. Of a
 * slow batch the line names the request whose handler took longest: the others waited for it. At
 * most one line a second; the next one tells how many slow requests had none.
 *
 * Times are nanoseconds of the monotonic clock as of its last tick (CLOCK_MONOTONIC_COARSE, every 4
 * ms): cheap enough to read after every request, and never a system call. */
#ifndef LARDER_SLOW_H
#define LARDER_SLOW_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "routes.h"

struct slow {
    int64_t limit_ns; /* 0: nothing is slow */
    int64_t begun_ns, marked_ns, ended_ns;
    int longest;                   /* the request of the batch, by its number */
    int64_t longest_ns, before_ns; /* its handler, and from the wake-up until that began */
    int64_t next_line_ns;
    uint64_t untold; /* slow requests since the last line */
};

static inline int64_t slow_clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A wake-up. */
static inline void slow_wake(struct slow *slow) {
    if (slow->limit_ns > 0) {
        slow->begun_ns = slow_clock_ns();
        slow->longest_ns = -1;
    }
}

/* The requests have been received; from here on each is served. */
static inline void slow_received(struct slow *slow) {
    if (slow->limit_ns > 0) {
        slow->marked_ns = slow_clock_ns();
    }
}

/* The request of that number has been served. */
static inline void slow_served(struct slow *slow, int number) {
    if (slow->limit_ns > 0) {
        int64_t now = slow_clock_ns();
        if (now - slow->marked_ns > slow->longest_ns) {
            slow->longest = number;
            slow->longest_ns = now - slow->marked_ns;
            slow->before_ns = slow->marked_ns - slow->begun_ns;
        }
        slow->marked_ns = now;
    }
}

/* The commit is over: whether the batch was slow. */
static inline bool slow_is(struct slow *slow) {
    if (slow->limit_ns > 0) {
        slow->ended_ns = slow_clock_ns();
    }
    return slow->limit_ns > 0 && slow->ended_ns - slow->begun_ns >= slow->limit_ns;
}

/* Writes W12 about a slow batch of that many requests, unless it wrote one this second. What it is
 * given are the batch's longest request, its route (NULL: none) and the status of its answer. */
void slow_tell(struct slow *slow, const struct request *request, const struct route *route,
               int status, int requests);

#endif
