#include "utc.h"
#include "support.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_time_is_written_as_rfc_3339_in_utc)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
