#include "body.h"

#include <assert.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>

#include "json.h"
#include "json_parse.h"

/* ---- parsing -------------------------------------------------------------------------------- */

static bool is_accepted(struct text media_type, enum body_media media) {
    struct text type;
    if (!text_split(&media_type, ';', &type)) {
        return false;
    }
    type = text_trim(type);
    return text_equals_ignoring_case(type, TEXT("application/json")) ||
           (media == BODY_MERGE_PATCH &&
            text_equals_ignoring_case(type, TEXT("application/merge-patch+json")));
}

static void release_tree(void *tree) {
    json_object_put(tree);
}

bool body_open(struct body *body, const struct request *request, struct response *response,
               enum body_media media) {
    *body = (struct body){.request = request, .errors.arena = request->arena};
    if (request->body_state == BODY_TOO_LARGE) {
        response_problem(response, 413, "the body may have at most %d bytes", BODY_LIMIT_BYTES);
        return false;
    }
    if (request->body_state == BODY_CUT_OFF) {
        response_problem(response, 400, "the body is shorter than its declared length");
        return false;
    }
    if (!is_accepted(request->content_type, media)) {
        response_problem(response, 415, "the body must be sent as application/json%s",
                         media == BODY_JSON ? "" : " or application/merge-patch+json");
        return false;
    }
    const char *fault = json_parse(request->body, &body->root);
    if (fault != NULL) {
        response_problem(response, 400, "the body %s", fault);
        return false;
    }
    arena_cleanup(request->arena, release_tree, body->root);
    return true;
}

int64_t body_elements(const struct body *body) {
    return json_object_is_type(body->root, json_type_array)
               ? (int64_t)json_object_array_length(body->root)
               : -1;
}

/* ---- errors --------------------------------------------------------------------------------- */

/* Notes an error at a JSON Pointer (RFC 6901): the element's index, when there is one, and the
 * member's name with ~ and / escaped. */
static void note(struct body *body, const struct text *member, const char *detail) {
    body->error_count++;
    struct buffer pointer = {.arena = body->errors.arena};
    if (body->element != BODY_ROOT) {
        buffer_append(&pointer, TEXT("/"));
        buffer_append_integer(&pointer, body->element);
    }
    if (member != NULL) {
        buffer_append(&pointer, TEXT("/"));
        for (size_t i = 0; i < member->length; i++) {
            struct text c = {.data = member->data + i, .length = 1};
            buffer_append(&pointer, *c.data == '~' ? TEXT("~0") : *c.data == '/' ? TEXT("~1") : c);
        }
    }
    struct buffer *out = &body->errors;
    buffer_append(out, out->length == 0 ? TEXT("{\"pointer\":") : TEXT(",{\"pointer\":"));
    json_string(out, buffer_text(&pointer));
    buffer_append(out, TEXT(",\"detail\":"));
    json_string(out, text_from(detail));
    buffer_append(out, TEXT("}"));
}

void body_error(struct body *body, const char *member, const char *detail) {
    if (member == NULL) {
        body->element = BODY_ROOT;
        note(body, NULL, detail);
    } else {
        struct text name = text_from(member);
        note(body, &name, detail);
    }
}

void body_refuse(const struct body *body, struct response *response, int status) {
    char detail[96];
    snprintf(detail, sizeof detail, "the body has %d error%s", body->error_count,
             body->error_count == 1 ? "" : "s");
    response_problem_open(response, status, text_from(detail));
    buffer_append(&response->body, TEXT(",\"errors\":["));
    buffer_append(&response->body, buffer_text(&body->errors));
    buffer_append(&response->body, TEXT("]}"));
}

/* ---- fields --------------------------------------------------------------------------------- */

static const char *check_word(const struct field *field, struct text text, char *detail,
                              size_t size) {
    snprintf(detail, size, "must be one of:");
    for (const char *const *word = field->words; *word != NULL; word++) {
        if (text_equals(text, text_from(*word))) {
            return NULL;
        }
        size_t used = strlen(detail);
        snprintf(detail + used, size - used, " %s", *word);
    }
    return detail;
}

static const char *check_string(const struct field *field, struct text text, char *detail,
                                size_t size) {
    if (field->type == FIELD_WORD) {
        return check_word(field, text, detail, size);
    }
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

static const char *check_integer(const struct body *body, const struct field *field,
                                 struct json_object *node, int64_t *value, char *detail,
                                 size_t size) {
    assert(field->minimum > INT64_MIN); /* a number out of range comes as the nearest one */
    *value = json_object_get_int64(node);
    bool above = *value == INT64_MAX && json_object_get_uint64(node) > INT64_MAX;
    if (above || *value < field->minimum || *value > field->maximum) {
        snprintf(detail, size, "must be a whole number from %" PRId64 " to %" PRId64,
                 field->minimum, field->maximum);
        return detail;
    }
    if (field->type == FIELD_REFERENCE && !field->exists(body->request->db, *value)) {
        return "refers to nothing that exists";
    }
    return NULL;
}

static bool is_string(const struct field *field) {
    return field->type != FIELD_INTEGER && field->type != FIELD_REFERENCE;
}

/* Returns what is wrong with the i-th field's member, NULL when it has been read. */
static const char *check_field(struct body *body, int i, struct json_object *object,
                               enum body_mode mode, char *detail, size_t size) {
    const struct field *field = &body->fields[i];
    struct json_object *node = NULL;
    body->values[i].text =
        field->type == FIELD_WORD ? text_from(field->words[0]) : (struct text){0};
    body->values[i].integer = field->standard;
    body->values[i].given = json_object_object_get_ex(object, field->parameter + 1, &node);
    if (!body->values[i].given) {
        body->values[i].given = mode == BODY_FULL && field->optional; /* by its standard value */
        return mode == BODY_PARTIAL || field->optional ? NULL : "is required";
    }
    if (node == NULL && mode == BODY_PARTIAL) { /* null removes: back to the standard value */
        return field->optional ? NULL : "is required and cannot be removed";
    }
    if (is_string(field)) {
        if (!json_object_is_type(node, json_type_string)) {
            return "must be a string";
        }
        body->values[i].text = (struct text){.data = json_object_get_string(node),
                                             .length = (size_t)json_object_get_string_len(node)};
        return check_string(field, body->values[i].text, detail, size);
    }
    if (!json_object_is_type(node, json_type_int)) {
        return "must be a whole number, without fraction or exponent";
    }
    return check_integer(body, field, node, &body->values[i].integer, detail, size);
}

static bool is_known(const struct body *body, const char *name) {
    for (int i = 0; i < body->count; i++) {
        if (strcmp(body->fields[i].parameter + 1, name) == 0) {
            return true;
        }
    }
    return false;
}

bool body_read(struct body *body, int element, const struct field *fields, int count,
               enum body_mode mode) {
    assert(count <= FIELDS);
    int errors_before = body->error_count;
    struct json_object *object = body->root;
    if (element != BODY_ROOT) {
        object = json_object_array_get_idx(body->root, (size_t)element);
    }
    body->fields = fields;
    body->count = count;
    body->element = element;
    if (!json_object_is_type(object, json_type_object)) {
        note(body, NULL, "must be an object");
        return false;
    }
    for (int i = 0; i < count; i++) {
        char detail[128];
        const char *fault = check_field(body, i, object, mode, detail, sizeof detail);
        if (fault != NULL) {
            body_error(body, fields[i].parameter + 1, fault);
        }
    }
    json_object_object_foreach(object, name, child) {
        (void)child;
        if (!is_known(body, name)) {
            body_error(body, name, "is not known here");
        }
    }
    return body->error_count == errors_before;
}

bool body_gives_any(const struct body *body) {
    for (int i = 0; i < body->count; i++) {
        if (body->values[i].given) {
            return true;
        }
    }
    return false;
}

void body_bind(const struct body *body, struct db_statement *statement) {
    for (int i = 0; i < body->count; i++) {
        const struct field *field = &body->fields[i];
        if (!body->values[i].given || !db_has_parameter(statement, field->parameter)) {
            continue;
        }
        if (is_string(field)) {
            db_bind_text(statement, field->parameter, body->values[i].text);
        } else {
            db_bind_integer(statement, field->parameter, body->values[i].integer);
        }
    }
}
