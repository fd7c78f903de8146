#include "scoreboard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "routes.h"
#include "support.h"

enum { SLOTS = 3 };

static char run_dir[4096];
static struct scoreboard *scoreboard;

static int setup(void **state) {
    if (scratch_setup(state) != 0) {
        return -1;
    }
    snprintf(run_dir, sizeof run_dir, "%s", scratch_path("."));
    scoreboard = scoreboard_create(run_dir, SLOTS, "no such file");
    return scoreboard == NULL ? -1 : 0;
}

static int teardown(void **state) {
    scoreboard_remove(run_dir);
    assert_int_equal(access(scratch_path(SCOREBOARD_NAME), F_OK), -1);
    scoreboard_close(scoreboard);
    return scratch_teardown(state);
}

static void assert_zeros(const void *memory, size_t length) {
    for (size_t i = 0; i < length; i++) {
        assert_int_equal(((const char *)memory)[i], 0);
    }
}

static void a_new_scoreboard_is_all_zeros_behind_its_head(void **state) {
    (void)state;
    assert_false(atomic_load(&scoreboard->stopping));
    assert_false(scoreboard_has_writer(scoreboard));
    assert_zeros(scoreboard->slot, SLOTS * sizeof *scoreboard->slot);
    struct scoreboard *nameless = scoreboard_create(NULL, 2, "x");
    assert_non_null(nameless);
    assert_zeros(nameless->slot, 2 * sizeof *nameless->slot);
    scoreboard_close(nameless);
}

static void what_a_child_writes_the_parent_and_who_opens_it_see(void **state) {
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        scoreboard_add(&scoreboard->slot[SLOTS - 1].accepted, 40);
        scoreboard_add(&scoreboard->slot[SLOTS - 1].accepted, 2);
        atomic_store(&scoreboard->slot[0].serving, true);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(scoreboard_read(&scoreboard->slot[SLOTS - 1].accepted), 42);
    const struct scoreboard *seen = scoreboard_open(run_dir);
    assert_non_null(seen);
    assert_int_equal(seen->slots, SLOTS);
    assert_int_equal(seen->supervisor, getpid());
    assert_int_equal(scoreboard_read(&seen->slot[SLOTS - 1].accepted), 42);
    assert_true(scoreboard_has_writer(seen));
    scoreboard_close(seen);
}

static void only_the_first_slot_is_the_writer(void **state) {
    (void)state;
    for (int i = 1; i < SLOTS; i++) {
        atomic_store(&scoreboard->slot[i].serving, true);
    }
    assert_false(scoreboard_has_writer(scoreboard));
    atomic_store(&scoreboard->slot[0].serving, true);
    assert_true(scoreboard_has_writer(scoreboard));
    scoreboard_bury(scoreboard, 0);
    assert_false(scoreboard_has_writer(scoreboard));
}

static void of_a_dead_worker_the_gauges_go_and_the_counters_stay(void **state) {
    struct scoreboard_slot *slot = &scoreboard->slot[1];
    (void)state;
    scoreboard_set(&slot->connections, 5);
    scoreboard_set(&slot->waiting, 6);
    scoreboard_add(&slot->accepted, 7);
    scoreboard_bury(scoreboard, 1);
    assert_int_equal(scoreboard_read(&slot->connections), 0);
    assert_int_equal(scoreboard_read(&slot->waiting), 0);
    assert_int_equal(scoreboard_read(&slot->accepted), 7);
    assert_int_equal(scoreboard_read(&slot->restarts), 1);
    atomic_store(&scoreboard->stopping, true);
    scoreboard_bury(scoreboard, 1); /* nobody follows */
    assert_int_equal(scoreboard_read(&slot->restarts), 1);
}

/* ---- looking from outside ------------------------------------------------------------------- */

static void assert_closed(int reason) {
    errno = 0;
    assert_null(scoreboard_open(run_dir));
    assert_int_equal(errno, reason);
}

static void another_layout_is_refused(void **state) {
    (void)state;
    size_t bytes = scoreboard_bytes(SLOTS);
    assert_true(scoreboard_fits(scoreboard, bytes));
    assert_false(scoreboard_fits(scoreboard, bytes - 1));
    assert_false(scoreboard_fits(scoreboard, 8));
    scoreboard->version++;
    assert_closed(EPROTO);
    scoreboard->version--;
    scoreboard->slot_bytes += 64;
    assert_closed(EPROTO);
    scoreboard->slot_bytes -= 64;
    scoreboard->names ^= 1; /* other routes: another place for each count */
    assert_closed(EPROTO);
    scoreboard->names ^= 1;
    scoreboard->slots = SCOREBOARD_SLOTS + 1;
    assert_closed(EPROTO);
    scoreboard->slots = SLOTS;
    scoreboard->magic = 0; /* not whole yet */
    assert_closed(EPROTO);
}

static void what_a_killed_service_left_is_not_live(void **state) {
    (void)state;
    assert_true(scoreboard_is_live(scoreboard));
    scoreboard->began_ticks = 0; /* its number has been given to a process that began later */
    assert_false(scoreboard_is_live(scoreboard));
    assert_closed(ENOENT);
    scoreboard->began_ticks = INT64_MAX;
    scoreboard->supervisor = -1;
    assert_closed(ENOENT);
}

static void who_joins_goes_on_with_the_same(void **state) {
    (void)state;
    struct scoreboard *joined = scoreboard_join(run_dir);
    assert_non_null(joined);
    histogram_add_times(&joined->slot[0].requests, 1, 3);
    histogram_add_times(&joined->slot[SLOTS - 1].requests, 1, 4);
    assert_int_equal(scoreboard_requests(scoreboard), 7);
    scoreboard_close(joined);
    scoreboard->version++;
    assert_null(scoreboard_join(run_dir));
    assert_int_equal(errno, EPROTO);
}

static void what_is_no_scoreboard_is_refused(void **state) {
    (void)state;
    scoreboard_remove(run_dir);
    assert_closed(ENOENT);
    int descriptor = open(scratch_path(SCOREBOARD_NAME), O_CREAT | O_WRONLY, 0600);
    assert_true(descriptor >= 0);
    assert_closed(EPROTO);
    assert_int_equal(write(descriptor, "no scoreboard", 13), 13);
    close(descriptor);
    assert_closed(EPROTO);
}

static void the_files_sizes_are_told(void **state) {
    (void)state;
    struct scoreboard_sizes sizes = scoreboard_sizes(scoreboard);
    assert_int_equal(sizes.database_bytes, 0);
    assert_int_equal(sizes.wal_bytes, 0);
    struct db *db = NULL;
    struct scoreboard *of_a_database = scoreboard_create(NULL, 1, scratch_database(false));
    assert_non_null(of_a_database);
    db = scratch_open(DB_WRITE);
    assert_true(db_begin(db));
    assert_int_equal(db_run(db_statement(db, "INSERT INTO categories (name) VALUES ('a')")),
                     DB_DONE);
    assert_true(db_commit(db));
    sizes = scoreboard_sizes(of_a_database);
    assert_true(sizes.database_bytes > 0 && sizes.database_bytes % 4096 == 0);
    assert_true(sizes.wal_bytes > 4096);
    db_close(db);
    scoreboard_close(of_a_database);
}

/* ---- histograms ----------------------------------------------------------------------------- */

static void a_value_goes_into_the_first_bucket_that_holds_it(void **state) {
    static const struct {
        uint64_t value, first;
        int bucket;
    } cases[] = {
        {0, 1, 0},
        {1, 1, 0},
        {2, 1, 1},
        {3, 1, 2},
        {4, 1, 2},
        {5, 1, 3},
        {128, 1, 7},
        {129, 1, 8},
        {1, 16000, 0},
        {16000, 16000, 0},
        {16001, 16000, 1},
        {32000, 16000, 1},
        {32001, 16000, 2},
        {UINT64_C(16000) << 18, 16000, 18},
        {(UINT64_C(16000) << 18) + 1, 16000, 19},
        {UINT64_MAX, 16000, 19},
        {UINT64_MAX, 1, 19},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int bucket = histogram_bucket(cases[i].value, cases[i].first);
        if (bucket != cases[i].bucket) {
            fail_msg("%llu: %d", (unsigned long long)cases[i].value, bucket);
        }
    }
}

static void a_histogram_counts_and_sums(void **state) {
    struct histogram histogram = {0};
    (void)state;
    histogram_add_times(&histogram, 20000, 3);
    histogram_add_times(&histogram, -5, 1); /* a clock that stumbled */
    assert_int_equal(histogram_count(&histogram), 4);
    assert_int_equal(scoreboard_read(&histogram.sum), 60000);
    assert_int_equal(scoreboard_read(&histogram.buckets[0]), 1);
    assert_int_equal(scoreboard_read(&histogram.buckets[1]), 3);
}

static void each_route_has_a_place_and_one_is_left_for_no_route(void **state) {
    (void)state;
    assert_true(routes_count < SCOREBOARD_ROUTES);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_new_scoreboard_is_all_zeros_behind_its_head),
        TEST(what_a_child_writes_the_parent_and_who_opens_it_see),
        TEST(only_the_first_slot_is_the_writer),
        TEST(of_a_dead_worker_the_gauges_go_and_the_counters_stay),
        TEST(another_layout_is_refused),
        TEST(what_a_killed_service_left_is_not_live),
        TEST(who_joins_goes_on_with_the_same),
        TEST(what_is_no_scoreboard_is_refused),
        TEST(the_files_sizes_are_told),
        cmocka_unit_test(a_value_goes_into_the_first_bucket_that_holds_it),
        cmocka_unit_test(a_histogram_counts_and_sums),
        cmocka_unit_test(each_route_has_a_place_and_one_is_left_for_no_route),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
