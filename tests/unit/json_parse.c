#include "json_parse.h"

#include <json-c/json.h>
#include <stdio.h>

#include "json_strict.h"
#include "support.h"

static const char *parse(struct text json, struct json_object **tree) {
    struct text exact = exactly(json);
    const char *fault = json_parse(exact, tree);
    release(exact);
    return fault;
}

static void json_becomes_the_tree_it_says(void **state) {
    static const struct {
        const char *json, *expected; /* as json-c writes it */
    } cases[] = {
        {"{}", "{}"},
        {"[]", "[]"},
        {"null", "null"},
        {"true", "true"},
        {"false", "false"},
        {"\"\"", "\"\""},
        {"0", "0"},
        {"12", "12"},
        {"-12", "-12"},
        {"1.5", "1.5"},
        {"9223372036854775807", "9223372036854775807"},
        {"-9223372036854775808", "-9223372036854775808"},
        {" \t\r\n{} \t\r\n", "{}"},
        {"12 ", "12"},
        {"{\"a\":[1,{\"b\":null}],\"c\":\"d\"}", "{\"a\":[1,{\"b\":null}],\"c\":\"d\"}"},
        {"[{\"a\":1},{\"a\":2}]", "[{\"a\":1},{\"a\":2}]"},
        {"{\"a\":{\"a\":{\"a\":1}}}", "{\"a\":{\"a\":{\"a\":1}}}"},
        {"{\"\":1}", "{\"\":1}"},
        {"\"\\u00e4\\ud83c\\udf5e\"", "\"\xC3\xA4\xF0\x9F\x8D\x9E\""},
        {"\"\\n\\\"\\\\\"", "\"\\n\\\"\\\\\""},
        {"[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]", "[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct json_object *tree = NULL;
        const char *fault = parse(text_from(cases[i].json), &tree);
        if (fault != NULL) {
            fail_msg("%s: %s", cases[i].json, fault);
        }
        assert_string_equal(json_object_to_json_string_ext(
                                tree, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
                            cases[i].expected);
        json_object_put(tree);
    }
}

static void what_is_not_json_has_a_fault_and_no_tree(void **state) {
    static const struct {
        struct text json;
        const char *fault; /* a part of it, NULL: any */
    } cases[] = {
        {{NULL, 0}, "is missing"},
        {{"", 0}, "is missing"},
        {{" \r\n\t", 4}, "is missing"},
        {{"{", 1}, "ends before"},
        {{"[1", 2}, "ends before"},
        {{"[1,", 3}, "ends before"},
        {{"{\"a\"", 4}, "ends before"},
        {{"{\"a\":", 5}, "ends before"},
        {{"{\"a\":1", 6}, "ends before"},
        {{"{\"a\":\"b", 7}, "ends inside a string"},
        {{"tru", 3}, NULL},
        {{"nul", 3}, NULL},
        {{"truefalse", 9}, NULL},
        {{"nan", 3}, NULL},
        {{"e", 1}, NULL},
        {{"}", 1}, NULL},
        {{"]", 1}, NULL},
        {{",", 1}, NULL},
        {{":", 1}, NULL},
        {{"[1,]", 4}, NULL},
        {{"[,1]", 4}, NULL},
        {{"[1 2]", 5}, NULL},
        {{"[1:2]", 5}, NULL},
        {{"{\"a\":1,}", 8}, NULL},
        {{"{,}", 3}, NULL},
        {{"{\"a\"}", 5}, NULL},
        {{"{\"a\",1}", 7}, NULL},
        {{"{\"a\":1 \"b\":2}", 13}, NULL},
        {{"{\"a\"::1}", 8}, NULL},
        {{"{1:2}", 5}, NULL},
        {{"{a:1}", 5}, NULL},
        {{"{null:1}", 8}, NULL},
        {{"[1}", 3}, NULL},
        {{"{\"a\":1]", 7}, NULL},
        {{"\"\\x41\"", 6}, NULL},
        {{"\"\\'\"", 4}, NULL},
        {{"1e5e5", 5}, NULL},
        {{"1-1", 3}, NULL},
        {{"1.2.3", 5}, NULL},
        {{"{} {}", 5}, NULL},
        {{"{}[]", 4}, NULL},
        {{"{}}", 3}, NULL},
        {{"[] ]", 4}, NULL},
        {{"\"a\"\"b\"", 6}, NULL},
        {{"1 2", 3}, NULL},
        {{"null,", 5}, NULL},
        {{"{}a", 3}, NULL},
        {{"{\"a\":1,\"a\":1}", 13}, "same key twice"},
        {{"{\"a\":1,\"b\":2,\"a\":null}", 22}, "same key twice"},
        {{"{\"a\":{},\"\\u0061\":{}}", 20}, "same key twice"},
        {{"{\"\":1,\"\":2}", 11}, "same key twice"},
        {{"[{\"x\":{\"a\":1,\"a\":2}}]", 21}, "same key twice"},
        {{"{\"a\":{\"b\":1},\"a\":{\"c\":1}}", 25}, "same key twice"},
        {{"\xEF\xBB\xBF{}", 5}, "byte order mark"},
        {{"\"\xFF\"", 3}, "UTF-8"},
        {{"\"\\u0000\"", 8}, "NUL"},
        {{"\"\\ud800\"", 8}, "surrogate"},
        {{"01", 2}, "number"},
        {{"[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]", 35}, "16 deep"},
        {{"{}\0", 3}, "not JSON"},
        {{"\0", 1}, "not JSON"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct json_object *tree = (struct json_object *)state; /* anything */
        const char *fault = parse(cases[i].json, &tree);
        bool expected =
            fault != NULL && (cases[i].fault == NULL || strstr(fault, cases[i].fault) != NULL);
        if (!expected || tree != NULL) {
            fail_msg("%.*s: %s", (int)cases[i].json.length, cases[i].json.data,
                     fault == NULL ? "fine" : fault);
        }
    }
}

static void json_that_ends_early_at_any_byte_has_a_fault(void **state) {
    (void)state;
    struct text whole =
        TEXT("{\"a\\u00e4\\ud83c\\udf5e\\n\":[-1.5e-10,true,null,{\"b\":\"\xE2\x82\xAC\"}]}");
    struct json_object *tree = NULL;
    for (size_t n = 0; n < whole.length; n++) {
        if (parse((struct text){.data = whole.data, .length = n}, &tree) == NULL) {
            fail_msg("the first %zu bytes", n);
        }
    }
    assert_null(parse(whole, &tree));
    json_object_put(tree);
}

/* An array of objects of two members each, of about that many bytes. */
static size_t append_objects(struct buffer *json, size_t bytes, const char *sku) {
    size_t count = 0;
    buffer_append(json, TEXT("["));
    while (json->length < bytes) {
        buffer_append(json, count++ == 0 ? TEXT("{\"sku\":\"") : TEXT(",{\"sku\":\""));
        buffer_append(json, text_from(sku));
        buffer_append(json, TEXT("\",\"price_cents\":100}"));
    }
    buffer_append(json, TEXT("]"));
    return count;
}

static void a_megabyte_is_parsed(void **state) {
    (void)state;
    struct arena arena = {0};
    struct buffer json = {.arena = &arena};
    char sku[300];
    memset(sku, 'A', sizeof sku);
    sku[sizeof sku - 1] = '\0';
    size_t count = append_objects(&json, 1000000, sku);
    struct json_object *tree = NULL;
    assert_null(json_parse(buffer_text(&json), &tree));
    assert_int_equal(json_object_array_length(tree), count);
    json_object_put(tree);
    arena_destroy(&arena);
}

static void a_megabyte_of_small_values_is_refused_before_a_tree_is_built(void **state) {
    (void)state;
    struct arena arena = {0};
    struct buffer json = {.arena = &arena};
    struct json_object *tree = NULL;
    append_objects(&json, 1000000, "A");
    assert_string_equal(json_parse(buffer_text(&json), &tree), "has more than 20000 values");
    assert_null(tree);
    arena_destroy(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_becomes_the_tree_it_says),
        cmocka_unit_test(what_is_not_json_has_a_fault_and_no_tree),
        cmocka_unit_test(json_that_ends_early_at_any_byte_has_a_fault),
        cmocka_unit_test(a_megabyte_is_parsed),
        cmocka_unit_test(a_megabyte_of_small_values_is_refused_before_a_tree_is_built),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
