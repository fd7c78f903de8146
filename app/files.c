#include "files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "utc.h"

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
        char now[UTC_BYTES];
        char suffix[64];
        utc_format(time(NULL), now);
        snprintf(suffix, sizeof suffix, ".%.32s-%.4s%.2s%.5s%.2s%.3s", what, now, now + 5, now + 8,
                 now + 14, now + 17); /* without - and : */
        if (!files_suffixed(path, suffix, stamped)) {
            return false;
        }
        if (access(stamped, F_OK) != 0) {
            return true;
        }
        sleep(1);
    }
}

bool files_any_stamped(const char *path, const char *what) {
    char directory[PATH_MAX];
    char start[PATH_MAX];
    int length = snprintf(start, sizeof start, "%s.%s-", files_split(path, directory), what);
    DIR *listing = opendir(directory);
    bool found = false;
    struct dirent *entry;
    while (listing != NULL && !found && (entry = readdir(listing)) != NULL) {
        found = strncmp(entry->d_name, start, (size_t)length) == 0;
    }
    if (listing != NULL) {
        closedir(listing);
    }
    return found;
}
