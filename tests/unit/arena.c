#include "arena.h"

#include <stdlib.h>

#include "support.h"

#ifdef WITH_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

static int setup(void **state) {
    *state = calloc(1, sizeof(struct arena));
    return *state == NULL ? -1 : 0;
}

static int teardown(void **state) {
    arena_destroy(*state);
    free(*state);
    return 0;
}

static bool is_aligned(const void *memory) {
    return (uintptr_t)memory % _Alignof(max_align_t) == 0;
}

/* Ten characters, without a NUL. */
static void fill(char *memory, const char *ten) {
    for (int i = 0; i < 10; i++) {
        memory[i] = ten[i];
    }
}

static void memory_is_aligned_for_any_type(void **state) {
    for (size_t size = 0; size < 300; size++) {
        assert_true(is_aligned(arena_alloc(*state, size)));
        assert_true(is_aligned(arena_grow(*state, NULL, 0, size)));
    }
}

static void allocations_do_not_overlap(void **state) {
    static const size_t sizes[] = {0,
                                   1,
                                   15,
                                   16,
                                   17,
                                   1000,
                                   ARENA_BLOCK_BYTES - 1,
                                   ARENA_BLOCK_BYTES,
                                   ARENA_BLOCK_BYTES + 1,
                                   (size_t)3 * ARENA_BLOCK_BYTES,
                                   1,
                                   40000,
                                   40000};
    unsigned char *memory[COUNT(sizes)];
    for (size_t i = 0; i < COUNT(sizes); i++) {
        memory[i] = arena_alloc(*state, sizes[i]);
        memset(memory[i], (int)i + 1, sizes[i]);
    }
    for (size_t i = 0; i < COUNT(sizes); i++) {
        for (size_t k = 0; k < sizes[i]; k++) {
            assert_int_equal(memory[i][k], i + 1);
        }
    }
}

static void zeroed_memory_is_zero_where_older_data_stood(void **state) {
    memset(arena_alloc(*state, 5000), 0xFF, 5000);
    arena_reset(*state);
    const unsigned char *memory = arena_zalloc(*state, 5000);
    for (size_t i = 0; i < 5000; i++) {
        assert_int_equal(memory[i], 0);
    }
}

static void the_newest_allocation_grows_in_place(void **state) {
    arena_alloc(*state, 100);
    char *memory = arena_alloc(*state, 10);
    fill(memory, "0123456789");
    char *grown = arena_grow(*state, memory, 10, 5000);
    assert_ptr_equal(grown, memory);
    assert_memory_equal(grown, "0123456789", 10);
    char *next = arena_alloc(*state, 1);
    assert_true(next >= grown + 5000 || next < grown);
}

static void an_older_allocation_grows_as_a_copy(void **state) {
    char *memory = arena_alloc(*state, 10);
    fill(memory, "0123456789");
    char *newer = arena_alloc(*state, 10);
    fill(newer, "abcdefghij");
    char *grown = arena_grow(*state, memory, 10, 100);
    assert_ptr_not_equal(grown, memory);
    memset(grown + 10, 'x', 90);
    assert_memory_equal(grown, "0123456789", 10);
    assert_memory_equal(newer, "abcdefghij", 10);
}

static void growing_past_the_end_of_a_block_keeps_the_bytes(void **state) {
    size_t size = 1;
    unsigned char *memory = arena_alloc(*state, size);
    memory[0] = 0;
    while (size < 1000000) {
        size_t larger = size * 2 + 1;
        memory = arena_grow(*state, memory, size, larger);
        for (size_t i = size; i < larger; i++) {
            memory[i] = (unsigned char)(i * 7);
        }
        size = larger;
    }
    for (size_t i = 0; i < size; i++) {
        assert_int_equal(memory[i], (unsigned char)(i * 7));
    }
}

static void after_a_reset_the_same_memory_serves_again(void **state) {
    void *first = arena_alloc(*state, 100);
    arena_alloc(*state, 50000);
    arena_alloc(*state, 50000);
    arena_reset(*state);
    assert_ptr_equal(arena_alloc(*state, 100), first);
}

static void kept_blocks_that_are_too_small_do_not_hinder_a_large_allocation(void **state) {
    for (int i = 0; i < 5; i++) {
        arena_alloc(*state, 60000);
    }
    arena_reset(*state);
    memset(arena_alloc(*state, 300000), 1, 300000);
    memset(arena_alloc(*state, 60000), 2, 60000);
    arena_reset(*state);
    memset(arena_alloc(*state, 300000), 3, 300000);
}

static void an_empty_arena_may_be_reset_and_destroyed(void **state) {
    arena_reset(*state);
    arena_destroy(*state);
    arena_destroy(*state);
    assert_non_null(arena_alloc(*state, 1)); /* and used again */
}

static char released[16];

static void note(void *subject) {
    strncat(released, subject, sizeof released - strlen(released) - 1);
}

static void cleanups_run_once_the_newest_first(void **state) {
    released[0] = '\0';
    arena_cleanup(*state, note, "1");
    arena_cleanup(*state, note, "2");
    arena_alloc(*state, 100000);
    arena_cleanup(*state, note, "3");
    assert_string_equal(released, "");
    arena_reset(*state);
    assert_string_equal(released, "321");
    arena_reset(*state);
    assert_string_equal(released, "321");
    arena_cleanup(*state, note, "4");
    arena_destroy(*state);
    assert_string_equal(released, "3214");
}

#ifdef WITH_ADDRESS_SANITIZER
static void a_reset_keeps_no_more_than_the_limit(void **state) {
    size_t before = __sanitizer_get_current_allocated_bytes();
    for (int i = 0; i < 100; i++) {
        arena_alloc(*state, ARENA_BLOCK_BYTES);
    }
    arena_alloc(*state, 5 * ARENA_KEEP_BYTES);
    arena_reset(*state);
    size_t kept = __sanitizer_get_current_allocated_bytes() - before;
    assert_in_range(kept, ARENA_KEEP_BYTES / 2, ARENA_KEEP_BYTES + ARENA_KEEP_BYTES / 16);
}

static void what_was_allocated_before_a_reset_is_poisoned(void **state) {
    const size_t sizes[] = {16, 1000, ARENA_BLOCK_BYTES};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        char *memory = arena_alloc(*state, sizes[i]);
        assert_null(__asan_region_is_poisoned(memory, sizes[i]));
        arena_reset(*state);
        assert_ptr_equal(__asan_region_is_poisoned(memory, sizes[i]), memory);
    }
}

static void what_was_not_allocated_is_poisoned(void **state) {
    char *memory = arena_alloc(*state, 32);
    assert_true(__asan_address_is_poisoned(memory + 32));
}
#endif

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(memory_is_aligned_for_any_type),
        TEST(allocations_do_not_overlap),
        TEST(zeroed_memory_is_zero_where_older_data_stood),
        TEST(the_newest_allocation_grows_in_place),
        TEST(an_older_allocation_grows_as_a_copy),
        TEST(growing_past_the_end_of_a_block_keeps_the_bytes),
        TEST(after_a_reset_the_same_memory_serves_again),
        TEST(kept_blocks_that_are_too_small_do_not_hinder_a_large_allocation),
        TEST(an_empty_arena_may_be_reset_and_destroyed),
        TEST(cleanups_run_once_the_newest_first),
#ifdef WITH_ADDRESS_SANITIZER
        TEST(a_reset_keeps_no_more_than_the_limit),
        TEST(what_was_allocated_before_a_reset_is_poisoned),
        TEST(what_was_not_allocated_is_poisoned),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
