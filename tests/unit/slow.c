#include "slow.h"

#include "support.h"

static const int64_t MS = 1000000;

static struct db *db;

static int setup(void **state) {
    if (scratch_setup(state) != 0) {
        return -1;
    }
    scratch_database(false);
    db = scratch_open(DB_READ);
    return 0;
}

static int teardown(void **state) {
    db_close(db);
    return scratch_teardown(state);
}

/* What is logged about a batch with these times. */
static const char *tell(struct slow *slow, int requests) {
    struct request request = {.request_id = TEXT("id-1"), .method = METHOD_PUT, .db = db};
    log_capture();
    slow_tell(slow, &request, &routes[0], 200, requests);
    return log_captured();
}

static void a_batch_is_slow_from_the_limit_on(void **state) {
    struct slow slow = {.limit_ns = 5000 * MS};
    (void)state;
    slow_wake(&slow);
    slow_received(&slow);
    slow_served(&slow, 0);
    assert_false(slow_is(&slow));
    slow.begun_ns -= 4000 * MS;
    assert_false(slow_is(&slow));
    slow.begun_ns -= 1000 * MS;
    assert_true(slow_is(&slow));
    slow.limit_ns = 0; /* off */
    assert_false(slow_is(&slow));
}

static void the_longest_handler_is_found(void **state) {
    struct slow slow = {.limit_ns = 1};
    (void)state;
    slow_wake(&slow);
    slow_received(&slow);
    slow_served(&slow, 0);
    slow.marked_ns -= 300 * MS; /* the next has run so long */
    slow_served(&slow, 1);
    slow.marked_ns -= 200 * MS;
    slow_served(&slow, 2);
    assert_int_equal(slow.longest, 1);
    assert_in_range(slow.longest_ns / MS, 300, 400);
    slow_wake(&slow); /* of the next batch, not of this one */
    slow_received(&slow);
    slow_served(&slow, 0);
    assert_int_equal(slow.longest, 0);
}

static void the_line_says_where_the_time_went(void **state) {
    struct slow slow = {.begun_ns = 10000 * MS,
                        .ended_ns = 11500 * MS,
                        .before_ns = 200 * MS,
                        .longest_ns = 1200 * MS};
    (void)state;
    db_counts(db)->lock_wait_ns = (uint64_t)(900 * MS);
    const char *log = tell(&slow, 7);
    assert_non_null(strstr(log, " W12 slow: request id-1, PUT /products/{id}, 200, took 1500 ms: "
                                "200 before its handler, 1200 in it (900 for the lock of another "
                                "process), 100 until its batch of 7 was committed; 6 more were "
                                "slow since the last such line\n"));
    db_counts(db)->lock_wait_ns = 0;
    slow.ended_ns += 5000 * MS;
    assert_non_null(strstr(tell(&slow, 1), "in it, "));
}

static void a_second_has_one_line_and_the_next_tells_how_many_had_none(void **state) {
    struct slow slow = {.ended_ns = 10000 * MS};
    (void)state;
    assert_non_null(strstr(tell(&slow, 1), "; 0 more "));
    for (int i = 0; i < 9; i++) {
        slow.ended_ns += 100 * MS;
        assert_string_equal(tell(&slow, 2), "");
    }
    slow.ended_ns += 100 * MS;
    assert_non_null(strstr(tell(&slow, 1), "; 18 more "));
    slow.ended_ns += 1000 * MS;
    assert_non_null(strstr(tell(&slow, 1), "; 0 more "));
}

static void a_path_that_is_none_of_ours_is_not_repeated(void **state) {
    struct slow slow = {.ended_ns = 10000 * MS};
    struct request request = {.method = METHOD_OTHER, .db = db};
    (void)state;
    log_capture();
    slow_tell(&slow, &request, NULL, 404, 1);
    assert_non_null(strstr(log_captured(), "other of no route, 404"));
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_batch_is_slow_from_the_limit_on),
        TEST(the_longest_handler_is_found),
        TEST(the_line_says_where_the_time_went),
        TEST(a_second_has_one_line_and_the_next_tells_how_many_had_none),
        TEST(a_path_that_is_none_of_ours_is_not_repeated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
