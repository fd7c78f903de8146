#define _GNU_SOURCE
#include "clients.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "listen.h"
#include "log.h"

enum { ACCEPT_PAUSE_MS = 100 };

/* ---- watching ------------------------------------------------------------------------------- */

static bool watch(struct clients *clients, int descriptor, void *subject, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = subject};
    return epoll_ctl(clients->epoll, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

static void unwatch(struct clients *clients, int descriptor) {
    epoll_ctl(clients->epoll, EPOLL_CTL_DEL, descriptor, NULL);
}

bool clients_watch(struct clients *clients, int descriptor, void *subject) {
    return watch(clients, descriptor, subject, EPOLLIN);
}

bool clients_listen(struct clients *clients) {
    for (int i = 0; i < CLIENTS_LISTENERS; i++) {
        const int *listener = &clients->listeners[i];
        /* exclusive: of several workers, one is woken for a new connection */
        if (*listener >= 0 &&
            !watch(clients, *listener, (void *)listener, EPOLLIN | EPOLLEXCLUSIVE)) {
            return false;
        }
    }
    return true;
}

void clients_stop_listening(struct clients *clients) {
    for (int i = 0; i < CLIENTS_LISTENERS; i++) {
        if (clients->listeners[i] >= 0) {
            unwatch(clients, clients->listeners[i]);
        }
    }
}

int clients_listener(const struct clients *clients, const void *subject) {
    for (int i = 0; i < CLIENTS_LISTENERS; i++) {
        if (subject == &clients->listeners[i]) {
            return clients->listeners[i];
        }
    }
    return -1;
}

/* ---- accepting ------------------------------------------------------------------------------ */

static struct client *add(struct clients *clients, struct fastcgi_connection *connection) {
    struct client *client = malloc(sizeof *client);
    if (client == NULL) {
        log_out_of_memory();
    }
    *client = (struct client){.connection = connection, .next = clients->first};
    if (client->next != NULL) {
        client->next->previous = client;
    }
    clients->first = client;
    clients->open++;
    if (!clients_watch(clients, fastcgi_descriptor(connection), client)) {
        log_event("W02", "cannot watch a connection: %s", strerror(errno));
        clients_drop(clients, client);
        return NULL;
    }
    return client;
}

/* Takes one connection. Returns false when there is none. */
static bool accept_one(struct clients *clients, int listener) {
    int descriptor = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (descriptor >= 0) {
        clients->accepted++;
        add(clients, fastcgi_open(descriptor));
    } else if (errno == EAGAIN && clients->draining) {
        unwatch(clients, listener);
    } else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
        log_event("W01", "cannot accept a connection, and waits a little: %s", strerror(errno));
        clients_stop_listening(clients);
        clients->accept_again_ms = clock_ms() + ACCEPT_PAUSE_MS;
    }
    return descriptor >= 0;
}

void clients_accept(struct clients *clients, int listener) {
    /* the last chance of those that wait */
    int most = clients->draining ? LISTEN_BACKLOG : clients->accepts;
    while (most-- > 0 && accept_one(clients, listener)) {
    }
}

int64_t clients_accept_again(struct clients *clients) {
    if (clients->accept_again_ms == 0) {
        return -1;
    }
    int64_t left = clients->accept_again_ms - clock_ms();
    if (left > 0) {
        return left;
    }
    clients->accept_again_ms = 0;
    clients_listen(clients);
    return -1;
}

void clients_note_partly(struct clients *clients, struct client *client, bool partly) {
    clients->partly += partly - client->partly;
    client->partly = partly;
}

/* ---- closing -------------------------------------------------------------------------------- */

void clients_drop(struct clients *clients, struct client *client) {
    clients_note_partly(clients, client, false);
    if (client->next != NULL) {
        client->next->previous = client->previous;
    }
    *(client->previous != NULL ? &client->previous->next : &clients->first) = client->next;
    clients->open--;
    waiting_remove(&clients->waiting, &client->waiter);
    fastcgi_close(client->connection);
    free(client);
}

void clients_drop_all(struct clients *clients) {
    for (struct client *client = clients->first, *next; client != NULL; client = next) {
        next = client->next;
        waiting_remove(&clients->waiting, &client->waiter);
        fastcgi_close(client->connection);
        free(client);
    }
    clients->first = NULL;
    clients->open = 0;
    waiting_destroy(&clients->waiting);
}

/* ---- waiting -------------------------------------------------------------------------------- */

void clients_park(struct clients *clients, struct client *client, int64_t delay_ms,
                  struct text answer, bool head) {
    /* one more, because the clock's milliseconds are cut, not rounded */
    waiting_add(&clients->waiting, &client->waiter, clock_ms() + delay_ms + 1, answer);
    client->head = head;
    clients->parked++;
    fastcgi_park(client->connection);
}

int64_t clients_answer_due(struct clients *clients) {
    struct waiter *waiter = NULL;
    while ((waiter = waiting_first(&clients->waiting)) != NULL) {
        int64_t left = waiter->due_ms - clock_ms();
        if (left > 0) {
            return left;
        }
        struct client *client = (struct client *)waiter;
        bool open = fastcgi_send(client->connection, waiter->answer, TEXT(""));
        waiting_remove(&clients->waiting, waiter);
        if (!open) {
            clients_drop(clients, client);
        }
    }
    return -1;
}

void clients_refuse_waiting(struct clients *clients, struct text answer, struct text head_answer) {
    struct waiter *waiter = NULL;
    while ((waiter = waiting_first(&clients->waiting)) != NULL) {
        struct client *client = (struct client *)waiter;
        fastcgi_send(client->connection, client->head ? head_answer : answer, TEXT(""));
        clients_drop(clients, client);
    }
}

/* ---- handing over --------------------------------------------------------------------------- */

void clients_give(const struct clients *clients, struct handover *state) {
    handover_put(state, clients->open);
    for (const struct client *client = clients->first; client != NULL; client = client->next) {
        fastcgi_give(client->connection, state);
        handover_put(state, client->partly);
        handover_put(state, client->waiter.place != 0);
        if (client->waiter.place != 0) {
            handover_put(state, client->head);
            handover_put(state, client->waiter.due_ms);
            handover_put_text(state, client->waiter.answer);
        }
    }
}

bool clients_take(struct clients *clients, struct handover *state) {
    int64_t count = handover_number(state);
    while (count-- > 0) {
        struct fastcgi_connection *connection = fastcgi_take(state);
        if (connection == NULL) {
            return false;
        }
        struct client *client = add(clients, connection);
        if (client == NULL) {
            return false;
        }
        clients_note_partly(clients, client, handover_number(state) != 0);
        if (handover_number(state) != 0) {
            client->head = handover_number(state) != 0;
            int64_t due_ms = handover_number(state);
            waiting_add(&clients->waiting, &client->waiter, due_ms, handover_text(state));
        }
    }
    return true;
}
