/* db: the database, and the only door to it.
 *
 * What it is for: connections, transactions, and a cache of prepared statements with no way around
 * it. A statement is asked for by its SQL literal; the first call prepares it, every later call
 * finds it by the literal's address. There is no prepare and no finalize in this interface. db.c,
 * db_admin.c, about whole databases, and db_wal.c, about the log's file, alone include sqlite3.h:
 * another database would stand beside them behind their headers.
 *
 * Ownership: a connection belongs to the process that opened it and must not cross a fork.
 * Statements belong to the connection. Text handed to db_bind_text() is borrowed until
 * db_reset_statements(); text from db_text() is valid until the statement is stepped or reset.
 *
 * Failure: what a handler must decide on (a unique value taken, a reference to nothing) is a result
 * of db_run(). Everything else (busy, disk full, damage) sticks to the connection: the statement
 * yields no rows, db_failure() tells the worker, and the worker answers. A handler need not look.
 *
 * Blocking: every call may read or write the disk. A writer waits for another process's lock up to
 * the busy time-out, a commit waits for the disk (synchronous FULL). */
#ifndef LARDER_DB_H
#define LARDER_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text.h"

enum db_mode {
    DB_READ,
    DB_WRITE, /* the one writer, who alone checkpoints */
    DB_GUEST  /* a command that writes a little beside a running service, and never checkpoints */
};
enum db_sync { DB_SYNC_FULL, DB_SYNC_NORMAL };

enum db_failure {
    DB_FINE,
    DB_BUSY,  /* another process held the lock longer than the busy time-out */
    DB_FULL,  /* the disk is full */
    DB_BROKEN /* anything else: input/output error, damage, a defect of ours; it has been logged */
};

/* What became of a statement that writes. */
enum db_result {
    DB_DONE,
    DB_UNIQUE,    /* a unique value exists already: nothing was written */
    DB_REFERENCE, /* a foreign key points at nothing, or something still points here: nothing
                     written */
    DB_FAILED     /* see db_failure() */
};

enum { DB_BUSY_TIMEOUT_MS = 2000, DB_ERROR_BYTES = 8704 /* a sentence with two paths */ };

struct db;
struct db_statement;

/* The library's version and build, for `larder version`. Both end in NUL and live for ever. */
const char *db_library_version(void);
const char *db_library_source(void);
/* The i-th compile-time option, NULL past the last. */
const char *db_library_option(int i);

/* Opens an existing database and checks that it is ours and of the schema version this program
 * knows; never alters it. On failure returns NULL and leaves one sentence in error. */
struct db *db_open(const char *path, enum db_mode mode, enum db_sync sync,
                   char error[static DB_ERROR_BYTES]);

/* Closes the connection. The last writer to close empties the WAL into the database file. */
void db_close(struct db *db);

/* The same, and the WAL stays: a successor opens it at once. */
void db_leave(struct db *db);

/* A transaction: of a writer, BEGIN IMMEDIATE; of a reader, one snapshot. Returns false on failure.
 */
bool db_begin(struct db *db);
bool db_commit(struct db *db);
void db_rollback(struct db *db);

/* Whether the transaction has changed any row. */
bool db_has_changed(const struct db *db);

/* True between db_begin() and db_commit() or db_rollback(). An error such as a full disk can end a
 * transaction early: then this turns false, and what was done in it is gone. */
bool db_in_transaction(const struct db *db);

/* One savepoint, not nested: what came after db_savepoint() is kept or undone alone. */
bool db_savepoint(struct db *db);
bool db_savepoint_keep(struct db *db);
void db_savepoint_undo(struct db *db);

/* The statement of an SQL literal, reset and with nothing bound. Never NULL: a literal that cannot
 * be prepared gives a statement without rows and a sticky failure. */
#define db_statement(db, sql) db_statement_cached((db), "" sql "", sizeof(sql) - 1)
struct db_statement *db_statement_cached(struct db *db, const char *sql, size_t length);

/* Binds to a parameter by its name with the colon: a literal, for it is known again by its address.
 * A name the statement does not have is a defect of ours (assert). A parameter not bound is NULL.
 */
void db_bind_integer(struct db_statement *statement, const char *name, int64_t value);
void db_bind_text(struct db_statement *statement, const char *name, struct text value);
/* True when the statement has a parameter of that name. */
bool db_has_parameter(struct db_statement *statement, const char *name);

/* Steps to the next row. Returns false after the last one and on failure. */
bool db_row(struct db_statement *statement);

/* Runs a statement that returns no rows. */
enum db_result db_run(struct db_statement *statement);

/* The id of the row that the last INSERT made, and the number of rows the last statement changed.
 */
int64_t db_inserted_id(const struct db *db);
int64_t db_changes(const struct db *db);

/* The current row's columns. */
enum db_type { DB_NULL, DB_INTEGER, DB_TEXT };
int db_columns(struct db_statement *statement);
const char *db_column_name(struct db_statement *statement, int column);
int64_t db_integer(struct db_statement *statement, int column);
struct text db_text(struct db_statement *statement, int column);

/* The same for a column whose type is not known. */
struct db_value {
    enum db_type type;
    int64_t integer;
    struct text text;
};
struct db_value db_value(struct db_statement *statement, int column);

/* A place on the statement for what is derived from it once, such as a row's layout. Memory from
 * malloc() there is freed with the statement. */
void **db_annotation(struct db_statement *statement);

/* Resets every statement used since the last call: the worker does so after each request. */
void db_reset_statements(struct db *db);

/* The sticky failure, and its end. */
enum db_failure db_failure(const struct db *db);
void db_clear_failure(struct db *db);

/* Pages in the WAL as of the last commit of this connection, less what a checkpoint has moved into
 * the database file since, and the work of moving them, without waiting for readers. Only the
 * writer checkpoints. Returns false when it failed; db_error() then says why. */
int db_wal_pages(const struct db *db);
bool db_checkpoint(struct db *db);

/* Has the kernel begin to write to the disk what the WAL holds, and does not wait for that: see
 * sync_file_range(2). A checkpoint syncs the WAL first, and then has little to wait for. Does
 * nothing with DB_SYNC_FULL, where every commit has synced it. A hint: an error is no matter. */
void db_write_back(struct db *db);

/* What the connection counts, for the scoreboard; whoever has read it sets it to zero. */
struct db_counts {
    uint64_t hits, misses;             /* statements that were prepared already, or not */
    uint64_t lock_waits, lock_wait_ns; /* for the lock of another process, and how long in all */
};
struct db_counts *db_counts(struct db *db);

/* What the library says of the last failure, for a log. */
const char *db_error(const struct db *db);

/* Calls each with every line of the query plan of every statement in the cache (SQLite's EXPLAIN
 * QUERY PLAN), for the test that no statement scans a table. */
void db_explain(struct db *db, void (*each)(void *context, const char *sql, const char *plan),
                void *context);

/* Statements prepared so far: the cache holds them all. */
int db_statements_prepared(const struct db *db);

#endif
