/* top: `larder top`, a live view of a running service in the terminal. */
#ifndef LARDER_TOP_H
#define LARDER_TOP_H

#include "settings.h"

/* Looks at the scoreboard in the run directory, and at nothing else of the service. Draws a page
 * every second until q or Ctrl-C; with --once, or where standard output is no terminal, prints one
 * about the next second. Returns the exit status: 0, or 1 after one sentence on standard error. */
int top_run(const struct settings *settings);

#endif
