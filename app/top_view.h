/* top_view: what `larder top` shows, as text: what a service did between two moments. */
#ifndef LARDER_TOP_VIEW_H
#define LARDER_TOP_VIEW_H

#include "buffer.h"
#include "process.h"
#include "scoreboard.h"

/* A scoreboard as it stood at one moment, with what the system told of the workers. */
struct top_sample {
    int64_t at_ns;                              /* monotonic clock */
    struct scoreboard *scoreboard;              /* a copy; NULL: none has been taken */
    struct process processes[SCOREBOARD_SLOTS]; /* zeros for one that does not run */
};

/* Takes a sample, in place of an earlier one or in a zeroed struct. */
void top_take(struct top_sample *sample, const struct scoreboard *scoreboard);
void top_forget(struct top_sample *sample);

/* Begins a line that stands out. */
#define TOP_BOLD '\1'

/* Appends the page: lines, each ended by a newline. Both samples are of one service. */
void top_view(struct buffer *page, const struct top_sample *before, const struct top_sample *now);

#endif
