#include "notify.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "support.h"
#include "watchdog.h"

static int teardown(void **state) {
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    return scratch_teardown(state);
}

static int manager(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", scratch_path("notify"));
    assert_int_equal(bind(descriptor, (struct sockaddr *)&address, sizeof address), 0);
    setenv("NOTIFY_SOCKET", address.sun_path, 1);
    return descriptor;
}

static void assert_told(int descriptor, const char *expected) {
    char state[128] = "";
    assert_true(recv(descriptor, state, sizeof state - 1, 0) > 0);
    assert_int_equal(strncmp(state, expected, strlen(expected)), 0);
}

static void each_state_is_one_datagram(void **state) {
    (void)state;
    int descriptor = manager();
    assert_true(notify_is_wanted());
    notify_ready();
    notify_reloading();
    notify_alive();
    notify_stopping();
    assert_told(descriptor, "READY=1");
    assert_told(descriptor, "RELOADING=1\nMONOTONIC_USEC=");
    assert_told(descriptor, "WATCHDOG=1");
    assert_told(descriptor, "STOPPING=1");
    close(descriptor);
    notify_ready(); /* nobody reads: no harm */
}

static void an_address_of_another_kind_is_left_alone(void **state) {
    char too_long[200];
    memset(too_long, 'x', sizeof too_long - 1);
    too_long[0] = '/';
    too_long[sizeof too_long - 1] = '\0';
    const char *const addresses[] = {"", "notify", "vsock:2:1", too_long};
    (void)state;
    assert_false(notify_is_wanted());
    for (size_t i = 0; i < COUNT(addresses); i++) {
        setenv("NOTIFY_SOCKET", addresses[i], 1);
        assert_false(notify_is_wanted());
        notify_ready();
    }
}

static void the_watchdog_is_fed_four_times_within_its_limit(void **state) {
    char other[16];
    struct watchdog watchdog;
    (void)state;
    snprintf(other, sizeof other, "%ld", (long)getpid() + 1);
    setenv("WATCHDOG_USEC", "60000000", 1);
    watchdog_setup(&watchdog); /* no manager */
    assert_int_equal(watchdog.every_ms, 0);
    int descriptor = manager();
    watchdog_setup(&watchdog);
    assert_int_equal(watchdog.every_ms, 15001);
    setenv("WATCHDOG_PID", other, 1);
    watchdog_setup(&watchdog);
    assert_int_equal(watchdog.every_ms, 0);
    assert_int_equal(watchdog_step(&watchdog, NULL), -1);
    unsetenv("WATCHDOG_PID");
    setenv("WATCHDOG_USEC", "-5", 1);
    watchdog_setup(&watchdog);
    assert_int_equal(watchdog.every_ms, 0);
    close(descriptor);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, scratch_setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(each_state_is_one_datagram),
        TEST(an_address_of_another_kind_is_left_alone),
        TEST(the_watchdog_is_fed_four_times_within_its_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
