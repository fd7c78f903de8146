#include "meter.h"

#include <unistd.h>

#include "support.h"

static struct scoreboard *scoreboard;
static struct scoreboard_slot *slot;
static struct meter meter;

static int setup(void **state) {
    (void)state;
    scoreboard = scoreboard_create(NULL, 1, "x");
    slot = &scoreboard->slot[0];
    meter_start(&meter, slot, LANE_READ | LANE_WRITE);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    scoreboard_close(scoreboard);
    return 0;
}

static void a_worker_that_starts_is_there_to_see(void **state) {
    (void)state;
    assert_true(scoreboard_has_writer(scoreboard));
    assert_int_equal(atomic_load(&slot->pid), getpid());
    assert_int_equal(atomic_load(&slot->lanes), LANE_READ | LANE_WRITE);
    log_capture();
    meter_end(&meter);
    assert_non_null(strstr(log_captured(), "W10 served 0 requests in 0 batches, 0.0 a batch"));
    assert_false(scoreboard_has_writer(scoreboard));
}

static void a_successor_counts_on_and_tells_of_its_own_alone(void **state) {
    (void)state;
    meter_wake(&meter);
    meter_batch(&meter, 5);
    scoreboard_set(&slot->connections, 3);
    scoreboard_set(&slot->waiting, 3);
    meter_start(&meter, slot, LANE_WRITE);
    assert_int_equal(scoreboard_read(&slot->connections), 0);
    assert_int_equal(scoreboard_read(&slot->waiting), 0);
    meter_wake(&meter);
    meter_batch(&meter, 2);
    meter_batch(&meter, 1);
    assert_int_equal(scoreboard_read(&slot->batches.sum), 8);
    log_capture();
    meter_end(&meter);
    assert_non_null(strstr(log_captured(), "W10 served 3 requests in 2 batches, 1.5 a batch"));
}

static void answers_are_counted_by_route_method_and_status(void **state) {
    (void)state;
    meter_answer(&meter, &routes[1], METHOD_POST, 201);
    meter_answer(&meter, &routes[1], METHOD_POST, 201);
    meter_answer(&meter, &routes[routes_count - 1], METHOD_GET, 200);
    meter_answer(&meter, NULL, METHOD_OTHER, 404);
    meter_answer(&meter, NULL, METHOD_GET, 999); /* is sent as 500 */
    assert_int_equal(slot->answers[1][METHOD_POST][response_status_index(201)], 2);
    assert_int_equal(slot->answers[routes_count - 1][METHOD_GET][response_status_index(200)], 1);
    assert_int_equal(slot->answers[SCOREBOARD_ROUTES - 1][METHOD_OTHER][response_status_index(404)],
                     1);
    assert_int_equal(slot->answers[SCOREBOARD_ROUTES - 1][METHOD_GET][response_status_index(500)],
                     1);
    uint64_t all = 0;
    for (size_t i = 0; i < sizeof slot->answers / sizeof(uint64_t); i++) {
        all += scoreboard_read(&slot->answers[0][0][0] + i);
    }
    assert_int_equal(all, 5);
}

static void a_batch_counts_its_requests_with_one_time(void **state) {
    (void)state;
    meter_wake(&meter);
    meter.woken_ns -= 1000000; /* a millisecond ago at least */
    int64_t now = meter_batch(&meter, 3);
    assert_true(now - meter.woken_ns >= 1000000);
    meter_batch(&meter, 0); /* a wake-up without a request is none */
    assert_int_equal(histogram_count(&slot->batches), 1);
    assert_int_equal(scoreboard_read(&slot->batches.sum), 3);
    assert_int_equal(histogram_count(&slot->requests), 3);
    assert_int_equal(scoreboard_read(&slot->requests.sum), 3 * (now - meter.woken_ns));
}

static void a_commit_is_counted_with_its_time_or_as_failed(void **state) {
    (void)state;
    meter_commit(&meter, clock_ns() - 1000000, true);
    meter_commit(&meter, clock_ns(), false);
    assert_int_equal(histogram_count(&slot->commits), 1);
    assert_true(scoreboard_read(&slot->commits.sum) >= 1000000);
    assert_int_equal(scoreboard_read(&slot->failed_commits), 1);
}

static void what_the_parts_counted_is_taken_once(void **state) {
    (void)state;
    assert_int_equal(scratch_setup(state), 0);
    scratch_database(false);
    struct db *db = scratch_open(DB_WRITE);
    *db_counts(db) = (struct db_counts){.hits = 1, .misses = 2, .lock_waits = 3, .lock_wait_ns = 4};
    struct clients clients = {.open = 5, .accepted = 6, .parked = 7, .waiting.count = 8};
    meter_collect(&meter, db, &clients);
    meter_collect(&meter, db, &clients);
    assert_int_equal(scoreboard_read(&slot->cache_hits), 1);
    assert_int_equal(scoreboard_read(&slot->cache_misses), 2);
    assert_int_equal(scoreboard_read(&slot->lock_waits), 3);
    assert_int_equal(scoreboard_read(&slot->lock_wait_ns), 4);
    assert_int_equal(scoreboard_read(&slot->connections), 5);
    assert_int_equal(scoreboard_read(&slot->accepted), 6);
    assert_int_equal(scoreboard_read(&slot->waits), 7);
    assert_int_equal(scoreboard_read(&slot->waiting), 8);
    assert_int_equal(scoreboard_read(&slot->wal_pages), db_wal_pages(db));
    db_close(db);
    assert_int_equal(scratch_teardown(state), 0);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_worker_that_starts_is_there_to_see),
        TEST(a_successor_counts_on_and_tells_of_its_own_alone),
        TEST(answers_are_counted_by_route_method_and_status),
        TEST(a_batch_counts_its_requests_with_one_time),
        TEST(a_commit_is_counted_with_its_time_or_as_failed),
        TEST(what_the_parts_counted_is_taken_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
