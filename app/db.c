#define _GNU_SOURCE
#include "db.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "db_internal.h"
#include "db_wal.h"
#include "log.h"
#include "schema.h"

enum {
    SLOTS =
        256, /* of the statement cache, a power of two; more literals than half of it: enlarge */
    CACHE_KIB = 2000,
    LOOKASIDE_BYTES = 512, /* a slot for what a statement takes while it runs */
    LOOKASIDE_SLOTS = 32,
    PARAMETERS = 8, /* of a statement, found without asking SQLite; it is asked for more of them */
    LOCK_POLLS = 6, /* with pauses of 1, 2, 4 … 64 ms while another process holds the lock */
};

struct db_statement {
    struct db *db;
    sqlite3_stmt *prepared; /* NULL when it could not be prepared */
    const char *sql;
    void *annotation;
    struct {
        const char *name;
        int index;
    } parameters[PARAMETERS];       /* bound before, found by the name's address */
    struct db_statement *next_used; /* since the last db_reset_statements() */
    bool used;
};

struct db {
    sqlite3 *handle;
    enum db_mode mode;
    bool commits_sync;
    enum db_failure failure;
    int wal_pages;
    int statements;
    int64_t changes_before; /* the transaction */
    struct db_counts counts;
    int64_t lock_wait_began_ns;
    struct db_statement *first_used;
    struct db_statement *slots[SLOTS];
    struct db_statement *begin, *commit, *rollback, *savepoint, *release, *undo;
};

const char *db_library_version(void) {
    return sqlite3_libversion();
}

const char *db_library_source(void) {
    return sqlite3_sourceid();
}

const char *db_library_option(int i) {
    return sqlite3_compileoption_get(i);
}

/* ---- failures ------------------------------------------------------------------------------- */

static void fail(struct db *db, int code, const char *sql) {
    enum db_failure failure;
    switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        failure = DB_BUSY;
        break;
    case SQLITE_FULL:
        failure = DB_FULL;
        break;
    default:
        failure = DB_BROKEN;
    }
    if (db->failure == DB_FINE) { /* the first one is the cause */
        db->failure = failure;
        log_event("D01", "the database answers %d, %s, to: %.80s", code, sqlite3_errmsg(db->handle),
                  sql);
    }
}

enum db_failure db_failure(const struct db *db) {
    return db->failure;
}

void db_clear_failure(struct db *db) {
    db->failure = DB_FINE;
}

/* ---- statements ----------------------------------------------------------------------------- */

static void prepare(struct db_statement *statement, size_t length) {
    struct db *db = statement->db;
    int code = sqlite3_prepare_v3(db->handle, statement->sql, (int)length,
                                  SQLITE_PREPARE_PERSISTENT, &statement->prepared, NULL);
    if (code != SQLITE_OK) {
        fail(db, code, statement->sql);
    }
}

static struct db_statement *add_statement(struct db *db, size_t slot, const char *sql) {
    assert(db->statements < SLOTS / 2);
    struct db_statement *statement = calloc(1, sizeof *statement);
    if (statement == NULL) {
        log_out_of_memory();
    }
    statement->db = db;
    statement->sql = sql;
    db->slots[slot] = statement;
    db->statements++;
    return statement;
}

static size_t slot_of(const char *sql) {
    return (size_t)((uintptr_t)sql * UINT64_C(0x9E3779B97F4A7C15) >> 56) % SLOTS;
}

/* NULL, of a statement that could not be prepared, is fine for reset and not for clear_bindings. */
static void make_fresh(struct db_statement *statement) {
    if (statement->prepared != NULL) {
        sqlite3_reset(statement->prepared);
        sqlite3_clear_bindings(statement->prepared);
    }
}

struct db_statement *db_statement_cached(struct db *db, const char *sql, size_t length) {
    size_t slot = slot_of(sql);
    struct db_statement *statement = db->slots[slot];
    while (statement != NULL && statement->sql != sql) {
        slot = (slot + 1) % SLOTS;
        statement = db->slots[slot];
    }
    if (statement == NULL) {
        statement = add_statement(db, slot, sql);
    }
    if (statement->prepared == NULL) { /* new, or from a time of trouble that may be over */
        db->counts.misses++;
        prepare(statement, length);
    } else {
        db->counts.hits++;
    }
    if (!statement->used) {
        statement->used = true;
        statement->next_used = db->first_used;
        db->first_used = statement;
    } else {
        make_fresh(statement);
    }
    return statement;
}

int db_statements_prepared(const struct db *db) {
    return db->statements;
}

void db_reset_statements(struct db *db) {
    struct db_statement *statement = db->first_used;
    db->first_used = NULL;
    while (statement != NULL) {
        struct db_statement *next = statement->next_used;
        make_fresh(statement);
        statement->used = false;
        statement->next_used = NULL;
        statement = next;
    }
}

bool db_has_parameter(struct db_statement *statement, const char *name) {
    return sqlite3_bind_parameter_index(statement->prepared, name) > 0;
}

static int parameter(struct db_statement *statement, const char *name) {
    int i = 0;
    for (; i < PARAMETERS && statement->parameters[i].name != NULL; i++) {
        if (statement->parameters[i].name == name) {
            return statement->parameters[i].index;
        }
    }
    int index = sqlite3_bind_parameter_index(statement->prepared, name);
    assert(index > 0);
    if (i < PARAMETERS) {
        statement->parameters[i].name = name;
        statement->parameters[i].index = index;
    }
    return index;
}

void db_bind_integer(struct db_statement *statement, const char *name, int64_t value) {
    if (statement->prepared != NULL) {
        sqlite3_bind_int64(statement->prepared, parameter(statement, name), value);
    }
}

void db_bind_text(struct db_statement *statement, const char *name, struct text value) {
    if (statement->prepared != NULL) {
        sqlite3_bind_text64(statement->prepared, parameter(statement, name), value.data,
                            value.length, SQLITE_STATIC, SQLITE_UTF8);
    }
}

bool db_row(struct db_statement *statement) {
    struct db *db = statement->db;
    if (statement->prepared == NULL || db->failure != DB_FINE) {
        return false;
    }
    int code = sqlite3_step(statement->prepared);
    if (code == SQLITE_ROW) {
        return true;
    }
    if (code != SQLITE_DONE) {
        fail(db, code, statement->sql);
    }
    return false;
}

enum db_result db_run(struct db_statement *statement) {
    struct db *db = statement->db;
    if (statement->prepared == NULL || db->failure != DB_FINE) {
        return DB_FAILED;
    }
    int code = sqlite3_step(statement->prepared);
    sqlite3_reset(statement->prepared);
    switch (code) {
    case SQLITE_DONE:
        return DB_DONE;
    case SQLITE_CONSTRAINT_UNIQUE:
    case SQLITE_CONSTRAINT_PRIMARYKEY:
        return DB_UNIQUE;
    case SQLITE_CONSTRAINT_FOREIGNKEY:
        return DB_REFERENCE;
    default:
        fail(db, code, statement->sql);
        return DB_FAILED;
    }
}

int64_t db_inserted_id(const struct db *db) {
    return sqlite3_last_insert_rowid(db->handle);
}

int64_t db_changes(const struct db *db) {
    return sqlite3_changes64(db->handle);
}

int db_columns(struct db_statement *statement) {
    return sqlite3_column_count(statement->prepared);
}

const char *db_column_name(struct db_statement *statement, int column) {
    return sqlite3_column_name(statement->prepared, column);
}

int64_t db_integer(struct db_statement *statement, int column) {
    return sqlite3_column_int64(statement->prepared, column);
}

struct text db_text(struct db_statement *statement, int column) {
    const unsigned char *data = sqlite3_column_text(statement->prepared, column);
    int length = sqlite3_column_bytes(statement->prepared, column);
    return (struct text){.data = (const char *)data, .length = (size_t)length};
}

/* The value is looked up once. It belongs to a connection that only one thread uses, so it may be
 * looked into as it is (the manual page of sqlite3_column_value()). */
struct db_value db_value(struct db_statement *statement, int column) {
    sqlite3_value *value = sqlite3_column_value(statement->prepared, column);
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        return (struct db_value){.type = DB_INTEGER, .integer = sqlite3_value_int64(value)};
    case SQLITE_NULL:
        return (struct db_value){.type = DB_NULL};
    default: {
        const char *text = (const char *)sqlite3_value_text(value);
        size_t length = (size_t)sqlite3_value_bytes(value);
        return (struct db_value){.type = DB_TEXT, .text = {.data = text, .length = length}};
    }
    }
}

void **db_annotation(struct db_statement *statement) {
    return &statement->annotation;
}

void db_explain(struct db *db, void (*each)(void *context, const char *sql, const char *plan),
                void *context) {
    for (size_t i = 0; i < SLOTS; i++) {
        if (db->slots[i] == NULL) {
            continue;
        }
        const char *sql = db->slots[i]->sql;
        char *question = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", sql);
        sqlite3_stmt *plan = NULL;
        if (sqlite3_prepare_v2(db->handle, question, -1, &plan, NULL) == SQLITE_OK) {
            while (sqlite3_step(plan) == SQLITE_ROW) {
                each(context, sql, (const char *)sqlite3_column_text(plan, 3));
            }
        }
        sqlite3_finalize(plan);
        sqlite3_free(question);
    }
}

/* ---- transactions --------------------------------------------------------------------------- */

bool db_in_transaction(const struct db *db) {
    return sqlite3_get_autocommit(db->handle) == 0;
}

bool db_begin(struct db *db) {
    db->changes_before = sqlite3_total_changes64(db->handle);
    return db_run(db->begin) == DB_DONE;
}

bool db_has_changed(const struct db *db) {
    return sqlite3_total_changes64(db->handle) != db->changes_before;
}

bool db_commit(struct db *db) {
    if (!db_in_transaction(db)) {
        return false;
    }
    if (db_run(db->commit) == DB_DONE) {
        return true;
    }
    db_rollback(db);
    return false;
}

/* Control statements run even while a failure sticks: undoing is how a failure ends. */
static void run_always(struct db_statement *statement) {
    int code = sqlite3_step(statement->prepared);
    sqlite3_reset(statement->prepared);
    if (code != SQLITE_DONE) {
        fail(statement->db, code, statement->sql);
    }
}

void db_rollback(struct db *db) {
    db_reset_statements(db);
    if (db_in_transaction(db)) {
        run_always(db->rollback);
    }
}

bool db_savepoint(struct db *db) {
    return db_run(db->savepoint) == DB_DONE;
}

bool db_savepoint_keep(struct db *db) {
    return db_run(db->release) == DB_DONE;
}

void db_savepoint_undo(struct db *db) {
    if (db_in_transaction(db)) {
        run_always(db->undo);
        run_always(db->release);
    }
}

/* ---- the write-ahead log -------------------------------------------------------------------- */

static int wal_written(void *context, sqlite3 *handle, const char *name, int pages) {
    struct db *db = context;
    (void)handle;
    (void)name;
    db->wal_pages = pages;
    return SQLITE_OK;
}

int db_wal_pages(const struct db *db) {
    return db->wal_pages;
}

bool db_checkpoint(struct db *db) {
    int in_log = 0;
    int moved = 0;
    int code =
        sqlite3_wal_checkpoint_v2(db->handle, NULL, SQLITE_CHECKPOINT_PASSIVE, &in_log, &moved);
    if (code == SQLITE_OK) {
        db->wal_pages = in_log - moved;
    }
    return code == SQLITE_OK || code == SQLITE_BUSY;
}

void db_write_back(struct db *db) {
    if (db->commits_sync) {
        return;
    }
    const char *wal = sqlite3_filename_wal(sqlite3_db_filename(db->handle, "main"));
    int file = open(wal, O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        sync_file_range(file, 0, 0, SYNC_FILE_RANGE_WRITE);
        close(file);
    }
}

const char *db_error(const struct db *db) {
    return sqlite3_errmsg(db->handle);
}

struct db_counts *db_counts(struct db *db) {
    return &db->counts;
}

/* ---- connections ---------------------------------------------------------------------------- */

/* Sleeps a little while another process holds a lock; tries counts the calls about one wait.
 * Returns 0 when it has lasted too long. */
static int wait_for_lock(void *context, int tries) {
    struct db *db = context;
    int64_t began = clock_ns();
    if (tries == 0) {
        db->counts.lock_waits++;
        db->lock_wait_began_ns = began;
    }
    if (began - db->lock_wait_began_ns >= DB_BUSY_TIMEOUT_MS * INT64_C(1000000)) {
        return 0;
    }
    sqlite3_sleep(tries < LOCK_POLLS ? 1 << tries : 1 << LOCK_POLLS);
    db->counts.lock_wait_ns += (uint64_t)(clock_ns() - began);
    return 1;
}

void db_library_setup(void) {
    static bool done;
    if (!done) {
        sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
        sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
        sqlite3_config(SQLITE_CONFIG_PAGECACHE, NULL, 0, 0); /* pages one by one, not 20 at once */
        done = true;
    }
}

bool db_execute(sqlite3 *handle, const char *sql, char error[static DB_ERROR_BYTES]) {
    if (sqlite3_exec(handle, sql, NULL, NULL, NULL) == SQLITE_OK) {
        return true;
    }
    snprintf(error, DB_ERROR_BYTES, "the database says: %s", sqlite3_errmsg(handle));
    return false;
}

int64_t db_ask(sqlite3 *handle, const char *sql) {
    sqlite3_stmt *prepared = NULL;
    int64_t value = -1;
    if (sqlite3_prepare_v2(handle, sql, -1, &prepared, NULL) == SQLITE_OK &&
        sqlite3_step(prepared) == SQLITE_ROW) {
        value = sqlite3_column_int64(prepared, 0);
    }
    sqlite3_finalize(prepared);
    return value;
}

bool db_is_ours(sqlite3 *handle, const char *path, int oldest, const char *advice,
                char error[static DB_ERROR_BYTES]) {
    int64_t application = db_ask(handle, "PRAGMA application_id");
    int reason = sqlite3_errcode(handle) & 0xFF;
    if (application < 0 && (reason == SQLITE_READONLY || reason == SQLITE_CANTOPEN)) {
        snprintf(error, DB_ERROR_BYTES,
                 "%s cannot be used: the file and its directory must be writable for larder's user",
                 path);
        return false;
    }
    if (application < 0) {
        snprintf(error, DB_ERROR_BYTES, "%s cannot be read as a database (%s): %s", path,
                 sqlite3_errmsg(handle), advice);
        return false;
    }
    if (application != SCHEMA_APPLICATION_ID) {
        snprintf(error, DB_ERROR_BYTES, "%s is not a Larder database: %s", path, advice);
        return false;
    }
    int64_t version = db_ask(handle, "PRAGMA user_version");
    if (version >= 1 && version < oldest) {
        snprintf(error, DB_ERROR_BYTES,
                 "%s has schema version %lld and this program needs %d: run 'larder migrate --db "
                 "%s'; the database was not changed",
                 path, (long long)version, SCHEMA_VERSION, path);
        return false;
    }
    if (version < oldest || version > SCHEMA_VERSION) {
        snprintf(error, DB_ERROR_BYTES,
                 "%s has schema version %lld and this program needs %d: use the program that fits, "
                 "the database was not changed",
                 path, (long long)version, SCHEMA_VERSION);
        return false;
    }
    return true;
}

static bool configure(struct db *db, enum db_sync sync, char error[static DB_ERROR_BYTES]) {
    sqlite3_extended_result_codes(db->handle, 1);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_LOOKASIDE, NULL, LOOKASIDE_BYTES,
                      LOOKASIDE_SLOTS);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    char sql[256];
    snprintf(sql, sizeof sql,
             "PRAGMA cache_size = -%d; PRAGMA mmap_size = 0; PRAGMA foreign_keys = ON; "
             "PRAGMA temp_store = MEMORY; PRAGMA synchronous = %s",
             CACHE_KIB, sync == DB_SYNC_FULL ? "FULL" : "NORMAL");
    if (!db_execute(db->handle, sql, error)) {
        return false;
    }
    if (db->mode != DB_WRITE) {
        /* only the writer checkpoints: SQLite before 3.51.3 can lose pages when two do at once */
        sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        sqlite3_wal_autocheckpoint(db->handle, 0);
        return true;
    }
    /* A batch's pages stay in memory until the commit. Otherwise, with SQLite 3.40, a commit after
     * pages had left for the log and a savepoint was undone is lost to whoever recovers the log. */
    if (!db_execute(
            db->handle,
            "PRAGMA journal_mode = WAL; PRAGMA secure_delete = OFF; PRAGMA cache_spill = OFF",
            error)) {
        return false;
    }
    sqlite3_wal_autocheckpoint(db->handle, 0); /* never inside a commit: the worker chooses when */
    sqlite3_wal_hook(db->handle, wal_written, db);
    db->wal_pages = 1; /* nobody knows what others left there: one asks for the idle checkpoint */
    return true;
}

void db_explain_open(const char *path, const char *reason, char error[static DB_ERROR_BYTES]) {
    struct stat status;
    if (stat(path, &status) != 0 && errno == ENOENT) {
        snprintf(error, DB_ERROR_BYTES,
                 "there is no database at %s: make one with 'larder init --db %s'", path, path);
    } else if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
        snprintf(error, DB_ERROR_BYTES, "%s is a directory: give --db the path of a database file",
                 path);
    } else {
        snprintf(error, DB_ERROR_BYTES,
                 "cannot open %s (%s): give --db another path, or its user the right to use it",
                 path, reason);
    }
}

struct db *db_open(const char *path, enum db_mode mode, enum db_sync sync,
                   char error[static DB_ERROR_BYTES]) {
    db_library_setup();
    struct db *db = calloc(1, sizeof *db);
    if (db == NULL) {
        log_out_of_memory();
    }
    db->mode = mode;
    db->commits_sync = sync == DB_SYNC_FULL;
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE |
                (mode == DB_READ ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE);
    int code = sqlite3_open_v2(path, &db->handle, flags, mode == DB_WRITE ? db_wal_vfs() : NULL);
    if (code != SQLITE_OK) {
        db_explain_open(path, sqlite3_errstr(code), error);
        db_close(db);
        return NULL;
    }
    sqlite3_busy_handler(db->handle, wait_for_lock, db); /* before anything that takes locks */
    if (mode == DB_WRITE && sqlite3_db_readonly(db->handle, "main") == 1) {
        snprintf(error, DB_ERROR_BYTES,
                 "%s may only be read: give larder's user the right to write it", path);
        db_close(db);
        return NULL;
    }
    if (!db_is_ours(db->handle, path, SCHEMA_VERSION, DB_ADVICE, error) ||
        !configure(db, sync, error)) {
        db_close(db);
        return NULL;
    }
    db->begin = mode == DB_READ ? db_statement(db, "BEGIN") : db_statement(db, "BEGIN IMMEDIATE");
    db->commit = db_statement(db, "COMMIT");
    db->rollback = db_statement(db, "ROLLBACK");
    db->savepoint = db_statement(db, "SAVEPOINT request");
    db->release = db_statement(db, "RELEASE request");
    db->undo = db_statement(db, "ROLLBACK TO request");
    db_reset_statements(db);
    if (db->failure != DB_FINE) {
        snprintf(error, DB_ERROR_BYTES, "%s cannot be used: %s", path, sqlite3_errmsg(db->handle));
        db_close(db);
        return NULL;
    }
    return db;
}

void db_close(struct db *db) {
    if (db == NULL) {
        return;
    }
    for (size_t i = 0; i < SLOTS; i++) {
        if (db->slots[i] != NULL) {
            sqlite3_finalize(db->slots[i]->prepared);
            free(db->slots[i]->annotation);
            free(db->slots[i]);
        }
    }
    sqlite3_close(db->handle);
    free(db);
}

void db_leave(struct db *db) {
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    db_close(db);
}
