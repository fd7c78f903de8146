/* supervisor: `larder serve`. Opens the sockets, checks the database, forks the workers, restarts
 * one that dies and passes signals on. It never touches a request.
 *
 * SIGHUP reloads: the program that is now at our path is tried (trial.h), replaces this one, and
 * then each worker replaces itself. */
#ifndef LARDER_SUPERVISOR_H
#define LARDER_SUPERVISOR_H

#include "handover.h"
#include "settings.h"

/* Runs until SIGTERM or SIGINT, or the end of its terminal, then lets the workers drain and ends
 * with 0. A start that fails writes one sentence to standard error and ends with 1. State is what
 * the program before this one left at a reload, and is freed here; NULL: begins anew. */
int supervisor_run(const struct settings *settings, struct handover *state);

#endif
