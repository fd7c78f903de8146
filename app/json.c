#include "json.h"

#include <stdlib.h>

#include "log.h"

/* ---- strings -------------------------------------------------------------------------------- */

static bool must_escape(unsigned char c) {
    return c < ' ' || c == '"' || c == '\\';
}

/* A byte repeated; and the highest bit of each byte of word that is zero (the lowest one such is
 * right, and a byte above it may be wrong). */
#define EIGHT(byte)      (UINT64_C(0x0101010101010101) * (byte))
#define ZERO_BYTES(word) (((word)-EIGHT(1)) & ~(word)&EIGHT(0x80))

/* How many bytes at the front need no escape: eight at a time, since most texts need none at all.
 */
static size_t plain_length(struct text text) {
    size_t i = 0;
    for (uint64_t word = 0; i + sizeof word <= text.length; i += sizeof word) {
        memcpy(&word, text.data + i, sizeof word);
        uint64_t control = (word - EIGHT(' ')) & ~word & EIGHT(0x80);
        if ((control | ZERO_BYTES(word ^ EIGHT('"')) | ZERO_BYTES(word ^ EIGHT('\\'))) != 0) {
            break;
        }
    }
    while (i < text.length && !must_escape((unsigned char)text.data[i])) {
        i++;
    }
    return i;
}

static void escape(struct buffer *out, unsigned char c) {
    char *to = buffer_reserve(out, 6);
    const char *known = strchr("\"\"\\\\\bb\ff\nn\rr\tt", c);
    if (c != 0 && known != NULL) {
        to[0] = '\\';
        to[1] = known[1];
        out->length += 2;
        return;
    }
    memcpy(to, "\\u00", 4); /* NOLINT(bugprone-not-null-terminated-result): no C string */
    to[4] = (char)('0' + (c >> 4));
    to[5] = "0123456789abcdef"[c & 15];
    out->length += 6;
}

void json_string(struct buffer *out, struct text text) {
    char *to = buffer_reserve(out, text.length + 2);
    *to++ = '"';
    out->length++;
    for (;;) {
        size_t plain = plain_length(text);
        buffer_append(out, (struct text){.data = text.data, .length = plain});
        if (plain == text.length) {
            break;
        }
        escape(out, (unsigned char)text.data[plain]);
        text.data += plain + 1;
        text.length -= plain + 1;
    }
    buffer_append(out, TEXT("\""));
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* What stands before each column's value, and behind the last one. One piece of malloc() memory, so
 * that the statement can free it. */
struct layout {
    int columns;
    struct {
        unsigned start, length; /* in the fragments */
    } before[];
};

static char *fragments_of(struct layout *layout) {
    return (char *)&layout->before[layout->columns + 1];
}

/* Length of what two aliases share up to and with a dot: their common objects. */
static size_t common_path(struct text a, struct text b) {
    size_t shared = 0;
    for (size_t i = 0; i < a.length && i < b.length && a.data[i] == b.data[i]; i++) {
        if (a.data[i] == '.') {
            shared = i + 1;
        }
    }
    return shared;
}

static void close_objects(struct buffer *out, struct text alias, size_t shared) {
    for (size_t i = shared; i < alias.length; i++) {
        if (alias.data[i] == '.') {
            buffer_append(out, TEXT("}"));
        }
    }
}

static void open_key(struct buffer *out, struct text path) {
    struct text part;
    while (text_split(&path, '.', &part)) {
        json_string(out, part);
        buffer_append(out, path.data != NULL ? TEXT(":{") : TEXT(":"));
    }
}

static struct layout *layout_create(struct db_statement *statement) {
    struct arena arena = {0};
    struct buffer out = {.arena = &arena};
    int columns = db_columns(statement);
    size_t head =
        sizeof(struct layout) + (size_t)(columns + 1) * sizeof(((struct layout *)0)->before[0]);
    size_t *ends = arena_alloc(&arena, (size_t)(columns + 1) * sizeof *ends);
    struct text previous = {.data = "", .length = 0};
    for (int i = 0; i < columns; i++) {
        struct text alias = text_from(db_column_name(statement, i));
        size_t shared = common_path(previous, alias);
        close_objects(&out, previous, shared);
        buffer_append(&out, i == 0 ? TEXT("{") : TEXT(","));
        open_key(&out, (struct text){.data = alias.data + shared, .length = alias.length - shared});
        ends[i] = out.length;
        previous = alias;
    }
    close_objects(&out, previous, 0);
    buffer_append(&out, TEXT("}"));
    ends[columns] = out.length;

    struct layout *layout = malloc(head + out.length);
    if (layout == NULL) {
        log_out_of_memory();
    }
    layout->columns = columns;
    size_t start = 0;
    for (int i = 0; i <= columns; i++) {
        layout->before[i].start = (unsigned)start;
        layout->before[i].length = (unsigned)(ends[i] - start);
        start = ends[i];
    }
    memcpy(fragments_of(layout), out.data, out.length);
    arena_destroy(&arena);
    return layout;
}

void json_row(struct buffer *out, struct db_statement *statement) {
    void **annotation = db_annotation(statement);
    if (*annotation == NULL) {
        *annotation = layout_create(statement);
    }
    struct layout *layout = *annotation;
    const char *fragments = fragments_of(layout);
    for (int i = 0; i <= layout->columns; i++) {
        buffer_append(out, (struct text){.data = fragments + layout->before[i].start,
                                         .length = layout->before[i].length});
        if (i == layout->columns) {
            break;
        }
        struct db_value value = db_value(statement, i);
        switch (value.type) {
        case DB_INTEGER:
            buffer_append_integer(out, value.integer);
            break;
        case DB_TEXT:
            json_string(out, value.text);
            break;
        case DB_NULL:
            buffer_append(out, TEXT("null"));
            break;
        }
    }
}
