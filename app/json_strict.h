/* json_strict: what a strict reader of JSON must refuse and json-c lets pass.
 *
 * json-c builds the tree (body.c). It keeps the last of two equal keys, takes NaN, comments,
 * "-01" and "1.", lets control characters into strings and turns half of a surrogate pair into
 * U+FFFD. One pass over the text finds these, and counts what is needed to notice equal keys
 * afterwards. The grammar of values (commas, brackets, literals) stays json-c's. Nothing allocates
 * or blocks. */
#ifndef LARDER_JSON_STRICT_H
#define LARDER_JSON_STRICT_H

#include "text.h"

enum {
    JSON_NESTING_LIMIT = 16,
    JSON_VALUES_LIMIT = 20000, /* json-c takes up to 800 bytes for one; 1,000 products have 6,000 */
};

/* Returns NULL when nothing is wrong, else what is, as the end of a sentence that begins with "the
 * body". *members becomes the number of object members in the text (colons outside of strings). */
const char *json_strict_fault(struct text json, size_t *members);

#endif
