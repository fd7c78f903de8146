/* db_admin: whole databases: made, checked, copied, moved to the next schema.
 *
 * For commands; a worker uses db.h alone. Each function opens the file itself and closes it before
 * it returns. On failure it returns false and leaves one sentence in error. All of them block on
 * the disk: what reads a whole large file takes minutes. */
#ifndef LARDER_DB_ADMIN_H
#define LARDER_DB_ADMIN_H

#include "db.h"

/* Creates a database at path and runs the scripts, in one transaction, then marks it as ours. An
 * existing file is refused and left alone. Nothing is left at path on failure. */
bool db_create(const char *path, const char *schema, const char *demo,
               char error[static DB_ERROR_BYTES]);

/* The schema version of a Larder database, from 1 up to the one this program knows; -1 when it is
 * anything else. advice ends the sentence in error when the file is no database of ours, and names
 * what else to give; NULL: another --db. */
int db_version(const char *path, const char *advice, char error[static DB_ERROR_BYTES]);

/* Integrity, references and, when nobody else uses the file (alone), whether each full-text index
 * fits its rows: that takes the write lock. Before that the index is fed by the statement feed, as
 * its owner would feed it (NULL: it is up to date); in the end nothing is changed. Calls complain
 * for each fault; returns their number. */
int db_check(const char *path, bool alone, const char *feed,
             void (*complain)(const char *sentence));

/* Copies the database at from, as it is at the beginning, into the file at to, which is empty.
 * Others may read and write from meanwhile; the copy does not begin anew, and never checkpoints.
 * The copy is one file with nothing beside it, its bytes handed to the system and not synced.
 * progress is called now and then with pages, NULL: nobody is told. */
bool db_copy(const char *from, const char *to, void (*progress)(int64_t done, int64_t total),
             char error[static DB_ERROR_BYTES]);

/* Brings the database to the newest version with the migrations of schema.h, each in a transaction
 * of its own with its version. The first that fails leaves the database at the version before it.
 * applied is called with the name of each. Nobody else may use the database. */
bool db_migrate(const char *path, const char *migrations, void (*applied)(const char *name),
                char error[static DB_ERROR_BYTES]);

#endif
