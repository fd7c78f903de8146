#include "meter.h"

#include <unistd.h>

#include "db.h"
#include "log.h"

void meter_start(struct meter *meter, struct scoreboard_slot *slot, unsigned lanes) {
    *meter = (struct meter){
        .slot = slot,
        .requests_before = scoreboard_read(&slot->batches.sum),
        .batches_before = histogram_count(&slot->batches),
    };
    atomic_store(&slot->pid, getpid());
    atomic_store(&slot->lanes, lanes);
    scoreboard_set(&slot->connections, 0);
    scoreboard_set(&slot->waiting, 0);
    atomic_store(&slot->serving, true);
}

void meter_end(const struct meter *meter) {
    const struct scoreboard_slot *slot = meter->slot;
    atomic_store(&meter->slot->serving, false);
    uint64_t requests = scoreboard_read(&slot->batches.sum) - meter->requests_before;
    uint64_t batches = histogram_count(&slot->batches) - meter->batches_before;
    log_event("W10", "served %llu requests in %llu batches, %.1f a batch",
              (unsigned long long)requests, (unsigned long long)batches,
              batches == 0 ? 0.0 : (double)requests / (double)batches);
}

void meter_commit(const struct meter *meter, int64_t begun_ns, bool succeeded) {
    if (succeeded) {
        histogram_add_times(&meter->slot->commits, clock_ns() - begun_ns, 1);
    } else {
        scoreboard_add(&meter->slot->failed_commits, 1);
    }
}

int64_t meter_batch(const struct meter *meter, int requests) {
    int64_t now = clock_ns();
    if (requests > 0) {
        histogram_add_size(&meter->slot->batches, (uint64_t)requests);
        histogram_add_times(&meter->slot->requests, now - meter->woken_ns, (uint64_t)requests);
    }
    return now;
}

void meter_collect(const struct meter *meter, struct db *db, struct clients *clients) {
    struct scoreboard_slot *slot = meter->slot;
    struct db_counts *counts = db_counts(db);
    scoreboard_add(&slot->cache_hits, counts->hits);
    scoreboard_add(&slot->cache_misses, counts->misses);
    if (counts->lock_waits + counts->lock_wait_ns > 0) {
        scoreboard_add(&slot->lock_waits, counts->lock_waits);
        scoreboard_add(&slot->lock_wait_ns, counts->lock_wait_ns);
    }
    *counts = (struct db_counts){0};
    if (clients->accepted + clients->parked > 0) {
        scoreboard_add(&slot->accepted, clients->accepted);
        scoreboard_add(&slot->waits, clients->parked);
        clients->accepted = 0;
        clients->parked = 0;
    }
    scoreboard_set(&slot->connections, clients->open);
    scoreboard_set(&slot->waiting, clients->waiting.count);
    scoreboard_set(&slot->wal_pages, (uint64_t)db_wal_pages(db));
}
