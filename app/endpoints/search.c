#include "search.h"

#include "../buffer.h"

/* Beyond ASCII, the blocks of Unicode that hold what separates words: spaces, punctuation, symbols,
 * pictures. Inside a word that has another separator, the index looks for its parts side by side.
 */
static const struct {
    uint32_t first, last;
} separators[] = {
    {0x0080, 0x00A9},   {0x00AB, 0x00B1}, {0x00B4, 0x00B4}, {0x00B6, 0x00B8}, {0x00BB, 0x00BB},
    {0x00BF, 0x00BF},   {0x00D7, 0x00D7}, {0x00F7, 0x00F7}, {0x1680, 0x1680}, {0x2000, 0x206F},
    {0x20A0, 0x20CF},   {0x2190, 0x245F}, {0x2500, 0x2775}, {0x2794, 0x2BFF}, {0x2E00, 0x2E2E},
    {0x2E30, 0x2E7F},   {0x3000, 0x3004}, {0x3008, 0x3020}, {0xFE10, 0xFE6F}, {0xFF01, 0xFF0F},
    {0xFF1A, 0xFF20},   {0xFF3B, 0xFF40}, {0xFF5B, 0xFF65}, {0xFFF0, 0xFFFF}, {0x1F000, 0x1F0FF},
    {0x1F10D, 0x1FAFF},
};

static bool in_word(uint32_t c) {
    if (c < 0x80) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    }
    for (size_t i = 0; i < sizeof separators / sizeof *separators; i++) {
        if (c >= separators[i].first && c <= separators[i].last) {
            return false;
        }
    }
    return true;
}

/* Takes the next word off the text: its length is 0 at the end. */
static struct text next_word(struct text *text) {
    struct text word = {.data = text->data, .length = 0};
    while (text->length > 0) {
        uint32_t c = 0;
        size_t length = text_code_point(*text, &c);
        if (in_word(c)) {
            word.length += length;
        } else if (word.length > 0) {
            break;
        } else {
            word.data = text->data + length;
        }
        text->data += length;
        text->length -= length;
    }
    return word;
}

struct text search_expression(struct arena *arena, struct text text) {
    struct buffer out = {.arena = arena};
    for (struct text word; (word = next_word(&text)).length > 0;) {
        buffer_append(&out, out.length == 0 ? TEXT("\"") : TEXT(" \""));
        buffer_append(&out, word);
        buffer_append(&out, TEXT("\""));
    }
    return buffer_text(&out);
}

bool search_catch_up(struct db *db) {
    bool done = db_run(db_statement(db, SEARCH_FEED)) == DB_DONE &&
                db_run(db_statement(db, "DELETE FROM products_search_changes")) == DB_DONE;
    db_reset_statements(db);
    return done;
}

void search_catch_up_at_start(struct db *db) {
    bool waiting = db_row(db_statement(db, "SELECT 1 FROM products_search_changes LIMIT 1"));
    db_reset_statements(db);
    if (waiting && db_begin(db)) {
        if (!search_catch_up(db)) {
            db_rollback(db);
        }
        db_commit(db);
    }
    db_clear_failure(db);
}
