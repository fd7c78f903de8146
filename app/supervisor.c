#define _GNU_SOURCE
#include "supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "children.h"
#include "clock.h"
#include "lock.h"
#include "log.h"
#include "notify.h"
#include "reload.h"
#include "watchdog.h"

enum {
    DRAIN_MS = 10000,
    ARRIVE_MS = 1000, /* at a stop, for requests on their way; less once none has come for: */
    ARRIVE_QUIET_MS = 50,
    READY_POLL_MS = 10,
    NFS_MAGIC = 0x6969,
    SMB_MAGIC = 0xFF534D42,
};

struct supervisor {
    struct children children;
    struct sockets sockets;
    struct jwt_rules rules;
    struct reload reload;
    struct watchdog watchdog;
    bool ready; /* the service manager knows, or does not want to */
};

/* ---- start ---------------------------------------------------------------------------------- */

/* Held until the supervisor and the writer, who inherits it, have both ended. */
static bool lock(struct children *children) {
    children->lock = lock_database(children->settings->db);
    return children->lock >= 0;
}

static bool can_open(const struct settings *settings, enum db_mode mode) {
    char error[DB_ERROR_BYTES];
    struct statfs file_system;
    if (statfs(settings->db, &file_system) == 0 &&
        ((unsigned long)file_system.f_type == NFS_MAGIC ||
         (unsigned long)file_system.f_type == SMB_MAGIC)) {
        return log_refuse(
            "%s is on a network file system, where the write-ahead log cannot work: put "
            "the database on a local disk",
            settings->db);
    }
    struct db *db = db_open(settings->db, mode, settings->sync, error);
    if (db == NULL) {
        return log_refuse("%s", error);
    }
    db_close(db);
    return true;
}

/* Opens it once: a start that must fail fails here, with a sentence, and not in every worker. In a
 * process of its own, since no connection may cross a fork, and every worker would keep the memory
 * that this took. */
static bool check_database(const struct settings *settings, enum db_mode mode) {
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        exit(can_open(settings, mode) ? 0 : 1);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid) {
        return log_refuse("cannot start a process that opens %s: %s", settings->db,
                          strerror(errno));
    }
    if (WIFSIGNALED(status)) {
        return log_refuse("opening %s ended by signal %d", settings->db, WTERMSIG(status));
    }
    return status == 0;
}

/* Before any fork, so that every worker verifies with the same keys. */
static bool read_secrets(struct supervisor *supervisor) {
    char error[SECRETS_ERROR_BYTES];
    if (supervisor->children.settings->secret_file == NULL) {
        return true;
    }
    supervisor->children.tokens = &supervisor->rules;
    return jwt_rules_read(&supervisor->rules, supervisor->children.settings, error) ||
           log_refuse("%s", error);
}

static bool start(struct supervisor *supervisor) {
    struct children *children = &supervisor->children;
    const struct settings *settings = children->settings;
    if (!read_secrets(supervisor)) {
        return false;
    }
    /* read first: beside a file that is not ours, not even a lock file is left */
    if (!check_database(settings, DB_READ) || !lock(children) ||
        !check_database(settings, DB_WRITE) || !sockets_open(&supervisor->sockets, settings)) {
        return false;
    }
    children_setup(children);
    if (!children_make_scoreboard(children)) {
        return log_refuse("cannot make the scoreboard in %s: %s", supervisor->sockets.place,
                          strerror(errno));
    }
    signal(SIGPIPE, SIG_IGN); /* a log that nobody reads any more ends nothing */
    log_event("S05", "serves %s on %s with %d reader%s and one writer%s, pid %ld", settings->db,
              supervisor->sockets.where, children->readers, children->readers == 1 ? "" : "s",
              children->tokens == NULL ? "" : ", and logins", (long)getpid());
    return true;
}

/* ---- run ------------------------------------------------------------------------------------ */

static void block_signals(sigset_t *signals) {
    sigemptyset(signals);
    sigaddset(signals, SIGCHLD);
    sigaddset(signals, SIGTERM);
    sigaddset(signals, SIGINT);
    sigaddset(signals, SIGHUP);
    sigaddset(signals, SIGUSR1); /* for the children, who inherit this, until they listen to it */
    sigprocmask(SIG_BLOCK, signals, NULL);
}

/* SIGHUP comes too when the terminal is closed: then its descriptors fail with EIO. */
static bool terminal_is_gone(void) {
    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++) {
        if (isatty(i) == 0 && errno == EIO) {
            return true;
        }
    }
    return false;
}

static void reap(struct supervisor *supervisor) {
    int status = 0;
    pid_t pid = 0;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (!reload_bury(&supervisor->reload, &supervisor->children, pid, status)) {
            children_bury(&supervisor->children, pid, status);
        }
    }
}

/* The shorter of two waits, of which -1 is for ever. */
static int64_t sooner(int64_t a, int64_t b) {
    return a < 0 ? b : b < 0 || a < b ? a : b;
}

/* Waits for one of the blocked signals; returns its number, 0 when the time is over. */
static int wait_signal(const sigset_t *signals, int64_t timeout_ms) {
    struct timespec timeout = {.tv_sec = timeout_ms / 1000, .tv_nsec = timeout_ms % 1000 * 1000000};
    int number =
        timeout_ms < 0 ? sigwaitinfo(signals, NULL) : sigtimedwait(signals, NULL, &timeout);
    return number < 0 ? 0 : number;
}

/* Returns how long to wait before it is called again, -1 for ever. */
static int64_t tell_when_ready(struct supervisor *supervisor) {
    if (!supervisor->ready && reload_is_idle(&supervisor->reload) &&
        children_serve(&supervisor->children)) {
        supervisor->ready = true;
        notify_ready();
    }
    return supervisor->ready ? -1 : READY_POLL_MS;
}

static void begin_reload(struct supervisor *supervisor) {
    supervisor->ready = !notify_is_wanted();
    notify_reloading();
    reload_begin(&supervisor->reload);
}

/* ---- stop ----------------------------------------------------------------------------------- */

/* What the web server had taken before the signal came is still on its way to the workers. */
static void let_requests_arrive(struct supervisor *supervisor) {
    const struct scoreboard *scoreboard = supervisor->children.scoreboard;
    const struct timespec moment = {.tv_nsec = ARRIVE_QUIET_MS * 1000000L};
    int64_t ends_ms = clock_ms() + ARRIVE_MS;
    uint64_t before = 0;
    uint64_t requests = scoreboard_requests(scoreboard);
    do {
        before = requests;
        nanosleep(&moment, NULL);
        requests = scoreboard_requests(scoreboard);
    } while (requests != before && clock_ms() < ends_ms);
}

static void drain(struct supervisor *supervisor, const sigset_t *signals) {
    struct children *children = &supervisor->children;
    notify_stopping();
    reload_cancel(&supervisor->reload);
    let_requests_arrive(supervisor);
    atomic_store(&children->scoreboard->stopping, true);
    sockets_refuse(&supervisor->sockets);
    scoreboard_remove(supervisor->sockets.place);
    children_signal(children, SIGTERM);
    int64_t deadline = clock_ms() + DRAIN_MS;
    for (reap(supervisor); children_run(children); reap(supervisor)) {
        int64_t left = deadline - clock_ms();
        if (left <= 0) {
            log_event("S04", "a worker did not end within %d s and is killed", DRAIN_MS / 1000);
            children_signal(children, SIGKILL);
            left = DRAIN_MS;
            deadline = clock_ms() + DRAIN_MS;
        }
        wait_signal(signals, left);
    }
    /* nobody else is left: closing empties the WAL into the database file */
    check_database(children->settings, DB_WRITE);
}

int supervisor_run(const struct settings *settings, struct handover *state) {
    static struct supervisor supervisor;
    struct children *children = &supervisor.children;
    struct reload *reload = &supervisor.reload;
    children->settings = settings;
    children->sockets = &supervisor.sockets;
    log_identify("supervisor");
    prctl(PR_SET_NAME, "larder"); /* after a reload it would be a descriptor's number */
    sigset_t signals;
    bool started = state == NULL ? start(&supervisor)
                                 : reload_take_over(reload, children, &supervisor.sockets,
                                                    &supervisor.rules, state);
    if (!started) {
        return 1;
    }
    block_signals(&signals);
    watchdog_setup(&supervisor.watchdog);
    supervisor.ready = !notify_is_wanted();
    for (;;) {
        reap(&supervisor);
        int64_t wait_ms = sooner(children_start_due(children), reload_step(reload, children));
        wait_ms = sooner(wait_ms, tell_when_ready(&supervisor));
        wait_ms = sooner(wait_ms, watchdog_step(&supervisor.watchdog, children));
        sigset_t wanted = signals;
        if (!reload_is_idle(reload)) {
            sigdelset(&wanted, SIGHUP);
        }
        int number = wait_signal(&wanted, wait_ms);
        if (number == SIGTERM || number == SIGINT || (number == SIGHUP && terminal_is_gone())) {
            break;
        }
        if (number == SIGHUP) {
            begin_reload(&supervisor);
        }
    }
    drain(&supervisor, &signals);
    log_event("S06", "has stopped");
    return 0;
}
