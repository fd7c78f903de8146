#include "routes.h"

#include <stdio.h>

#include "jwt.h"
#include "support.h"

static struct arena arena;
static const struct jwt_rules rules;

static int teardown(void **state) {
    (void)state;
    arena_destroy(&arena);
    return 0;
}

/* A request for a path, which must stay. */
static struct request request_for(enum method method, const char *path) {
    struct request request = {.arena = &arena, .method = method, .probes = true, .tokens = &rules};
    struct text rest = text_from(path + 1);
    while (request.segment_count < PATH_SEGMENTS &&
           text_split(&rest, '/', &request.segments[request.segment_count])) {
        request.segment_count++;
    }
    return request;
}

static struct match match(struct request *request, struct response *response) {
    response_start(response, &arena);
    return routes_match(request, response);
}

/* The path of a route with 17 for {id}. */
static const char *example(const struct route *route) {
    struct buffer path = {.arena = &arena};
    const char *id = strstr(route->path, "{id}");
    if (id == NULL) {
        return route->path;
    }
    buffer_append(&path, (struct text){.data = route->path, .length = (size_t)(id - route->path)});
    buffer_append(&path, TEXT("17"));
    buffer_append(&path, text_from(id + 4));
    buffer_append(&path, TEXT("\0"));
    return path.data;
}

static void every_route_is_found_by_its_path(void **state) {
    (void)state;
    assert_true(routes_count > 0);
    for (int i = 0; i < routes_count; i++) {
        for (enum method method = METHOD_GET; method < METHOD_OTHER; method++) {
            struct response response;
            struct request request = request_for(method, example(&routes[i]));
            struct match found = match(&request, &response);
            if (found.route != &routes[i]) {
                fail_msg("%s", routes[i].path);
            }
            handler *expected = routes[i].handlers[method == METHOD_HEAD ? METHOD_GET : method];
            assert_true(found.handler == expected);
            assert_int_equal(response.status, expected != NULL           ? 0
                                              : method == METHOD_OPTIONS ? 204
                                                                         : 405);
            if (strstr(routes[i].path, "{id}") != NULL) {
                assert_int_equal(request.id, 17);
            }
        }
    }
}

static void every_route_has_a_handler_and_a_path_of_its_own(void **state) {
    (void)state;
    for (int i = 0; i < routes_count; i++) {
        int handlers = 0;
        for (enum method method = METHOD_GET; method < METHOD_OTHER; method++) {
            handlers += routes[i].handlers[method] != NULL;
        }
        assert_true(handlers > 0);
        assert_null(routes[i].handlers[METHOD_HEAD]);
        assert_null(routes[i].handlers[METHOD_OPTIONS]);
        assert_int_equal(routes[i].path[0], '/');
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(routes[i].path, routes[k].path);
        }
    }
}

static void an_unknown_method_of_a_known_path_is_405_with_the_methods_that_are_known(void **state) {
    static const struct {
        enum method method;
        const char *names;
    } order[] = {
        {METHOD_GET, "GET, HEAD, "}, {METHOD_POST, "POST, "},     {METHOD_PUT, "PUT, "},
        {METHOD_PATCH, "PATCH, "},   {METHOD_DELETE, "DELETE, "},
    };
    (void)state;
    for (int i = 0; i < routes_count; i++) {
        struct response response;
        struct buffer expected = {.arena = &arena};
        buffer_append(&expected, TEXT("Allow: "));
        for (size_t k = 0; k < COUNT(order); k++) {
            if (routes[i].handlers[order[k].method] != NULL) {
                buffer_append(&expected, text_from(order[k].names));
            }
        }
        buffer_append(&expected, TEXT("OPTIONS\r\n"));
        struct request request = request_for(METHOD_OTHER, example(&routes[i]));
        struct match found = match(&request, &response);
        assert_true(found.route == &routes[i]);
        assert_true(found.handler == NULL);
        assert_int_equal(response.status, 405);
        assert_text(buffer_text(&response.headers), buffer_text(&expected));

        request = request_for(METHOD_OPTIONS, example(&routes[i]));
        found = match(&request, &response);
        assert_true(found.handler == NULL);
        assert_int_equal(response.status, 204);
        assert_int_equal(response.body.length, 0);
        assert_text(buffer_text(&response.headers), buffer_text(&expected));
    }
}

static void the_contracts_paths_lead_where_it_says(void **state) {
    static const struct {
        const char *path, *route; /* NULL: 404 */
        int64_t id;
    } cases[] = {
        {"/products", "/products", 0},
        {"/products/1", "/products/{id}", 1},
        {"/products/9223372036854775807", "/products/{id}", INT64_MAX},
        {"/categories", "/categories", 0},
        {"/categories/50", "/categories/{id}", 50},
        {"/health", "/health", 0},
        {"/ready", "/ready", 0},
        {"/json", "/json", 0},
        {"/db", "/db", 0},
        {"/queries", "/queries", 0},
        {"/greet", "/greet", 0},
        {"/wait", "/wait", 0},
        {"/openapi.json", "/openapi.json", 0},
        {"/metrics", "/metrics", 0},
        {"/api/deals", "/api/deals", 0},
        {"/api/deals/17", "/api/deals/{id}", 17},
        {"/api", NULL, 0},
        {"/deals", NULL, 0},
        {"/api/deals/", NULL, 0},
        {"/api/deals/0", NULL, 0},
        {"/api/login/", NULL, 0},
        {"/", NULL, 0},
        {"/nothing", NULL, 0},
        {"/product", NULL, 0},
        {"/productsx", NULL, 0},
        {"/Products", NULL, 0},
        {"/products/", NULL, 0},
        {"//products", NULL, 0},
        {"/products/0", NULL, 0},
        {"/products/-1", NULL, 0},
        {"/products/1.5", NULL, 0},
        {"/products/01", NULL, 0},
        {"/products/+1", NULL, 0},
        {"/products/ 1", NULL, 0},
        {"/products/abc", NULL, 0},
        {"/products/{id}", NULL, 0},
        {"/products/9223372036854775808", NULL, 0},
        {"/products/1/", NULL, 0},
        {"/products/1/2", NULL, 0},
        {"/products/1/category", NULL, 0},
        {"/x/products", NULL, 0},
        {"/health/1", NULL, 0},
        {"/products/products", NULL, 0},
        {"/products/1/1/1/1/1/1/1", NULL, 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct response response;
        struct request request = request_for(METHOD_GET, cases[i].path);
        struct match found = match(&request, &response);
        if (cases[i].route == NULL) {
            if (found.route != NULL || found.handler != NULL || response.status != 404) {
                fail_msg("%s leads somewhere", cases[i].path);
            }
            continue;
        }
        if (found.route == NULL || strcmp(found.route->path, cases[i].route) != 0) {
            fail_msg("%s leads elsewhere", cases[i].path);
        }
        assert_int_equal(request.id, cases[i].id);
        assert_non_null(found.handler);
        assert_int_equal(response.status, 0);
    }
}

static void a_path_that_cannot_be_ours_is_404_with_any_method(void **state) {
    (void)state;
    for (int method = METHOD_GET; method <= METHOD_OTHER; method++) {
        struct response response;
        struct request request = {
            .arena = &arena, .method = (enum method)method, .segment_count = -1};
        struct match found = match(&request, &response);
        assert_true(found.route == NULL);
        assert_true(found.handler == NULL);
        assert_int_equal(response.status, 404);
    }
}

static void probe_routes_are_there_only_when_the_setting_is_on(void **state) {
    (void)state;
    int probes = 0;
    for (int i = 0; i < routes_count; i++) {
        struct response response;
        struct request request = request_for(METHOD_GET, example(&routes[i]));
        request.probes = false;
        struct match found = match(&request, &response);
        probes += routes[i].probe;
        assert_ptr_equal(found.route, routes[i].probe ? NULL : &routes[i]);
        assert_true(response.status == (routes[i].probe                          ? 404
                                        : routes[i].handlers[METHOD_GET] == NULL ? 405
                                                                                 : 0));
    }
    assert_true(probes > 0);
}

static void routes_of_tokens_are_there_only_with_a_secret(void **state) {
    (void)state;
    int hidden = 0;
    for (int i = 0; i < routes_count; i++) {
        struct response response;
        struct request request = request_for(METHOD_OTHER, example(&routes[i]));
        request.tokens = NULL;
        struct match found = match(&request, &response);
        bool hides = routes[i].access != ACCESS_ALL;
        hidden += hides;
        assert_ptr_equal(found.route, hides ? NULL : &routes[i]);
        assert_int_equal(response.status, hides ? 404 : 405);
    }
    assert_int_equal(hidden, 3);
}

/* The worker asks for the token of a route that says so; one that forgets is open to all. */
static void every_deal_route_asks_for_a_token(void **state) {
    (void)state;
    for (int i = 0; i < routes_count; i++) {
        bool deals = strncmp(routes[i].path, "/api/deals", strlen("/api/deals")) == 0;
        assert_int_equal(routes[i].access == ACCESS_BEARER, deals);
        assert_false(deals && routes[i].without_database); /* the user is looked up there */
    }
}

static void logins_go_to_the_login_worker_and_all_else_about_them_anywhere(void **state) {
    (void)state;
    struct response response;
    struct request request = request_for(METHOD_POST, "/api/login");
    struct match found = match(&request, &response);
    assert_int_equal(found.lane, LANE_LOGIN);
    assert_non_null(found.handler);
    request = request_for(METHOD_GET, "/api/login");
    found = match(&request, &response);
    assert_true(found.handler == NULL);
    assert_int_equal(response.status, 405);
    request = request_for(METHOD_POST, "/api/deals");
    assert_int_equal(match(&request, &response).lane, LANE_WRITE);
}

static void reads_go_to_the_readers_and_writes_to_the_writer(void **state) {
    static const struct {
        enum method method;
        enum lane lane;
    } cases[] = {
        {METHOD_GET, LANE_READ},  {METHOD_HEAD, LANE_READ},   {METHOD_POST, LANE_WRITE},
        {METHOD_PUT, LANE_WRITE}, {METHOD_PATCH, LANE_WRITE}, {METHOD_DELETE, LANE_WRITE},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct response response;
        struct request request = request_for(cases[i].method, "/products/1");
        assert_int_equal(match(&request, &response).lane, cases[i].lane);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(every_route_is_found_by_its_path, teardown),
        cmocka_unit_test_teardown(routes_of_tokens_are_there_only_with_a_secret, teardown),
        cmocka_unit_test_teardown(every_deal_route_asks_for_a_token, teardown),
        cmocka_unit_test_teardown(logins_go_to_the_login_worker_and_all_else_about_them_anywhere,
                                  teardown),
        cmocka_unit_test_teardown(every_route_has_a_handler_and_a_path_of_its_own, teardown),
        cmocka_unit_test_teardown(
            an_unknown_method_of_a_known_path_is_405_with_the_methods_that_are_known, teardown),
        cmocka_unit_test_teardown(the_contracts_paths_lead_where_it_says, teardown),
        cmocka_unit_test_teardown(a_path_that_cannot_be_ours_is_404_with_any_method, teardown),
        cmocka_unit_test_teardown(probe_routes_are_there_only_when_the_setting_is_on, teardown),
        cmocka_unit_test_teardown(reads_go_to_the_readers_and_writes_to_the_writer, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
