/* check: whether a database holds what its schema promises. */
#ifndef LARDER_CHECK_H
#define LARDER_CHECK_H

#include <stdbool.h>

/* What db_check() finds in the file, and whether the counts of deals are the numbers of deals; an
 * older schema is not asked for those. Calls complain for each fault; returns their number. */
int check_file(const char *path, bool alone, void (*complain)(const char *sentence));

#endif
