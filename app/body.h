/* body: the request body, checked against a table of fields.
 *
 * A resource writes its fields down once, as data. A handler opens the body, reads one object or
 * each element of an array with body_read(), which notes every error, and binds the values to a
 * statement's parameters of the same names:
 *
 *     body_open(&body, request, response, BODY_JSON)          or the response is the answer
 *     body_read(&body, BODY_ROOT, fields, count, BODY_FULL)   or body_refuse(&body, response, 422)
 *     body_bind(&body, statement)
 *
 * Values are borrowed from the parsed tree, which goes when the handler has returned. Only
 * FIELD_REFERENCE reads the database; nothing else blocks. */
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
    FIELD_STRING,   /* string of minimum to maximum code points, any */
    FIELD_WORD,     /* string that is one of words; the first when it is not given */
    FIELD_INTEGER,  /* JSON number without fraction and exponent, minimum to maximum */
    FIELD_REFERENCE /* the same, and exists() must find a row of that id */
};

struct field {
    const char *parameter; /* ":sku" binds, and "sku" is the member's name */
    enum field_type type;
    int64_t minimum, maximum; /* minimum above INT64_MIN */
    bool optional;
    int64_t standard;         /* of an optional integer that is not given */
    const char *const *words; /* ends in NULL */
    bool (*exists)(struct db *db, int64_t id);
};

enum { FIELDS = 16 };

enum body_media { BODY_JSON, BODY_MERGE_PATCH /* or JSON */ };
enum body_mode {
    BODY_FULL,   /* a whole representation: required members must be there */
    BODY_PARTIAL /* a merge patch (RFC 7396): what is not given stays; null means the standard value
                  */
};
enum { BODY_ROOT = -1 };

struct json_object;

struct body {
    const struct request *request;
    struct json_object *root;
    struct buffer errors; /* the members of the problem's "errors" array */
    int error_count;
    /* of the object read last */
    const struct field *fields;
    int count;
    int element;
    struct {
        bool given; /* or, in a full body, its standard value */
        int64_t integer;
        struct text text;
    } values[FIELDS];
};

/* Parses the body. Returns false when the response is the answer: 413 too large, 415 another media
 * type, 400 missing, cut off or not well-formed. */
bool body_open(struct body *body, const struct request *request, struct response *response,
               enum body_media media);

/* The number of elements of an array, -1 when the body is something else. */
int64_t body_elements(const struct body *body);

/* Reads the fields (at most FIELDS) of the object that is the body, or of one element of the array
 * that it is. Returns false when something is wrong with it; the errors are noted. */
bool body_read(struct body *body, int element, const struct field *fields, int count,
               enum body_mode mode);

/* True when body_read() found any of its fields given. */
bool body_gives_any(const struct body *body);

/* Notes an error at a member of the object read last; at the body as a whole when member is NULL.
 */
void body_error(struct body *body, const char *member, const char *detail);

/* Answers with a problem that lists the errors so far. */
void body_refuse(const struct body *body, struct response *response, int status);

/* Binds every field that the statement has a parameter for. In a partial body what is not given
 * stays NULL. */
void body_bind(const struct body *body, struct db_statement *statement);

#endif
