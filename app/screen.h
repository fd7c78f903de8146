/* screen: a terminal that a page is drawn on again and again, with plain ANSI sequences.
 *
 * While it is open the terminal shows another page than before, without a cursor, and keys are read
 * as they are pressed. screen_close() gives all back. One at a time: it takes over the signals of a
 * terminal (Ctrl-C, Ctrl-Z, a new size). */
#ifndef LARDER_SCREEN_H
#define LARDER_SCREEN_H

#include <signal.h>
#include <stdbool.h>
#include <termios.h>

#include "text.h"

struct screen {
    struct termios before;
    bool keys; /* standard input is a terminal */
    sigset_t signals_before;
    int signals;
};

enum screen_event {
    SCREEN_TIME, /* the time is over */
    SCREEN_SIZE, /* the terminal has another size, or shows us again: draw */
    SCREEN_END   /* q, Ctrl-C, a signal to end, or the terminal is gone */
};

/* Needs standard output to be a terminal. Returns false with errno set on failure. */
bool screen_open(struct screen *screen);
void screen_close(struct screen *screen);

/* Draws lines that end in newlines, as many and as much of each as fit. One that begins with bold
 * stands out. What is no printable text is shown as question marks. */
void screen_draw(struct text page, char bold);

/* Waits, at most that long. Blocks. */
enum screen_event screen_wait(struct screen *screen, int timeout_ms);

#endif
