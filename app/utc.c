#include "utc.h"

#include <string.h>

enum { DAY = 86400, DAYS_IN_400_YEARS = 146097, DAYS_FROM_MARCH_OF_YEAR_0 = 719468 };

static void put(char *text, int digits, int value) {
    while (digits-- > 0) {
        text[digits] = (char)('0' + value % 10);
        value /= 10;
    }
}

/* By hand: gmtime_r() and strftime() look at the time zone first, and bring its files, scanf() and
 * four kinds of floating point into a static program, a hundred kilobytes.
 * A year is counted from March on, so that the day a leap year adds is its last. */
void utc_format(int64_t seconds, char text[static UTC_BYTES]) {
    int64_t days = seconds / DAY - (seconds % DAY < 0);
    int second = (int)(seconds - days * DAY);
    int64_t from_year_0 = days + DAYS_FROM_MARCH_OF_YEAR_0;
    int64_t cycle = from_year_0 / DAYS_IN_400_YEARS - (from_year_0 % DAYS_IN_400_YEARS < 0);
    int day_of_cycle = (int)(from_year_0 - cycle * DAYS_IN_400_YEARS);
    int year_of_cycle = (day_of_cycle - day_of_cycle / 1460 + day_of_cycle / 36524 -
                         day_of_cycle / (DAYS_IN_400_YEARS - 1)) /
                        365;
    int day = day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    int month = (5 * day + 2) / 153; /* March is 0 */
    day -= (153 * month + 2) / 5;
    month += month < 10 ? 3 : -9;
    int year = (int)(cycle * 400) + year_of_cycle + (month <= 2);
    memcpy(text, "0000-00-00T00:00:00Z", UTC_BYTES);
    put(text, 4, year);
    put(text + 5, 2, month);
    put(text + 8, 2, day + 1);
    put(text + 11, 2, second / 3600);
    put(text + 14, 2, second / 60 % 60);
    put(text + 17, 2, second % 60);
}
