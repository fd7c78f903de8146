/* random: numbers that are spread evenly. Whoever sees some can tell the next: not for secrets. */
#ifndef LARDER_RANDOM_H
#define LARDER_RANDOM_H

#include <stdint.h>

/* xorshift64*: the same cost on every machine. The state must not start as 0. */
static inline uint64_t random_next(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545F4914F6CDD1D);
}

#endif
