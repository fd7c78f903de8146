#include "password.h"

#include <sodium.h>

#include "support.h"

static void a_hash_is_of_its_password_alone(void **state) {
    char hash[PASSWORD_HASH_BYTES];
    (void)state;
    assert_true(password_hash(TEXT("larder-demo"), hash));
    assert_true(password_matches(text_from(hash), TEXT("larder-demo")));
    assert_false(password_matches(text_from(hash), TEXT("larder-dem")));
    assert_false(password_matches(text_from(hash), TEXT("larder-demo ")));
    assert_false(password_matches(text_from(hash), TEXT("")));
}

static void two_hashes_of_one_password_differ(void **state) {
    char first[PASSWORD_HASH_BYTES];
    char second[PASSWORD_HASH_BYTES];
    (void)state;
    assert_true(password_hash(TEXT("larder-demo"), first));
    assert_true(password_hash(TEXT("larder-demo"), second));
    assert_string_not_equal(first, second);
    assert_memory_equal(first, "$argon2id$", 10);
}

static void what_is_no_hash_matches_nothing(void **state) {
    static const char *const hashes[] = {"", "larder-demo", "$argon2id$",
                                         "$argon2id$v=19$m=1,t=1,p=1$a$b"};
    (void)state;
    for (size_t i = 0; i < COUNT(hashes); i++) {
        assert_false(password_matches(text_from(hashes[i]), TEXT("larder-demo")));
        assert_false(password_matches(text_from(hashes[i]), TEXT("")));
    }
}

static int setup(void **state) {
    (void)state;
    return sodium_init() < 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hash_is_of_its_password_alone),
        cmocka_unit_test(two_hashes_of_one_password_differ),
        cmocka_unit_test(what_is_no_hash_matches_nothing),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
