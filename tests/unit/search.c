#include "endpoints/search.h"

#include "support.h"

static void words_are_quoted_and_all_else_separates(void **state) {
    static const struct {
        const char *text, *expression;
    } cases[] = {
        {"", ""},
        {"bread", "\"bread\""},
        {"rye bread", "\"rye\" \"bread\""},
        {"  rye  ", "\"rye\""},
        {"AB-12", "\"AB\" \"12\""},
        {"a\"b", "\"a\" \"b\""},
        {"\"\"\"", ""},
        {"a OR b*", "\"a\" \"OR\" \"b\""},
        {"NEAR(a, 2)", "\"NEAR\" \"a\" \"2\""},
        {"sku:x ^y -z", "\"sku\" \"x\" \"y\" \"z\""},
        {"caf\xC3\xA9", "\"caf\xC3\xA9\""},
        {"a\xE2\x80\x94"
         "b",
         "\"a\" \"b\""},
        {"a\xC2\xA0"
         "b",
         "\"a\" \"b\""},
        {"\xF0\x9F\x98\x80", ""},
        {"tea\xF0\x9F\x98\x80"
         "cup",
         "\"tea\" \"cup\""},
        {"\xD1\x87\xD0\xB0\xD0\xB9", "\"\xD1\x87\xD0\xB0\xD0\xB9\""},
        {"\xE6\x97\xA5\xE6\x9C\xAC\xE3\x80\x82", "\"\xE6\x97\xA5\xE6\x9C\xAC\""},
    };
    (void)state;
    struct arena arena = {0};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct text text = exactly(text_from(cases[i].text));
        assert_text(search_expression(&arena, text), text_from(cases[i].expression));
        release(text);
    }
    arena_destroy(&arena);
}

/* The ids of the products that have the word, as "1,2". */
static struct text found(struct arena *arena, struct db *db, struct text word) {
    struct buffer ids = {.arena = arena};
    struct db_statement *statement =
        db_statement(db, "SELECT coalesce(group_concat(rowid), '') FROM"
                         " (SELECT rowid FROM products_search WHERE products_search MATCH :q"
                         "  ORDER BY rowid)");
    db_bind_text(statement, ":q", word);
    assert_true(db_row(statement));
    buffer_append(&ids, db_text(statement, 0));
    db_reset_statements(db);
    return buffer_text(&ids);
}

/* Whatever happens to a row in one transaction: the index ends with its last state. */
static void the_index_catches_up_with_all_changes_in_their_order(void **state) {
    (void)state;
    struct arena arena = {0};
    scratch_database(false);
    struct db *db = scratch_open(DB_WRITE);
    assert_true(db_begin(db));
    assert_false(db_has_changed(db));
#define RUN(sql) assert_int_equal(db_run(db_statement(db, sql)), DB_DONE)
    RUN("INSERT INTO categories (id, name) VALUES (1, 'c')");
    RUN("INSERT INTO products (id, sku, name, price_cents, stock, category_id, created_at, updated_at)"
        " VALUES (1, 'A', 'rye bread', 1, 1, 1, '', ''), (2, 'B', 'rye', 1, 1, 1, '', ''),"
        "        (3, 'C', 'rye', 1, 1, 1, '', '')");
    RUN("UPDATE products SET name = 'oat bread' WHERE id = 1");
    RUN("UPDATE products SET name = 'oat cake' WHERE id = 1");
    RUN("UPDATE products SET stock = 7 WHERE id = 2"); /* nothing the index holds */
    RUN("DELETE FROM products WHERE id = 3");
    RUN("INSERT INTO products (id, sku, name, price_cents, stock, category_id, created_at, updated_at)"
        " VALUES (3, 'C', 'tea', 1, 1, 1, '', '')");
    assert_true(db_has_changed(db));
    assert_true(search_catch_up(db));
    assert_true(db_commit(db));
    assert_text(found(&arena, db, TEXT("rye")), TEXT("2"));
    assert_text(found(&arena, db, TEXT("bread")), TEXT(""));
    assert_text(found(&arena, db, TEXT("cake oat")), TEXT("1"));
    assert_text(found(&arena, db, TEXT("tea")), TEXT("3"));
    RUN("INSERT INTO products_search (products_search, rank) VALUES ('integrity-check', 1)");
    RUN("DELETE FROM products");
    assert_true(search_catch_up(db));
    assert_text(found(&arena, db, TEXT("oat OR rye OR tea")), TEXT(""));
    struct db_statement *left = db_statement(db, "SELECT count(*) FROM products_search_changes");
    assert_true(db_row(left));
    assert_int_equal(db_integer(left, 0), 0);
    db_close(db);
    arena_destroy(&arena);
}

static void
what_waits_at_the_start_is_caught_up_with_or_else_left_for_the_next_write(void **state) {
    (void)state;
    struct arena arena = {0};
    scratch_database(true);
    struct db *db = scratch_open(DB_WRITE);
    search_catch_up_at_start(db); /* nothing waits */
    assert_false(db_in_transaction(db));
    RUN("UPDATE products SET name = 'oat cake' WHERE id = 1"); /* as another program does */
    search_catch_up_at_start(db);
    assert_false(db_in_transaction(db));
    assert_text(found(&arena, db, TEXT("cake")), TEXT("1"));
    RUN("UPDATE products SET name = 'rye bread' WHERE id = 1");
    struct db *other = scratch_open(DB_WRITE);
    assert_true(db_begin(other)); /* holds the lock */
    search_catch_up_at_start(db);
    assert_int_equal(db_failure(db), DB_FINE);
    assert_false(db_in_transaction(db));
    assert_text(found(&arena, db, TEXT("cake")), TEXT("1"));
    db_rollback(other);
    assert_true(db_begin(db));
    assert_true(search_catch_up(db));
    assert_true(db_commit(db));
    assert_text(found(&arena, db, TEXT("bread")), TEXT("1"));
    db_close(other);
    db_close(db);
    arena_destroy(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_quoted_and_all_else_separates),
        cmocka_unit_test_setup_teardown(the_index_catches_up_with_all_changes_in_their_order,
                                        scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(
            what_waits_at_the_start_is_caught_up_with_or_else_left_for_the_next_write,
            scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
