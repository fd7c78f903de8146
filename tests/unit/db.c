#include "db.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "db_admin.h"
#include "schema.h"
#include "support.h"

/* ---- helpers -------------------------------------------------------------------------------- */

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The database behind the product's back. */
static sqlite3 *open_raw(const char *path) {
    sqlite3 *raw = NULL;
    assert_int_equal(sqlite3_open_v2(path, &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL),
                     SQLITE_OK);
    return raw;
}

static void run_raw(sqlite3 *raw, const char *sql) {
    char *message = NULL;
    if (sqlite3_exec(raw, sql, NULL, NULL, &message) != SQLITE_OK) {
        fail_msg("%s: %s", sql, message);
    }
}

static enum db_result insert_category(struct db *db, const char *name) {
    struct db_statement *statement =
        db_statement(db, "INSERT INTO categories (name) VALUES (:name)");
    db_bind_text(statement, ":name", text_from(name));
    enum db_result result = db_run(statement);
    db_reset_statements(db);
    return result;
}

static int64_t count_categories(struct db *db) {
    struct db_statement *statement = db_statement(db, "SELECT count(*) FROM categories");
    int64_t count = db_row(statement) ? db_integer(statement, 0) : -1;
    db_reset_statements(db);
    return count;
}

static void assert_begin(struct db *db) {
    assert_true(db_begin(db));
    assert_true(db_in_transaction(db));
}

static void assert_commit(struct db *db) {
    assert_true(db_commit(db));
    assert_false(db_in_transaction(db));
}

/* A writer on a database with the schema and two categories. */
static struct db *writer_with_two_categories(void) {
    scratch_database(false);
    struct db *db = scratch_open(DB_WRITE);
    assert_begin(db);
    assert_int_equal(insert_category(db, "one"), DB_DONE);
    assert_int_equal(insert_category(db, "two"), DB_DONE);
    assert_commit(db);
    return db;
}

/* ---- statements ----------------------------------------------------------------------------- */

static struct db_statement *ask_for_three(struct db *db) {
    return db_statement(db, "SELECT :a, :b, 3");
}

static void a_literal_always_gives_the_same_statement_and_another_literal_another(void **state) {
    (void)state;
    scratch_database(false);
    struct db *db = scratch_open(DB_READ);
    int before = db_statements_prepared(db);
    struct db_statement *first = ask_for_three(db);
    assert_ptr_equal(ask_for_three(db), first);
    db_reset_statements(db);
    assert_ptr_equal(ask_for_three(db), first);
    assert_int_equal(db_statements_prepared(db), before + 1);
    struct db_statement *other = db_statement(db, "SELECT :a, :b, 4");
    assert_ptr_not_equal(other, first);
    assert_int_equal(db_statements_prepared(db), before + 2);
    db_close(db);
}

static void statements_are_counted_as_found_or_prepared(void **state) {
    (void)state;
    scratch_database(false);
    struct db *db = scratch_open(DB_READ);
    *db_counts(db) = (struct db_counts){0};
    for (int i = 0; i < 5; i++) {
        db_statement(db, "SELECT 1");
        db_reset_statements(db);
    }
    assert_int_equal(db_counts(db)->misses, 1);
    assert_int_equal(db_counts(db)->hits, 4);
    db_close(db);
}

static void a_hundred_literals_are_kept_apart(void **state) {
    (void)state;
    scratch_database(false);
    struct db *db = scratch_open(DB_READ);
    enum { LITERALS = 100 };
    static char literals[LITERALS][32];
    struct db_statement *statements[LITERALS] = {NULL};
    int before = db_statements_prepared(db);
    for (int use = 0; use < 3; use++) {
        for (int i = 0; i < LITERALS; i++) {
            int length = snprintf(literals[i], sizeof literals[i], "SELECT %d", i);
            struct db_statement *statement = db_statement_cached(db, literals[i], (size_t)length);
            assert_true(use == 0 || statement == statements[i]);
            statements[i] = statement;
            assert_true(db_row(statement));
            assert_int_equal(db_integer(statement, 0), i);
        }
        db_reset_statements(db);
    }
    assert_int_equal(db_statements_prepared(db), before + LITERALS);
    db_close(db);
}

static void nothing_bound_in_one_use_is_there_in_the_next(void **state) {
    (void)state;
    scratch_database(false);
    struct db *db = scratch_open(DB_READ);
    for (int reset = 0; reset < 2; reset++) { /* between two requests, and within one */
        struct db_statement *statement = ask_for_three(db);
        db_bind_integer(statement, ":a", 1);
        db_bind_text(statement, ":b", TEXT("text"));
        assert_true(db_row(statement));
        assert_int_equal(db_integer(statement, 0), 1);
        assert_text(db_text(statement, 1), TEXT("text"));
        if (reset == 0) {
            db_reset_statements(db);
        }
        statement = ask_for_three(db);
        db_bind_integer(statement, ":a", 2);
        assert_true(db_row(statement));
        assert_int_equal(db_integer(statement, 0), 2);
        assert_int_equal(db_value(statement, 1).type, DB_NULL);
        db_reset_statements(db);
    }
    db_close(db);
}

static void a_statement_left_in_the_middle_starts_anew_in_the_next_use(void **state) {
    (void)state;
    scratch_database(true);
    struct db *db = scratch_open(DB_READ);
    for (int reset = 0; reset < 2; reset++) {
        for (int use = 0; use < 3; use++) {
            struct db_statement *statement =
                db_statement(db, "SELECT id FROM products ORDER BY id");
            assert_true(db_row(statement));
            assert_int_equal(db_integer(statement, 0), 1);
            assert_true(db_row(statement));
            if (reset == 1) {
                db_reset_statements(db);
            }
        }
    }
    db_close(db);
}

static void a_reset_lets_a_snapshot_go(void **state) {
    (void)state;
    struct db *writer = writer_with_two_categories();
    struct db *reader = scratch_open(DB_READ);
    struct db_statement *statement =
        db_statement(reader, "SELECT name FROM categories ORDER BY id");
    assert_true(
        db_row(statement)); /* without a transaction the statement itself holds the snapshot */
    assert_int_equal(insert_category(writer, "three"), DB_DONE);
    struct db_statement *count = db_statement(reader, "SELECT count(*) FROM categories");
    assert_true(db_row(count));
    assert_int_equal(db_integer(count, 0), 2);
    db_reset_statements(reader);
    assert_int_equal(count_categories(reader), 3);
    db_close(reader);
    db_close(writer);
}

static void values_of_every_kind_come_back_as_they_were_bound(void **state) {
    static const int64_t integers[] = {0, 1, -1, INT64_MAX, INT64_MIN, INT64_C(1) << 40};
    static const struct text texts[] = {{"", 0},
                                        {"a", 1},
                                        {"a\0b", 3},
                                        {"\xC3\xA4\xF0\x9F\x8D\x9E", 6},
                                        {"'; DROP TABLE products; --", 26}};
    (void)state;
    scratch_database(false);
    struct db *db = scratch_open(DB_READ);
    for (size_t i = 0; i < COUNT(integers); i++) {
        struct db_statement *statement = db_statement(db, "SELECT :value");
        db_bind_integer(statement, ":value", integers[i]);
        assert_true(db_row(statement));
        assert_int_equal(db_value(statement, 0).type, DB_INTEGER);
        assert_true(db_integer(statement, 0) == integers[i]);
        assert_true(db_value(statement, 0).integer == integers[i]);
    }
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct db_statement *statement = db_statement(db, "SELECT :value");
        struct text exact = exactly(texts[i]);
        db_bind_text(statement, ":value", exact);
        assert_true(db_row(statement));
        assert_int_equal(db_value(statement, 0).type, DB_TEXT);
        assert_text(db_text(statement, 0), texts[i]);
        assert_text(db_value(statement, 0).text, texts[i]);
        db_reset_statements(db);
        release(exact);
    }
    db_close(db);
}

static void a_statement_knows_its_parameters_and_columns(void **state) {
    (void)state;
    scratch_database(false);
    struct db *db = scratch_open(DB_READ);
    struct db_statement *statement =
        db_statement(db, "SELECT :a AS \"one\", :b AS \"two.three\" WHERE :a");
    assert_true(db_has_parameter(statement, ":a"));
    assert_true(db_has_parameter(statement, ":b"));
    assert_false(db_has_parameter(statement, ":c"));
    assert_false(db_has_parameter(statement, "a"));
    assert_int_equal(db_columns(statement), 2);
    assert_string_equal(db_column_name(statement, 0), "one");
    assert_string_equal(db_column_name(statement, 1), "two.three");
    assert_false(db_row(statement)); /* NULL is not true */
    assert_int_equal(db_failure(db), DB_FINE);
    db_close(db);
}

/* Ten, more than are known by the address of their name, and each by two names of the same text. */
static void a_parameter_is_found_by_its_name_wherever_that_lies(void **state) {
    (void)state;
    scratch_database(false);
    struct db *db = scratch_open(DB_READ);
    static const char names[2][10][3] = {
        {":a", ":b", ":c", ":d", ":e", ":f", ":g", ":h", ":i", ":j"},
        {":a", ":b", ":c", ":d", ":e", ":f", ":g", ":h", ":i", ":j"}};
    for (int round = 0; round < 6; round++) {
        struct db_statement *statement =
            db_statement(db, "SELECT :a, :b, :c, :d, :e, :f, :g, :h, :i, :j");
        for (int i = 9; i >= 0; i--) {
            db_bind_integer(statement, names[round % 2][i], round * 100 + i);
        }
        assert_true(db_row(statement));
        for (int i = 0; i < 10; i++) {
            assert_int_equal(db_integer(statement, i), round * 100 + i);
        }
        db_reset_statements(db);
    }
    db_close(db);
}

static void an_annotation_stays_with_its_statement_and_goes_with_it(void **state) {
    (void)state;
    scratch_database(false);
    struct db *db = scratch_open(DB_READ);
    void **annotation = db_annotation(ask_for_three(db));
    assert_null(*annotation);
    *annotation = malloc(100); /* the leak check sees it if it is not freed */
    db_reset_statements(db);
    assert_ptr_equal(*db_annotation(ask_for_three(db)), *annotation);
    assert_null(*db_annotation(db_statement(db, "SELECT 5")));
    db_close(db);
}

/* ---- results and failures ------------------------------------------------------------------- */

static void a_value_that_must_be_unique_is_taken_once(void **state) {
    (void)state;
    struct db *db = writer_with_two_categories();
    assert_int_equal(insert_category(db, "one"), DB_UNIQUE);
    assert_int_equal(db_failure(db), DB_FINE);
    assert_int_equal(count_categories(db), 2);
    assert_int_equal(insert_category(db, "three"), DB_DONE);
    struct db_statement *statement =
        db_statement(db, "UPDATE categories SET name = 'one' WHERE name = 'two'");
    assert_int_equal(db_run(statement), DB_UNIQUE);
    db_close(db);
}

static void a_primary_key_is_unique_too(void **state) {
    (void)state;
    struct db *db = writer_with_two_categories();
    log_capture();
    enum db_result result =
        db_run(db_statement(db, "INSERT INTO categories (id, name) VALUES (1, 'three')"));
    log_captured();
    enum db_failure failure = db_failure(db);
    db_close(db);
    assert_int_equal(result, DB_UNIQUE);
    assert_int_equal(failure, DB_FINE);
}

static void a_reference_to_nothing_is_refused_and_so_is_leaving_one_behind(void **state) {
    (void)state;
    struct db *db = writer_with_two_categories();
    struct db_statement *insert = db_statement(
        db,
        "INSERT INTO products (sku, name, price_cents, stock, category_id, created_at, updated_at)"
        " VALUES ('A', 'a', 1, 1, :category_id, '', '')");
    db_bind_integer(insert, ":category_id", 3);
    assert_int_equal(db_run(insert), DB_REFERENCE);
    db_bind_integer(insert, ":category_id", 2);
    assert_int_equal(db_run(insert), DB_DONE);
    assert_int_equal(db_inserted_id(db), 1);
    assert_int_equal(db_run(db_statement(db, "DELETE FROM categories WHERE id = 2")), DB_REFERENCE);
    assert_int_equal(db_run(db_statement(db, "DELETE FROM categories WHERE id = 1")), DB_DONE);
    assert_int_equal(count_categories(db), 1);
    assert_int_equal(db_failure(db), DB_FINE);
    db_close(db);
}

static void the_rows_that_a_statement_changed_are_counted(void **state) {
    (void)state;
    struct db *db = writer_with_two_categories();
    assert_int_equal(db_inserted_id(db), 2);
    assert_int_equal(db_run(db_statement(db, "UPDATE categories SET name = name || '!'")), DB_DONE);
    assert_int_equal(db_changes(db), 2);
    assert_int_equal(db_run(db_statement(db, "DELETE FROM categories WHERE id = 99")), DB_DONE);
    assert_int_equal(db_changes(db), 0);
    db_close(db);
}

static void an_id_is_never_given_twice(void **state) {
    (void)state;
    struct db *db = writer_with_two_categories();
    assert_int_equal(db_run(db_statement(db, "DELETE FROM categories")), DB_DONE);
    assert_int_equal(insert_category(db, "three"), DB_DONE);
    assert_int_equal(db_inserted_id(db), 3);
    db_close(db);
}

static void a_reader_cannot_write_and_the_failure_sticks_until_it_is_cleared(void **state) {
    (void)state;
    db_close(writer_with_two_categories());
    struct db *db = scratch_open(DB_READ);
    log_capture();
    enum db_result result = insert_category(db, "three");
    enum db_result second = insert_category(db, "four");
    const char *log = log_captured();
    assert_int_equal(result, DB_FAILED);
    assert_int_equal(second, DB_FAILED);
    assert_int_equal(db_failure(db), DB_BROKEN);
    assert_non_null(strstr(log, " D01 "));
    assert_ptr_equal(strchr(log, '\n'),
                     log + strlen(log) - 1);    /* one line: the first one is the cause */
    assert_int_equal(count_categories(db), -1); /* no rows while it sticks */
    db_clear_failure(db);
    assert_int_equal(db_failure(db), DB_FINE);
    assert_int_equal(count_categories(db), 2);
    db_close(db);
}

static void a_literal_that_cannot_be_prepared_gives_no_rows_and_a_failure(void **state) {
    (void)state;
    struct db *db = writer_with_two_categories();
    for (int use = 0; use < 3; use++) {
        log_capture();
        struct db_statement *statement =
            db_statement(db, "SELECT nonsense FROM nowhere WHERE a = :a");
        log_captured();
        assert_non_null(statement);
        assert_int_equal(db_failure(db), DB_BROKEN);
        db_bind_integer(statement, ":a", 1);
        db_bind_text(statement, ":a", TEXT("a"));
        assert_false(db_has_parameter(statement, ":a"));
        assert_int_equal(db_columns(statement), 0);
        assert_false(db_row(statement));
        assert_int_equal(db_run(statement), DB_FAILED);
        db_reset_statements(db);
        db_clear_failure(db);
        assert_int_equal(count_categories(db), 2);
    }
    db_close(db);
}

static void a_literal_that_could_not_be_prepared_is_prepared_when_it_can(void **state) {
    (void)state;
    scratch_database(false);
    struct db *db = scratch_open(DB_WRITE);
    for (int use = 0; use < 2; use++) {
        log_capture();
        struct db_statement *statement = db_statement(db, "SELECT 42 FROM later");
        log_captured();
        assert_int_equal(db_row(statement), use == 1);
        db_reset_statements(db);
        db_clear_failure(db);
        if (use == 0) {
            assert_int_equal(db_run(db_statement(db, "CREATE TABLE later AS SELECT 1")), DB_DONE);
            db_reset_statements(db);
        }
    }
    db_close(db);
}

static void a_full_disk_is_told_apart_and_leaves_nothing_of_the_transaction(void **state) {
    (void)state;
    struct db *db = writer_with_two_categories();
    assert_true(
        db_row(db_statement(db, "PRAGMA max_page_count = 1"))); /* becomes the present size */
    db_reset_statements(db);
    assert_begin(db);
    assert_true(db_savepoint(db));
    assert_int_equal(insert_category(db, "three"), DB_DONE);
    assert_true(db_savepoint_keep(db));
    assert_true(db_savepoint(db));
    log_capture();
    enum db_result result = db_run(db_statement(
        db, "INSERT INTO categories (name)"
            " WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)"
            " SELECT printf('%1000d', i) FROM n"));
    bool kept = db_savepoint_keep(db);
    bool committed = db_commit(db);
    log_captured();
    assert_int_equal(result, DB_FAILED);
    assert_int_equal(db_failure(db), DB_FULL);
    assert_false(kept);
    assert_false(committed);
    assert_false(db_in_transaction(db));
    db_clear_failure(db);
    assert_int_equal(count_categories(db), 2);
    assert_true(db_row(db_statement(db, "PRAGMA max_page_count = 100000")));
    db_reset_statements(db);
    assert_int_equal(insert_category(db, "three"), DB_DONE);
    db_close(db);
}

static void a_writer_waits_for_anothers_lock_up_to_the_time_limit(void **state) {
    (void)state;
    struct db *db = writer_with_two_categories();
    sqlite3 *raw = open_raw(scratch_path("db"));
    run_raw(raw, "BEGIN IMMEDIATE");
    int64_t before = now_ms();
    log_capture();
    bool begun = db_begin(db);
    log_captured();
    int64_t waited = now_ms() - before;
    assert_false(begun);
    assert_false(db_in_transaction(db));
    assert_int_equal(db_failure(db), DB_BUSY);
    assert_in_range(waited, DB_BUSY_TIMEOUT_MS - 500, DB_BUSY_TIMEOUT_MS + 1500);
    assert_int_equal(db_counts(db)->lock_waits, 1);
    assert_in_range(db_counts(db)->lock_wait_ns / 1000000, DB_BUSY_TIMEOUT_MS - 500, waited);
    run_raw(raw, "ROLLBACK");
    sqlite3_close(raw);
    db_clear_failure(db);
    assert_begin(db);
    assert_int_equal(insert_category(db, "three"), DB_DONE);
    assert_commit(db);
    db_close(db);
}

/* ---- transactions --------------------------------------------------------------------------- */

static void what_is_committed_another_connection_sees_and_nothing_before(void **state) {
    (void)state;
    struct db *writer = writer_with_two_categories();
    struct db *reader = scratch_open(DB_READ);
    assert_begin(writer);
    assert_int_equal(insert_category(writer, "three"), DB_DONE);
    assert_int_equal(count_categories(reader), 2);
    assert_commit(writer);
    assert_int_equal(count_categories(reader), 3);
    db_close(reader);
    db_close(writer);
}

static void a_reader_sees_one_snapshot_from_begin_to_commit(void **state) {
    (void)state;
    struct db *writer = writer_with_two_categories();
    struct db *reader = scratch_open(DB_READ);
    assert_begin(reader);
    assert_int_equal(count_categories(reader), 2);
    assert_int_equal(insert_category(writer, "three"), DB_DONE);
    assert_int_equal(count_categories(reader), 2);
    assert_commit(reader);
    assert_begin(reader);
    assert_int_equal(count_categories(reader), 3);
    db_rollback(reader);
    assert_false(db_in_transaction(reader));
    db_close(reader);
    db_close(writer);
}

static void what_is_rolled_back_is_gone(void **state) {
    (void)state;
    struct db *db = writer_with_two_categories();
    assert_begin(db);
    assert_int_equal(insert_category(db, "three"), DB_DONE);
    assert_int_equal(count_categories(db), 3);
    db_rollback(db);
    assert_false(db_in_transaction(db));
    assert_int_equal(count_categories(db), 2);
    db_rollback(db); /* without a transaction there is nothing to do */
    assert_int_equal(db_failure(db), DB_FINE);
    assert_false(db_commit(db));
    db_close(db);
}

static void a_savepoint_is_kept_or_undone_alone(void **state) {
    (void)state;
    struct db *db = writer_with_two_categories();
    assert_begin(db);
    for (int i = 0; i < 4; i++) {
        static const char *const names[] = {"kept 1", "undone 1", "kept 2", "undone 2"};
        assert_true(db_savepoint(db));
        assert_int_equal(insert_category(db, names[i]), DB_DONE);
        if (i % 2 == 0) {
            assert_true(db_savepoint_keep(db));
        } else {
            db_savepoint_undo(db);
        }
    }
    assert_true(db_in_transaction(db));
    assert_commit(db);
    struct db_statement *statement = db_statement(
        db,
        "SELECT group_concat(name, ',') FROM (SELECT name FROM categories WHERE id > 2 ORDER BY id)");
    assert_true(db_row(statement));
    assert_text(db_text(statement, 0), TEXT("kept 1,kept 2"));
    db_close(db);
}

static void undoing_a_savepoint_works_while_a_statement_is_in_the_middle_of_its_rows(void **state) {
    (void)state;
    struct db *db = writer_with_two_categories();
    assert_begin(db);
    assert_true(db_savepoint(db));
    assert_int_equal(insert_category(db, "three"), DB_DONE);
    struct db_statement *statement = db_statement(db, "SELECT id FROM categories");
    assert_true(db_row(statement));
    db_savepoint_undo(db);
    db_reset_statements(db);
    assert_int_equal(db_failure(db), DB_FINE);
    assert_int_equal(count_categories(db), 2);
    assert_commit(db);
    db_close(db);
}

static void a_transaction_in_which_something_failed_is_not_committed(void **state) {
    (void)state;
    struct db *db = writer_with_two_categories();
    assert_begin(db);
    assert_int_equal(insert_category(db, "three"), DB_DONE);
    log_capture();
    assert_int_equal(db_run(db_statement(db, "INSERT INTO nowhere VALUES (1)")), DB_FAILED);
    bool committed = db_commit(db);
    log_captured();
    assert_false(committed);
    assert_false(db_in_transaction(db));
    db_clear_failure(db);
    assert_int_equal(count_categories(db), 2);
    db_close(db);
}

static void a_commit_outlives_the_death_of_its_process(void **state) {
    (void)state;
    db_close(writer_with_two_categories());
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct db *db = scratch_open(DB_WRITE);
        bool done = db_begin(db) && insert_category(db, "committed") == DB_DONE && db_commit(db) &&
                    db_begin(db) && insert_category(db, "not committed") == DB_DONE;
        _exit(done ? 0 : 1); /* without closing anything */
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    struct db *db = scratch_open(DB_WRITE);
    assert_int_equal(count_categories(db), 3);
    assert_int_equal(db_check(scratch_path("db"), false, NULL, NULL), 0);
    assert_begin(db);
    assert_commit(db);
    db_close(db);
}

/* ---- opening -------------------------------------------------------------------------------- */

static void assert_refused(const char *path, const char *reason) {
    for (int mode = DB_READ; mode <= DB_WRITE; mode++) {
        char error[DB_ERROR_BYTES] = "";
        size_t before_length = 0;
        size_t after_length = 0;
        bool is_file = access(path, F_OK) == 0;
        char *before = is_file ? scratch_read(path, &before_length) : NULL;
        assert_null(db_open(path, (enum db_mode)mode, DB_SYNC_FULL, error));
        if (strstr(error, reason) == NULL || strstr(error, path) == NULL) {
            fail_msg("'%s' does not speak of '%s'", error, reason);
        }
        if (is_file) {
            char *after = scratch_read(path, &after_length);
            assert_int_equal(after_length, before_length);
            assert_memory_equal(after, before, before_length);
            free(after);
            free(before);
        } else {
            assert_int_not_equal(access(path, F_OK), 0);
        }
    }
}

static void a_missing_database_is_refused_with_the_way_to_make_one(void **state) {
    (void)state;
    assert_refused(scratch_path("db"), "larder init");
    assert_refused(scratch_path("no/such/directory"), "larder init");
    assert_int_equal(scratch_files(), 0);
}

static void a_file_that_is_no_database_is_refused_and_left_alone(void **state) {
    (void)state;
    FILE *file = fopen(scratch_path("db"), "w");
    assert_non_null(file);
    for (int i = 0; i < 1000; i++) {
        fputs("this is not a database\n", file);
    }
    fclose(file);
    assert_refused(scratch_path("db"), "cannot be read as a database");
    assert_int_equal(scratch_files(), 1);
}

static void an_empty_file_is_refused_and_left_alone(void **state) {
    (void)state;
    fclose(fopen(scratch_path("db"), "w"));
    assert_refused(scratch_path("db"), "not a Larder database");
    assert_int_equal(scratch_files(), 1);
}

static void a_database_of_another_program_is_refused_and_left_alone(void **state) {
    (void)state;
    scratch_alter(scratch_path("db"),
                  "CREATE TABLE t (x); INSERT INTO t VALUES (1); PRAGMA application_id = 1;"
                  "PRAGMA user_version = 1");
    assert_refused(scratch_path("db"), "not a Larder database");
    assert_int_equal(scratch_files(), 1);
}

static void a_database_of_another_schema_version_is_refused_and_left_alone(void **state) {
    static const int versions[] = {0, SCHEMA_VERSION + 1, -1, 2000000000};
    (void)state;
    scratch_database(false);
    for (size_t i = 0; i < COUNT(versions); i++) {
        char sql[64];
        snprintf(sql, sizeof sql, "PRAGMA user_version = %d", versions[i]);
        scratch_alter(scratch_path("db"), sql);
        assert_refused(scratch_path("db"), "schema version");
    }
}

static void a_directory_is_refused(void **state) {
    (void)state;
    assert_int_equal(mkdir(scratch_path("db"), 0700), 0);
    for (int mode = DB_READ; mode <= DB_WRITE; mode++) {
        char error[DB_ERROR_BYTES] = "";
        assert_null(db_open(scratch_path("db"), (enum db_mode)mode, DB_SYNC_FULL, error));
        assert_non_null(strstr(error, "is a directory"));
    }
    assert_int_equal(scratch_files(), 1);
}

static void opening_sets_what_the_service_relies_on(void **state) {
    (void)state;
    scratch_database(false);
    static const struct {
        enum db_mode mode;
        enum db_sync sync;
        int synchronous;
    } cases[] = {
        {DB_WRITE, DB_SYNC_FULL, 2}, {DB_WRITE, DB_SYNC_NORMAL, 1}, {DB_READ, DB_SYNC_FULL, 2}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        char error[DB_ERROR_BYTES];
        struct db *db = db_open(scratch_path("db"), cases[i].mode, cases[i].sync, error);
        assert_non_null(db);
        struct db_statement *statement = db_statement(
            db, "SELECT s.synchronous, f.foreign_keys, j.journal_mode"
                "  FROM pragma_synchronous s, pragma_foreign_keys f, pragma_journal_mode j");
        assert_true(db_row(statement));
        assert_int_equal(db_integer(statement, 0), cases[i].synchronous);
        assert_int_equal(db_integer(statement, 1), 1);
        assert_text(db_text(statement, 2), TEXT("wal"));
        statement = db_statement(db, "PRAGMA mmap_size");
        assert_true(db_row(statement));
        assert_int_equal(db_integer(statement, 0), 0);
        db_close(db);
    }
}

/* ---- the write-ahead log -------------------------------------------------------------------- */

static void pages_gather_in_the_wal_until_a_checkpoint_moves_them(void **state) {
    (void)state;
    scratch_database(false);
    struct db *db = scratch_open(DB_WRITE);
    assert_int_equal(db_wal_pages(db), 1); /* what others left there is not known yet */
    assert_true(db_checkpoint(db));
    assert_int_equal(db_wal_pages(db), 0);
    int last = 0;
    for (int i = 0; last < 1500;
         i++) { /* past the 1000 pages at which SQLite would checkpoint by itself */
        char name[16];
        snprintf(name, sizeof name, "%d", i);
        assert_begin(db);
        assert_int_equal(insert_category(db, name), DB_DONE);
        assert_commit(db);
        assert_true(db_wal_pages(db) > last);
        last = db_wal_pages(db);
    }
    db_checkpoint(db);
    assert_int_equal(db_wal_pages(db), 0);
    assert_int_equal(db_failure(db), DB_FINE);
    struct stat status;
    assert_int_equal(stat(scratch_path("db-wal"), &status), 0);
    off_t size = status.st_size;
    assert_int_equal(insert_category(db, "after"), DB_DONE); /* begins the WAL anew */
    assert_int_equal(stat(scratch_path("db-wal"), &status), 0);
    assert_int_equal(status.st_size, size);
    assert_in_range(db_wal_pages(db), 1, 10);
    db_close(db);
}

static void who_leaves_leaves_the_wal_to_the_next(void **state) {
    (void)state;
    struct stat before;
    struct stat after;
    db_close(writer_with_two_categories()); /* the last to close: it is emptied */
    assert_int_not_equal(stat(scratch_path("db-wal"), &before), 0);
    struct db *db = scratch_open(DB_WRITE);
    assert_int_equal(insert_category(db, "three"), DB_DONE);
    assert_int_equal(stat(scratch_path("db-wal"), &before), 0);
    db_leave(db);
    assert_int_equal(stat(scratch_path("db-wal"), &after), 0);
    assert_int_equal(after.st_size, before.st_size);
    db = scratch_open(DB_WRITE);
    assert_int_equal(count_categories(db), 3);
    assert_true(db_checkpoint(db));
    assert_int_equal(db_wal_pages(db), 0);
    db_close(db);
}

static void a_checkpoint_does_not_wait_for_a_reader_and_ends_after_it(void **state) {
    (void)state;
    struct db *writer = writer_with_two_categories();
    struct db *reader = scratch_open(DB_READ);
    assert_begin(reader);
    assert_int_equal(count_categories(reader), 2);
    assert_int_equal(insert_category(writer, "three"), DB_DONE);
    int64_t before = now_ms();
    db_checkpoint(writer);
    assert_in_range(now_ms() - before, 0, 1000);
    assert_true(db_wal_pages(writer) > 0); /* the reader needs what they would replace */
    assert_int_equal(count_categories(reader), 2);
    assert_commit(reader);
    db_checkpoint(writer);
    assert_int_equal(db_wal_pages(writer), 0);
    assert_int_equal(db_failure(writer), DB_FINE);
    db_close(reader);
    db_close(writer);
}

static void the_last_writer_to_close_empties_the_wal_and_a_reader_never_does(void **state) {
    (void)state;
    struct db *writer = writer_with_two_categories();
    struct db *reader = scratch_open(DB_READ);
    struct stat status;
    db_close(writer);
    assert_int_equal(stat(scratch_path("db-wal"), &status), 0);
    assert_true(status.st_size > 0);
    assert_int_equal(count_categories(reader), 2);
    db_close(reader);
    assert_int_equal(stat(scratch_path("db-wal"), &status), 0);
    assert_true(status.st_size > 0);
    db_close(scratch_open(DB_WRITE));
    assert_int_equal(scratch_files(), 1);
    struct db *db = scratch_open(DB_READ);
    assert_int_equal(count_categories(db), 2);
    db_close(db);
    db_close(NULL);
}

static void the_library_tells_its_version_and_options(void **state) {
    (void)state;
    assert_int_equal(db_library_version()[0], '3');
    assert_true(strlen(db_library_source()) > 20);
    int options = 0;
    while (db_library_option(options) != NULL) {
        options++;
    }
    assert_true(options > 0);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_literal_always_gives_the_same_statement_and_another_literal_another),
        TEST(statements_are_counted_as_found_or_prepared),
        TEST(a_hundred_literals_are_kept_apart),
        TEST(nothing_bound_in_one_use_is_there_in_the_next),
        TEST(a_statement_left_in_the_middle_starts_anew_in_the_next_use),
        TEST(a_reset_lets_a_snapshot_go),
        TEST(values_of_every_kind_come_back_as_they_were_bound),
        TEST(a_statement_knows_its_parameters_and_columns),
        TEST(a_parameter_is_found_by_its_name_wherever_that_lies),
        TEST(an_annotation_stays_with_its_statement_and_goes_with_it),
        TEST(a_value_that_must_be_unique_is_taken_once),
        TEST(a_primary_key_is_unique_too),
        TEST(a_reference_to_nothing_is_refused_and_so_is_leaving_one_behind),
        TEST(the_rows_that_a_statement_changed_are_counted),
        TEST(an_id_is_never_given_twice),
        TEST(a_reader_cannot_write_and_the_failure_sticks_until_it_is_cleared),
        TEST(a_literal_that_cannot_be_prepared_gives_no_rows_and_a_failure),
        TEST(a_literal_that_could_not_be_prepared_is_prepared_when_it_can),
        TEST(a_full_disk_is_told_apart_and_leaves_nothing_of_the_transaction),
        TEST(a_writer_waits_for_anothers_lock_up_to_the_time_limit),
        TEST(what_is_committed_another_connection_sees_and_nothing_before),
        TEST(a_reader_sees_one_snapshot_from_begin_to_commit),
        TEST(what_is_rolled_back_is_gone),
        TEST(a_savepoint_is_kept_or_undone_alone),
        TEST(undoing_a_savepoint_works_while_a_statement_is_in_the_middle_of_its_rows),
        TEST(a_transaction_in_which_something_failed_is_not_committed),
        TEST(a_commit_outlives_the_death_of_its_process),
        TEST(a_missing_database_is_refused_with_the_way_to_make_one),
        TEST(a_file_that_is_no_database_is_refused_and_left_alone),
        TEST(an_empty_file_is_refused_and_left_alone),
        TEST(a_database_of_another_program_is_refused_and_left_alone),
        TEST(a_database_of_another_schema_version_is_refused_and_left_alone),
        TEST(a_directory_is_refused),
        TEST(opening_sets_what_the_service_relies_on),
        TEST(pages_gather_in_the_wal_until_a_checkpoint_moves_them),
        TEST(who_leaves_leaves_the_wal_to_the_next),
        TEST(a_checkpoint_does_not_wait_for_a_reader_and_ends_after_it),
        TEST(the_last_writer_to_close_empties_the_wal_and_a_reader_never_does),
        cmocka_unit_test(the_library_tells_its_version_and_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
