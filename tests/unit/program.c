#define _GNU_SOURCE
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

static char own[PATH_MAX];

static const char *remembered(const char *name) {
    static char copy[PATH_MAX];
    static char *arguments[2] = {copy, NULL};
    snprintf(copy, sizeof copy, "%s", name);
    program_remember(arguments);
    return program_path();
}

static int setup(void **state) {
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    own[length < 0 ? 0 : length] = '\0';
    return scratch_setup(state);
}

static void a_link_that_leads_here_stays_a_link(void **state) {
    (void)state;
    const char *link = scratch_path("current");
    assert_int_equal(symlink(own, link), 0);
    assert_string_equal(remembered(link), link);
    assert_string_equal(remembered(own), own);
}

static void a_relative_name_is_made_absolute(void **state) {
    (void)state;
    char here[PATH_MAX];
    char directory[PATH_MAX];
    assert_non_null(getcwd(here, sizeof here));
    snprintf(directory, sizeof directory, "%s", scratch_path(""));
    assert_int_equal(symlink(own, scratch_path("current")), 0);
    assert_int_equal(chdir(directory), 0);
    char *real = realpath(remembered("./current"), NULL);
    assert_int_equal(chdir(here), 0);
    assert_int_equal(program_path()[0], '/');
    assert_non_null(strstr(program_path(), "/./current"));
    assert_string_equal(real, own);
    free(real);
}

static void a_name_without_a_path_is_looked_up(void **state) {
    (void)state;
    char variable[PATH_MAX + 32];
    const char *path = getenv("PATH");
    char *old = strdup(path == NULL ? "" : path);
    assert_non_null(old);
    assert_int_equal(symlink(own, scratch_path("larder-under-test")), 0);
    snprintf(variable, sizeof variable, "/usr/bin::%s", scratch_path(""));
    setenv("PATH", variable, 1);
    path = remembered("larder-under-test");
    assert_non_null(strstr(path, "larder-under-test"));
    assert_int_equal(path[0], '/');
    setenv("PATH", old, 1);
    free(old);
}

static void a_name_that_leads_elsewhere_is_not_believed(void **state) {
    (void)state;
    assert_string_equal(remembered("/bin/sh"), own);
    assert_string_equal(remembered("sh"), own);
    assert_string_equal(remembered("larder: started by hand"), own);
    assert_string_equal(remembered(""), own);
}

static void it_opens_what_is_there_now_and_what_a_process_runs(void **state) {
    (void)state;
    struct stat expected;
    struct stat opened;
    program_set_path("/bin/sh");
    assert_int_equal(stat("/bin/sh", &expected), 0);
    int program = program_open();
    assert_int_equal(fstat(program, &opened), 0);
    assert_true(opened.st_ino == expected.st_ino);
    close(program);
    assert_int_equal(stat(own, &expected), 0);
    program = program_open_of(getpid());
    assert_int_equal(fstat(program, &opened), 0);
    assert_true(opened.st_ino == expected.st_ino);
    close(program);
    program_set_path("/none");
    assert_int_equal(program_open(), -1);
}

/* A shell stands for the other program: its first argument is a script. */
static void it_executes_with_the_same_arguments_but_for_the_command(void **state) {
    (void)state;
    static char *arguments[] = {"sh", "serve", "exit $#", "name", "one", "two", NULL};
    program_remember(arguments);
    program_set_path("/bin/sh");
    int program = program_open();
    pid_t child = fork();
    if (child == 0) {
        program_execute(program, "-c");
        _exit(99);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 2);
    close(program);
    program_execute(12345, NULL);
    assert_int_equal(errno, EBADF);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_link_that_leads_here_stays_a_link),
        TEST(a_relative_name_is_made_absolute),
        TEST(a_name_without_a_path_is_looked_up),
        TEST(a_name_that_leads_elsewhere_is_not_believed),
        TEST(it_opens_what_is_there_now_and_what_a_process_runs),
        TEST(it_executes_with_the_same_arguments_but_for_the_command),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
