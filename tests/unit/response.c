#include "response.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>

#include "request.h"
#include "support.h"

static struct arena arena;

static int arena_teardown(void **state) {
    (void)state;
    arena_destroy(&arena);
    return 0;
}

/* ---- on the wire ---------------------------------------------------------------------------- */

/* Sends the response as the answer to a request, and returns what arrived. */
static struct text sent(struct peer *peer, const struct response *response, bool without_body) {
    struct buffer wire = {.arena = &peer->arena};
    struct request request = {.arena = &peer->arena, .random = &(uint64_t){1}};
    wire_request(&wire, (const char *const[]){"REQUEST_METHOD=GET", NULL}, TEXT(""));
    peer_send(peer, buffer_text(&wire));
    assert_int_equal(request_receive(&request, peer->connection), FASTCGI_REQUEST);
    assert_true(response_send(response, peer->connection, without_body));
    struct answer answer = peer_answer(peer);
    assert_true(answer.valid && answer.ended);
    return answer.out;
}

static void json_is_sent_with_its_type_and_length(void **state) {
    struct peer *peer = *state;
    struct response response;
    response_start(&response, &peer->arena);
    response_header(&response, TEXT("X-One"), TEXT("1"));
    response_json(&response, 200);
    buffer_append(&response.body, TEXT("{\"id\":1}"));
    response_header(&response, TEXT("X-Two"), TEXT(""));
    assert_text(sent(peer, &response, false),
                TEXT("Status: 200 OK\r\nContent-Type: application/json\r\nContent-Length: 8\r\n"
                     "X-One: 1\r\nX-Two: \r\n\r\n{\"id\":1}"));
    assert_text(sent(peer, &response, true),
                TEXT("Status: 200 OK\r\nContent-Type: application/json\r\nContent-Length: 8\r\n"
                     "X-One: 1\r\nX-Two: \r\n\r\n"));
}

static void the_whole_answer_as_one_text_is_what_is_sent(void **state) {
    struct peer *peer = *state;
    for (int without_body = 0; without_body < 2; without_body++) {
        struct response response;
        response_start(&response, &peer->arena);
        assert_int_equal(response.delay_ms, 0);
        response_header(&response, TEXT("X-One"), TEXT("1"));
        response_json(&response, 200);
        buffer_append(&response.body, TEXT("{\"id\":1}"));
        assert_text(response_text(&response, without_body == 1),
                    sent(peer, &response, without_body == 1));
        response_empty(&response, 204);
        assert_text(response_text(&response, without_body == 1),
                    sent(peer, &response, without_body == 1));
    }
}

static void an_answer_without_a_body_has_no_type_and_no_length(void **state) {
    struct peer *peer = *state;
    struct response response;
    response_start(&response, &peer->arena);
    response_json(&response, 200);
    buffer_append(&response.body, TEXT("{}"));
    response_header(&response, TEXT("ETag"), TEXT("\"x\""));
    response_empty(&response, 304);
    assert_text(sent(peer, &response, false),
                TEXT("Status: 304 Not Modified\r\nETag: \"x\"\r\n\r\n"));
    response_empty(&response, 204);
    assert_text(sent(peer, &response, false),
                TEXT("Status: 204 No Content\r\nETag: \"x\"\r\n\r\n"));
}

static void a_problem_is_sent_as_a_problem_document(void **state) {
    struct peer *peer = *state;
    struct response response;
    response_start(&response, &peer->arena);
    response_problem(&response, 503, "the %s is busy", "database");
    assert_text(sent(peer, &response, false),
                TEXT("Status: 503 Service Unavailable\r\nContent-Type: application/problem+json\r\n"
                     "Content-Length: 97\r\nRetry-After: 1\r\n\r\n"
                     "{\"type\":\"about:blank\",\"title\":\"Service Unavailable\",\"status\":503,"
                     "\"detail\":\"the database is busy\"}"));
}

static void every_status_has_its_title_in_line_and_document(void **state) {
    static const struct {
        int status;
        const char *title;
    } cases[] = {
        {200, "OK"},
        {201, "Created"},
        {204, "No Content"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {409, "Conflict"},
        {412, "Precondition Failed"},
        {413, "Content Too Large"},
        {415, "Unsupported Media Type"},
        {421, "Misdirected Request"},
        {422, "Unprocessable Content"},
        {500, "Internal Server Error"},
        {503, "Service Unavailable"},
        {507, "Insufficient Storage"},
    };
    struct peer *peer = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct response response;
        char line[64];
        char title[64];
        response_start(&response, &peer->arena);
        response_problem(&response, cases[i].status, "detail");
        struct text out = sent(peer, &response, false);
        int length =
            snprintf(line, sizeof line, "Status: %d %s\r\n", cases[i].status, cases[i].title);
        assert_true(out.length > (size_t)length);
        assert_memory_equal(out.data, line, (size_t)length);
        assert_text(response_title(cases[i].status), text_from(cases[i].title));
        snprintf(title, sizeof title, "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%d,",
                 cases[i].title, cases[i].status);
        assert_memory_equal(response.body.data, title, strlen(title));
        assert_int_equal(response_is_success(&response),
                         cases[i].status >= 200 && cases[i].status < 300);
    }
}

static void an_answer_of_a_megabyte_is_sent_whole(void **state) {
    struct peer *peer = *state;
    struct response response;
    struct buffer wire = {.arena = &peer->arena};
    struct request request = {.arena = &peer->arena, .random = &(uint64_t){1}};
    size_t length = (size_t)1024 * 1024;
    response_start(&response, &peer->arena);
    response_json(&response, 200);
    memset(buffer_reserve(&response.body, length), 'x', length);
    response.body.length = length;
    wire_request(&wire, (const char *const[]){"REQUEST_METHOD=GET", NULL}, TEXT(""));
    peer_send(peer, buffer_text(&wire));
    assert_int_equal(request_receive(&request, peer->connection), FASTCGI_REQUEST);
    peer_listen(peer);
    assert_true(response_send(&response, peer->connection, false));
    struct answer answer = peer_answer(peer);
    struct text head =
        TEXT("Status: 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1048576\r\n\r\n");
    assert_true(answer.valid && answer.ended);
    assert_int_equal(answer.out.length, head.length + length);
    assert_memory_equal(answer.out.data, head.data, head.length);
    assert_memory_equal(answer.out.data + head.length, response.body.data, length);
}

/* ---- in memory ------------------------------------------------------------------------------ */

static void a_problem_replaces_what_was_in_the_answer(void **state) {
    (void)state;
    struct response response;
    response_start(&response, &arena);
    assert_int_equal(response.status, 0);
    response_json(&response, 201);
    response_header(&response, TEXT("Location"), TEXT("/products/1"));
    buffer_append(&response.body, TEXT("{\"id\":1}"));
    response_problem(&response, 409, "taken");
    assert_int_equal(response.headers.length, 0);
    assert_text(
        buffer_text(&response.body),
        TEXT(
            "{\"type\":\"about:blank\",\"title\":\"Conflict\",\"status\":409,\"detail\":\"taken\"}"));
}

static void a_problem_may_have_members_of_its_own(void **state) {
    (void)state;
    struct response response;
    response_start(&response, &arena);
    response_problem_open(&response, 422, TEXT("a \"quoted\" detail"));
    buffer_append(&response.body, TEXT(",\"errors\":[]}"));
    assert_text(buffer_text(&response.body),
                TEXT("{\"type\":\"about:blank\",\"title\":\"Unprocessable Content\",\"status\":422,"
                     "\"detail\":\"a \\\"quoted\\\" detail\",\"errors\":[]}"));
}

static void a_detail_of_any_length_leaves_a_good_document(void **state) {
    (void)state;
    for (int length = 0; length < 600; length += 50) {
        struct response response;
        char detail[601];
        memset(detail, '"', sizeof detail);
        detail[length] = '\0';
        response_start(&response, &arena);
        response_problem(&response, 400, "%s", detail);
        buffer_append(&response.body, TEXT("\0"));
        struct json_object *problem = json_tokener_parse(response.body.data);
        assert_non_null(problem);
        json_object_put(problem);
    }
}

static void a_location_is_the_prefix_the_path_and_the_id(void **state) {
    (void)state;
    struct response response;
    response_start(&response, &arena);
    response_location(&response, TEXT(""), "/products/", 1);
    response_location(&response, TEXT("/shop"), "/categories/", INT64_MAX);
    assert_text(
        buffer_text(&response.headers),
        TEXT("Location: /products/1\r\nLocation: /shop/categories/9223372036854775807\r\n"));
}

/* ---- entity tags ---------------------------------------------------------------------------- */

static struct text etag_of(const char *body, size_t length) {
    struct response response;
    response_start(&response, &arena);
    buffer_append(&response.body, (struct text){.data = body, .length = length});
    return response_etag(&response);
}

static void an_etag_is_sixteen_hex_digits_in_quotes_and_a_header(void **state) {
    (void)state;
    for (int i = 0; i < 100; i++) {
        struct response response;
        response_start(&response, &arena);
        buffer_append_integer(&response.body, i);
        struct text etag = response_etag(&response);
        assert_int_equal(etag.length, RESPONSE_ETAG_BYTES);
        assert_int_equal(etag.data[0], '"');
        assert_int_equal(etag.data[17], '"');
        for (size_t k = 1; k < 17; k++) {
            assert_non_null(memchr("0123456789abcdef", etag.data[k], 16));
        }
        assert_int_equal(response.headers.length, 6 + 18 + 2);
        assert_memory_equal(response.headers.data, "ETag: ", 6);
        assert_memory_equal(response.headers.data + 6, etag.data, 18);
    }
}

static void equal_bodies_have_equal_etags(void **state) {
    (void)state;
    assert_text(etag_of("{\"id\":1}", 8), etag_of("{\"id\":1}", 8));
    assert_text(etag_of("", 0), etag_of("", 0));
}

static int compare_tags(const void *a, const void *b) {
    return memcmp(a, b, RESPONSE_ETAG_BYTES);
}

static void an_etag_differs_for_every_single_bit_of_the_body(void **state) {
    static const size_t lengths[] = {1, 2, 7, 8, 9, 15, 16, 17, 64, 201, 1000};
    static char tags[1 + 1000 * 8][RESPONSE_ETAG_BYTES];
    (void)state;
    for (size_t i = 0; i < COUNT(lengths); i++) {
        for (int kind = 0; kind < 3; kind++) { /* of zeros, of ones, of text */
            char body[1000];
            size_t count = 0;
            for (size_t k = 0; k < lengths[i]; k++) {
                body[k] = (char)(kind == 0 ? 0 : kind == 1 ? -1 : 'a' + (int)(k * k % 23));
            }
            memcpy(tags[count++], etag_of(body, lengths[i]).data, RESPONSE_ETAG_BYTES);
            for (size_t bit = 0; bit < lengths[i] * 8; bit++) {
                body[bit / 8] = (char)(body[bit / 8] ^ 1 << bit % 8);
                memcpy(tags[count++], etag_of(body, lengths[i]).data, RESPONSE_ETAG_BYTES);
                body[bit / 8] = (char)(body[bit / 8] ^ 1 << bit % 8);
                arena_reset(&arena);
            }
            qsort(tags, count, sizeof tags[0], compare_tags); /* and from each other */
            for (size_t k = 1; k < count; k++) {
                if (compare_tags(tags[k - 1], tags[k]) == 0) {
                    fail_msg("two of %zu tags are equal at %zu bytes", count, lengths[i]);
                }
            }
        }
    }
}

static void an_etag_differs_for_zeros_at_the_end_and_for_swapped_words(void **state) {
    (void)state;
    char zeros[33] = {0};
    static char tags[33][RESPONSE_ETAG_BYTES];
    for (size_t length = 0; length < COUNT(tags); length++) {
        memcpy(tags[length], etag_of(zeros, length).data, RESPONSE_ETAG_BYTES);
    }
    qsort(tags, COUNT(tags), sizeof tags[0], compare_tags);
    for (size_t k = 1; k < COUNT(tags); k++) {
        assert_memory_not_equal(tags[k - 1], tags[k], RESPONSE_ETAG_BYTES);
    }
    struct text one = etag_of("abcdefghABCDEFGH", 16);
    struct text other = etag_of("ABCDEFGHabcdefgh", 16);
    assert_memory_not_equal(one.data, other.data, RESPONSE_ETAG_BYTES);
}

#define OVER_A_CONNECTION(test) cmocka_unit_test_setup_teardown(test, peer_setup, peer_teardown)
#define TEST(test)              cmocka_unit_test_teardown(test, arena_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        OVER_A_CONNECTION(json_is_sent_with_its_type_and_length),
        OVER_A_CONNECTION(the_whole_answer_as_one_text_is_what_is_sent),
        OVER_A_CONNECTION(an_answer_without_a_body_has_no_type_and_no_length),
        OVER_A_CONNECTION(a_problem_is_sent_as_a_problem_document),
        OVER_A_CONNECTION(every_status_has_its_title_in_line_and_document),
        OVER_A_CONNECTION(an_answer_of_a_megabyte_is_sent_whole),
        TEST(a_problem_replaces_what_was_in_the_answer),
        TEST(a_problem_may_have_members_of_its_own),
        TEST(a_detail_of_any_length_leaves_a_good_document),
        TEST(a_location_is_the_prefix_the_path_and_the_id),
        TEST(an_etag_is_sixteen_hex_digits_in_quotes_and_a_header),
        TEST(equal_bodies_have_equal_etags),
        TEST(an_etag_differs_for_every_single_bit_of_the_body),
        TEST(an_etag_differs_for_zeros_at_the_end_and_for_swapped_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
