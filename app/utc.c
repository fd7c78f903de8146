#include "utc.h"

#include <time.h>

void utc_format(int64_t seconds, char text[static UTC_BYTES]) {
    time_t time = (time_t)seconds;
    struct tm utc;
    gmtime_r(&time, &utc);
    strftime(text, UTC_BYTES, "%Y-%m-%dT%H:%M:%SZ", &utc);
}
