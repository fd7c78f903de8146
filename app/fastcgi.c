#define _GNU_SOURCE
#include "fastcgi.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "log.h"

/* From section 8 of the specification. */
enum {
    VERSION = 1,
    HEADER_BYTES = 8,
    RECORD_BYTES = HEADER_BYTES + 65535 + 255, /* the longest */
    BEGIN_REQUEST = 1,
    ABORT_REQUEST = 2,
    END_REQUEST = 3,
    PARAMS = 4,
    STDIN = 5,
    STDOUT = 6,
    GET_VALUES = 9,
    GET_VALUES_RESULT = 10,
    UNKNOWN_TYPE = 11,
    RESPONDER = 1,
    KEEP_CONNECTION = 1,
    REQUEST_COMPLETE = 0,
    CANT_MULTIPLEX = 1,
    UNKNOWN_ROLE = 3,
};

enum {
    SCRATCH_BYTES = 64 * 1024,
    INPUT_BYTES = 16 * 1024, /* room for each further read of a request that comes in parts */
    INPUT_LIMIT_BYTES = FASTCGI_PARAMETER_BYTES + FASTCGI_BODY_BYTES + RECORD_BYTES + INPUT_BYTES,
    CHUNK = 32 * 1024, /* content of an answer's record at the most */
    READS = 64,        /* at a time, from a peer that never stops sending */
};

/* A request is usually there as a whole: it is read into memory that all connections share, and
 * what it consists of is copied to the arena. Only one that comes in parts gets memory of its own.
 *
 * Decoding moves the contents of the records together, so that the memory holds first the
 * parameters, then the body, then bytes that are not decoded yet. */
struct fastcgi_connection {
    int descriptor;
    uint16_t id; /* of the request in hand; 0: none has begun */
    bool keep, parameters_ended, body_ended;
    unsigned char *input; /* NULL: nothing is kept */
    size_t capacity;
    size_t parameter_bytes, body_bytes, undecoded;
    size_t dropped; /* of the body, behind what is kept of it */
    struct text parameters, body;
};

struct record {
    unsigned char version, type;
    uint16_t id;
    unsigned char *content;
    size_t length, whole; /* of the content; with header and padding */
};

static unsigned char scratch[SCRATCH_BYTES];

struct fastcgi_connection *fastcgi_open(int descriptor) {
    struct fastcgi_connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL) {
        log_out_of_memory();
    }
    struct timeval limit = {.tv_sec = FASTCGI_SEND_TIMEOUT_MS / 1000,
                            .tv_usec = FASTCGI_SEND_TIMEOUT_MS % 1000 * 1000L};
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    /* the last part of a long answer goes at once; a unix socket knows no such option */
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    connection->descriptor = descriptor;
    return connection;
}

int fastcgi_descriptor(const struct fastcgi_connection *connection) {
    return connection->descriptor;
}

/* ---- sending -------------------------------------------------------------------------------- */

static bool send_all(int descriptor, const unsigned char *bytes, size_t length) {
    while (length > 0) {
        ssize_t sent = send(descriptor, bytes, length, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent <= 0) { /* gone, or it has not read for so long */
            return false;
        }
        bytes += sent;
        length -= (size_t)sent;
    }
    return true;
}

/* A record's header, section 3.3 of the specification; returns what follows it. */
static unsigned char *put_header(unsigned char *out, unsigned char type, uint16_t id,
                                 size_t length) {
    *out++ = VERSION;
    *out++ = type;
    *out++ = (unsigned char)(id >> 8);
    *out++ = (unsigned char)id;
    *out++ = (unsigned char)(length >> 8);
    *out++ = (unsigned char)length;
    *out++ = 0;
    *out++ = 0;
    return out;
}

static unsigned char *put_text(unsigned char *out, struct text text) {
    if (text.length > 0) {
        memcpy(out, text.data, text.length);
    }
    return out + text.length;
}

/* Section 5.5: the application's status, 0, and the protocol's. */
static unsigned char *put_end(unsigned char *out, uint16_t id, unsigned char protocol_status) {
    out = put_header(out, END_REQUEST, id, 8);
    return put_text(out, (struct text){(char[8]){[4] = (char)protocol_status}, 8});
}

static bool refuse(const struct fastcgi_connection *connection, uint16_t id,
                   unsigned char protocol_status) {
    unsigned char record[2 * HEADER_BYTES];
    put_end(record, id, protocol_status);
    return send_all(connection->descriptor, record, sizeof record);
}

/* Takes up to most bytes off the front. */
static struct text cut(struct text *text, size_t most) {
    struct text front = *text;
    front.length = text->length < most ? text->length : most;
    text->data += front.length;
    text->length -= front.length;
    return front;
}

static void forget_request(struct fastcgi_connection *connection) {
    free(connection->input);
    *connection = (struct fastcgi_connection){
        .descriptor = connection->descriptor, .id = connection->id, .keep = connection->keep};
}

bool fastcgi_send(struct fastcgi_connection *connection, struct text head, struct text body) {
    static unsigned char out[HEADER_BYTES + CHUNK + 3 * HEADER_BYTES];
    uint16_t id = connection->id;
    bool keep = connection->keep;
    bool last = false;
    bool sent = true;
    while (sent && !last) {
        struct text first = cut(&head, CHUNK);
        struct text second = cut(&body, CHUNK - first.length);
        unsigned char *end = out;
        if (first.length + second.length > 0) { /* an empty record would end the stream */
            end = put_header(end, STDOUT, id, first.length + second.length);
            end = put_text(put_text(end, first), second);
        }
        last = head.length + body.length == 0;
        if (last) {
            end = put_end(put_header(end, STDOUT, id, 0), id, REQUEST_COMPLETE);
        }
        sent = send_all(connection->descriptor, out, (size_t)(end - out));
    }
    forget_request(connection);
    connection->id = 0;
    return sent && keep;
}

void fastcgi_park(struct fastcgi_connection *connection) {
    forget_request(connection);
}

void fastcgi_close(struct fastcgi_connection *connection) {
    if (connection != NULL) {
        close(connection->descriptor);
        free(connection->input);
        free(connection);
    }
}

/* ---- parameters ----------------------------------------------------------------------------- */

/* A length of section 3.4: one byte, or four of which the first has its highest bit set. */
static bool take_length(struct text *rest, size_t *length) {
    const unsigned char *bytes = (const unsigned char *)rest->data;
    size_t size = rest->length > 0 && bytes[0] >= 0x80 ? 4 : 1;
    if (rest->length < size) {
        return false;
    }
    *length = size == 1 ? bytes[0]
                        : (size_t)(bytes[0] & 0x7F) << 24 | (size_t)bytes[1] << 16 |
                              (size_t)bytes[2] << 8 | bytes[3];
    cut(rest, size);
    return true;
}

static bool take_pair(struct text *rest, struct text *name, struct text *value) {
    size_t name_length = 0;
    size_t value_length = 0;
    if (!take_length(rest, &name_length) || !take_length(rest, &value_length) ||
        name_length > rest->length || value_length > rest->length - name_length) {
        return false;
    }
    *name = cut(rest, name_length);
    *value = cut(rest, value_length);
    return true;
}

bool fastcgi_parameter(const struct fastcgi_connection *connection, size_t *position,
                       struct text *name, struct text *value) {
    struct text rest = connection->parameters;
    cut(&rest, *position);
    if (rest.length == 0 || !take_pair(&rest, name, value)) {
        return false;
    }
    *position = connection->parameters.length - rest.length;
    return true;
}

static bool parameters_are_whole(struct text rest) {
    struct text name;
    struct text value;
    while (rest.length > 0) {
        if (!take_pair(&rest, &name, &value)) {
            return false;
        }
    }
    return true;
}

struct text fastcgi_body(const struct fastcgi_connection *connection, size_t *length) {
    *length = connection->body.length + connection->dropped;
    return connection->body;
}

/* ---- decoding ------------------------------------------------------------------------------- */

/* Looks at the first undecoded record. Returns false when it is not there to its end. */
static bool next_record(unsigned char *bytes, size_t length, struct record *record) {
    if (length < HEADER_BYTES) {
        return false;
    }
    record->version = bytes[0];
    record->type = bytes[1];
    record->id = (uint16_t)(bytes[2] << 8 | bytes[3]);
    record->length = (size_t)(bytes[4] << 8 | bytes[5]);
    record->whole = HEADER_BYTES + record->length + bytes[6];
    record->content = bytes + HEADER_BYTES;
    return length >= record->whole;
}

/* Section 4: of what a web server may ask, only FCGI_MPXS_CONNS has an answer that never changes.
 */
static bool answer_management(const struct fastcgi_connection *connection,
                              const struct record *record) {
    static const char asked[] = "FCGI_MPXS_CONNS";
    struct text content = {.data = (const char *)record->content, .length = record->length};
    unsigned char out[HEADER_BYTES + 32];
    unsigned char *end = out;
    if (record->type != GET_VALUES) {
        end = put_header(end, UNKNOWN_TYPE, 0, 8);
        end = put_text(end, (struct text){(char[8]){(char)record->type}, 8});
    } else if (memmem(content.data, content.length, asked, sizeof asked - 1) == NULL) {
        end = put_header(end, GET_VALUES_RESULT, 0, 0);
    } else {
        end = put_header(end, GET_VALUES_RESULT, 0, 2 + sizeof asked);
        end = put_text(end, TEXT("\x0F\x01"
                                 "FCGI_MPXS_CONNS0"));
    }
    return send_all(connection->descriptor, out, (size_t)(end - out));
}

static bool begin(struct fastcgi_connection *connection, const struct record *record) {
    if (record->id == 0 || record->length < 8) {
        return false;
    }
    if (connection->id != 0) {
        return connection->id != record->id && refuse(connection, record->id, CANT_MULTIPLEX);
    }
    if ((record->content[0] << 8 | record->content[1]) != RESPONDER) {
        refuse(connection, record->id, UNKNOWN_ROLE);
        return false;
    }
    connection->id = record->id;
    connection->keep = (record->content[2] & KEEP_CONNECTION) != 0;
    return true;
}

static bool take_parameters(struct fastcgi_connection *connection, unsigned char *input,
                            const struct record *record) {
    if (connection->parameters_ended ||
        connection->parameter_bytes + record->length > FASTCGI_PARAMETER_BYTES) {
        return false;
    }
    memmove(input + connection->parameter_bytes, record->content, record->length);
    connection->parameter_bytes += record->length;
    connection->parameters_ended = record->length == 0;
    return true;
}

static bool take_body(struct fastcgi_connection *connection, unsigned char *input,
                      const struct record *record) {
    if (!connection->parameters_ended || connection->body_ended) {
        return false;
    }
    size_t room = FASTCGI_BODY_BYTES - connection->body_bytes;
    size_t kept = record->length < room ? record->length : room;
    memmove(input + connection->parameter_bytes + connection->body_bytes, record->content, kept);
    connection->body_bytes += kept;
    connection->dropped += record->length - kept;
    connection->body_ended = record->length == 0;
    if (connection->body_bytes + connection->dropped >
        FASTCGI_DRAIN_BYTES) { /* enough of it to refuse it */
        connection->body_ended = true;
        connection->keep = false;
    }
    return true;
}

/* Returns false when the record has no place in the protocol. */
static bool take_record(struct fastcgi_connection *connection, unsigned char *input,
                        const struct record *record) {
    if (record->type == BEGIN_REQUEST) {
        return begin(connection, record);
    }
    if (record->id == 0) {
        return answer_management(connection, record);
    }
    if (connection->id == 0 || record->id != connection->id) {
        return true; /* of a request that is over or was refused */
    }
    switch (record->type) {
    case PARAMS:
        return take_parameters(connection, input, record);
    case STDIN:
        return take_body(connection, input, record);
    default:
        return false; /* an abort ends the connection as a hang-up does */
    }
}

static bool decode(struct fastcgi_connection *connection, unsigned char *input) {
    unsigned char *bytes = input + connection->parameter_bytes + connection->body_bytes;
    struct record record;
    bool fine = true;
    while (fine && !connection->body_ended && next_record(bytes, connection->undecoded, &record)) {
        fine = record.version == VERSION && take_record(connection, input, &record);
        bytes += record.whole;
        connection->undecoded -= record.whole;
    }
    /* what is no record may never be long enough for one */
    fine = fine && (connection->undecoded == 0 || bytes[0] == VERSION);
    memmove(input + connection->parameter_bytes + connection->body_bytes, bytes,
            connection->undecoded);
    return fine;
}

/* ---- receiving ------------------------------------------------------------------------------ */

/* Room for the next read, in memory of the connection's own. */
static void make_room(struct fastcgi_connection *connection, size_t used) {
    if (connection->capacity < used + INPUT_BYTES) {
        size_t capacity = 2 * connection->capacity;
        capacity = capacity < used + INPUT_BYTES ? used + INPUT_BYTES : capacity;
        capacity = capacity > INPUT_LIMIT_BYTES ? INPUT_LIMIT_BYTES : capacity;
        unsigned char *input = realloc(connection->input, capacity);
        if (input == NULL) {
            log_out_of_memory();
        }
        connection->input = input;
        connection->capacity = capacity;
    }
}

static size_t used(const struct fastcgi_connection *connection) {
    return connection->parameter_bytes + connection->body_bytes + connection->undecoded;
}

void fastcgi_give(const struct fastcgi_connection *connection, struct handover *state) {
    handover_put_descriptor(state, connection->descriptor);
    handover_put(state, connection->id);
    handover_put(state, connection->keep);
    handover_put(state, connection->parameters_ended);
    handover_put(state, (int64_t)connection->parameter_bytes);
    handover_put(state, (int64_t)connection->body_bytes);
    handover_put(state, (int64_t)connection->dropped);
    handover_put_text(state, (struct text){(const char *)connection->input, used(connection)});
}

struct fastcgi_connection *fastcgi_take(struct handover *state) {
    int descriptor = handover_descriptor(state);
    if (descriptor < 0) {
        return NULL;
    }
    struct fastcgi_connection *connection = fastcgi_open(descriptor);
    connection->id = (uint16_t)handover_number(state);
    connection->keep = handover_number(state) != 0;
    connection->parameters_ended = handover_number(state) != 0;
    connection->parameter_bytes = (size_t)handover_number(state);
    connection->body_bytes = (size_t)handover_number(state);
    connection->dropped = (size_t)handover_number(state);
    struct text input = handover_text(state);
    size_t decoded = connection->parameter_bytes + connection->body_bytes;
    if (input.length > INPUT_LIMIT_BYTES || decoded > input.length) {
        fastcgi_close(connection);
        return NULL;
    }
    if (input.length > 0) {
        make_room(connection, input.length);
        memcpy(connection->input, input.data, input.length);
        connection->undecoded = input.length - decoded;
    }
    return connection;
}

static void keep_scratch(struct fastcgi_connection *connection) {
    size_t length = used(connection);
    if (connection->input == NULL && length > 0) {
        make_room(connection, length);
        assert(connection->input != NULL); /* there was room for none, so there is now */
        memcpy(connection->input, scratch, length);
    }
}

static enum fastcgi_state hand_over(struct fastcgi_connection *connection, struct arena *arena) {
    const unsigned char *input = connection->input;
    if (input == NULL) {
        size_t length = connection->parameter_bytes + connection->body_bytes;
        input = memcpy(arena_alloc(arena, length), scratch, length);
    }
    connection->parameters =
        (struct text){.data = (const char *)input, .length = connection->parameter_bytes};
    connection->body = (struct text){.data = (const char *)input + connection->parameter_bytes,
                                     .length = connection->body_bytes};
    if (connection->undecoded > 0) { /* part of what may not come before the answer */
        connection->keep = false;
    }
    return parameters_are_whole(connection->parameters) ? FASTCGI_REQUEST : FASTCGI_ENDED;
}

enum fastcgi_state fastcgi_receive(struct fastcgi_connection *connection, struct arena *arena) {
    for (int i = 0; i < READS; i++) {
        size_t length = used(connection);
        if (connection->input != NULL) {
            make_room(connection, length);
        }
        unsigned char *input = connection->input != NULL ? connection->input : scratch;
        size_t room = (connection->input != NULL ? connection->capacity : SCRATCH_BYTES) - length;
        ssize_t got = recv(connection->descriptor, input + length, room, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
            return FASTCGI_ENDED;
        }
        if (got > 0) {
            connection->undecoded += (size_t)got;
            if (!decode(connection, input)) {
                return FASTCGI_ENDED;
            }
            if (connection->body_ended) {
                return hand_over(connection, arena);
            }
        }
        keep_scratch(connection);
        if (got < (ssize_t)room) {
            break;
        }
    }
    return FASTCGI_PARTLY;
}
