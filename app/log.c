#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LINE_BYTES = 1024, SENTENCE_BYTES = 16384 /* several paths of PATH_MAX */ };

static const char *identity = "main";

void log_identify(const char *who) {
    identity = who;
}

/* What a client or caller sent must not forge a line of its own. */
static void write_line(char *line, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)line[i] < ' ' || line[i] == 0x7F) {
            line[i] = '?';
        }
    }
    line[length] = '\n';
    ssize_t written = write(STDERR_FILENO, line, length + 1);
    (void)written; /* a closed standard error must not stop the service; SIGPIPE is ignored */
}

void log_event(const char *code, const char *format, ...) {
    int saved_errno = errno;
    char line[LINE_BYTES];
    int length = snprintf(line, sizeof line, "larder[%s] %s ", identity, code);
    va_list arguments;
    va_start(arguments, format);
    length += vsnprintf(line + length, sizeof line - (size_t)length, format, arguments);
    va_end(arguments);
    write_line(line, length < LINE_BYTES ? (size_t)length : LINE_BYTES - 1);
    errno = saved_errno;
}

int log_sentence(const char *format, ...) {
    static char line[SENTENCE_BYTES];
    int length = snprintf(line, sizeof line, "larder: ");
    va_list arguments;
    va_start(arguments, format);
    length += vsnprintf(line + length, sizeof line - (size_t)length, format, arguments);
    va_end(arguments);
    write_line(line, length < SENTENCE_BYTES ? (size_t)length : SENTENCE_BYTES - 1);
    return 1;
}

void log_out_of_memory(void) {
    log_event("A01", "out of memory");
    abort();
}
