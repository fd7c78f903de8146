#include "conditional.h"

#include "support.h"

#define TAG "\"0123456789abcdef\""

static const struct {
    const char *header;
    bool none_match; /* a weak comparison */
    bool match;      /* a strong one */
} cases[] = {
    {TAG, true, true},
    {"W/" TAG, true, false},
    {"*", true, true},
    {" * ", true, true},
    {"\"other\"", false, false},
    {"W/\"other\"", false, false},
    {"\"other\", " TAG, true, true},
    {TAG ", \"other\"", true, true},
    {"\"other\"," TAG, true, true},
    {"\"other\"\t ,\t " TAG " ", true, true},
    {"\"a\", \"b\", W/\"c\", W/" TAG, true, false},
    {"W/" TAG ", " TAG, true, true},
    {", ,," TAG, true, true},
    {TAG ", ,", true, true},
    {"\"other\",, " TAG, true, true},
    {"\"a,b\", " TAG, true, true}, /* a comma inside of a tag separates nothing */
    {"\"a," TAG, false, false},
    {"\"\", " TAG, true, true},
    /* not the tag */
    {"\"0123456789abcde\"", false, false},
    {"\"0123456789abcdef0\"", false, false},
    {"\"0123456789ABCDEF\"", false, false},
    {"0123456789abcdef", false, false},
    {"\"0123456789abcdef", false, false},
    {"0123456789abcdef\"", false, false},
    {"'0123456789abcdef'", false, false},
    {"w/" TAG, false, false},
    {"W/ " TAG, false, false},
    {"W" TAG, false, false},
    {"/" TAG, false, false},
    {"\"*\"", false, false},
    {"**", false, false},
    {"W/*", false, false},
    {",", false, false},
    {" ", false, false},
    {"\"", false, false},
    {"W/", false, false},
    {"W", false, false},
    {"W/\"", false, false},
    /* malformed: names nothing from there on */
    {TAG TAG, false, false},
    {"\"other\" " TAG, false, false},
    {"\"other\"; " TAG, false, false},
    {"rubbish, " TAG, false, false},
};

static void a_header_names_the_tag_or_it_does_not(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct text header = exactly(text_from(cases[i].header));
        if (conditional_none_match(header, TEXT(TAG)) != cases[i].none_match) {
            fail_msg("If-None-Match: %s", cases[i].header);
        }
        if (conditional_match(header, TEXT(TAG)) != cases[i].match) {
            fail_msg("If-Match: %s", cases[i].header);
        }
        release(header);
    }
}

static void an_absent_if_none_match_asks_for_the_whole_answer(void **state) {
    (void)state;
    assert_false(conditional_none_match((struct text){0}, TEXT(TAG)));
    assert_false(conditional_none_match(TEXT(""), TEXT(TAG)));
}

static void an_absent_if_match_lets_the_request_go_on(void **state) {
    (void)state;
    assert_true(conditional_match((struct text){0}, TEXT(TAG)));
    assert_true(conditional_match(TEXT(""), TEXT(TAG)));
}

static void a_list_of_a_thousand_tags_is_read_to_its_end(void **state) {
    (void)state;
    struct arena arena = {0};
    struct buffer header = {.arena = &arena};
    for (int i = 0; i < 1000; i++) {
        buffer_append(&header, TEXT("\"other\", "));
    }
    assert_false(conditional_none_match(buffer_text(&header), TEXT(TAG)));
    buffer_append(&header, TEXT(TAG));
    assert_true(conditional_none_match(buffer_text(&header), TEXT(TAG)));
    assert_true(conditional_match(buffer_text(&header), TEXT(TAG)));
    arena_destroy(&arena);
}

/* ---- with a request and an answer ----------------------------------------------------------- */

static struct response answer_of(const char *body, struct arena *arena) {
    struct response response;
    response_start(&response, arena);
    response_json(&response, 200);
    buffer_append(&response.body, text_from(body));
    return response;
}

static void a_reader_who_has_the_representation_gets_304_with_the_tag(void **state) {
    (void)state;
    struct arena arena = {0};
    struct request request = {.arena = &arena};
    struct response first = answer_of("{\"id\":1}", &arena);
    conditional_read(&request, &first);
    assert_int_equal(first.status, 200);
    assert_text(buffer_text(&first.body), TEXT("{\"id\":1}"));
    assert_true(first.headers.length > 0);

    struct response tagged = answer_of("{\"id\":1}", &arena);
    request.if_none_match = response_etag(&tagged);
    struct response again = answer_of("{\"id\":1}", &arena);
    conditional_read(&request, &again);
    assert_int_equal(again.status, 304);
    assert_int_equal(again.body.length, 0);
    assert_text(buffer_text(&again.headers), buffer_text(&first.headers));

    struct response changed = answer_of("{\"id\":2}", &arena);
    conditional_read(&request, &changed);
    assert_int_equal(changed.status, 200);
    assert_text(buffer_text(&changed.body), TEXT("{\"id\":2}"));
    arena_destroy(&arena);
}

static void a_change_goes_on_only_from_the_representation_that_was_read(void **state) {
    (void)state;
    struct arena arena = {0};
    struct response tagged = answer_of("{\"id\":1}", &arena);
    struct request request = {.arena = &arena, .if_match = response_etag(&tagged)};

    struct response same = answer_of("{\"id\":1}", &arena);
    assert_true(conditional_change(&request, &same));
    assert_int_equal(same.status, 0); /* empty again, for the change's own answer */
    assert_int_equal(same.headers.length, 0);
    assert_int_equal(same.body.length, 0);

    struct response changed = answer_of("{\"id\":2}", &arena);
    assert_false(conditional_change(&request, &changed));
    assert_int_equal(changed.status, 412);

    request.if_match = (struct text){0};
    changed = answer_of("{\"id\":2}", &arena);
    assert_true(conditional_change(&request, &changed));
    arena_destroy(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_header_names_the_tag_or_it_does_not),
        cmocka_unit_test(an_absent_if_none_match_asks_for_the_whole_answer),
        cmocka_unit_test(an_absent_if_match_lets_the_request_go_on),
        cmocka_unit_test(a_list_of_a_thousand_tags_is_read_to_its_end),
        cmocka_unit_test(a_reader_who_has_the_representation_gets_304_with_the_tag),
        cmocka_unit_test(a_change_goes_on_only_from_the_representation_that_was_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
