#define _GNU_SOURCE
#include "scoreboard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void name_file(char *path, size_t size, const char *run_dir) {
    snprintf(path, size, "%s/" SCOREBOARD_NAME, run_dir);
}

static struct scoreboard *map(int descriptor) {
    void *memory =
        mmap(NULL, sizeof(struct scoreboard), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

struct scoreboard *scoreboard_create(const char *run_dir) {
    char path[PATH_MAX];
    name_file(path, sizeof path, run_dir);
    unlink(path); /* who still looks at an old one keeps it */
    int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
    if (descriptor < 0) {
        return NULL;
    }
    struct scoreboard *scoreboard = NULL;
    errno = posix_fallocate(descriptor, 0, sizeof(struct scoreboard)); /* a full disk shows here */
    if (errno == 0) {
        scoreboard = map(descriptor);
    }
    close(descriptor);
    if (scoreboard != NULL) {
        scoreboard->layout = SCOREBOARD_LAYOUT;
        scoreboard->bytes = sizeof *scoreboard;
    }
    return scoreboard;
}

struct scoreboard *scoreboard_join(const char *run_dir) {
    char path[PATH_MAX];
    struct stat status;
    name_file(path, sizeof path, run_dir);
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    if (descriptor < 0) {
        return NULL;
    }
    struct scoreboard *scoreboard = NULL;
    if (fstat(descriptor, &status) == 0 && status.st_size == sizeof *scoreboard) {
        scoreboard = map(descriptor);
    } else {
        errno = EPROTO;
    }
    close(descriptor);
    if (scoreboard != NULL &&
        (scoreboard->layout != SCOREBOARD_LAYOUT || scoreboard->bytes != sizeof *scoreboard)) {
        munmap(scoreboard, sizeof *scoreboard);
        errno = EPROTO;
        return NULL;
    }
    return scoreboard;
}

uint64_t scoreboard_requests(const struct scoreboard *scoreboard) {
    uint64_t requests = 0;
    for (int i = 0; i < SCOREBOARD_SLOTS; i++) {
        requests += atomic_load_explicit(&scoreboard->slots[i].requests, memory_order_relaxed);
    }
    return requests;
}

void scoreboard_remove(const char *run_dir) {
    char path[PATH_MAX];
    name_file(path, sizeof path, run_dir);
    unlink(path);
}
