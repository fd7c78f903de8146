/* clients: the connections that the web server keeps to a worker: accepted, watched by epoll,
 * closed; and those of them whose answer leaves later (waiting.h).
 *
 * A worker owns one struct clients; it owns the connections. Of epoll's events, data.ptr is either
 * one of the listening sockets (clients_listener()) or a struct client. Answers are written with
 * the time limit of fastcgi.h; nothing else blocks. */
#ifndef LARDER_CLIENTS_H
#define LARDER_CLIENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "fastcgi.h"
#include "waiting.h"

enum { CLIENTS_LISTENERS = 3 };

struct client {
    struct waiter waiter; /* first: a waiter is its client */
    struct fastcgi_connection *connection;
    bool head;   /* the request that waits is a HEAD */
    bool partly; /* some of a request has come, the rest has not */
    struct client *previous, *next;
};

struct clients {
    int epoll;
    const int *listeners;    /* CLIENTS_LISTENERS, -1 where unused */
    int accepts;             /* connections taken at a wake-up */
    bool draining;           /* a socket whose queue is empty is left alone from then on */
    int64_t accept_again_ms; /* none is accepted until then; 0: they are */
    int partly;              /* clients of whom that is so */
    uint32_t open;           /* connections */
    uint32_t accepted;       /* connections, and requests put aside, for the meter to take */
    uint32_t parked;
    struct client *first;
    struct waiting_room waiting;
};

/* Lets epoll watch a descriptor; false with errno set on failure. */
bool clients_watch(struct clients *clients, int descriptor, void *subject);

bool clients_listen(struct clients *clients);
void clients_stop_listening(struct clients *clients);

/* The listening socket that an event's data.ptr is, -1 when it is a client. */
int clients_listener(const struct clients *clients, const void *subject);

/* Accepts what waits on a listening socket. Without a free descriptor it logs, and pauses. */
void clients_accept(struct clients *clients, int listener);

/* Ends the pause when its time has come. Returns how long it lasts still, -1 when there is none. */
int64_t clients_accept_again(struct clients *clients);

/* Says whether some of a request has come, and not yet all of it. */
void clients_note_partly(struct clients *clients, struct client *client, bool partly);

void clients_drop(struct clients *clients, struct client *client);
void clients_drop_all(struct clients *clients);

/* Puts a request aside; a copy of the answer leaves in delay_ms. */
void clients_park(struct clients *clients, struct client *client, int64_t delay_ms,
                  struct text answer, bool head);

/* Sends the answers whose time has come. Returns how long until the next one, -1 when none waits.
 */
int64_t clients_answer_due(struct clients *clients);

/* Sends this answer to all who wait, and closes their connections. */
void clients_refuse_waiting(struct clients *clients, struct text answer, struct text head_answer);

/* Leaves all connections to the program that follows; the other takes and watches them there.
 * Returns false when what was left cannot be used. */
void clients_give(const struct clients *clients, struct handover *state);
bool clients_take(struct clients *clients, struct handover *state);

static inline bool clients_wait(const struct clients *clients) {
    return waiting_first(&clients->waiting) != NULL;
}

#endif
