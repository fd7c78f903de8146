#define _GNU_SOURCE
#include "listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"
#include "text.h"

/* ---- the text ------------------------------------------------------------------------------- */

static bool parse_path(const char *text, struct listen_address *address) {
    size_t length = strlen(text);
    if (length >= sizeof address->socket.local.sun_path) {
        return false;
    }
    address->socket.local = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(address->socket.local.sun_path, text, length);
    address->length = sizeof address->socket.local;
    return true;
}

bool listen_parse(const char *text, struct listen_address *address) {
    char host[INET6_ADDRSTRLEN];
    int64_t port = 0;
    *address = (struct listen_address){0};
    if (strchr(text, '/') != NULL) {
        return parse_path(text, address);
    }
    const char *colon = strrchr(text, ':');
    if (colon == NULL || !text_integer(text_from(colon + 1), 1, 65535, &port)) {
        return false;
    }
    size_t length = (size_t)(colon - text);
    bool brackets = length >= 2 && text[0] == '[' && text[length - 1] == ']';
    if (brackets) {
        text++;
        length -= 2;
    }
    if (length >= sizeof host) {
        return false;
    }
    memcpy(host, text, length);
    host[length] = '\0';
    if (brackets) {
        address->socket.ipv6 =
            (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons((in_port_t)port)};
        address->length = sizeof address->socket.ipv6;
        return inet_pton(AF_INET6, host, &address->socket.ipv6.sin6_addr) == 1;
    }
    address->socket.ipv4 =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((in_port_t)port)};
    address->length = sizeof address->socket.ipv4;
    return inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host,
                     &address->socket.ipv4.sin_addr) == 1;
}

/* ---- the socket ----------------------------------------------------------------------------- */

static int refuse(const char *option, const char *text, const char *reason) {
    log_sentence("%s %s: %s", option, text, reason);
    return -1;
}

/* A socket file stays behind when its program is killed; only connecting tells whether it lives. */
static const char *remove_stale(const struct listen_address *address) {
    const char *path = address->socket.local.sun_path;
    struct stat status;
    if (lstat(path, &status) != 0) {
        return NULL;
    }
    if (!S_ISSOCK(status.st_mode)) {
        return "something else than a socket is there; it is left alone";
    }
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool stale = probe >= 0 && connect(probe, &address->socket.any, address->length) != 0 &&
                 errno == ECONNREFUSED;
    close(probe);
    if (!stale) {
        return "another program listens there: stop it, or give another path";
    }
    unlink(path);
    return NULL;
}

static const char *why_not(int error, bool local) {
    switch (error) {
    case EADDRINUSE:
        return local ? "another program listens there: stop it, or give another path"
                     : "another program listens there: stop it, or give another port";
    case EADDRNOTAVAIL:
        return "this machine has no such address";
    case EAFNOSUPPORT:
        return "this machine has no such kind of address";
    case EACCES:
        return local ? "its directory must be writable"
                     : "the port is for privileged programs: give one from 1024 on";
    case ENOENT:
    case ENOTDIR:
        return "there is no such directory";
    default:
        return strerror(error);
    }
}

int listen_open(const char *option, const char *text, mode_t mode) {
    struct listen_address address;
    if (!listen_parse(text, &address)) {
        return refuse(option, text, "this is no path, and no address with a port");
    }
    bool local = address.socket.any.sa_family == AF_UNIX;
    const char *fault = local ? remove_stale(&address) : NULL;
    if (fault != NULL) {
        return refuse(option, text, fault);
    }
    int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    int descriptor = socket(address.socket.any.sa_family, type, 0);
    if (descriptor < 0) {
        return refuse(option, text, why_not(errno, local));
    }
    /* connections of a predecessor that are still winding down do not keep the port */
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    bool bound = bind(descriptor, &address.socket.any, address.length) == 0;
    if (bound && (!local || chmod(address.socket.local.sun_path, mode) == 0) &&
        listen(descriptor, LISTEN_BACKLOG) == 0) {
        return descriptor;
    }
    refuse(option, text, why_not(errno, local));
    if (bound && local) {
        unlink(address.socket.local.sun_path);
    }
    close(descriptor);
    return -1;
}

static bool option_is(int descriptor, int option, int expected) {
    int value = 0;
    socklen_t length = sizeof value;
    return getsockopt(descriptor, SOL_SOCKET, option, &value, &length) == 0 && value == expected;
}

bool listen_is_listening(int descriptor) {
    return option_is(descriptor, SO_ACCEPTCONN, 1) && option_is(descriptor, SO_TYPE, SOCK_STREAM);
}

void listen_warn(int descriptor) {
    struct listen_address address = {.length = sizeof address.socket};
    char host[INET6_ADDRSTRLEN] = "";
    bool local = true;
    if (getsockname(descriptor, &address.socket.any, &address.length) != 0) {
        return;
    }
    if (address.socket.any.sa_family == AF_INET) {
        const struct in_addr *own = &address.socket.ipv4.sin_addr;
        local = ntohl(own->s_addr) >> 24 == 127;
        inet_ntop(AF_INET, own, host, sizeof host);
    } else if (address.socket.any.sa_family == AF_INET6) {
        const struct in6_addr *own = &address.socket.ipv6.sin6_addr;
        local = IN6_IS_ADDR_LOOPBACK(own);
        inet_ntop(AF_INET6, own, host, sizeof host);
    }
    if (!local) {
        log_event("L01",
                  "listens on %s port %d: FastCGI knows no passwords, so a firewall must keep all "
                  "but the web server away",
                  host, ntohs(address.socket.ipv4.sin_port)); /* in the same place for both */
    }
}
