#include "utc.h"
#include "support.h"

#include <stdio.h>
#include <time.h>

static void a_time_is_written_as_rfc_3339_in_utc(void **state) {
    static const struct {
        int64_t seconds;
        const char *text;
    } cases[] = {
        {0, "1970-01-01T00:00:00Z"},          {951782399, "2000-02-28T23:59:59Z"},
        {951782400, "2000-02-29T00:00:00Z"},  {1796076000, "2026-11-30T22:00:00Z"},
        {2147483648, "2038-01-19T03:14:08Z"}, {253402300799, "9999-12-31T23:59:59Z"},
        {4107542400, "2100-03-01T00:00:00Z"}, {-1, "1969-12-31T23:59:59Z"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[UTC_BYTES];
        utc_format(cases[i].seconds, text);
        assert_string_equal(text, cases[i].text);
    }
}

static void days_of_10000_years_are_as_the_c_library_has_them(void **state) {
    (void)state;
    /* Every one from 1900 to 2300, so of all leap years. */
    for (int64_t day = -719528; day < 2932897; day += day >= -25567 && day < 120530 ? 1 : 11) {
        int64_t seconds = day * 86400 + (day * 7919 % 86400 + 86400) % 86400;
        char text[UTC_BYTES];
        char expected[UTC_BYTES];
        struct tm utc;
        gmtime_r(&(time_t){seconds}, &utc);
        snprintf(expected, sizeof expected, "%04d-%02d-%02dT%02d:%02d:%02dZ", utc.tm_year + 1900,
                 utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
        utc_format(seconds, text);
        assert_string_equal(text, expected);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_time_is_written_as_rfc_3339_in_utc),
        cmocka_unit_test(days_of_10000_years_are_as_the_c_library_has_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
