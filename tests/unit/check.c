#include "check.h"

#include <stdio.h>
#include <string.h>

#include "support.h"

static char complaints[1024];

static void complain(const char *sentence) {
    size_t used = strlen(complaints);
    snprintf(complaints + used, sizeof complaints - used, "%s\n", sentence);
}

static int check(void) {
    complaints[0] = '\0';
    return check_file(scratch_path("db"), true, complain);
}

static void a_good_database_has_no_faults(void **state) {
    (void)state;
    scratch_database(true);
    assert_int_equal(check(), 0);
    assert_string_equal(complaints, "");
}

static void a_count_of_deals_that_is_wrong_or_missing_is_a_fault(void **state) {
    (void)state;
    scratch_database(true);
    scratch_alter(scratch_path("db"), "UPDATE deal_counts SET count = 601 WHERE status = 'open'");
    assert_int_equal(check(), 1);
    assert_string_equal(complaints, "deal_counts says 601 deals are open and there are 600\n");
    scratch_alter(scratch_path("db"), "DELETE FROM deal_counts WHERE status = 'won'");
    assert_int_equal(check(), 2);
}

/* As another program leaves it: the writer feeds the index with its next commit. */
static void what_waits_to_be_put_into_the_search_is_no_fault(void **state) {
    (void)state;
    scratch_database(true);
    scratch_alter(scratch_path("db"), "DELETE FROM products WHERE id = 7;"
                                      "UPDATE products SET name = 'rye' WHERE id = 8");
    assert_int_equal(check(), 0);
    assert_int_equal(
        scratch_ask(scratch_path("db"), "SELECT count(*) FROM products_search_changes"), 3);
    scratch_alter(scratch_path("db"), "DELETE FROM products_search_changes WHERE id = 8");
    assert_int_equal(check(), 1);
}

static void an_older_schema_is_not_asked_for_what_it_may_not_have(void **state) {
    (void)state;
    scratch_database(true);
    scratch_alter(scratch_path("db"), "DROP TABLE deal_counts; PRAGMA user_version = 1");
    assert_int_equal(check(), 0);
}

static void damage_is_told_once(void **state) {
    (void)state;
    scratch_database(true);
    scratch_alter(scratch_path("db"), "PRAGMA foreign_keys = OFF; UPDATE deal_counts SET count = 0;"
                                      "UPDATE deals SET owner_id = 77 WHERE id = 2");
    assert_int_equal(check(), 1);
    assert_string_equal(complaints, "row 2 of deals refers to nothing\n");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_good_database_has_no_faults),
        TEST(a_count_of_deals_that_is_wrong_or_missing_is_a_fault),
        TEST(what_waits_to_be_put_into_the_search_is_no_fault),
        TEST(an_older_schema_is_not_asked_for_what_it_may_not_have),
        TEST(damage_is_told_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
