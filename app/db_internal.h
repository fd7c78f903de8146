/* db_internal: what db.c and db_admin.c share. Nobody else includes it.
 *
 * Each failure is one sentence in error, of DB_ERROR_BYTES. */
#ifndef LARDER_DB_INTERNAL_H
#define LARDER_DB_INTERNAL_H

#include <sqlite3.h>

#include "db.h"

/* What to do when --db is no database of ours. */
#define DB_ADVICE "give another --db, or make one with 'larder init'"

/* Before the first connection of the process. */
void db_library_setup(void);

bool db_execute(sqlite3 *handle, const char *sql, char error[static DB_ERROR_BYTES]);

/* The first column of the first row; -1 when it cannot be had. */
int64_t db_ask(sqlite3 *handle, const char *sql);

/* Whether the file is a Larder database of a schema version from oldest up to this program's.
 * advice ends the sentence when it is no database of ours. */
bool db_is_ours(sqlite3 *handle, const char *path, int oldest, const char *advice,
                char error[static DB_ERROR_BYTES]);

/* Why sqlite3_open_v2() failed. */
void db_explain_open(const char *path, const char *reason, char error[static DB_ERROR_BYTES]);

#endif
