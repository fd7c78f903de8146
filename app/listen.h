/* listen: one socket to listen on, at a path or at an address and port.
 *
 * The text is a path when there is a slash in it: "/run/larder/larder.sock", "./larder.sock". Else
 * it is an address with a port: "127.0.0.1:9000", "[::1]:9000", "localhost:9000" (127.0.0.1). Other
 * names are not looked up. Nothing here blocks. */
#ifndef LARDER_LISTEN_H
#define LARDER_LISTEN_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

enum { LISTEN_BACKLOG = 4096 /* a full queue on a unix socket is an instant 502 */ };

struct listen_address {
    union {
        struct sockaddr any;
        struct sockaddr_un local;
        struct sockaddr_in ipv4;
        struct sockaddr_in6 ipv6;
    } socket;
    socklen_t length;
};

/* Returns false when the text is neither. */
bool listen_parse(const char *text, struct listen_address *address);

/* Makes a socket that listens there: not blocking, closed on exec; mode is for a path. A socket
 * file on which nobody listens is removed first, and nothing else is. Returns -1 after one sentence
 * on standard error that begins with the option's name and the text. */
int listen_open(const char *option, const char *text, mode_t mode);

/* Whether the descriptor is a socket that listens for streams. */
bool listen_is_listening(int descriptor);

/* Logs L01 when machines other than this one may be able to connect. */
void listen_warn(int descriptor);

#endif
