#define _GNU_SOURCE
#include "screen.h"

#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "buffer.h"
#include "clock.h"

enum { COLUMNS_UNKNOWN = 80, ROWS_UNKNOWN = 24 };

static void put(struct text text) {
    while (text.length > 0) {
        ssize_t written = write(STDOUT_FILENO, text.data, text.length);
        if (written < 0 && errno != EINTR) {
            return; /* the terminal is gone: its input says so too */
        }
        if (written > 0) {
            text.data += written;
            text.length -= (size_t)written;
        }
    }
}

/* The other page, no cursor; and back. */
static void enter(struct screen *screen) {
    if (screen->keys) {
        struct termios raw = screen->before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        raw.c_cc[VMIN] = 0; /* Ctrl-C drops the keys before it: a read after poll() may find none */
        raw.c_cc[VTIME] = 0;
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw);
    }
    put(TEXT("\x1b[?1049h\x1b[?25l"));
}

static void leave(const struct screen *screen) {
    put(TEXT("\x1b[?25h\x1b[?1049l"));
    if (screen->keys) {
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &screen->before);
    }
}

bool screen_open(struct screen *screen) {
    static const int taken[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};
    sigset_t signals;
    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        sigaddset(&signals, taken[i]);
    }
    screen->keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &screen->before) == 0;
    screen->signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (screen->signals < 0 || sigprocmask(SIG_BLOCK, &signals, &screen->signals_before) != 0) {
        return false;
    }
    enter(screen);
    return true;
}

void screen_close(struct screen *screen) {
    leave(screen);
    close(screen->signals);
    sigprocmask(SIG_SETMASK, &screen->signals_before, NULL);
}

/* ---- drawing -------------------------------------------------------------------------------- */

/* As much of a line as fits. A byte that continues a code point takes no room of its own. */
static void put_line(struct buffer *out, struct text line, int columns) {
    for (size_t i = 0; i < line.length; i++) {
        unsigned char c = (unsigned char)line.data[i];
        columns -= (c & 0xC0) != 0x80;
        if (columns < 0) {
            return;
        }
        bool printable = c >= ' ' && c != 0x7F;
        buffer_append(out, printable ? (struct text){(const char *)line.data + i, 1} : TEXT("?"));
    }
}

void screen_draw(struct text page, char bold) {
    struct winsize size = {0};
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    int columns = size.ws_col > 0 ? size.ws_col : COLUMNS_UNKNOWN;
    int rows = size.ws_row > 0 ? size.ws_row : ROWS_UNKNOWN;
    struct arena arena = {0};
    struct buffer out = {.arena = &arena};
    struct text line;
    buffer_append(&out, TEXT("\x1b[H"));
    for (int row = 0; row < rows && page.length > 0 && text_split(&page, '\n', &line); row++) {
        bool stands_out = line.length > 0 && line.data[0] == bold;
        buffer_append(&out, row > 0 ? TEXT("\r\n") : TEXT(""));
        buffer_append(&out, stands_out ? TEXT("\x1b[1m") : TEXT(""));
        put_line(&out, (struct text){line.data + stands_out, line.length - stands_out}, columns);
        buffer_append(&out, TEXT("\x1b[0m\x1b[K"));
    }
    buffer_append(&out, TEXT("\x1b[J"));
    put(buffer_text(&out));
    arena_destroy(&arena);
}

/* ---- waiting -------------------------------------------------------------------------------- */

static enum screen_event take_signal(struct screen *screen) {
    struct signalfd_siginfo signal_info;
    if (read(screen->signals, &signal_info, sizeof signal_info) != sizeof signal_info) {
        return SCREEN_TIME;
    }
    if (signal_info.ssi_signo == SIGTSTP) {
        leave(screen);
        raise(SIGSTOP); /* until the shell lets us go on */
        enter(screen);
        return SCREEN_SIZE;
    }
    return signal_info.ssi_signo == SIGWINCH ? SCREEN_SIZE : SCREEN_END;
}

static enum screen_event take_key(bool hung_up) {
    char key = 0;
    ssize_t got = read(STDIN_FILENO, &key, 1);
    bool gone = got < 0 ? errno != EINTR && errno != EAGAIN : got == 0 && hung_up;
    return gone || (got == 1 && (key == 'q' || key == 'Q')) ? SCREEN_END : SCREEN_TIME;
}

enum screen_event screen_wait(struct screen *screen, int timeout_ms) {
    struct pollfd polled[] = {{.fd = screen->signals, .events = POLLIN},
                              {.fd = screen->keys ? STDIN_FILENO : -1, .events = POLLIN}};
    int64_t end = clock_ms() + timeout_ms;
    for (int64_t left = timeout_ms; left > 0; left = end - clock_ms()) {
        enum screen_event event = SCREEN_TIME;
        int ready = poll(polled, 2, (int)left);
        if (ready > 0 && polled[0].revents != 0) {
            event = take_signal(screen);
        } else if (ready > 0) {
            event = take_key((polled[1].revents & (POLLHUP | POLLERR)) != 0);
        }
        if (event != SCREEN_TIME) {
            return event;
        }
    }
    return SCREEN_TIME;
}
