#include "job.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "program.h"

void job_begin(const struct worker_job *job) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != job->supervisor) {
        _exit(1); /* the supervisor died before the line above */
    }
    signal(SIGINT, SIG_IGN); /* Ctrl-C reaches the whole group: the supervisor passes it on */
    char title[40];
    snprintf(title, sizeof title, "larder-%s", job->name);
    prctl(PR_SET_NAME, title);
    log_identify(job->name);
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGUSR1);
    sigprocmask(SIG_SETMASK, &signals, NULL);
}

static void job_give(const struct worker_job *job, struct handover *state) {
    handover_put(state, job->supervisor);
    handover_put_text(state, text_from(job->name));
    handover_put_text(state, text_from(job->place));
    handover_put(state, job->slot);
    handover_put(state, job->lanes);
    for (int i = 0; i < CLIENTS_LISTENERS; i++) {
        handover_put_descriptor(state, job->listeners[i]);
    }
    handover_put_descriptor(state, job->lock);
    jwt_rules_give(job->tokens, state);
}

bool job_take(struct worker_job *job, const struct settings *settings, struct jwt_rules *rules,
              struct handover *state) {
    *job = (struct worker_job){.settings = settings};
    job->supervisor = (pid_t)handover_number(state);
    struct text name = handover_text(state);
    snprintf(job->name, sizeof job->name, "%.*s", (int)name.length, name.data);
    struct text place = handover_text(state);
    snprintf(job->place, sizeof job->place, "%.*s", (int)place.length, place.data);
    job->slot = (int)handover_number(state);
    job->lanes = (unsigned)handover_number(state);
    for (int i = 0; i < CLIENTS_LISTENERS; i++) {
        job->listeners[i] = handover_descriptor(state);
    }
    job->lock = handover_descriptor(state);
    job_begin(job);
    if (settings->secret_file == NULL) {
        handover_text(state);
    } else {
        job->tokens = rules;
        state->broken = !jwt_rules_take(rules, settings, state) || state->broken;
    }
    job->scoreboard = scoreboard_join(job->place);
    if (state->broken) {
        log_event("R02", "cannot read what its predecessor left");
        return false;
    }
    if (job->scoreboard == NULL || job->slot < 0 || job->slot >= (int)job->scoreboard->slots) {
        log_event("R03", "cannot use the scoreboard in %s: %s", job->place, strerror(errno));
        return false;
    }
    return true;
}

void job_hand_over(const struct worker_job *job, const struct clients *clients, struct db *db) {
    struct handover state;
    int64_t now_ns = clock_ns();
    handover_begin(&state, HANDOVER_WORKER);
    job_give(job, &state);
    handover_put(&state, now_ns);
    clients_give(clients, &state);
    db_leave(db); /* a connection must not cross */
    int program = program_open_of(job->supervisor);
    if (program >= 0) {
        handover_pass(&state, program);
    }
    log_event("R04", "goes on with the program it has, the new one cannot be executed: %s",
              strerror(errno));
    handover_free(&state);
    if (program >= 0) {
        close(program);
    }
}

bool job_take_clients(struct clients *clients, struct handover *state) {
    int64_t left_ns = handover_number(state);
    bool whole = clients_take(clients, state) && handover_is_whole(state);
    handover_free(state);
    if (!whole) {
        log_event("R05", "cannot read the connections that its predecessor left");
        return false;
    }
    log_event("R06", "took the place of its predecessor in %.1f ms: %u connections, %zu waiting",
              (double)(clock_ns() - left_ns) / 1e6, clients->open, clients->waiting.count);
    return true;
}
