/* handover: what a process leaves to the program that replaces it in place (execve, same pid).
 *
 * Numbers, texts and descriptors, written by one program and read by the next in the same order,
 * from memory that the next inherits; LARDER_HAND_OVER in its environment names the descriptor.
 * Every change of what is written, or of its order, is a new HANDOVER_FORMAT: `larder try` prints
 * it, and a reload is refused when the two programs differ in it (trial.h).
 *
 * Reading does not fail at each step: once something is not as it was written all that follows is
 * 0, "" or -1, and handover_is_whole() tells. Nothing blocks. */
#ifndef LARDER_HANDOVER_H
#define LARDER_HANDOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text.h"

enum { HANDOVER_FORMAT = 2 };

enum handover_kind {
    HANDOVER_UNREADABLE, /* something was left, and this program does not understand it */
    HANDOVER_SUPERVISOR,
    HANDOVER_WORKER,
};

struct handover {
    enum handover_kind kind;
    char *bytes;
    size_t length, capacity;
    size_t position; /* of the reader */
    bool broken;
    int *descriptors; /* that were written: they stay open when the program is replaced */
    size_t descriptor_count, descriptor_capacity;
};

/* ---- leaving -------------------------------------------------------------------------------- */

/* Ends with handover_free(). */
void handover_begin(struct handover *state, enum handover_kind kind);

void handover_put(struct handover *state, int64_t number);
void handover_put_text(struct handover *state, struct text text);
/* A descriptor of this process, which the next program then owns; or -1. */
void handover_put_descriptor(struct handover *state, int descriptor);

/* Replaces this program by the one behind the descriptor (program.h). Returns only when that
 * fails, with errno set; then everything is as before. */
void handover_pass(struct handover *state, int program);

/* The first half of that: puts all where handover_take() finds it. Returns the memory's descriptor,
 * -1 with errno set on failure. */
int handover_store(const struct handover *state);

/* ---- taking over ---------------------------------------------------------------------------- */

/* Returns false when nobody left anything: the usual start. Ends with handover_free(). */
bool handover_take(struct handover *state);

int64_t handover_number(struct handover *state);
/* Valid until handover_free(). */
struct text handover_text(struct handover *state);
/* Closed when this program is replaced in its turn, unless it is put again. */
int handover_descriptor(struct handover *state);

/* Whether all was as it was written, and nothing is left. */
bool handover_is_whole(const struct handover *state);

void handover_free(struct handover *state);

#endif
