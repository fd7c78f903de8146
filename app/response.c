#include "response.h"

#include <stdarg.h>
#include <stdio.h>

#include "json.h"

static const struct {
    int status;
    struct text line; /* "Status: 200 OK", the way CGI says it (RFC 3875 section 6.3.3) */
    struct text title;
} statuses[] = {
#define STATUS(code, title)                                                                        \
    { code, TEXT("Status: " #code " " title "\r\n"), TEXT(title) }
    STATUS(200, "OK"),
    STATUS(201, "Created"),
    STATUS(204, "No Content"),
    STATUS(304, "Not Modified"),
    STATUS(400, "Bad Request"),
    STATUS(401, "Unauthorized"),
    STATUS(403, "Forbidden"),
    STATUS(404, "Not Found"),
    STATUS(405, "Method Not Allowed"),
    STATUS(409, "Conflict"),
    STATUS(412, "Precondition Failed"),
    STATUS(413, "Content Too Large"),
    STATUS(415, "Unsupported Media Type"),
    STATUS(421, "Misdirected Request"),
    STATUS(422, "Unprocessable Content"),
    STATUS(503, "Service Unavailable"),
    STATUS(507, "Insufficient Storage"),
    STATUS(500, "Internal Server Error"), /* last: what any other number becomes */
#undef STATUS
};

_Static_assert(sizeof statuses / sizeof *statuses == RESPONSE_STATUSES, "response.h counts them");

int response_status(int index) {
    return statuses[index].status;
}

int response_status_index(int status) {
    int i = 0;
    while (i + 1 < RESPONSE_STATUSES && statuses[i].status != status) {
        i++;
    }
    return i;
}

struct text response_title(int status) {
    return statuses[response_status_index(status)].title;
}

void response_start(struct response *response, struct arena *arena) {
    *response = (struct response){.headers.arena = arena, .body.arena = arena};
}

void response_header(struct response *response, struct text name, struct text value) {
    buffer_append(&response->headers, name);
    buffer_append(&response->headers, TEXT(": "));
    buffer_append(&response->headers, value);
    buffer_append(&response->headers, TEXT("\r\n"));
}

void response_json(struct response *response, int status) {
    response->status = status;
    response->content_type = TEXT("application/json");
}

void response_empty(struct response *response, int status) {
    response->status = status;
    response->content_type = (struct text){0};
    response->body.length = 0;
}

void response_problem_open(struct response *response, int status, struct text detail) {
    struct buffer *body = &response->body;
    response->status = status;
    response->content_type = TEXT("application/problem+json");
    response->headers.length = 0;
    body->length = 0;
    buffer_append(body, TEXT("{\"type\":\"about:blank\",\"title\":\""));
    buffer_append(body, response_title(status));
    buffer_append(body, TEXT("\",\"status\":"));
    buffer_append_integer(body, status);
    buffer_append(body, TEXT(",\"detail\":"));
    json_string(body, detail);
    if (status == 503) {
        response_header(response, TEXT("Retry-After"), TEXT("1"));
    }
}

void response_problem(struct response *response, int status, const char *format, ...) {
    char detail[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    response_problem_open(response, status, text_from(detail));
    buffer_append(&response->body, TEXT("}"));
}

/* Multiplies into 128 bits and folds the halves: eight bytes a step, every input bit reaches every
 * output bit. Not for secrets: an entity tag only has to differ when the body does. */
static uint64_t mix(uint64_t a, uint64_t b) {
    __extension__ unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash(struct text text) {
    uint64_t state = 0x9E3779B97F4A7C15 ^ text.length;
    uint64_t word = 0;
    for (; text.length >= sizeof word; text.data += sizeof word, text.length -= sizeof word) {
        memcpy(&word, text.data, sizeof word); /* of a constant length: one instruction */
        state = mix(state ^ word, 0xD6E8FEB86659FD93) + 0xA0761D6478BD642F;
    }
    if (text.length > 0) {
        word = 0;
        memcpy(&word, text.data, text.length);
        state = mix(state ^ word, 0xD6E8FEB86659FD93) + 0xA0761D6478BD642F;
    }
    return mix(state, 0xE7037ED1A0B428DB);
}

struct text response_etag(struct response *response) {
    uint64_t value = hash(buffer_text(&response->body));
    char *tag = arena_alloc(response->body.arena, RESPONSE_ETAG_BYTES);
    tag[0] = '"';
    for (int i = 1; i < RESPONSE_ETAG_BYTES - 1; i++) {
        tag[i] = "0123456789abcdef"[value >> 60];
        value <<= 4;
    }
    tag[RESPONSE_ETAG_BYTES - 1] = '"';
    struct text text = {.data = tag, .length = RESPONSE_ETAG_BYTES};
    response_header(response, TEXT("ETag"), text);
    return text;
}

void response_location(struct response *response, struct text prefix, const char *path,
                       int64_t id) {
    struct buffer *out = &response->headers;
    buffer_append(out, TEXT("Location: "));
    buffer_append(out, prefix);
    buffer_append(out, text_from(path));
    buffer_append_integer(out, id);
    buffer_append(out, TEXT("\r\n"));
}

/* The headers of the answer and the empty line behind them, in the arena. */
static struct text head_of(const struct response *response) {
    struct buffer head = {.arena = response->body.arena};
    buffer_append(&head, statuses[response_status_index(response->status)].line);
    if (response->content_type.length > 0) {
        buffer_append(&head, TEXT("Content-Type: "));
        buffer_append(&head, response->content_type);
        buffer_append(&head, TEXT("\r\nContent-Length: "));
        buffer_append_integer(&head, (int64_t)response->body.length);
        buffer_append(&head, TEXT("\r\n"));
    }
    buffer_append(&head, buffer_text(&response->headers));
    buffer_append(&head, TEXT("\r\n"));
    return buffer_text(&head);
}

/* The body as it is sent: none for HEAD, and for an answer that has none. */
static struct text sent_body(const struct response *response, bool without_body) {
    if (without_body || response->content_type.length == 0) {
        return (struct text){0};
    }
    return buffer_text(&response->body);
}

bool response_send(const struct response *response, struct fastcgi_connection *connection,
                   bool without_body) {
    return fastcgi_send(connection, head_of(response), sent_body(response, without_body));
}

struct text response_text(const struct response *response, bool without_body) {
    struct buffer whole = {.arena = response->body.arena};
    buffer_append(&whole, head_of(response));
    buffer_append(&whole, sent_body(response, without_body));
    return buffer_text(&whole);
}
