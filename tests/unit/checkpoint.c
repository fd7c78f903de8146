#define _GNU_SOURCE
#include "checkpoint.h"

#include <fcntl.h>
#include <stdio.h>

#include "support.h"

static struct db *db;
static struct checkpointer checkpointer;
static struct scoreboard *scoreboard;

/* In place of the C library's: counts how often the disk was asked to begin. */
static int write_backs;

int sync_file_range(int file, off_t from, off_t bytes, unsigned int flags) {
    assert_true(file >= 0);
    assert_int_equal(from, 0);
    assert_int_equal(bytes, 0);
    assert_int_equal(flags, SYNC_FILE_RANGE_WRITE); /* the others wait */
    write_backs++;
    return 0;
}

static int setup(void **state) {
    if (scratch_setup(state) != 0) {
        return -1;
    }
    scratch_database(false);
    db = scratch_open(DB_WRITE);
    scoreboard = scoreboard_create(NULL, 1, scratch_path("db"));
    assert_non_null(scoreboard);
    checkpoint_setup(&checkpointer, db, scratch_path("db"), &scoreboard->slot[0]);
    return 0;
}

static int teardown(void **state) {
    db_close(db);
    scoreboard_close(scoreboard);
    return scratch_teardown(state);
}

static void write_category(int number) {
    char name[16];
    snprintf(name, sizeof name, "n%d", number);
    assert_true(db_begin(db));
    struct db_statement *statement =
        db_statement(db, "INSERT INTO categories (name) VALUES (:name)");
    db_bind_text(statement, ":name", text_from(name));
    assert_int_equal(db_run(statement), DB_DONE);
    assert_true(db_commit(db));
    db_reset_statements(db);
}

static void an_empty_wal_asks_for_nothing(void **state) {
    (void)state;
    assert_int_equal(checkpoint_timeout(&checkpointer, 1000), 50); /* it may not be empty yet */
    checkpoint_idle(&checkpointer, 1000);
    assert_int_equal(checkpoint_timeout(&checkpointer, 1000), -1);
    checkpoint_idle(&checkpointer, 1000);
}

static void a_writer_that_is_idle_empties_the_wal(void **state) {
    (void)state;
    write_category(1);
    assert_true(db_wal_pages(db) > 0);
    assert_in_range(checkpoint_timeout(&checkpointer, 1000), 1, 1000);
    checkpoint_idle(&checkpointer, 1000);
    assert_int_equal(db_wal_pages(db), 0);
    assert_int_equal(checkpoint_timeout(&checkpointer, 1000), -1);
}

static void each_is_counted_with_its_pages_and_time(void **state) {
    const struct scoreboard_slot *slot = &scoreboard->slot[0];
    (void)state;
    uint64_t pages = 0;
    for (int i = 1; i <= 3; i++) {
        write_category(i);
        pages += (uint64_t)db_wal_pages(db);
        checkpoint_idle(&checkpointer, 1000);
        assert_int_equal(histogram_count(&slot->checkpoints), i);
        assert_int_equal(scoreboard_read(&slot->checkpoint_pages), pages);
    }
    assert_true(scoreboard_read(&slot->checkpoints.sum) > 0);
    assert_int_equal(scoreboard_read(&slot->failed_checkpoints), 0);
}

/* A reader's connection may not checkpoint: that is a failure like any other. */
static void one_that_fails_is_counted_as_such(void **state) {
    (void)state;
    write_category(1);
    struct db *reader = scratch_open(DB_READ);
    checkpointer.db = reader;
    checkpointer.limit_pages = 0;
    log_capture();
    checkpoint_after_batch(&checkpointer, 1000);
    assert_non_null(strstr(log_captured(), "C01"));
    assert_int_equal(scoreboard_read(&scoreboard->slot[0].failed_checkpoints), 1);
    assert_int_equal(histogram_count(&scoreboard->slot[0].checkpoints), 0);
    db_close(reader);
}

static void a_batch_empties_the_wal_only_when_it_is_large(void **state) {
    (void)state;
    write_category(1);
    checkpoint_after_batch(&checkpointer, 1000);
    int pages = db_wal_pages(db);
    assert_true(pages > 0);
    checkpointer.limit_pages = pages;
    checkpoint_after_batch(&checkpointer, 1000);
    assert_int_equal(db_wal_pages(db), 0);
    assert_true(checkpointer.limit_pages > pages); /* set anew, from the disk's free space */
}

/* Writes and ends batches until the WAL has so many pages. */
static void write_pages(int pages) {
    static int i;
    while (db_wal_pages(checkpointer.db) < pages) {
        write_category(++i);
        checkpoint_after_batch(&checkpointer, 1000);
    }
}

/* Where a commit does not wait for the disk, 16 MiB would be left for the checkpoint to wait for.
 */
static void the_disk_is_kept_writing_where_commits_do_not_wait(void **state) {
    (void)state;
    char error[DB_ERROR_BYTES];
    write_backs = 0;
    write_pages(300);
    assert_int_equal(write_backs, 0); /* a commit has waited */
    checkpoint_idle(&checkpointer, 1000);
    db_close(db);
    db = checkpointer.db = db_open(scratch_path("db"), DB_WRITE, DB_SYNC_NORMAL, error);
    assert_non_null(db);
    write_pages(250);
    assert_int_equal(write_backs, 0);
    write_pages(260);
    assert_int_equal(write_backs, 1);
    write_pages(600);
    assert_int_equal(write_backs, 2);
    checkpoint_idle(&checkpointer, 1000);
    write_pages(260); /* the WAL has begun anew */
    assert_int_equal(write_backs, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_empty_wal_asks_for_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_writer_that_is_idle_empties_the_wal, setup, teardown),
        cmocka_unit_test_setup_teardown(each_is_counted_with_its_pages_and_time, setup, teardown),
        cmocka_unit_test_setup_teardown(one_that_fails_is_counted_as_such, setup, teardown),
        cmocka_unit_test_setup_teardown(a_batch_empties_the_wal_only_when_it_is_large, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_disk_is_kept_writing_where_commits_do_not_wait, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
