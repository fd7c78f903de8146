#include "handed_over.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "listen.h"
#include "log.h"
#include "text.h"

enum { FIRST_DESCRIPTOR = 3 };

static const struct text lane_names[SOCKETS] = {
    [READ_SOCKET] = TEXT("read"), [WRITE_SOCKET] = TEXT("write"), [LOGIN_SOCKET] = TEXT("login")};

/* A variable that is a number of at least 1; 0 for any other. */
static int64_t number_in(const char *variable) {
    const char *value = getenv(variable);
    int64_t number = 0;
    return value != NULL && text_integer(text_from(value), 1, INT32_MAX, &number) ? number : 0;
}

static void prepare(int descriptor) {
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

static void take_for_all(struct sockets *sockets, int descriptor) {
    sockets->one = true;
    sockets->listeners[WRITE_SOCKET] = descriptor;
}

/* Gives the socket to the lane of that name. Returns false when there is no such lane, or it has
 * one. */
static bool take_for_lane(struct sockets *sockets, struct text name, int descriptor) {
    for (int i = 0; i < SOCKETS; i++) {
        if (text_equals(name, lane_names[i]) && sockets->listeners[i] < 0) {
            sockets->listeners[i] = descriptor;
            return true;
        }
    }
    return false;
}

static bool take_activated(struct sockets *sockets, int count) {
    const char *names = getenv("LISTEN_FDNAMES");
    struct text rest = text_from(names == NULL ? "" : names);
    int named = 0;
    for (int i = 0; i < count; i++) {
        int descriptor = FIRST_DESCRIPTOR + i;
        struct text name = {0};
        if (!listen_is_listening(descriptor)) {
            return log_refuse("descriptor %d, which was handed over, is not a listening stream "
                              "socket: mend the socket unit",
                              descriptor);
        }
        prepare(descriptor);
        text_split(&rest, ':', &name);
        named += take_for_lane(sockets, name, descriptor);
    }
    if (named == 0 && count == 1) {
        take_for_all(sockets, FIRST_DESCRIPTOR);
    } else if (named != count || sockets->listeners[READ_SOCKET] < 0 ||
               sockets->listeners[WRITE_SOCKET] < 0) {
        return log_refuse("of the sockets handed over, one must be named read, one write and, for "
                          "logins, one login (FileDescriptorName=); or hand over a single one");
    }
    return true;
}

bool handed_over_take(struct sockets *sockets, int *count) {
    *count = number_in("LISTEN_PID") == getpid() ? (int)number_in("LISTEN_FDS") : 0;
    if (*count > 0) {
        sockets->where = "the sockets handed over";
        return take_activated(sockets, *count);
    }
    if (listen_is_listening(STDIN_FILENO)) {
        *count = 1;
        sockets->where = "descriptor 0";
        prepare(STDIN_FILENO);
        take_for_all(sockets, STDIN_FILENO);
    }
    return true;
}
