#define _GNU_SOURCE
#include "children.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "routes.h"
#include "worker.h"

enum {
    HEALTHY_MS = 1000, /* a worker that lived this long starts again at once */
    BACKOFF_FIRST_MS = 50,
    BACKOFF_LAST_MS = 800,
};

void children_setup(struct children *children) {
    bool one = children->sockets->one;
    int readers = one ? 0 : children->settings->readers;
    children->readers = readers;
    children->count = 1 + readers + (children->tokens != NULL && !one);
    for (int i = 0; i < children->count; i++) {
        char *name = children->each[i].name;
        if (i == 0) {
            snprintf(name, sizeof children->each[i].name, "writer");
        } else if (i > readers) {
            snprintf(name, sizeof children->each[i].name, "login");
        } else {
            snprintf(name, sizeof children->each[i].name, "reader %d", i);
        }
    }
}

static _Noreturn void run_child(struct children *children, int i, pid_t parent) {
    int readers = children->readers;
    bool writer = i == 0;
    bool reader = readers == 0 ? writer : i >= 1 && i <= readers;
    bool login = children->sockets->one || i == readers + 1;
    /* without secrets there are no logins: a reader then says so to who asks */
    bool hears_logins = children->tokens == NULL ? reader : login;
    struct worker_job job = {
        .settings = children->settings,
        .tokens = children->tokens,
        .scoreboard = children->scoreboard,
        .supervisor = parent,
        .slot = i,
        .lanes = (writer ? LANE_WRITE : 0U) | (reader ? LANE_READ : 0U) | (login ? LANE_LOGIN : 0U),
        .listeners = {reader ? children->sockets->listeners[READ_SOCKET] : -1,
                      writer ? children->sockets->listeners[WRITE_SOCKET] : -1,
                      hears_logins ? children->sockets->listeners[LOGIN_SOCKET] : -1},
        .lock = writer ? children->lock : -1,
    };
    snprintf(job.name, sizeof job.name, "%s", children->each[i].name);
    snprintf(job.place, sizeof job.place, "%s", children->sockets->place);
    job_begin(&job);
    if (!writer) {
        close(children->lock);
    }
    if (children->sockets->run_dir_lock >= 0) {
        close(children->sockets->run_dir_lock);
    }
    int status = worker_run(&job);
    exit(status);
}

bool children_make_scoreboard(struct children *children) {
    children->scoreboard =
        scoreboard_create(children->sockets->place, children->count, children->settings->db);
    for (int i = 0; children->scoreboard != NULL && i < children->count; i++) {
        memcpy(children->scoreboard->slot[i].name, children->each[i].name,
               sizeof children->each[i].name);
    }
    return children->scoreboard != NULL;
}

static void spawn(struct children *children, int i) {
    struct child *child = &children->each[i];
    pid_t parent = getpid();
    child->started_ms = clock_ms();
    pid_t pid = fork();
    if (pid == 0) {
        run_child(children, i, parent);
    }
    if (pid < 0) {
        log_event("S01", "cannot start %s: %s", child->name, strerror(errno));
        child->restart_at_ms = clock_ms() + BACKOFF_LAST_MS;
        return;
    }
    child->pid = pid;
}

void children_bury(struct children *children, pid_t pid, int status) {
    for (int i = 0; i < children->count; i++) {
        struct child *child = &children->each[i];
        if (child->pid != pid) {
            continue;
        }
        child->pid = 0;
        scoreboard_bury(children->scoreboard, i);
        if (atomic_load(&children->scoreboard->stopping)) {
            return;
        }
        if (clock_ms() - child->started_ms >= HEALTHY_MS) {
            child->backoff_ms = 0;
        }
        child->restart_at_ms = clock_ms() + child->backoff_ms;
        if (WIFSIGNALED(status)) {
            log_event("S02", "%s was killed by signal %d and starts again in %d ms", child->name,
                      WTERMSIG(status), child->backoff_ms);
        } else {
            log_event("S03", "%s ended with status %d and starts again in %d ms", child->name,
                      WEXITSTATUS(status), child->backoff_ms);
        }
        int next = child->backoff_ms * 2;
        child->backoff_ms = next < BACKOFF_FIRST_MS  ? BACKOFF_FIRST_MS
                            : next > BACKOFF_LAST_MS ? BACKOFF_LAST_MS
                                                     : next;
        return;
    }
}

int64_t children_start_due(struct children *children) {
    int64_t wait_ms = -1;
    for (int i = 0; i < children->count; i++) {
        struct child *child = &children->each[i];
        if (child->pid == 0 && child->restart_at_ms <= clock_ms()) {
            spawn(children, i);
        }
        if (child->pid == 0) {
            int64_t left = child->restart_at_ms - clock_ms();
            left = left < 1 ? 1 : left;
            wait_ms = wait_ms < 0 || left < wait_ms ? left : wait_ms;
        }
    }
    return wait_ms;
}

void children_signal(const struct children *children, int signal_number) {
    for (int i = 0; i < children->count; i++) {
        if (children->each[i].pid != 0) {
            kill(children->each[i].pid, signal_number);
        }
    }
}

bool children_run(const struct children *children) {
    for (int i = 0; i < children->count; i++) {
        if (children->each[i].pid != 0) {
            return true;
        }
    }
    return false;
}

bool children_serve(const struct children *children) {
    for (int i = 0; i < children->count; i++) {
        if (children->each[i].pid == 0 || !atomic_load(&children->scoreboard->slot[i].serving)) {
            return false;
        }
    }
    return true;
}

void children_give(const struct children *children, struct handover *state) {
    for (int i = 0; i < children->count; i++) {
        const struct child *child = &children->each[i];
        handover_put(state, child->pid);
        handover_put(state, child->started_ms);
        handover_put(state, child->restart_at_ms);
        handover_put(state, child->backoff_ms);
    }
}

void children_take(struct children *children, struct handover *state) {
    for (int i = 0; i < children->count; i++) {
        struct child *child = &children->each[i];
        child->pid = (pid_t)handover_number(state);
        child->started_ms = handover_number(state);
        child->restart_at_ms = handover_number(state);
        child->backoff_ms = (int)handover_number(state);
    }
}
