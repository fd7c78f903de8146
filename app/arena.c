#include "arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

#ifndef __has_feature /* clang's way of telling; gcc defines __SANITIZE_ADDRESS__ */
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>

#define POISON(memory, size)   ASAN_POISON_MEMORY_REGION(memory, size)
#define UNPOISON(memory, size) ASAN_UNPOISON_MEMORY_REGION(memory, size)
#else
#define POISON(memory, size)   ((void)(memory), (void)(size))
#define UNPOISON(memory, size) ((void)(memory), (void)(size))
#endif

enum { ALIGNMENT = 16 };

struct arena_block {
    struct arena_block *next;
    size_t capacity;
    size_t used;
    _Alignas(ALIGNMENT) unsigned char bytes[];
};

struct arena_cleanup {
    struct arena_cleanup *next;
    void (*release)(void *subject);
    void *subject;
};

static size_t round_up(size_t size) {
    if (size > SIZE_MAX - ARENA_BLOCK_BYTES) {
        abort();
    }
    return size == 0 ? ALIGNMENT : (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static struct arena_block *block_create(size_t capacity) {
    struct arena_block *block = malloc(sizeof *block + capacity);
    if (block == NULL) {
        log_out_of_memory();
    }
    block->next = NULL;
    block->capacity = capacity;
    block->used = 0;
    POISON(block->bytes, capacity);
    return block;
}

void *arena_alloc(struct arena *arena, size_t size) {
    size = round_up(size);
    struct arena_block *block = arena->current;
    while (block != NULL && block->capacity - block->used < size && block->next != NULL) {
        block = block->next; /* a block kept from an earlier batch: empty, by arena_reset */
    }
    if (block == NULL || block->capacity - block->used < size) {
        struct arena_block *fresh =
            block_create(size > ARENA_BLOCK_BYTES ? size : (size_t)ARENA_BLOCK_BYTES);
        if (block == NULL) {
            arena->first = fresh;
        } else {
            block->next = fresh;
        }
        block = fresh;
    }
    arena->current = block;
    void *memory = block->bytes + block->used;
    block->used += size;
    UNPOISON(memory, size);
    return memory;
}

void *arena_zalloc(struct arena *arena, size_t size) {
    return memset(arena_alloc(arena, size), 0, size);
}

void *arena_grow(struct arena *arena, void *memory, size_t old_size, size_t new_size) {
    struct arena_block *block = arena->current;
    size_t old_rounded = round_up(old_size);
    size_t new_rounded = round_up(new_size);
    if (memory != NULL && (unsigned char *)memory + old_rounded == block->bytes + block->used &&
        new_rounded - old_rounded <= block->capacity - block->used) {
        UNPOISON(memory, new_rounded);
        block->used += new_rounded - old_rounded;
        return memory;
    }
    void *copy = arena_alloc(arena, new_size);
    if (memory != NULL && old_size > 0) {
        memcpy(copy, memory, old_size);
    }
    return copy;
}

void arena_cleanup(struct arena *arena, void (*release)(void *subject), void *subject) {
    struct arena_cleanup *cleanup = arena_alloc(arena, sizeof *cleanup);
    *cleanup =
        (struct arena_cleanup){.next = arena->cleanups, .release = release, .subject = subject};
    arena->cleanups = cleanup;
}

void arena_clean_up(struct arena *arena) {
    for (struct arena_cleanup *cleanup = arena->cleanups; cleanup != NULL;
         cleanup = cleanup->next) {
        cleanup->release(cleanup->subject);
    }
    arena->cleanups = NULL;
}

void arena_reset(struct arena *arena) {
    arena_clean_up(arena);
    size_t kept = 0;
    struct arena_block **link = &arena->first;
    while (*link != NULL) {
        struct arena_block *block = *link;
        if (kept + block->capacity > ARENA_KEEP_BYTES) {
            *link = block->next;
            UNPOISON(block->bytes, block->capacity);
            free(block);
            continue;
        }
        kept += block->capacity;
        block->used = 0;
        POISON(block->bytes, block->capacity);
        link = &block->next;
    }
    arena->current = arena->first;
}

void arena_destroy(struct arena *arena) {
    arena_clean_up(arena);
    struct arena_block *block = arena->first;
    while (block != NULL) {
        struct arena_block *next = block->next;
        UNPOISON(block->bytes, block->capacity);
        free(block);
        block = next;
    }
    arena->first = NULL;
    arena->current = NULL;
}
