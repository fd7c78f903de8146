/* draft: a new file that comes to its name whole or not at all.
 *
 * It is written beside its place under a name that nobody else has: not even another process of the
 * same number, as the first process of every container is. One that a killed process left behind
 * is in nobody's way. */
#ifndef LARDER_DRAFT_H
#define LARDER_DRAFT_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/* Makes an empty file and its name. Returns its descriptor, -1 with errno set. */
int draft_create(const char *path, mode_t mode, char draft[static PATH_MAX]);

/* Gives it its name, unless there is such a file: that is never replaced. Returns false with errno
 * set. The draft's own name is gone either way. */
bool draft_publish(const char *draft, const char *path);

#endif
