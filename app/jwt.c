#include "jwt.h"

#include <json-c/json.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "json_parse.h"
#include "log.h"

enum { SEGMENTS = 3, VARIANT = sodium_base64_VARIANT_URLSAFE_NO_PADDING };

static void authenticate(const struct secret *key, struct text text,
                         unsigned char code[static crypto_auth_hmacsha256_BYTES]) {
    crypto_auth_hmacsha256_state state;
    crypto_auth_hmacsha256_init(&state, key->bytes, key->length);
    crypto_auth_hmacsha256_update(&state, (const unsigned char *)text.data, text.length);
    crypto_auth_hmacsha256_final(&state, code);
    sodium_memzero(&state, sizeof state);
}

bool jwt_rules_read(struct jwt_rules *rules, const struct settings *settings,
                    char error[static SECRETS_ERROR_BYTES]) {
    *rules = (struct jwt_rules){.issuer = settings->token_issuer,
                                .audience = settings->token_audience,
                                .ttl_s = settings->token_ttl_s};
    if (sodium_init() < 0) {
        snprintf(error, SECRETS_ERROR_BYTES, "libsodium cannot start");
        return false;
    }
    return secrets_read(&rules->secrets, settings->secret_file, error);
}

void jwt_rules_give(const struct jwt_rules *rules, struct handover *state) {
    struct text keys = TEXT("");
    if (rules != NULL) {
        keys = (struct text){(const char *)&rules->secrets, sizeof rules->secrets};
    }
    handover_put_text(state, keys);
}

bool jwt_rules_take(struct jwt_rules *rules, const struct settings *settings,
                    struct handover *state) {
    char error[SECRETS_ERROR_BYTES];
    struct text keys = handover_text(state);
    if (jwt_rules_read(rules, settings, error)) {
        return true;
    }
    log_event("R01", "%s; the keys stay as they were", error);
    if (keys.length != sizeof rules->secrets) {
        return false;
    }
    memcpy(&rules->secrets, keys.data, sizeof rules->secrets);
    return true;
}

/* ---- signing -------------------------------------------------------------------------------- */

static void append_base64url(struct buffer *out, struct text text) {
    size_t size = sodium_base64_encoded_len(text.length, VARIANT); /* with a NUL */
    sodium_bin2base64(buffer_reserve(out, size), size, (const unsigned char *)text.data,
                      text.length, VARIANT);
    out->length += size - 1;
}

static void append_claim(struct buffer *claims, struct text name, const char *value) {
    if (value != NULL) {
        buffer_append(claims, TEXT(",\""));
        buffer_append(claims, name);
        buffer_append(claims, TEXT("\":"));
        json_string(claims, text_from(value));
    }
}

void jwt_sign(const struct jwt_rules *rules, int64_t user, int64_t now, int64_t ttl_s,
              struct buffer *token) {
    const struct secret *key = &rules->secrets.keys[0];
    struct buffer json = {.arena = token->arena};
    struct buffer part = {.arena = token->arena};
    buffer_append(&json, TEXT("{\"alg\":\"HS256\",\"typ\":\"JWT\",\"kid\":"));
    json_string(&json, text_from(key->kid));
    buffer_append(&json, TEXT("}"));
    append_base64url(&part, buffer_text(&json));
    buffer_append(&part, TEXT("."));

    json.length = 0;
    buffer_append(&json, TEXT("{\"sub\":\""));
    buffer_append_integer(&json, user);
    buffer_append(&json, TEXT("\",\"iat\":"));
    buffer_append_integer(&json, now);
    buffer_append(&json, TEXT(",\"exp\":"));
    buffer_append_integer(&json, now + ttl_s);
    append_claim(&json, TEXT("iss"), rules->issuer);
    append_claim(&json, TEXT("aud"), rules->audience);
    buffer_append(&json, TEXT("}"));
    append_base64url(&part, buffer_text(&json));

    unsigned char code[crypto_auth_hmacsha256_BYTES];
    authenticate(key, buffer_text(&part), code);
    buffer_append(token, buffer_text(&part));
    buffer_append(token, TEXT("."));
    append_base64url(token, (struct text){.data = (const char *)code, .length = sizeof code});
}

/* ---- reading -------------------------------------------------------------------------------- */

/* Decodes a segment. False unless it is the one right spelling of its bytes (RFC 7515 section 2,
 * RFC 4648 section 3.5): no padding, no white space, no bits left over. Encoding them again tells,
 * and also catches what libsodium 1.0.18 lets pass: a byte that is not ASCII. */
static bool decode(struct arena *arena, struct text segment, struct text *decoded) {
    unsigned char *bytes = arena_alloc(arena, segment.length);
    struct buffer again = {.arena = arena};
    size_t length = 0;
    if (segment.length == 0 ||
        sodium_base642bin(bytes, segment.length, segment.data, segment.length, NULL, &length, NULL,
                          VARIANT) != 0) {
        return false;
    }
    *decoded = (struct text){.data = (const char *)bytes, .length = length};
    append_base64url(&again, *decoded);
    return text_equals(buffer_text(&again), segment);
}

/* The object that a segment holds, for json_object_put(); NULL when it holds none: not JSON, a
 * member twice, not an object. */
static struct json_object *decode_object(struct arena *arena, struct text segment) {
    struct text json;
    struct json_object *tree = NULL;
    if (!decode(arena, segment, &json) || json_parse(json, &tree) != NULL) {
        return NULL;
    }
    if (!json_object_is_type(tree, json_type_object)) {
        json_object_put(tree);
        return NULL;
    }
    return tree;
}

static struct text text_of(struct json_object *string) {
    return (struct text){.data = json_object_get_string(string),
                         .length = (size_t)json_object_get_string_len(string)};
}

/* Reads a string. False when the member is there and is not one. */
static bool read_string(struct json_object *object, const char *name, struct text *value) {
    struct json_object *node = NULL;
    *value = (struct text){0};
    if (!json_object_object_get_ex(object, name, &node)) {
        return true;
    }
    if (!json_object_is_type(node, json_type_string)) {
        return false;
    }
    *value = text_of(node);
    return true;
}

/* ---- the header (RFC 7515 section 4) -------------------------------------------------------- */

/* True when it names our algorithm and nothing that would have to be understood or obeyed. *kid
 * becomes the name of the key, empty when there is none. */
static bool is_our_header(struct json_object *header, struct text *kid) {
    static const char *const refused[] = {"crit", "jwk", "jku", "x5u", "x5c"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        if (json_object_object_get_ex(header, refused[i], NULL)) {
            return false;
        }
    }
    struct text algorithm;
    struct text type;
    struct json_object *node = NULL;
    bool has_type = json_object_object_get_ex(header, "typ", &node);
    bool has_kid = json_object_object_get_ex(header, "kid", &node);
    return read_string(header, "alg", &algorithm) && text_equals(algorithm, TEXT("HS256")) &&
           read_string(header, "typ", &type) &&
           (!has_type || text_equals_ignoring_case(type, TEXT("JWT"))) &&
           read_string(header, "kid", kid) && (!has_kid || kid->length > 0);
}

/* ---- the signature -------------------------------------------------------------------------- */

/* With the key of that name, or with each when no name is given. */
static bool is_signed(const struct secrets *secrets, struct text kid, struct text input,
                      struct text signature) {
    if (signature.length != crypto_auth_hmacsha256_BYTES) {
        return false;
    }
    bool matches = false;
    for (int i = 0; i < secrets->count; i++) {
        const struct secret *key = &secrets->keys[i];
        if (kid.length == 0 || text_equals(kid, text_from(key->kid))) {
            unsigned char code[crypto_auth_hmacsha256_BYTES];
            authenticate(key, input, code);
            matches |= sodium_memcmp(code, signature.data, sizeof code) == 0;
        }
    }
    return matches;
}

/* ---- the claims (RFC 7519 section 4.1) ------------------------------------------------------ */

/* Reads a time: a whole number of seconds since 1970 that fits. False when the member is there and
 * is something else. */
static bool read_time(struct json_object *claims, const char *name, bool required, int64_t standard,
                      int64_t *value) {
    struct json_object *node = NULL;
    *value = standard;
    if (!json_object_object_get_ex(claims, name, &node)) {
        return !required;
    }
    if (!json_object_is_type(node, json_type_int)) {
        return false;
    }
    *value = json_object_get_int64(node); /* a number out of range comes as the nearest one */
    return *value >= 0 && json_object_get_uint64(node) <= INT64_MAX;
}

static bool is_in_time(struct json_object *claims, int64_t now) {
    int64_t expires = 0;
    int64_t not_before = 0;
    int64_t issued = 0;
    return read_time(claims, "exp", true, 0, &expires) &&
           read_time(claims, "nbf", false, 0, &not_before) &&
           read_time(claims, "iat", false, 0, &issued) && now - JWT_LEEWAY_S < expires &&
           now + JWT_LEEWAY_S >= not_before && now + JWT_LEEWAY_S >= issued;
}

static bool is_from(struct json_object *claims, const char *issuer) {
    struct text value;
    return issuer == NULL ||
           (read_string(claims, "iss", &value) && text_equals(value, text_from(issuer)));
}

static bool is_string(struct json_object *node, const char *value) {
    return json_object_is_type(node, json_type_string) &&
           text_equals(text_of(node), text_from(value));
}

static bool is_meant_for(struct json_object *claims, const char *audience) {
    struct json_object *node = NULL;
    if (audience == NULL) {
        return true;
    }
    if (!json_object_object_get_ex(claims, "aud", &node)) {
        return false;
    }
    if (!json_object_is_type(node, json_type_array)) {
        return is_string(node, audience);
    }
    bool found = false;
    for (size_t i = 0; i < json_object_array_length(node); i++) {
        struct json_object *element = json_object_array_get_idx(node, i);
        if (!json_object_is_type(element, json_type_string)) {
            return false;
        }
        found |= is_string(element, audience);
    }
    return found;
}

/* Returns the user, 0 when the claims do not hold. */
static int64_t check_claims(const struct jwt_rules *rules, struct json_object *claims,
                            int64_t now) {
    struct text subject;
    int64_t user = 0;
    bool valid = is_in_time(claims, now) && is_from(claims, rules->issuer) &&
                 is_meant_for(claims, rules->audience) && read_string(claims, "sub", &subject) &&
                 text_id(subject, &user);
    return valid ? user : 0;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static bool is_authentic(const struct jwt_rules *rules, const struct text segments[SEGMENTS],
                         struct arena *arena) {
    struct text kid;
    struct text signature;
    /* the first two segments with the dot between them, as they were sent */
    struct text input = {.data = segments[0].data,
                         .length = segments[0].length + 1 + segments[1].length};
    struct json_object *header = decode_object(arena, segments[0]);
    bool authentic = header != NULL && is_our_header(header, &kid) &&
                     decode(arena, segments[2], &signature) &&
                     is_signed(&rules->secrets, kid, input, signature);
    json_object_put(header);
    return authentic;
}

int64_t jwt_verify(const struct jwt_rules *rules, struct text token, int64_t now,
                   struct arena *arena) {
    struct text segments[SEGMENTS];
    struct text rest = token;
    if (token.length > JWT_BYTES) {
        return 0;
    }
    for (int i = 0; i < SEGMENTS; i++) {
        if (!text_split(&rest, '.', &segments[i])) {
            return 0;
        }
    }
    if (rest.data != NULL || !is_authentic(rules, segments, arena)) {
        return 0;
    }
    struct json_object *claims = decode_object(arena, segments[1]);
    int64_t user = claims == NULL ? 0 : check_claims(rules, claims, now);
    json_object_put(claims);
    return user;
}
