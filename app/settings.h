/* settings: the command line's options, each with an environment variable for containers.
 *
 * An option beats its variable, which beats the default. There is no configuration file. Values are
 * borrowed from argv and the environment. */
#ifndef LARDER_SETTINGS_H
#define LARDER_SETTINGS_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "db.h"

/* What `serve` makes when it is not there, first_start.h. */
enum settings_init { INIT_NOTHING, INIT_EMPTY, INIT_DEMO };

struct settings {
    const char *db;      /* path of the database file */
    const char *run_dir; /* directory of the sockets */
    bool run_dir_given;
    const char *listen; /* NULL: a socket for each lane in run_dir */
    int readers;        /* processes; 0: the writer serves the reads too */
    bool readers_given;
    enum db_sync sync;
    mode_t socket_mode;
    const char *cors_origin; /* NULL: no cross-origin answers */
    bool probes;             /* the routes of the published comparisons are there */
    bool once;               /* top: one page */
    int64_t slow_ms;         /* requests that take so long are logged; 0: none is */
    bool demo;               /* init: with the demo data */
    enum settings_init init;
    const char *file;                          /* of the commands that have one: a backup */
    bool overwrite;                            /* backup: in the place of an existing file */
    bool copy;                                 /* migrate: keep one of the database before */
    const char *secret_file;                   /* NULL: nobody can log in */
    const char *token_issuer, *token_audience; /* NULL: not asked for */
    int64_t token_ttl_s;
    /* of the commands that are about one user */
    int64_t user;
    const char *email, *name;
};

/* Fills in defaults and environment, then reads argv[1] and on. Returns false with one sentence in
 * error when something is not an option or has a wrong value. */
bool settings_read(struct settings *settings, int argc, char **argv, char *error,
                   size_t error_size);

/* Writes the table of options, for `larder help`. */
void settings_help(FILE *out);

/* Readers that suit this machine: half of the processors that the container's CPU quota or the
 * affinity mask leaves, rounded up. */
int settings_default_readers(void);

#endif
