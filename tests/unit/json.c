#include "json.h"

#include <stdio.h>

#include "support.h"

static struct arena arena;

static int teardown(void **state) {
    arena_destroy(&arena);
    return scratch_teardown(state);
}

static struct text string_of(struct text text) {
    struct buffer out = {.arena = &arena};
    json_string(&out, text);
    return buffer_text(&out);
}

static void every_ascii_character_is_written_so_that_it_can_be_read_back(void **state) {
    (void)state;
    for (int c = 0; c < 128; c++) {
        char expected[16];
        switch (c) {
        case '"':
            strcpy(expected, "\"\\\"\"");
            break;
        case '\\':
            strcpy(expected, "\"\\\\\"");
            break;
        case '\b':
            strcpy(expected, "\"\\b\"");
            break;
        case '\f':
            strcpy(expected, "\"\\f\"");
            break;
        case '\n':
            strcpy(expected, "\"\\n\"");
            break;
        case '\r':
            strcpy(expected, "\"\\r\"");
            break;
        case '\t':
            strcpy(expected, "\"\\t\"");
            break;
        default:
            snprintf(expected, sizeof expected, c < ' ' ? "\"\\u%04x\"" : "\"%c\"", c);
        }
        char byte = (char)c;
        assert_text(string_of((struct text){.data = &byte, .length = 1}), text_from(expected));
    }
}

static void escapes_keep_what_stands_around_them(void **state) {
    static const struct {
        struct text text;
        const char *expected;
    } cases[] = {
        {{"", 0}, "\"\""},
        {{"plain", 5}, "\"plain\""},
        {{"\"", 1}, "\"\\\"\""},
        {{"a\"b", 3}, "\"a\\\"b\""},
        {{"\"a\"", 3}, "\"\\\"a\\\"\""},
        {{"\n\n\n", 3}, "\"\\n\\n\\n\""},
        {{"a\0b", 3}, "\"a\\u0000b\""},
        {{"C:\\temp\\\t", 9}, "\"C:\\\\temp\\\\\\t\""},
        {{"\xC3\xA4\xF0\x9F\x8D\x9E", 6}, "\"\xC3\xA4\xF0\x9F\x8D\x9E\""},
        {{"</script>", 9}, "\"</script>\""},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_text(string_of(cases[i].text), text_from(cases[i].expected));
    }
}

static void a_string_of_nothing_but_escapes_is_whole_however_long(void **state) {
    static char text[100000];
    (void)state;
    memset(text, 1, sizeof text);
    struct text out = string_of((struct text){.data = text, .length = sizeof text});
    assert_int_equal(out.length, 6 * sizeof text + 2);
    for (size_t i = 0; i < sizeof text; i++) {
        assert_memory_equal(out.data + 1 + 6 * i, "\\u0001", 6);
    }
}

static void an_escape_is_found_at_any_place(void **state) {
    static const char found[] = {0, 1, 31, '"', '\\'};
    static const char around[] = {' ', '!', '#', '[', ']', 127, (char)128, (char)255};
    (void)state;
    for (size_t length = 1; length <= 25; length++) {
        for (size_t at = 0; at < length; at++) {
            char bytes[25];
            memset(bytes, around[(length + at) % COUNT(around)], sizeof bytes);
            struct text plain = string_of((struct text){.data = bytes, .length = length});
            assert_int_equal(plain.length, length + 2);
            assert_memory_equal(plain.data + 1, bytes, length);
            bytes[at] = found[(length * 7 + at) % COUNT(found)];
            struct text whole = exactly((struct text){.data = bytes, .length = length});
            struct text out = string_of(whole);
            assert_memory_equal(out.data + 1, bytes, at);
            assert_int_equal(out.data[at + 1], '\\');
            size_t behind = length - at - 1;
            assert_memory_equal(out.data + out.length - 1 - behind, bytes + at + 1, behind);
            release(whole);
        }
    }
}

/* The first row of a statement. */
#define assert_row(sql, expected)                                                                  \
    do {                                                                                           \
        struct db_statement *statement = db_statement(db, sql);                                    \
        struct buffer row = {.arena = &arena};                                                     \
        assert_true(db_row(statement));                                                            \
        json_row(&row, statement);                                                                 \
        assert_text(buffer_text(&row), TEXT(expected));                                            \
        db_reset_statements(db);                                                                   \
    } while (0)

static void a_row_is_an_object_of_its_aliases(void **state) {
    (void)state;
    scratch_database(false);
    struct db *db = scratch_open(DB_READ);
    assert_row("SELECT 1 AS \"id\"", "{\"id\":1}");
    assert_row("SELECT 1 AS \"id\", 'Bread' AS \"name\"", "{\"id\":1,\"name\":\"Bread\"}");
    assert_row("SELECT -9223372036854775808 AS a, 9223372036854775807 AS b, NULL AS c, '' AS d",
               "{\"a\":-9223372036854775808,\"b\":9223372036854775807,\"c\":null,\"d\":\"\"}");
    assert_row("SELECT char(34, 92, 10, 8364) AS \"text\"",
               "{\"text\":\"\\\"\\\\\\n\xE2\x82\xAC\"}");
    assert_row("SELECT 1 AS \"a\"\"b\", 2 AS \"c\\d\"", "{\"a\\\"b\":1,\"c\\\\d\":2}");
    assert_row("SELECT '42' AS text, 42 AS number", "{\"text\":\"42\",\"number\":42}");
    db_close(db);
}

static void a_dot_in_an_alias_opens_an_object(void **state) {
    (void)state;
    scratch_database(false);
    struct db *db = scratch_open(DB_READ);
    assert_row("SELECT 1 AS \"a.b\"", "{\"a\":{\"b\":1}}");
    assert_row("SELECT 1 AS \"a.b\", 2 AS \"a.c\"", "{\"a\":{\"b\":1,\"c\":2}}");
    assert_row("SELECT 1 AS \"x\", 2 AS \"a.b\", 3 AS \"y\"", "{\"x\":1,\"a\":{\"b\":2},\"y\":3}");
    assert_row("SELECT 1 AS \"a.b\", 2 AS \"c.d\"", "{\"a\":{\"b\":1},\"c\":{\"d\":2}}");
    assert_row("SELECT 1 AS \"a.b.c.d\"", "{\"a\":{\"b\":{\"c\":{\"d\":1}}}}");
    assert_row("SELECT 1 AS \"a.b.c\", 2 AS \"a.b.d\", 3 AS \"a.e\", 4 AS \"f\"",
               "{\"a\":{\"b\":{\"c\":1,\"d\":2},\"e\":3},\"f\":4}");
    assert_row("SELECT 1 AS \"a.b.c\", 2 AS \"a.d.c\"",
               "{\"a\":{\"b\":{\"c\":1},\"d\":{\"c\":2}}}");
    assert_row("SELECT 1 AS \"a.b\", 2 AS \"ab.b\"", "{\"a\":{\"b\":1},\"ab\":{\"b\":2}}");
    assert_row("SELECT 1 AS \"a.x\", 2 AS \"a.xy\"", "{\"a\":{\"x\":1,\"xy\":2}}");
    assert_row("SELECT NULL AS \"a.b\", NULL AS \"a.c\"", "{\"a\":{\"b\":null,\"c\":null}}");
    db_close(db);
}

static void the_shape_is_kept_while_the_values_change(void **state) {
    (void)state;
    scratch_database(false);
    struct db *db = scratch_open(DB_READ);
    for (int use = 0; use < 3; use++) {
        struct db_statement *statement = db_statement(
            db,
            "WITH n (i) AS (VALUES (1), (2), (NULL)) SELECT i AS \"i\", 'n' || i AS \"o.name\" FROM n");
        struct buffer rows = {.arena = &arena};
        while (db_row(statement)) {
            json_row(&rows, statement);
        }
        assert_text(buffer_text(&rows),
                    TEXT("{\"i\":1,\"o\":{\"name\":\"n1\"}}{\"i\":2,\"o\":{\"name\":\"n2\"}}"
                         "{\"i\":null,\"o\":{\"name\":null}}"));
        db_reset_statements(db);
    }
    db_close(db);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, scratch_setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(every_ascii_character_is_written_so_that_it_can_be_read_back),
        TEST(escapes_keep_what_stands_around_them),
        TEST(an_escape_is_found_at_any_place),
        TEST(a_string_of_nothing_but_escapes_is_whole_however_long),
        TEST(a_row_is_an_object_of_its_aliases),
        TEST(a_dot_in_an_alias_opens_an_object),
        TEST(the_shape_is_kept_while_the_values_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
