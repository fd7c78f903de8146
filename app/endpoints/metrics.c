/* GET /metrics: the scoreboard in Prometheus's text format 0.0.4. No database, and no system call
 * but two to ask for the sizes of its files. */
#include <stdio.h>

#include "../address.h"
#include "../db.h"
#include "../program.h"
#include "../scoreboard.h"
#include "endpoints.h"

enum { NANOSECOND_DIGITS = 9 };

/* ---- who may see it ------------------------------------------------------------------------- */

/* The web server filters too (nginx/larder.conf). Here as well, because another server may not, and
 * because behind a proxy that the web server does not know of everybody has the proxy's address:
 * that proxy says for whom it asks. */
static bool may_see(const struct request *request) {
    struct text forwarded = request->forwarded_for;
    struct text address;
    while (request->forwarded_for.length > 0 && text_split(&forwarded, ',', &address)) {
        if (!address_is_private(text_trim(address))) {
            return false;
        }
    }
    return address_is_private(request->remote_address);
}

/* ---- the format ----------------------------------------------------------------------------- */

static void describe(struct buffer *out, const char *name, const char *type, const char *help) {
    buffer_print(out, "# HELP larder_%s %s\n# TYPE larder_%s %s\n", name, help, name, type);
}

/* Begins a sample, or goes on with its labels: NAME{LABEL="VALUE" and the next after a comma. */
static void label(struct buffer *out, char before, const char *name, struct text value) {
    buffer_print(out, "%c%s=\"", before, name);
    for (size_t i = 0; i < value.length; i++) {
        char c = value.data[i];
        struct text escaped = c == '\\'   ? TEXT("\\\\")
                              : c == '"'  ? TEXT("\\\"")
                              : c == '\n' ? TEXT("\\n")
                                          : (struct text){.data = &c, .length = 1};
        buffer_append(out, escaped);
    }
    buffer_append(out, TEXT("\""));
}

static void value(struct buffer *out, uint64_t number) {
    buffer_print(out, " %llu\n", (unsigned long long)number);
}

static void value_seconds(struct buffer *out, uint64_t ns) {
    buffer_print(out, " %llu.%0*llu\n", (unsigned long long)(ns / 1000000000), NANOSECOND_DIGITS,
                 (unsigned long long)(ns % 1000000000));
}

static void single(struct buffer *out, const char *name, const char *type, const char *help,
                   uint64_t number) {
    describe(out, name, type, help);
    buffer_print(out, "larder_%s", name);
    value(out, number);
}

/* ---- lanes ---------------------------------------------------------------------------------- */

/* What a worker serves. With --readers 0 one serves all. */
static const struct {
    const char *name;
    unsigned lanes; /* 0: any other sum */
} kinds[] = {
    {"read", LANE_READ},
    {"write", LANE_WRITE},
    {"login", LANE_LOGIN},
    {"all", 0},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

static int kind_of(const struct scoreboard_slot *slot) {
    unsigned lanes = atomic_load(&slot->lanes);
    int kind = 0;
    while (kinds[kind].lanes != 0 && kinds[kind].lanes != lanes) {
        kind++;
    }
    return kind;
}

/* True for a slot that a worker of this kind has, or has had. */
static bool is_kind(const struct scoreboard_slot *slot, int kind) {
    return atomic_load(&slot->lanes) != 0 && kind_of(slot) == kind;
}

static bool is_any(const struct scoreboard *scoreboard, int kind) {
    for (uint32_t i = 0; i < scoreboard->slots; i++) {
        if (is_kind(&scoreboard->slot[i], kind)) {
            return true;
        }
    }
    return false;
}

/* ---- counters and gauges -------------------------------------------------------------------- */

enum by { BY_NOTHING, BY_KIND, BY_WORKER };

static const struct {
    const char *name, *type, *help;
    size_t place; /* of the number in a slot */
    enum by by;
    bool seconds; /* it counts nanoseconds */
} numbers[] = {
#define PLACE(member) offsetof(struct scoreboard_slot, member)
    {"slow_requests_total", "counter", "Requests that took as long as the setting slow-ms.",
     PLACE(slow), BY_KIND, false},
    {"commit_failures_total", "counter", "Commits that failed: no write of their batch was kept.",
     PLACE(failed_commits), BY_NOTHING, false},
    {"lock_waits_total", "counter", "Times the lock of another process was waited for.",
     PLACE(lock_waits), BY_NOTHING, false},
    {"lock_wait_seconds_total", "counter", "How long it was waited for in all.",
     PLACE(lock_wait_ns), BY_NOTHING, true},
    {"statement_cache_hits_total", "counter", "Statements that were prepared already.",
     PLACE(cache_hits), BY_NOTHING, false},
    {"statement_cache_misses_total", "counter", "Statements that had to be prepared.",
     PLACE(cache_misses), BY_NOTHING, false},
    {"checkpoint_failures_total", "counter", "Checkpoints that failed.", PLACE(failed_checkpoints),
     BY_NOTHING, false},
    {"checkpoint_pages_total", "counter", "Pages moved from the write-ahead log to the database.",
     PLACE(checkpoint_pages), BY_NOTHING, false},
    {"wal_pending_pages", "gauge", "Pages of the write-ahead log that are still to be moved.",
     PLACE(wal_pages), BY_NOTHING, false},
    {"connections", "gauge", "Connections open, from the web server.", PLACE(connections),
     BY_WORKER, false},
    {"connections_accepted_total", "counter", "Connections accepted.", PLACE(accepted), BY_WORKER,
     false},
    {"waiting_requests", "gauge", "Requests put aside until their time has come.", PLACE(waiting),
     BY_NOTHING, false},
    {"waits_total", "counter", "Requests that were put aside.", PLACE(waits), BY_NOTHING, false},
    {"worker_restarts_total", "counter", "Times a worker ended and was started again.",
     PLACE(restarts), BY_WORKER, false},
#undef PLACE
};

static uint64_t number_of(const struct scoreboard_slot *slot, size_t place) {
    return scoreboard_read((const _Atomic uint64_t *)((const char *)slot + place));
}

/* The sum over the slots of a kind; -1: of all. */
static uint64_t sum(const struct scoreboard *scoreboard, size_t place, int kind) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < scoreboard->slots; i++) {
        if (kind < 0 || is_kind(&scoreboard->slot[i], kind)) {
            total += number_of(&scoreboard->slot[i], place);
        }
    }
    return total;
}

static void by_kind(struct buffer *out, const struct scoreboard *scoreboard, const char *name,
                    size_t place) {
    for (int kind = 0; kind < KINDS; kind++) {
        if (is_any(scoreboard, kind)) {
            buffer_print(out, "larder_%s", name);
            label(out, '{', "lane", text_from(kinds[kind].name));
            buffer_append(out, TEXT("}"));
            value(out, sum(scoreboard, place, kind));
        }
    }
}

static void worker_sample(struct buffer *out, const char *name, const struct scoreboard_slot *slot,
                          uint64_t number) {
    buffer_print(out, "larder_%s", name);
    label(out, '{', "worker", text_from(slot->name));
    buffer_append(out, TEXT("}"));
    value(out, number);
}

static void write_numbers(struct buffer *out, const struct scoreboard *scoreboard) {
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        describe(out, numbers[i].name, numbers[i].type, numbers[i].help);
        if (numbers[i].by == BY_KIND) {
            by_kind(out, scoreboard, numbers[i].name, numbers[i].place);
            continue;
        }
        for (uint32_t k = 0; k < scoreboard->slots && numbers[i].by == BY_WORKER; k++) {
            const struct scoreboard_slot *slot = &scoreboard->slot[k];
            worker_sample(out, numbers[i].name, slot, number_of(slot, numbers[i].place));
        }
        if (numbers[i].by == BY_NOTHING) {
            buffer_print(out, "larder_%s", numbers[i].name);
            (numbers[i].seconds ? value_seconds : value)(out,
                                                         sum(scoreboard, numbers[i].place, -1));
        }
    }
}

/* ---- histograms ----------------------------------------------------------------------------- */

static void bucket(struct buffer *out, const char *name, const char *lane, const char *bound,
                   uint64_t count) {
    buffer_print(out, "larder_%s_bucket", name);
    if (lane != NULL) {
        label(out, '{', "lane", text_from(lane));
    }
    label(out, lane == NULL ? '{' : ',', "le", text_from(bound));
    buffer_append(out, TEXT("}"));
    value(out, count);
}

static void end_of_sample_name(struct buffer *out, const char *name, const char *suffix,
                               const char *lane) {
    buffer_print(out, "larder_%s_%s", name, suffix);
    if (lane != NULL) {
        label(out, '{', "lane", text_from(lane));
        buffer_append(out, TEXT("}"));
    }
}

/* One histogram: of all slots (kind -1) or of those of a kind. It is consistent in itself, however
 * the workers go on meanwhile: the count is that of the buckets. */
static void write_histogram(struct buffer *out, const struct scoreboard *scoreboard,
                            const char *name, size_t place, bool times, int kind) {
    const char *lane = kind < 0 ? NULL : kinds[kind].name;
    size_t buckets = place + offsetof(struct histogram, buckets);
    int finite = times ? SCOREBOARD_BUCKETS - 1 : HISTOGRAM_SIZES;
    uint64_t total = sum(scoreboard, place + offsetof(struct histogram, sum), kind);
    uint64_t count = 0;
    for (int i = 0; i < finite; i++) {
        char bound[24];
        count += sum(scoreboard, buckets + (size_t)i * sizeof(uint64_t), kind);
        if (times) {
            unsigned long long us = (unsigned long long)HISTOGRAM_FIRST_US << i;
            snprintf(bound, sizeof bound, "%llu.%06llu", us / 1000000, us % 1000000);
        } else {
            snprintf(bound, sizeof bound, "%d", 1 << i);
        }
        bucket(out, name, lane, bound, count);
    }
    for (int i = finite; i < SCOREBOARD_BUCKETS; i++) {
        count += sum(scoreboard, buckets + (size_t)i * sizeof(uint64_t), kind);
    }
    bucket(out, name, lane, "+Inf", count);
    end_of_sample_name(out, name, "sum", lane);
    (times ? value_seconds : value)(out, total);
    end_of_sample_name(out, name, "count", lane);
    value(out, count);
}

static void write_histograms(struct buffer *out, const struct scoreboard *scoreboard) {
    static const struct {
        const char *name, *help;
        size_t place;
        bool times, by_kind;
    } histograms[] = {
        {"request_seconds",
         "From the wake-up that found a request until its batch's answers were sent.",
         offsetof(struct scoreboard_slot, requests), true, true},
        {"batch_requests", "Requests in a batch.", offsetof(struct scoreboard_slot, batches), false,
         true},
        {"commit_seconds", "How long the writer's commits took.",
         offsetof(struct scoreboard_slot, commits), true, false},
        {"checkpoint_seconds", "How long checkpoints took.",
         offsetof(struct scoreboard_slot, checkpoints), true, false},
    };
    for (size_t i = 0; i < sizeof histograms / sizeof *histograms; i++) {
        describe(out, histograms[i].name, "histogram", histograms[i].help);
        if (!histograms[i].by_kind) {
            write_histogram(out, scoreboard, histograms[i].name, histograms[i].place,
                            histograms[i].times, -1);
        }
        for (int kind = 0; kind < KINDS && histograms[i].by_kind; kind++) {
            if (is_any(scoreboard, kind)) {
                write_histogram(out, scoreboard, histograms[i].name, histograms[i].place,
                                histograms[i].times, kind);
            }
        }
    }
}

/* ---- answers -------------------------------------------------------------------------------- */

static void write_answers(struct buffer *out, const struct scoreboard *scoreboard) {
    describe(
        out, "requests_total", "counter",
        "Requests answered, by route, method and status. Route other: no path of the service.");
    for (int route = 0; route < SCOREBOARD_ROUTES; route++) {
        struct text path = route < routes_count ? text_from(routes[route].path) : TEXT("other");
        for (int method = 0; method <= METHOD_OTHER; method++) {
            for (int status = 0; status < RESPONSE_STATUSES; status++) {
                uint64_t count =
                    sum(scoreboard,
                        offsetof(struct scoreboard_slot, answers[route][method][status]), -1);
                if (count > 0) {
                    buffer_append(out, TEXT("larder_requests_total"));
                    label(out, '{', "route", path);
                    label(out, ',', "method", request_method_name((enum method)method));
                    buffer_print(out, ",status=\"%d\"}", response_status(status));
                    value(out, count);
                }
            }
        }
    }
}

static void write_service(struct buffer *out, const struct scoreboard *scoreboard) {
    struct scoreboard_sizes sizes = scoreboard_sizes(scoreboard);
    describe(out, "info", "gauge", "The versions of larder and SQLite; always 1.");
    buffer_append(out, TEXT("larder_info"));
    label(out, '{', "version", text_from(program_version()));
    label(out, ',', "sqlite", text_from(db_library_version()));
    buffer_append(out, TEXT("}"));
    value(out, 1);
    single(out, "start_time_seconds", "gauge", "When the service began, in seconds since 1970.",
           (uint64_t)scoreboard->began_s);
    single(out, "database_bytes", "gauge", "Size of the database file.", sizes.database_bytes);
    single(out, "wal_bytes", "gauge",
           "Size of the write-ahead log's file, which keeps the size it once had.",
           sizes.wal_bytes);
    describe(out, "worker_up", "gauge", "1 while the worker takes requests, else 0.");
    for (uint32_t i = 0; i < scoreboard->slots; i++) {
        worker_sample(out, "worker_up", &scoreboard->slot[i],
                      atomic_load(&scoreboard->slot[i].serving));
    }
}

void metrics(const struct request *request, struct response *response) {
    if (!may_see(request)) {
        response_problem(response, 403,
                         "metrics are for this machine and private networks; see the operations "
                         "guide of larder");
        return;
    }
    if (!request_query(request, response, NULL, 0, NULL)) {
        return;
    }
    response->status = 200;
    response->content_type = TEXT("text/plain; version=0.0.4; charset=utf-8");
    response_header(response, TEXT("Cache-Control"), TEXT("no-store"));
    write_service(&response->body, request->scoreboard);
    write_answers(&response->body, request->scoreboard);
    write_histograms(&response->body, request->scoreboard);
    write_numbers(&response->body, request->scoreboard);
}
