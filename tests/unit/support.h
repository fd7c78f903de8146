/* support: what several unit tests share.
 *
 *   scratch   a directory of its own for each test, gone after it, and databases in it
 *   log       what the code under test wrote to standard error
 *   wire      FastCGI records as bytes
 *   peer      the web server's end of a FastCGI connection, played from a script
 *
 * Functions fail the running test (cmocka) when the system does not let them work. */
#ifndef LARDER_TESTS_SUPPORT_H
#define LARDER_TESTS_SUPPORT_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "buffer.h"
#include "db.h"
#include "fastcgi.h"

#if defined(__has_feature) /* clang */
#if __has_feature(address_sanitizer)
#define WITH_ADDRESS_SANITIZER
#endif
#elif defined(__SANITIZE_ADDRESS__) /* gcc */
#define WITH_ADDRESS_SANITIZER
#endif

#ifdef WITH_ADDRESS_SANITIZER
/* What malloc() has given out and not got back. Of the sanitizer; gcc has no header with it. */
size_t __sanitizer_get_current_allocated_bytes(void);
#endif

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Fails unless the two texts are equal; shows both. The message names the case of a table. */
#define assert_text(got, expected) support_assert_text((got), (expected), __FILE__, __LINE__)
void support_assert_text(struct text got, struct text expected, const char *file, int line);

/* A copy in memory of exactly that length: AddressSanitizer sees a byte read too many. */
struct text exactly(struct text text);
void release(struct text copy);

/* ---- scratch -------------------------------------------------------------------------------- */

/* Setup and teardown of a test. The teardown also gives standard error back. */
int scratch_setup(void **state);
int scratch_teardown(void **state);

/* The path of a name in the directory; good for the next 8 calls. */
const char *scratch_path(const char *name);

/* Files in the directory. */
int scratch_files(void);

/* The whole file; *length bytes to free(). */
char *scratch_read(const char *path, size_t *length);

/* A new database with the schema, and with the demo data if wanted; returns its path,
 * scratch_path("db"). */
const char *scratch_database(bool demo);

/* Runs SQL behind the product's back, or asks for one number. */
void scratch_alter(const char *path, const char *sql);
int64_t scratch_ask(const char *path, const char *sql);

/* Opens it; the test fails when that fails. */
struct db *scratch_open(enum db_mode mode);

/* ---- log ------------------------------------------------------------------------------------ */

/* From here on standard error is kept; log_captured() gives it back and returns what was written,
 * good until the next capture. */
void log_capture(void);
const char *log_captured(void);

/* ---- wire ----------------------------------------------------------------------------------- */

enum record_type {
    RECORD_BEGIN = 1,
    RECORD_ABORT = 2,
    RECORD_END = 3,
    RECORD_PARAMS = 4,
    RECORD_STDIN = 5,
    RECORD_STDOUT = 6,
    RECORD_STDERR = 7,
    RECORD_GET_VALUES = 9,
    RECORD_GET_VALUES_RESULT = 10,
    RECORD_UNKNOWN_TYPE = 11,
};

enum { ROLE_RESPONDER = 1, ROLE_AUTHORIZER = 2, ROLE_FILTER = 3, RECORD_HEADER_BYTES = 8 };

/* One record, content up to 65535 bytes, padding up to 255. */
void wire_record(struct buffer *wire, int type, int id, struct text content, int padding);
void wire_begin(struct buffer *wire, int id, int role, bool keep);

/* A name and a value as they stand in a PARAMS stream (section 3.4 of the specification). */
void wire_pair(struct buffer *wire, struct text name, struct text value);
/* The same from "NAME=value". */
void wire_pairs(struct buffer *wire, const char *const *pairs);

/* A stream: records of up to step bytes, then the empty record that ends it. */
void wire_stream(struct buffer *wire, int type, struct text content, size_t step);

/* A whole request, id 1: "NAME=value" parameters up to a NULL, and the body; the connection is to
 * be kept. */
void wire_request(struct buffer *wire, const char *const *pairs, struct text body);

/* ---- peer ----------------------------------------------------------------------------------- */

struct answer {
    struct text out;     /* the STDOUT stream, joined */
    bool valid;          /* all records were well-formed, of the right id and in the right order */
    bool out_ended;      /* the empty STDOUT record came */
    bool ended;          /* END_REQUEST came */
    int64_t status;      /* its application status */
    int protocol_status; /* its protocol status */
    int refused;         /* requests of other ids that were ended with CANT_MPX_CONN */
    struct text management; /* content of the GET_VALUES_RESULT or UNKNOWN_TYPE record */
    int management_type;
};

struct peer {
    struct arena arena;                    /* the test's own memory */
    struct fastcgi_connection *connection; /* under test */
    int near, far;                         /* descriptors of the adapter and of the peer */
    int id;                                /* of the requests, 1 unless the test sets another */

    pthread_t sender, listener;
    bool sending, listening;
    struct text to_send;
    size_t step;
    bool endless;
    struct arena listener_arena;
    struct answer heard;
};

/* Setup and teardown of a test: *state is a connected struct peer. */
int peer_setup(void **state);
int peer_teardown(void **state);

/* Closes both ends and connects anew. */
void peer_connect(struct peer *peer);

/* Sends bytes that fit into the socket's buffer (up to about 100 KiB). */
void peer_send(struct peer *peer, struct text bytes);

/* Sends them from a thread, step bytes a write; endless: again and again until the adapter closes.
 */
void peer_stream(struct peer *peer, struct text bytes, size_t step, bool endless);

void peer_hang_up(struct peer *peer);

/* Reads the answer from a thread, for one that is larger than the socket's buffer. */
void peer_listen(struct peer *peer);

/* The answer up to END_REQUEST, or to where the connection ended. */
struct answer peer_answer(struct peer *peer);

/* True when the adapter has closed its end. */
bool peer_sees_end(struct peer *peer);

#endif
