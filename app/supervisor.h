/* supervisor: `larder serve`. Opens the sockets, checks the database, forks the workers, restarts
 * one that dies and passes signals on. It never touches a request. */
#ifndef LARDER_SUPERVISOR_H
#define LARDER_SUPERVISOR_H

#include "settings.h"

/* Runs until SIGTERM or SIGINT, then lets the workers drain and ends with 0. A start that fails
 * writes one sentence to standard error and ends with 1. */
int supervisor_run(const struct settings *settings);

#endif
