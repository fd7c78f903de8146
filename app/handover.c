#define _GNU_SOURCE
#include "handover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"
#include "program.h"

#define VARIABLE "LARDER_HAND_OVER"

enum { MAGIC = 0x4C614844 };

static bool close_on_exec(int descriptor, bool close) {
    return fcntl(descriptor, F_SETFD, close ? FD_CLOEXEC : 0) == 0;
}

/* ---- leaving -------------------------------------------------------------------------------- */

static void append(struct handover *state, const void *bytes, size_t length) {
    if (state->capacity - state->length < length) {
        state->capacity = 2 * (state->capacity + length);
        state->bytes = realloc(state->bytes, state->capacity);
        if (state->bytes == NULL) {
            log_out_of_memory();
        }
    }
    if (length > 0) {
        memcpy(state->bytes + state->length, bytes, length);
        state->length += length;
    }
}

void handover_begin(struct handover *state, enum handover_kind kind) {
    *state = (struct handover){.kind = kind};
    handover_put(state, MAGIC);
    handover_put(state, HANDOVER_FORMAT);
    handover_put(state, kind);
}

void handover_put(struct handover *state, int64_t number) {
    append(state, &number, sizeof number);
}

void handover_put_text(struct handover *state, struct text text) {
    handover_put(state, (int64_t)text.length);
    append(state, text.data, text.length);
}

void handover_put_descriptor(struct handover *state, int descriptor) {
    handover_put(state, descriptor);
    if (descriptor < 0) {
        return;
    }
    if (state->descriptor_count == state->descriptor_capacity) {
        state->descriptor_capacity = 2 * state->descriptor_capacity + 16;
        state->descriptors =
            realloc(state->descriptors, state->descriptor_capacity * sizeof *state->descriptors);
        if (state->descriptors == NULL) {
            log_out_of_memory();
        }
    }
    state->descriptors[state->descriptor_count++] = descriptor;
}

static void keep_open(const struct handover *state, bool open) {
    for (size_t i = 0; i < state->descriptor_count; i++) {
        close_on_exec(state->descriptors[i], !open);
    }
}

static bool write_all(int descriptor, struct text text) {
    while (text.length > 0) {
        ssize_t written = write(descriptor, text.data, text.length);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        if (written > 0) {
            text.data += written;
            text.length -= (size_t)written;
        }
    }
    return true;
}

int handover_store(const struct handover *state) {
    int memory = memfd_create("larder hand-over", MFD_CLOEXEC);
    char number[16];
    snprintf(number, sizeof number, "%d", memory);
    struct text all = {.data = state->bytes, .length = state->length};
    if (memory >= 0 && (!write_all(memory, all) || setenv(VARIABLE, number, 1) != 0)) {
        int reason = errno;
        close(memory);
        errno = reason;
        return -1;
    }
    return memory;
}

void handover_pass(struct handover *state, int program) {
    int memory = handover_store(state);
    if (memory < 0) {
        return;
    }
    keep_open(state, true);
    close_on_exec(memory, false);
    program_execute(program, NULL);
    int reason = errno;
    keep_open(state, false);
    close(memory);
    unsetenv(VARIABLE);
    errno = reason;
}

/* ---- taking over ---------------------------------------------------------------------------- */

static bool take(struct handover *state, void *bytes, size_t length) {
    if (state->broken || state->length - state->position < length) {
        state->broken = true;
        return false;
    }
    memcpy(bytes, state->bytes + state->position, length);
    state->position += length;
    return true;
}

static bool read_memory(struct handover *state, int memory) {
    struct stat status;
    if (fstat(memory, &status) != 0 || status.st_size <= 0) {
        return false;
    }
    state->capacity = (size_t)status.st_size;
    state->bytes = malloc(state->capacity);
    if (state->bytes == NULL) {
        log_out_of_memory();
    }
    while (state->length < state->capacity) {
        ssize_t got = pread(memory, state->bytes + state->length, state->capacity - state->length,
                            (off_t)state->length);
        if (got <= 0) {
            return false;
        }
        state->length += (size_t)got;
    }
    return true;
}

bool handover_take(struct handover *state) {
    const char *value = getenv(VARIABLE);
    int64_t memory = -1;
    *state = (struct handover){.kind = HANDOVER_UNREADABLE};
    if (value == NULL) {
        return false;
    }
    if (text_integer(text_from(value), STDERR_FILENO + 1, INT32_MAX, &memory) &&
        read_memory(state, (int)memory) && handover_number(state) == MAGIC &&
        handover_number(state) == HANDOVER_FORMAT) {
        int64_t kind = handover_number(state);
        state->kind = kind == HANDOVER_SUPERVISOR || kind == HANDOVER_WORKER
                          ? (enum handover_kind)kind
                          : HANDOVER_UNREADABLE;
        close((int)memory);
    }
    unsetenv(VARIABLE);
    return true;
}

int64_t handover_number(struct handover *state) {
    int64_t number = 0;
    return take(state, &number, sizeof number) ? number : 0;
}

struct text handover_text(struct handover *state) {
    uint64_t length = (uint64_t)handover_number(state);
    if (state->broken || length > state->length - state->position) {
        state->broken = true;
        return TEXT("");
    }
    struct text text = {.data = state->bytes + state->position, .length = length};
    state->position += length;
    return text;
}

int handover_descriptor(struct handover *state) {
    int64_t descriptor = handover_number(state);
    if (state->broken || descriptor == -1) {
        return -1;
    }
    if (descriptor < 0 || descriptor > INT32_MAX || !close_on_exec((int)descriptor, true)) {
        state->broken = true;
        return -1;
    }
    return (int)descriptor;
}

bool handover_is_whole(const struct handover *state) {
    return !state->broken && state->position == state->length;
}

void handover_free(struct handover *state) {
    if (state->bytes != NULL) {
        explicit_bzero(state->bytes, state->capacity); /* there are keys in it */
    }
    free(state->bytes);
    free(state->descriptors);
    *state = (struct handover){0};
}
