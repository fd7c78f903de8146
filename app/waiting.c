#include "waiting.h"

#include <assert.h>
#include <stdlib.h>

#include "log.h"

static void put(struct waiting_room *room, size_t place, struct waiter *waiter) {
    room->heap[place - 1] = waiter;
    waiter->place = place;
}

static struct waiter *at(const struct waiting_room *room, size_t place) {
    return room->heap[place - 1];
}

/* Moves a waiter from a free place up or down to where it belongs. */
static void settle(struct waiting_room *room, size_t place, struct waiter *waiter) {
    while (place > 1 && at(room, place / 2)->due_ms > waiter->due_ms) {
        put(room, place, at(room, place / 2));
        place /= 2;
    }
    for (;;) {
        size_t child = place * 2;
        if (child > room->count) {
            break;
        }
        if (child < room->count && at(room, child + 1)->due_ms < at(room, child)->due_ms) {
            child++;
        }
        if (at(room, child)->due_ms >= waiter->due_ms) {
            break;
        }
        put(room, place, at(room, child));
        place = child;
    }
    put(room, place, waiter);
}

void waiting_add(struct waiting_room *room, struct waiter *waiter, int64_t due_ms,
                 struct text answer) {
    assert(waiter->place == 0);
    if (room->count == room->capacity) {
        size_t capacity = room->capacity == 0 ? 16 : room->capacity * 2;
        struct waiter **heap = realloc(room->heap, capacity * sizeof(struct waiter *));
        if (heap == NULL) {
            log_out_of_memory();
        }
        room->heap = heap;
        room->capacity = capacity;
    }
    char *copy = malloc(answer.length + 1);
    if (copy == NULL) {
        log_out_of_memory();
    }
    memcpy(copy, answer.data, answer.length);
    waiter->answer = (struct text){.data = copy, .length = answer.length};
    waiter->due_ms = due_ms;
    room->count++;
    room->heap[room->count - 1] = waiter; /* for settle(), which compares with what is there */
    settle(room, room->count, waiter);
}

void waiting_remove(struct waiting_room *room, struct waiter *waiter) {
    size_t place = waiter->place;
    if (place == 0) {
        return;
    }
    struct waiter *last = at(room, room->count);
    room->count--;
    if (last != waiter) {
        settle(room, place, last);
    }
    free((char *)waiter->answer.data);
    *waiter = (struct waiter){0};
}

struct waiter *waiting_first(const struct waiting_room *room) {
    return room->count == 0 ? NULL : room->heap[0];
}

void waiting_destroy(struct waiting_room *room) {
    assert(room->count == 0);
    free(room->heap);
    *room = (struct waiting_room){0};
}
