/* trial: whether the program that is now at our path could serve in our place.
 *
 * It is run as `larder try` with our arguments and environment, as a child that inherits nothing
 * but standard error's place: settings, secrets, the database's version, and the format in which it
 * takes over (handover.h). It has TRIAL_MS; nobody waits for it. */
#ifndef LARDER_TRIAL_H
#define LARDER_TRIAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "db.h"

enum { TRIAL_MS = 5000, TRIAL_BYTES = DB_ERROR_BYTES };

struct trial {
    pid_t pid;   /* 0: none is running */
    int program; /* the file that is tried (program.h); open after a trial that went well */
    int output;
    int64_t ends_ms;
};

/* Prints what trial_end() understands: the second half of `larder try`. */
void trial_announce(void);

/* Starts one. Returns false with what is wrong in sentence. */
bool trial_begin(struct trial *trial, char sentence[static TRIAL_BYTES]);

/* Ends it when its time is over. Returns how long it may still take, -1 when none is running. */
int64_t trial_timeout(const struct trial *trial);

/* The child has ended with this status of waitpid(). Returns whether the program could serve: its
 * descriptor is then the caller's; else what is wrong is in sentence. */
bool trial_end(struct trial *trial, int status, char sentence[static TRIAL_BYTES]);

#endif
