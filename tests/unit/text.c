#include "text.h"

#include <stdlib.h>

#include "support.h"

static void texts_compare_by_length_and_bytes(void **state) {
    static const struct {
        struct text a, b;
        bool equal, equal_ignoring_case;
    } cases[] = {
        {{"", 0}, {NULL, 0}, true, true},
        {{"abc", 3}, {"abc", 3}, true, true},
        {{"abc", 3}, {"abC", 3}, false, true},
        {{"ABC-09", 6}, {"abc-09", 6}, false, true},
        {{"abc", 3}, {"ab", 2}, false, false},
        {{"a\0b", 3}, {"a\0c", 3}, false, false},
        {{"a\0b", 3}, {"a\0B", 3}, false, true},
        {{"[", 1}, {"{", 1}, false, false}, /* differ by the same bit as letters do */
        {{"@", 1}, {"`", 1}, false, false},
        {{"\xC3\x84", 2}, {"\xC3\xA4", 2}, false, false}, /* only ASCII is folded */
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        if (text_equals(cases[i].a, cases[i].b) != cases[i].equal ||
            text_equals_ignoring_case(cases[i].a, cases[i].b) != cases[i].equal_ignoring_case ||
            text_equals(cases[i].b, cases[i].a) != cases[i].equal) {
            fail_msg("case %zu", i);
        }
    }
}

static void trimming_takes_spaces_and_tabs_from_both_ends_only(void **state) {
    static const struct {
        struct text text, expected;
    } cases[] = {
        {{NULL, 0}, {"", 0}},           {{"", 0}, {"", 0}},
        {{" \t ", 3}, {"", 0}},         {{"a", 1}, {"a", 1}},
        {{" \ta b\t ", 7}, {"a b", 3}}, {{"\na\r", 3}, {"\na\r", 3}},
        {{" \0 ", 3}, {"\0", 1}},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct text text = exactly(cases[i].text);
        assert_text(text_trim(text), cases[i].expected);
        release(text);
    }
}

static void splitting_gives_every_part_the_empty_ones_too(void **state) {
    static const struct {
        struct text text;
        int count;
        struct text parts[4];
    } cases[] = {
        {{"", 0}, 1, {{"", 0}}},
        {{"a", 1}, 1, {{"a", 1}}},
        {{"a,b", 3}, 2, {{"a", 1}, {"b", 1}}},
        {{",", 1}, 2, {{"", 0}, {"", 0}}},
        {{"a,,b,", 5}, 4, {{"a", 1}, {"", 0}, {"b", 1}, {"", 0}}},
        {{"a\0b,c", 5}, 2, {{"a\0b", 3}, {"c", 1}}},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct text memory = exactly(cases[i].text);
        struct text rest = memory;
        struct text part;
        int count = 0;
        while (text_split(&rest, ',', &part)) {
            assert_true(count < cases[i].count);
            assert_text(part, cases[i].parts[count]);
            count++;
        }
        assert_int_equal(count, cases[i].count);
        assert_null(rest.data);
        release(memory);
    }
    struct text nothing = {0};
    struct text part;
    assert_false(text_split(&nothing, ',', &part));
}

static void only_decimal_digits_within_the_bounds_are_a_number(void **state) {
    static const struct {
        const char *text;
        int64_t minimum, maximum;
        bool is_number;
        int64_t value;
    } cases[] = {
        {"0", 0, 10, true, 0},
        {"10", 0, 10, true, 10},
        {"11", 0, 10, false, 0},
        {"-1", 0, 10, false, 0},
        {"-1", -1, 10, true, -1},
        {"-2", -1, 10, false, 0},
        {"-0", 0, 10, false, 0},
        {"007", 0, 10, false, 0},
        {"00", 0, 10, false, 0},
        {"9223372036854775807", INT64_MIN, INT64_MAX, true, INT64_MAX},
        {"9223372036854775808", INT64_MIN, INT64_MAX, false, 0},
        {"-9223372036854775808", INT64_MIN, INT64_MAX, true, INT64_MIN},
        {"-9223372036854775809", INT64_MIN, INT64_MAX, false, 0},
        {"18446744073709551616", INT64_MIN, INT64_MAX, false, 0},
        {"18446744073709551617", INT64_MIN, INT64_MAX, false, 0},
        {"99999999999999999999999999999999", INT64_MIN, INT64_MAX, false, 0},
        {"", INT64_MIN, INT64_MAX, false, 0},
        {"-", INT64_MIN, INT64_MAX, false, 0},
        {"--1", INT64_MIN, INT64_MAX, false, 0},
        {"+1", INT64_MIN, INT64_MAX, false, 0},
        {" 1", INT64_MIN, INT64_MAX, false, 0},
        {"1 ", INT64_MIN, INT64_MAX, false, 0},
        {"1.0", INT64_MIN, INT64_MAX, false, 0},
        {"1e1", INT64_MIN, INT64_MAX, false, 0},
        {"0x1", INT64_MIN, INT64_MAX, false, 0},
        {"1-", INT64_MIN, INT64_MAX, false, 0},
        {"abc", INT64_MIN, INT64_MAX, false, 0},
        {"/", INT64_MIN, INT64_MAX, false, 0},
        {":", INT64_MIN, INT64_MAX, false, 0},
        {"\xD9\xA1", INT64_MIN, INT64_MAX, false, 0}, /* a digit, but not of ASCII */
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct text text = exactly(text_from(cases[i].text));
        int64_t value = 4711;
        bool is_number = text_integer(text, cases[i].minimum, cases[i].maximum, &value);
        if (is_number != cases[i].is_number || value != (is_number ? cases[i].value : 4711)) {
            fail_msg("'%s' gives %d, %lld", cases[i].text, is_number, (long long)value);
        }
        release(text);
    }
    int64_t value = 4711;
    assert_false(text_integer(TEXT("1\0"), 0, 100, &value));
    assert_false(text_integer((struct text){0}, 0, 100, &value));
    assert_int_equal(value, 4711);
}

static void an_id_is_a_positive_number_as_we_write_it(void **state) {
    static const struct {
        const char *text;
        int64_t id; /* 0: it is none */
    } cases[] = {
        {"1", 1},
        {"10", 10},
        {"9", 9},
        {"9223372036854775807", INT64_MAX},
        {"9223372036854775808", 0},
        {"99999999999999999999", 0},
        {"0", 0},
        {"01", 0},
        {"00", 0},
        {"-1", 0},
        {"+1", 0},
        {"1.5", 0},
        {"1e3", 0},
        {"abc", 0},
        {"", 0},
        {" 1", 0},
        {"1 ", 0},
        {"0x10", 0},
        {"1,000", 0},
        {"1_000", 0},
        {"1a", 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct text text = exactly(text_from(cases[i].text));
        int64_t id = 0;
        if (text_id(text, &id) != (cases[i].id > 0) || id != cases[i].id) {
            fail_msg("'%s' gives %lld", cases[i].text, (long long)id);
        }
        release(text);
    }
}

static void percent_encoding_is_decoded_or_refused(void **state) {
    static const struct {
        struct text text;
        bool form;
        ptrdiff_t length; /* -1: refused */
        const char *expected;
    } cases[] = {
        {{"", 0}, false, 0, ""},
        {{"plain", 5}, false, 5, "plain"},
        {{"%41%42", 6}, false, 2, "AB"},
        {{"%2f%2F", 6}, false, 2, "//"},
        {{"%00", 3}, false, 1, "\0"},
        {{"%fF%Ff", 6}, false, 2, "\xFF\xFF"},
        {{"%C3%A4", 6}, false, 2, "\xC3\xA4"},
        {{"%2541", 5}, false, 3, "%41"}, /* once, not twice */
        {{"a+b", 3}, false, 3, "a+b"},
        {{"a+b", 3}, true, 3, "a b"},
        {{"a%2Bb", 5}, true, 3, "a+b"},
        {{"%", 1}, false, -1, NULL},
        {{"%4", 2}, false, -1, NULL},
        {{"a%", 2}, false, -1, NULL},
        {{"ab%4", 4}, true, -1, NULL},
        {{"%4g", 3}, false, -1, NULL},
        {{"%g4", 3}, false, -1, NULL},
        {{"%%41", 4}, false, -1, NULL},
        {{"% 41", 4}, false, -1, NULL},
        {{"%+1", 3}, true, -1, NULL},
        {{"%-1", 3}, false, -1, NULL},
        {{"%@1", 3}, false, -1, NULL},
        {{"%`1", 3}, false, -1, NULL},
        {{"%:1", 3}, false, -1, NULL},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct text text = exactly(cases[i].text);
        char *output = malloc(text.length + 1);
        ptrdiff_t length = text_percent_decode(text, cases[i].form, output);
        if (length != cases[i].length ||
            (length > 0 && memcmp(output, cases[i].expected, (size_t)length) != 0)) {
            fail_msg("'%.*s' gives %td bytes", (int)text.length, text.data, length);
        }
        free(output);
        release(text);
    }
}

static void every_byte_can_be_percent_encoded(void **state) {
    (void)state;
    for (int byte = 0; byte < 256; byte++) {
        const char *digits = "0123456789abcdefABCDEF";
        for (int upper = 0; upper < 2; upper++) {
            int high = byte >> 4;
            int low = byte & 15;
            char encoded[3] = {'%', digits[upper && high > 9 ? high + 6 : high],
                               digits[upper && low > 9 ? low + 6 : low]};
            char decoded;
            assert_int_equal(text_percent_decode((struct text){encoded, 3}, true, &decoded), 1);
            assert_int_equal((unsigned char)decoded, byte);
        }
    }
}

static void what_is_encoded_stands_in_a_query_and_decodes_to_itself(void **state) {
    char all[256];
    char encoded[3 * sizeof all];
    char decoded[3 * sizeof all];
    (void)state;
    for (size_t i = 0; i < sizeof all; i++) {
        all[i] = (char)i;
    }
    size_t length = text_percent_encode((struct text){all, sizeof all}, encoded);
    /* of the 256 bytes 66 stand for themselves: letters, digits and - . _ ~ */
    assert_int_equal(length, 66 + 3 * (sizeof all - 66));
    for (size_t i = 0; i < length; i++) {
        assert_true(encoded[i] == '%' || encoded[i] == '~' ||
                    text_is_token((struct text){encoded + i, 1}));
    }
    for (int form = 0; form < 2; form++) {
        ptrdiff_t back = text_percent_decode((struct text){encoded, length}, form == 1, decoded);
        assert_int_equal(back, sizeof all);
        assert_memory_equal(decoded, all, sizeof all);
    }
    length = text_percent_encode(TEXT("a b/\xC3\xA4~"), encoded);
    assert_text(((struct text){encoded, length}), TEXT("a%20b%2F%C3%A4~"));
    assert_int_equal(text_percent_encode((struct text){0}, encoded), 0);
}

static void code_points_are_counted_not_bytes(void **state) {
    static const struct {
        const char *text;
        size_t count;
    } cases[] = {{"", 0},
                 {"abc", 3},
                 {"\xC3\xA4", 1},
                 {"a\xE2\x82\xAC"
                  "b",
                  3},
                 {"\xF0\x9F\x8D\x9E\xF0\x9F\x8D\x9E", 2},
                 {"a\xCC\x88", 2}}; /* a letter and its combining mark */
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(text_code_points(text_from(cases[i].text)), cases[i].count);
    }
}

static void text_of_nothing_but_white_space_is_blank(void **state) {
    static const struct {
        const char *text;
        bool blank;
    } cases[] = {
        {"", true},
        {" ", true},
        {" \t\n\v\f\r", true},
        {"\xC2\x85", true},     /* next line */
        {"\xC2\xA0", true},     /* no-break space */
        {"\xE1\x9A\x80", true}, /* ogham space mark */
        {"\xE2\x80\x80", true}, /* en quad */
        {"\xE2\x80\x8A", true}, /* hair space */
        {"\xE2\x80\x8B", true}, /* zero width space */
        {"\xE2\x80\xA8", true}, /* line separator */
        {"\xE2\x80\xA9", true}, /* paragraph separator */
        {"\xE2\x80\xAF", true}, /* narrow no-break space */
        {"\xE2\x81\x9F", true}, /* medium mathematical space */
        {"\xE3\x80\x80", true}, /* ideographic space */
        {"\xEF\xBB\xBF", true}, /* zero width no-break space */
        {" \xE3\x80\x80\xC2\xA0 ", true},
        {"a", false},
        {" a ", false},
        {"\xE3\x80\x80"
         "x",
         false},
        {"\xE2\x80\x90", false}, /* hyphen */
        {"\xE2\x9C\x93", false},
        {"\x1F", false},
        {"\xC2\xAD", false}, /* soft hyphen */
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct text text = exactly(text_from(cases[i].text));
        if (text_is_blank(text) != cases[i].blank) {
            fail_msg("case %zu", i);
        }
        release(text);
    }
}

static void a_token_has_letters_digits_and_three_signs(void **state) {
    (void)state;
    for (int byte = 0; byte < 256; byte++) {
        char c = (char)byte;
        bool expected = byte != 0 && strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                            "0123456789._-",
                                            byte) != NULL;
        if (text_is_token((struct text){&c, 1}) != expected) {
            fail_msg("byte %d", byte);
        }
        char last[3] = {'a', 'b', c};
        assert_int_equal(text_is_token((struct text){last, 3}), expected);
    }
}

static void only_well_formed_utf8_is_utf8(void **state) {
    static const struct {
        struct text text;
        bool valid;
    } cases[] = {
        {{"", 0}, true},
        {{"\0", 1}, true},
        {{"\x7F", 1}, true},
        {{"\xC2\x80", 2}, true},
        {{"\xDF\xBF", 2}, true},
        {{"\xE0\xA0\x80", 3}, true},
        {{"\xED\x9F\xBF", 3}, true},
        {{"\xEE\x80\x80", 3}, true},
        {{"\xEF\xBF\xBF", 3}, true},
        {{"\xF0\x90\x80\x80", 4}, true},
        {{"\xF4\x8F\xBF\xBF", 4}, true},
        {{"a\xC3\xA4z", 4}, true},
        /* longer than needed */
        {{"\xC0\x80", 2}, false},
        {{"\xC0\xAF", 2}, false},
        {{"\xC1\xBF", 2}, false},
        {{"\xE0\x80\x80", 3}, false},
        {{"\xE0\x9F\xBF", 3}, false},
        {{"\xF0\x80\x80\x80", 4}, false},
        {{"\xF0\x8F\xBF\xBF", 4}, false},
        /* surrogates and past the end */
        {{"\xED\xA0\x80", 3}, false},
        {{"\xED\xBF\xBF", 3}, false},
        {{"\xF4\x90\x80\x80", 4}, false},
        {{"\xF5\x80\x80\x80", 4}, false},
        {{"\xF8\x88\x80\x80\x80", 5}, false},
        {{"\xFE", 1}, false},
        {{"\xFF", 1}, false},
        /* cut off, or with no beginning */
        {{"\xC3", 1}, false},
        {{"\xE2\x82", 2}, false},
        {{"\xF0\x9F\x8D", 3}, false},
        {{"\xF0", 1}, false},
        {{"\x80", 1}, false},
        {{"\xBF", 1}, false},
        {{"\xC3\x28", 2}, false},
        {{"\xE2\x28\xA1", 3}, false},
        {{"\xE2\x82\x28", 3}, false},
        {{"\xF0\x9F\x8D\x28", 4}, false},
        {{"\xC3\xC3\xA4", 3}, false},
        {{"fine\x80", 5}, false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct text text = exactly(cases[i].text);
        if (text_is_utf8(text) != cases[i].valid) {
            fail_msg("case %zu", i);
        }
        release(text);
    }
}

/* All code points, encoded by the definition of RFC 3629, section 3. */
static void every_code_point_but_the_surrogates_is_utf8(void **state) {
    (void)state;
    for (unsigned c = 0; c <= 0x10FFFF; c++) {
        unsigned bytes[4] = {c};
        size_t length = 1;
        if (c >= 0x10000) {
            unsigned four[4] = {0xF0 | c >> 18, 0x80 | (c >> 12 & 63), 0x80 | (c >> 6 & 63),
                                0x80 | (c & 63)};
            memcpy(bytes, four, sizeof bytes);
            length = 4;
        } else if (c >= 0x800) {
            unsigned three[4] = {0xE0 | c >> 12, 0x80 | (c >> 6 & 63), 0x80 | (c & 63)};
            memcpy(bytes, three, sizeof bytes);
            length = 3;
        } else if (c >= 0x80) {
            unsigned two[4] = {0xC0 | c >> 6, 0x80 | (c & 63)};
            memcpy(bytes, two, sizeof bytes);
            length = 2;
        }
        char encoded[4];
        for (size_t i = 0; i < length; i++) {
            encoded[i] = (char)bytes[i];
        }
        bool valid = c < 0xD800 || c > 0xDFFF;
        uint32_t decoded = 0;
        size_t used = text_code_point((struct text){encoded, length}, &decoded);
        if (text_is_utf8((struct text){encoded, length}) != valid || used != (valid ? length : 0) ||
            (valid && decoded != c)) {
            fail_msg("U+%04X", c);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_compare_by_length_and_bytes),
        cmocka_unit_test(trimming_takes_spaces_and_tabs_from_both_ends_only),
        cmocka_unit_test(splitting_gives_every_part_the_empty_ones_too),
        cmocka_unit_test(only_decimal_digits_within_the_bounds_are_a_number),
        cmocka_unit_test(an_id_is_a_positive_number_as_we_write_it),
        cmocka_unit_test(percent_encoding_is_decoded_or_refused),
        cmocka_unit_test(every_byte_can_be_percent_encoded),
        cmocka_unit_test(what_is_encoded_stands_in_a_query_and_decodes_to_itself),
        cmocka_unit_test(code_points_are_counted_not_bytes),
        cmocka_unit_test(text_of_nothing_but_white_space_is_blank),
        cmocka_unit_test(a_token_has_letters_digits_and_three_signs),
        cmocka_unit_test(only_well_formed_utf8_is_utf8),
        cmocka_unit_test(every_code_point_but_the_surrogates_is_utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
