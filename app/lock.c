#include "lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "log.h"

bool lock_resolve(const char *database, char *real) {
    if (realpath(database, real) != NULL) {
        return true;
    }
    struct stat status;
    char directory[PATH_MAX];
    const char *name = files_split(database, directory);
    if (errno != ENOENT || lstat(database, &status) == 0 || realpath(directory, real) == NULL) {
        return log_refuse("%s: %s", database, strerror(errno));
    }
    memcpy(directory, real, PATH_MAX);
    return (files_suffixed(directory, "/", real) && files_suffixed(real, name, directory) &&
            files_suffixed(directory, "", real)) ||
           log_refuse("the path of the database is too long");
}

static bool lock_path(const char *database, char path[static PATH_MAX]) {
    char real[PATH_MAX];
    if (!lock_resolve(database, real)) {
        return false;
    }
    return files_suffixed(real, ".lock", path) ||
           log_refuse("the path of the database is too long");
}

int lock_database(const char *database) {
    char path[PATH_MAX];
    if (!lock_path(database, path)) {
        return -1;
    }
    int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0) {
        log_sentence("cannot open %s: %s; its directory must be writable", path, strerror(errno));
        return -1;
    }
    files_inherit_owner(lock, database);
    if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
        log_sentence("another larder uses %s: stop it first", database);
        close(lock);
        return -1;
    }
    return lock;
}

bool lock_is_held(const char *database) {
    char path[PATH_MAX];
    int lock = lock_path(database, path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    bool held = lock >= 0 && flock(lock, LOCK_SH | LOCK_NB) != 0;
    if (lock >= 0) {
        close(lock);
    }
    return held;
}
