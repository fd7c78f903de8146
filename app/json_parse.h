/* json_parse: JSON in (RFC 8259), strictly, over json-c.
 *
 * The tree belongs to the caller, who gives it back with json_object_put(). Nothing blocks. */
#ifndef LARDER_JSON_PARSE_H
#define LARDER_JSON_PARSE_H

#include "text.h"

struct json_object;

/* Returns NULL when all is well and *tree holds the value, which is NULL for null. Else *tree is
 * NULL and the end of a sentence that says what is wrong is returned, such as "is not JSON": not
 * well-formed, not valid UTF-8, a NUL or half a surrogate pair in a string, a key twice in one
 * object, nested more than JSON_NESTING_LIMIT deep, something behind the value. */
const char *json_parse(struct text json, struct json_object **tree);

#endif
