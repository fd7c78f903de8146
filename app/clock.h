/* clock: the monotonic clock, which no change of the system's time moves. */
#ifndef LARDER_CLOCK_H
#define LARDER_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t clock_us(void) {
    return clock_ns() / 1000;
}

static inline int64_t clock_ms(void) {
    return clock_ns() / 1000000;
}

#endif
