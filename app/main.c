/* larder: the command line. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "check.h"
#include "commands.h"
#include "db.h"
#include "db_admin.h"
#include "first_start.h"
#include "handover.h"
#include "health_check.h"
#include "jwt.h"
#include "lock.h"
#include "log.h"
#include "program.h"
#include "schema.h"
#include "settings.h"
#include "supervisor.h"
#include "top.h"
#include "trial.h"
#include "worker.h"

static int serve(const struct settings *settings) {
    struct handover state;
    if (!handover_take(&state)) {
        return first_start(settings) ? supervisor_run(settings, NULL) : 1;
    }
    switch (state.kind) { /* this program has replaced another, by a reload */
    case HANDOVER_SUPERVISOR:
        return supervisor_run(settings, &state);
    case HANDOVER_WORKER:
        return worker_resume(settings, &state);
    default:
        return log_sentence("LARDER_HAND_OVER is set, and not by a reload: take it away");
    }
}

static int init(const struct settings *settings) {
    char error[DB_ERROR_BYTES];
    if (!db_create(settings->db, schema_sql, settings->demo ? schema_demo_sql : NULL, error)) {
        return log_sentence("%s", error);
    }
    printf("created %s%s\n", settings->db, settings->demo ? " with the demo data" : "");
    return 0;
}

static void complain(const char *sentence) {
    printf("fault: %s\n", sentence);
}

static bool show_secrets(const struct settings *settings) {
    char error[SECRETS_ERROR_BYTES];
    struct jwt_rules rules;
    if (settings->secret_file == NULL) {
        printf("secret file: none, so nobody can log in and there are no deals\n");
        return true;
    }
    if (!jwt_rules_read(&rules, settings, error)) {
        complain(error);
        return false;
    }
    bool two = rules.secrets.count > 1;
    printf("secret file: %s, key %s signs%s%s\n", settings->secret_file, rules.secrets.keys[0].kid,
           two ? ", key still accepted: " : "", two ? rules.secrets.keys[1].kid : "");
    return true;
}

static int check(const struct settings *settings) {
    char error[DB_ERROR_BYTES];
    struct db *db = db_open(settings->db, DB_READ, settings->sync, error);
    if (db == NULL) {
        return log_sentence("%s", error);
    }
    struct stat status = {0};
    stat(settings->db, &status);
    printf("database %s, %lld bytes, schema version %d\n", settings->db, (long long)status.st_size,
           SCHEMA_VERSION);
    printf("settings: %d readers, synchronous %s, run directory %s, listens on %s, socket mode %o, "
           "CORS origin %s, probes %s\n",
           settings->readers, settings->sync == DB_SYNC_FULL ? "full" : "normal", settings->run_dir,
           settings->listen == NULL ? "sockets in it" : settings->listen,
           (unsigned)settings->socket_mode,
           settings->cors_origin == NULL ? "none" : settings->cors_origin,
           settings->probes ? "on" : "off");
    bool can_start = show_secrets(settings);
    db_close(db);
    bool alone = !lock_is_held(settings->db);
    int faults = check_file(settings->db, alone, complain);
    printf("integrity: %s%s\n", faults == 0 ? "ok" : "DAMAGED, restore a backup",
           alone ? "" : "; while it is served, full-text indexes are checked in backups alone");
    return faults == 0 && can_start ? 0 : 1;
}

/* Quick, and without a lock: the service runs meanwhile. */
static int try(const struct settings *settings) {
    char error[DB_ERROR_BYTES];
    struct jwt_rules rules;
    struct db *db = db_open(settings->db, DB_READ, settings->sync, error);
    if (db == NULL) {
        return log_sentence("%s", error);
    }
    db_close(db);
    if (settings->secret_file != NULL && !jwt_rules_read(&rules, settings, error)) {
        return log_sentence("%s", error);
    }
    printf("larder %s can serve %s\n", program_version(), settings->db);
    trial_announce();
    return 0;
}

static int version(const struct settings *settings) {
    (void)settings;
    printf("larder %s\nSQLite %s, %s\n", program_version(), db_library_version(),
           db_library_source());
    for (int i = 0; db_library_option(i) != NULL; i++) {
        printf("%s%s", i == 0 ? "built with " : " ", db_library_option(i));
    }
    printf("\n");
    return 0;
}

static int help(const struct settings *settings);

static const struct command {
    const char *name, *help;
    int (*run)(const struct settings *settings);
    bool file; /* the word after the name is a file's path */
} commands[] = {
    {"serve", "serve the database to nginx; ends on SIGTERM or Ctrl-C, reloads on SIGHUP", serve},
    {"try", "say whether 'serve' would start; a reload asks this of the new program", try},
    {"init", "create the database; with --demo, filled with demo data", init},
    {"health", "ask the running service whether it is ready; exit status 0 when it is",
     health_check},
    {"top", "show what a running larder does, until q; with --once, one page", top_run},
    {"check", "check the database's integrity and schema, show the settings", check},
    {"backup", "copy the database, also while it is served; --overwrite: over an older copy",
     command_backup, .file = true},
    {"restore", "put a backup in the database's place; the one before is kept", command_restore,
     .file = true},
    {"migrate", "bring the database to this program's schema, keeping a copy unless --no-copy",
     command_migrate},
    {"token", "print a token for a user, for scripts", command_token},
    {"user add", "add a user; the password is read from standard input", command_user_add},
    {"user passwd", "give a user another password, likewise", command_user_passwd},
    {"user disable", "switch a user off at once, tokens too", command_user_disable},
    {"user enable", "switch a user on again", command_user_enable},
    {"version", "print the versions of larder and SQLite", version},
    {"help", "print this", help},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static int help(const struct settings *settings) {
    (void)settings;
    printf("larder: a small CRUD API over SQLite, behind nginx\n\nusage: larder COMMAND "
           "[OPTION...]\n\ncommands:\n");
    for (int i = 0; i < COMMANDS; i++) {
        char left[32];
        snprintf(left, sizeof left, "%s%s", commands[i].name, commands[i].file ? " FILE" : "");
        printf("  %-24s %s\n", left, commands[i].help);
    }
    printf("\noptions, or environment variables, and what holds without them:\n");
    settings_help(stdout);
    return 0;
}

int main(int argc, char **argv) {
    char error[DB_ERROR_BYTES];
    struct settings settings;
    const char *name = argc < 2 ? "" : argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        name = "help";
    } else if (strcmp(name, "--version") == 0) {
        name = "version";
    }
    if (argc > 0) {
        program_remember(argv);
    }
    char two_words[32];
    if (strcmp(name, "user") == 0 && argc > 2) {
        snprintf(two_words, sizeof two_words, "user %s", argv[2]);
        name = two_words;
        argc--;
        argv++;
    }
    for (int i = 0; i < COMMANDS; i++) {
        if (strcmp(name, commands[i].name) == 0) {
            const char *file = NULL;
            if (commands[i].file) {
                if (argc < 3 || argv[2][0] == '-' || argv[2][0] == '\0') {
                    log_sentence("which file? larder %s FILE [OPTION...]", name);
                    return 2;
                }
                file = argv[2];
                argc--;
                argv++;
            }
            if (!settings_read(&settings, argc - 1, argv + 1, error, sizeof error)) {
                log_sentence("%s", error);
                return 2;
            }
            settings.file = file;
            return commands[i].run(&settings);
        }
    }
    log_sentence("%s%s%s: see 'larder help'", argc < 2 ? "a command is missing" : "'", name,
                 argc < 2 ? "" : "' is not a command");
    return 2;
}
