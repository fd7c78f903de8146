#define _GNU_SOURCE
#include "scoreboard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "process.h"
#include "response.h"
#include "routes.h"

static const uint64_t MAGIC = UINT64_C(0x6272616f42726c4c); /* "LlrBoarb" in the file */

_Static_assert((int)METHOD_OTHER < (int)SCOREBOARD_METHODS, "each method has a place");
_Static_assert((int)RESPONSE_STATUSES <= (int)SCOREBOARD_STATUSES, "each status has a place");

/* FNV-1a: two programs that count other things must not read each other's numbers. */
static uint64_t hash_names(void) {
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    for (int i = 0; i < routes_count; i++) {
        for (const char *c = routes[i].path; *c != '\0'; c++) {
            hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001B3);
        }
        hash = (hash ^ ' ') * UINT64_C(0x100000001B3);
    }
    for (int i = 0; i < RESPONSE_STATUSES; i++) {
        hash = (hash ^ (uint64_t)response_status(i)) * UINT64_C(0x100000001B3);
    }
    return hash ^ METHOD_OTHER;
}

size_t scoreboard_bytes(int slots) {
    return sizeof(struct scoreboard) + (size_t)slots * sizeof(struct scoreboard_slot);
}

/* Of a place without a name, the descriptor; -1 of a directory. */
static int unnamed(const char *place) {
    bool is_unnamed = strncmp(place, "/proc/", 6) == 0 && strstr(place, "/fd/") != NULL;
    return is_unnamed ? (int)strtol(strrchr(place, '/') + 1, NULL, 10) : -1;
}

static void name_file(char *path, size_t size, const char *place) {
    snprintf(path, size, unnamed(place) >= 0 ? "%s" : "%s/" SCOREBOARD_NAME, place);
}

/* ---- making --------------------------------------------------------------------------------- */

int scoreboard_reserve(char *place, size_t size) {
    int descriptor = memfd_create("larder scoreboard", MFD_CLOEXEC);
    snprintf(place, size, "/proc/%ld/fd/%d", (long)getpid(), descriptor);
    return descriptor;
}

static struct scoreboard *map(int descriptor, size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static int create_file(const char *place) {
    char path[PATH_MAX];
    int reserved = place == NULL ? -1 : unnamed(place);
    if (place == NULL) {
        return memfd_create("larder scoreboard", MFD_CLOEXEC);
    }
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

struct scoreboard *scoreboard_create(const char *place, int slots, const char *database) {
    size_t bytes = scoreboard_bytes(slots);
    int descriptor = create_file(place);
    if (descriptor < 0) {
        return NULL;
    }
    struct scoreboard *scoreboard = NULL;
    errno = posix_fallocate(descriptor, 0, (off_t)bytes); /* a full disk shows here */
    if (errno == 0) {
        scoreboard = map(descriptor, bytes);
    }
    close(descriptor);
    if (scoreboard == NULL) {
        return NULL;
    }
    scoreboard->version = SCOREBOARD_VERSION;
    scoreboard->slot_bytes = sizeof(struct scoreboard_slot);
    scoreboard->names = hash_names();
    scoreboard->slots = (uint32_t)slots;
    scoreboard->supervisor = getpid();
    scoreboard->began_s = time(NULL);
    scoreboard->began_ticks = process_ticks_now();
    char real[PATH_MAX];
    const char *path = realpath(database, real) == NULL ? database : real;
    snprintf(scoreboard->database, sizeof scoreboard->database, "%s", path);
    atomic_thread_fence(memory_order_release);
    scoreboard->magic = MAGIC; /* last: who finds it finds all */
    return scoreboard;
}

/* Maps the file if this program can read it. */
static struct scoreboard *map_file(const char *place, int access, int protection) {
    char path[PATH_MAX];
    name_file(path, sizeof path, place);
    int descriptor = open(path, access | O_CLOEXEC);
    if (descriptor < 0) {
        return NULL;
    }
    struct stat status = {0};
    void *memory = MAP_FAILED;
    if (fstat(descriptor, &status) == 0 && status.st_size > 0) {
        memory = mmap(NULL, (size_t)status.st_size, protection, MAP_SHARED, descriptor, 0);
    }
    close(descriptor);
    if (memory != MAP_FAILED && scoreboard_fits(memory, (size_t)status.st_size)) {
        return memory;
    }
    if (memory != MAP_FAILED) {
        munmap(memory, (size_t)status.st_size);
    }
    errno = EPROTO;
    return NULL;
}

struct scoreboard *scoreboard_join(const char *place) {
    return map_file(place, O_RDWR, PROT_READ | PROT_WRITE);
}

uint64_t scoreboard_requests(const struct scoreboard *scoreboard) {
    uint64_t requests = 0;
    for (uint32_t i = 0; i < scoreboard->slots; i++) {
        requests += histogram_count(&scoreboard->slot[i].requests);
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

void scoreboard_bury(struct scoreboard *scoreboard, int slot) {
    struct scoreboard_slot *grave = &scoreboard->slot[slot];
    atomic_store(&grave->serving, false);
    scoreboard_set(&grave->connections, 0);
    scoreboard_set(&grave->waiting, 0);
    if (!atomic_load(&scoreboard->stopping)) {
        scoreboard_add(&grave->restarts, 1);
    }
}

/* ---- looking -------------------------------------------------------------------------------- */

bool scoreboard_fits(const struct scoreboard *scoreboard, size_t bytes) {
    return bytes >= sizeof *scoreboard && scoreboard->magic == MAGIC &&
           scoreboard->version == SCOREBOARD_VERSION &&
           scoreboard->slot_bytes == sizeof(struct scoreboard_slot) &&
           scoreboard->names == hash_names() && scoreboard->slots <= SCOREBOARD_SLOTS &&
           bytes >= scoreboard_bytes((int)scoreboard->slots);
}

bool scoreboard_is_live(const struct scoreboard *scoreboard) {
    struct process process;
    /* a process that began later has been given the number of one that ended */
    return process_look(scoreboard->supervisor, &process) &&
           process.began_ticks <= scoreboard->began_ticks;
}

const struct scoreboard *scoreboard_open(const char *run_dir) {
    const struct scoreboard *scoreboard = map_file(run_dir, O_RDONLY, PROT_READ);
    if (scoreboard != NULL && !scoreboard_is_live(scoreboard)) {
        scoreboard_close(scoreboard);
        errno = ENOENT;
        return NULL;
    }
    return scoreboard;
}

void scoreboard_close(const struct scoreboard *scoreboard) {
    if (scoreboard != NULL) {
        munmap((void *)scoreboard, scoreboard_bytes((int)scoreboard->slots));
    }
}

static uint64_t size_of(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
}

struct scoreboard_sizes scoreboard_sizes(const struct scoreboard *scoreboard) {
    char wal[PATH_MAX + sizeof "-wal"];
    snprintf(wal, sizeof wal, "%s-wal", scoreboard->database);
    return (struct scoreboard_sizes){size_of(scoreboard->database), size_of(wal)};
}
