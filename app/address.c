#include "address.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <string.h>

static bool is_private_4(const uint8_t *bytes) {
    return bytes[0] == 127 || bytes[0] == 10 || (bytes[0] == 172 && (bytes[1] & 0xF0) == 16) ||
           (bytes[0] == 192 && bytes[1] == 168) || (bytes[0] == 169 && bytes[1] == 254);
}

static bool is_private_6(const uint8_t *bytes) {
    static const uint8_t loopback[16] = {[15] = 1};
    static const uint8_t mapped[12] = {[10] = 0xFF, [11] = 0xFF}; /* ::ffff:192.0.2.1 */
    if (memcmp(bytes, mapped, sizeof mapped) == 0) {
        return is_private_4(bytes + sizeof mapped);
    }
    return memcmp(bytes, loopback, sizeof loopback) == 0 || (bytes[0] & 0xFE) == 0xFC ||
           (bytes[0] == 0xFE && (bytes[1] & 0xC0) == 0x80);
}

bool address_is_private(struct text text) {
    char string[INET6_ADDRSTRLEN];
    uint8_t bytes[16];
    if (text_equals(text, TEXT("unix:"))) {
        return true;
    }
    if (text.length == 0 || text.length >= sizeof string ||
        memchr(text.data, 0, text.length) != NULL) {
        return false;
    }
    memcpy(string, text.data, text.length);
    string[text.length] = '\0';
    return (inet_pton(AF_INET, string, bytes) == 1 && is_private_4(bytes)) ||
           (inet_pton(AF_INET6, string, bytes) == 1 && is_private_6(bytes));
}
