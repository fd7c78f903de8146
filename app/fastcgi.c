#include "fastcgi.h"

#include <assert.h>
#include <fcgiapp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "log.h"

/* From section 8 of the specification; libfcgi's header for them has the name of ours. */
enum {
    VERSION = 1,
    HEADER_BYTES = 8,
    END_REQUEST = 3,
    END_REQUEST_BYTES = 8,
    STDOUT = 6,
    ROLE_RESPONDER = 1,
};

enum { CHUNK = 65536 };

struct fastcgi_connection {
    FCGX_Request request;
};

/* The answer of a parked request: three headers, the content, the end. */
struct fastcgi_record {
    size_t length;
    unsigned char bytes[FASTCGI_PARKED_BYTES + 3 * HEADER_BYTES + END_REQUEST_BYTES];
};

bool fastcgi_setup(void) {
    if (FCGX_Init() != 0) {
        return false;
    }
    signal(SIGPIPE, SIG_IGN); /* a write to a peer that hung up is an error, not a death */
    signal(SIGUSR1, SIG_IGN);
    signal(SIGTERM, SIG_DFL);
    return true;
}

static void limit_waiting(int descriptor) {
    struct timeval limit = {.tv_sec = FASTCGI_IO_TIMEOUT_MS / 1000,
                            .tv_usec = FASTCGI_IO_TIMEOUT_MS % 1000 * 1000L};
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

struct fastcgi_connection *fastcgi_open(int descriptor) {
    struct fastcgi_connection *connection = malloc(sizeof *connection);
    if (connection == NULL) {
        log_out_of_memory();
    }
    limit_waiting(descriptor);
    /* -1 for the listening socket: when a connection ends, libfcgi's next step is to accept
     * another, which fails at once on -1 and would block on a real one */
    FCGX_InitRequest(&connection->request, -1, 0);
    connection->request.ipcFd = descriptor;
    return connection;
}

int fastcgi_descriptor(const struct fastcgi_connection *connection) {
    return connection->request.ipcFd;
}

bool fastcgi_receive(struct fastcgi_connection *connection) {
    FCGX_Request *request = &connection->request;
    /* FCGX_Accept_r() first finishes "the request before" and closes the descriptor unless it was
     * to be kept */
    request->keepConnection = 1;
    /* a detached request is closed at once; else libfcgi waits up to 2 s for a silent peer to hang
     * up */
    FCGX_Detach(request);
    if (FCGX_Accept_r(request) != 0) {
        return false;
    }
    /* a peer that dies inside the parameters gives success with parameters missing */
    return FCGX_GetError(request->in) == 0 && request->role == ROLE_RESPONDER;
}

bool fastcgi_parameter(const struct fastcgi_connection *connection, size_t *position,
                       struct text *name, struct text *value) {
    const char *parameter = connection->request.envp[*position];
    if (parameter == NULL) {
        return false;
    }
    (*position)++;
    const char *equals = strchr(parameter, '=');
    if (equals == NULL) { /* a NUL inside the name: no parameter of ours */
        *name = text_from(parameter);
        *value = (struct text){.data = "", .length = 0};
        return true;
    }
    *name = (struct text){.data = parameter, .length = (size_t)(equals - parameter)};
    *value = text_from(equals + 1);
    return true;
}

ptrdiff_t fastcgi_read_body(struct fastcgi_connection *connection, char *body, size_t size) {
    FCGX_Stream *in = connection->request.in;
    ptrdiff_t length = 0;
    while (size > 0) {
        int wanted = size > CHUNK ? CHUNK : (int)size;
        int got = FCGX_GetStr(body, wanted, in);
        length += got;
        if (got < wanted) {
            break;
        }
        body += got;
        size -= (size_t)got;
    }
    /* to the very end, also of a body nobody wanted: what stays unread would be taken for the
     * beginning of the next request */
    char rest[4096];
    int got = 0;
    while ((got = FCGX_GetStr(rest, sizeof rest, in)) > 0) {
        length += got;
        if (length > FASTCGI_DRAIN_BYTES) {
            connection->request.keepConnection = 0;
            return length;
        }
    }
    return FCGX_GetError(in) == 0 ? length : -1;
}

void fastcgi_write(struct fastcgi_connection *connection, struct text text) {
    while (text.length > 0) {
        int part = text.length > CHUNK ? CHUNK : (int)text.length;
        if (FCGX_PutStr(text.data, part, connection->request.out) != part) {
            return; /* the peer is gone; fastcgi_finish() tells */
        }
        text.data += part;
        text.length -= (size_t)part;
    }
}

bool fastcgi_finish(struct fastcgi_connection *connection) {
    FCGX_Request *request = &connection->request;
    if (FCGX_GetError(request->out) != 0) { /* the rest would wait for its time limit once more */
        shutdown(request->ipcFd, SHUT_RDWR);
    }
    FCGX_Finish_r(request);
    return connection->request.ipcFd >= 0;
}

void fastcgi_park(struct fastcgi_connection *connection) {
    FCGX_Free(&connection->request, 0);
}

/* A record's header, section 3.3 of the specification. */
static void append_header(struct fastcgi_record *record, unsigned char type, int id,
                          size_t length) {
    unsigned char *header = record->bytes + record->length;
    memset(header, 0, HEADER_BYTES);
    header[0] = VERSION;
    header[1] = type;
    header[2] = (unsigned char)(id >> 8);
    header[3] = (unsigned char)id;
    header[4] = (unsigned char)(length >> 8);
    header[5] = (unsigned char)length;
    record->length += HEADER_BYTES;
}

/* libfcgi can make a new stream for a parked request, but not end the request with it: so the three
 * records are written here. */
bool fastcgi_send_parked(struct fastcgi_connection *connection, struct text answer) {
    assert(answer.length <= FASTCGI_PARKED_BYTES);
    FCGX_Request *request = &connection->request;
    struct fastcgi_record record = {0};
    append_header(&record, STDOUT, request->requestId, answer.length);
    memcpy(record.bytes + record.length, answer.data, answer.length);
    record.length += answer.length;
    append_header(&record, STDOUT, request->requestId, 0);
    append_header(&record, END_REQUEST, request->requestId, END_REQUEST_BYTES);
    memset(record.bytes + record.length, 0, END_REQUEST_BYTES); /* status 0, complete */
    record.length += END_REQUEST_BYTES;
    ssize_t sent = send(request->ipcFd, record.bytes, record.length, MSG_NOSIGNAL);
    return sent == (ssize_t)record.length && request->keepConnection != 0;
}

void fastcgi_close(struct fastcgi_connection *connection) {
    if (connection != NULL) {
        FCGX_Detach(&connection->request);
        FCGX_Free(&connection->request, 1);
        free(connection);
    }
}
