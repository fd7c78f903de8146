#include "json_strict.h"

/* The number of a \uXXXX escape whose digits begin at position, -1 when they are not four hex
 * digits. */
static int unicode_escape(struct text json, size_t position) {
    int value = 0;
    if (json.length - position < 4) {
        return -1;
    }
    for (size_t i = position; i < position + 4; i++) {
        char c = json.data[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) {
            return -1;
        }
        value = value * 16 + digit;
    }
    return value;
}

static bool is_high(int unit) {
    return unit >= 0xD800 && unit <= 0xDBFF;
}

static bool is_low(int unit) {
    return unit >= 0xDC00 && unit <= 0xDFFF;
}

/* Checks the escape whose backslash stands at *position and moves it to its last character. */
static const char *escape_fault(struct text json, size_t *position) {
    size_t at = *position + 1;
    if (at >= json.length) {
        return "ends inside a string";
    }
    *position = at;
    if (json.data[at] != 'u') {
        return NULL; /* json-c knows the others */
    }
    int unit = unicode_escape(json, at + 1);
    if (unit < 0) {
        return "has a \\u that is not followed by four hex digits";
    }
    if (unit == 0) {
        return "has a NUL character in a string";
    }
    *position = at + 4;
    if (is_high(unit)) {
        size_t second = at + 5;
        bool pair = json.length - second >= 6 && json.data[second] == '\\' &&
                    json.data[second + 1] == 'u' && is_low(unicode_escape(json, second + 2));
        if (!pair) {
            return "has half of a surrogate pair in a string";
        }
        *position = second + 5;
    } else if (is_low(unit)) {
        return "has half of a surrogate pair in a string";
    }
    return NULL;
}

static size_t digits(struct text json, size_t position) {
    size_t start = position;
    while (position < json.length && json.data[position] >= '0' && json.data[position] <= '9') {
        position++;
    }
    return position - start;
}

/* Checks the number at *position (RFC 8259 section 6) and moves it to the last character. */
static const char *number_fault(struct text json, size_t *position) {
    const char *fault = "has a number that is not a JSON number";
    size_t at = *position + (json.data[*position] == '-');
    size_t whole = digits(json, at);
    if (whole == 0 || (whole > 1 && json.data[at] == '0')) {
        return fault;
    }
    at += whole;
    if (at < json.length && json.data[at] == '.') {
        size_t fraction = digits(json, at + 1);
        if (fraction == 0) {
            return fault;
        }
        at += 1 + fraction;
    }
    if (at < json.length && (json.data[at] == 'e' || json.data[at] == 'E')) {
        at++;
        at += at < json.length && (json.data[at] == '+' || json.data[at] == '-');
        size_t exponent = digits(json, at);
        if (exponent == 0) {
            return fault;
        }
        at += exponent;
    }
    *position = at - 1;
    return NULL;
}

const char *json_strict_fault(struct text json, size_t *members) {
    *members = 0;
    if (json.length >= 3 && memcmp(json.data, "\xEF\xBB\xBF", 3) == 0) {
        return "begins with a byte order mark";
    }
    if (!text_is_utf8(json)) {
        return "is not valid UTF-8";
    }
    bool in_string = false;
    int depth = 0;
    int values = 1; /* at most: a bracket or a comma each lead to one more */
    for (size_t i = 0; i < json.length; i++) {
        unsigned char c = (unsigned char)json.data[i];
        if (in_string) {
            if (c < ' ') {
                return c == 0 ? "has a NUL character in a string"
                              : "has a control character in a string";
            }
            if (c == '\\') {
                const char *fault = escape_fault(json, &i);
                if (fault != NULL) {
                    return fault;
                }
            } else if (c == '"') {
                in_string = false;
            }
            continue;
        }
        switch (c) {
        case '"':
            in_string = true;
            break;
        case ':':
            ++*members;
            break;
        case ',':
            values++;
            break;
        case '{':
        case '[':
            values++;
            if (++depth > JSON_NESTING_LIMIT) {
                return "is nested more than 16 deep";
            }
            break;
        case '}':
        case ']':
            depth--;
            break;
        default:
            if (c == '-' || (c >= '0' && c <= '9')) {
                const char *fault = number_fault(json, &i);
                if (fault != NULL) {
                    return fault;
                }
            } else if (c == 0 || strchr(" \t\r\naeflnrstu", c) == NULL) {
                return "is not JSON"; /* the letters are those of true, false and null */
            }
        }
    }
    if (values > JSON_VALUES_LIMIT) {
        return "has more than 20000 values";
    }
    return in_string ? "ends inside a string" : NULL;
}
