/* request: one HTTP request as the web server hands it over, and its path, query and identifiers.
 *
 * Everything in a request is borrowed: from the connection's parameters until the answer has been
 * sent, or from the arena. Nothing here blocks. */
#ifndef LARDER_REQUEST_H
#define LARDER_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "fastcgi.h"
#include "text.h"

/* RFC 9110 section 9; METHOD_OTHER is well-formed and unknown here. */
enum method {
    METHOD_GET,
    METHOD_HEAD,
    METHOD_OPTIONS,
    METHOD_POST,
    METHOD_PUT,
    METHOD_PATCH,
    METHOD_DELETE,
    METHOD_OTHER,
};

/* Its name, in capitals; "other" for METHOD_OTHER. */
struct text request_method_name(enum method method);

enum { BODY_LIMIT_BYTES = FASTCGI_BODY_BYTES, PATH_SEGMENTS = 8 };

enum body_state { BODY_WHOLE, BODY_CUT_OFF, BODY_TOO_LARGE };

struct db;
struct jwt_rules;
struct scoreboard;

struct request {
    enum method method;
    struct text prefix; /* LARDER_PREFIX: where the service hangs, "" or such as "/shop" */
    struct text query;  /* behind the '?', still encoded */
    struct text segments[PATH_SEGMENTS]; /* of the path below the prefix, decoded */
    int segment_count;                   /* -1: the path cannot be one of ours */
    int64_t id;                          /* the {id} of the route */

    struct text method_name, target, content_length; /* as they came */
    struct text content_type, if_match, if_none_match, origin, authorization, idempotency_key;
    struct text request_id; /* X-Request-Id, made by the web server if not by the client */
    bool tells_id;          /* the web server did not: id and header of the answer are ours */
    struct text clients_id; /* what the client would have it be, where the web server makes none */
    /* Whose it is, where the web server says so (for /metrics), and who it says it passes on for.
     */
    struct text remote_address, forwarded_for;
    struct text body;
    enum body_state body_state;

    struct arena *arena;
    struct db *db;
    const struct scoreboard *scoreboard;
    uint64_t *random;               /* the worker's generator, never 0 */
    bool probes;                    /* the setting */
    const struct jwt_rules *tokens; /* NULL: no secret file, so no routes that need one */
    int64_t user;                   /* whose token it bears, on a route of such tokens */
    int64_t now_s;                  /* when the batch began, in seconds since 1970 */
    struct text now;                /* the same, RFC 3339 UTC */
};

/* Takes what has come on a readable connection; once that is a whole request it is laid out in
 * *request, which the caller has zeroed but for arena and random. Returns what fastcgi_receive()
 * does. */
enum fastcgi_state request_receive(struct request *request, struct fastcgi_connection *connection);

/* Sets path and query from a raw request target, below request->prefix. */
void request_set_target(struct request *request, struct text target);

enum parameter_type {
    PARAMETER_INTEGER, /* a whole number from minimum to maximum */
    PARAMETER_TEXT,    /* minimum to maximum code points, without blanks at both ends */
    PARAMETER_WORD     /* one of words */
};

/* A query parameter that a route accepts. */
struct parameter {
    const char *name;
    enum parameter_type type;
    int64_t minimum, maximum;
    int64_t standard;         /* of an integer that is not given */
    const char *const *words; /* ends in NULL */
};

struct parameter_value {
    bool given;
    int64_t integer;
    struct text text; /* decoded, in the arena; of PARAMETER_WORD too */
};

enum { PARAMETERS = 8 };

struct response;

/* Reads the query into values, in the order of the table (at most PARAMETERS; 0 for a route that
 * takes none). An unknown, repeated or malformed parameter is answered with 400, and false
 * returned. */
bool request_query(const struct request *request, struct response *response,
                   const struct parameter *table, int count, struct parameter_value *values);

/* Answers 400 about one parameter. Returns false. */
bool request_refuse_parameter(const struct request *request, struct response *response,
                              struct text name, const char *complaint);

#endif
