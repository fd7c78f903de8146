#include "text.h"

static unsigned char fold(char c) {
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

bool text_equals_ignoring_case(struct text a, struct text b) {
    if (a.length != b.length) {
        return false;
    }
    for (size_t i = 0; i < a.length; i++) {
        if (fold(a.data[i]) != fold(b.data[i])) {
            return false;
        }
    }
    return true;
}

static bool is_space(char c) {
    return c == ' ' || c == '\t';
}

struct text text_trim(struct text text) {
    while (text.length > 0 && is_space(text.data[0])) {
        text.data++;
        text.length--;
    }
    while (text.length > 0 && is_space(text.data[text.length - 1])) {
        text.length--;
    }
    return text;
}

bool text_split(struct text *rest, char separator, struct text *part) {
    if (rest->data == NULL) {
        return false;
    }
    const char *found = rest->length == 0 ? NULL : memchr(rest->data, separator, rest->length);
    if (found == NULL) {
        *part = *rest;
        *rest = (struct text){0};
        return true;
    }
    *part = (struct text){.data = rest->data, .length = (size_t)(found - rest->data)};
    *rest = (struct text){.data = found + 1, .length = rest->length - part->length - 1};
    return true;
}

bool text_integer(struct text text, int64_t minimum, int64_t maximum, int64_t *value) {
    bool negative = text.length > 0 && text.data[0] == '-';
    size_t i = negative ? 1 : 0;
    size_t digits = text.length - i;
    if (digits == 0 || (text.data[i] == '0' && (digits > 1 || negative))) {
        return false;
    }
    int64_t number = 0; /* kept negative: INT64_MIN has no positive twin */
    for (; i < text.length; i++) {
        char c = text.data[i];
        if (c < '0' || c > '9' || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_sub_overflow(number, c - '0', &number)) {
            return false;
        }
    }
    if (!negative) {
        if (number == INT64_MIN) {
            return false;
        }
        number = -number;
    }
    if (number < minimum || number > maximum) {
        return false;
    }
    *value = number;
    return true;
}

bool text_id(struct text text, int64_t *id) {
    return text.length > 0 && text.data[0] >= '1' && text.data[0] <= '9' &&
           text_integer(text, 1, INT64_MAX, id);
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    char lower = (char)fold(c);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

ptrdiff_t text_percent_decode(struct text text, bool form, char *output) {
    ptrdiff_t length = 0;
    for (size_t i = 0; i < text.length; i++) {
        char c = text.data[i];
        if (c == '%') {
            if (text.length - i < 3) {
                return -1;
            }
            int high = hex_digit(text.data[i + 1]);
            int low = hex_digit(text.data[i + 2]);
            if (high < 0 || low < 0) {
                return -1;
            }
            c = (char)(high * 16 + low);
            i += 2;
        } else if (form && c == '+') {
            c = ' ';
        }
        output[length++] = c;
    }
    return length;
}

size_t text_percent_encode(struct text text, char *output) {
    size_t length = 0;
    for (size_t i = 0; i < text.length; i++) {
        struct text c = {.data = text.data + i, .length = 1};
        if (text_is_token(c) || *c.data == '~') {
            output[length++] = *c.data;
        } else {
            unsigned char byte = (unsigned char)*c.data;
            output[length++] = '%';
            output[length++] = "0123456789ABCDEF"[byte >> 4];
            output[length++] = "0123456789ABCDEF"[byte & 15];
        }
    }
    return length;
}

size_t text_code_points(struct text text) {
    size_t count = 0;
    for (size_t i = 0; i < text.length; i++) {
        count += ((unsigned char)text.data[i] & 0xC0) != 0x80;
    }
    return count;
}

size_t text_code_point(struct text text, uint32_t *code_point) {
    const unsigned char *p = (const unsigned char *)text.data;
    if (p[0] < 0x80) {
        *code_point = p[0];
        return 1;
    }
    size_t length = p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : 2;
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (p[0] < 0xC2 || p[0] > 0xF4 || text.length < length) {
        return 0;
    }
    uint32_t value = p[0] & (0x7FU >> length);
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xC0) != 0x80) {
            return 0;
        }
        value = value << 6 | (p[i] & 0x3FU);
    }
    if (value < smallest[length] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
        return 0;
    }
    *code_point = value;
    return length;
}

/* The White_Space property of Unicode, and the zero width space and BOM, which show nothing either.
 */
static bool is_blank_code_point(uint32_t c) {
    return c == ' ' || (c >= 0x09 && c <= 0x0D) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200B) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
           c == 0x205F || c == 0x3000 || c == 0xFEFF;
}

bool text_is_blank(struct text text) {
    while (text.length > 0) {
        uint32_t code_point = 0;
        size_t length = text_code_point(text, &code_point);
        if (length == 0 || !is_blank_code_point(code_point)) {
            return false;
        }
        text.data += length;
        text.length -= length;
    }
    return true;
}

bool text_is_token(struct text text) {
    for (size_t i = 0; i < text.length; i++) {
        unsigned char c = fold(text.data[i]);
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
              c == '-')) {
            return false;
        }
    }
    return true;
}

bool text_is_utf8(struct text text) {
    while (text.length > 0) {
        uint32_t code_point = 0;
        size_t length = text_code_point(text, &code_point);
        if (length == 0) {
            return false;
        }
        text.data += length;
        text.length -= length;
    }
    return true;
}
