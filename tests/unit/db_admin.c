#include "db_admin.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema.h"
#include "support.h"

static void insert_category(struct db *db, const char *name) {
    struct db_statement *statement =
        db_statement(db, "INSERT INTO categories (name) VALUES (:name)");
    db_bind_text(statement, ":name", text_from(name));
    assert_int_equal(db_run(statement), DB_DONE);
    db_reset_statements(db);
}

/* ---- versions ------------------------------------------------------------------------------- */

static void a_version_is_told_of_this_schema_and_the_ones_before_alone(void **state) {
    (void)state;
    char error[DB_ERROR_BYTES];
    const char *path = scratch_database(false);
    for (int version = -1; version <= SCHEMA_VERSION + 1; version++) {
        char sql[64];
        snprintf(sql, sizeof sql, "PRAGMA user_version = %d", version);
        scratch_alter(path, sql);
        bool known = version >= 1 && version <= SCHEMA_VERSION;
        assert_int_equal(db_version(path, NULL, error), known ? version : -1);
        if (!known) {
            assert_non_null(strstr(error, "use the program that fits"));
        }
    }
    scratch_alter(path, "PRAGMA application_id = 7");
    assert_int_equal(db_version(path, NULL, error), -1);
    assert_non_null(strstr(error, "give another --db"));
    assert_int_equal(db_version(path, "ADVICE", error), -1);
    assert_non_null(strstr(error, "ADVICE"));
    assert_int_equal(db_version(scratch_path("none"), NULL, error), -1);
    assert_non_null(strstr(error, "there is no database"));
}

static void opening_an_older_schema_names_the_command_that_helps(void **state) {
    (void)state;
    char error[DB_ERROR_BYTES];
    const char *path = scratch_database(false);
    scratch_alter(path, "PRAGMA user_version = 1");
    assert_null(db_open(path, DB_WRITE, DB_SYNC_FULL, error));
    assert_non_null(strstr(error, "run 'larder migrate --db"));
    assert_int_equal(scratch_files(), 1);
}

/* ---- creating ------------------------------------------------------------------------------- */

static void an_existing_file_is_never_replaced(void **state) {
    (void)state;
    char error[DB_ERROR_BYTES] = "";
    size_t before_length = 0;
    size_t after_length = 0;
    db_close((scratch_database(true), scratch_open(DB_WRITE)));
    char *before = scratch_read(scratch_path("db"), &before_length);
    assert_false(db_create(scratch_path("db"), schema_sql, NULL, error));
    assert_non_null(strstr(error, "exists already"));
    char *after = scratch_read(scratch_path("db"), &after_length);
    assert_int_equal(after_length, before_length);
    assert_memory_equal(after, before, before_length);
    assert_int_equal(scratch_files(), 1);
    free(before);
    free(after);
}

static void a_creation_that_fails_leaves_nothing_behind(void **state) {
    static const struct {
        const char *schema, *demo;
    } cases[] = {
        {"CREATE TABLE a (x); CREATE NONSENSE", NULL},
        {"CREATE TABLE a (x)", "INSERT INTO b VALUES (1)"},
        {"CREATE TABLE a (x UNIQUE)", "INSERT INTO a VALUES (1), (1)"},
        {"nonsense", NULL},
        {"CREATE TABLE p (id INTEGER PRIMARY KEY);"
         "CREATE TABLE c (p INTEGER REFERENCES p (id) DEFERRABLE INITIALLY DEFERRED)",
         "INSERT INTO c VALUES (1)"}, /* fails in the commit */
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char error[DB_ERROR_BYTES] = "";
        assert_false(db_create(scratch_path("db"), cases[i].schema, cases[i].demo, error));
        assert_int_not_equal(error[0], '\0');
        assert_int_equal(scratch_files(), 0);
    }
    char error[DB_ERROR_BYTES] = "";
    assert_false(db_create(scratch_path("no/such/directory"), schema_sql, NULL, error));
    assert_non_null(strstr(error, "cannot create"));
    assert_int_equal(scratch_files(), 0);
}

static void a_new_database_is_one_file_that_opens(void **state) {
    (void)state;
    scratch_database(false);
    assert_int_equal(scratch_files(), 1);
    assert_int_equal(scratch_ask(scratch_path("db"), "SELECT count(*) FROM categories"), 0);
    assert_int_equal(db_check(scratch_path("db"), true, NULL, NULL), 0);
    db_close(scratch_open(DB_WRITE));
    assert_int_equal(scratch_files(), 1);
}

static void a_log_that_was_left_behind_is_not_taken_for_a_new_databases(void **state) {
    static const char *const names[] = {"db-wal", "db-journal"};
    (void)state;
    for (size_t i = 0; i < COUNT(names); i++) {
        char error[DB_ERROR_BYTES] = "";
        fclose(fopen(scratch_path(names[i]), "w"));
        assert_false(db_create(scratch_path("db"), schema_sql, NULL, error));
        assert_non_null(strstr(error, names[i]));
        assert_int_equal(scratch_files(), 1);
        assert_int_equal(unlink(scratch_path(names[i])), 0);
    }
}

/* ---- checking ------------------------------------------------------------------------------- */

static char complaints[4096];
static int complained; /* times */

static void complain(const char *sentence) {
    size_t used = strlen(complaints);
    complained++;
    snprintf(complaints + used, sizeof complaints - used, "%s\n", sentence);
}

static int check(bool alone) {
    complaints[0] = '\0';
    complained = 0;
    int found = db_check(scratch_path("db"), alone, NULL, complain);
    assert_int_equal(found, complained);
    return found;
}

static void a_check_complains_of_references_to_nothing(void **state) {
    (void)state;
    scratch_database(true);
    assert_int_equal(check(true), 0);
    assert_string_equal(complaints, "");
    scratch_alter(
        scratch_path("db"),
        "PRAGMA foreign_keys = OFF; UPDATE products SET category_id = 777 WHERE id IN (3, 4)");
    assert_int_equal(check(false), 2);
    assert_non_null(strstr(complaints, "row 3 of products"));
    assert_non_null(strstr(complaints, "row 4 of products"));
}

static void a_check_complains_of_damage(void **state) {
    (void)state;
    scratch_database(true);
    struct stat status;
    assert_int_equal(stat(scratch_path("db"), &status), 0);
    FILE *file = fopen(scratch_path("db"), "r+");
    assert_non_null(file);
    for (off_t at = status.st_size / 2 / 4096 * 4096; at < status.st_size * 3 / 4; at += 4096) {
        fseek(file, (long)at, SEEK_SET);
        fputs("damage", file);
    }
    fclose(file);
    assert_true(check(false) > 0);
}

static void a_check_alone_complains_of_a_search_that_does_not_fit_its_rows(void **state) {
    (void)state;
    scratch_database(true);
    size_t before_length = 0;
    size_t after_length = 0;
    scratch_alter(scratch_path("db"),
                  "INSERT INTO products_search (products_search, rowid, sku, name)"
                  " VALUES ('delete', 7, 'SKU-000007', 'Product 7')");
    char *before = scratch_read(scratch_path("db"), &before_length);
    assert_int_equal(check(false), 0); /* it would take the lock of a service that is running */
    assert_int_equal(check(true), 1);
    assert_non_null(strstr(complaints, "products_search"));
    char *after = scratch_read(scratch_path("db"), &after_length);
    assert_int_equal(after_length, before_length);
    assert_memory_equal(after, before, before_length);
    assert_int_equal(scratch_files(), 1);
    free(before);
    free(after);
}

static void a_check_beside_a_writer_does_not_take_its_lock_for_damage(void **state) {
    (void)state;
    scratch_database(true);
    struct db *writer = scratch_open(DB_WRITE);
    assert_true(db_begin(writer));
    assert_int_equal(check(true), 0);
    db_rollback(writer);
    db_close(writer);
}

static void a_check_of_nothing_is_a_complaint(void **state) {
    (void)state;
    assert_int_equal(check(false), 1);
    assert_non_null(strstr(complaints, "there is no database"));
}

/* ---- copying -------------------------------------------------------------------------------- */

static int64_t progress_done, progress_total, progress_calls;

static void look(int64_t done, int64_t total) {
    progress_done = done;
    progress_total = total;
    progress_calls++;
}

static bool copy(void (*progress)(int64_t done, int64_t total), char error[static DB_ERROR_BYTES]) {
    progress_calls = 0;
    fclose(fopen(scratch_path("copy"), "w"));
    return db_copy(scratch_path("db"), scratch_path("copy"), progress, error);
}

static void a_copy_holds_what_is_only_in_the_wal_and_nothing_is_checkpointed(void **state) {
    (void)state;
    char error[DB_ERROR_BYTES];
    static const char *const sources[] = {"db", "db-wal"};
    char *before[COUNT(sources)];
    size_t lengths[COUNT(sources)];
    scratch_database(true);
    struct db *writer = scratch_open(DB_WRITE);
    insert_category(writer, "in the wal");
    for (size_t i = 0; i < COUNT(sources); i++) {
        before[i] = scratch_read(scratch_path(sources[i]), &lengths[i]);
    }
    assert_true(copy(look, error));
    assert_int_equal(progress_done, progress_total);
    assert_int_equal(progress_total, scratch_ask(scratch_path("copy"), "PRAGMA page_count"));
    assert_true(progress_calls > 1);
    for (size_t i = 0; i < COUNT(sources); i++) {
        size_t length = 0;
        char *after = scratch_read(scratch_path(sources[i]), &length);
        assert_int_equal(length, lengths[i]);
        assert_memory_equal(after, before[i], length);
        free(after);
        free(before[i]);
    }
    db_close(writer);
    assert_int_equal(scratch_ask(scratch_path("copy"), "SELECT count(*) FROM categories"), 51);
}

static void a_copy_is_one_file_without_a_wal(void **state) {
    (void)state;
    char error[DB_ERROR_BYTES];
    scratch_database(true);
    struct db *writer = scratch_open(DB_WRITE);
    insert_category(writer, "in the wal");
    db_close(writer);
    assert_true(copy(NULL, error));
    int files = scratch_files();
    size_t length = 0;
    char *bytes = scratch_read(scratch_path("copy"), &length);
    assert_int_equal(bytes[18], 1); /* section 1.3.3 of SQLite's file format: no WAL */
    assert_int_equal(bytes[19], 1);
    free(bytes);
    assert_int_equal(db_check(scratch_path("copy"), true, NULL, NULL), 0);
    assert_int_equal(scratch_files(), files); /* nothing beside it, also when it is opened */
    assert_int_not_equal(access(scratch_path("copy-wal"), F_OK), 0);
    assert_int_not_equal(access(scratch_path("copy-journal"), F_OK), 0);
}

static struct db *meanwhile;

static void write_meanwhile(int64_t done, int64_t total) {
    char name[32];
    look(done, total);
    if (progress_calls > 100) {
        return; /* it started again and again */
    }
    snprintf(name, sizeof name, "meanwhile %lld", (long long)progress_calls);
    insert_category(meanwhile, name);
}

static void a_copy_goes_on_while_others_write_and_shows_the_beginning(void **state) {
    (void)state;
    char error[DB_ERROR_BYTES];
    scratch_database(true);
    meanwhile = scratch_open(DB_WRITE);
    assert_true(copy(look, error));
    int64_t calls = progress_calls;
    assert_true(calls > 1);
    assert_true(copy(write_meanwhile, error));
    assert_int_equal(progress_calls, calls); /* it did not start again */
    db_close(meanwhile);
    assert_int_equal(scratch_ask(scratch_path("copy"), "SELECT count(*) FROM categories"), 50);
    assert_int_equal(scratch_ask(scratch_path("db"), "SELECT count(*) FROM categories"),
                     50 + calls);
}

static void a_copy_of_nothing_fails_with_a_sentence(void **state) {
    (void)state;
    char error[DB_ERROR_BYTES] = "";
    assert_false(copy(NULL, error));
    assert_non_null(strstr(error, "there is no database"));
}

/* ---- migrating ------------------------------------------------------------------------------ */

static char applied[256];

static void note(const char *name) {
    snprintf(applied + strlen(applied), sizeof applied - strlen(applied), "%s;", name);
}

static bool migrate(const char *migrations, char error[static DB_ERROR_BYTES]) {
    applied[0] = '\0';
    error[0] = '\0';
    return db_migrate(scratch_path("db"), migrations, note, error);
}

static int64_t version_now(void) {
    return scratch_ask(scratch_path("db"), "PRAGMA user_version");
}

/* A database that says it is of version 1. */
static void database_of_version_1(void) {
    scratch_database(true);
    scratch_alter(scratch_path("db"), "PRAGMA user_version = 1");
}

static void migrations_that_are_missing_run_in_order(void **state) {
    (void)state;
    char error[DB_ERROR_BYTES];
    static const char migrations[] = "0001-never.sql\0nonsense\0"
                                     "0002-a.sql\0CREATE TABLE a (x)\0"
                                     "0003-b.sql\0INSERT INTO a SELECT id FROM categories\0";
    database_of_version_1();
    assert_true(migrate(migrations, error));
    assert_string_equal(applied, "0002-a.sql;0003-b.sql;");
    assert_int_equal(version_now(), 3);
    assert_int_equal(scratch_ask(scratch_path("db"), "SELECT count(*) FROM a"), 50);
}

static void a_database_with_a_wal_is_migrated_and_left_with_nothing_beside_it(void **state) {
    (void)state;
    char error[DB_ERROR_BYTES];
    scratch_database(true);
    struct db *writer = scratch_open(DB_WRITE);
    insert_category(writer, "in the wal");
    db_close(writer);
    scratch_alter(scratch_path("db"), "PRAGMA user_version = 1");
    assert_true(migrate("0002-a.sql\0CREATE TABLE a AS SELECT * FROM categories\0", error));
    assert_int_equal(scratch_files(), 1);
    assert_int_equal(scratch_ask(scratch_path("db"), "SELECT count(*) FROM a"), 51);
}

static void a_migration_that_fails_is_named_and_changes_nothing(void **state) {
    static const struct {
        const char *migrations, *reason;
    } cases[] = {
        {"0002-bad.sql\0CREATE TABLE a (x); nonsense\0", "syntax error"},
        {"0002-bad.sql\0CREATE TABLE a (x); COMMIT; nonsense\0", "not authorized"},
        {"0002-bad.sql\0CREATE TABLE a (x); ROLLBACK; CREATE TABLE b (x)\0", "not authorized"},
        {"0002-bad.sql\0DELETE FROM categories WHERE id = 2\0", "of products refers to nothing"},
        {"0002-bad.sql\0UPDATE products SET stock = -1\0", "CHECK constraint"},
    };
    (void)state;
    database_of_version_1();
    size_t before_length = 0;
    char *before = scratch_read(scratch_path("db"), &before_length);
    for (size_t i = 0; i < COUNT(cases); i++) {
        char error[DB_ERROR_BYTES];
        size_t length = 0;
        assert_false(migrate(cases[i].migrations, error));
        assert_string_equal(applied, "");
        if (strstr(error, "0002-bad.sql failed") == NULL ||
            strstr(error, cases[i].reason) == NULL ||
            strstr(error, "stays at schema version 1") == NULL) {
            fail_msg("'%s' instead of '%s'", error, cases[i].reason);
        }
        char *after = scratch_read(scratch_path("db"), &length);
        assert_int_equal(length, before_length);
        assert_memory_equal(after, before, length);
        free(after);
        assert_int_equal(scratch_files(), 1);
    }
    free(before);
}

static void what_came_before_a_migration_that_fails_stays(void **state) {
    (void)state;
    char error[DB_ERROR_BYTES];
    database_of_version_1();
    assert_false(migrate("0002-a.sql\0CREATE TABLE a (x)\0"
                         "0003-b.sql\0CREATE TABLE b (x); nonsense\0",
                         error));
    assert_string_equal(applied, "0002-a.sql;");
    assert_non_null(strstr(error, "0003-b.sql failed"));
    assert_non_null(strstr(error, "stays at schema version 2"));
    assert_int_equal(version_now(), 2);
    assert_int_equal(
        scratch_ask(scratch_path("db"), "SELECT count(*) FROM sqlite_schema WHERE name = 'b'"), 0);
}

static void a_table_that_others_refer_to_can_be_made_anew(void **state) {
    (void)state;
    char error[DB_ERROR_BYTES];
    database_of_version_1();
    assert_true(migrate("0002-a.sql\0"
                        "CREATE TABLE new (id INTEGER PRIMARY KEY AUTOINCREMENT,"
                        "                  name TEXT NOT NULL UNIQUE, note TEXT) STRICT;"
                        "INSERT INTO new (id, name) SELECT id, name FROM categories;"
                        "DROP TABLE categories;"
                        "ALTER TABLE new RENAME TO categories\0",
                        error));
    assert_int_equal(db_check(scratch_path("db"), true, NULL, NULL), 0);
    assert_int_equal(scratch_ask(scratch_path("db"),
                                 "SELECT count(*) FROM products JOIN categories c"
                                 " ON c.id = category_id"),
                     10000);
}

static void only_a_database_of_ours_is_migrated(void **state) {
    (void)state;
    char error[DB_ERROR_BYTES];
    scratch_database(false);
    scratch_alter(scratch_path("db"), "PRAGMA user_version = 99");
    assert_false(migrate("0100-a.sql\0CREATE TABLE a (x)\0", error));
    assert_non_null(strstr(error, "schema version 99"));
    scratch_alter(scratch_path("db"), "PRAGMA application_id = 7");
    assert_false(migrate("0100-a.sql\0CREATE TABLE a (x)\0", error));
    assert_non_null(strstr(error, "not a Larder database"));
}

/* The number in a name is what the database will say; a gap or a wrong order would be taken as
 * said.
 */
static void the_migrations_lead_to_this_schema_without_a_gap(void **state) {
    (void)state;
    int version = 1;
    for (const char *name = schema_migrations; *name != '\0';) {
        char expected[8];
        snprintf(expected, sizeof expected, "%04d-", ++version);
        assert_memory_equal(name, expected, 5);
        const char *sql = name + strlen(name) + 1;
        assert_true(strlen(sql) > 0);
        name = sql + strlen(sql) + 1;
    }
    assert_int_equal(version, SCHEMA_VERSION);
}

/* ---- the demo data -------------------------------------------------------------------------- */

static void the_demo_data_has_the_promised_rows(void **state) {
    static const struct {
        const char *sql;
        int64_t expected;
    } cases[] = {
        {"SELECT count(*) FROM products", 10000},
        {"SELECT min(id) FROM products", 1},
        {"SELECT max(id) FROM products", 12499},
        {"SELECT count(*) FROM products WHERE id % 5 = 0", 0},
        {"SELECT count(DISTINCT sku) FROM products", 10000},
        {"SELECT count(*) FROM categories", 50},
        {"SELECT max(id) FROM categories", 50},
        {"SELECT count(*) FROM products p LEFT JOIN categories c ON c.id = p.category_id WHERE c.id IS NULL",
         0},
        {"SELECT seq FROM sqlite_sequence WHERE name = 'products'", 12500},
    };
    (void)state;
    scratch_database(true);
    struct db *db = scratch_open(DB_READ);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct db_statement *statement =
            db_statement_cached(db, cases[i].sql, strlen(cases[i].sql));
        assert_true(db_row(statement));
        if (db_integer(statement, 0) != cases[i].expected) {
            fail_msg("%s: %lld", cases[i].sql, (long long)db_integer(statement, 0));
        }
        db_reset_statements(db);
    }
    db_close(db);
}

static void the_first_demo_product_is_the_contracts_example(void **state) {
    (void)state;
    scratch_database(true);
    struct db *db = scratch_open(DB_READ);
    struct db_statement *statement = db_statement(
        db, "SELECT p.sku, p.name, p.price_cents, p.stock, c.id, c.name, p.created_at, p.updated_at"
            "  FROM products p JOIN categories c ON c.id = p.category_id WHERE p.id = 1");
    static const char *const expected[] = {
        "SKU-000001",           "Product 1",           "7919", "3", "2", "Category 2",
        "2026-11-30T22:00:00Z", "2026-11-30T22:00:00Z"};
    assert_true(db_row(statement));
    for (int i = 0; i < (int)COUNT(expected); i++) {
        assert_text(db_text(statement, i), text_from(expected[i]));
    }
    db_close(db);
}

/* Appends every row of every table. */
static void dump(const char *path, struct buffer *out) {
    sqlite3 *raw = NULL;
    assert_int_equal(sqlite3_open(path, &raw), SQLITE_OK);
    sqlite3_stmt *tables = NULL;
    sqlite3_prepare_v2(raw,
                       "SELECT name, sql FROM sqlite_schema WHERE type = 'table' ORDER BY name", -1,
                       &tables, NULL);
    while (sqlite3_step(tables) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(tables, 0);
        char sql[256];
        sqlite3_stmt *rows = NULL;
        snprintf(sql, sizeof sql, "SELECT * FROM \"%s\"", name);
        buffer_append(out, text_from(name));
        assert_int_equal(sqlite3_prepare_v2(raw, sql, -1, &rows, NULL), SQLITE_OK);
        while (sqlite3_step(rows) == SQLITE_ROW) {
            for (int i = 0; i < sqlite3_column_count(rows); i++) {
                const char *value = sqlite3_column_blob(rows, i);
                buffer_append(out, TEXT("|"));
                buffer_append(out, (struct text){.data = value,
                                                 .length = (size_t)sqlite3_column_bytes(rows, i)});
            }
        }
        sqlite3_finalize(rows);
    }
    sqlite3_finalize(tables);
    sqlite3_close(raw);
}

static void the_demo_data_is_the_same_every_time(void **state) {
    (void)state;
    struct arena arena = {0};
    struct buffer dumps[2] = {{.arena = &arena}, {.arena = &arena}};
    for (int i = 0; i < 2; i++) {
        char error[DB_ERROR_BYTES];
        const char *path = scratch_path(i == 0 ? "one" : "two");
        assert_true(db_create(path, schema_sql, schema_demo_sql, error));
        dump(path, &dumps[i]);
    }
    assert_true(dumps[0].length > 500000);
    assert_text(buffer_text(&dumps[0]), buffer_text(&dumps[1]));
    arena_destroy(&arena);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_version_is_told_of_this_schema_and_the_ones_before_alone),
        TEST(opening_an_older_schema_names_the_command_that_helps),
        TEST(an_existing_file_is_never_replaced),
        TEST(a_creation_that_fails_leaves_nothing_behind),
        TEST(a_new_database_is_one_file_that_opens),
        TEST(a_log_that_was_left_behind_is_not_taken_for_a_new_databases),
        TEST(a_check_complains_of_references_to_nothing),
        TEST(a_check_complains_of_damage),
        TEST(a_check_alone_complains_of_a_search_that_does_not_fit_its_rows),
        TEST(a_check_beside_a_writer_does_not_take_its_lock_for_damage),
        TEST(a_check_of_nothing_is_a_complaint),
        TEST(a_copy_holds_what_is_only_in_the_wal_and_nothing_is_checkpointed),
        TEST(a_copy_is_one_file_without_a_wal),
        TEST(a_copy_goes_on_while_others_write_and_shows_the_beginning),
        TEST(a_copy_of_nothing_fails_with_a_sentence),
        TEST(migrations_that_are_missing_run_in_order),
        TEST(a_database_with_a_wal_is_migrated_and_left_with_nothing_beside_it),
        TEST(a_migration_that_fails_is_named_and_changes_nothing),
        TEST(what_came_before_a_migration_that_fails_stays),
        TEST(a_table_that_others_refer_to_can_be_made_anew),
        TEST(only_a_database_of_ours_is_migrated),
        TEST(the_migrations_lead_to_this_schema_without_a_gap),
        TEST(the_demo_data_has_the_promised_rows),
        TEST(the_first_demo_product_is_the_contracts_example),
        TEST(the_demo_data_is_the_same_every_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
