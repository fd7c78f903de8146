#include <stdio.h>
#include <sys/stat.h>

#include "commands.h"
#include "copy.h"
#include "db_admin.h"
#include "files.h"
#include "log.h"

/* With --overwrite a slip of the hand would put the copy in the place of the original. */
static bool is_part_of(const char *file, const char *database) {
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal", ".lock"};
    struct stat one;
    struct stat other;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        char path[PATH_MAX];
        if (files_suffixed(database, suffixes[i], path) && stat(file, &one) == 0 &&
            stat(path, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino) {
            return true;
        }
    }
    return false;
}

int command_backup(const struct settings *settings) {
    char error[DB_ERROR_BYTES];
    struct draft draft;
    struct stat status;
    if (is_part_of(settings->file, settings->db)) {
        return log_sentence("%s belongs to the database itself: give the backup another name",
                            settings->file);
    }
    int version = db_version(settings->db, NULL, error);
    if (version < 0 || !draft_open(&draft, settings->file, settings->overwrite, error) ||
        !copy_checked(settings->db, &draft, error)) {
        return log_sentence("%s", error);
    }
    fstat(draft.descriptor, &status);
    if (!draft_publish(&draft, settings->overwrite, error)) {
        return log_sentence("%s", error);
    }
    printf("backup of %s in %s: %lld bytes, schema version %d, checked\n", settings->db,
           settings->file, (long long)status.st_size, version);
    return 0;
}
