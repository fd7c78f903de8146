#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"

static void a_path_is_split_into_directory_and_name(void **state) {
    static const char *const cases[][3] = {
        {"a", ".", "a"},   {"a/b", "a", "b"}, {"/a", "/", "a"}, {"/a/b/c", "/a/b", "c"},
        {"./a", ".", "a"}, {"a/", "a", ""},   {"", ".", ""},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char directory[PATH_MAX];
        assert_string_equal(files_split(cases[i][0], directory), cases[i][2]);
        assert_string_equal(directory, cases[i][1]);
    }
    static char path[PATH_MAX + 100];
    char directory[PATH_MAX];
    memset(path, 'x', PATH_MAX + 50);
    path[PATH_MAX + 10] = '/';
    files_split(path, directory);
    assert_string_equal(directory, "");
}

static void a_suffix_fits_or_is_refused(void **state) {
    (void)state;
    char path[PATH_MAX];
    char result[PATH_MAX];
    assert_true(files_suffixed("a", "-wal", result));
    assert_string_equal(result, "a-wal");
    memset(path, 'x', sizeof path);
    path[PATH_MAX - 5] = '\0';
    assert_true(files_suffixed(path, "-wal", result));
    assert_int_equal(strlen(result), PATH_MAX - 1);
    assert_false(files_suffixed(path, "-wal2", result));
}

static void a_directory_is_synced_or_the_reason_is_told(void **state) {
    (void)state;
    assert_true(files_sync_directory(scratch_path("file"))); /* the file need not be there */
    assert_false(files_sync_directory(scratch_path("no/such")));
    assert_int_equal(errno, ENOENT);
}

static void a_stamped_path_is_free_and_says_what_it_is(void **state) {
    (void)state;
    char first[PATH_MAX];
    char second[PATH_MAX];
    assert_true(files_stamped(scratch_path("db"), "replaced", first));
    const char *prefix = scratch_path("db.replaced-");
    assert_memory_equal(first, prefix, strlen(prefix));
    assert_int_equal(strlen(first), strlen(prefix) + strlen("20261130T220000Z"));
    assert_int_equal(first[strlen(first) - 1], 'Z');
    fclose(fopen(first, "w"));
    assert_true(files_stamped(scratch_path("db"), "replaced", second));
    assert_string_not_equal(first, second);
}

static void a_stamped_file_is_found_whatever_its_path_holds(void **state) {
    (void)state;
    static const char *const names[] = {"db", "[d]*?b", "~"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[PATH_MAX];
        char stamped[PATH_MAX];
        snprintf(path, sizeof path, "%s", scratch_path(names[i]));
        assert_false(files_any_stamped(path, "replaced"));
        assert_true(files_stamped(path, "replaced", stamped));
        assert_false(files_any_stamped(path, "replaced"));
        fclose(fopen(stamped, "w"));
        assert_true(files_any_stamped(path, "replaced"));
        assert_false(files_any_stamped(path, "other"));
    }
    assert_false(files_any_stamped(scratch_path("no/such"), "replaced"));
}

static void what_root_makes_goes_to_the_owner_of_its_neighbour(void **state) {
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    struct stat status;
    for (int with_neighbour = 0; with_neighbour < 2; with_neighbour++) {
        if (with_neighbour) {
            fclose(fopen(scratch_path("db"), "w"));
            assert_int_equal(chown(scratch_path("db"), 1234, 2345), 0);
        } else {
            assert_int_equal(chown(scratch_path("."), 3456, 4567), 0);
        }
        int made = open(scratch_path("made"), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
        files_inherit_owner(made, scratch_path("db"));
        assert_int_equal(fstat(made, &status), 0);
        close(made);
        assert_int_equal(status.st_uid, with_neighbour ? 1234 : 3456);
        assert_int_equal(status.st_gid, with_neighbour ? 2345 : 4567);
    }
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_path_is_split_into_directory_and_name),
        TEST(a_suffix_fits_or_is_refused),
        TEST(a_directory_is_synced_or_the_reason_is_told),
        TEST(a_stamped_path_is_free_and_says_what_it_is),
        TEST(a_stamped_file_is_found_whatever_its_path_holds),
        TEST(what_root_makes_goes_to_the_owner_of_its_neighbour),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
