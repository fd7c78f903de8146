#include "db_admin.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db_internal.h"
#include "draft.h"
#include "files.h"
#include "schema.h"

enum { COPY_PAGES = 256 /* between two looks at the progress */ };

/* ---- connections ---------------------------------------------------------------------------- */

/* A connection that leaves the WAL alone: not the last to close empties it, but the writer. */
static sqlite3 *open_guest(const char *path, bool may_write, char error[static DB_ERROR_BYTES]) {
    db_library_setup();
    sqlite3 *handle = NULL;
    int flags = SQLITE_OPEN_NOMUTEX | (may_write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY);
    int code = sqlite3_open_v2(path, &handle, flags, NULL);
    if (code != SQLITE_OK) {
        db_explain_open(path, sqlite3_errstr(code), error);
        sqlite3_close(handle);
        return NULL;
    }
    sqlite3_busy_timeout(handle, DB_BUSY_TIMEOUT_MS);
    sqlite3_extended_result_codes(handle, 1);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_wal_autocheckpoint(handle, 0);
    return handle;
}

int db_version(const char *path, const char *advice, char error[static DB_ERROR_BYTES]) {
    sqlite3 *handle = open_guest(path, false, error);
    int version = -1;
    if (handle != NULL && db_is_ours(handle, path, 1, advice == NULL ? DB_ADVICE : advice, error)) {
        version = (int)db_ask(handle, "PRAGMA user_version");
    }
    sqlite3_close(handle);
    return version;
}

/* ---- create --------------------------------------------------------------------------------- */

/* With a rollback journal: when it is closed all is in the one file. The first to serve it turns it
 * to a WAL. */
static bool fill(sqlite3 *handle, const char *schema, const char *demo,
                 char error[static DB_ERROR_BYTES]) {
    char mark[128];
    snprintf(mark, sizeof mark, "PRAGMA application_id = %d; PRAGMA user_version = %d",
             SCHEMA_APPLICATION_ID, SCHEMA_VERSION);
    return db_execute(handle, "PRAGMA foreign_keys = ON; BEGIN", error) &&
           db_execute(handle, schema, error) && (demo == NULL || db_execute(handle, demo, error)) &&
           db_execute(handle, mark, error) && db_execute(handle, "COMMIT", error);
}

/* A restore that was cut off between its last two steps: the database before is under another name,
 * the backup still under that of a draft. Then the database is to be found, not made. */
static bool restore_was_cut_off(const char *path) {
    char draft[PATH_MAX];
    return files_suffixed(path, ".part", draft) && access(draft, F_OK) == 0 &&
           files_any_stamped(path, "replaced");
}

/* SQLite would play a log that is left of another database into the new one. */
static bool place_is_free(const char *path, char error[static DB_ERROR_BYTES]) {
    static const char *const logs[] = {"-wal", "-journal"};
    if (access(path, F_OK) == 0) {
        snprintf(error, DB_ERROR_BYTES, "%s exists already and was not changed", path);
        return false;
    }
    for (size_t i = 0; i < sizeof logs / sizeof *logs; i++) {
        char name[PATH_MAX];
        if (files_suffixed(path, logs[i], name) && access(name, F_OK) == 0) {
            snprintf(error, DB_ERROR_BYTES,
                     "there is no database at %.4000s, but its %.4090s is there: put the database "
                     "back, or move that file away",
                     path, name);
            return false;
        }
    }
    if (restore_was_cut_off(path)) {
        snprintf(error, DB_ERROR_BYTES,
                 "there is no database at %s, because a restore was cut off: give 'larder restore' "
                 "again",
                 path);
        return false;
    }
    return true;
}

/* As any new file: the umask has its say. */
static void open_to_readers(int descriptor) {
    mode_t mask = umask(0);
    umask(mask);
    fchmod(descriptor, 0644 & ~mask);
}

bool db_create(const char *path, const char *schema, const char *demo,
               char error[static DB_ERROR_BYTES]) {
    db_library_setup();
    struct draft draft;
    if (!place_is_free(path, error) || !draft_open(&draft, path, false, error)) {
        return false;
    }
    open_to_readers(draft.descriptor);
    sqlite3 *handle = NULL;
    int code =
        sqlite3_open_v2(draft.path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    bool created = false;
    if (code != SQLITE_OK) {
        snprintf(error, DB_ERROR_BYTES, "cannot create %s: %s", path,
                 strerror(sqlite3_system_errno(handle)));
    } else {
        created = fill(handle, schema, demo, error);
    }
    if (sqlite3_close(handle) != SQLITE_OK || !created) {
        draft_discard(&draft);
        return false;
    }
    return draft_publish(&draft, false, error);
}

/* ---- check ---------------------------------------------------------------------------------- */

static int complaints(sqlite3 *handle, const char *sql, bool one_column,
                      void (*complain)(const char *sentence)) {
    sqlite3_stmt *prepared = NULL;
    int found = 0;
    int code = sqlite3_prepare_v2(handle, sql, -1, &prepared, NULL);
    while (code == SQLITE_OK && (code = sqlite3_step(prepared)) == SQLITE_ROW) {
        const char *first = (const char *)sqlite3_column_text(prepared, 0);
        code = SQLITE_OK;
        if (one_column && first != NULL && strcmp(first, "ok") == 0) {
            continue;
        }
        char sentence[DB_ERROR_BYTES];
        if (one_column) {
            snprintf(sentence, sizeof sentence, "%s", first == NULL ? "?" : first);
        } else {
            snprintf(sentence, sizeof sentence, "row %lld of %s refers to nothing",
                     (long long)sqlite3_column_int64(prepared, 1), first == NULL ? "?" : first);
        }
        complain(sentence);
        found++;
    }
    if (code != SQLITE_DONE && code != SQLITE_OK) {
        complain(sqlite3_errmsg(handle));
        found++;
    }
    sqlite3_finalize(prepared);
    return found;
}

/* FTS5 checks an index against its rows in a command that looks like an insert and writes nothing.
 */
static int check_searches(sqlite3 *handle, const char *feed,
                          void (*complain)(const char *sentence)) {
    sqlite3_stmt *tables = NULL;
    int found = 0;
    char error[DB_ERROR_BYTES];
    if (feed != NULL && !db_execute(handle, feed, error)) {
        complain(error);
        return 1;
    }
    sqlite3_prepare_v2(handle,
                       "SELECT name FROM sqlite_schema"
                       " WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE % USING fts5%'",
                       -1, &tables, NULL);
    while (sqlite3_step(tables) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(tables, 0);
        char *sql = sqlite3_mprintf(
            "INSERT INTO \"%w\" (\"%w\", rank) VALUES ('integrity-check', 1)", name, name);
        if (sqlite3_exec(handle, sql, NULL, NULL, NULL) != SQLITE_OK) {
            char sentence[DB_ERROR_BYTES];
            snprintf(sentence, sizeof sentence, "the full-text index %s does not fit its rows (%s)",
                     name, sqlite3_errmsg(handle));
            complain(sentence);
            found++;
        }
        sqlite3_free(sql);
    }
    sqlite3_finalize(tables);
    return found;
}

/* True with a transaction that may write. Somebody else's lock is not this file's fault. */
static bool begin_writing(sqlite3 *handle) {
    return sqlite3_db_readonly(handle, "main") == 0 &&
           sqlite3_exec(handle, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK;
}

int db_check(const char *path, bool alone, const char *feed,
             void (*complain)(const char *sentence)) {
    char error[DB_ERROR_BYTES];
    sqlite3 *handle = open_guest(path, alone, error);
    bool may_write = alone && handle != NULL && begin_writing(handle);
    if (handle == NULL || (!may_write && !db_execute(handle, "BEGIN", error))) {
        complain(error);
        sqlite3_close(handle);
        return 1;
    }
    int found = complaints(handle, "PRAGMA integrity_check", true, complain) +
                complaints(handle, "PRAGMA foreign_key_check", false, complain);
    if (may_write) {
        found += check_searches(handle, feed, complain);
    }
    sqlite3_exec(handle, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_close(handle);
    return found;
}

/* ---- copy ----------------------------------------------------------------------------------- */

/* SQLite gives its copying up and starts again when the source changes, unless the source's
 * connection holds one snapshot all the time. */
static sqlite3 *open_snapshot(const char *path, char error[static DB_ERROR_BYTES]) {
    sqlite3 *handle = open_guest(path, false, error);
    if (handle != NULL && !db_execute(handle, "BEGIN; SELECT count(*) FROM sqlite_schema", error)) {
        sqlite3_close(handle);
        return NULL;
    }
    return handle;
}

/* A failure throws the file away: neither a journal nor syncing is needed. */
static sqlite3 *open_target(const char *path, char error[static DB_ERROR_BYTES]) {
    sqlite3 *handle = NULL;
    int code = sqlite3_open_v2(path, &handle, SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READWRITE, NULL);
    if (code != SQLITE_OK) {
        db_explain_open(path, sqlite3_errstr(code), error);
    } else if (db_execute(handle,
                          "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = OFF;"
                          "PRAGMA synchronous = OFF",
                          error)) {
        return handle;
    }
    sqlite3_close(handle);
    return NULL;
}

static bool copy_pages(sqlite3 *source, sqlite3 *target,
                       void (*progress)(int64_t done, int64_t total),
                       char error[static DB_ERROR_BYTES]) {
    sqlite3_backup *backup = sqlite3_backup_init(target, "main", source, "main");
    int code = backup == NULL ? sqlite3_errcode(target) : SQLITE_OK;
    while (code == SQLITE_OK) {
        code = sqlite3_backup_step(backup, COPY_PAGES);
        if (progress != NULL) {
            int total = sqlite3_backup_pagecount(backup);
            progress(total - sqlite3_backup_remaining(backup), total);
        }
    }
    sqlite3_backup_finish(backup);
    if (code != SQLITE_DONE) {
        snprintf(error, DB_ERROR_BYTES, "%s",
                 (code & 0xFF) == SQLITE_FULL ? "the disk is full" : sqlite3_errstr(code));
    }
    return code == SQLITE_DONE;
}

bool db_copy(const char *from, const char *to, void (*progress)(int64_t done, int64_t total),
             char error[static DB_ERROR_BYTES]) {
    sqlite3 *source = open_snapshot(from, error);
    sqlite3 *target = source == NULL ? NULL : open_target(to, error);
    /* of a database with a WAL the copy asks for one too; without it, all is in the one file */
    bool copied = target != NULL && copy_pages(source, target, progress, error) &&
                  db_execute(target, "PRAGMA journal_mode = MEMORY", error);
    sqlite3_close(target);
    sqlite3_close(source);
    return copied;
}

/* ---- migrate -------------------------------------------------------------------------------- */

/* A migration that ended the transaction could be carried out by half. */
static int forbid_transactions(void *context, int action, const char *first, const char *second,
                               const char *database, const char *trigger) {
    (void)context, (void)first, (void)second, (void)database, (void)trigger;
    return action == SQLITE_TRANSACTION ? SQLITE_DENY : SQLITE_OK;
}

static char first_complaint[DB_ERROR_BYTES];

static void keep_first(const char *sentence) {
    if (first_complaint[0] == '\0') {
        snprintf(first_complaint, sizeof first_complaint, "%s", sentence);
    }
}

static bool references_hold(sqlite3 *handle, char error[static DB_ERROR_BYTES]) {
    first_complaint[0] = '\0';
    if (complaints(handle, "PRAGMA foreign_key_check", false, keep_first) == 0) {
        return true;
    }
    snprintf(error, DB_ERROR_BYTES, "%s", first_complaint);
    return false;
}

static bool run_migration(sqlite3 *handle, const char *sql, int version,
                          char error[static DB_ERROR_BYTES]) {
    char mark[64];
    snprintf(mark, sizeof mark, "PRAGMA user_version = %d", version);
    if (!db_execute(handle, "BEGIN IMMEDIATE", error)) {
        return false;
    }
    sqlite3_set_authorizer(handle, forbid_transactions, NULL);
    bool done = db_execute(handle, sql, error);
    sqlite3_set_authorizer(handle, NULL, NULL);
    if (done && references_hold(handle, error) && db_execute(handle, mark, error) &&
        db_execute(handle, "COMMIT", error)) {
        return true;
    }
    if (sqlite3_get_autocommit(handle) == 0) { /* a full disk has ended it already */
        sqlite3_exec(handle, "ROLLBACK", NULL, NULL, NULL);
    }
    return false;
}

static bool run_migrations(sqlite3 *handle, const char *path, const char *migrations,
                           void (*applied)(const char *name), char error[static DB_ERROR_BYTES]) {
    int64_t version = db_ask(handle, "PRAGMA user_version");
    for (const char *name = migrations; *name != '\0';) {
        const char *sql = name + strlen(name) + 1;
        int number = (int)strtol(name, NULL, 10);
        if (number > version) {
            char reason[DB_ERROR_BYTES];
            if (!run_migration(handle, sql, number, reason)) {
                snprintf(error, DB_ERROR_BYTES,
                         "%.200s failed: %.1000s; %s stays at schema version %lld", name, reason,
                         path, (long long)version);
                return false;
            }
            version = number;
            applied(name);
        }
        name = sql + strlen(sql) + 1;
    }
    return true;
}

/* Foreign keys are off while tables are made anew under the old name (section 7 of SQLite's page on
 * ALTER TABLE), and checked before each commit. The pragma does nothing inside a transaction. */
bool db_migrate(const char *path, const char *migrations, void (*applied)(const char *name),
                char error[static DB_ERROR_BYTES]) {
    sqlite3 *handle = open_guest(path, true, error);
    bool done = handle != NULL && db_is_ours(handle, path, 1, DB_ADVICE, error) &&
                db_execute(handle, "PRAGMA foreign_keys = OFF; PRAGMA synchronous = FULL", error);
    if (done) {
        /* alone with the database: the last to close may empty the WAL */
        sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
        done = run_migrations(handle, path, migrations, applied, error);
    }
    sqlite3_close(handle);
    return done;
}
