/* body: the request body, checked against a table of fields.
 *
 * A resource writes its fields down once, as data; body_check() parses the JSON (json-c), reports
 * every error at once and keeps the values, and body_bind() hands them to a statement's parameters
 * of the same names. Values live in the request's arena. Only FIELD_REFERENCE reads the database.
 */
#ifndef LARDER_BODY_H
#define LARDER_BODY_H

#include <stdbool.h>
#include <stdint.h>

#include "db.h"
#include "request.h"
#include "response.h"

enum field_type {
    FIELD_TOKEN,    /* string of A-Z a-z 0-9 . _ -, minimum to maximum long */
    FIELD_TEXT,     /* string of minimum to maximum code points, not blank */
    FIELD_INTEGER,  /* JSON number without fraction and exponent, minimum to maximum */
    FIELD_REFERENCE /* the same, and exists() must find a row of that id */
};

struct field {
    const char *parameter; /* ":sku" binds, and "sku" is the member's name */
    enum field_type type;
    int64_t minimum, maximum;
    bool optional;
    int64_t standard; /* of an optional integer that is not given */
    bool (*exists)(struct db *db, int64_t id);
};

enum { FIELDS = 16, BODY_ERRORS = 100 /* that are told; the rest is counted */ };

struct body {
    const struct field *fields;
    int count;
    struct {
        int64_t integer;
        struct text text;
    } values[FIELDS];
    struct buffer errors; /* the members of the problem's "errors" array */
    int error_count;
};

/* Reads the request's body as one JSON object with these fields (at most FIELDS). Returns true when
 * all is well; else the response is the answer: 413 too large, 415 not application/json, 400 not
 * well-formed, 422 with all errors. */
bool body_check(const struct request *request, struct response *response,
                const struct field *fields, int count, struct body *body);

/* Adds an error at a JSON Pointer (RFC 6901), for body_refuse(). */
void body_error(struct body *body, struct text pointer, const char *detail);

/* Answers 422 with the errors so far. */
void body_refuse(const struct body *body, struct response *response);

/* Binds every field that the statement has a parameter for. */
void body_bind(const struct body *body, struct db_statement *statement);

#endif
