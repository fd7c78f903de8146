#include "buffer.h"

#include <inttypes.h>
#include <stdio.h>

#include "support.h"

static struct arena arena;

static int teardown(void **state) {
    (void)state;
    arena_destroy(&arena);
    return 0;
}

static void a_buffer_holds_what_was_appended_however_long_it_grows(void **state) {
    (void)state;
    struct buffer buffer = {.arena = &arena};
    char piece[64];
    size_t length = 0;
    for (int i = 0; length < 300000; i++) { /* over several blocks of the arena */
        size_t part = (size_t)i % sizeof piece;
        memset(piece, 'a' + i % 26, part);
        buffer_append(&buffer, (struct text){.data = piece, .length = part});
        length += part;
    }
    assert_int_equal(buffer.length, length);
    size_t at = 0;
    for (int i = 0; at < length; i++) {
        for (size_t k = 0; k < (size_t)i % sizeof piece; k++) {
            assert_int_equal(buffer.data[at++], 'a' + i % 26);
        }
    }
}

static void two_buffers_of_one_arena_do_not_disturb_each_other(void **state) {
    (void)state;
    struct buffer one = {.arena = &arena};
    struct buffer two = {.arena = &arena};
    for (int i = 0; i < 5000; i++) {
        buffer_append(&one, TEXT("1"));
        buffer_append(&two, TEXT("22"));
    }
    for (int i = 0; i < 5000; i++) {
        assert_int_equal(one.data[i], '1');
        assert_int_equal(two.data[i], '2');
        assert_int_equal(two.data[i + 5000], '2');
    }
}

static void one_large_append_is_whole(void **state) {
    (void)state;
    static char large[200000];
    memset(large, 'x', sizeof large);
    struct buffer buffer = {.arena = &arena};
    buffer_append(&buffer, TEXT("start"));
    buffer_append(&buffer, (struct text){.data = large, .length = sizeof large});
    assert_int_equal(buffer.length, 5 + sizeof large);
    assert_memory_equal(buffer.data, "start", 5);
    assert_memory_equal(buffer.data + 5, large, sizeof large);
}

static void reserved_room_is_there_and_changes_no_length(void **state) {
    (void)state;
    struct buffer buffer = {.arena = &arena};
    for (size_t extra = 1; extra < 100000; extra = extra * 3 + 1) {
        size_t before = buffer.length;
        char *room = buffer_reserve(&buffer, extra);
        assert_ptr_equal(room, buffer.data + before);
        assert_int_equal(buffer.length, before);
        assert_true(buffer.capacity - buffer.length >= extra);
        memset(room, 'r', extra);
        buffer.length += extra;
    }
}

static void nothing_appended_is_an_empty_text(void **state) {
    (void)state;
    struct buffer buffer = {.arena = &arena};
    buffer_append(&buffer, (struct text){0});
    buffer_append(&buffer, TEXT(""));
    assert_text(buffer_text(&buffer), TEXT(""));
}

static void numbers_are_written_in_decimal(void **state) {
    static const int64_t values[] = {0,
                                     1,
                                     -1,
                                     9,
                                     10,
                                     -10,
                                     99,
                                     100,
                                     1000000000000,
                                     INT32_MAX,
                                     INT32_MIN,
                                     INT64_MAX,
                                     INT64_MIN,
                                     INT64_MIN + 1,
                                     1234567890123456789};
    (void)state;
    for (size_t i = 0; i < COUNT(values); i++) {
        char expected[32];
        snprintf(expected, sizeof expected, "%" PRId64, values[i]);
        struct buffer buffer = {.arena = &arena};
        buffer_append_integer(&buffer, values[i]);
        assert_text(buffer_text(&buffer), text_from(expected));
    }
}

#define TEST(test) cmocka_unit_test_teardown(test, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_buffer_holds_what_was_appended_however_long_it_grows),
        TEST(two_buffers_of_one_arena_do_not_disturb_each_other),
        TEST(one_large_append_is_whole),
        TEST(reserved_room_is_there_and_changes_no_length),
        TEST(nothing_appended_is_an_empty_text),
        TEST(numbers_are_written_in_decimal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
