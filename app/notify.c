#define _GNU_SOURCE
#include "notify.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"

/* A path, or an abstract name behind an @. */
static bool read_address(struct sockaddr_un *address, socklen_t *length) {
    const char *name = getenv("NOTIFY_SOCKET");
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (name == NULL || (name[0] != '/' && name[0] != '@') ||
        strlen(name) >= sizeof address->sun_path) {
        return false;
    }
    memcpy(address->sun_path, name, strlen(name));
    if (name[0] == '@') {
        address->sun_path[0] = '\0';
    }
    *length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
    return true;
}

bool notify_is_wanted(void) {
    struct sockaddr_un address;
    socklen_t length = 0;
    return read_address(&address, &length);
}

static void tell(const char *state) {
    struct sockaddr_un address;
    socklen_t length = 0;
    if (!read_address(&address, &length)) {
        return;
    }
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor >= 0) {
        sendto(descriptor, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address, length);
        close(descriptor);
    }
}

void notify_ready(void) {
    tell("READY=1");
}

void notify_reloading(void) {
    char state[64];
    snprintf(state, sizeof state, "RELOADING=1\nMONOTONIC_USEC=%" PRId64, clock_us());
    tell(state);
}

void notify_stopping(void) {
    tell("STOPPING=1");
}

void notify_alive(void) {
    tell("WATCHDOG=1");
}
