/* watchdog: tells the service manager that the service is alive, as long as every worker is.
 *
 * A worker that waits for requests looks like one that hangs, and a sign of life after each batch
 * would cost every batch. So the supervisor asks: now and then it raises a number in the scoreboard
 * and sends SIGUSR1 to each worker, who reads it in its loop like any other event and writes the
 * number to its slot. Only when all have answered is the service manager told
 * (sd_watchdog_enabled(3)), and asked again. Without WATCHDOG_USEC nobody is asked. Nothing blocks.
 */
#ifndef LARDER_WATCHDOG_H
#define LARDER_WATCHDOG_H

#include <stdint.h>

#include "children.h"

struct watchdog {
    int64_t every_ms; /* 0: nobody wants to know */
    int64_t next_ms;
    bool silent; /* a worker has not answered, and the log says so */
};

/* Reads WATCHDOG_USEC and WATCHDOG_PID. */
void watchdog_setup(struct watchdog *watchdog);

/* When it is time, tells and asks. Returns how long until the next time, -1 for ever. */
int64_t watchdog_step(struct watchdog *watchdog, const struct children *children);

/* In the worker, when the signal has come, and when it begins. */
void watchdog_answer(struct scoreboard *scoreboard, int slot);

#endif
