#include "log.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support.h"

enum { LINE_BYTES = 1024 };

static int teardown(void **state) {
    (void)state;
    log_captured();
    log_identify("main");
    return 0;
}

#define assert_line(expected, ...)                                                                 \
    do {                                                                                           \
        log_capture();                                                                             \
        log_event(__VA_ARGS__);                                                                    \
        assert_string_equal(log_captured(), expected);                                             \
    } while (0)

static void an_event_is_one_line_with_who_and_code(void **state) {
    (void)state;
    assert_line("larder[main] T01 hello\n", "T01", "hello");
    log_identify("reader 1");
    assert_line("larder[reader 1] T02 5 of 7: no \xC3\xA4\n", "T02", "%d of %d: %s", 5, 7,
                "no \xC3\xA4");
    assert_line("larder[reader 1] T03 \n", "T03", "%s", "");
}

static void what_a_client_sent_cannot_make_a_line_of_its_own(void **state) {
    (void)state;
    assert_line("larder[main] T04 a?larder[main] T99 forged??[31m?\n", "T04", "%s",
                "a\nlarder[main] T99 forged\r\x1B[31m\x7F");
}

static void a_long_line_is_cut_and_still_ends(void **state) {
    static char text[3000];
    static const int lengths[] = {LINE_BYTES - 19, LINE_BYTES - 18, LINE_BYTES - 17,
                                  LINE_BYTES - 16, 2999};
    (void)state;
    memset(text, 'x', sizeof text - 1);
    for (size_t i = 0; i < COUNT(lengths); i++) {
        log_capture();
        log_event("T05", "%.*s", lengths[i], text); /* behind 17 bytes */
        const char *line = log_captured();
        size_t expected = lengths[i] + 18 < LINE_BYTES ? (size_t)lengths[i] + 18 : LINE_BYTES;
        assert_int_equal(strlen(line), expected);
        assert_int_equal(line[expected - 1], '\n');
        assert_ptr_equal(strchr(line, '\n'), line + expected - 1);
    }
}

static void a_sentence_is_one_line_whatever_is_in_it(void **state) {
    (void)state;
    log_capture();
    log_sentence("cannot open %s: %d", "a\nlarder: forged\x7F", 5);
    assert_string_equal(log_captured(), "larder: cannot open a?larder: forged?: 5\n");
    log_capture();
    log_sentence("%20000s", "long");
    const char *line = log_captured(); /* its first 4 KiB */
    assert_memory_equal(line, "larder:      ", 13);
    assert_null(strchr(line, '\n'));
}

static void errno_is_kept(void **state) {
    (void)state;
    int saved = dup(STDERR_FILENO);
    close(STDERR_FILENO); /* so that the write fails */
    errno = ENOSPC;
    log_event("T06", "nobody hears this");
    int after = errno;
    dup2(saved, STDERR_FILENO);
    close(saved);
    assert_int_equal(after, ENOSPC);
}

static void a_line_leaves_in_one_write(void **state) {
    (void)state;
    int ends[2];
    char line[2 * LINE_BYTES];
    assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends), 0);
    int saved = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    log_event("T07", "%500s", "one");
    log_event("T08", "two");
    dup2(saved, STDERR_FILENO);
    close(saved);
    assert_int_equal(recv(ends[0], line, sizeof line, MSG_DONTWAIT), 17 + 500 + 1);
    assert_int_equal(recv(ends[0], line, sizeof line, MSG_DONTWAIT), 17 + 3 + 1);
    close(ends[0]);
    close(ends[1]);
}

#define TEST(test) cmocka_unit_test_teardown(test, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(an_event_is_one_line_with_who_and_code),
        TEST(what_a_client_sent_cannot_make_a_line_of_its_own),
        TEST(a_long_line_is_cut_and_still_ends),
        TEST(a_sentence_is_one_line_whatever_is_in_it),
        TEST(errno_is_kept),
        TEST(a_line_leaves_in_one_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
