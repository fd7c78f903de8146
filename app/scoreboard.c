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

/* Of a place without a name, the descriptor; -1 of a directory. */
static int unnamed(const char *place) {
    int descriptor = -1;
    return sscanf(place, "/proc/%*d/fd/%d", &descriptor) == 1 ? descriptor : -1;
}

static void name_file(char *path, size_t size, const char *place) {
    snprintf(path, size, unnamed(place) >= 0 ? "%s" : "%s/" SCOREBOARD_NAME, place);
}

int scoreboard_reserve(char *place, size_t size) {
    int descriptor = memfd_create("larder scoreboard", MFD_CLOEXEC);
    snprintf(place, size, "/proc/%ld/fd/%d", (long)getpid(), descriptor);
    return descriptor;
}

static struct scoreboard *map(int descriptor) {
    void *memory =
        mmap(NULL, sizeof(struct scoreboard), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static int create_file(const char *place) {
    char path[PATH_MAX];
    int reserved = unnamed(place);
    if (reserved >= 0) { /* another one under the number that is known to all */
        int memory = memfd_create("larder scoreboard", MFD_CLOEXEC);
        if (memory >= 0 && dup3(memory, reserved, O_CLOEXEC) < 0) {
            close(memory);
            return -1;
        }
        return memory;
    }
    name_file(path, sizeof path, place);
    unlink(path); /* who still looks at an old one keeps it */
    return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
}

struct scoreboard *scoreboard_create(const char *place) {
    int descriptor = create_file(place);
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

struct scoreboard *scoreboard_join(const char *place) {
    char path[PATH_MAX];
    struct stat status;
    name_file(path, sizeof path, place);
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

void scoreboard_remove(const char *place) {
    char path[PATH_MAX];
    if (unnamed(place) < 0) {
        name_file(path, sizeof path, place);
        unlink(path);
    }
}
