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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(words_are_quoted_and_all_else_separates)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
