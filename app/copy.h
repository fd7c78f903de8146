/* copy: a database into a draft, and the proof that the copy is sound.
 *
 * What a backup, a restore and the copy before a migration have in common. */
#ifndef LARDER_COPY_H
#define LARDER_COPY_H

#include "draft.h"

/* Copies and checks. The progress is shown where standard error is a terminal. On failure the draft
 * is discarded and error holds one sentence. Blocks on the disk, for minutes with a large file. */
bool copy_checked(const char *from, struct draft *draft, char error[static DB_ERROR_BYTES]);

#endif
