#include "checkpoint.h"

#include <sys/statvfs.h>

#include "clock.h"
#include "log.h"

enum {
    IDLE_MS = 50,
    LIMIT_PAGES = 4000, /* 16 MiB */
    LIMIT_PAGES_LEAST = 32,
    WRITE_BACK_PAGES = 256, /* 1 MiB */
    PAGE_BYTES = 4096,
    FREE_SPACE_SHARE = 4,
    PAUSE_FIRST_MS = 100,
    PAUSE_LAST_MS = 5000,
};

/* At most a quarter of what the disk has left: a WAL that takes the last bytes leaves none for the
 * checkpoint that would empty it. */
static void set_limit(struct checkpointer *checkpointer) {
    struct statvfs disk;
    checkpointer->limit_pages = LIMIT_PAGES;
    if (statvfs(checkpointer->path, &disk) == 0) {
        uint64_t pages = disk.f_bavail * disk.f_frsize / PAGE_BYTES / FREE_SPACE_SHARE;
        if (pages < LIMIT_PAGES) {
            checkpointer->limit_pages = pages > LIMIT_PAGES_LEAST ? (int)pages : LIMIT_PAGES_LEAST;
        }
    }
}

void checkpoint_setup(struct checkpointer *checkpointer, struct db *db, const char *path,
                      struct scoreboard_slot *slot) {
    *checkpointer = (struct checkpointer){.db = db, .path = path, .slot = slot};
    set_limit(checkpointer);
}

int64_t checkpoint_timeout(const struct checkpointer *checkpointer, int64_t now) {
    if (db_wal_pages(checkpointer->db) == 0) {
        return -1;
    }
    int64_t pause = checkpointer->not_before - now;
    return pause > IDLE_MS ? pause : IDLE_MS;
}

/* Counts what it does. */
static bool checkpoint(const struct checkpointer *checkpointer) {
    struct scoreboard_slot *slot = checkpointer->slot;
    int before = db_wal_pages(checkpointer->db);
    int64_t began = clock_ns();
    if (!db_checkpoint(checkpointer->db)) {
        scoreboard_add(&slot->failed_checkpoints, 1);
        return false;
    }
    histogram_add_times(&slot->checkpoints, clock_ns() - began, 1);
    int after = db_wal_pages(checkpointer->db); /* more, when a command has written meanwhile */
    scoreboard_add(&slot->checkpoint_pages, after < before ? (uint64_t)(before - after) : 0);
    return true;
}

static void run(struct checkpointer *checkpointer, int64_t now) {
    bool failing = checkpointer->pause_ms > 0;
    if (checkpoint(checkpointer)) {
        checkpointer->pause_ms = 0;
        if (failing) {
            log_event("C02", "checkpoints succeed again");
        }
    } else {
        int64_t next = checkpointer->pause_ms * 2;
        checkpointer->pause_ms = next < PAUSE_FIRST_MS  ? PAUSE_FIRST_MS
                                 : next > PAUSE_LAST_MS ? PAUSE_LAST_MS
                                                        : next;
        if (!failing) {
            log_event("C01", "a checkpoint failed and will be tried again: %s",
                      db_error(checkpointer->db));
        }
    }
    checkpointer->not_before = now + checkpointer->pause_ms;
    checkpointer->begun_pages = 0;
    set_limit(checkpointer);
}

void checkpoint_idle(struct checkpointer *checkpointer, int64_t now) {
    if (db_wal_pages(checkpointer->db) > 0 && now >= checkpointer->not_before) {
        run(checkpointer, now);
    }
}

void checkpoint_after_batch(struct checkpointer *checkpointer, int64_t now) {
    if (db_wal_pages(checkpointer->db) >= checkpointer->limit_pages) {
        run(checkpointer,
            now); /* no pause here: space that has come free is the checkpoint's first */
    } else if (db_wal_pages(checkpointer->db) >= checkpointer->begun_pages + WRITE_BACK_PAGES) {
        db_write_back(checkpointer->db);
        checkpointer->begun_pages = db_wal_pages(checkpointer->db);
    }
}

void checkpoint_disk_full(struct checkpointer *checkpointer) {
    set_limit(checkpointer);
}
