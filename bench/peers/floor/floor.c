/* The floor of the benchmark: what nginx and FastCGI cost when the service costs next to nothing.
 *
 * One process, one epoll loop, connections kept. Every request, whatever it asks, is read to its
 * end and answered with the same product, in one write. No database, no library, no parameter
 * looked at. Listens on the unix socket SOCKET, or on 127.0.0.1:PORT. Numbers in brackets are
 * sections of the FastCGI specification, version 1.0. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { BEGIN_REQUEST = 1, END_REQUEST = 3, STDIN = 5, STDOUT = 6, HEADER = 8, KEEP_CONNECTION = 1 };
enum { OVERHEAD = 4 * HEADER /* three headers and the body of the last */ };
enum { BACKLOG = 4096, CONNECTIONS = 4096, EVENTS = 128, READ_BYTES = 16384 };

#define BODY                                                                                       \
    "{\"id\":1,\"sku\":\"SKU-000001\",\"name\":\"Product 1\",\"price_cents\":7919,\"stock\":3,"    \
    "\"category\":{\"id\":2,\"name\":\"Category 2\"},"                                             \
    "\"created_at\":\"2026-11-30T22:00:00Z\",\"updated_at\":\"2026-11-30T22:00:00Z\"}"
#define CONTENT "Content-Type: application/json\r\nContent-Length: 187\r\n\r\n" BODY
_Static_assert(sizeof BODY - 1 == 187, "Content-Length");

/* How far a connection has been read: the header of a record, then the rest of the record. */
struct connection {
    bool keep;
    unsigned have; /* bytes of the header */
    unsigned char header[HEADER];
    unsigned left, seen; /* bytes of content and padding to come, and gone by */
};

static struct connection connections[CONNECTIONS]; /* by descriptor */

static void fail(const char *what) {
    perror(what);
    exit(1);
}

/* ---- answering ------------------------------------------------------------------------------ */

static size_t put_header(unsigned char *to, unsigned char type, const unsigned char id[2],
                         size_t length) {
    const unsigned char header[HEADER] = {
        1, type, id[0], id[1], (unsigned char)(length >> 8), (unsigned char)length};
    memcpy(to, header, HEADER);
    return HEADER;
}

/* The answer's records (3.3, 5.5): the content, its end, the end of the request with status 0. */
static bool answer(int descriptor) {
    unsigned char out[sizeof CONTENT + OVERHEAD] = {0};
    const struct connection *connection = &connections[descriptor];
    const unsigned char *id = connection->header + 2;
    size_t length = put_header(out, STDOUT, id, sizeof CONTENT - 1);
    memcpy(out + length, CONTENT, sizeof CONTENT - 1);
    length += sizeof CONTENT - 1;
    length += put_header(out + length, STDOUT, id, 0);
    length += put_header(out + length, END_REQUEST, id, 8);
    length += 8;
    return send(descriptor, out, length, MSG_NOSIGNAL) == (ssize_t)length && connection->keep;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* Takes the bytes of records as they come (3.3). Returns false when it is time to close. */
static bool take(int descriptor, const unsigned char *data, size_t length) {
    struct connection *connection = &connections[descriptor];
    while (length > 0) {
        if (connection->left > 0) {
            /* the flags are the third byte of BEGIN_REQUEST (5.1) */
            if (connection->header[1] == BEGIN_REQUEST && connection->seen <= 2 &&
                connection->seen + length > 2) {
                connection->keep = (data[2 - connection->seen] & KEEP_CONNECTION) != 0;
            }
            unsigned part = connection->left < length ? connection->left : (unsigned)length;
            connection->left -= part;
            connection->seen += part;
            data += part;
            length -= part;
        } else {
            connection->header[connection->have++] = *data++;
            length--;
        }
        if (connection->have < HEADER || connection->left > 0) {
            continue;
        }
        const unsigned char *header = connection->header;
        unsigned content = header[4] * 256U + header[5];
        if (connection->seen == 0 && content + header[6] > 0) {
            connection->left = content + header[6];
            continue;
        }
        connection->have = 0;
        connection->seen = 0;
        if (header[1] == STDIN && content == 0 && !answer(descriptor)) {
            return false;
        }
    }
    return true;
}

static void serve(int descriptor) {
    unsigned char data[READ_BYTES];
    ssize_t got = read(descriptor, data, sizeof data);
    if (got <= 0 || !take(descriptor, data, (size_t)got)) {
        close(descriptor);
    }
}

/* ---- connections ---------------------------------------------------------------------------- */

static int listen_on(const char *path, const char *port) {
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr *name = (struct sockaddr *)&address;
    socklen_t length = sizeof address;
    if (path != NULL) {
        snprintf(local.sun_path, sizeof local.sun_path, "%s", path);
        unlink(path);
        name = (struct sockaddr *)&local;
        length = sizeof local;
    } else {
        address.sin_port = htons((unsigned short)strtoul(port == NULL ? "0" : port, NULL, 10));
    }
    int listener = socket(name->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int yes = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (listener < 0 || bind(listener, name, length) != 0 || listen(listener, BACKLOG) != 0) {
        fail("SOCKET or PORT");
    }
    return listener;
}

static void watch(int epoll, int descriptor) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) != 0) {
        fail("epoll_ctl");
    }
}

static void accept_one(int epoll, int listener) {
    int descriptor = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (descriptor < 0 || descriptor >= CONNECTIONS) {
        fail("accept");
    }
    connections[descriptor] = (struct connection){0};
    watch(epoll, descriptor);
}

int main(void) {
    int listener = listen_on(getenv("SOCKET"), getenv("PORT"));
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    watch(epoll, listener);
    while (true) {
        struct epoll_event events[EVENTS];
        int count = epoll_wait(epoll, events, EVENTS, -1);
        if (count < 0 && errno != EINTR) {
            fail("epoll_wait");
        }
        for (int i = 0; i < count; i++) {
            if (events[i].data.fd == listener) {
                accept_one(epoll, listener);
            } else {
                serve(events[i].data.fd);
            }
        }
    }
}
