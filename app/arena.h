/* arena: memory that lives as long as one batch of requests.
 *
 * A worker owns one arena. Everything a request needs while it is served (decoded path, parsed
 * body, answer) is taken from it and nothing is given back one by one: arena_reset() after the
 * answers have left frees it all at once. Blocks are kept for the next batch up to
 * ARENA_KEEP_BYTES.
 *
 * No function here returns failure: when the system has no memory left the process logs one line
 * and aborts, and the supervisor starts a new worker. Sizes are bytes. Nothing blocks. */
#ifndef LARDER_ARENA_H
#define LARDER_ARENA_H

#include <stddef.h>

enum { ARENA_BLOCK_BYTES = 64 * 1024, ARENA_KEEP_BYTES = 1024 * 1024 };

struct arena_block;
struct arena_cleanup;

struct arena {
    struct arena_block *first;
    struct arena_block *current;
    struct arena_cleanup *cleanups;
};

/* An arena starts zeroed ({0}) and needs no other construction. */

/* Returns size bytes aligned for any type, uninitialised. */
void *arena_alloc(struct arena *arena, size_t size);

/* Returns size bytes of zeros. */
void *arena_zalloc(struct arena *arena, size_t size);

/* Grows an allocation to new_size, in place when it was the newest, else as a copy. */
void *arena_grow(struct arena *arena, void *memory, size_t old_size, size_t new_size);

/* Has release(subject) called at the next reset: for what is not arena memory but lives as long. */
void arena_cleanup(struct arena *arena, void (*release)(void *subject), void *subject);

/* Runs the cleanups early, and only once. */
void arena_clean_up(struct arena *arena);

/* Runs the cleanups, the newest first, and forgets every allocation. What was allocated is poisoned
 * under AddressSanitizer. */
void arena_reset(struct arena *arena);

/* Runs the cleanups and gives all memory back to the system. */
void arena_destroy(struct arena *arena);

#endif
