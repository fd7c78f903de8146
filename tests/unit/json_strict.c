#include "json_strict.h"

#include <stdlib.h>

#include "support.h"

static const char *fault_of(struct text json, size_t *members) {
    struct text exact = exactly(json);
    const char *fault = json_strict_fault(exact, members);
    release(exact);
    return fault;
}

static void good_json_has_no_fault_and_its_members_are_counted(void **state) {
    static const struct {
        const char *json;
        size_t members;
    } cases[] = {
        {"", 0},
        {"{}", 0},
        {"[]", 0},
        {"null", 0},
        {"true", 0},
        {"false", 0},
        {" \t\r\n{ } \t\r\n", 0},
        {"{\"a\":1}", 1},
        {"{\"a\":{\"b\":[{\"c\":1},{\"d\":2}]},\"e\":3}", 5},
        {"\"a:b\"", 0},
        {"{\"a:b\":\":\"}", 1},
        {"{\"a\\\":\":1}", 1},
        {"{\"\\\\\":1}", 1},
        {"\"{[\"", 0},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", 0},
        {"\"\\u0001\\u001f\\uFFFF\\ufffd\"", 0},
        {"\"\\ud83c\\uDF5E\"", 0},
        {"\"\\ud800\\udc00\\udbff\\udfff\"", 0},
        {"\"\\\\ud800\"", 0},
        {"\"\xC3\xA4\x7F\"", 0},
        {"0", 0},
        {"-0", 0},
        {"-1", 0},
        {"10", 0},
        {"1.5", 0},
        {"-0.05", 0},
        {"1e5", 0},
        {"1E+5", 0},
        {"1.25e-05", 0},
        {"[0,1,-2.5e3]", 0},
        {"[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]", 0}, /* 16 deep */
        {"[[[[[[[[[[[[[[[{}]]]]]]]]]]]]]]]", 0},
        {"[[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[]]", 0},
        {"\"[[[[[[[[[[[[[[[[[[[[\"", 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t members = 99;
        const char *fault = fault_of(text_from(cases[i].json), &members);
        if (fault != NULL || members != cases[i].members) {
            fail_msg("%s: %s, %zu members", cases[i].json, fault == NULL ? "fine" : fault, members);
        }
    }
}

static void what_json_c_lets_pass_is_a_fault(void **state) {
    static const struct {
        struct text json;
        const char *fault; /* a part of it */
    } cases[] = {
        {{"\xEF\xBB\xBF{}", 5}, "byte order mark"},
        {{"\"\xFF\"", 3}, "UTF-8"},
        {{"\"\xC0\x80\"", 4}, "UTF-8"},
        {{"\"\xED\xA0\x80\"", 5}, "UTF-8"},
        {{"\"\xC3", 2}, "UTF-8"},
        {{"\"a\0b\"", 5}, "NUL"},
        {{"\"\\u0000\"", 8}, "NUL"},
        {{"{\"\\u0000\":1}", 12}, "NUL"},
        {{"{}\0", 3}, "not JSON"},
        {{"\0", 1}, "not JSON"},
        {{"\"\n\"", 3}, "control"},
        {{"\"\t\"", 3}, "control"},
        {{"\"\x1F\"", 3}, "control"},
        {{"\"\x01\"", 3}, "control"},
        {{"\"\\ud800\"", 8}, "surrogate"},
        {{"\"\\udc00\"", 8}, "surrogate"},
        {{"\"\\ud800\\ud800\"", 14}, "surrogate"},
        {{"\"\\udc00\\ud800\"", 14}, "surrogate"},
        {{"\"\\ud800x\"", 9}, "surrogate"},
        {{"\"\\ud800\\n\"", 10}, "surrogate"},
        {{"\"\\ud800\\u\"", 10}, "surrogate"},
        {{"\"\\ud800\\u00e4\"", 14}, "surrogate"},
        {{"\"\\ud800\\udc0", 12}, "surrogate"},
        {{"\"\\u\"", 4}, "\\u"},
        {{"\"\\u12\"", 6}, "\\u"},
        {{"\"\\u12g4\"", 8}, "\\u"},
        {{"\"\\u 123\"", 8}, "\\u"},
        {{"\"\\u+123\"", 8}, "\\u"},
        {{"\"\\u", 3}, "\\u"},
        {{"\"\\u123", 6}, "\\u"},
        {{"\"", 1}, "ends inside a string"},
        {{"\"abc", 4}, "ends inside a string"},
        {{"\"\\", 2}, "ends inside a string"},
        {{"\"\\\"", 3}, "ends inside a string"},
        {{"{\"a\":\"", 6}, "ends inside a string"},
        {{"-", 1}, "number"},
        {{"--1", 3}, "number"},
        {{"-a", 2}, "number"},
        {{"-Infinity", 9}, "number"},
        {{"01", 2}, "number"},
        {{"-01", 3}, "number"},
        {{"00", 2}, "number"},
        {{"[1,007]", 7}, "number"},
        {{"1.", 2}, "number"},
        {{"1.e5", 4}, "number"},
        {{"1.x", 3}, "number"},
        {{"1e", 2}, "number"},
        {{"1e+", 3}, "number"},
        {{"1E-x", 4}, "number"},
        {{".5", 2}, "not JSON"},
        {{"+1", 2}, "not JSON"},
        {{"0x10", 4}, "not JSON"},
        {{"NaN", 3}, "not JSON"},
        {{"Infinity", 8}, "not JSON"},
        {{"True", 4}, "not JSON"},
        {{"NULL", 4}, "not JSON"},
        {{"'a'", 3}, "not JSON"},
        {{"{a:1}", 5}, NULL}, /* a letter of a literal: left to the grammar */
        {{"{x:1}", 5}, "not JSON"},
        {{"/* */{}", 7}, "not JSON"},
        {{"// \n{}", 6}, "not JSON"},
        {{"#\n{}", 4}, "not JSON"},
        {{"{};", 3}, "not JSON"},
        {{"(1)", 3}, "not JSON"},
        {{"\f{}", 3}, "not JSON"},
        {{"\v{}", 3}, "not JSON"},
        {{"\xC2\xA0{}", 4}, "not JSON"},
        {{"[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]", 34}, "16 deep"},
        {{"[[[[[[[[[[[[[[[[{}]]]]]]]]]]]]]]]]", 34}, "16 deep"},
        {{"[[[[[[[[[[[[[[[[[", 17}, "16 deep"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t members;
        const char *fault = fault_of(cases[i].json, &members);
        bool expected = cases[i].fault == NULL
                            ? fault == NULL
                            : fault != NULL && strstr(fault, cases[i].fault) != NULL;
        if (!expected) {
            fail_msg("%.*s: %s", (int)cases[i].json.length, cases[i].json.data,
                     fault == NULL ? "fine" : fault);
        }
    }
}

static void a_million_brackets_are_a_fault_and_no_deep_recursion(void **state) {
    (void)state;
    size_t length = 1000000;
    char *json = malloc(length);
    assert_non_null(json);
    size_t members;
    memset(json, '[', length);
    assert_non_null(json_strict_fault((struct text){.data = json, .length = length}, &members));
    memset(json, ']', length);
    json_strict_fault((struct text){.data = json, .length = length}, &members);
    free(json);
}

static void a_cut_at_any_byte_reads_no_further_than_the_text(void **state) {
    (void)state;
    struct text whole =
        TEXT("{\"a\\u00e4\\ud83c\\udf5e\\n\":[-1.5e-10,true,null,{\"b\":\"\xE2\x82\xAC\"}]}");
    size_t members;
    for (size_t n = 0; n < whole.length; n++) {
        fault_of((struct text){.data = whole.data, .length = n}, &members);
    }
    assert_null(fault_of(whole, &members));
    assert_int_equal(members, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_json_has_no_fault_and_its_members_are_counted),
        cmocka_unit_test(what_json_c_lets_pass_is_a_fault),
        cmocka_unit_test(a_million_brackets_are_a_fault_and_no_deep_recursion),
        cmocka_unit_test(a_cut_at_any_byte_reads_no_further_than_the_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
