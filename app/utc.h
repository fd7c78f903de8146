/* utc: points in time as text, RFC 3339 in UTC with seconds, the form of every time in the database
 * and in answers. Such texts sort as the times do. */
#ifndef LARDER_UTC_H
#define LARDER_UTC_H

#include <stdint.h>

enum { UTC_BYTES = sizeof "2026-11-30T22:00:00Z" };

/* Writes the time, given in seconds since 1970, with a NUL behind it. From year 0 to 9999. */
void utc_format(int64_t seconds, char text[static UTC_BYTES]);

#endif
