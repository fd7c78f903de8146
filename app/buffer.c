#include "buffer.h"

#include <stdarg.h>
#include <stdio.h>

enum { FIRST_BYTES = 512, DIGITS_INT64 = 20, PRINT_BYTES = 512 };

void buffer_reserve_slow(struct buffer *buffer, size_t extra) {
    size_t capacity = buffer->capacity * 2 > FIRST_BYTES ? buffer->capacity * 2 : FIRST_BYTES;
    if (capacity - buffer->length < extra) {
        capacity = buffer->length + extra;
    }
    buffer->data = arena_grow(buffer->arena, buffer->data, buffer->capacity, capacity);
    buffer->capacity = capacity;
}

void buffer_append_integer(struct buffer *buffer, int64_t value) {
    char digits[DIGITS_INT64];
    size_t start = sizeof digits;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[--start] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0) {
        digits[--start] = '-';
    }
    buffer_append(buffer, (struct text){.data = digits + start, .length = sizeof digits - start});
}

void buffer_print(struct buffer *buffer, const char *format, ...) {
    char text[PRINT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    size_t used = length < PRINT_BYTES ? (size_t)length : PRINT_BYTES - 1;
    buffer_append(buffer, (struct text){.data = text, .length = used});
}
