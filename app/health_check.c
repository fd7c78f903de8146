#define _GNU_SOURCE
#include "health_check.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "listen.h"
#include "log.h"
#include "text.h"

enum { PATIENCE_MS = 3000, ANSWER_BYTES = 4096 /* the answer has some 200 */ };

#define SILENT "the service does not answer within %d s", PATIENCE_MS / 1000

/* ---- the socket ----------------------------------------------------------------------------- */

/* A full queue and a silent peer are given up when the time is over. */
static bool limit_wait(int descriptor, int option, int64_t deadline) {
    int64_t left_ms = deadline - clock_ms();
    struct timeval limit = {.tv_sec = left_ms / 1000, .tv_usec = left_ms % 1000 * 1000};
    return left_ms > 0 && setsockopt(descriptor, SOL_SOCKET, option, &limit, sizeof limit) == 0;
}

/* Returns the connection, -1 after a sentence. */
static int connect_reader(const struct settings *settings, int64_t deadline) {
    char in_run_dir[PATH_MAX];
    struct listen_address address;
    const char *where = settings->listen;
    if (where == NULL) {
        snprintf(in_run_dir, sizeof in_run_dir, "%s/read.sock", settings->run_dir);
        where = in_run_dir;
    }
    if (!listen_parse(where, &address)) {
        log_sentence("--run-dir %s is too long for a socket", settings->run_dir);
        return -1;
    }
    int descriptor = socket(address.socket.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor >= 0 && limit_wait(descriptor, SO_SNDTIMEO, deadline) &&
        connect(descriptor, &address.socket.any, address.length) == 0) {
        return descriptor;
    }
    log_sentence("no service at %s: %s", where, strerror(errno));
    if (descriptor >= 0) {
        close(descriptor);
    }
    return -1;
}

/* ---- FastCGI 1.0, sections 3.3 to 6 --------------------------------------------------------- */

enum { HEADER_BYTES = 8, END_REQUEST = 3, STDOUT = 6 };

/* GET /ready, without keeping the connection: BEGIN_REQUEST as responder, PARAMS, its end, STDIN's
 * end. The fifth and sixth byte of a header are the length of what follows it. */
static const char request[] = "\x01\x01\0\x01\0\x08\0\0"
                              "\0\x01\0\0\0\0\0\0"
                              "\x01\x04\0\x01\0\x38\0\0"
                              "\x0e\x03REQUEST_METHODGET"
                              "\x0b\x06REQUEST_URI/ready"
                              "\x0a\x06REQUEST_IDhealth"
                              "\x01\x04\0\x01\0\0\0\0"
                              "\x01\x05\0\x01\0\0\0\0";
enum { REQUEST_BYTES = sizeof request - 1 };

/* Moves the contents of the answer's STDOUT records together to the front. Returns their length, -1
 * while the record that ends the request is not among the bytes. */
static ptrdiff_t unpack(unsigned char *bytes, size_t length) {
    size_t out = 0;
    for (size_t at = 0; at + HEADER_BYTES <= length;) {
        int type = bytes[at + 1];
        size_t content = (size_t)bytes[at + 4] << 8 | bytes[at + 5];
        size_t padding = bytes[at + 6];
        at += HEADER_BYTES;
        if (type == END_REQUEST) {
            return (ptrdiff_t)out;
        }
        if (content > length - at) {
            return -1;
        }
        if (type == STDOUT) {
            memmove(bytes + out, bytes + at, content);
            out += content;
        }
        at += content + padding;
    }
    return -1;
}

/* Reads until the service closes the connection, as it does when nobody asks to keep it, or the
 * room is used up. Returns the number of bytes, -1 when it fails or takes too long. */
static ptrdiff_t read_all(int descriptor, unsigned char bytes[static ANSWER_BYTES],
                          int64_t deadline) {
    size_t length = 0;
    ssize_t got = 1;
    while (got > 0 && length < ANSWER_BYTES) {
        got = limit_wait(descriptor, SO_RCVTIMEO, deadline)
                  ? read(descriptor, bytes + length, ANSWER_BYTES - length)
                  : -1;
        length += got > 0 ? (size_t)got : 0;
    }
    return got < 0 ? -1 : (ptrdiff_t)length;
}

/* ---- the verdict ---------------------------------------------------------------------------- */

static int judge(struct text answer) {
    static const struct text good = TEXT("Status: 200");
    if (answer.length >= good.length && memcmp(answer.data, good.data, good.length) == 0) {
        printf("ready\n");
        return 0;
    }
    const char *body = memmem(answer.data, answer.length, "\r\n\r\n", 4);
    struct text rest = answer;
    if (body != NULL) {
        rest = (struct text){.data = body + 4,
                             .length = answer.length - (size_t)(body + 4 - answer.data)};
    }
    return log_sentence("the service is not ready: %.*s", (int)rest.length, rest.data);
}

static int ask(int descriptor, int64_t deadline) {
    unsigned char bytes[ANSWER_BYTES];
    if (send(descriptor, request, REQUEST_BYTES, MSG_NOSIGNAL) != REQUEST_BYTES) {
        return log_sentence(SILENT);
    }
    ptrdiff_t got = read_all(descriptor, bytes, deadline);
    if (got < 0) {
        return log_sentence(SILENT);
    }
    ptrdiff_t answer = unpack(bytes, (size_t)got);
    if (answer < 0) {
        return log_sentence("the service gave no whole answer");
    }
    return judge((struct text){.data = (const char *)bytes, .length = (size_t)answer});
}

int health_check(const struct settings *settings) {
    int64_t deadline = clock_ms() + PATIENCE_MS;
    int descriptor = connect_reader(settings, deadline);
    if (descriptor < 0) {
        return 1;
    }
    int status = ask(descriptor, deadline);
    close(descriptor);
    return status;
}
