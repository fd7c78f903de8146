/* The embedded description of the API agrees with the table of routes, both ways. */
#include "openapi.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "routes.h"
#include "support.h"

static const struct {
    const char *key; /* of a path item */
    enum method method;
} methods[] = {
    {"get", METHOD_GET},     {"post", METHOD_POST},     {"put", METHOD_PUT},
    {"patch", METHOD_PATCH}, {"delete", METHOD_DELETE},
};

static int parse(void **state) {
    *state = json_tokener_parse(openapi_json);
    return *state == NULL ? -1 : 0;
}

static int close_document(void **state) {
    return json_object_put(*state) == 1 ? 0 : -1;
}

static struct json_object *member(struct json_object *object, const char *name) {
    struct json_object *value = NULL;
    json_object_object_get_ex(object, name, &value);
    return value;
}

static const struct route *find_route(const char *path) {
    for (int i = 0; i < routes_count; i++) {
        if (strcmp(routes[i].path, path) == 0) {
            return &routes[i];
        }
    }
    return NULL;
}

static void every_route_is_in_the_document(void **state) {
    struct json_object *paths = member(*state, "paths");
    int missing = 0;
    for (int i = 0; i < routes_count; i++) {
        struct json_object *item = member(paths, routes[i].path);
        for (size_t m = 0; m < COUNT(methods); m++) {
            if (routes[i].handlers[methods[m].method] != NULL &&
                member(item, methods[m].key) == NULL) {
                print_error("docs/openapi.json lacks %s %s\n", methods[m].key, routes[i].path);
                missing++;
            }
        }
    }
    assert_int_equal(missing, 0);
}

static void every_operation_of_the_document_is_a_route(void **state) {
    struct json_object *paths = member(*state, "paths");
    int missing = 0;
    json_object_object_foreach(paths, path, item) {
        const struct route *route = find_route(path);
        for (size_t m = 0; m < COUNT(methods); m++) {
            if (member(item, methods[m].key) != NULL &&
                (route == NULL || route->handlers[methods[m].method] == NULL)) {
                print_error("routes.c lacks %s %s\n", methods[m].key, path);
                missing++;
            }
        }
    }
    assert_int_equal(missing, 0);
}

static void a_path_is_in_the_table_once(void **state) {
    (void)state;
    for (int i = 0; i < routes_count; i++) {
        assert_ptr_equal(find_route(routes[i].path), &routes[i]);
    }
}

static void a_path_item_holds_nothing_unlooked_at(void **state) {
    struct json_object *paths = member(*state, "paths");
    json_object_object_foreach(paths, path, item) {
        json_object_object_foreach(item, key, value) {
            (void)value;
            bool known = strcmp(key, "parameters") == 0;
            for (size_t m = 0; m < COUNT(methods); m++) {
                known = known || strcmp(key, methods[m].key) == 0;
            }
            if (!known) {
                fail_msg("%s has %s, which is no method of routes.c", path, key);
            }
        }
    }
}

static void the_version_is_the_programs(void **state) {
    struct json_object *version = member(member(*state, "info"), "version");
    assert_string_equal(json_object_get_string(version), LARDER_VERSION);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_route_is_in_the_document),
        cmocka_unit_test(every_operation_of_the_document_is_a_route),
        cmocka_unit_test(a_path_is_in_the_table_once),
        cmocka_unit_test(a_path_item_holds_nothing_unlooked_at),
        cmocka_unit_test(the_version_is_the_programs),
    };
    return cmocka_run_group_tests(tests, parse, close_document);
}
