/* fastcgi: one kept connection from the web server (FastCGI 1.0, responder role).
 *
 * Life of a connection: fastcgi_open() takes a descriptor; each time it is readable
 * fastcgi_receive() takes what has come, until that is a whole request; fastcgi_send() answers it.
 * Then the connection waits for the next request, or is to be closed.
 *
 * Blocking: receiving never does. What has come of a request is kept until the rest comes. Sending
 * waits for a peer that does not read, at most FASTCGI_SEND_TIMEOUT_MS, and then gives it up.
 *
 * One request at a time on a connection: a second one begun before the first is answered is refused
 * (CANT_MPX_CONN, section 5.5 of the specification). An idle connection holds no buffer. */
#ifndef LARDER_FASTCGI_H
#define LARDER_FASTCGI_H

#include <stdbool.h>
#include <stddef.h>

#include "arena.h"
#include "handover.h"
#include "text.h"

enum {
    FASTCGI_SEND_TIMEOUT_MS = 5000,
    FASTCGI_PARAMETER_BYTES = 128 * 1024, /* of all parameters: a peer that sends more is dropped */
    FASTCGI_BODY_BYTES = 1024 * 1024,     /* of a body are kept, the rest is only counted */
    FASTCGI_DRAIN_BYTES = 8 * 1024 * 1024, /* of a body are awaited: then it is answered */
};

enum fastcgi_state {
    FASTCGI_REQUEST, /* a whole request is there */
    FASTCGI_PARTLY,  /* the rest is still to come */
    FASTCGI_ENDED,   /* the peer has hung up or does not speak the protocol: close */
};

struct fastcgi_connection;

/* Takes ownership of a connected, blocking socket. */
struct fastcgi_connection *fastcgi_open(int descriptor);

int fastcgi_descriptor(const struct fastcgi_connection *connection);

/* Takes what the peer has sent. Parameters and body of a whole request stay valid until it is
 * answered or parked, or the arena is reset. */
enum fastcgi_state fastcgi_receive(struct fastcgi_connection *connection, struct arena *arena);

/* Steps through the parameters; *position starts as 0. Returns false after the last. */
bool fastcgi_parameter(const struct fastcgi_connection *connection, size_t *position,
                       struct text *name, struct text *value);

/* The body, or its first FASTCGI_BODY_BYTES. *length is that of the whole. */
struct text fastcgi_body(const struct fastcgi_connection *connection, size_t *length);

/* Sends the answer, of a parked request too, and ends the request: CGI headers with an empty line
 * behind them (RFC 3875 section 6), and the body. Returns false when the peer is gone or did not
 * ask to keep the connection: then fastcgi_close() is due. */
bool fastcgi_send(struct fastcgi_connection *connection, struct text head, struct text body);

/* Puts a request aside: it is answered later, and what it holds is freed. When the connection
 * becomes readable before, the peer has hung up. */
void fastcgi_park(struct fastcgi_connection *connection);

/* Leaves an idle or parked connection, and what has come in part, to the program that follows. The
 * other makes it there: NULL when what was left is not a connection. */
void fastcgi_give(const struct fastcgi_connection *connection, struct handover *state);
struct fastcgi_connection *fastcgi_take(struct handover *state);

/* Closes and frees, in any state, without waiting for the peer. NULL is fine. */
void fastcgi_close(struct fastcgi_connection *connection);

#endif
