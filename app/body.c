#include "body.h"

#include <assert.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>

#include "json.h"
#include "json_strict.h"

/* ---- parsing -----------------------------------------------------------------------------------
 */

static bool is_json(struct text media_type) {
    struct text type;
    return text_split(&media_type, ';', &type) &&
           text_equals_ignoring_case(text_trim(type), TEXT("application/json"));
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

/* Returns what is wrong with the text, NULL when *tree holds its value (which can be NULL: null).
 */
static const char *parse(struct text json, struct json_object **tree) {
    size_t members = 0;
    const char *fault = json_strict_fault(json, &members);
    if (fault != NULL) {
        return fault;
    }
    struct json_tokener *tokener = json_tokener_new_ex(JSON_NESTING_LIMIT * 2);
    if (tokener == NULL) {
        abort();
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
    } else if (used < json.length) {
        fault = "goes on after its JSON value";
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

static struct text trim_json(struct text json) {
    while (json.length > 0 && strchr(" \t\r\n", json.data[json.length - 1]) != NULL &&
           json.data[json.length - 1] != '\0') {
        json.length--;
    }
    return json;
}

/* ---- errors ------------------------------------------------------------------------------------
 */

void body_error(struct body *body, struct text pointer, const char *detail) {
    if (body->error_count++ >= BODY_ERRORS) {
        return;
    }
    struct buffer *out = &body->errors;
    buffer_append(out, out->length == 0 ? TEXT("{\"pointer\":") : TEXT(",{\"pointer\":"));
    json_string(out, pointer);
    buffer_append(out, TEXT(",\"detail\":"));
    json_string(out, text_from(detail));
    buffer_append(out, TEXT("}"));
}

/* An error at a member: "/" and its name, ~ and / escaped (RFC 6901 section 3). */
static void member_error(struct body *body, struct text name, const char *detail) {
    struct buffer pointer = {.arena = body->errors.arena};
    buffer_append(&pointer, TEXT("/"));
    for (size_t i = 0; i < name.length; i++) {
        struct text c = {.data = name.data + i, .length = 1};
        buffer_append(&pointer, *c.data == '~' ? TEXT("~0") : *c.data == '/' ? TEXT("~1") : c);
    }
    body_error(body, buffer_text(&pointer), detail);
}

void body_refuse(const struct body *body, struct response *response) {
    char detail[96];
    int more = body->error_count - BODY_ERRORS;
    if (more > 0) {
        snprintf(detail, sizeof detail, "the body has %d errors; the first %d are listed",
                 body->error_count, BODY_ERRORS);
    } else {
        snprintf(detail, sizeof detail, "the body has %d error%s", body->error_count,
                 body->error_count == 1 ? "" : "s");
    }
    response_problem_open(response, 422, text_from(detail));
    buffer_append(&response->body, TEXT(",\"errors\":["));
    buffer_append(&response->body, buffer_text(&body->errors));
    buffer_append(&response->body, TEXT("]}"));
}

/* ---- fields ------------------------------------------------------------------------------------
 */

static struct text name_of(const struct field *field) {
    return text_from(field->parameter + 1);
}

static const char *check_string(const struct field *field, struct text text, char *detail,
                                size_t size) {
    size_t length = text_code_points(text);
    if (length < (uint64_t)field->minimum || length > (uint64_t)field->maximum) {
        snprintf(detail, size, "must be %" PRId64 " to %" PRId64 " characters long", field->minimum,
                 field->maximum);
        return detail;
    }
    if (field->type == FIELD_TOKEN && !text_is_token(text)) {
        return "may hold only A-Z a-z 0-9 . _ -";
    }
    if (field->type == FIELD_TEXT && text_is_blank(text)) {
        return "must not be blank";
    }
    return NULL;
}

static const char *check_integer(const struct request *request, const struct field *field,
                                 struct json_object *node, int64_t *value, char *detail,
                                 size_t size) {
    *value = json_object_get_int64(node); /* a number out of range comes as the nearest one */
    bool above = *value == INT64_MAX && json_object_get_uint64(node) > INT64_MAX;
    if (above || *value < field->minimum || *value > field->maximum) {
        snprintf(detail, size, "must be a whole number from %" PRId64 " to %" PRId64,
                 field->minimum, field->maximum);
        return detail;
    }
    if (field->type == FIELD_REFERENCE && !field->exists(request->db, *value)) {
        return "refers to nothing that exists";
    }
    return NULL;
}

static void check_field(const struct request *request, struct body *body, int i,
                        struct json_object *object) {
    const struct field *field = &body->fields[i];
    struct json_object *node = NULL;
    char detail[128];
    const char *fault = NULL;
    body->values[i].integer = field->standard;
    if (!json_object_object_get_ex(object, field->parameter + 1, &node)) {
        fault = field->optional ? NULL : "is required";
    } else if (field->type == FIELD_TOKEN || field->type == FIELD_TEXT) {
        if (!json_object_is_type(node, json_type_string)) {
            fault = "must be a string";
        } else {
            struct text text = {.data = json_object_get_string(node),
                                .length = (size_t)json_object_get_string_len(node)};
            fault = check_string(field, text, detail, sizeof detail);
            char *kept = arena_alloc(request->arena, text.length); /* the tree goes away */
            memcpy(kept, text.data, text.length);
            body->values[i].text = (struct text){.data = kept, .length = text.length};
        }
    } else if (!json_object_is_type(node, json_type_int)) {
        fault = "must be a whole number, without fraction or exponent";
    } else {
        fault =
            check_integer(request, field, node, &body->values[i].integer, detail, sizeof detail);
    }
    if (fault != NULL) {
        member_error(body, name_of(field), fault);
    }
}

static bool is_known(const struct body *body, const char *name) {
    for (int i = 0; i < body->count; i++) {
        if (strcmp(body->fields[i].parameter + 1, name) == 0) {
            return true;
        }
    }
    return false;
}

static void check_object(const struct request *request, struct body *body,
                         struct json_object *tree) {
    if (!json_object_is_type(tree, json_type_object)) {
        body_error(body, TEXT(""), "must be an object");
        return;
    }
    for (int i = 0; i < body->count; i++) {
        check_field(request, body, i, tree);
    }
    json_object_object_foreach(tree, name, child) {
        (void)child;
        if (!is_known(body, name)) {
            member_error(body, text_from(name), "is not known here");
        }
    }
}

bool body_check(const struct request *request, struct response *response,
                const struct field *fields, int count, struct body *body) {
    assert(count <= FIELDS);
    *body = (struct body){.fields = fields, .count = count, .errors.arena = request->arena};
    if (request->body_state == BODY_TOO_LARGE) {
        response_problem(response, 413, "the body may have at most %d bytes", BODY_LIMIT_BYTES);
        return false;
    }
    if (request->body_state == BODY_CUT_OFF) {
        response_problem(response, 400, "the body is shorter than its declared length");
        return false;
    }
    if (!is_json(request->content_type)) {
        response_problem(response, 415, "the body must be sent as application/json");
        return false;
    }
    struct text json = trim_json(request->body);
    if (json.length == 0) {
        response_problem(response, 400, "the body is missing");
        return false;
    }
    struct json_object *tree = NULL;
    const char *fault = parse(json, &tree);
    if (fault != NULL) {
        response_problem(response, 400, "the body %s", fault);
        return false;
    }
    check_object(request, body, tree);
    json_object_put(tree);
    if (body->error_count > 0) {
        body_refuse(body, response);
        return false;
    }
    return true;
}

void body_bind(const struct body *body, struct db_statement *statement) {
    for (int i = 0; i < body->count; i++) {
        const struct field *field = &body->fields[i];
        if (!db_has_parameter(statement, field->parameter)) {
            continue;
        }
        if (field->type == FIELD_TOKEN || field->type == FIELD_TEXT) {
            db_bind_text(statement, field->parameter, body->values[i].text);
        } else {
            db_bind_integer(statement, field->parameter, body->values[i].integer);
        }
    }
}
