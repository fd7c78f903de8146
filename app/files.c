#include "files.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

const char *files_split(const char *path, char directory[static PATH_MAX]) {
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        snprintf(directory, PATH_MAX, ".");
        return path;
    }
    size_t length = slash == path ? 1 : (size_t)(slash - path);
    length = length < PATH_MAX ? length : 0;
    memcpy(directory, path, length);
    directory[length] = '\0';
    return slash + 1;
}

bool files_suffixed(const char *path, const char *suffix, char result[static PATH_MAX]) {
    int length = snprintf(result, PATH_MAX, "%s%s", path, suffix);
    return length >= 0 && length < PATH_MAX;
}

bool files_sync_directory(const char *path) {
    char directory[PATH_MAX];
    files_split(path, directory);
    int descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool synced = descriptor >= 0 && fsync(descriptor) == 0;
    if (descriptor >= 0) {
        close(descriptor);
    }
    return synced;
}

void files_inherit_owner(int descriptor, const char *path) {
    struct stat status;
    char directory[PATH_MAX];
    files_split(path, directory);
    if (geteuid() == 0 && (stat(path, &status) == 0 || stat(directory, &status) == 0)) {
        int kept = fchown(descriptor, status.st_uid, status.st_gid);
        (void)kept; /* a file system without owners */
    }
}

bool files_stamped(const char *path, const char *what, char stamped[static PATH_MAX]) {
    for (;;) {
        time_t now = time(NULL);
        struct tm utc;
        char stamp[24];
        char suffix[64];
        gmtime_r(&now, &utc);
        strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &utc);
        snprintf(suffix, sizeof suffix, ".%.32s-%s", what, stamp);
        if (!files_suffixed(path, suffix, stamped)) {
            return false;
        }
        if (access(stamped, F_OK) != 0) {
            return true;
        }
        sleep(1);
    }
}
