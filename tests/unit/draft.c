#include "draft.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

static char error[DB_ERROR_BYTES];

static void write_file(const char *name, const char *text) {
    FILE *file = fopen(scratch_path(name), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void assert_file(const char *name, const char *text) {
    size_t length = 0;
    char *bytes = scratch_read(scratch_path(name), &length);
    assert_int_equal(length, strlen(text));
    assert_memory_equal(bytes, text, length);
    free(bytes);
}

/* A draft of the name with a word in it. */
static bool begin(struct draft *draft, const char *name, bool overwrite) {
    return draft_open(draft, scratch_path(name), overwrite, error) &&
           write(draft->descriptor, "new", 3) == 3;
}

static void a_draft_gets_its_name_when_it_is_published(void **state) {
    (void)state;
    struct draft draft;
    struct stat status;
    assert_true(begin(&draft, "file", false));
    assert_string_equal(draft.path, scratch_path("file.part"));
    assert_int_not_equal(access(scratch_path("file"), F_OK), 0);
    assert_true(draft_publish(&draft, false, error));
    assert_file("file", "new");
    assert_int_equal(scratch_files(), 1);
    assert_int_equal(stat(scratch_path("file"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

static void a_name_that_is_taken_is_refused_before_and_after_the_work(void **state) {
    (void)state;
    struct draft draft;
    write_file("file", "old");
    assert_false(begin(&draft, "file", false));
    assert_non_null(strstr(error, "exists already"));
    assert_int_equal(unlink(scratch_path("file")), 0);
    assert_true(begin(&draft, "file", false));
    write_file("file", "old");
    assert_false(draft_publish(&draft, false, error));
    assert_non_null(strstr(error, "File exists"));
    assert_file("file", "old");
    assert_int_equal(scratch_files(), 1);
}

static void with_overwrite_the_old_file_stays_until_the_new_one_is_complete(void **state) {
    (void)state;
    struct draft draft;
    write_file("file", "old");
    assert_true(begin(&draft, "file", true));
    assert_file("file", "old");
    draft_discard(&draft);
    assert_file("file", "old");
    assert_int_equal(scratch_files(), 1);
    assert_true(begin(&draft, "file", true));
    assert_true(draft_publish(&draft, true, error));
    assert_file("file", "new");
    assert_int_equal(scratch_files(), 1);
}

static void only_a_regular_file_is_replaced(void **state) {
    (void)state;
    struct draft draft;
    assert_int_equal(mkdir(scratch_path("directory"), 0700), 0);
    assert_int_equal(mkfifo(scratch_path("fifo"), 0600), 0);
    assert_int_equal(symlink("nothing", scratch_path("link")), 0);
    static const char *const names[] = {"directory", "fifo", "link"};
    for (size_t i = 0; i < COUNT(names); i++) {
        assert_false(begin(&draft, names[i], true));
        assert_non_null(strstr(error, "not a regular file"));
    }
    assert_int_equal(scratch_files(), 3);
}

static void what_a_killed_process_left_is_replaced_with_what_lies_beside_it(void **state) {
    (void)state;
    struct draft draft;
    write_file("file.part", "half of a file");
    write_file("file.part-journal", "a journal that would be played back");
    assert_true(begin(&draft, "file", false));
    assert_int_not_equal(access(scratch_path("file.part-journal"), F_OK), 0);
    assert_true(draft_publish(&draft, false, error));
    assert_file("file", "new");
    assert_int_equal(scratch_files(), 1);
}

/* As after a power cut between link() and unlink(): both names are the same file. */
static void a_left_draft_that_has_its_name_already_is_not_emptied(void **state) {
    (void)state;
    struct draft draft;
    write_file("file", "old");
    assert_int_equal(link(scratch_path("file"), scratch_path("file.part")), 0);
    assert_true(begin(&draft, "file", true));
    assert_file("file", "old");
    draft_discard(&draft);
    assert_file("file", "old");
}

/* Runs in a child, so that there is another process; returns its wait status. */
static int in_child(void (*act)(void)) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        act();
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void expect_refusal(void) {
    struct draft other;
    if (begin(&other, "file", false) || strstr(error, "another larder is writing") == NULL) {
        _exit(1);
    }
}

static void two_at_once_do_not_share_a_draft(void **state) {
    (void)state;
    struct draft draft;
    assert_true(begin(&draft, "file", false));
    assert_int_equal(in_child(expect_refusal), 0);
    assert_file("file.part", "new");
    assert_true(draft_publish(&draft, false, error));
    assert_file("file", "new");
}

static int number;

static void end_by_signal(void) {
    struct draft draft;
    log_capture();
    signal(number, SIG_DFL); /* under nohup it would be ignored */
    if (begin(&draft, "file", false)) {
        write_file("file.part-journal", "of SQLite");
        raise(number);
    }
}

static void a_signal_removes_the_draft_and_ends_the_process(void **state) {
    (void)state;
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < COUNT(numbers); i++) {
        number = numbers[i];
        int status = in_child(end_by_signal);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), number);
        assert_int_equal(scratch_files(), 0);
    }
}

static void hang_up_under_nohup(void) {
    struct draft draft;
    signal(SIGHUP, SIG_IGN);
    if (!begin(&draft, "file", false) || raise(SIGHUP) != 0 ||
        !draft_publish(&draft, false, error) || raise(SIGHUP) != 0) {
        _exit(1);
    }
}

static void a_signal_that_is_ignored_stays_ignored(void **state) {
    (void)state;
    assert_int_equal(in_child(hang_up_under_nohup), 0);
    assert_file("file", "new");
}

static void signal_after_publishing(void) {
    struct draft draft;
    if (begin(&draft, "file", false) && draft_publish(&draft, false, error)) {
        write_file("file.part", "of another process");
        raise(SIGTERM);
    }
}

static void after_publishing_a_signal_removes_nothing(void **state) {
    (void)state;
    assert_true(WIFSIGNALED(in_child(signal_after_publishing)));
    assert_file("file", "new");
    assert_file("file.part", "of another process");
}

static void a_place_that_cannot_be_written_is_told(void **state) {
    (void)state;
    struct draft draft;
    assert_false(draft_open(&draft, scratch_path("no/such"), false, error));
    assert_non_null(strstr(error, "No such file or directory"));
    char name[PATH_MAX] = "";
    memset(name, 'x', PATH_MAX - 4);
    assert_false(draft_open(&draft, name, false, error));
    assert_non_null(strstr(error, "too long"));
    assert_int_equal(scratch_files(), 0);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_draft_gets_its_name_when_it_is_published),
        TEST(a_name_that_is_taken_is_refused_before_and_after_the_work),
        TEST(with_overwrite_the_old_file_stays_until_the_new_one_is_complete),
        TEST(only_a_regular_file_is_replaced),
        TEST(what_a_killed_process_left_is_replaced_with_what_lies_beside_it),
        TEST(a_left_draft_that_has_its_name_already_is_not_emptied),
        TEST(two_at_once_do_not_share_a_draft),
        TEST(a_signal_removes_the_draft_and_ends_the_process),
        TEST(a_signal_that_is_ignored_stays_ignored),
        TEST(after_publishing_a_signal_removes_nothing),
        TEST(a_place_that_cannot_be_written_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
