/* scoreboard: what the processes know of each other and count, in memory they share.
 *
 * The supervisor makes it before it forks, as a file in the run directory, so that another program
 * can look at it too (`larder top`). Each worker writes its own slot with plain atomic stores,
 * anyone reads; there is no lock. Slot 0 is the writer's, the readers' follow, then the login
 * worker's. A slot outlives its worker: the successor counts on, so that no counter ever goes back
 * while the service runs.
 *
 * The file begins with what tells another version of the program whether it can read it. */
#ifndef LARDER_SCOREBOARD_H
#define LARDER_SCOREBOARD_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SCOREBOARD_READERS = 64,
    SCOREBOARD_SLOTS = SCOREBOARD_READERS + 2,
    SCOREBOARD_ROUTES = 24, /* the last is for paths that are none of ours */
    SCOREBOARD_METHODS = 8,
    SCOREBOARD_STATUSES = 20,
    SCOREBOARD_BUCKETS = 20,
    SCOREBOARD_VERSION = 3, /* of this layout: a change of the structs below is a new one */
};

/* Bucket i counts values up to first << i, the last one all above. Times are nanoseconds, in
 * buckets from 16 microseconds to 4.2 seconds; sizes of batches go from 1 to 128 and leave the
 * other buckets empty. */
struct histogram {
    _Atomic uint64_t sum;
    _Atomic uint64_t buckets[SCOREBOARD_BUCKETS];
};

enum { HISTOGRAM_FIRST_US = 16, HISTOGRAM_SIZES = 8 };

/* Counters, but for what is called a gauge. */
struct scoreboard_slot {
    _Alignas(64) char name[24];    /* "writer", "reader 1", "login" */
    _Atomic bool serving;          /* set by the worker when it takes requests, cleared when it has
                                      ended */
    _Atomic uint32_t generation;   /* the worker has come so far in reloads */
    _Atomic uint32_t answered;     /* of watchdog.h */
    _Atomic int32_t pid;           /* of the worker, or of the last one */
    _Atomic uint32_t lanes;        /* enum lane, added up */
    _Atomic uint64_t restarts;     /* written by the supervisor */
    _Atomic uint64_t connections;  /* gauge: open */
    _Atomic uint64_t waiting;      /* gauge: requests put aside */
    _Atomic uint64_t wal_pages;    /* gauge: not moved to the database file yet */
    _Atomic uint64_t accepted;     /* connections */
    _Atomic uint64_t waits;        /* requests that were put aside */
    _Atomic uint64_t slow;         /* requests over the setting slow_ms */
    _Atomic uint64_t cache_hits;   /* statements found prepared */
    _Atomic uint64_t cache_misses; /* statements that had to be prepared */
    _Atomic uint64_t lock_waits;   /* for the lock of another process */
    _Atomic uint64_t lock_wait_ns; /* in all */
    _Atomic uint64_t failed_commits;
    _Atomic uint64_t failed_checkpoints;
    _Atomic uint64_t checkpoint_pages; /* moved to the database file */
    struct histogram commits;          /* of the writer: how long each took */
    struct histogram checkpoints;      /* the same of those that succeeded */
    struct histogram batches;          /* requests in each */
    struct histogram requests;         /* from the wake-up until the batch's answers were sent */
    _Atomic uint64_t answers[SCOREBOARD_ROUTES][SCOREBOARD_METHODS][SCOREBOARD_STATUSES];
};

struct scoreboard {
    uint64_t magic;
    uint32_t version, slot_bytes;
    uint64_t names;      /* a hash of the routes, methods and statuses that answers[] counts */
    uint32_t slots;      /* that follow */
    int32_t supervisor;  /* its pid */
    int64_t began_s;     /* when the service began, in seconds since 1970 */
    int64_t began_ticks; /* the same in clock ticks since the system's start */
    char database[PATH_MAX];
    _Atomic bool stopping;       /* set by the supervisor: the whole service ends */
    _Atomic uint32_t generation; /* how often the service was reloaded; set by the supervisor */
    _Atomic uint32_t asked;      /* of watchdog.h; set by the supervisor */
    struct scoreboard_slot slot[];
};

#define SCOREBOARD_NAME "scoreboard"

/* Where it lies, the place, is the run directory, in a file of its own. Where there is none it has
 * no name: the supervisor holds it open, under a number that stays the same, and the place is
 * "/proc/PID/fd/NUMBER"; or NULL, when nobody else is to find it. This chooses the number. Returns
 * it, the caller's to keep open, or -1. */
int scoreboard_reserve(char *place, size_t size);

/* Makes a new one of that many slots in its place and maps it; children inherit the mapping.
 * database is the path of the file that is served. NULL with errno set on failure. */
struct scoreboard *scoreboard_create(const char *place, int slots, const char *database);

/* Maps the one that is there, to go on with it after a reload. NULL with errno set on failure:
 * EPROTO when another version of the program made it. */
struct scoreboard *scoreboard_join(const char *place);

/* Requests served so far. */
uint64_t scoreboard_requests(const struct scoreboard *scoreboard);

/* Removes the file, if there is one; mappings stay. */
void scoreboard_remove(const char *place);

/* Maps that of a running service to look at. NULL with errno set when there is none: ENOENT, also
 * when it was left by a service that was killed; EPROTO when another version of the program made
 * it. */
const struct scoreboard *scoreboard_open(const char *run_dir);
void scoreboard_close(const struct scoreboard *scoreboard);

/* Whether the service that made it still runs. */
bool scoreboard_is_live(const struct scoreboard *scoreboard);

/* Whether this program can read what lies there, of that many bytes. */
bool scoreboard_fits(const struct scoreboard *scoreboard, size_t bytes);

/* Bytes of one with that many slots. */
size_t scoreboard_bytes(int slots);

/* Sizes of the files of the database; 0 for one that is not there. */
struct scoreboard_sizes {
    uint64_t database_bytes, wal_bytes;
};
struct scoreboard_sizes scoreboard_sizes(const struct scoreboard *scoreboard);

/* A worker has ended, and another is to take its slot. */
void scoreboard_bury(struct scoreboard *scoreboard, int slot);

static inline bool scoreboard_has_writer(const struct scoreboard *scoreboard) {
    return atomic_load_explicit(&scoreboard->slot[0].serving, memory_order_relaxed);
}

static inline uint64_t scoreboard_read(const _Atomic uint64_t *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static inline void scoreboard_set(_Atomic uint64_t *gauge, uint64_t value) {
    atomic_store_explicit(gauge, value, memory_order_relaxed);
}

/* Adds to a counter that only this process writes. */
static inline void scoreboard_add(_Atomic uint64_t *counter, uint64_t amount) {
    scoreboard_set(counter, scoreboard_read(counter) + amount);
}

/* The bucket of a value, of which the first holds those up to first. */
static inline int histogram_bucket(uint64_t value, uint64_t first) {
    uint64_t above = value == 0 ? 0 : (value - 1) / first;
    int bucket = above == 0 ? 0 : 64 - __builtin_clzll(above);
    return bucket < SCOREBOARD_BUCKETS ? bucket : SCOREBOARD_BUCKETS - 1;
}

/* Adds count equal times. */
static inline void histogram_add_times(struct histogram *histogram, int64_t ns, uint64_t count) {
    uint64_t time = ns < 0 ? 0 : (uint64_t)ns;
    scoreboard_add(&histogram->sum, time * count);
    scoreboard_add(&histogram->buckets[histogram_bucket(time, HISTOGRAM_FIRST_US * UINT64_C(1000))],
                   count);
}

static inline void histogram_add_size(struct histogram *histogram, uint64_t size) {
    scoreboard_add(&histogram->sum, size);
    scoreboard_add(&histogram->buckets[histogram_bucket(size, 1)], 1);
}

static inline uint64_t histogram_count(const struct histogram *histogram) {
    uint64_t count = 0;
    for (int i = 0; i < SCOREBOARD_BUCKETS; i++) {
        count += scoreboard_read(&histogram->buckets[i]);
    }
    return count;
}

#endif
