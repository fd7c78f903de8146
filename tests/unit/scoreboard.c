#include "scoreboard.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

static int setup(void **state) {
    *state = scoreboard_create(".");
    return *state == NULL ? -1 : 0;
}

static int teardown(void **state) {
    scoreboard_remove(".");
    assert_int_equal(access(SCOREBOARD_NAME, F_OK), -1);
    return munmap(*state, sizeof(struct scoreboard));
}

static void a_new_scoreboard_is_all_zeros(void **state) {
    const struct scoreboard *scoreboard = *state;
    assert_false(atomic_load(&scoreboard->stopping));
    assert_false(scoreboard_has_writer(scoreboard));
    for (int i = 0; i < SCOREBOARD_SLOTS; i++) {
        assert_false(atomic_load(&scoreboard->slots[i].serving));
        assert_int_equal(atomic_load(&scoreboard->slots[i].requests), 0);
        assert_int_equal(atomic_load(&scoreboard->slots[i].batches), 0);
    }
}

static void what_a_child_writes_the_parent_sees(void **state) {
    struct scoreboard *scoreboard = *state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        scoreboard_add(&scoreboard->slots[SCOREBOARD_SLOTS - 1].requests, 40);
        scoreboard_add(&scoreboard->slots[SCOREBOARD_SLOTS - 1].requests, 2);
        atomic_store(&scoreboard->slots[0].serving, true);
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(atomic_load(&scoreboard->slots[SCOREBOARD_SLOTS - 1].requests), 42);
    assert_true(scoreboard_has_writer(scoreboard));
}

static void only_the_first_slot_is_the_writer(void **state) {
    struct scoreboard *scoreboard = *state;
    for (int i = 1; i < SCOREBOARD_SLOTS; i++) {
        atomic_store(&scoreboard->slots[i].serving, true);
    }
    assert_false(scoreboard_has_writer(scoreboard));
    atomic_store(&scoreboard->slots[0].serving, true);
    assert_true(scoreboard_has_writer(scoreboard));
    atomic_store(&scoreboard->slots[0].serving, false);
    assert_false(scoreboard_has_writer(scoreboard));
}

static void who_joins_sees_the_same(void **state) {
    struct scoreboard *scoreboard = *state;
    struct scoreboard *joined = scoreboard_join(".");
    assert_non_null(joined);
    scoreboard_add(&joined->slots[3].requests, 7);
    scoreboard_add(&joined->slots[0].requests, 1);
    assert_int_equal(scoreboard_requests(scoreboard), 8);
    munmap(joined, sizeof *joined);
}

static void one_of_another_layout_or_size_is_not_joined(void **state) {
    struct scoreboard *scoreboard = *state;
    scoreboard->layout++;
    assert_null(scoreboard_join("."));
    assert_int_equal(errno, EPROTO);
    scoreboard->layout--;
    scoreboard->bytes++;
    assert_null(scoreboard_join("."));
    assert_int_equal(errno, EPROTO);
    scoreboard->bytes--;
    assert_int_equal(truncate(SCOREBOARD_NAME, sizeof *scoreboard + 1), 0);
    assert_null(scoreboard_join("."));
    assert_int_equal(errno, EPROTO);
    scoreboard_remove(".");
    assert_null(scoreboard_join("."));
    assert_int_equal(errno, ENOENT);
}

static void without_a_directory_it_is_found_by_its_process_and_number(void **state) {
    char place[64];
    (void)state;
    int reserved = scoreboard_reserve(place, sizeof place);
    assert_true(reserved >= 0);
    struct scoreboard *first = scoreboard_create(place);
    struct scoreboard *joined = scoreboard_join(place);
    assert_non_null(first);
    assert_non_null(joined);
    scoreboard_add(&first->slots[0].requests, 5);
    assert_int_equal(scoreboard_requests(joined), 5);
    struct scoreboard *second = scoreboard_create(place); /* as after a change of the layout */
    struct scoreboard *joined_second = scoreboard_join(place);
    assert_non_null(joined_second);
    assert_int_equal(scoreboard_requests(joined_second), 0);
    scoreboard_remove(place);
    munmap(first, sizeof *first);
    munmap(joined, sizeof *joined);
    munmap(second, sizeof *second);
    munmap(joined_second, sizeof *joined_second);
    close(reserved);
    assert_null(scoreboard_join(place));
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_new_scoreboard_is_all_zeros),
        TEST(what_a_child_writes_the_parent_sees),
        TEST(only_the_first_slot_is_the_writer),
        TEST(who_joins_sees_the_same),
        TEST(one_of_another_layout_or_size_is_not_joined),
        cmocka_unit_test(without_a_directory_it_is_found_by_its_process_and_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
