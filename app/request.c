#include "request.h"

#include <assert.h>
#include <stdio.h>

#include "response.h"

static enum method method_from(struct text name) {
    static const struct {
        struct text name;
        enum method method;
    } methods[] = {
        {TEXT("GET"), METHOD_GET},         {TEXT("POST"), METHOD_POST},
        {TEXT("DELETE"), METHOD_DELETE},   {TEXT("HEAD"), METHOD_HEAD},
        {TEXT("PUT"), METHOD_PUT},         {TEXT("PATCH"), METHOD_PATCH},
        {TEXT("OPTIONS"), METHOD_OPTIONS},
    };
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (text_equals(name, methods[i].name)) {
            return methods[i].method;
        }
    }
    return METHOD_OTHER;
}

/* Splits the raw path into decoded segments. An encoded slash stays inside its segment (RFC 3986
 * section 2.2), so it never equals one of ours, and ".." is a name like any other. */
static int split_path(struct request *request, struct text path) {
    if (path.length == 0 || path.data[0] != '/') {
        return -1;
    }
    path.data++;
    path.length--;
    int count = 0;
    struct text segment;
    while (text_split(&path, '/', &segment)) {
        if (count == PATH_SEGMENTS) {
            return -1;
        }
        if (segment.length > 0 && memchr(segment.data, '%', segment.length) != NULL) {
            char *decoded = arena_alloc(request->arena, segment.length);
            ptrdiff_t length = text_percent_decode(segment, false, decoded);
            if (length < 0) {
                return -1;
            }
            segment = (struct text){.data = decoded, .length = (size_t)length};
        }
        request->segments[count++] = segment;
    }
    return count;
}

static void set_target(struct request *request, struct text target) {
    const char *mark = target.length == 0 ? NULL : memchr(target.data, '?', target.length);
    struct text path = target;
    if (mark != NULL) {
        path.length = (size_t)(mark - target.data);
        request->query = (struct text){.data = mark + 1, .length = target.length - path.length - 1};
    }
    struct text prefix = request->prefix;
    if (prefix.length > 0) {
        if (path.length < prefix.length || memcmp(path.data, prefix.data, prefix.length) != 0) {
            request->segment_count = -1;
            return;
        }
        path.data += prefix.length;
        path.length -= prefix.length;
    }
    request->segment_count = split_path(request, path);
}

static void receive_body(struct request *request, struct fastcgi_connection *connection,
                         struct text declared) {
    int64_t length = 0;
    bool has_length = declared.length > 0 && text_integer(declared, 0, INT64_MAX, &length);
    if (declared.length > 0 && !has_length) {
        request->body_state = BODY_CUT_OFF;
    }
    size_t size = length > BODY_LIMIT_BYTES ? 0 : (size_t)length;
    char *body = size == 0 ? NULL : arena_alloc(request->arena, size);
    ptrdiff_t received = fastcgi_read_body(connection, body, size);
    if (length > BODY_LIMIT_BYTES || received > BODY_LIMIT_BYTES) {
        request->body_state = BODY_TOO_LARGE;
    } else if (received != length) { /* a stream that ends early looks like its end */
        request->body_state = BODY_CUT_OFF;
    } else {
        request->body = (struct text){.data = body, .length = size};
    }
}

bool request_receive(struct request *request, struct fastcgi_connection *connection) {
    if (!fastcgi_receive(connection)) {
        return false;
    }
    struct text method = {0};
    struct text target = {0};
    struct text length = {0};
    const struct {
        struct text name;
        struct text *value;
    } wanted[] = {
        {TEXT("REQUEST_METHOD"), &method},
        {TEXT("REQUEST_URI"), &target},
        {TEXT("REQUEST_ID"), &request->request_id},
        {TEXT("CONTENT_LENGTH"), &length},
        {TEXT("CONTENT_TYPE"), &request->content_type},
        {TEXT("HTTP_IF_NONE_MATCH"), &request->if_none_match},
        {TEXT("HTTP_IF_MATCH"), &request->if_match},
        {TEXT("HTTP_ORIGIN"), &request->origin},
        {TEXT("SCRIPT_NAME"), &request->prefix},
    };
    struct text name;
    struct text value;
    for (size_t position = 0; fastcgi_parameter(connection, &position, &name, &value);) {
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
            if (text_equals(name, wanted[i].name)) {
                *wanted[i].value = value;
                break;
            }
        }
    }
    request->method = method_from(method);
    set_target(request, target);
    receive_body(request, connection, length);
    return true;
}

/* ---- the query ---------------------------------------------------------------------------------
 */

/* For the detail of an error: at most 64 bytes, and a question mark for what is not plain ASCII. */
static struct text printable(struct arena *arena, struct text text) {
    size_t length = text.length > 64 ? 64 : text.length;
    char *copy = arena_alloc(arena, length);
    for (size_t i = 0; i < length; i++) {
        copy[i] = '?';
        if (text.data[i] > ' ' && text.data[i] < 0x7F) {
            copy[i] = text.data[i];
        }
    }
    return (struct text){.data = copy, .length = length};
}

static bool refuse(const struct request *request, struct response *response, struct text name,
                   const char *complaint) {
    struct text shown = printable(request->arena, name);
    response_problem(response, 400, "query parameter '%.*s' %s", (int)shown.length, shown.data,
                     complaint);
    return false;
}

static bool decode(struct arena *arena, struct text *text) {
    char *decoded = arena_alloc(arena, text->length);
    ptrdiff_t length = text_percent_decode(*text, true, decoded);
    *text = (struct text){.data = decoded, .length = length < 0 ? 0 : (size_t)length};
    return length >= 0;
}

bool request_query(const struct request *request, struct response *response,
                   const struct parameter *table, int count, int64_t *values) {
    bool given[PARAMETERS] = {false};
    assert(count <= PARAMETERS);
    for (int i = 0; i < count; i++) {
        values[i] = table[i].standard;
    }
    if (request->query.length == 0) {
        return true;
    }
    struct text rest = request->query;
    struct text pair;
    while (text_split(&rest, '&', &pair)) {
        struct text name = {0};
        struct text value = pair;
        text_split(&value, '=', &name);
        struct text raw_name = name;
        if (!decode(request->arena, &name)) {
            return refuse(request, response, raw_name, "is not well-formed");
        }
        int i = 0;
        while (i < count && !text_equals(name, text_from(table[i].name))) {
            i++;
        }
        if (i == count) {
            return refuse(request, response, name, "is not known here");
        }
        if (given[i]) {
            return refuse(request, response, name, "is given more than once");
        }
        given[i] = true;
        if (!decode(request->arena, &value) ||
            !text_integer(value, table[i].minimum, table[i].maximum, &values[i])) {
            char complaint[96];
            snprintf(complaint, sizeof complaint, "must be a whole number from %lld to %lld",
                     (long long)table[i].minimum, (long long)table[i].maximum);
            return refuse(request, response, name, complaint);
        }
    }
    return true;
}
