#include "request.h"

#include <stdio.h>

#include "response.h"
#include "support.h"

static struct arena arena;

static int arena_teardown(void **state) {
    (void)state;
    arena_destroy(&arena);
    return 0;
}

/* ---- from the wire -------------------------------------------------------------------------- */

static uint64_t random_state = 1;

static struct request receive(struct peer *peer, const char *const *pairs, struct text body) {
    struct buffer wire = {.arena = &peer->arena};
    struct request request = {.arena = &peer->arena, .random = &random_state};
    wire_request(&wire, pairs, body);
    peer_connect(peer);
    peer_send(peer, buffer_text(&wire));
    assert_int_equal(request_receive(&request, peer->connection), FASTCGI_REQUEST);
    return request;
}

static void a_request_is_what_the_parameters_say(void **state) {
    struct peer *peer = *state;
    const char *const pairs[] = {"LARDER_PREFIX=/shop",
                                 "SCRIPT_NAME=/elsewhere",
                                 "REQUEST_METHOD=PUT",
                                 "REQUEST_URI=/shop/products/7?a=1&b=2",
                                 "REQUEST_ID=4711-abc",
                                 "CONTENT_LENGTH=4",
                                 "CONTENT_TYPE=application/json",
                                 "HTTP_IF_MATCH=\"m\"",
                                 "HTTP_IF_NONE_MATCH=\"n\"",
                                 "HTTP_ORIGIN=https://example.org",
                                 "HTTP_PROXY=http://evil.example",
                                 NULL};
    struct request request = receive(peer, pairs, TEXT("body"));
    assert_int_equal(request.method, METHOD_PUT);
    assert_text(request.prefix, TEXT("/shop"));
    assert_text(request.query, TEXT("a=1&b=2"));
    assert_int_equal(request.segment_count, 2);
    assert_text(request.segments[0], TEXT("products"));
    assert_text(request.segments[1], TEXT("7"));
    assert_text(request.request_id, TEXT("4711-abc"));
    assert_text(request.content_type, TEXT("application/json"));
    assert_text(request.if_match, TEXT("\"m\""));
    assert_text(request.if_none_match, TEXT("\"n\""));
    assert_text(request.origin, TEXT("https://example.org"));
    assert_text(request.body, TEXT("body"));
    assert_int_equal(request.body_state, BODY_WHOLE);
}

static void what_is_not_sent_is_empty(void **state) {
    struct request request = receive(*state, (const char *const[]){NULL}, TEXT(""));
    assert_int_equal(request.method, METHOD_OTHER);
    assert_int_equal(request.segment_count, -1);
    const struct text fields[] = {request.prefix,       request.query,  request.content_type,
                                  request.if_match,     request.origin, request.body,
                                  request.if_none_match};
    for (size_t i = 0; i < COUNT(fields); i++) {
        assert_int_equal(fields[i].length, 0);
    }
    assert_int_equal(request.body_state, BODY_WHOLE);
}

static void the_web_servers_request_id_is_taken_as_it_is(void **state) {
    const char *const pairs[] = {"HTTP_X_REQUEST_ID=of-the-client", "REQUEST_ID=of the server",
                                 NULL};
    struct request request = receive(*state, pairs, TEXT(""));
    assert_text(request.request_id, TEXT("of the server"));
    assert_false(request.tells_id);
}

static void without_one_the_clients_is_taken_or_a_new_one_made(void **state) {
    static const struct {
        const char *pair; /* NULL: none */
        const char *taken;
    } cases[] = {
        {"HTTP_X_REQUEST_ID=a", "a"},
        {"HTTP_X_REQUEST_ID=A-z.0_9-", "A-z.0_9-"},
        {"HTTP_X_REQUEST_ID=0123456789012345678901234567890123456789012345678901234567890123",
         "0123456789012345678901234567890123456789012345678901234567890123"},
        {"HTTP_X_REQUEST_ID=01234567890123456789012345678901234567890123456789012345678901234",
         NULL},
        {"HTTP_X_REQUEST_ID=", NULL},
        {"HTTP_X_REQUEST_ID=a b", NULL},
        {"HTTP_X_REQUEST_ID=a\nX: y", NULL},
        {NULL, NULL},
    };
    char before[33] = "";
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct request request =
            receive(*state, (const char *const[]){"REQUEST_ID=", cases[i].pair, NULL}, TEXT(""));
        assert_true(request.tells_id);
        if (cases[i].taken != NULL) {
            assert_text(request.request_id, text_from(cases[i].taken));
            continue;
        }
        assert_int_equal(request.request_id.length, 32);
        assert_true(text_is_token(request.request_id));
        assert_memory_not_equal(request.request_id.data, before, 32);
        memcpy(before, request.request_id.data, 32);
    }
}

static void methods_are_known_by_their_exact_names(void **state) {
    static const struct {
        const char *pair;
        enum method method;
    } cases[] = {
        {"REQUEST_METHOD=GET", METHOD_GET},         {"REQUEST_METHOD=HEAD", METHOD_HEAD},
        {"REQUEST_METHOD=OPTIONS", METHOD_OPTIONS}, {"REQUEST_METHOD=POST", METHOD_POST},
        {"REQUEST_METHOD=PUT", METHOD_PUT},         {"REQUEST_METHOD=PATCH", METHOD_PATCH},
        {"REQUEST_METHOD=DELETE", METHOD_DELETE},   {"REQUEST_METHOD=get", METHOD_OTHER},
        {"REQUEST_METHOD=TRACE", METHOD_OTHER},     {"REQUEST_METHOD=CONNECT", METHOD_OTHER},
        {"REQUEST_METHOD=GETS", METHOD_OTHER},      {"REQUEST_METHOD=GE", METHOD_OTHER},
        {"REQUEST_METHOD=", METHOD_OTHER},          {"REQUEST_METHOD=GET ", METHOD_OTHER},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct request request =
            receive(*state, (const char *const[]){cases[i].pair, NULL}, TEXT(""));
        if (request.method != cases[i].method) {
            fail_msg("%s", cases[i].pair);
        }
    }
}

static void a_path_is_split_below_the_prefix_and_then_decoded(void **state) {
    static const struct {
        const char *prefix, *target;
        int count;
        struct text segments[PATH_SEGMENTS];
        const char *query;
    } cases[] = {
        {"", "/", 1, {{"", 0}}, ""},
        {"", "/products", 1, {{"products", 8}}, ""},
        {"", "/products/7", 2, {{"products", 8}, {"7", 1}}, ""},
        {"", "/products/", 2, {{"products", 8}, {"", 0}}, ""},
        {"", "//products", 2, {{"", 0}, {"products", 8}}, ""},
        {"", "/products?", 1, {{"products", 8}}, ""},
        {"", "/products?limit=5", 1, {{"products", 8}}, "limit=5"},
        {"", "/products?a=b?c/d", 1, {{"products", 8}}, "a=b?c/d"},
        {"", "/?/products", 1, {{"", 0}}, "/products"},
        {"", "/pro%64ucts", 1, {{"products", 8}}, ""},
        {"", "/a%2Fb", 1, {{"a/b", 3}}, ""},
        {"", "/a%3Fb?c", 1, {{"a?b", 3}}, "c"},
        {"", "/%2e%2e/x", 2, {{"..", 2}, {"x", 1}}, ""},
        {"", "/../x", 2, {{"..", 2}, {"x", 1}}, ""},
        {"", "/a%00b", 1, {{"a\0b", 3}}, ""},
        {"", "/%25%34%31", 1, {{"%41", 3}}, ""},
        {"", "/a+b", 1, {{"a+b", 3}}, ""},
        {"",
         "/1/2/3/4/5/6/7/8",
         8,
         {{"1", 1}, {"2", 1}, {"3", 1}, {"4", 1}, {"5", 1}, {"6", 1}, {"7", 1}, {"8", 1}},
         ""},
        {"", "/1/2/3/4/5/6/7/8/9", -1, {{0}}, ""},
        {"", "/1/2/3/4/5/6/7/8/", -1, {{0}}, ""},
        {"", "/%", -1, {{0}}, ""},
        {"", "/%4", -1, {{0}}, ""},
        {"", "/a%zz", -1, {{0}}, ""},
        {"", "/a/%4x?q=%zz", -1, {{0}}, "q=%zz"},
        {"", "products", -1, {{0}}, ""},
        {"", "*", -1, {{0}}, ""},
        {"", "", -1, {{0}}, ""},
        {"", "?a=1", -1, {{0}}, "a=1"},
        {"/shop", "/shop/products", 1, {{"products", 8}}, ""},
        {"/shop", "/shop/", 1, {{"", 0}}, ""},
        {"/shop", "/shop/shop", 1, {{"shop", 4}}, ""},
        {"/shop", "/shop/x?y=/shop", 1, {{"x", 1}}, "y=/shop"},
        {"/a/b", "/a/b/c/d", 2, {{"c", 1}, {"d", 1}}, ""},
        {"/shop", "/shop", -1, {{0}}, ""},
        {"/shop", "/shop?a=1", -1, {{0}}, "a=1"},
        {"/shop", "/shopping/products", -1, {{0}}, ""},
        {"/shop", "/products", -1, {{0}}, ""},
        {"/shop", "/sho", -1, {{0}}, ""},
        {"/shop", "/SHOP/products", -1, {{0}}, ""},
        {"/shop", "/", -1, {{0}}, ""},
        {"", "http://example.org/products?a=1", 1, {{"products", 8}}, "a=1"},
        {"/shop", "HTTPS://[::1]:80/shop/x", 1, {{"x", 1}}, ""},
        {"", "http://example.org", 1, {{"", 0}}, ""},
        {"", "http://", -1, {{0}}, ""},
        {"", "ftp://example.org/products", -1, {{0}}, ""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char prefix[64];
        char target[64];
        snprintf(prefix, sizeof prefix, "LARDER_PREFIX=%s", cases[i].prefix);
        snprintf(target, sizeof target, "REQUEST_URI=%s", cases[i].target);
        /* in either order: the prefix may come behind the path */
        const char *const pairs[] = {i % 2 == 0 ? prefix : target, i % 2 == 0 ? target : prefix,
                                     NULL};
        struct request request = receive(*state, pairs, TEXT(""));
        if (request.segment_count != cases[i].count) {
            fail_msg("%s below '%s' gives %d segments", cases[i].target, cases[i].prefix,
                     request.segment_count);
        }
        for (int k = 0; k < cases[i].count; k++) {
            assert_text(request.segments[k], cases[i].segments[k]);
        }
        assert_text(request.query, text_from(cases[i].query));
    }
}

static void a_connection_without_a_request_gives_none(void **state) {
    struct peer *peer = *state;
    struct request request = {.arena = &peer->arena};
    peer_hang_up(peer);
    assert_int_equal(request_receive(&request, peer->connection), FASTCGI_ENDED);
}

/* ---- the query ------------------------------------------------------------------------------ */

static const char *const words[] = {"open", "won", "lost", NULL};

static const struct parameter table[] = {
    {"limit", PARAMETER_INTEGER, 1, 100, .standard = 20},
    {"after", PARAMETER_INTEGER, 0, INT64_MAX},
    {"q", PARAMETER_TEXT, 1, 5},
    {"status", PARAMETER_WORD, .words = words},
};

static bool query(const char *text, struct response *response, struct parameter_value *values) {
    struct request request = {.arena = &arena};
    request.query = text_from(text);
    response_start(response, &arena);
    return request_query(&request, response, table, COUNT(table), values);
}

static void good_parameters_become_values(void **state) {
    static const struct {
        const char *query;
        bool limit_given;
        int64_t limit, after;
        const char *q, *status; /* NULL: not given */
    } cases[] = {
        {"", false, 20, 0, NULL, NULL},
        {"limit=1", true, 1, 0, NULL, NULL},
        {"limit=100", true, 100, 0, NULL, NULL},
        {"after=9223372036854775807&limit=50", true, 50, INT64_MAX, NULL, NULL},
        {"limit=%35%30", true, 50, 0, NULL, NULL},
        {"%6Cimit=50", true, 50, 0, NULL, NULL},
        {"q=bread", false, 20, 0, "bread", NULL},
        {"q=a+b", false, 20, 0, "a b", NULL},
        {"q=a%20b", false, 20, 0, "a b", NULL},
        {"q=+a+", false, 20, 0, "a", NULL},
        {"q=%2B", false, 20, 0, "+", NULL},
        {"q=a=b", false, 20, 0, "a=b", NULL},
        {"q=a%26b", false, 20, 0, "a&b", NULL},
        {"q=%C3%A4%C3%A4%C3%A4%C3%A4%C3%A4", false, 20, 0,
         "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4", NULL},
        {"status=open", false, 20, 0, NULL, "open"},
        {"status=lost&q=x&after=3&limit=2", true, 2, 3, "x", "lost"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct response response;
        struct parameter_value values[COUNT(table)];
        if (!query(cases[i].query, &response, values)) {
            fail_msg("%s: %.*s", cases[i].query, (int)response.body.length, response.body.data);
        }
        assert_int_equal(response.status, 0);
        assert_int_equal(values[0].given, cases[i].limit_given);
        assert_int_equal(values[0].integer, cases[i].limit);
        assert_int_equal(values[1].integer, cases[i].after);
        assert_int_equal(values[2].given, cases[i].q != NULL);
        assert_int_equal(values[3].given, cases[i].status != NULL);
        if (cases[i].q != NULL) {
            assert_text(values[2].text, text_from(cases[i].q));
        }
        if (cases[i].status != NULL) {
            assert_text(values[3].text, text_from(cases[i].status));
        }
    }
}

static void bad_parameters_are_named_in_a_400(void **state) {
    static const struct {
        const char *query, *detail;
    } cases[] = {
        {"offset=1", "query parameter 'offset' is not known here"},
        {"Limit=1", "query parameter 'Limit' is not known here"},
        {"limi=1", "query parameter 'limi' is not known here"},
        {"limit=050", "query parameter 'limit' must be a whole number from 1 to 100"},
        {"limit%00=1", "query parameter 'limit?' is not known here"},
        {"=1", "query parameter '' is not known here"},
        {"&", "query parameter '' is not known here"},
        {"limit=1&", "query parameter '' is not known here"},
        {"limit=1&&after=1", "query parameter '' is not known here"},
        {"limit=1&limit=1", "query parameter 'limit' is given more than once"},
        {"limit=1&after=1&l%69mit=2", "query parameter 'limit' is given more than once"},
        {"%zz=1", "query parameter '%zz' is not well-formed"},
        {"limit=%", "query parameter 'limit' is not well-formed"},
        {"q=%4", "query parameter 'q' is not well-formed"},
        {"limit", "query parameter 'limit' must be a whole number from 1 to 100"},
        {"limit=", "query parameter 'limit' must be a whole number from 1 to 100"},
        {"limit=0", "query parameter 'limit' must be a whole number from 1 to 100"},
        {"limit=101", "query parameter 'limit' must be a whole number from 1 to 100"},
        {"limit=-1", "query parameter 'limit' must be a whole number from 1 to 100"},
        {"limit=+5", "query parameter 'limit' must be a whole number from 1 to 100"},
        {"limit=5.0", "query parameter 'limit' must be a whole number from 1 to 100"},
        {"limit=5%00", "query parameter 'limit' must be a whole number from 1 to 100"},
        {"limit=5=5", "query parameter 'limit' must be a whole number from 1 to 100"},
        {"limit=99999999999999999999",
         "query parameter 'limit' must be a whole number from 1 to 100"},
        {"after=9223372036854775808",
         "query parameter 'after' must be a whole number from 0 to 9223372036854775807"},
        {"q", "query parameter 'q' must be 1 to 5 characters long"},
        {"q=", "query parameter 'q' must be 1 to 5 characters long"},
        {"q=+%20+", "query parameter 'q' must be 1 to 5 characters long"},
        {"q=abcdef", "query parameter 'q' must be 1 to 5 characters long"},
        {"q=%FF", "query parameter 'q' is not valid UTF-8 text"},
        {"q=%C3", "query parameter 'q' is not valid UTF-8 text"},
        {"q=a%00b", "query parameter 'q' is not valid UTF-8 text"},
        {"status=", "query parameter 'status' must be open or won or lost"},
        {"status=Open", "query parameter 'status' must be open or won or lost"},
        {"status=opened", "query parameter 'status' must be open or won or lost"},
        {"status=op", "query parameter 'status' must be open or won or lost"},
        {"%0D%0ASet-Cookie:a=1", "query parameter '?"
                                 "?Set-Cookie:a' is not known here"},
        {"%C3%A4=1", "query parameter '?"
                     "?' is not known here"},
        {"a%22b=1", "query parameter 'a\\\"b' is not known here"}, /* as it stands in JSON */
        {"0123456789012345678901234567890123456789012345678901234567890123456789=1",
         "query parameter '0123456789012345678901234567890123456789012345678901234567890123' is not known here"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct response response;
        struct parameter_value values[COUNT(table)];
        char expected[256];
        if (query(cases[i].query, &response, values)) {
            fail_msg("%s is accepted", cases[i].query);
        }
        assert_int_equal(response.status, 400);
        snprintf(
            expected, sizeof expected,
            "{\"type\":\"about:blank\",\"title\":\"Bad Request\",\"status\":400,\"detail\":\"%s\"}",
            cases[i].detail);
        assert_text(buffer_text(&response.body), text_from(expected));
    }
}

static void a_route_without_parameters_takes_none(void **state) {
    (void)state;
    struct request request = {.arena = &arena};
    struct response response;
    response_start(&response, &arena);
    assert_true(request_query(&request, &response, NULL, 0, NULL));
    request.query = TEXT("a=1");
    assert_false(request_query(&request, &response, NULL, 0, NULL));
    assert_int_equal(response.status, 400);
}

#define OVER_A_CONNECTION(test) cmocka_unit_test_setup_teardown(test, peer_setup, peer_teardown)
#define TEST(test)              cmocka_unit_test_teardown(test, arena_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        OVER_A_CONNECTION(a_request_is_what_the_parameters_say),
        OVER_A_CONNECTION(what_is_not_sent_is_empty),
        OVER_A_CONNECTION(the_web_servers_request_id_is_taken_as_it_is),
        OVER_A_CONNECTION(without_one_the_clients_is_taken_or_a_new_one_made),
        OVER_A_CONNECTION(methods_are_known_by_their_exact_names),
        OVER_A_CONNECTION(a_path_is_split_below_the_prefix_and_then_decoded),
        OVER_A_CONNECTION(a_connection_without_a_request_gives_none),
        TEST(good_parameters_become_values),
        TEST(bad_parameters_are_named_in_a_400),
        TEST(a_route_without_parameters_takes_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
