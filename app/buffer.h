/* buffer: bytes that grow while an answer is written.
 *
 * A buffer takes its memory from an arena and is never freed by itself. Appending cannot fail (see
 * arena.h). Nothing blocks. The bytes move when the buffer grows: keep offsets, not pointers. */
#ifndef LARDER_BUFFER_H
#define LARDER_BUFFER_H

#include <stdint.h>
#include <string.h>

#include "arena.h"
#include "text.h"

struct buffer {
    struct arena *arena;
    char *data;
    size_t length;
    size_t capacity;
};

/* Makes room for extra more bytes. */
void buffer_reserve_slow(struct buffer *buffer, size_t extra);

static inline char *buffer_reserve(struct buffer *buffer, size_t extra) {
    if (buffer->capacity - buffer->length < extra) {
        buffer_reserve_slow(buffer, extra);
    }
    return buffer->data + buffer->length;
}

static inline void buffer_append(struct buffer *buffer, struct text text) {
    if (text.length > 0) {
        memcpy(buffer_reserve(buffer, text.length), text.data, text.length);
        buffer->length += text.length;
    }
}

/* Appends a number in decimal. */
void buffer_append_integer(struct buffer *buffer, int64_t value);

/* Appends what printf() would print, up to 511 bytes of it. */
__attribute__((format(printf, 2, 3))) void buffer_print(struct buffer *buffer, const char *format,
                                                        ...);

static inline struct text buffer_text(const struct buffer *buffer) {
    return (struct text){.data = buffer->data, .length = buffer->length};
}

#endif
