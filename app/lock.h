/* lock: the file <database>.lock, held by whoever must be alone with a database: a larder that
 * serves it, moves it to another schema or puts a backup in its place.
 *
 * The lock belongs to the open file: it lasts until every process that inherited the descriptor has
 * closed it or ended. The file itself stays. A database that has several names has one lock.
 * Nothing here waits. */
#ifndef LARDER_LOCK_H
#define LARDER_LOCK_H

#include <stdbool.h>

/* The database's path without symbolic links; there need not be a file. Ends in NUL, at most
 * PATH_MAX bytes. False after one sentence on standard error. */
bool lock_resolve(const char *database, char *real);

/* Returns a descriptor that holds the lock, closed on exec; -1 after one sentence on standard
 * error. */
int lock_database(const char *database);

/* True while another process holds it. */
bool lock_is_held(const char *database);

#endif
