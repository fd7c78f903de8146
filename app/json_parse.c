#include "json_parse.h"

#include <json-c/json.h>
#include <stdlib.h>

#include "json_strict.h"
#include "log.h"

/* Without the white space at the end, which json-c would take for something that follows. */
static struct text trim(struct text json) {
    while (json.length > 0 && strchr(" \t\r\n", json.data[json.length - 1]) != NULL &&
           json.data[json.length - 1] != '\0') {
        json.length--;
    }
    return json;
}

/* Recursive, at most JSON_NESTING_LIMIT deep: the text was checked before.
 * NOLINTNEXTLINE(misc-no-recursion) */
static size_t count_members(struct json_object *node) {
    size_t count = 0;
    if (json_object_is_type(node, json_type_object)) {
        count = (size_t)json_object_object_length(node);
        json_object_object_foreach(node, key, child) {
            (void)key;
            count += count_members(child);
        }
    } else if (json_object_is_type(node, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(node); i++) {
            count += count_members(json_object_array_get_idx(node, i));
        }
    }
    return count;
}

const char *json_parse(struct text json, struct json_object **tree) {
    *tree = NULL;
    json = trim(json);
    if (json.length == 0) {
        return "is missing";
    }
    size_t members = 0;
    const char *fault = json_strict_fault(json, &members);
    if (fault != NULL) {
        return fault;
    }
    struct json_tokener *tokener = json_tokener_new_ex(JSON_NESTING_LIMIT * 2);
    if (tokener == NULL) {
        log_out_of_memory();
    }
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    *tree = json_tokener_parse_ex(tokener, json.data, (int)json.length);
    size_t used = json_tokener_get_parse_end(tokener);
    if (json_tokener_get_error(tokener) == json_tokener_continue) {
        /* a number at the very end could go on: a space tells that it does not */
        *tree = json_tokener_parse_ex(tokener, " ", 1);
        used = json.length;
    }
    if (json_tokener_get_error(tokener) != json_tokener_success) {
        fault = json_tokener_get_error(tokener) == json_tokener_continue
                    ? "ends before its JSON value does"
                    : "is not JSON";
    } else if (used < json.length) { /* strict json-c calls trailing text an error: this is none */
        log_out_of_memory();
    } else if (members != count_members(*tree)) {
        fault = "has an object with the same key twice";
    }
    json_tokener_free(tokener);
    if (fault != NULL) {
        json_object_put(*tree);
        *tree = NULL;
    }
    return fault;
}
