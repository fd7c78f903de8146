/* json: JSON out (RFC 8259), from strings and from database rows.
 *
 * A row's shape is written in its SQL: the column alias is the key, and a dot in it opens an
 * object:
 *
 *     SELECT p.id AS "id", c.name AS "category.name"   ->   {"id":1,"category":{"name":"Bread"}}
 *
 * The text between the values is laid out once per statement and kept on it; writing a row copies
 * fragments and values. Columns of one object must stand side by side. Nothing fails or blocks. */
#ifndef LARDER_JSON_H
#define LARDER_JSON_H

#include "buffer.h"
#include "db.h"

/* Appends a string with its quotes, escaped. The text must be valid UTF-8. */
void json_string(struct buffer *out, struct text text);

/* Appends the statement's current row as an object. */
void json_row(struct buffer *out, struct db_statement *statement);

#endif
