#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum { LINE_BYTES = 1024 };

static const char *identity = "main";

void log_identify(const char *who) {
    identity = who;
}

void log_event(const char *code, const char *format, ...) {
    int saved_errno = errno;
    char line[LINE_BYTES];
    int length = snprintf(line, sizeof line, "larder[%s] %s ", identity, code);
    va_list arguments;
    va_start(arguments, format);
    length += vsnprintf(line + length, sizeof line - (size_t)length, format, arguments);
    va_end(arguments);
    if (length > LINE_BYTES - 1) {
        length = LINE_BYTES - 1;
    }
    for (int i = 0; i < length; i++) { /* what a client sent must not forge a line of its own */
        if ((unsigned char)line[i] < ' ' || line[i] == 0x7F) {
            line[i] = '?';
        }
    }
    line[length] = '\n';
    ssize_t written = write(STDERR_FILENO, line, (size_t)length + 1);
    (void)written; /* a full or closed standard error must not stop the service */
    errno = saved_errno;
}
