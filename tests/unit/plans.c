/* Every statement that serves a route goes through an index: each is prepared by serving a request,
 * and its plan is looked at. A statement that no request here reaches fails the test too. */
#include <dirent.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "endpoints/bearer.h"
#include "endpoints/search.h"
#include "jwt.h"
#include "routes.h"
#include "scoreboard.h"
#include "support.h"

static const struct {
    enum method method;
    const char *target, *body;
    int status;
} requests[] = {
    {METHOD_GET, "/ready", NULL, 503}, /* no writer runs here */
    {METHOD_GET, "/products", NULL, 200},
    {METHOD_GET, "/products?category_id=2", NULL, 200},
    {METHOD_GET, "/products?q=product", NULL, 200},
    {METHOD_GET, "/products?q=product&category_id=2", NULL, 200},
    {METHOD_GET, "/products/1", NULL, 200},
    {METHOD_POST, "/products", "{\"sku\":\"a\",\"name\":\"b\",\"price_cents\":1,\"category_id\":2}",
     201},
    {METHOD_PATCH, "/products/1", "{\"stock\":1}", 200},
    {METHOD_DELETE, "/products/2", NULL, 204},
    {METHOD_GET, "/categories", NULL, 200},
    {METHOD_GET, "/categories/1", NULL, 200},
    {METHOD_POST, "/categories", "{\"name\":\"new\"}", 201},
    {METHOD_PUT, "/categories/1", "{\"name\":\"renamed\"}", 200},
    {METHOD_DELETE, "/categories/51", NULL, 204},
    {METHOD_GET, "/db", NULL, 200},
    {METHOD_POST, "/api/login", "{\"email\":\"user1@example.com\",\"password\":\"larder-demo\"}",
     200},
    {METHOD_GET, "/api/deals", NULL, 200},
    {METHOD_GET, "/api/deals?status=won", NULL, 200},
    {METHOD_POST, "/api/deals", "{\"title\":\"a\",\"amount_cents\":1}", 201},
    {METHOD_DELETE, "/api/deals/10", NULL, 204},
};

enum { CONTROL_STATEMENTS = 6 /* BEGIN, COMMIT, … in db.c */ };

static void serve_all(struct db *db) {
    struct scoreboard *scoreboard = scoreboard_create(NULL, 1, scratch_path("db"));
    assert_non_null(scoreboard);
    uint64_t random = 1;
    assert_true(sodium_init() >= 0);
    struct jwt_rules rules = {
        .secrets = {.keys = {{.kid = "1", .bytes = "x", .length = 1}}, .count = 1}};
    for (size_t i = 0; i < COUNT(requests); i++) {
        struct arena arena = {0};
        struct request request = {
            .method = requests[i].method,
            .content_type = TEXT("application/json"),
            .arena = &arena,
            .db = db,
            .scoreboard = scoreboard,
            .random = &random,
            .probes = true,
            .tokens = &rules,
            .idempotency_key = TEXT("key"),
            .now = TEXT("2026-11-30T22:00:00Z"),
        };
        if (requests[i].body != NULL) {
            request.body = text_from(requests[i].body);
        }
        request_set_target(&request, text_from(requests[i].target));
        struct response response;
        response_start(&response, &arena);
        struct match match = routes_match(&request, &response);
        assert_non_null(match.handler);
        if (match.route->access == ACCESS_BEARER) {
            struct buffer header = {.arena = &arena};
            buffer_append(&header, TEXT("Bearer "));
            jwt_sign(&rules, 1, request.now_s, 60, &header);
            request.authorization = buffer_text(&header);
            assert_true(bearer_check(&request, &response));
        }
        match.handler(&request, &response);
        if (response.status != requests[i].status) {
            fail_msg("%s: %d %.*s", requests[i].target, response.status, (int)response.body.length,
                     response.body.data);
        }
        assert_int_equal(db_failure(db), DB_FINE);
        db_reset_statements(db);
        arena_destroy(&arena);
    }
    search_catch_up_at_start(db);
    assert_true(search_catch_up(db));
    scoreboard_close(scoreboard);
}

/* A SCAN is a walk over a whole table or index. The full-text index's is none (its index takes the
 * MATCH), nor is that of a constant row or of a subquery of one row. A page of all deals walks the
 * index of their times as far as the page lies. What the search index does not hold yet is taken
 * whole. */
static void check_plan(void *context, const char *sql, const char *plan) {
    (void)context;
    if (strncmp(plan, "SCAN", 4) == 0 && strstr(plan, "VIRTUAL TABLE INDEX") == NULL &&
        strstr(plan, "CONSTANT ROW") == NULL && strcmp(plan, "SCAN products_search_changes") != 0 &&
        strcmp(plan, "SCAN deals USING COVERING INDEX deals_by_time") != 0) {
        fail_msg("%s\n   %s", sql, plan);
    }
    if (strstr(plan, "TEMP B-TREE") != NULL || strstr(plan, "AUTOMATIC") != NULL) {
        fail_msg("%s\n   %s", sql, plan);
    }
}

static void no_statement_scans_a_table_or_sorts(void **state) {
    (void)state;
    scratch_database(true);
    struct db *db = scratch_open(DB_WRITE);
    serve_all(db);
    db_explain(db, check_plan, NULL);
    db_close(db);
}

/* Occurrences of db_statement( in the handlers' sources. */
static int statements_in_sources(void) {
    int count = 0;
    DIR *directory = opendir("app/endpoints");
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char path[512];
        snprintf(path, sizeof path, "app/endpoints/%s", entry->d_name);
        size_t length = strlen(path);
        if (length < 2 || strcmp(path + length - 2, ".c") != 0) {
            continue;
        }
        size_t size = 0;
        char *source = scratch_read(path, &size);
        char *end = realloc(source, size + 1);
        assert_non_null(end);
        source = end;
        source[size] = '\0';
        for (const char *at = source; (at = strstr(at, "db_statement(")) != NULL; at++) {
            count++;
        }
        free(source);
    }
    closedir(directory);
    return count;
}

static void every_statement_of_the_sources_is_among_them(void **state) {
    (void)state;
    scratch_database(true);
    struct db *db = scratch_open(DB_WRITE);
    serve_all(db);
    assert_int_equal(db_statements_prepared(db) - CONTROL_STATEMENTS, statements_in_sources());
    db_close(db);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_statement_scans_a_table_or_sorts, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(every_statement_of_the_sources_is_among_them, scratch_setup,
                                        scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
