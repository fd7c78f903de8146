#include "conditional.h"

/* Takes the next tag off a list: W/"…" or "…", with the comma behind it. Returns false at the end
 * and at anything malformed. */
static bool next_tag(struct text *list, struct text *tag, bool *weak) {
    *list = text_trim(*list);
    while (list->length > 0 && list->data[0] == ',') { /* empty elements, section 5.6.1.2 */
        list->data++;
        list->length--;
        *list = text_trim(*list);
    }
    *weak = list->length >= 2 && memcmp(list->data, "W/", 2) == 0;
    size_t start = *weak ? 2 : 0;
    if (list->length <= start || list->data[start] != '"') {
        return false;
    }
    const char *end = memchr(list->data + start + 1, '"', list->length - start - 1);
    if (end == NULL) {
        return false;
    }
    size_t used = (size_t)(end - list->data) + 1;
    *tag = (struct text){.data = list->data + start, .length = used - start};
    list->data += used;
    list->length -= used;
    *list = text_trim(*list);
    return list->length == 0 || list->data[0] == ',';
}

static bool names(struct text header, struct text etag, bool weak_counts) {
    if (text_equals(text_trim(header), TEXT("*"))) {
        return true;
    }
    struct text tag;
    bool weak = false;
    while (next_tag(&header, &tag, &weak)) {
        if (text_equals(tag, etag) && (weak_counts || !weak)) {
            return true;
        }
    }
    return false;
}

bool conditional_none_match(struct text header, struct text etag) {
    return header.length > 0 && names(header, etag, true);
}

bool conditional_match(struct text header, struct text etag) {
    return header.length == 0 || names(header, etag, false);
}

void conditional_read(const struct request *request, struct response *response) {
    struct text etag = response_etag(response);
    if (conditional_none_match(request->if_none_match, etag)) {
        response_empty(response, 304);
    }
}

bool conditional_change(const struct request *request, struct response *response) {
    struct text etag = response_etag(response);
    if (!conditional_match(request->if_match, etag) ||
        conditional_none_match(request->if_none_match, etag)) {
        response_problem(response, 412, "it has changed since it was read: read it again");
        return false;
    }
    response_start(response, request->arena);
    return true;
}
