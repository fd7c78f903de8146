#include "watchdog.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "notify.h"
#include "text.h"

static bool read_number(const char *variable, int64_t *number) {
    const char *value = getenv(variable);
    return value != NULL && text_integer(text_from(value), 1, INT64_MAX, number);
}

/* Four times within the manager's limit: one answer may come late. */
void watchdog_setup(struct watchdog *watchdog) {
    int64_t limit_us = 0;
    int64_t pid = 0;
    *watchdog = (struct watchdog){0};
    bool ours = getenv("WATCHDOG_PID") == NULL ||
                (read_number("WATCHDOG_PID", &pid) && pid == (int64_t)getpid());
    if (ours && notify_is_wanted() && read_number("WATCHDOG_USEC", &limit_us)) {
        watchdog->every_ms = limit_us / 4000 + 1;
    }
}

/* The first worker that runs and has not answered, NULL when there is none. */
static const struct child *first_silent(const struct children *children) {
    uint32_t asked = atomic_load(&children->scoreboard->asked);
    for (int i = 0; i < children->count; i++) {
        if (children->each[i].pid != 0 &&
            atomic_load(&children->scoreboard->slot[i].answered) != asked) {
            return &children->each[i];
        }
    }
    return NULL;
}

static void tell(struct watchdog *watchdog, const struct children *children) {
    const struct child *silent = first_silent(children);
    if (silent != NULL && !watchdog->silent) {
        log_event("N01",
                  "%s does not answer: while that lasts the service manager gets no sign of life",
                  silent->name);
    }
    watchdog->silent = silent != NULL;
    if (silent == NULL && children_serve(children)) {
        notify_alive();
    }
}

int64_t watchdog_step(struct watchdog *watchdog, const struct children *children) {
    if (watchdog->every_ms == 0) {
        return -1;
    }
    int64_t now_ms = clock_ms();
    if (watchdog->next_ms > now_ms) {
        return watchdog->next_ms - now_ms;
    }
    if (watchdog->next_ms != 0) {
        tell(watchdog, children);
    }
    if (!watchdog->silent) { /* else the question is still open */
        atomic_fetch_add(&children->scoreboard->asked, 1);
        children_signal(children, SIGUSR1);
    }
    watchdog->next_ms = now_ms + watchdog->every_ms;
    return watchdog->every_ms;
}

void watchdog_answer(struct scoreboard *scoreboard, int slot) {
    atomic_store(&scoreboard->slot[slot].answered, atomic_load(&scoreboard->asked));
}
