#include "secrets.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "support.h"

#define SECRET_32 "0123456789abcdef0123456789abcdef"
#define OTHER_32  "fedcba9876543210fedcba9876543210"

static bool read_content(struct secrets *secrets, const char *content, mode_t mode,
                         char error[static SECRETS_ERROR_BYTES]) {
    const char *path = scratch_path("secret");
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
    return secrets_read(secrets, path, error);
}

static void one_or_two_lines_are_keys_in_their_order(void **state) {
    static const char *const good[] = {"1 " SECRET_32, "1 " SECRET_32 "\n",
                                       "1 " SECRET_32 "\n2 " OTHER_32,
                                       "1 " SECRET_32 "\n2 " OTHER_32 "\n"};
    char error[SECRETS_ERROR_BYTES];
    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        struct secrets secrets;
        assert_true(read_content(&secrets, good[i], 0600, error));
        assert_int_equal(secrets.count, i < 2 ? 1 : 2);
        assert_string_equal(secrets.keys[0].kid, "1");
        assert_int_equal(secrets.keys[0].length, 32);
        assert_memory_equal(secrets.keys[0].bytes, SECRET_32, 32);
    }
}

static void what_is_no_file_of_keys_is_refused_with_the_reason_and_no_secret(void **state) {
    static const struct {
        const char *content, *reason;
    } bad[] = {
        {"", "is empty"},
        {"\n", "NAME SECRET"},
        {SECRET_32, "NAME SECRET"},
        {" " SECRET_32, "name"},
        {"a/b " SECRET_32, "name"},
        {"1 0123456789abcdef0123456789abcde", "32 to 512"},
        {"1 " SECRET_32 "\n1 " OTHER_32, "same name"},
        {"1 " SECRET_32 "\n2 " OTHER_32 "\n3 " OTHER_32, "more than two"},
        {"1 " SECRET_32 "\x01", "visible"},
        {"1  " SECRET_32, "visible"},
    };
    char error[SECRETS_ERROR_BYTES];
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct secrets secrets;
        assert_false(read_content(&secrets, bad[i].content, 0600, error));
        if (strstr(error, bad[i].reason) == NULL || strstr(error, SECRET_32) != NULL) {
            fail_msg("'%s' gives: %s", bad[i].content, error);
        }
    }
}

static void a_file_that_everybody_may_read_is_refused(void **state) {
    struct secrets secrets;
    char error[SECRETS_ERROR_BYTES];
    (void)state;
    assert_false(read_content(&secrets, "1 " SECRET_32, 0644, error));
    assert_non_null(strstr(error, "chmod"));
    assert_true(read_content(&secrets, "1 " SECRET_32, 0640, error));
    assert_false(secrets_read(&secrets, scratch_path("nothing"), error));
    assert_false(secrets_read(&secrets, scratch_path("."), error));
}

static void a_new_file_holds_one_random_key_for_its_owner_alone(void **state) {
    struct secrets first;
    struct secrets second;
    char error[SECRETS_ERROR_BYTES];
    struct stat status;
    (void)state;
    assert_true(secrets_create(scratch_path("one"), error));
    assert_int_equal(stat(scratch_path("one"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_true(secrets_read(&first, scratch_path("one"), error));
    assert_int_equal(first.count, 1);
    assert_string_equal(first.keys[0].kid, "1");
    assert_int_equal(first.keys[0].length, 64);
    assert_true(secrets_create(scratch_path("two"), error));
    assert_true(secrets_read(&second, scratch_path("two"), error));
    assert_memory_not_equal(first.keys[0].bytes, second.keys[0].bytes, 64);
    assert_int_equal(scratch_files(), 2);
}

static void a_file_that_is_there_is_kept_and_a_failure_leaves_nothing(void **state) {
    struct secrets before;
    struct secrets after;
    char error[SECRETS_ERROR_BYTES];
    char path[2 * PATH_MAX];
    (void)state;
    assert_true(read_content(&before, "7 " SECRET_32, 0600, error));
    assert_false(secrets_create(scratch_path("secret"), error));
    assert_non_null(strstr(error, "exists already"));
    assert_true(secrets_read(&after, scratch_path("secret"), error));
    assert_string_equal(after.keys[0].kid, "7");
    assert_false(secrets_create(scratch_path("no/secret"), error));
    assert_non_null(strstr(error, "No such file"));
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    assert_false(secrets_create(path, error));
    assert_non_null(strstr(error, "cannot make the secret file"));
    assert_int_equal(scratch_files(), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_or_two_lines_are_keys_in_their_order, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(
            what_is_no_file_of_keys_is_refused_with_the_reason_and_no_secret, scratch_setup,
            scratch_teardown),
        cmocka_unit_test_setup_teardown(a_file_that_everybody_may_read_is_refused, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(a_new_file_holds_one_random_key_for_its_owner_alone,
                                        scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(a_file_that_is_there_is_kept_and_a_failure_leaves_nothing,
                                        scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
