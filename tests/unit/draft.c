#include "draft.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"

static void what_is_written_gets_its_name_and_mode(void **state) {
    char draft[PATH_MAX];
    struct stat status;
    (void)state;
    const char *path = scratch_path("file");
    int descriptor = draft_create(path, 0600, draft);
    assert_true(descriptor >= 0);
    assert_memory_equal(draft, path, strlen(path)); /* beside it, so on the same file system */
    assert_int_equal(write(descriptor, "whole", 5), 5);
    assert_int_equal(access(path, F_OK), -1);
    assert_true(draft_publish(draft, path));
    assert_int_equal(close(descriptor), 0);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(status.st_size, 5);
    assert_int_equal(scratch_files(), 1);
}

static void two_of_one_process_are_two_files_and_the_first_to_be_named_stays(void **state) {
    char drafts[2][PATH_MAX];
    int descriptors[2];
    struct stat status;
    (void)state;
    const char *path = scratch_path("file");
    for (int i = 0; i < 2; i++) {
        descriptors[i] = draft_create(path, 0600, drafts[i]);
        assert_true(descriptors[i] >= 0);
        assert_int_equal(write(descriptors[i], "22", (size_t)i + 1), i + 1);
        assert_int_equal(close(descriptors[i]), 0);
    }
    assert_true(draft_publish(drafts[0], path));
    assert_false(draft_publish(drafts[1], path));
    assert_int_equal(errno, EEXIST);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, 1);
    assert_int_equal(scratch_files(), 1);
}

static void what_cannot_be_made_has_a_reason(void **state) {
    char draft[PATH_MAX];
    char path[PATH_MAX];
    (void)state;
    assert_int_equal(draft_create(scratch_path("no/file"), 0600, draft), -1);
    assert_int_equal(errno, ENOENT);
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    assert_int_equal(draft_create(path, 0600, draft), -1);
    assert_int_equal(errno, ENAMETOOLONG);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_written_gets_its_name_and_mode, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(
            two_of_one_process_are_two_files_and_the_first_to_be_named_stays, scratch_setup,
            scratch_teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_made_has_a_reason, scratch_setup,
                                        scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
