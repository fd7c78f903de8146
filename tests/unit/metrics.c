/* GET /metrics as text; tests/checks/metrics.py holds its grammar over the wire. */
#include <stdio.h>

#include "endpoints/endpoints.h"
#include "meter.h"
#include "support.h"

static struct arena arena;
static struct scoreboard *scoreboard;

static int setup(void **state) {
    (void)state;
    scoreboard = scoreboard_create(NULL, 3, "no such file");
    for (int i = 0; i < 3; i++) {
        snprintf(scoreboard->slot[i].name, sizeof scoreboard->slot[i].name, "%s",
                 (const char *[]){"writer", "reader 1", "login"}[i]);
    }
    return 0;
}

static int teardown(void **state) {
    (void)state;
    scoreboard_close(scoreboard);
    arena_destroy(&arena);
    return 0;
}

static struct response ask(struct text address, struct text forwarded) {
    struct request request = {.arena = &arena,
                              .scoreboard = scoreboard,
                              .remote_address = address,
                              .forwarded_for = forwarded};
    struct response response;
    response_start(&response, &arena);
    metrics(&request, &response);
    return response;
}

/* The page, with a NUL behind it. */
static const char *page(void) {
    struct response response = ask(TEXT("127.0.0.1"), TEXT(""));
    assert_int_equal(response.status, 200);
    buffer_append(&response.body, TEXT("\0"));
    return response.body.data;
}

static void assert_line(const char *line) {
    const char *text = page();
    const char *found = strstr(text, line);
    if (found == NULL || (found != text && found[-1] != '\n')) {
        fail_msg("no line %s in\n%s", line, text);
    }
}

static void strangers_are_refused(void **state) {
    static const struct {
        struct text address, forwarded;
        int status;
    } cases[] = {
        {TEXT("127.0.0.1"), TEXT(""), 200},
        {TEXT("fd00::1"), TEXT("10.0.0.1"), 200},
        {TEXT("unix:"), TEXT("10.0.0.1, 192.168.1.1 ,::1"), 200},
        {TEXT(""), TEXT(""), 403}, /* a web server that does not say who asks */
        {TEXT(""), TEXT("127.0.0.1"), 403},
        {TEXT("8.8.8.8"), TEXT(""), 403},
        {TEXT("8.8.8.8"), TEXT("127.0.0.1"), 403},
        {TEXT("127.0.0.1"), TEXT("8.8.8.8"), 403},
        {TEXT("127.0.0.1"), TEXT("10.0.0.1, 8.8.8.8"), 403},
        {TEXT("127.0.0.1"), TEXT("8.8.8.8, 10.0.0.1"), 403},
        {TEXT("127.0.0.1"), TEXT("unknown"), 403},
        {TEXT("127.0.0.1"), TEXT("10.0.0.1,"), 403},
        {TEXT("127.0.0.1"), TEXT(","), 403},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct response response = ask(cases[i].address, cases[i].forwarded);
        if (response.status != cases[i].status) {
            fail_msg("case %zu: %d", i, response.status);
        }
    }
}

static void counters_of_all_workers_are_one(void **state) {
    struct meter meter = {.slot = &scoreboard->slot[0]};
    (void)state;
    meter_answer(&meter, &routes[0], METHOD_GET, 200);
    meter.slot = &scoreboard->slot[1];
    meter_answer(&meter, &routes[0], METHOD_GET, 200);
    meter_answer(&meter, NULL, METHOD_OTHER, 404);
    scoreboard_add(&scoreboard->slot[0].lock_wait_ns, 1500000000);
    scoreboard_add(&scoreboard->slot[1].lock_wait_ns, 1);
    assert_line(
        "larder_requests_total{route=\"/products/{id}\",method=\"GET\",status=\"200\"} 2\n");
    assert_line("larder_requests_total{route=\"other\",method=\"other\",status=\"404\"} 1\n");
    assert_line("larder_lock_wait_seconds_total 1.500000001\n");
    assert_null(strstr(page(), "status=\"500\"")); /* nothing without an answer */
}

static void workers_and_lanes_have_their_own(void **state) {
    struct meter meter;
    (void)state;
    meter_start(&meter, &scoreboard->slot[0], LANE_WRITE);
    meter_start(&meter, &scoreboard->slot[1], LANE_READ);
    scoreboard_set(&scoreboard->slot[1].connections, 4);
    scoreboard_add(&scoreboard->slot[0].slow, 2);
    histogram_add_times(&scoreboard->slot[1].requests, 20000, 3);
    histogram_add_times(&scoreboard->slot[1].requests, INT64_C(60000000000), 1);
    histogram_add_size(&scoreboard->slot[0].batches, 4);
    histogram_add_times(&scoreboard->slot[0].commits, 1000000, 1);
    assert_line("larder_worker_up{worker=\"writer\"} 1\n");
    assert_line("larder_worker_up{worker=\"login\"} 0\n");
    assert_line("larder_connections{worker=\"reader 1\"} 4\n");
    assert_line("larder_slow_requests_total{lane=\"write\"} 2\n");
    assert_line("larder_request_seconds_bucket{lane=\"read\",le=\"0.000016\"} 0\n");
    assert_line("larder_request_seconds_bucket{lane=\"read\",le=\"0.000032\"} 3\n");
    assert_line("larder_request_seconds_bucket{lane=\"read\",le=\"4.194304\"} 3\n");
    assert_line("larder_request_seconds_bucket{lane=\"read\",le=\"+Inf\"} 4\n");
    assert_line("larder_request_seconds_sum{lane=\"read\"} 60.000060000\n");
    assert_line("larder_request_seconds_count{lane=\"read\"} 4\n");
    assert_line("larder_batch_requests_bucket{lane=\"write\",le=\"2\"} 0\n");
    assert_line("larder_batch_requests_bucket{lane=\"write\",le=\"4\"} 1\n");
    assert_line("larder_batch_requests_bucket{lane=\"write\",le=\"128\"} 1\n");
    assert_line("larder_commit_seconds_bucket{le=\"0.001024\"} 1\n");
    assert_null(strstr(page(), "lane=\"login\"")); /* no such worker has begun */
}

static void one_worker_for_all_has_a_lane_of_its_own(void **state) {
    struct meter meter;
    (void)state;
    meter_start(&meter, &scoreboard->slot[0], LANE_READ | LANE_WRITE | LANE_LOGIN);
    assert_line("larder_request_seconds_count{lane=\"all\"} 0\n");
}

static void what_stands_in_quotes_is_escaped(void **state) {
    (void)state;
    snprintf(scoreboard->slot[0].name, sizeof scoreboard->slot[0].name, "a\"b\\c\nd");
    assert_line("larder_worker_up{worker=\"a\\\"b\\\\c\\nd\"} 0\n");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(strangers_are_refused),
        TEST(counters_of_all_workers_are_one),
        TEST(workers_and_lanes_have_their_own),
        TEST(one_worker_for_all_has_a_lane_of_its_own),
        TEST(what_stands_in_quotes_is_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
