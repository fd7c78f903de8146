#include "sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "handed_over.h"
#include "listen.h"
#include "log.h"
#include "scoreboard.h"

/* ---- names ---------------------------------------------------------------------------------- */

/* A socket file can be removed only by its name: it is remembered together with what it names. */
static void remember_name(struct sockets *sockets, enum socket_lane lane, const char *path) {
    struct stat status;
    if (lstat(path, &status) == 0) {
        snprintf(sockets->names[lane].path, sizeof sockets->names[lane].path, "%s", path);
        sockets->names[lane].inode = status.st_ino;
    }
}

static bool is_ours(const struct sockets *sockets, int lane) {
    struct stat status;
    return sockets->names[lane].path[0] != '\0' && lstat(sockets->names[lane].path, &status) == 0 &&
           status.st_ino == sockets->names[lane].inode;
}

static void remove_names(const struct sockets *sockets) {
    for (int i = 0; i < SOCKETS; i++) {
        if (is_ours(sockets, i)) {
            unlink(sockets->names[i].path);
        }
    }
}

/* ---- the run directory ---------------------------------------------------------------------- */

static bool make_run_dir(const char *path) {
    struct stat status;
    if (mkdir(path, 0755) != 0 && errno != EEXIST) {
        return log_refuse("cannot make the directory %s: %s; give another --run-dir", path,
                          strerror(errno));
    }
    if (stat(path, &status) == 0 && !S_ISDIR(status.st_mode)) {
        return log_refuse("%s is not a directory: give another --run-dir", path);
    }
    return true;
}

/* Held until this process ends: another larder would take the sockets away. */
static bool lock_run_dir(struct sockets *sockets, const char *path) {
    sockets->run_dir_lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (sockets->run_dir_lock < 0) {
        return log_refuse("cannot open the directory %s: %s; give another --run-dir", path,
                          strerror(errno));
    }
    if (flock(sockets->run_dir_lock, LOCK_EX | LOCK_NB) != 0) {
        return log_refuse("another larder has its sockets in %s: give another --run-dir", path);
    }
    snprintf(sockets->place, sizeof sockets->place, "%s", path);
    return true;
}

/* Where nobody asked for it, the default is taken when it can be had. */
static void take_default_run_dir(struct sockets *sockets, const char *path) {
    mkdir(path, 0755);
    int lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock >= 0 && access(path, W_OK | X_OK) == 0 && flock(lock, LOCK_EX | LOCK_NB) == 0) {
        snprintf(sockets->place, sizeof sockets->place, "%s", path);
        sockets->run_dir_lock = lock;
        return;
    }
    if (lock >= 0) {
        close(lock);
    }
    sockets->scoreboard = scoreboard_reserve(sockets->place, sizeof sockets->place);
}

static bool open_run_dir(struct sockets *sockets, const struct settings *settings, bool needed) {
    if (needed || settings->run_dir_given) {
        return make_run_dir(settings->run_dir) && lock_run_dir(sockets, settings->run_dir);
    }
    take_default_run_dir(sockets, settings->run_dir);
    return true;
}

/* ---- the sockets ---------------------------------------------------------------------------- */

static bool listen_in_run_dir(struct sockets *sockets, const struct settings *settings,
                              enum socket_lane lane, const char *name) {
    char path[sizeof sockets->names[lane].path];
    /* the slash makes it a path for listen_open(), whatever the directory's name */
    int length = snprintf(path, sizeof path, "%s/%s", settings->run_dir, name);
    if (length >= (int)sizeof path) {
        return log_refuse(
            "--run-dir %s is too long for a socket: the whole path may have %zu bytes",
            settings->run_dir, sizeof path - 1);
    }
    unlink(path); /* of a larder that was killed: the directory's lock is ours */
    sockets->listeners[lane] = listen_open("the socket", path, settings->socket_mode);
    if (sockets->listeners[lane] < 0) {
        return false;
    }
    remember_name(sockets, lane, path);
    return true;
}

static bool listen_on_one(struct sockets *sockets, const struct settings *settings) {
    int descriptor = listen_open("--listen", settings->listen, settings->socket_mode);
    if (descriptor < 0) {
        return false;
    }
    sockets->one = true;
    sockets->listeners[WRITE_SOCKET] = descriptor;
    sockets->where = settings->listen;
    if (strchr(settings->listen, '/') != NULL) {
        remember_name(sockets, WRITE_SOCKET, settings->listen);
    }
    return true;
}

static bool refuse_contradictions(const struct sockets *sockets, const struct settings *settings,
                                  int handed_over) {
    if (handed_over > 0 && settings->listen != NULL) {
        return log_refuse("a socket was handed over (%s), so --listen cannot be given too",
                          sockets->where);
    }
    if ((sockets->one || settings->listen != NULL) && settings->readers_given &&
        settings->readers > 0) {
        return log_refuse("one socket for all is served by one process: --readers must be 0 or "
                          "left out");
    }
    if (handed_over > 0 && !sockets->one && sockets->listeners[LOGIN_SOCKET] < 0 &&
        settings->secret_file != NULL) {
        return log_refuse("no socket named login was handed over, and with --secret-file there "
                          "are logins");
    }
    return true;
}

bool sockets_open(struct sockets *sockets, const struct settings *settings) {
    int handed_over = 0;
    *sockets = (struct sockets){.listeners = {-1, -1, -1},
                                .run_dir_lock = -1,
                                .scoreboard = -1,
                                .where = settings->run_dir};
    if (!handed_over_take(sockets, &handed_over) ||
        !refuse_contradictions(sockets, settings, handed_over) ||
        !open_run_dir(sockets, settings, handed_over == 0 && settings->listen == NULL)) {
        return false;
    }
    bool open = handed_over > 0;
    if (!open && settings->listen != NULL) {
        open = listen_on_one(sockets, settings);
    } else if (!open) {
        open = listen_in_run_dir(sockets, settings, READ_SOCKET, "read.sock") &&
               listen_in_run_dir(sockets, settings, WRITE_SOCKET, "write.sock") &&
               listen_in_run_dir(sockets, settings, LOGIN_SOCKET, "login.sock");
    }
    if (!open) {
        remove_names(sockets);
        return false;
    }
    for (int i = 0; i < SOCKETS; i++) {
        listen_warn(sockets->listeners[i]);
    }
    return true;
}

/* A socket with a name is a unix socket of ours: shut, it lets nobody in, and keeps its queue. One
 * on a port would drop its queue, and one that was handed over is not ours to shut. */
void sockets_refuse(const struct sockets *sockets) {
    for (int i = 0; i < SOCKETS; i++) {
        if (sockets->names[i].path[0] != '\0') {
            shutdown(sockets->listeners[i], SHUT_RDWR);
        }
    }
    remove_names(sockets);
}

void sockets_give(const struct sockets *sockets, struct handover *state) {
    handover_put_descriptor(state, sockets->run_dir_lock);
    handover_put_descriptor(state, sockets->scoreboard);
    handover_put_text(state, text_from(sockets->place));
    handover_put(state, sockets->one);
    for (int i = 0; i < SOCKETS; i++) {
        handover_put_descriptor(state, sockets->listeners[i]);
        handover_put_text(state, text_from(sockets->names[i].path));
        handover_put(state, (int64_t)sockets->names[i].inode);
    }
}

static void take_text(char *copy, size_t size, struct handover *state) {
    struct text text = handover_text(state);
    snprintf(copy, size, "%.*s", (int)text.length, text.data);
}

void sockets_take(struct sockets *sockets, struct handover *state) {
    sockets->run_dir_lock = handover_descriptor(state);
    sockets->scoreboard = handover_descriptor(state);
    take_text(sockets->place, sizeof sockets->place, state);
    sockets->one = handover_number(state) != 0;
    for (int i = 0; i < SOCKETS; i++) {
        sockets->listeners[i] = handover_descriptor(state);
        take_text(sockets->names[i].path, sizeof sockets->names[i].path, state);
        sockets->names[i].inode = (ino_t)handover_number(state);
    }
}
