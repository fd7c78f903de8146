/* fastcgi: one kept connection from the web server, over libfcgi (FastCGI 1.0, responder role).
 *
 * What it is for: libfcgi reads and writes the protocol but wants to accept connections itself, one
 * at a time. This adapter gives it descriptors that our own epoll loop accepted, and holds every
 * place where that needs care, so that nothing else in the tree knows libfcgi.
 *
 * Life of a connection: fastcgi_open() takes a descriptor; each time it is readable
 * fastcgi_receive() reads one request up to its body, fastcgi_read_body() the body, and
 * fastcgi_write() with fastcgi_finish() send the answer. Then it waits for the next request, or has
 * been closed. Parameters point into the request and are valid until fastcgi_finish().
 *
 * Blocking: the descriptor is a blocking one (libfcgi takes EAGAIN for an error) with a time limit
 * of FASTCGI_IO_TIMEOUT_MS on each read and write: a peer that stops in the middle of a request or
 * does not read its answer loses the connection.
 *
 * One request at a time on a connection: a second one begun before the first is answered is refused
 * by libfcgi (CANT_MPX_CONN, section 5.5 of the specification), and nginx never sends one. */
#ifndef LARDER_FASTCGI_H
#define LARDER_FASTCGI_H

#include <stdbool.h>
#include <stddef.h>

#include "text.h"

enum {
    FASTCGI_IO_TIMEOUT_MS = 5000,
    FASTCGI_DRAIN_BYTES = 8 * 1024 * 1024,
    FASTCGI_PARKED_BYTES = 4096
};

struct fastcgi_connection;

/* Once a process, before its own signal handlers are installed: libfcgi takes SIGTERM, SIGUSR1 and
 * SIGPIPE for itself, and after its SIGTERM it would read no more. Puts SIGPIPE and SIGUSR1 to
 * ignored and SIGTERM to its default. Returns false when libfcgi cannot start. */
bool fastcgi_setup(void);

/* Takes ownership of a connected, blocking socket. */
struct fastcgi_connection *fastcgi_open(int descriptor);

int fastcgi_descriptor(const struct fastcgi_connection *connection);

/* Reads the beginning and the parameters of the next request. Returns false when the peer has hung
 * up or does not speak the protocol: then fastcgi_close() is due. */
bool fastcgi_receive(struct fastcgi_connection *connection);

/* Steps through the parameters; *position starts as 0. Returns false after the last. */
bool fastcgi_parameter(const struct fastcgi_connection *connection, size_t *position,
                       struct text *name, struct text *value);

/* Reads the body to its end, the first size bytes of it into body. Returns its whole length, which
 * can be larger than size, or -1 when it was cut off: then the request must not be acted on. Of a
 * body without end FASTCGI_DRAIN_BYTES are read; the connection closes after the answer. */
ptrdiff_t fastcgi_read_body(struct fastcgi_connection *connection, char *body, size_t size);

/* Appends to the answer: CGI headers, an empty line, the body (RFC 3875 section 6). */
void fastcgi_write(struct fastcgi_connection *connection, struct text text);

/* Sends what is left of the answer and ends the request. Returns false when the connection is
 * closed (the peer is gone, or did not ask to keep it): then fastcgi_close() is due. */
bool fastcgi_finish(struct fastcgi_connection *connection);

/* Puts a received request aside: frees the 17 KiB that libfcgi holds for it, and its parameters.
 * The connection stays open; when it becomes readable the peer has hung up. */
void fastcgi_park(struct fastcgi_connection *connection);

/* Sends the whole answer of a parked request, at most FASTCGI_PARKED_BYTES, in one write. Returns
 * false as fastcgi_finish() does. */
bool fastcgi_send_parked(struct fastcgi_connection *connection, struct text answer);

/* Closes and frees, in any state, without waiting for the peer. NULL is fine. */
void fastcgi_close(struct fastcgi_connection *connection);

#endif
