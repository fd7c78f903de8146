#define _GNU_SOURCE
#include "top.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "screen.h"
#include "top_view.h"

enum { FIRST_MS = 300, INTERVAL_MS = 1000 };

/* The scoreboard of the run directory, NULL after a sentence. */
static const struct scoreboard *find(const char *run_dir) {
    const struct scoreboard *scoreboard = scoreboard_open(run_dir);
    if (scoreboard != NULL) {
        return scoreboard;
    }
    switch (errno) {
    case ENOENT:
    case ENOTDIR:
        log_sentence("no larder serves in %s: give --run-dir that of one that runs", run_dir);
        break;
    case EPROTO:
        log_sentence("another version of larder serves in %s: use that one's 'larder top'",
                     run_dir);
        break;
    default:
        log_sentence("cannot look into %s: %s", run_dir, strerror(errno));
    }
    return NULL;
}

/* A page, with marks of its own for what stands out, to standard output as it is. */
static int print_page(struct text page) {
    for (size_t i = 0; i < page.length; i++) {
        if (page.data[i] != TOP_BOLD) {
            putchar(page.data[i]);
        }
    }
    return fflush(stdout) == 0 ? 0 : log_sentence("cannot write the page: %s", strerror(errno));
}

static int once(const struct scoreboard *scoreboard) {
    struct arena arena = {0};
    struct buffer page = {.arena = &arena};
    struct top_sample before = {0};
    struct top_sample now = {0};
    top_take(&before, scoreboard);
    usleep(INTERVAL_MS * 1000);
    top_take(&now, scoreboard);
    top_view(&page, &before, &now);
    int status = print_page(buffer_text(&page));
    top_forget(&before);
    top_forget(&now);
    arena_destroy(&arena);
    return status;
}

/* A service that was started again has another scoreboard. Returns false when there is none. */
static bool follow(const struct scoreboard **scoreboard, const char *run_dir,
                   struct top_sample *before) {
    if (scoreboard_is_live(*scoreboard)) {
        return true;
    }
    scoreboard_close(*scoreboard);
    *scoreboard = scoreboard_open(run_dir);
    if (*scoreboard != NULL) {
        top_take(before, *scoreboard);
    }
    return *scoreboard != NULL;
}

/* Returns whether the user ended it, and not the service. */
static bool watch(struct screen *screen, const struct scoreboard **scoreboard,
                  const char *run_dir) {
    struct arena arena = {0};
    struct buffer page = {.arena = &arena};
    struct top_sample samples[2] = {0};
    int older = 0; /* of the two samples */
    int64_t next_ms = clock_ms() + FIRST_MS;
    enum screen_event event = SCREEN_SIZE;
    top_take(&samples[older], *scoreboard);
    while (event != SCREEN_END && follow(scoreboard, run_dir, &samples[older])) {
        if (event == SCREEN_TIME) {
            arena_reset(&arena);
            page = (struct buffer){.arena = &arena};
            top_take(&samples[!older], *scoreboard);
            top_view(&page, &samples[older], &samples[!older]);
            older = !older;
            next_ms = clock_ms() + INTERVAL_MS;
        }
        screen_draw(buffer_text(&page), TOP_BOLD);
        int64_t left = next_ms - clock_ms();
        event = screen_wait(screen, left > 0 ? (int)left : 0);
    }
    top_forget(&samples[0]);
    top_forget(&samples[1]);
    arena_destroy(&arena);
    return event == SCREEN_END;
}

int top_run(const struct settings *settings) {
    const struct scoreboard *scoreboard = find(settings->run_dir);
    if (scoreboard == NULL) {
        return 1;
    }
    struct screen screen;
    int status = 0;
    if (settings->once || !isatty(STDOUT_FILENO)) {
        status = once(scoreboard);
    } else if (!screen_open(&screen)) {
        status = log_sentence("cannot use the terminal: %s", strerror(errno));
    } else {
        bool by_user = watch(&screen, &scoreboard, settings->run_dir);
        screen_close(&screen);
        if (!by_user) {
            status = log_sentence("the larder in %s has stopped", settings->run_dir);
        }
    }
    scoreboard_close(scoreboard);
    return status;
}
