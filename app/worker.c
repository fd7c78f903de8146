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
#include "clients.h"
#include "clock.h"
#include "cors.h"
#include "endpoints/bearer.h"
#include "endpoints/search.h"
#include "log.h"
#include "meter.h"
#include "routes.h"
#include "slow.h"
#include "utc.h"
#include "watchdog.h"

enum {
    BATCH = 128, /* requests a wake-up at the most: bounds memory and the wait of the first */
    ACCEPTS_WRITER = 64,
    BATCH_BODY_BYTES = 4 * 1024 * 1024, /* with more than that the batch is closed */
    DRAIN_POLL_MS = 10,
    DRAIN_PATIENCE_MS = 2000,
};

#define STOPPING "the service is stopping; try again"

/* A request and its answer, from the wake-up to the commit. */
struct exchange {
    struct client *client;
    struct request request;
    struct response response;
    const struct route *route; /* NULL: none of ours */
    bool in_transaction;       /* the answer holds only if the commit does */
};

struct worker {
    const struct worker_job *job;
    struct db *db;
    struct clients clients;
    struct checkpointer checkpointer;
    struct meter meter;
    struct slow slow;
    int signals; /* readable when SIGTERM, SIGHUP or SIGUSR1 has come */
    bool stopping, reload_asked;
    int64_t patience_ends_ms; /* while stopping: with requests that come in parts */
    uint64_t random;
    struct arena arena;
    struct exchange batch[BATCH];
    int count;
    enum db_failure failure; /* of the batch's transaction: no request after it tries again */
    time_t second;
    char now[UTC_BYTES];
};

/* When all stop, the queues are answered to their end. When only this worker does, it takes no
 * more: the queues are its successor's. */
static void begin_to_stop(struct worker *worker) {
    worker->stopping = true;
    worker->patience_ends_ms = clock_ms() + DRAIN_PATIENCE_MS;
    epoll_ctl(worker->clients.epoll, EPOLL_CTL_DEL, worker->signals, NULL);
    worker->clients.draining = atomic_load(&worker->job->scoreboard->stopping);
    if (!worker->clients.draining) {
        clients_stop_listening(&worker->clients);
    }
}

static void take_signals(struct worker *worker) {
    struct signalfd_siginfo signal;
    while (read(worker->signals, &signal, sizeof signal) == sizeof signal) {
        if (signal.ssi_signo == SIGHUP) {
            worker->reload_asked = true;
        } else if (signal.ssi_signo == SIGUSR1) {
            watchdog_answer(worker->job->scoreboard, worker->job->slot);
        } else if (!worker->stopping) {
            begin_to_stop(worker);
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

/* The transaction is gone, by a failed commit or an error such as a full disk: every answer drawn
 * from it is void. */
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
    exchange->route = match.route;
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
    if (request->tells_id) {
        response_header(response, TEXT("X-Request-Id"), request->request_id);
    }
    meter_answer(&worker->meter, exchange->route, request->method, response->status);
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
        if (events[i].data.ptr == &worker->signals) {
            take_signals(worker);
            continue;
        }
        int listener = clients_listener(&worker->clients, events[i].data.ptr);
        if (listener >= 0) {
            clients_accept(&worker->clients, listener);
            continue;
        }
        struct client *client = events[i].data.ptr;
        if (client->waiter.place != 0) { /* its peer has hung up */
            clients_drop(&worker->clients, client);
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
        enum fastcgi_state state = request_receive(&exchange->request, client->connection);
        if (state == FASTCGI_ENDED) {
            clients_drop(&worker->clients, client);
            continue;
        }
        clients_note_partly(&worker->clients, client, state == FASTCGI_PARTLY);
        if (state == FASTCGI_REQUEST) {
            response_start(&exchange->response, &worker->arena);
            body_bytes += exchange->request.body.length;
            worker->count++;
        }
    }
}

static void commit(struct worker *worker) {
    struct db *db = worker->db;
    if (!db_in_transaction(db)) {
        return;
    }
    bool changed = db_has_changed(db);
    int64_t begun_ns = changed ? clock_ns() : 0;
    if (changed && !search_catch_up(db)) {
        db_rollback(db);
    }
    bool committed = db_commit(db);
    if (changed || !committed) {
        meter_commit(&worker->meter, begun_ns, committed);
    }
    if (!committed) {
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

/* The worker ends: nobody waits on. */
static void refuse_waiting(struct worker *worker) {
    const char *origin = worker->job->settings->cors_origin;
    struct request request = {.origin = origin == NULL ? TEXT("") : text_from(origin)};
    struct response response;
    response_start(&response, &worker->arena);
    response_problem(&response, 503, STOPPING);
    cors_apply(origin, &request, &response); /* a browser compares the origin itself */
    clients_refuse_waiting(&worker->clients, response_text(&response, false),
                           response_text(&response, true));
}

static void send_answers(struct worker *worker) {
    for (int i = 0; i < worker->count; i++) {
        struct exchange *exchange = &worker->batch[i];
        const struct response *response = &exchange->response;
        bool head = exchange->request.method == METHOD_HEAD;
        finish(worker, exchange);
        if (response->delay_ms > 0) {
            clients_park(&worker->clients, exchange->client, response->delay_ms,
                         response_text(response, head), head);
        } else if (!response_send(response, exchange->client->connection, head) ||
                   worker->stopping) {
            clients_drop(&worker->clients, exchange->client);
        }
    }
}

/* Before the answers leave: the requests are gone then. */
static void tell_if_slow(struct worker *worker) {
    if (worker->count > 0 && slow_is(&worker->slow)) {
        const struct exchange *longest = &worker->batch[worker->slow.longest];
        scoreboard_add(&worker->meter.slot->slow, (uint64_t)worker->count);
        slow_tell(&worker->slow, &longest->request, longest->route, longest->response.status,
                  worker->count);
    }
}

/* From wake-up to answers: what this file is about. */
static void serve_batch(struct worker *worker, const struct epoll_event *events, int ready) {
    meter_wake(&worker->meter);
    slow_wake(&worker->slow);
    collect(worker, events, ready);
    slow_received(&worker->slow);
    for (int i = 0; i < worker->count; i++) {
        serve(worker, &worker->batch[i]);
        slow_served(&worker->slow, i);
    }
    commit(worker);
    tell_if_slow(worker);
    send_answers(worker);
    arena_reset(&worker->arena);
    int64_t now_ns = meter_batch(&worker->meter, worker->count);
    checkpoint_after_batch(&worker->checkpointer, now_ns / 1000000);
}

/* ---- the loop ------------------------------------------------------------------------------- */

/* The shorter of two waits, of which -1 is for ever. */
static int64_t sooner(int64_t a, int64_t b) {
    return a < 0 ? b : b < 0 || a < b ? a : b;
}

static bool open_database(struct worker *worker) {
    const struct worker_job *job = worker->job;
    char error[DB_ERROR_BYTES];
    worker->db = db_open(job->settings->db, (job->lanes & LANE_WRITE) != 0 ? DB_WRITE : DB_READ,
                         job->settings->sync, error);
    if (worker->db == NULL) {
        log_event("W08", "%s", error);
        return false;
    }
    checkpoint_setup(&worker->checkpointer, worker->db, job->settings->db,
                     &job->scoreboard->slot[job->slot]);
    return true;
}

/* Does not return when all goes well. Returns false when the worker cannot even go on as it was. */
static bool hand_over(struct worker *worker) {
    worker->reload_asked = false;
    job_hand_over(worker->job, &worker->clients, worker->db);
    return open_database(worker);
}

static void loop(struct worker *worker) {
    struct epoll_event events[BATCH];
    for (;;) {
        int64_t timeout = clients_answer_due(&worker->clients);
        timeout = sooner(timeout, checkpoint_timeout(&worker->checkpointer, clock_ms()));
        timeout = sooner(timeout, clients_accept_again(&worker->clients));
        if (worker->stopping) {
            if (clients_wait(&worker->clients)) {
                refuse_waiting(worker);
            }
            /* draining: only what is there already, and the rest of what has begun to come */
            bool rest = worker->clients.partly > 0 && clock_ms() < worker->patience_ends_ms;
            timeout = rest ? DRAIN_POLL_MS : 0;
        }
        /* logins share nothing that a batch would save, and each takes its time */
        int most = worker->job->lanes == LANE_LOGIN ? 1 : BATCH;
        meter_collect(&worker->meter, worker->db, &worker->clients);
        if (worker->reload_asked && !worker->stopping) { /* nothing is left that is not counted */
            if (!hand_over(worker)) {
                return;
            }
            continue;
        }
        int ready = epoll_wait(worker->clients.epoll, events, most, (int)timeout);
        if (ready > 0) {
            serve_batch(worker, events, ready);
        } else if (ready == 0 && worker->stopping && timeout == 0) {
            return;
        } else if (ready == 0) {
            checkpoint_idle(&worker->checkpointer, clock_ms());
        } else if (ready < 0 && errno != EINTR) {
            log_event("W06", "waiting for requests failed: %s", strerror(errno));
            refuse_waiting(worker);
            return;
        }
    }
}

static bool start(struct worker *worker, struct handover *state) {
    const struct worker_job *job = worker->job;
    if (!open_database(worker)) {
        return false;
    }
    if ((job->lanes & LANE_WRITE) != 0) {
        search_catch_up_at_start(worker->db);
    }
    struct rlimit descriptors;
    if (getrlimit(RLIMIT_NOFILE, &descriptors) == 0) { /* a waiting request costs one */
        descriptors.rlim_cur = descriptors.rlim_max;
        setrlimit(RLIMIT_NOFILE, &descriptors);
    }
    worker->slow.limit_ns = job->settings->slow_ms * 1000000;
    worker->random = (uint64_t)clock_ms() << 20 | (uint64_t)getpid() | 1;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGUSR1);
    worker->signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    /* A reader takes one connection at a wake-up: the next wake-up, here or in another reader,
     * takes the next. The one writer takes all, so that they share one batch and, while another
     * process holds the lock, one wait. */
    worker->clients = (struct clients){
        .epoll = epoll_create1(EPOLL_CLOEXEC),
        .listeners = job->listeners,
        .accepts = (job->lanes & LANE_WRITE) != 0 ? ACCEPTS_WRITER : 1,
    };
    if (!clients_watch(&worker->clients, worker->signals, &worker->signals)) {
        log_event("W09", "cannot wait for signals: %s", strerror(errno));
        return false;
    }
    if (state != NULL && !job_take_clients(&worker->clients, state)) {
        return false;
    }
    if (!clients_listen(&worker->clients)) {
        log_event("W11", "cannot watch the sockets: %s", strerror(errno));
        return false;
    }
    return true;
}

static int run(const struct worker_job *job, struct handover *state) {
    static struct worker the_worker; /* pages of zeros, taken when they are first used */
    struct worker *worker = &the_worker;
    worker->job = job;
    int status = 1;
    struct scoreboard_slot *slot = &job->scoreboard->slot[job->slot];
    if (start(worker, state)) {
        atomic_store(&slot->generation, atomic_load(&job->scoreboard->generation));
        watchdog_answer(job->scoreboard, job->slot);
        meter_start(&worker->meter, slot, job->lanes);
        loop(worker);
        meter_end(&worker->meter);
        status = worker->stopping ? 0 : 1;
    }
    clients_drop_all(&worker->clients);
    db_close(worker->db);
    close(worker->signals);
    close(worker->clients.epoll);
    arena_destroy(&worker->arena);
    return status;
}

int worker_run(const struct worker_job *job) {
    return run(job, NULL);
}

int worker_resume(const struct settings *settings, struct handover *state) {
    static struct jwt_rules rules;
    struct worker_job job;
    return job_take(&job, settings, &rules, state) ? run(&job, state) : 1;
}
