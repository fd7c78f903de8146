#define _GNU_SOURCE
#include "scoreboard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static void name_file(char *path, size_t size, const char *run_dir) {
    snprintf(path, size, "%s/" SCOREBOARD_NAME, run_dir);
}

struct scoreboard *scoreboard_create(const char *run_dir) {
    char path[PATH_MAX];
    name_file(path, sizeof path, run_dir);
    unlink(path); /* who still looks at an old one keeps it */
    int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
    if (descriptor < 0) {
        return NULL;
    }
    void *memory = MAP_FAILED;
    errno = posix_fallocate(descriptor, 0, sizeof(struct scoreboard)); /* a full disk shows here */
    if (errno == 0) {
        memory = mmap(NULL, sizeof(struct scoreboard), PROT_READ | PROT_WRITE, MAP_SHARED,
                      descriptor, 0);
    }
    close(descriptor);
    return memory == MAP_FAILED ? NULL : memory;
}

void scoreboard_remove(const char *run_dir) {
    char path[PATH_MAX];
    name_file(path, sizeof path, run_dir);
    unlink(path);
}
