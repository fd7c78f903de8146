/* text: strings that come from outside, as pointer and length, and the few questions asked of them.
 *
 * A struct text borrows its bytes: it is valid as long as what it points into (a request's
 * parameters, the arena, a literal). It need not end in NUL. Nothing here allocates, fails
 * otherwise than by its return value, or blocks. */
#ifndef LARDER_TEXT_H
#define LARDER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct text {
    const char *data;
    size_t length;
};

/* The text of a string literal. */
#define TEXT(literal)                                                                              \
    (struct text) {                                                                                \
        .data = "" literal, .length = sizeof(literal) - 1                                          \
    }

static inline struct text text_from(const char *string) {
    return (struct text){.data = string, .length = strlen(string)};
}

static inline bool text_equals(struct text a, struct text b) {
    return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

/* Compares with ASCII letters folded, for media types and header tokens. */
bool text_equals_ignoring_case(struct text a, struct text b);

/* Removes spaces and tabs (RFC 9110 section 5.6.3, OWS) at both ends. */
struct text text_trim(struct text text);

/* Splits off what stands before the first separator (all of it when there is none) and moves *rest
 * behind the separator. Returns false when *rest is used up (its data is NULL then). */
bool text_split(struct text *rest, char separator, struct text *part);

/* Parses a whole number in its one spelling (an optional minus, digits, no leading zero, no -0)
 * between minimum and maximum. Returns false on any other text; *value is then untouched. */
bool text_integer(struct text text, int64_t minimum, int64_t maximum, int64_t *value);

/* Parses the id of a resource in a path: a decimal number from 1 to INT64_MAX as the service itself
 * writes it, so without sign or leading zero. */
bool text_id(struct text text, int64_t *id);

/* Decodes %XX (RFC 3986 section 2.1) into output, which has room for text.length bytes, and '+' as
 * a space when form is set. Returns the length, or -1 when a % is not followed by two hex digits.
 */
ptrdiff_t text_percent_decode(struct text text, bool form, char *output);

/* Encodes all but A-Z a-z 0-9 - . _ ~ as %XX, so that the text can stand in a query. Output has
 * room for three times text.length bytes. Returns the length. */
size_t text_percent_encode(struct text text, char *output);

/* Decodes the code point at the start of a text that is not empty. Returns its length in bytes, 0
 * when it is malformed. */
size_t text_code_point(struct text text, uint32_t *code_point);

/* Number of code points, for text that is valid UTF-8. */
size_t text_code_points(struct text text);

/* True when text (valid UTF-8) is empty or holds nothing but Unicode white space. */
bool text_is_blank(struct text text);

/* True when every byte is one of A-Z a-z 0-9 . _ - */
bool text_is_token(struct text text);

/* True when text is well-formed UTF-8 (RFC 3629: shortest form, no surrogates, up to U+10FFFF). */
bool text_is_utf8(struct text text);

#endif
