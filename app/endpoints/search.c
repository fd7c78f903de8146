#include "search.h"

#include "../buffer.h"

/* The index's tokenizer splits at all that is neither letter nor digit; beyond ASCII that is left
 * to it. */
static bool in_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           ((unsigned char)c & 0x80) != 0;
}

struct text search_expression(struct arena *arena, struct text text) {
    struct buffer out = {.arena = arena};
    size_t i = 0;
    while (i < text.length) {
        size_t start = i;
        while (i < text.length && in_word(text.data[i])) {
            i++;
        }
        if (i > start) {
            buffer_append(&out, out.length == 0 ? TEXT("\"") : TEXT(" \""));
            buffer_append(&out, (struct text){.data = text.data + start, .length = i - start});
            buffer_append(&out, TEXT("\""));
        } else {
            i++;
        }
    }
    return buffer_text(&out);
}
