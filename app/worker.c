#define _GNU_SOURCE
#include "worker.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "checkpoint.h"
#include "cors.h"
#include "endpoints/bearer.h"
#include "log.h"
#include "utc.h"
#include "waiting.h"

enum {
    BATCH = 128, /* requests a wake-up at the most: bounds memory and the wait of the first */
    ACCEPTS_WRITER = 64,
    ACCEPT_PAUSE_MS = 100,              /* when there are no descriptors left */
    BATCH_BODY_BYTES = 4 * 1024 * 1024, /* with more than that the batch is closed */
};

#define STOPPING "the service is stopping; try again"

/* A connection that the web server keeps open, in the list of all. */
struct client {
    struct waiter waiter; /* first: a waiter is its client */
    struct fastcgi_connection *connection;
    bool head; /* the request that waits is a HEAD */
    struct client *previous, *next;
};

/* A request and its answer, from the wake-up to the commit. */
struct exchange {
    struct client *client;
    struct request request;
    struct response response;
    bool in_transaction; /* the answer holds only if the commit does */
};

struct worker {
    const struct worker_job *job;
    struct db *db;
    int epoll;
    struct checkpointer checkpointer;
    int64_t accept_again_ms; /* no connections are accepted until then; 0: they are */
    int signals;             /* readable when SIGTERM has come */
    bool stopping;
    struct client *clients;
    struct waiting_room waiting;
    uint64_t random;
    struct arena arena;
    struct exchange batch[BATCH];
    int count;
    enum db_failure failure; /* of the batch's transaction: no request after it tries again */
    time_t second;
    char now[UTC_BYTES];
};

/* Of the monotonic clock. */
static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- connections ---------------------------------------------------------------------------- */

static bool watch(struct worker *worker, int descriptor, void *subject, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = subject};
    return epoll_ctl(worker->epoll, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

static bool watch_client(struct worker *worker, int descriptor) {
    struct client *client = malloc(sizeof *client);
    if (client == NULL) {
        log_out_of_memory();
    }
    *client = (struct client){.connection = fastcgi_open(descriptor), .next = worker->clients};
    if (client->next != NULL) {
        client->next->previous = client;
    }
    worker->clients = client;
    return watch(worker, descriptor, client, EPOLLIN);
}

static void drop_client(struct worker *worker, struct client *client) {
    if (client->next != NULL) {
        client->next->previous = client->previous;
    }
    *(client->previous != NULL ? &client->previous->next : &worker->clients) = client->next;
    waiting_remove(&worker->waiting, &client->waiter);
    fastcgi_close(client->connection);
    free(client);
}

static void unwatch(struct worker *worker, int listener) {
    epoll_ctl(worker->epoll, EPOLL_CTL_DEL, listener, NULL);
}

/* Takes one connection of those that wait. Returns false when there is none. */
static bool accept_client(struct worker *worker, int listener) {
    int descriptor = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (descriptor >= 0) {
        if (!watch_client(worker, descriptor)) {
            log_event("W02", "cannot watch a connection: %s", strerror(errno));
            drop_client(worker, worker->clients);
        }
    } else if (errno == EAGAIN && worker->stopping) { /* it is shut down and its queue is empty */
        unwatch(worker, listener);
    } else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
        log_event("W01", "cannot accept a connection, and waits a little: %s", strerror(errno));
        for (int i = 0; i < WORKER_LISTENERS; i++) {
            if (worker->job->listeners[i] >= 0) {
                unwatch(worker, worker->job->listeners[i]);
            }
        }
        worker->accept_again_ms = now_ms() + ACCEPT_PAUSE_MS;
    }
    return descriptor >= 0;
}

static bool watch_listeners(struct worker *worker) {
    for (int i = 0; i < WORKER_LISTENERS; i++) {
        const int *listener = &worker->job->listeners[i];
        /* exclusive: of several workers, one is woken for a new connection */
        if (*listener >= 0 &&
            !watch(worker, *listener, (void *)listener, EPOLLIN | EPOLLEXCLUSIVE)) {
            return false;
        }
    }
    return true;
}

/* Ends the pause when its time has come. Returns how long it lasts still, -1 when there is none. */
static int64_t accept_again(struct worker *worker) {
    if (worker->accept_again_ms == 0) {
        return -1;
    }
    int64_t left = worker->accept_again_ms - now_ms();
    if (left > 0) {
        return left;
    }
    worker->accept_again_ms = 0;
    watch_listeners(worker);
    return -1;
}

/* A reader takes one: the next wake-up, here or in another reader, takes the next. The one writer
 * takes all, so that they share one batch and, while another process holds the lock, one wait. */
static void accept_clients(struct worker *worker, int listener) {
    int most = (worker->job->lanes & LANE_WRITE) != 0 ? ACCEPTS_WRITER : 1;
    while (most-- > 0 && accept_client(worker, listener)) {
    }
}

static bool is_listener(const struct worker *worker, const void *subject, int *listener) {
    for (int i = 0; i < WORKER_LISTENERS; i++) {
        if (subject == &worker->job->listeners[i]) {
            *listener = worker->job->listeners[i];
            return true;
        }
    }
    return false;
}

/* When all stop, the queue is answered to its end. When only this worker does, it takes no more:
 * the queue is its successor's. */
static void begin_to_stop(struct worker *worker) {
    worker->stopping = true;
    unwatch(worker, worker->signals);
    for (int i = 0; i < WORKER_LISTENERS; i++) {
        int listener = worker->job->listeners[i];
        if (listener >= 0 && !atomic_load(&worker->job->scoreboard->stopping)) {
            unwatch(worker, listener);
        }
    }
}

/* ---- one request ---------------------------------------------------------------------------- */

static void answer_failure(struct response *response, enum db_failure failure) {
    switch (failure) {
    case DB_BUSY:
        response_problem(response, 503, "the database is busy; try again");
        break;
    case DB_FULL:
        response_problem(response, 507, "the disk is full; nothing was written");
        break;
    default:
        response_problem(response, 500, "the database failed");
    }
}

/* The transaction begins with the first request that needs it. */
static bool ensure_transaction(struct worker *worker) {
    if (worker->failure != DB_FINE) {
        return false;
    }
    if (db_in_transaction(worker->db) || db_begin(worker->db)) {
        return true;
    }
    worker->failure = db_failure(worker->db);
    db_clear_failure(worker->db);
    return false;
}

/* An error such as a full disk can end the whole transaction: then every answer before it is void.
 */
static void void_answers(struct worker *worker, enum db_failure failure) {
    for (int i = 0; i < worker->count; i++) {
        struct exchange *exchange = &worker->batch[i];
        if (exchange->in_transaction && exchange->response.status < 500) {
            answer_failure(&exchange->response, failure);
        }
        exchange->in_transaction = false;
    }
}

static void run_handler(struct worker *worker, struct exchange *exchange,
                        const struct match *match) {
    struct db *db = worker->db;
    bool writes = match->lane == LANE_WRITE;
    if (writes && !db_savepoint(db)) {
        answer_failure(&exchange->response, db_failure(db));
    } else {
        if (match->route->access != ACCESS_BEARER ||
            bearer_check(&exchange->request, &exchange->response)) {
            match->handler(&exchange->request, &exchange->response);
        }
        db_reset_statements(db);
        exchange->in_transaction = true;
        if (db_failure(db) != DB_FINE) {
            answer_failure(&exchange->response, db_failure(db));
        }
        if (writes && response_is_success(&exchange->response)) {
            if (!db_savepoint_keep(db)) {
                answer_failure(&exchange->response, db_failure(db));
            }
        } else if (writes) {
            db_savepoint_undo(db);
        }
    }
    enum db_failure failure = db_failure(db);
    db_clear_failure(db);
    if (!db_in_transaction(db)) {
        void_answers(worker, failure);
    }
}

static void serve(struct worker *worker, struct exchange *exchange) {
    struct request *request = &exchange->request;
    struct response *response = &exchange->response;
    struct match match = routes_match(request, response);
    if (match.handler == NULL) {
        /* routes_match() has answered */
    } else if (request->body_state == BODY_CUT_OFF) {
        response_problem(response, 400, "the body is shorter than its declared length");
    } else if ((worker->job->lanes & match.lane) == 0) {
        log_event("W03",
                  "request %.*s came to the wrong socket: GET, HEAD and OPTIONS belong to "
                  "read.sock, logins to login.sock, the rest to write.sock; see nginx/larder.conf",
                  (int)request->request_id.length, request->request_id.data);
        response_problem(response, 421, "the web server sent this request to the wrong worker");
    } else if (match.route->without_database) {
        match.handler(request, response);
    } else if (!ensure_transaction(worker)) {
        answer_failure(response, worker->failure);
    } else {
        run_handler(worker, exchange, &match);
    }
    arena_clean_up(&worker->arena); /* a parsed body can be large: not all of a batch at once */
}

/* What holds for the answer as it leaves, after the commit has had its say. */
static void finish(struct worker *worker, struct exchange *exchange) {
    const struct request *request = &exchange->request;
    struct response *response = &exchange->response;
    if (response->delay_ms > 0 && worker->stopping) {
        response_problem(response, 503, STOPPING);
        response->delay_ms = 0;
    }
    cors_apply(worker->job->settings->cors_origin, request, response);
    if (response->status >= 500) {
        log_event("W04", "request %.*s was answered with %d", (int)request->request_id.length,
                  request->request_id.data, response->status);
    }
}

/* ---- one batch ------------------------------------------------------------------------------ */

static void tell_time(struct worker *worker) {
    time_t second = time(NULL);
    if (second != worker->second) {
        utc_format(second, worker->now);
        worker->second = second;
    }
}

static void collect(struct worker *worker, const struct epoll_event *events, int ready) {
    size_t body_bytes = 0;
    worker->count = 0;
    worker->failure = DB_FINE;
    tell_time(worker);
    for (int i = 0; i < ready && body_bytes < BATCH_BODY_BYTES; i++) {
        int listener = -1;
        if (events[i].data.ptr == &worker->signals) {
            begin_to_stop(worker);
            continue;
        }
        if (is_listener(worker, events[i].data.ptr, &listener)) {
            accept_clients(worker, listener);
            continue;
        }
        struct client *client = events[i].data.ptr;
        if (client->waiter.place != 0) { /* its peer has hung up */
            drop_client(worker, client);
            continue;
        }
        struct exchange *exchange = &worker->batch[worker->count];
        exchange->client = client;
        exchange->in_transaction = false;
        exchange->request = (struct request){
            .arena = &worker->arena,
            .db = worker->db,
            .scoreboard = worker->job->scoreboard,
            .random = &worker->random,
            .probes = worker->job->settings->probes,
            .tokens = worker->job->tokens,
            .now_s = worker->second,
            .now = {.data = worker->now, .length = UTC_BYTES - 1},
        };
        if (request_receive(&exchange->request, exchange->client->connection)) {
            response_start(&exchange->response, &worker->arena);
            body_bytes += exchange->request.body.length;
            worker->count++;
        } else {
            drop_client(worker, exchange->client);
        }
    }
}

static void commit(struct worker *worker) {
    if (db_in_transaction(worker->db) && !db_commit(worker->db)) {
        enum db_failure failure = db_failure(worker->db);
        if (failure == DB_FULL) {
            checkpoint_disk_full(&worker->checkpointer);
        }
        log_event("W05", "a commit failed: no write of this batch of %d was carried out",
                  worker->count);
        db_clear_failure(worker->db);
        void_answers(worker, failure);
    }
}

static void park(struct worker *worker, struct exchange *exchange) {
    const struct response *response = &exchange->response;
    /* one more, because the clock's milliseconds are cut, not rounded */
    waiting_add(&worker->waiting, &exchange->client->waiter, now_ms() + response->delay_ms + 1,
                response_text(response, exchange->request.method == METHOD_HEAD));
    exchange->client->head = exchange->request.method == METHOD_HEAD;
    fastcgi_park(exchange->client->connection);
}

/* Sends the answers whose time has come. Returns how long until the next one, -1 when nobody waits.
 */
static int64_t answer_waiting(struct worker *worker) {
    struct waiter *waiter = NULL;
    while ((waiter = waiting_first(&worker->waiting)) != NULL) {
        int64_t left = waiter->due_ms - now_ms();
        if (left > 0) {
            return left;
        }
        struct client *client = (struct client *)waiter;
        bool open = fastcgi_send_parked(client->connection, waiter->answer);
        waiting_remove(&worker->waiting, waiter);
        if (!open) {
            drop_client(worker, client);
        }
    }
    return -1;
}

/* The service ends: nobody waits on. */
static void refuse_waiting(struct worker *worker) {
    const char *origin = worker->job->settings->cors_origin;
    struct request request = {.origin = origin == NULL ? TEXT("") : text_from(origin)};
    struct response response;
    response_start(&response, &worker->arena);
    response_problem(&response, 503, STOPPING);
    cors_apply(origin, &request, &response); /* a browser compares the origin itself */
    struct text answer = response_text(&response, false);
    struct text head = response_text(&response, true);
    struct waiter *waiter = NULL;
    while ((waiter = waiting_first(&worker->waiting)) != NULL) {
        struct client *client = (struct client *)waiter;
        fastcgi_send_parked(client->connection, client->head ? head : answer);
        drop_client(worker, client);
    }
}

static void send_answers(struct worker *worker) {
    for (int i = 0; i < worker->count; i++) {
        struct exchange *exchange = &worker->batch[i];
        finish(worker, exchange);
        if (exchange->response.delay_ms > 0) {
            park(worker, exchange);
            continue;
        }
        bool open = response_send(&exchange->response, exchange->client->connection,
                                  exchange->request.method == METHOD_HEAD);
        if (!open || worker->stopping) {
            drop_client(worker, exchange->client);
        }
    }
}

/* From wake-up to answers: what this file is about. */
static void serve_batch(struct worker *worker, const struct epoll_event *events, int ready) {
    collect(worker, events, ready);
    for (int i = 0; i < worker->count; i++) {
        serve(worker, &worker->batch[i]);
    }
    commit(worker);
    send_answers(worker);
    arena_reset(&worker->arena);
    if (worker->count > 0) {
        struct scoreboard_slot *slot = &worker->job->scoreboard->slots[worker->job->slot];
        scoreboard_add(&slot->requests, (uint64_t)worker->count);
        scoreboard_add(&slot->batches, 1);
    }
    checkpoint_after_batch(&worker->checkpointer, now_ms());
}

/* ---- the loop ------------------------------------------------------------------------------- */

/* The shorter of two waits, of which -1 is for ever. */
static int64_t sooner(int64_t a, int64_t b) {
    return a < 0 ? b : b < 0 || a < b ? a : b;
}

static void loop(struct worker *worker) {
    struct epoll_event events[BATCH];
    for (;;) {
        int64_t timeout = answer_waiting(worker);
        timeout = sooner(timeout, checkpoint_timeout(&worker->checkpointer, now_ms()));
        timeout = sooner(timeout, accept_again(worker));
        if (worker->stopping) {
            refuse_waiting(worker);
            timeout = 0; /* draining: only what is there already */
        }
        /* logins share nothing that a batch would save, and each takes its time */
        int most = worker->job->lanes == LANE_LOGIN ? 1 : BATCH;
        int ready = epoll_wait(worker->epoll, events, most, (int)timeout);
        if (ready > 0) {
            serve_batch(worker, events, ready);
        } else if (ready == 0 && worker->stopping) {
            return;
        } else if (ready == 0) {
            checkpoint_idle(&worker->checkpointer, now_ms());
        } else if (ready < 0 && errno != EINTR) {
            log_event("W06", "waiting for requests failed: %s", strerror(errno));
            refuse_waiting(worker);
            return;
        }
    }
}

static bool start(struct worker *worker) {
    const struct worker_job *job = worker->job;
    if (!fastcgi_setup()) {
        log_event("W07", "libfcgi cannot start");
        return false;
    }
    char error[DB_ERROR_BYTES];
    worker->db = db_open(job->settings->db, (job->lanes & LANE_WRITE) != 0 ? DB_WRITE : DB_READ,
                         job->settings->sync, error);
    if (worker->db == NULL) {
        log_event("W08", "%s", error);
        return false;
    }
    struct rlimit descriptors;
    if (getrlimit(RLIMIT_NOFILE, &descriptors) == 0) { /* a waiting request costs one */
        descriptors.rlim_cur = descriptors.rlim_max;
        setrlimit(RLIMIT_NOFILE, &descriptors);
    }
    checkpoint_setup(&worker->checkpointer, worker->db, job->settings->db);
    worker->random = (uint64_t)now_ms() << 20 | (uint64_t)getpid() | 1;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    worker->signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    worker->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!watch(worker, worker->signals, &worker->signals, EPOLLIN)) {
        log_event("W09", "cannot wait for signals: %s", strerror(errno));
        return false;
    }
    if (!watch_listeners(worker)) {
        log_event("W11", "cannot watch the sockets: %s", strerror(errno));
        return false;
    }
    return true;
}

int worker_run(const struct worker_job *job) {
    struct worker *worker = calloc(1, sizeof *worker);
    if (worker == NULL) {
        log_out_of_memory();
    }
    worker->job = job;
    int status = 1;
    struct scoreboard_slot *slot = &job->scoreboard->slots[job->slot];
    if (start(worker)) {
        atomic_store(&slot->requests, 0); /* a predecessor's */
        atomic_store(&slot->batches, 0);
        atomic_store(&slot->serving, true);
        loop(worker);
        atomic_store(&slot->serving, false);
        status = worker->stopping ? 0 : 1;
        uint64_t requests = atomic_load(&slot->requests);
        uint64_t batches = atomic_load(&slot->batches);
        log_event("W10", "served %llu requests in %llu batches, %.1f a batch",
                  (unsigned long long)requests, (unsigned long long)batches,
                  batches == 0 ? 0.0 : (double)requests / (double)batches);
    }
    for (struct client *client = worker->clients, *next; client != NULL; client = next) {
        next = client->next;
        fastcgi_close(client->connection);
        free(client);
    }
    db_close(worker->db);
    waiting_destroy(&worker->waiting);
    close(worker->signals);
    close(worker->epoll);
    arena_destroy(&worker->arena);
    free(worker);
    return status;
}
