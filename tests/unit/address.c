#include "address.h"

#include "support.h"

static void check(const char *const *addresses, bool expected) {
    for (; *addresses != NULL; addresses++) {
        struct text copy = exactly(text_from(*addresses));
        if (address_is_private(copy) != expected) {
            fail_msg("'%s' is %sprivate", *addresses, expected ? "not " : "");
        }
        release(copy);
    }
}

static void this_machine_and_private_networks_are_private(void **state) {
    (void)state;
    check((const char *const[]){"127.0.0.1", "127.255.0.9", "::1", "10.0.0.1", "10.255.255.255",
                                "172.16.0.1", "172.31.255.255", "192.168.0.1", "192.168.255.255",
                                "169.254.1.1", "fe80::1", "febf::1", "fc00::1", "fdff:1234::ffff",
                                "::ffff:10.1.2.3", "::ffff:127.0.0.1", "FD00::1", "unix:", NULL},
          true);
}

static void all_others_are_not(void **state) {
    (void)state;
    check((const char *const[]){"8.8.8.8",
                                "11.0.0.1",
                                "9.255.255.255",
                                "126.0.0.1",
                                "128.0.0.1",
                                "172.15.255.255",
                                "172.32.0.1",
                                "192.167.1.1",
                                "192.169.0.1",
                                "169.253.1.1",
                                "100.64.0.1",
                                "0.0.0.0",
                                "255.255.255.255",
                                "2001:db8::1",
                                "::",
                                "::2",
                                "fec0::1",
                                "fe00::1",
                                "fb00::1",
                                "ff02::1",
                                "::ffff:8.8.8.8",
                                "::10.0.0.1",
                                NULL},
          false);
}

static void what_is_no_address_is_not(void **state) {
    (void)state;
    check((const char *const[]){"",
                                " ",
                                "localhost",
                                "10.0.0",
                                "10.0.0.1.",
                                "10.0.0.1:80",
                                "[::1]",
                                "[::1]:80",
                                " 10.0.0.1",
                                "10.0.0.1 ",
                                "010.0.0.1",
                                "0x7f.0.0.1",
                                "10.0.0.256",
                                "fe80::1%eth0",
                                "unix",
                                "unix:/x",
                                "unknown",
                                "10.0.0.1,8.8.8.8",
                                "1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc",
                                NULL},
          false);
    assert_false(address_is_private(TEXT("10.0.0.1\0")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_machine_and_private_networks_are_private),
        cmocka_unit_test(all_others_are_not),
        cmocka_unit_test(what_is_no_address_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
