/* search: what a client types into q, as an expression of the full-text index (SQLite FTS5, section
 * 3). */
#ifndef LARDER_SEARCH_H
#define LARDER_SEARCH_H

#include "../arena.h"
#include "../db.h"
#include "../text.h"

/* Puts all that waits to be put there into the index. One statement for all rows: between
 * statements the index would write out what it has, at a cost that hardly depends on how much that
 * is. */
#define SEARCH_FEED                                                                                \
    "INSERT INTO products_search (products_search, rowid, sku, name)"                              \
    " SELECT command, id, sku, name FROM products_search_changes ORDER BY seq"

/* Brings the index up to date with the products that this transaction, or another program, has
 * changed. For the writer, before a commit. Returns false when that failed: see db_failure(). */
bool search_catch_up(struct db *db);

/* The same with what is there when the writer starts, in a transaction of its own. When that fails
 * (a lock, a full disk; it has been logged) the next write tries again. */
void search_catch_up_at_start(struct db *db);

/* All words of the text must occur. Every word is quoted, so nothing in it is an operator. The text
 * must be valid UTF-8. Returns an empty text when there is no word. */
struct text search_expression(struct arena *arena, struct text text);

#endif
