/* What SQLite costs inside the process: one way of using it, a given number of times.
 *
 *     sqlite-bench DB WAY COUNT PER_TRANSACTION
 *
 * prints the nanoseconds of processor and of clock that COUNT operations took, after a tenth as
 * many that do not count. DB is a fresh demo database; the ways that insert change it.
 * bench/sqlite.py runs the ways in turn.
 *
 *     cold           open, prepare, bind, step, read, finalize, close: each time
 *     prepared       the same on one connection that stays open
 *     bare           a statement prepared once: bind, step, read, reset
 *     layer          the same through app/db.h, as a handler does it
 *     bare-insert    a statement prepared once: bind, step, reset
 *     layer-insert   the same through app/db.h
 *     worker-insert  the same with a savepoint around each, as the worker does it
 *
 * The statement is the service's own: it serves such a request first, then the connection is
 * searched for its statement. A read takes one random product that exists and reads its nine
 * columns, integers as such, text as pointer and length; no JSON is made in any way. Before a
 * transaction that inserted is committed the search index catches up, through db.h in all ways, as
 * the worker has it. All but cold use the connection that db_open() has set up, the bare ways
 * beneath its back. */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "db.h"
#include "endpoints/search.h"
#include "log.h"
#include "routes.h"

enum { PRODUCTS = 10000, SQL_BYTES = 1024 };

struct run {
    const char *path;
    struct db *db;
    sqlite3 *handle;                          /* the one inside db */
    sqlite3_stmt *statement, *begin, *commit; /* of the bare ways */
    char sql[SQL_BYTES];
    size_t sql_length;
    bool in_layer, savepoints, inserts;
    int per_transaction;
    uint64_t random;
    int inserted;
    uint64_t sum; /* of what was read, so that reading is not optimised away */
};

typedef void operation(struct run *run);

static void expect(bool condition, const char *what) {
    if (!condition) {
        log_sentence("%s", what);
        exit(1);
    }
}

/* ---- the service's statement ---------------------------------------------------------------- */

static void serve(struct db *db, enum method method, const char *target, const char *body) {
    struct arena arena = {0};
    struct request request = {
        .method = method,
        .content_type = TEXT("application/json"),
        .body = text_from(body),
        .arena = &arena,
        .db = db,
        .now = TEXT("2026-11-30T22:00:00Z"),
    };
    struct response response;
    response_start(&response, &arena);
    request_set_target(&request, text_from(target));
    struct match match = routes_match(&request, &response);
    expect(match.handler != NULL, "the service has no such route");
    match.handler(&request, &response);
    expect(response_is_success(&response), "the service does not serve the request");
    db_reset_statements(db);
    arena_destroy(&arena);
}

/* The text of the statement, among those that the connection has prepared, that holds the words. */
static void copy_sql(struct run *run, const char *words) {
    for (sqlite3_stmt *statement = NULL;
         (statement = sqlite3_next_stmt(run->handle, statement)) != NULL;) {
        if (strstr(sqlite3_sql(statement), words) != NULL) {
            snprintf(run->sql, sizeof run->sql, "%s", sqlite3_sql(statement));
        }
    }
    run->sql_length = strlen(run->sql);
    expect(run->sql_length > 0, "the service has another statement now");
}

static void learn_statement(struct run *run, enum db_mode mode) {
    expect(db_begin(run->db), "no transaction");
    if (mode == DB_READ) {
        serve(run->db, METHOD_GET, "/products/1", "");
        copy_sql(run, "WHERE p.id = :id");
    } else {
        serve(run->db, METHOD_POST, "/products",
              "{\"sku\":\"a\",\"name\":\"b\",\"price_cents\":1,\"category_id\":1}");
        copy_sql(run, "INSERT INTO products ");
    }
    db_rollback(run->db);
}

/* ---- the connection ------------------------------------------------------------------------- */

static sqlite3 *opened_last;

/* Called by SQLite for each new connection: there is no other way to the one inside struct db. */
static int remember(sqlite3 *handle) {
    opened_last = handle;
    return SQLITE_OK;
}

static struct db *open_database(const char *path, enum db_mode mode) {
    char error[DB_ERROR_BYTES];
    struct db *db = db_open(path, mode, DB_SYNC_FULL, error);
    expect(db != NULL, error);
    return db;
}

static sqlite3_stmt *prepare(sqlite3 *handle, const char *sql, unsigned flags) {
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v3(handle, sql, -1, flags, &statement, NULL);
    expect(code == SQLITE_OK, sql);
    return statement;
}

static void open_run(struct run *run, enum db_mode mode) {
    /* configures SQLite, which is too late below, and turns the database to a WAL */
    db_close(open_database(run->path, DB_WRITE));
    sqlite3_auto_extension((void (*)(void))remember);
    run->db = open_database(run->path, mode);
    sqlite3_reset_auto_extension();
    run->handle = opened_last;
    learn_statement(run, mode);
    const char *begin = mode == DB_READ ? "BEGIN" : "BEGIN IMMEDIATE";
    run->begin = prepare(run->handle, begin, SQLITE_PREPARE_PERSISTENT);
    run->commit = prepare(run->handle, "COMMIT", SQLITE_PREPARE_PERSISTENT);
    run->statement = prepare(run->handle, run->sql, SQLITE_PREPARE_PERSISTENT);
}

static void close_run(struct run *run) {
    sqlite3_finalize(run->begin);
    sqlite3_finalize(run->commit);
    sqlite3_finalize(run->statement);
    db_close(run->db);
}

/* ---- reading -------------------------------------------------------------------------------- */

/* One of the demo's ids 1 to 12500 that are no multiple of five. */
static int64_t random_id(struct run *run) {
    run->random ^= run->random << 13;
    run->random ^= run->random >> 7;
    run->random ^= run->random << 17;
    int64_t n = (int64_t)((run->random >> 32) * PRODUCTS >> 32);
    return n + n / 4 + 1;
}

static const bool is_text[] = {false, true, true, false, false, false, true, true, true};

enum { COLUMNS = sizeof is_text / sizeof *is_text };

static void read_bare(struct run *run, sqlite3_stmt *statement) {
    sqlite3_bind_int64(statement, 1, random_id(run));
    expect(sqlite3_step(statement) == SQLITE_ROW, "a product is not there");
    for (int i = 0; i < COLUMNS; i++) {
        if (is_text[i]) {
            run->sum += (unsigned char)*sqlite3_column_text(statement, i);
            run->sum += (uint64_t)sqlite3_column_bytes(statement, i);
        } else {
            run->sum += (uint64_t)sqlite3_column_int64(statement, i);
        }
    }
}

static void cold(struct run *run) {
    sqlite3 *handle = NULL;
    int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX;
    expect(sqlite3_open_v2(run->path, &handle, flags, NULL) == SQLITE_OK, "cannot open");
    sqlite3_stmt *statement = prepare(handle, run->sql, 0);
    read_bare(run, statement);
    sqlite3_finalize(statement);
    sqlite3_close(handle);
}

static void prepared(struct run *run) {
    sqlite3_stmt *statement = prepare(run->handle, run->sql, 0);
    read_bare(run, statement);
    sqlite3_finalize(statement);
}

static void bare(struct run *run) {
    read_bare(run, run->statement);
    sqlite3_reset(run->statement);
}

static void layer(struct run *run) {
    struct db_statement *statement = db_statement_cached(run->db, run->sql, run->sql_length);
    db_bind_integer(statement, ":id", random_id(run));
    expect(db_row(statement), "a product is not there");
    for (int i = 0; i < COLUMNS; i++) {
        if (is_text[i]) {
            struct text text = db_text(statement, i);
            run->sum += (unsigned char)*text.data + text.length;
        } else {
            run->sum += (uint64_t)db_integer(statement, i);
        }
    }
    db_reset_statements(run->db);
}

/* ---- inserting ------------------------------------------------------------------------------ */

struct product {
    char sku[32], name[32];
};

static struct product next_product(struct run *run) {
    struct product product;
    run->inserted++;
    snprintf(product.sku, sizeof product.sku, "BENCH-%d", run->inserted);
    snprintf(product.name, sizeof product.name, "Bench product %d", run->inserted);
    return product;
}

static void bare_insert(struct run *run) {
    struct product product = next_product(run);
    sqlite3_stmt *statement = run->statement;
    sqlite3_bind_text(statement, 1, product.sku, (int)strlen(product.sku), SQLITE_STATIC);
    sqlite3_bind_text(statement, 2, product.name, (int)strlen(product.name), SQLITE_STATIC);
    sqlite3_bind_int64(statement, 3, 1999);
    sqlite3_bind_int64(statement, 4, run->inserted);
    sqlite3_bind_int64(statement, 5, run->inserted % 50 + 1);
    sqlite3_bind_text(statement, 6, "2026-11-30T22:00:00Z", 20, SQLITE_STATIC);
    expect(sqlite3_step(statement) == SQLITE_DONE, "a product is not inserted");
    sqlite3_reset(statement);
}

static void layer_insert(struct run *run) {
    struct product product = next_product(run);
    expect(!run->savepoints || db_savepoint(run->db), "no savepoint");
    struct db_statement *statement = db_statement_cached(run->db, run->sql, run->sql_length);
    db_bind_text(statement, ":sku", text_from(product.sku));
    db_bind_text(statement, ":name", text_from(product.name));
    db_bind_integer(statement, ":price_cents", 1999);
    db_bind_integer(statement, ":stock", run->inserted);
    db_bind_integer(statement, ":category_id", run->inserted % 50 + 1);
    db_bind_text(statement, ":now", TEXT("2026-11-30T22:00:00Z"));
    expect(db_run(statement) == DB_DONE, "a product is not inserted");
    db_reset_statements(run->db);
    expect(!run->savepoints || db_savepoint_keep(run->db), "no savepoint");
}

/* ---- the measured loop ---------------------------------------------------------------------- */

static void step_alone(sqlite3_stmt *statement) {
    expect(sqlite3_step(statement) == SQLITE_DONE, "no transaction");
    sqlite3_reset(statement);
}

static void begin(struct run *run) {
    if (run->in_layer) {
        expect(db_begin(run->db), "no transaction");
    } else {
        step_alone(run->begin);
    }
}

static void commit(struct run *run) {
    expect(!run->inserts || search_catch_up(run->db), "the search index does not catch up");
    if (run->in_layer) {
        expect(db_commit(run->db), "no commit");
    } else {
        step_alone(run->commit);
    }
}

/* valgrind counts the instructions of this function and of what it calls: not static, not inlined.
 */
__attribute__((noinline)) void sqlite_bench_measured(struct run *run, operation *operate,
                                                     int count);
void sqlite_bench_measured(struct run *run, operation *operate, int count) {
    for (int done = 0; done < count;) {
        if (run->per_transaction > 0) {
            begin(run);
        }
        int group = run->per_transaction > 0 ? run->per_transaction : 1;
        for (int i = 0; i < group && done < count; i++, done++) {
            operate(run);
        }
        if (run->per_transaction > 0) {
            commit(run);
        }
    }
}

static int64_t now_ns(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static const struct way {
    const char *name;
    operation *operate;
    enum db_mode mode;
    bool in_layer, savepoints;
} ways[] = {
    {"cold", cold, DB_READ, false, false},
    {"prepared", prepared, DB_READ, false, false},
    {"bare", bare, DB_READ, false, false},
    {"layer", layer, DB_READ, true, false},
    {"bare-insert", bare_insert, DB_WRITE, false, false},
    {"layer-insert", layer_insert, DB_WRITE, true, false},
    {"worker-insert", layer_insert, DB_WRITE, true, true},
};

static const struct way *find_way(const char *name) {
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (strcmp(ways[i].name, name) == 0) {
            return &ways[i];
        }
    }
    return NULL;
}

static int number(const char *text) {
    int64_t value = -1;
    expect(text_integer(text_from(text), 0, 100000000, &value), "not a number");
    return (int)value;
}

int main(int argc, char **argv) {
    const struct way *way = argc == 5 ? find_way(argv[2]) : NULL;
    if (way == NULL) {
        return log_sentence("usage: sqlite-bench DB WAY COUNT PER_TRANSACTION (0: none of ours)");
    }
    int count = number(argv[3]);
    struct run run = {
        .path = argv[1],
        .in_layer = way->in_layer,
        .savepoints = way->savepoints,
        .inserts = way->mode == DB_WRITE,
        .per_transaction = number(argv[4]),
        .random = 88172645463325252,
    };
    open_run(&run, way->mode);
    sqlite_bench_measured(&run, way->operate, count / 10 + 1);
    int64_t cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    int64_t clock = now_ns(CLOCK_MONOTONIC);
    sqlite_bench_measured(&run, way->operate, count);
    printf("%" PRId64 " %" PRId64 "\n", now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu,
           now_ns(CLOCK_MONOTONIC) - clock);
    close_run(&run);
    return run.sum == 1; /* never, but the compiler does not know */
}
