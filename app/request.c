#include "request.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "random.h"
#include "response.h"

enum { REQUEST_ID_BYTES = 33 };

/* The commonest first: they are compared in this order. */
static const struct {
    struct text name;
    enum method method;
} methods[] = {
    {TEXT("GET"), METHOD_GET},         {TEXT("POST"), METHOD_POST}, {TEXT("DELETE"), METHOD_DELETE},
    {TEXT("HEAD"), METHOD_HEAD},       {TEXT("PUT"), METHOD_PUT},   {TEXT("PATCH"), METHOD_PATCH},
    {TEXT("OPTIONS"), METHOD_OPTIONS},
};

static enum method method_from(struct text name) {
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (text_equals(name, methods[i].name)) {
            return methods[i].method;
        }
    }
    return METHOD_OTHER;
}

struct text request_method_name(enum method method) {
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (methods[i].method == method) {
            return methods[i].name;
        }
    }
    return TEXT("other");
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

/* Of a target in absolute form (RFC 9112 section 3.2.2) the path, which Apache leaves to us to
 * find. */
static struct text without_origin(struct text target) {
    static const struct text schemes[] = {TEXT("http://"), TEXT("https://")};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        struct text scheme = schemes[i];
        if (target.length > scheme.length &&
            text_equals_ignoring_case((struct text){target.data, scheme.length}, scheme)) {
            const char *host = target.data + scheme.length;
            const char *end = target.data + target.length;
            const char *slash = memchr(host, '/', (size_t)(end - host));
            return slash == NULL ? TEXT("/")
                                 : (struct text){.data = slash, .length = (size_t)(end - slash)};
        }
    }
    return target;
}

void request_set_target(struct request *request, struct text target) {
    if (target.length > 0 && target.data[0] != '/') {
        target = without_origin(target);
    }
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

/* A web server may know no length, of a chunked body; whether it is whole it still tells. */
static void take_body(struct request *request, const struct fastcgi_connection *connection) {
    struct text declared = request->content_length;
    int64_t length = 0;
    size_t received = 0;
    struct text body = fastcgi_body(connection, &received);
    bool valid = declared.length == 0 || text_integer(declared, 0, INT64_MAX, &length);
    if (length > BODY_LIMIT_BYTES || received > BODY_LIMIT_BYTES) {
        request->body_state = BODY_TOO_LARGE;
    } else if (!valid || (declared.length > 0 && received != (size_t)length)) {
        request->body_state = BODY_CUT_OFF;
    } else {
        request->body = body;
    }
}

/* The parameters that are read, the commonest first, and where they go. */
static const struct {
    struct text name;
    size_t place;
} wanted[] = {
#define PLACE(member) offsetof(struct request, member)
    {TEXT("REQUEST_METHOD"), PLACE(method_name)},
    {TEXT("REQUEST_URI"), PLACE(target)},
    {TEXT("REQUEST_ID"), PLACE(request_id)},
    {TEXT("CONTENT_LENGTH"), PLACE(content_length)},
    {TEXT("CONTENT_TYPE"), PLACE(content_type)},
    {TEXT("HTTP_IF_NONE_MATCH"), PLACE(if_none_match)},
    {TEXT("HTTP_IF_MATCH"), PLACE(if_match)},
    {TEXT("HTTP_ORIGIN"), PLACE(origin)},
    {TEXT("HTTP_AUTHORIZATION"), PLACE(authorization)},
    {TEXT("HTTP_IDEMPOTENCY_KEY"), PLACE(idempotency_key)},
    {TEXT("LARDER_PREFIX"), PLACE(prefix)},
    {TEXT("REMOTE_ADDR"), PLACE(remote_address)},
    {TEXT("HTTP_X_FORWARDED_FOR"), PLACE(forwarded_for)},
    {TEXT("HTTP_X_REQUEST_ID"), PLACE(clients_id)},
#undef PLACE
};

/* The web server has named none: the client's own if it may stand in a log, else a new one. */
static void choose_id(struct request *request) {
    struct text clients_id = request->clients_id;
    request->tells_id = true;
    request->request_id = clients_id;
    if (clients_id.length >= 1 && clients_id.length <= 64 && text_is_token(clients_id)) {
        return;
    }
    char *id = arena_alloc(request->arena, REQUEST_ID_BYTES);
    uint64_t first = random_next(request->random);
    snprintf(id, REQUEST_ID_BYTES, "%016" PRIx64 "%016" PRIx64, first,
             random_next(request->random));
    request->request_id = (struct text){.data = id, .length = REQUEST_ID_BYTES - 1};
}

enum fastcgi_state request_receive(struct request *request, struct fastcgi_connection *connection) {
    enum fastcgi_state state = fastcgi_receive(connection, request->arena);
    if (state != FASTCGI_REQUEST) {
        return state;
    }
    struct text name;
    struct text value;
    for (size_t position = 0; fastcgi_parameter(connection, &position, &name, &value);) {
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
            if (text_equals(name, wanted[i].name)) {
                *(struct text *)((char *)request + wanted[i].place) = value;
                break;
            }
        }
    }
    request->method = method_from(request->method_name);
    request_set_target(request, request->target);
    take_body(request, connection);
    if (request->request_id.length == 0) {
        choose_id(request);
    }
    return state;
}

/* ---- the query ------------------------------------------------------------------------------ */

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

bool request_refuse_parameter(const struct request *request, struct response *response,
                              struct text name, const char *complaint) {
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

/* Returns what is wrong with a value, NULL when it has been read. */
static const char *read_value(const struct parameter *parameter, struct parameter_value *value,
                              char *complaint, size_t size) {
    struct text text = value->text;
    switch (parameter->type) {
    case PARAMETER_INTEGER:
        if (text_integer(text, parameter->minimum, parameter->maximum, &value->integer)) {
            return NULL;
        }
        snprintf(complaint, size, "must be a whole number from %" PRId64 " to %" PRId64,
                 parameter->minimum, parameter->maximum);
        return complaint;
    case PARAMETER_TEXT: {
        if (!text_is_utf8(text) || memchr(text.data, 0, text.length) != NULL) {
            return "is not valid UTF-8 text";
        }
        value->text = text_trim(text);
        int64_t length = (int64_t)text_code_points(value->text);
        if (length >= parameter->minimum && length <= parameter->maximum) {
            return NULL;
        }
        snprintf(complaint, size, "must be %" PRId64 " to %" PRId64 " characters long",
                 parameter->minimum, parameter->maximum);
        return complaint;
    }
    case PARAMETER_WORD:
        snprintf(complaint, size, "must be");
        for (const char *const *word = parameter->words; *word != NULL; word++) {
            if (text_equals(text, text_from(*word))) {
                return NULL;
            }
            size_t used = strlen(complaint);
            snprintf(complaint + used, size - used, "%s %s", word == parameter->words ? "" : " or",
                     *word);
        }
        return complaint;
    }
    return NULL;
}

bool request_query(const struct request *request, struct response *response,
                   const struct parameter *table, int count, struct parameter_value *values) {
    assert(count <= PARAMETERS);
    for (int i = 0; i < count; i++) {
        values[i] = (struct parameter_value){.integer = table[i].standard};
    }
    struct text rest = request->query;
    struct text pair;
    while (request->query.length > 0 && text_split(&rest, '&', &pair)) {
        struct text name = {0};
        struct text text = pair;
        text_split(&text, '=', &name);
        struct text raw_name = name;
        if (!decode(request->arena, &name)) {
            return request_refuse_parameter(request, response, raw_name, "is not well-formed");
        }
        int i = 0;
        while (i < count && !text_equals(name, text_from(table[i].name))) {
            i++;
        }
        if (i == count) {
            return request_refuse_parameter(request, response, name, "is not known here");
        }
        if (values[i].given) {
            return request_refuse_parameter(request, response, name, "is given more than once");
        }
        values[i].given = true;
        char complaint[96];
        const char *fault = "is not well-formed";
        if (decode(request->arena, &text)) {
            values[i].text = text;
            fault = read_value(&table[i], &values[i], complaint, sizeof complaint);
        }
        if (fault != NULL) {
            return request_refuse_parameter(request, response, name, fault);
        }
    }
    return true;
}
