#include "waiting.h"

#include <stdlib.h>

#include "support.h"

static void whoever_is_due_first_comes_first(void **state) {
    static const int64_t due[] = {500, 100, 300, 200, 400, 100, INT64_MAX, 0, -5, 300};
    static const int64_t sorted[] = {-5, 0, 100, 100, 200, 300, 300, 400, 500, INT64_MAX};
    (void)state;
    struct waiting_room room = {0};
    struct waiter waiters[COUNT(due)] = {0};
    assert_null(waiting_first(&room));
    for (size_t i = 0; i < COUNT(due); i++) {
        waiting_add(&room, &waiters[i], due[i], TEXT("answer"));
    }
    for (size_t i = 0; i < COUNT(sorted); i++) {
        struct waiter *first = waiting_first(&room);
        assert_true(first->due_ms == sorted[i]);
        waiting_remove(&room, first);
    }
    assert_null(waiting_first(&room));
    waiting_destroy(&room);
}

static void an_answer_is_kept_as_a_copy_until_the_wait_ends(void **state) {
    (void)state;
    struct waiting_room room = {0};
    struct waiter waiter = {0};
    char answer[] = "answer";
    waiting_add(&room, &waiter, 1, (struct text){.data = answer, .length = 6});
    memset(answer, 'x', 6);
    assert_text(waiting_first(&room)->answer, TEXT("answer"));
    waiting_remove(&room, &waiter);
    assert_int_equal(waiter.answer.length, 0);
    assert_int_equal(waiter.place, 0);
    waiting_destroy(&room);
}

static void ending_a_wait_twice_or_one_that_never_began_does_nothing(void **state) {
    (void)state;
    struct waiting_room room = {0};
    struct waiter waits = {0};
    struct waiter never = {0};
    waiting_remove(&room, &never);
    waiting_add(&room, &waits, 1, TEXT("a"));
    waiting_remove(&room, &never);
    assert_ptr_equal(waiting_first(&room), &waits);
    waiting_remove(&room, &waits);
    waiting_remove(&room, &waits);
    assert_null(waiting_first(&room));
    waiting_add(&room, &waits, 2, TEXT("b")); /* and may begin again */
    assert_text(waiting_first(&room)->answer, TEXT("b"));
    waiting_remove(&room, &waits);
    waiting_destroy(&room);
}

/* Against the plain way: look at all of them. */
static void the_first_is_right_however_they_come_and_go(void **state) {
    enum { WAITERS = 300, STEPS = 20000 };
    static struct waiter waiters[WAITERS];
    (void)state;
    struct waiting_room room = {0};
    uint32_t random = 1;
    for (int step = 0; step < STEPS; step++) {
        random = random * 1664525 + 1013904223;
        struct waiter *waiter = &waiters[(random >> 8) % WAITERS];
        if (waiter->place == 0) {
            waiting_add(&room, waiter, random >> 22, TEXT("answer"));
        } else {
            waiting_remove(&room, waiter);
        }
        int64_t earliest = INT64_MAX;
        size_t count = 0;
        for (int i = 0; i < WAITERS; i++) {
            if (waiters[i].place != 0) {
                count++;
                earliest = waiters[i].due_ms < earliest ? waiters[i].due_ms : earliest;
            }
        }
        assert_int_equal(room.count, count);
        assert_true(count == 0 || waiting_first(&room)->due_ms == earliest);
    }
    for (int i = 0; i < WAITERS; i++) {
        waiting_remove(&room, &waiters[i]);
    }
    waiting_destroy(&room);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_is_due_first_comes_first),
        cmocka_unit_test(an_answer_is_kept_as_a_copy_until_the_wait_ends),
        cmocka_unit_test(ending_a_wait_twice_or_one_that_never_began_does_nothing),
        cmocka_unit_test(the_first_is_right_however_they_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
