/* files: what several commands do with the files around a database. */
#ifndef LARDER_FILES_H
#define LARDER_FILES_H

#include <limits.h>
#include <stdbool.h>

/* Writes the path of the directory, "." where the path names none, and returns the name in it. A
 * path longer than PATH_MAX gives an empty directory. */
const char *files_split(const char *path, char directory[static PATH_MAX]);

/* Writes the path with the suffix behind it. False, and nothing that may be used, when that is too
 * long. */
bool files_suffixed(const char *path, const char *suffix, char result[static PATH_MAX]);

/* Makes what was created, renamed and removed in the path's directory last through a power cut.
 * Blocks on the disk. False with the reason in errno. */
bool files_sync_directory(const char *path);

/* When root makes a file: it goes to the owner of the file at path, or of its directory when there
 * is none, so that the service's user can open it. Others own what they make. */
void files_inherit_owner(int descriptor, const char *path);

/* A path that is free now: "<path>.<what>-<UTC time>", such as larder.db.replaced-20261130T220000Z.
 * Waits a second when the second's name is taken. False when it would be too long. */
bool files_stamped(const char *path, const char *what, char stamped[static PATH_MAX]);

/* Whether there is a file of such a name. */
bool files_any_stamped(const char *path, const char *what);

#endif
