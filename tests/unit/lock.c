#include "lock.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "files.h"
#include "support.h"

static void a_lock_is_held_until_its_descriptor_is_closed_and_by_every_name(void **state) {
    (void)state;
    const char *path = scratch_database(false);
    const char *name = scratch_path("name");
    assert_int_equal(symlink(path, name), 0);
    assert_false(lock_is_held(path));
    assert_int_equal(scratch_files(), 2); /* to ask makes no file */
    int lock = lock_database(path);
    assert_true(lock >= 0);
    assert_true(lock_is_held(path));
    assert_true(lock_is_held(name));
    log_capture();
    int second = lock_database(name);
    const char *log = log_captured();
    assert_int_equal(second, -1);
    assert_non_null(strstr(log, "stop it first"));
    close(lock);
    assert_false(lock_is_held(name));
    lock = lock_database(name);
    assert_true(lock >= 0);
    close(lock);
    assert_int_equal(access(scratch_path("db.lock"), F_OK), 0);
}

static void a_lock_outlives_its_process_in_a_child(void **state) {
    (void)state;
    const char *path = scratch_database(false);
    int lock = lock_database(path);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char byte;
        close(ends[1]);
        _exit(read(ends[0], &byte, 1) < 0);
    }
    close(lock);
    assert_true(lock_is_held(path));
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_false(lock_is_held(path));
}

static void a_database_that_is_not_there_has_a_lock_too(void **state) {
    (void)state;
    char real[PATH_MAX];
    char directory[PATH_MAX];
    char expected[PATH_MAX];
    assert_true(lock_resolve(scratch_path("."), directory));
    assert_true(files_suffixed(directory, "/none", expected));
    assert_true(lock_resolve(scratch_path("none"), real));
    assert_string_equal(real, expected);
    int lock = lock_database(scratch_path("none"));
    assert_true(lock >= 0);
    assert_true(lock_is_held(scratch_path("none")));
    close(lock);
}

static void what_has_no_place_has_no_lock(void **state) {
    (void)state;
    char real[PATH_MAX];
    assert_int_equal(symlink("nothing", scratch_path("dangling")), 0);
    const char *paths[] = {scratch_path("no/such"), scratch_path("dangling")};
    for (size_t i = 0; i < COUNT(paths); i++) {
        log_capture();
        bool resolved = lock_resolve(paths[i], real);
        bool held = lock_is_held(paths[i]);
        int lock = lock_database(paths[i]);
        const char *log = log_captured();
        if (resolved || held || lock >= 0 || strstr(log, "No such file or directory") == NULL) {
            fail_msg("'%s': %s", paths[i], log);
        }
    }
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_lock_is_held_until_its_descriptor_is_closed_and_by_every_name),
        TEST(a_lock_outlives_its_process_in_a_child),
        TEST(a_database_that_is_not_there_has_a_lock_too),
        TEST(what_has_no_place_has_no_lock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
