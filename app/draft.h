/* draft: a file that gets its name when it is complete.
 *
 * It grows as "<name>.part" beside where it will stand, readable by its owner alone. SIGINT,
 * SIGTERM and SIGHUP remove it and end the process; after a kill -9 or a power cut it stays, and
 * the next draft of the same name takes its place. One at a time in a process.
 *
 * Failure: false with one sentence in error, of DB_ERROR_BYTES; the draft is then gone. Naming
 * blocks until the disk has it. */
#ifndef LARDER_DRAFT_H
#define LARDER_DRAFT_H

#include <limits.h>
#include <stdbool.h>

#include "db.h"

struct draft {
    const char *name;    /* borrowed */
    char path[PATH_MAX]; /* what to write to */
    int descriptor;
};

/* Makes an empty file. A name that is taken is refused, unless overwrite: then it must be a regular
 * file. */
bool draft_open(struct draft *draft, const char *name, bool overwrite,
                char error[static DB_ERROR_BYTES]);

/* Syncs it and gives it its name, with overwrite in the place of what has the name. */
bool draft_publish(struct draft *draft, bool overwrite, char error[static DB_ERROR_BYTES]);

void draft_discard(struct draft *draft);

#endif
