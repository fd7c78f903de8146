#include "sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"

enum { BACKLOG = 4096 /* a full queue on a unix socket is an instant 502 */ };

static bool listen_on(struct sockets *sockets, const struct settings *settings,
                      enum socket_lane lane, const char *name) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char *path = sockets->paths[lane];
    int length = snprintf(path, sizeof address.sun_path, "%s/%s", settings->run_dir, name);
    if (length >= (int)sizeof address.sun_path) {
        path[0] = '\0';
        return log_refuse(
            "--run-dir %s is too long for a socket: the whole path may have %zu bytes",
            settings->run_dir, sizeof address.sun_path - 1);
    }
    memcpy(address.sun_path, path, (size_t)length + 1);
    unlink(path); /* of a larder that was killed: the directory's lock is ours */
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0 || bind(descriptor, (struct sockaddr *)&address, sizeof address) != 0 ||
        chmod(path, settings->socket_mode) != 0 || listen(descriptor, BACKLOG) != 0) {
        return log_refuse("cannot make the socket %s: %s", path, strerror(errno));
    }
    sockets->listeners[lane] = descriptor;
    return true;
}

static void remove_names(const struct sockets *sockets) {
    for (int i = 0; i < SOCKETS; i++) {
        if (sockets->paths[i][0] != '\0') {
            unlink(sockets->paths[i]);
        }
    }
}

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
    return true;
}

bool sockets_open(struct sockets *sockets, const struct settings *settings) {
    if (!make_run_dir(settings->run_dir) || !lock_run_dir(sockets, settings->run_dir)) {
        return false;
    }
    if (!listen_on(sockets, settings, READ_SOCKET, "read.sock") ||
        !listen_on(sockets, settings, WRITE_SOCKET, "write.sock") ||
        !listen_on(sockets, settings, LOGIN_SOCKET, "login.sock")) {
        remove_names(sockets);
        return false;
    }
    return true;
}

void sockets_refuse(const struct sockets *sockets) {
    remove_names(sockets);
    for (int i = 0; i < SOCKETS; i++) {
        shutdown(sockets->listeners[i], SHUT_RDWR);
    }
}

void sockets_give(const struct sockets *sockets, struct handover *state) {
    handover_put_descriptor(state, sockets->run_dir_lock);
    for (int i = 0; i < SOCKETS; i++) {
        handover_put_descriptor(state, sockets->listeners[i]);
        handover_put_text(state, text_from(sockets->paths[i]));
    }
}

void sockets_take(struct sockets *sockets, struct handover *state) {
    sockets->run_dir_lock = handover_descriptor(state);
    for (int i = 0; i < SOCKETS; i++) {
        sockets->listeners[i] = handover_descriptor(state);
        struct text path = handover_text(state);
        snprintf(sockets->paths[i], sizeof sockets->paths[i], "%.*s", (int)path.length, path.data);
    }
}
