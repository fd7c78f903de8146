#include "cors.h"

#include "support.h"

#define EXPOSE "Access-Control-Expose-Headers: "
#define PREFLIGHT                                                                                  \
    "Access-Control-Allow-Methods: GET, POST, PUT, PATCH, DELETE\r\n"                              \
    "Access-Control-Allow-Headers: "

static struct arena arena;

static int teardown(void **state) {
    (void)state;
    arena_destroy(&arena);
    return 0;
}

static struct text headers_for(const char *allowed, const char *origin, enum method method) {
    struct response response;
    struct request request = {.arena = &arena, .method = method, .origin = text_from(origin)};
    response_start(&response, &arena);
    cors_apply(allowed, &request, &response);
    buffer_append(&response.headers, TEXT("\0"));
    response.headers.length--;
    return buffer_text(&response.headers);
}

static bool contains(struct text headers, const char *line) {
    return headers.length > 0 && strstr(headers.data, line) != NULL;
}

static void only_the_configured_origin_may_read_the_answer(void **state) {
    static const struct {
        const char *allowed, *origin, *expected; /* the Access-Control-Allow-Origin, NULL: none */
        bool varies;
    } cases[] = {
        {NULL, "https://example.org", NULL, false},
        {NULL, "", NULL, false},
        {"https://example.org", "https://example.org", "https://example.org", true},
        {"https://example.org", "", NULL, true},
        {"https://example.org", "http://example.org", NULL, true},
        {"https://example.org", "https://example.org.evil.example", NULL, true},
        {"https://example.org", "https://example.or", NULL, true},
        {"https://example.org", "https://EXAMPLE.org", NULL, true},
        {"https://example.org", "null", NULL, true},
        {"*", "https://example.org", "*", false},
        {"*", "null", "*", false},
        {"*", "", NULL, false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct text headers = headers_for(cases[i].allowed, cases[i].origin, METHOD_GET);
        struct buffer line = {.arena = &arena};
        buffer_append(&line, TEXT("Access-Control-Allow-Origin: "));
        buffer_append(&line, text_from(cases[i].expected == NULL ? "" : cases[i].expected));
        buffer_append(&line, TEXT("\r\n\0"));
        if (contains(headers, "Access-Control") != (cases[i].expected != NULL) ||
            (cases[i].expected != NULL && !contains(headers, line.data)) ||
            contains(headers, "Vary: Origin\r\n") != cases[i].varies) {
            fail_msg("%s asks for %s: %.*s", cases[i].origin, cases[i].allowed, (int)headers.length,
                     headers.data);
        }
    }
}

static void
a_preflight_is_told_the_methods_and_headers_and_other_answers_what_to_expose(void **state) {
    (void)state;
    struct text preflight =
        headers_for("https://example.org", "https://example.org", METHOD_OPTIONS);
    assert_true(contains(preflight, PREFLIGHT));
    assert_true(contains(preflight, "Access-Control-Max-Age: "));
    assert_true(contains(preflight, "Authorization"));
    assert_true(contains(preflight, "Content-Type"));
    assert_true(contains(preflight, "If-Match"));
    assert_false(contains(preflight, EXPOSE));
    static const enum method methods[] = {METHOD_GET, METHOD_HEAD, METHOD_POST, METHOD_DELETE};
    for (size_t i = 0; i < COUNT(methods); i++) {
        struct text answer = headers_for("https://example.org", "https://example.org", methods[i]);
        assert_true(contains(answer, EXPOSE));
        assert_true(contains(answer, "ETag"));
        assert_true(contains(answer, "Location"));
        assert_false(contains(answer, PREFLIGHT));
    }
}

static void a_preflight_from_elsewhere_is_told_nothing(void **state) {
    (void)state;
    struct text headers =
        headers_for("https://example.org", "https://other.example", METHOD_OPTIONS);
    assert_text(headers, TEXT("Vary: Origin\r\n"));
}

static void credentials_are_never_allowed(void **state) {
    (void)state;
    static const char *const allowed[] = {"*", "https://example.org"};
    for (size_t i = 0; i < COUNT(allowed); i++) {
        assert_false(
            contains(headers_for(allowed[i], "https://example.org", METHOD_GET), "Credentials"));
        assert_false(contains(headers_for(allowed[i], "https://example.org", METHOD_OPTIONS),
                              "Credentials"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(only_the_configured_origin_may_read_the_answer, teardown),
        cmocka_unit_test_teardown(
            a_preflight_is_told_the_methods_and_headers_and_other_answers_what_to_expose, teardown),
        cmocka_unit_test_teardown(a_preflight_from_elsewhere_is_told_nothing, teardown),
        cmocka_unit_test_teardown(credentials_are_never_allowed, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
