/* checkpoint: when the writer moves the WAL's pages into the database file.
 *
 * Never inside a commit: when the writer is idle, or between two batches once the WAL is large.
 * Meanwhile the disk is kept writing the WAL, so that a checkpoint has little to wait for.
 * While it fails, an idle writer waits longer and longer before the next try. Times are
 * milliseconds of the monotonic clock. Only the functions that checkpoint block, on the disk. */
#ifndef LARDER_CHECKPOINT_H
#define LARDER_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "db.h"
#include "scoreboard.h"

struct checkpointer {
    struct db *db;
    const char *path;             /* of the database, to ask for the disk's free space */
    struct scoreboard_slot *slot; /* where they are counted */
    int limit_pages;              /* of the WAL, that ask for a checkpoint between two batches */
    int begun_pages;              /* of the WAL, that db_write_back() has seen */
    int64_t pause_ms;             /* 0 while checkpoints succeed */
    int64_t not_before;           /* after a failure */
};

/* For a connection of a reader nothing is ever due. */
void checkpoint_setup(struct checkpointer *checkpointer, struct db *db, const char *path,
                      struct scoreboard_slot *slot);

/* How long to wait for requests before checkpoint_idle() is due, -1 when the WAL is empty. */
int64_t checkpoint_timeout(const struct checkpointer *checkpointer, int64_t now);

/* Nothing was to be done for that long. */
void checkpoint_idle(struct checkpointer *checkpointer, int64_t now);

/* A batch has been answered. */
void checkpoint_after_batch(struct checkpointer *checkpointer, int64_t now);

/* A commit found the disk full: the next checkpoint must come earlier. */
void checkpoint_disk_full(struct checkpointer *checkpointer);

#endif
