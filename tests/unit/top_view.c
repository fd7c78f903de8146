#include "top_view.h"

#include <stdio.h>
#include <unistd.h>

#include "meter.h"
#include "support.h"

static struct arena arena;
static struct scoreboard *scoreboard;
static struct top_sample before, now;

static int setup(void **state) {
    struct meter meter;
    (void)state;
    scoreboard = scoreboard_create(NULL, 2, "/data/larder.db");
    meter_start(&meter, &scoreboard->slot[0], LANE_WRITE);
    meter_start(&meter, &scoreboard->slot[1], LANE_READ);
    snprintf(scoreboard->slot[0].name, sizeof scoreboard->slot[0].name, "writer");
    snprintf(scoreboard->slot[1].name, sizeof scoreboard->slot[1].name, "reader 1");
    scoreboard_add(&scoreboard->slot[1].accepted, 1000); /* of long ago */
    top_take(&before, scoreboard);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    top_forget(&before);
    top_forget(&now);
    scoreboard_close(scoreboard);
    arena_destroy(&arena);
    return 0;
}

/* The page about two seconds. */
static const char *page(void) {
    struct buffer out = {.arena = &arena};
    top_take(&now, scoreboard);
    now.at_ns = before.at_ns + INT64_C(2000000000);
    top_view(&out, &before, &now);
    buffer_append(&out, TEXT("\0"));
    return out.data;
}

static void assert_shows(const char *words) {
    const char *text = page();
    if (strstr(text, words) == NULL) {
        fail_msg("no '%s' in\n%s", words, text);
    }
}

static void a_service_that_does_nothing_has_rates_of_nought_and_no_times(void **state) {
    (void)state;
    assert_shows("requests     0.0/s   reads 0.0  writes 0.0  logins 0.0   2xx 0.0");
    assert_shows("latency      p50 - ms  p99 - ms\n");
    assert_shows("0.0/s accepted");
    assert_shows("/data/larder.db");
    assert_shows(" 0 h 00 min");
}

static void what_was_added_is_shown_by_the_second(void **state) {
    struct meter writer = {.slot = &scoreboard->slot[0]};
    struct meter reader = {.slot = &scoreboard->slot[1]};
    (void)state;
    for (int i = 0; i < 6; i++) {
        meter_answer(&reader, &routes[0], METHOD_GET, 200);
    }
    meter_answer(&reader, &routes[0], METHOD_HEAD, 304);
    meter_answer(&writer, &routes[0], METHOD_DELETE, 404);
    meter_answer(&writer, NULL, METHOD_OTHER, 503);
    for (int i = 0; i < routes_count; i++) {
        if (routes[i].access == ACCESS_LOGIN) {
            meter_answer(&writer, &routes[i], METHOD_POST, 401);
        }
    }
    assert_shows("requests     5.0/s   reads 3.5  writes 1.0  logins 0.5   2xx 3.0  3xx 0.5  "
                 "4xx 1.0  5xx 0.5\n");
    histogram_add_size(&scoreboard->slot[1].batches, 6);
    histogram_add_size(&scoreboard->slot[1].batches, 2);
    assert_shows("batches      1.0/s   4.0 requests each\n");
    scoreboard_add(&scoreboard->slot[1].accepted, 3);
    scoreboard_set(&scoreboard->slot[1].connections, 7);
    assert_shows("connections  7 open   1.5/s accepted");
    scoreboard_set(&scoreboard->slot[0].wal_pages, 12);
    assert_shows("12 pages to move");
    scoreboard_add(&scoreboard->slot[0].restarts, 1);
    assert_shows("restarts of workers 1\n");
}

static void times_are_shares_of_what_was_added(void **state) {
    struct histogram *requests = &scoreboard->slot[0].requests;
    (void)state;
    histogram_add_times(requests, 900000, 98); /* in the bucket from 0.512 to 1.024 ms */
    assert_shows("latency      p50 0.77 ms  p99 1.02 ms\n");
    histogram_add_times(requests, 100000000, 2); /* from 65.5 to 131.1 ms */
    assert_shows("p50 0.77 ms  p99 98.3 ms\n");
    top_take(&before, scoreboard);
    histogram_add_times(requests, INT64_C(9000000000), 1); /* over the last bound, 4.2 s */
    assert_shows("p50 4194 ms  p99 4194 ms\n");
}

static void each_worker_has_a_line(void **state) {
    char words[64];
    (void)state;
    atomic_store(&scoreboard->slot[0].serving, false);
    atomic_store(&scoreboard->slot[0].pid, -1);
    snprintf(words, sizeof words, "\nreader 1   %8d  serves ", getpid());
    assert_shows(words);
    assert_shows("\nwriter           -1  is away ");
    assert_shows(" 0 B  0\n"); /* memory of one that is not there, restarts */
}

static void a_successors_processor_time_is_counted_from_its_start(void **state) {
    (void)state;
    before.processes[1] = (struct process){.began_ticks = 1, .cpu_ticks = 1000000};
    for (const char *at = page(); (at = strchr(at, '-')) != NULL; at++) {
        assert_false(at[1] >= '0' && at[1] <= '9'); /* no negative share */
    }
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_service_that_does_nothing_has_rates_of_nought_and_no_times),
        TEST(what_was_added_is_shown_by_the_second),
        TEST(times_are_shares_of_what_was_added),
        TEST(each_worker_has_a_line),
        TEST(a_successors_processor_time_is_counted_from_its_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
