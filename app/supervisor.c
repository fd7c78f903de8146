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

#include "clock.h"
#include "jwt.h"
#include "lock.h"
#include "log.h"
#include "sockets.h"
#include "worker.h"

enum {
    DRAIN_MS = 10000,
    HEALTHY_MS = 1000, /* a worker that lived this long starts again at once */
    BACKOFF_FIRST_MS = 50,
    BACKOFF_LAST_MS = 800,
    NFS_MAGIC = 0x6969,
    SMB_MAGIC = 0xFF534D42,
};

struct child {
    pid_t pid; /* 0: none is running */
    int64_t started_ms;
    int64_t restart_at_ms; /* when pid is 0 */
    int backoff_ms;
    char name[24];
};

struct supervisor {
    const struct settings *settings;
    struct scoreboard *scoreboard;
    struct jwt_rules rules;
    const struct jwt_rules *tokens; /* NULL: no secret file is configured */
    int lock;
    struct sockets sockets;
    struct child children[SCOREBOARD_SLOTS];
    int count;
};

/* ---- start ---------------------------------------------------------------------------------- */

/* Held until the supervisor and the writer, who inherits it, have both ended. */
static bool lock(struct supervisor *supervisor) {
    supervisor->lock = lock_database(supervisor->settings->db);
    return supervisor->lock >= 0;
}

/* Opens it once: a start that must fail fails here, with a sentence, and not in every worker. */
static bool check_database(const struct settings *settings, enum db_mode mode) {
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
    db_close(db); /* before any fork: a connection must not cross one */
    return true;
}

/* Before any fork, so that every worker verifies with the same keys. */
static bool read_secrets(struct supervisor *supervisor) {
    char error[SECRETS_ERROR_BYTES];
    if (supervisor->settings->secret_file == NULL) {
        return true;
    }
    supervisor->tokens = &supervisor->rules;
    return jwt_rules_read(&supervisor->rules, supervisor->settings, error) ||
           log_refuse("%s", error);
}

static bool start(struct supervisor *supervisor) {
    supervisor->count = 1 + supervisor->settings->readers;
    const struct settings *settings = supervisor->settings;
    if (!read_secrets(supervisor)) {
        return false;
    }
    supervisor->count += supervisor->tokens != NULL;
    /* read first: beside a file that is not ours, not even a lock file is left */
    if (!check_database(settings, DB_READ) || !lock(supervisor) ||
        !check_database(settings, DB_WRITE) || !sockets_open(&supervisor->sockets, settings)) {
        return false;
    }
    supervisor->scoreboard = scoreboard_create(settings->run_dir, supervisor->count, settings->db);
    return supervisor->scoreboard != NULL ||
           log_refuse("cannot make %s/" SCOREBOARD_NAME ": %s", settings->run_dir, strerror(errno));
}

/* ---- children ------------------------------------------------------------------------------- */

static _Noreturn void run_child(struct supervisor *supervisor, int i, pid_t parent) {
    int readers = supervisor->settings->readers;
    bool writer = i == 0;
    bool reader = readers == 0 ? writer : i >= 1 && i <= readers;
    bool login = i == readers + 1;
    /* without secrets there are no logins: a reader then says so to who asks */
    bool hears_logins = supervisor->tokens == NULL ? reader : login;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) {
        _exit(1); /* the supervisor died before the line above */
    }
    signal(SIGINT, SIG_IGN); /* Ctrl-C reaches the whole group: the supervisor passes it on */
    char title[40];
    snprintf(title, sizeof title, "larder-%s", supervisor->children[i].name);
    prctl(PR_SET_NAME, title);
    log_identify(supervisor->children[i].name);
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_SETMASK, &signals, NULL);
    struct worker_job job = {
        .settings = supervisor->settings,
        .tokens = supervisor->tokens,
        .scoreboard = supervisor->scoreboard,
        .slot = i,
        .lanes = (writer ? LANE_WRITE : 0U) | (reader ? LANE_READ : 0U) | (login ? LANE_LOGIN : 0U),
        .listeners = {reader ? supervisor->sockets.listeners[READ_SOCKET] : -1,
                      writer ? supervisor->sockets.listeners[WRITE_SOCKET] : -1,
                      hears_logins ? supervisor->sockets.listeners[LOGIN_SOCKET] : -1},
    };
    if (!writer) {
        close(supervisor->lock);
    }
    close(supervisor->sockets.run_dir_lock);
    int status = worker_run(&job);
    exit(status);
}

static void spawn(struct supervisor *supervisor, int i) {
    struct child *child = &supervisor->children[i];
    pid_t parent = getpid();
    child->started_ms = clock_ms();
    pid_t pid = fork();
    if (pid == 0) {
        run_child(supervisor, i, parent);
    }
    if (pid < 0) {
        log_event("S01", "cannot start %s: %s", child->name, strerror(errno));
        child->restart_at_ms = clock_ms() + BACKOFF_LAST_MS;
        return;
    }
    child->pid = pid;
}

static void bury(struct supervisor *supervisor, pid_t pid, int status) {
    for (int i = 0; i < supervisor->count; i++) {
        struct child *child = &supervisor->children[i];
        if (child->pid != pid) {
            continue;
        }
        child->pid = 0;
        scoreboard_bury(supervisor->scoreboard, i);
        if (atomic_load(&supervisor->scoreboard->stopping)) {
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

static bool reap(struct supervisor *supervisor) {
    int status = 0;
    pid_t pid = 0;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        bury(supervisor, pid, status);
    }
    for (int i = 0; i < supervisor->count; i++) {
        if (supervisor->children[i].pid != 0) {
            return true;
        }
    }
    return false;
}

static void signal_children(const struct supervisor *supervisor, int signal_number) {
    for (int i = 0; i < supervisor->count; i++) {
        if (supervisor->children[i].pid != 0) {
            kill(supervisor->children[i].pid, signal_number);
        }
    }
}

/* Starts those whose time has come. Returns how long to wait for the next one, -1 for ever. */
static int64_t start_due(struct supervisor *supervisor) {
    int64_t wait_ms = -1;
    for (int i = 0; i < supervisor->count; i++) {
        struct child *child = &supervisor->children[i];
        if (child->pid == 0 && child->restart_at_ms <= clock_ms()) {
            spawn(supervisor, i);
        }
        if (child->pid == 0) {
            int64_t left = child->restart_at_ms - clock_ms();
            left = left < 1 ? 1 : left;
            wait_ms = wait_ms < 0 || left < wait_ms ? left : wait_ms;
        }
    }
    return wait_ms;
}

/* Waits for one of the blocked signals; returns its number, 0 when the time is over. */
static int wait_signal(const sigset_t *signals, int64_t timeout_ms) {
    struct timespec timeout = {.tv_sec = timeout_ms / 1000, .tv_nsec = timeout_ms % 1000 * 1000000};
    int number =
        timeout_ms < 0 ? sigwaitinfo(signals, NULL) : sigtimedwait(signals, NULL, &timeout);
    return number < 0 ? 0 : number;
}

/* ---- stop ----------------------------------------------------------------------------------- */

static void drain(struct supervisor *supervisor, const sigset_t *signals) {
    atomic_store(&supervisor->scoreboard->stopping, true);
    sockets_refuse(&supervisor->sockets);
    scoreboard_remove(supervisor->settings->run_dir);
    signal_children(supervisor, SIGTERM);
    int64_t deadline = clock_ms() + DRAIN_MS;
    while (reap(supervisor)) {
        int64_t left = deadline - clock_ms();
        if (left <= 0) {
            log_event("S04", "a worker did not end within %d s and is killed", DRAIN_MS / 1000);
            signal_children(supervisor, SIGKILL);
            left = DRAIN_MS;
            deadline = clock_ms() + DRAIN_MS;
        }
        wait_signal(signals, left);
    }
    /* nobody else is left: closing empties the WAL into the database file */
    check_database(supervisor->settings, DB_WRITE);
}

int supervisor_run(const struct settings *settings) {
    static struct supervisor supervisor;
    supervisor.settings = settings;
    log_identify("supervisor");
    if (!start(&supervisor)) {
        return 1;
    }
    signal(SIGPIPE, SIG_IGN); /* a log that nobody reads any more ends nothing */
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    for (int i = 0; i < supervisor.count; i++) {
        if (i == 0) {
            snprintf(supervisor.children[i].name, sizeof supervisor.children[i].name, "writer");
        } else if (i > settings->readers) {
            snprintf(supervisor.children[i].name, sizeof supervisor.children[i].name, "login");
        } else {
            snprintf(supervisor.children[i].name, sizeof supervisor.children[i].name, "reader %d",
                     i);
        }
        memcpy(supervisor.scoreboard->slot[i].name, supervisor.children[i].name,
               sizeof supervisor.children[i].name);
    }
    log_event("S05", "serves %s on %s with %d reader%s and one writer%s, pid %ld", settings->db,
              settings->run_dir, settings->readers, settings->readers == 1 ? "" : "s",
              supervisor.tokens == NULL ? "" : ", and logins", (long)getpid());
    for (;;) {
        int number = wait_signal(&signals, start_due(&supervisor));
        if (number == SIGTERM || number == SIGINT) {
            break;
        }
        reap(&supervisor);
    }
    drain(&supervisor, &signals);
    log_event("S06", "has stopped");
    return 0;
}
