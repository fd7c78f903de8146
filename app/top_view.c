#include "top_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "response.h"
#include "routes.h"

void top_take(struct top_sample *sample, const struct scoreboard *scoreboard) {
    size_t bytes = scoreboard_bytes((int)scoreboard->slots);
    free(sample->scoreboard);
    void *copy = aligned_alloc(_Alignof(struct scoreboard), bytes);
    if (copy == NULL) {
        log_out_of_memory();
    }
    memcpy(copy, scoreboard, bytes);
    sample->scoreboard = copy;
    sample->at_ns = clock_ns();
    for (uint32_t i = 0; i < scoreboard->slots; i++) {
        if (!process_look(atomic_load(&sample->scoreboard->slot[i].pid), &sample->processes[i])) {
            sample->processes[i] = (struct process){0};
        }
    }
}

void top_forget(struct top_sample *sample) {
    free(sample->scoreboard);
    *sample = (struct top_sample){0};
}

/* ---- what has changed ----------------------------------------------------------------------- */

/* Two samples, and which slots are meant: first to last. */
struct change {
    const struct top_sample *before, *now;
    uint32_t first, end;
};

#define PLACE(member) offsetof(struct scoreboard_slot, member)

static uint64_t number(const struct scoreboard_slot *slot, size_t place) {
    return scoreboard_read((const _Atomic uint64_t *)((const char *)slot + place));
}

static uint64_t total(const struct change *change, size_t place) {
    uint64_t sum = 0;
    for (uint32_t i = change->first; i < change->end; i++) {
        sum += number(&change->now->scoreboard->slot[i], place);
    }
    return sum;
}

static uint64_t added(const struct change *change, size_t place) {
    uint64_t sum = 0;
    for (uint32_t i = change->first; i < change->end; i++) {
        sum += number(&change->now->scoreboard->slot[i], place) -
               number(&change->before->scoreboard->slot[i], place);
    }
    return sum;
}

static double a_second(const struct change *change, uint64_t count) {
    int64_t ns = change->now->at_ns - change->before->at_ns;
    return ns <= 0 ? 0 : (double)count * 1e9 / (double)ns;
}

static double rate(const struct change *change, size_t place) {
    return a_second(change, added(change, place));
}

/* What was added to each bucket of a histogram. Returns their sum. */
static uint64_t buckets(const struct change *change, size_t place,
                        uint64_t counts[static SCOREBOARD_BUCKETS]) {
    uint64_t sum = 0;
    for (size_t i = 0; i < SCOREBOARD_BUCKETS; i++) {
        counts[i] = added(change, place + offsetof(struct histogram, buckets[i]));
        sum += counts[i];
    }
    return sum;
}

/* The time in milliseconds that this share of what was added did not exceed, as if times lay evenly
 * in their bucket. -1 when nothing was added. */
static double quantile_ms(const struct change *change, size_t place, double share) {
    uint64_t counts[SCOREBOARD_BUCKETS];
    double rank = share * (double)buckets(change, place, counts);
    double bound = HISTOGRAM_FIRST_US / 1000.0;
    double below = 0;
    for (int i = 0; i < SCOREBOARD_BUCKETS; i++) {
        double count = (double)counts[i];
        if (count > 0 && count >= rank) {
            bool last = i == SCOREBOARD_BUCKETS - 1; /* it has no upper bound */
            return last ? below : below + (bound - below) * rank / count;
        }
        rank -= count;
        below = bound;
        bound *= 2;
    }
    return -1;
}

/* ---- the page ------------------------------------------------------------------------------- */

static void put_ms(struct buffer *page, const char *before, double ms) {
    if (ms < 0) {
        buffer_print(page, "%s-", before);
    } else {
        buffer_print(page, "%s%.*f", before, ms < 10 ? 2 : ms < 100 ? 1 : 0, ms);
    }
}

static void put_times(struct buffer *page, const struct change *change, size_t place) {
    put_ms(page, "p50 ", quantile_ms(change, place, 0.5));
    put_ms(page, " ms  p99 ", quantile_ms(change, place, 0.99));
    buffer_append(page, TEXT(" ms"));
}

static void put_bytes(struct buffer *page, const char *before, uint64_t bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double size = (double)bytes;
    size_t unit = 0;
    while (size >= 1024 && unit + 1 < sizeof units / sizeof *units) {
        size /= 1024;
        unit++;
    }
    buffer_print(page, "%s%.*f %s", before, unit == 0 || size >= 100 ? 0 : 1, size, units[unit]);
}

static void put_head(struct buffer *page, const struct scoreboard *scoreboard) {
    enum { MINUTES_A_DAY = 24 * 60 };
    int64_t ticks = process_ticks_now() - scoreboard->began_ticks;
    long long minutes = ticks / sysconf(_SC_CLK_TCK) / 60;
    buffer_print(page, "%clarder  pid %d  up ", TOP_BOLD, scoreboard->supervisor);
    if (minutes >= MINUTES_A_DAY) {
        buffer_print(page, "%lld d ", minutes / MINUTES_A_DAY);
    }
    buffer_print(page, "%lld h %02lld min%s  ", minutes / 60 % 24, minutes % 60,
                 atomic_load(&scoreboard->stopping) ? "  STOPPING" : "");
    buffer_append(page, text_from(scoreboard->database));
    buffer_append(page, TEXT("\n\n"));
}

static void put_requests(struct buffer *page, const struct change *change) {
    enum { READS, WRITES, LOGINS, LANES };
    uint64_t lanes[LANES] = {0};
    uint64_t classes[6] = {0};
    for (int route = 0; route < SCOREBOARD_ROUTES; route++) {
        bool is_login = route < routes_count && routes[route].access == ACCESS_LOGIN;
        for (int method = 0; method <= METHOD_OTHER; method++) {
            int lane = method <= METHOD_OPTIONS            ? READS
                       : is_login && method == METHOD_POST ? LOGINS
                                                           : WRITES;
            for (int i = 0; i < RESPONSE_STATUSES; i++) {
                uint64_t count = added(change, PLACE(answers[route][method][i]));
                lanes[lane] += count;
                classes[response_status(i) / 100] += count;
            }
        }
    }
    buffer_print(page, "requests     %.1f/s   reads %.1f  writes %.1f  logins %.1f",
                 a_second(change, lanes[READS] + lanes[WRITES] + lanes[LOGINS]),
                 a_second(change, lanes[READS]), a_second(change, lanes[WRITES]),
                 a_second(change, lanes[LOGINS]));
    for (int class = 2; class <= 5; class ++) {
        buffer_print(page, "%s%dxx %.1f", class == 2 ? "   " : "  ", class,
                     a_second(change, classes[class]));
    }
    buffer_append(page, TEXT("\n"));
}

static void put_service(struct buffer *page, const struct change *change) {
    uint64_t counts[SCOREBOARD_BUCKETS];
    struct scoreboard_sizes sizes = scoreboard_sizes(change->now->scoreboard);
    buffer_append(page, TEXT("latency      "));
    put_times(page, change, PLACE(requests));
    uint64_t batches = buckets(change, PLACE(batches), counts);
    buffer_print(page, "\nbatches      %.1f/s   %.1f requests each", a_second(change, batches),
                 batches == 0 ? 0.0 : (double)added(change, PLACE(batches.sum)) / (double)batches);
    buffer_print(page, "\ncommits      %.1f/s   ",
                 a_second(change, buckets(change, PLACE(commits), counts)));
    put_times(page, change, PLACE(commits));
    buffer_print(page, "   failed %.1f/s  waits for a lock %.1f/s",
                 rate(change, PLACE(failed_commits)), rate(change, PLACE(lock_waits)));
    buffer_print(page, "\ncheckpoints  %.1f/s   ",
                 a_second(change, buckets(change, PLACE(checkpoints), counts)));
    put_times(page, change, PLACE(checkpoints));
    buffer_print(page, "   %.1f pages/s  failed %.1f/s", rate(change, PLACE(checkpoint_pages)),
                 rate(change, PLACE(failed_checkpoints)));
    put_bytes(page, "\nfiles        database ", sizes.database_bytes);
    put_bytes(page, "  WAL ", sizes.wal_bytes);
    buffer_print(page, ", %llu pages to move", (unsigned long long)total(change, PLACE(wal_pages)));
    buffer_print(page, "\nconnections  %llu open   %.1f/s accepted  requests that wait %llu",
                 (unsigned long long)total(change, PLACE(connections)),
                 rate(change, PLACE(accepted)), (unsigned long long)total(change, PLACE(waiting)));
    buffer_print(page, "\ntrouble      slow requests %.1f/s  restarts of workers %llu\n\n",
                 rate(change, PLACE(slow)), (unsigned long long)total(change, PLACE(restarts)));
}

static void put_worker(struct buffer *page, const struct change *whole, uint32_t i) {
    struct change change = {whole->before, whole->now, i, i + 1};
    const struct scoreboard_slot *slot = &whole->now->scoreboard->slot[i];
    const struct process *before = &whole->before->processes[i];
    const struct process *now = &whole->now->processes[i];
    /* a successor's processor time begins anew */
    int64_t ticks =
        now->cpu_ticks - (now->began_ticks == before->began_ticks ? before->cpu_ticks : 0);
    double cpu =
        a_second(&change, ticks < 0 ? 0 : (uint64_t)ticks) * 100 / (double)sysconf(_SC_CLK_TCK);
    buffer_print(page, "%-10s %8d  %-8s %10.1f ", slot->name, atomic_load(&slot->pid),
                 atomic_load(&slot->serving) ? "serves" : "is away",
                 rate(&change, PLACE(batches.sum)));
    char p99[32] = "-";
    double ms = quantile_ms(&change, PLACE(requests), 0.99);
    if (ms >= 0) {
        snprintf(p99, sizeof p99, "%.2f", ms);
    }
    buffer_print(page, "%8s %11llu %6.1f ", p99,
                 (unsigned long long)number(slot, PLACE(connections)), cpu);
    put_bytes(page, "  ", (uint64_t)now->memory_bytes);
    buffer_print(page, "  %llu\n", (unsigned long long)number(slot, PLACE(restarts)));
}

void top_view(struct buffer *page, const struct top_sample *before, const struct top_sample *now) {
    struct change change = {before, now, 0, now->scoreboard->slots};
    put_head(page, now->scoreboard);
    put_requests(page, &change);
    put_service(page, &change);
    buffer_print(page, "%c%-10s %8s  %-8s %10s %8s %11s %6s   %s  %s\n", TOP_BOLD, "worker", "pid",
                 "state", "requests/s", "p99 ms", "connections", "cpu %", "memory", "restarts");
    for (uint32_t i = 0; i < now->scoreboard->slots; i++) {
        put_worker(page, &change, i);
    }
}
