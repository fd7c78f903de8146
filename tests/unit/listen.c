#include "listen.h"

#include <arpa/inet.h>
#include <unistd.h>

#include "support.h"

static void a_text_with_a_slash_is_a_path(void **state) {
    (void)state;
    struct listen_address address;
    assert_true(listen_parse("./s:9000", &address));
    assert_int_equal(address.socket.any.sa_family, AF_UNIX);
    assert_string_equal(address.socket.local.sun_path, "./s:9000");
    assert_int_equal(address.length, sizeof address.socket.local);
}

static void a_path_fits_with_its_end(void **state) {
    (void)state;
    struct listen_address address;
    char path[sizeof address.socket.local.sun_path + 1];
    memset(path, 'x', sizeof path);
    path[0] = '/';
    path[sizeof path - 1] = '\0';
    assert_false(listen_parse(path, &address));
    path[sizeof path - 2] = '\0';
    assert_true(listen_parse(path, &address));
}

static void an_address_is_a_literal_with_a_port(void **state) {
    static const struct {
        const char *text;
        int family;
        int port;
    } cases[] = {
        {"127.0.0.1:9000", AF_INET, 9000},   {"0.0.0.0:1", AF_INET, 1},
        {"localhost:65535", AF_INET, 65535}, {"[::1]:9000", AF_INET6, 9000},
        {"[2001:db8::7]:80", AF_INET6, 80},  {"[::ffff:10.0.0.1]:80", AF_INET6, 80},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct listen_address address;
        if (!listen_parse(cases[i].text, &address) ||
            address.socket.any.sa_family != cases[i].family ||
            ntohs(address.socket.ipv4.sin_port) != cases[i].port) {
            fail_msg("%s", cases[i].text);
        }
    }
}

static void anything_else_is_neither(void **state) {
    static const char *const texts[] = {
        "",
        ":",
        "s.sock",
        "9000",
        ":9000",
        "127.0.0.1",
        "127.0.0.1:",
        "127.0.0.1:0",
        "127.0.0.1:65536",
        "127.0.0.1:-1",
        "127.0.0.1:09",
        "127.0.0.1: 9",
        "127.0.0.1:9 ",
        "127.1:9000",
        "256.0.0.1:9000",
        "example.org:9000",
        "::1:9000",
        "[]:9000",
        "[::1]",
        "[::1:9000",
        "::1]:9000",
        "[127.0.0.1]:9000",
        "[localhost]:9000",
        "[fe80::1%lo]:9000",
        "[00000000000000000000000000000000000000000000000000000000000000000001]:9000"};
    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct listen_address address;
        if (listen_parse(texts[i], &address)) {
            fail_msg("'%s' is taken", texts[i]);
        }
    }
}

static void a_listening_stream_socket_is_told_from_others(void **state) {
    int ends[2];
    (void)state;
    int descriptor = listen_open("--listen", scratch_path("s"), 0600);
    assert_true(descriptor >= 0);
    assert_true(listen_is_listening(descriptor));
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_false(listen_is_listening(ends[0]));
    assert_false(listen_is_listening(-1));
    close(ends[0]);
    close(ends[1]);
    close(descriptor);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_with_a_slash_is_a_path),
        cmocka_unit_test(a_path_fits_with_its_end),
        cmocka_unit_test(an_address_is_a_literal_with_a_port),
        cmocka_unit_test(anything_else_is_neither),
        cmocka_unit_test_setup_teardown(a_listening_stream_socket_is_told_from_others,
                                        scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
