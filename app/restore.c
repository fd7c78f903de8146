#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"
#include "copy.h"
#include "db_admin.h"
#include "files.h"
#include "lock.h"
#include "log.h"
#include "schema.h"

enum { LOGS = 2 };
static const char *const log_suffixes[LOGS] = {"-wal", "-journal"};

/* A database and its log are kept together, or what is only in the log is lost; and a log must
 * never meet another database. So the log gets its new name first, as a second name; then the
 * database, in one step, goes where its log is already; then the log's first name is removed. A
 * crash at any point leaves either the old database whole at its place, or nothing there. */
static bool set_aside(const char *database, const char *kept) {
    char from[PATH_MAX];
    char to[PATH_MAX];
    for (int i = 0; i < LOGS; i++) {
        if (!files_suffixed(database, log_suffixes[i], from) ||
            !files_suffixed(kept, log_suffixes[i], to) ||
            (link(from, to) != 0 && errno != ENOENT)) {
            return false;
        }
    }
    if ((rename(database, kept) != 0 && errno != ENOENT) || !files_sync_directory(database)) {
        return false;
    }
    for (int i = 0; i < LOGS; i++) {
        if (!files_suffixed(database, log_suffixes[i], from) ||
            (unlink(from) != 0 && errno != ENOENT)) {
            return false;
        }
    }
    /* shared memory: made anew from the log by whoever opens the database that was kept */
    if (!files_suffixed(database, "-shm", from) || (unlink(from) != 0 && errno != ENOENT)) {
        return false;
    }
    return files_sync_directory(database);
}

/* The service's user must be able to use what root puts in place. */
static void inherit(int descriptor, const char *database) {
    struct stat status;
    files_inherit_owner(descriptor, database);
    if (stat(database, &status) == 0) {
        fchmod(descriptor, status.st_mode & 0777);
    }
}

static int replace(const struct settings *settings, const char *database, int version) {
    char error[DB_ERROR_BYTES];
    char kept[PATH_MAX];
    struct draft draft;
    struct stat status;
    sigset_t all;
    if (!draft_open(&draft, database, true, error) ||
        !copy_checked(settings->file, &draft, error)) {
        return log_sentence("%s; the database was not changed", error);
    }
    inherit(draft.descriptor, database);
    bool had_one = access(database, F_OK) == 0;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL); /* these steps belong together */
    if (fstat(draft.descriptor, &status) != 0 || fsync(draft.descriptor) != 0 ||
        !files_stamped(database, "replaced", kept) || !set_aside(database, kept)) {
        log_sentence("cannot move %s aside: %s", database, strerror(errno));
        draft_discard(&draft);
        return 1;
    }
    if (!draft_publish(&draft, false, error)) {
        return log_sentence("%s; the database before is %s", error, kept);
    }
    printf("restored %s from %s: %lld bytes, schema version %d, checked\n", settings->db,
           settings->file, (long long)status.st_size, version);
    if (had_one) {
        printf("the database before is kept as %s\n", kept);
    }
    if (version < SCHEMA_VERSION) {
        printf("this program serves schema version %d: run 'larder migrate --db %s'\n",
               SCHEMA_VERSION, settings->db);
    }
    return 0;
}

int command_restore(const struct settings *settings) {
    char error[DB_ERROR_BYTES];
    char database[PATH_MAX];
    struct stat one;
    struct stat other;
    if (stat(settings->file, &one) != 0) {
        return log_sentence("cannot read %s: %s", settings->file, strerror(errno));
    }
    if (stat(settings->db, &other) == 0 && one.st_dev == other.st_dev &&
        one.st_ino == other.st_ino) {
        return log_sentence("%s is the database itself: give a backup of it", settings->file);
    }
    int version = db_version(settings->file, "give the path of a backup", error);
    if (version < 0) {
        return log_sentence("%s", error);
    }
    int lock = lock_resolve(settings->db, database) ? lock_database(settings->db) : -1;
    if (lock < 0) {
        return 1;
    }
    int status = replace(settings, database, version);
    close(lock);
    return status;
}
