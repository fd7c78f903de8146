/* first_start: what `serve --init` makes when it is not there, so that a container needs no step
 * before its first start. What is there is never touched. */
#ifndef LARDER_FIRST_START_H
#define LARDER_FIRST_START_H

#include "settings.h"

/* Makes the database at --db, and at --secret-file a secret file that only this user may read; logs
 * each. Does nothing with --init no. Returns false after one sentence on standard error. Blocks on
 * the disk, a few tenths of a second for the demo data. */
bool first_start(const struct settings *settings);

#endif
