#include "db_wal.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"

enum {
    NAME_BYTES = 500,
    MANY = 2500, /* rows, with their index more than a connection keeps in memory */
};

static struct db *db;

/* ---- the system's write to the log, counted and made to fail -------------------------------- */

static int writes;
static int fail_from; /* this one and all later ones find the disk full */
static bool no_room;  /* what makes the log's file longer finds the disk full */
static int largest;

static ssize_t counting_write(int file, const void *data, size_t amount, off_t offset) {
    struct stat log;
    struct stat it;
    assert_int_equal(stat(scratch_path("db-wal"), &log), 0);
    assert_int_equal(fstat(file, &it), 0);
    if (it.st_ino == log.st_ino) {
        writes++;
        largest = (int)amount > largest ? (int)amount : largest;
        if ((fail_from > 0 && writes >= fail_from) ||
            (no_room && offset + (off_t)amount > log.st_size)) {
            errno = ENOSPC;
            return -1;
        }
    }
    return pwrite(file, data, amount, offset);
}

static void count_writes(int failing) {
    writes = 0;
    largest = 0;
    fail_from = failing;
}

static void replace_write(sqlite3_syscall_ptr with) {
    sqlite3_vfs *system = sqlite3_vfs_find(NULL);
    for (const char *name = NULL; (name = system->xNextSystemCall(system, name)) != NULL;) {
        if (strcmp(name, "pwrite") == 0 || strcmp(name, "pwrite64") == 0) {
            system->xSetSystemCall(system, name, with); /* NULL: the system's again */
        }
    }
}

/* ---- helpers -------------------------------------------------------------------------------- */

static int setup(void **state) {
    if (scratch_setup(state) != 0) {
        return -1;
    }
    char error[DB_ERROR_BYTES];
    db = db_open(scratch_database(false), DB_WRITE, DB_SYNC_NORMAL, error);
    assert_non_null(db);
    no_room = false;
    count_writes(0);
    replace_write((sqlite3_syscall_ptr)counting_write);
    return 0;
}

static int teardown(void **state) {
    replace_write(NULL);
    db_close(db);
    return scratch_teardown(state);
}

/* Names are spread, so that pages that have left for the log are changed again. */
static bool insert(int number) {
    static char name[NAME_BYTES + 1];
    snprintf(name, sizeof name, "%08x-%0*d", (unsigned)number * 2654435761U, NAME_BYTES - 9,
             number);
    struct db_statement *statement =
        db_statement(db, "INSERT INTO categories (name) VALUES (:name)");
    db_bind_text(statement, ":name", text_from(name));
    bool done = db_run(statement) == DB_DONE;
    db_reset_statements(db);
    return done;
}

static bool insert_many(int from, int count) {
    for (int i = 0; i < count; i++) {
        if (!insert(from + i)) {
            return false;
        }
    }
    return true;
}

static int64_t counted(void) {
    struct db_statement *statement = db_statement(db, "SELECT count(*) FROM categories");
    int64_t count = db_row(statement) ? db_integer(statement, 0) : -1;
    db_reset_statements(db);
    return count;
}

static void copy(const char *from, const char *to) {
    size_t length;
    char *bytes = scratch_read(from, &length);
    FILE *file = fopen(to, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    fclose(file);
    free(bytes);
}

/* What another connection finds at this moment, and what would be found if the process died now. */
static void assert_rows(int64_t expected) {
    assert_int_equal(scratch_ask(scratch_path("db"), "SELECT count(*) FROM categories"), expected);
    copy(scratch_path("db"), scratch_path("copy"));
    copy(scratch_path("db-wal"), scratch_path("copy-wal"));
    remove(scratch_path("copy-shm"));
    assert_int_equal(scratch_ask(scratch_path("copy"), "SELECT count(*) FROM categories"),
                     expected);
    assert_int_equal(scratch_ask(scratch_path("copy"),
                                 "SELECT integrity_check = 'ok' FROM pragma_integrity_check"),
                     1);
}

/* ---- tests ---------------------------------------------------------------------------------- */

static void a_commit_of_ten_pages_is_written_by_two_calls(void **state) {
    (void)state;
    assert_true(db_begin(db) && insert(0) && db_commit(db)); /* writes the log's own header */
    int before = db_wal_pages(db);
    assert_true(db_begin(db) && insert_many(1, 20));
    count_writes(0);
    assert_true(db_commit(db));
    assert_in_range(db_wal_pages(db) - before, 8, 14);
    assert_int_equal(writes, 2); /* up to the header of the commit's frame, and that frame's page */
    assert_true(largest > 7 * 4096);
    assert_rows(21);
}

static void each_commit_has_left_when_it_returns(void **state) {
    (void)state;
    for (int i = 0; i < 50; i++) {
        assert_true(db_begin(db) && insert(i) && db_commit(db));
        assert_rows(i + 1);
    }
}

/* So it stays in memory: see configure() in db.c. */
static void nothing_leaves_before_the_commit(void **state) {
    (void)state;
    assert_true(db_begin(db) && insert_many(0, MANY));
    assert_int_equal(writes, 0);
    assert_int_equal(counted(), MANY);
    assert_true(db_commit(db));
    assert_true(largest <= 64 * 1024);
    assert_rows(MANY);
}

static void run(sqlite3 *handle, const char *sql) {
    char *message = NULL;
    if (sqlite3_exec(handle, sql, NULL, NULL, &message) != SQLITE_OK) {
        fail_msg("%s: %s", sql, message);
    }
}

#define MANY_ROWS                                                                                  \
    "INSERT INTO categories (name) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1"       \
    " FROM n WHERE i < 3000) SELECT printf('%08x-%0491d', i * 2654435761 & 0xffffffff, i) FROM n;"

/* SQLite would let pages leave early, and read them back. */
static void pages_that_leave_early_are_read_back_and_taken_back(void **state) {
    (void)state;
    db_close(db);
    db = NULL;
    sqlite3 *handle = NULL;
    assert_int_equal(
        sqlite3_open_v2(scratch_path("db"), &handle, SQLITE_OPEN_READWRITE, db_wal_vfs()),
        SQLITE_OK);
    run(handle, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -100;"
                "PRAGMA wal_autocheckpoint = 0; INSERT INTO categories (name) VALUES ('a')");
    for (int i = 0; i < 3; i++) {
        count_writes(0);
        run(handle, "BEGIN; " MANY_ROWS);
        assert_true(writes > 50);
        run(handle, "UPDATE categories SET name = name || 'x'; ROLLBACK");
        assert_rows(1);
    }
    run(handle, "BEGIN; " MANY_ROWS "UPDATE categories SET name = name || 'x'; COMMIT");
    assert_rows(3001);
    sqlite3_close(handle);
}

static void what_is_rolled_back_leaves_no_trace(void **state) {
    (void)state;
    assert_true(db_begin(db) && insert(0) && db_commit(db));
    for (int i = 1; i < 4; i++) {
        assert_true(db_begin(db) && insert_many(1000 * i, MANY));
        db_rollback(db);
        assert_rows(i);
        assert_true(db_begin(db) && insert(i) && db_commit(db));
        assert_rows(i + 1);
    }
}

static void part_of_a_transaction_is_undone(void **state) {
    (void)state;
    assert_true(db_begin(db) && insert_many(0, MANY));
    assert_true(db_savepoint(db) && insert_many(MANY, MANY));
    db_savepoint_undo(db);
    assert_true(insert_many(MANY, 10) && db_commit(db));
    assert_rows(MANY + 10);
}

/* The disk is full from each of the writes on, one after the other, and then has room again. */
static void a_full_disk_loses_no_commit_and_blocks_none(void **state) {
    (void)state;
    assert_true(db_begin(db) && insert_many(0, 100) && db_commit(db));
    int64_t rows = 100;
    bool failed = true;
    for (int from = 1; failed; from++) {
        log_capture();
        assert_true(db_begin(db));
        count_writes(from);
        failed = !insert_many(1000000 + from * MANY, MANY);
        failed = !db_commit(db) || failed;
        rows += failed ? 0 : MANY;
        assert_true(!failed || db_failure(db) == DB_FULL);
        db_clear_failure(db);
        log_captured();
        assert_false(db_in_transaction(db));
        if (from % 16 == 1) {
            assert_true(db_checkpoint(db)); /* reads the log, while the disk is full still */
        }
        count_writes(0);
        assert_true(db_begin(db) && insert(from * MANY) && db_commit(db));
        rows++;
        assert_int_equal(counted(), rows);
        if (from % 16 == 1 || !failed) {
            assert_rows(rows);
        }
    }
}

/* Frames of a commit that failed are not tried again: the next commit may have room where they had
 * none. */
static void a_commit_that_fits_follows_one_that_does_not(void **state) {
    (void)state;
    assert_true(db_begin(db) && insert_many(0, 300) && db_commit(db));
    assert_true(db_checkpoint(db));
    assert_true(db_begin(db) && insert(300) &&
                db_commit(db)); /* the log begins anew, in its file */
    no_room = true;
    for (int i = 1; i <= 4; i++) {
        log_capture();
        assert_true(db_begin(db) && insert_many(1000, MANY));
        assert_false(db_commit(db));
        assert_int_equal(db_failure(db), DB_FULL);
        db_clear_failure(db);
        log_captured();
        if (i % 2 == 0) {
            assert_true(db_checkpoint(db));
        }
        assert_true(db_begin(db) && insert(300 + i) && db_commit(db));
        assert_rows(301 + i);
    }
}

static void a_checkpoint_and_a_new_log_lose_nothing(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_true(db_begin(db) && insert_many(i * 100, 100) && db_commit(db));
        assert_true(db_checkpoint(db));
        assert_rows(i * 100 + 100);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_commit_of_ten_pages_is_written_by_two_calls, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(each_commit_has_left_when_it_returns, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_leaves_before_the_commit, setup, teardown),
        cmocka_unit_test_setup_teardown(pages_that_leave_early_are_read_back_and_taken_back, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_is_rolled_back_leaves_no_trace, setup, teardown),
        cmocka_unit_test_setup_teardown(part_of_a_transaction_is_undone, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_disk_loses_no_commit_and_blocks_none, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_commit_that_fits_follows_one_that_does_not, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_checkpoint_and_a_new_log_lose_nothing, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
