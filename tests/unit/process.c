#include "process.h"

#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

static void this_process_is_seen(void **state) {
    struct process process;
    (void)state;
    assert_true(process_look(getpid(), &process));
    assert_in_range(process.memory_bytes, 1, INT64_MAX);
    assert_in_range(process.cpu_ticks, 0, 100 * 3600);
    assert_in_range(process.began_ticks, 1, (uint64_t)process_ticks_now() + 1);
    assert_true(process_ticks_now() - process.began_ticks < (int64_t)sysconf(_SC_CLK_TCK) * 3600);
}

static void a_name_with_parentheses_and_blanks_disturbs_nothing(void **state) {
    struct process before;
    struct process process;
    char name[16] = "";
    (void)state;
    assert_true(process_look(getpid(), &before));
    prctl(PR_GET_NAME, name);
    prctl(PR_SET_NAME, ") S 1 (2) 3");
    bool seen = process_look(getpid(), &process);
    prctl(PR_SET_NAME, name);
    assert_true(seen);
    assert_int_equal(process.began_ticks, before.began_ticks);
}

static void one_that_has_ended_is_not_seen(void **state) {
    struct process process;
    siginfo_t ended;
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(0);
    }
    assert_int_equal(waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT), 0);
    assert_false(process_look(child, &process)); /* a zombie */
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_false(process_look(child, &process));
    assert_false(process_look(-1, &process));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_process_is_seen),
        cmocka_unit_test(a_name_with_parentheses_and_blanks_disturbs_nothing),
        cmocka_unit_test(one_that_has_ended_is_not_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
