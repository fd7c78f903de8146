/* Tokens: what is signed is believed, and nothing else is. */
#include "jwt.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "support.h"

enum { NOW = 1800000000 };

#define HEADER "{\"alg\":\"HS256\",\"typ\":\"JWT\"}"
#define CLAIMS "{\"sub\":\"7\",\"exp\":1800003600}"

static struct arena arena;

static struct jwt_rules rules = {
    .secrets =
        {.keys = {{.kid = "new", .bytes = "new-secret-of-at-least-32-bytes!!", .length = 33},
                  {.kid = "old", .bytes = "old-secret-of-at-least-32-bytes!!", .length = 33}},
         .count = 2},
    .ttl_s = 3600,
};

static const struct secret stranger = {
    .kid = "new", .bytes = "another-secret-of-at-least-32-byt", .length = 33};

static int reset(void **state) {
    (void)state;
    arena_destroy(&arena);
    rules.issuer = rules.audience = NULL;
    rules.secrets.count = 2;
    return 0;
}

static void append_base64url(struct buffer *out, const void *bytes, size_t length) {
    size_t size = sodium_base64_encoded_len(length, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    sodium_bin2base64(buffer_reserve(out, size), size, bytes, length,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    out->length += size - 1;
}

/* A token of any header and claims, rightly signed with the key. */
static struct text forge(const struct secret *key, struct text header, struct text claims) {
    struct buffer token = {.arena = &arena};
    append_base64url(&token, header.data, header.length);
    buffer_append(&token, TEXT("."));
    append_base64url(&token, claims.data, claims.length);
    unsigned char code[crypto_auth_hmacsha256_BYTES];
    crypto_auth_hmacsha256_state state;
    crypto_auth_hmacsha256_init(&state, key->bytes, key->length);
    crypto_auth_hmacsha256_update(&state, (unsigned char *)token.data, token.length);
    crypto_auth_hmacsha256_final(&state, code);
    buffer_append(&token, TEXT("."));
    append_base64url(&token, code, sizeof code);
    return buffer_text(&token);
}

static int64_t verify(struct text token) {
    struct text copy = exactly(token);
    int64_t user = jwt_verify(&rules, copy, NOW, &arena);
    release(copy);
    return user;
}

static int64_t verify_parts(const char *header, const char *claims) {
    return verify(forge(&rules.secrets.keys[0], text_from(header), text_from(claims)));
}

static void assert_each(const char *const *parts, size_t count, bool headers, int64_t expected) {
    for (size_t i = 0; i < count; i++) {
        int64_t user = headers ? verify_parts(parts[i], CLAIMS) : verify_parts(HEADER, parts[i]);
        if (user != expected) {
            fail_msg("%s gives user %lld", parts[i], (long long)user);
        }
    }
}

/* ---- good tokens ---------------------------------------------------------------------------- */

static void what_is_signed_is_verified(void **state) {
    (void)state;
    struct buffer token = {.arena = &arena};
    jwt_sign(&rules, INT64_MAX, NOW, 60, &token);
    assert_int_equal(verify(buffer_text(&token)), INT64_MAX);
    rules.issuer = "https://larder.example";
    rules.audience = "a \"quoted\" one";
    token.length = 0;
    jwt_sign(&rules, 1, NOW, 60, &token);
    assert_int_equal(verify(buffer_text(&token)), 1);
}

/* The key and the signature of RFC 7515 appendix A.1; its claims name no user, so they end in 0,
 * and the same claims with a user, signed with the same key, do not. */
static void the_example_of_rfc_7515_is_authentic(void **state) {
    (void)state;
    static const char key[] =
        "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
    static const char example[] =
        "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9"
        ".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
        ".dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    struct jwt_rules theirs = {.secrets = {.count = 1}};
    struct secret *secret = &theirs.secrets.keys[0];
    assert_int_equal(sodium_base642bin(secret->bytes, sizeof secret->bytes, key, strlen(key), NULL,
                                       &secret->length, NULL,
                                       sodium_base64_VARIANT_URLSAFE_NO_PADDING),
                     0);
    assert_int_equal(secret->length, 64);
    struct text header = TEXT("{\"typ\":\"JWT\",\r\n \"alg\":\"HS256\"}");
    struct text claims =
        TEXT("{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n \"http://example.com/is_root\":true}");
    assert_text(forge(secret, header, claims), text_from(example));
    assert_int_equal(jwt_verify(&theirs, text_from(example), 1300819379, &arena), 0);
    struct text with_user =
        forge(secret, header, TEXT("{\"iss\":\"joe\",\r\n \"exp\":1300819380,\"sub\":\"7\"}"));
    assert_int_equal(jwt_verify(&theirs, with_user, 1300819379, &arena), 7);
    assert_int_equal(jwt_verify(&theirs, with_user, 1300819380 + JWT_LEEWAY_S, &arena), 0);
}

static void a_header_may_say_less_or_more_that_does_not_matter(void **state) {
    (void)state;
    static const char *const headers[] = {
        "{\"alg\":\"HS256\"}",
        "{\"alg\":\"HS256\",\"typ\":\"jwt\"}",
        "{\"alg\":\"HS256\",\"kid\":\"new\"}",
        " { \"alg\" : \"HS256\" } ",
        "{\"alg\":\"HS256\",\"cty\":\"x\",\"x5t\":\"x\"}",
        "{\"\\u0061lg\":\"HS256\"}",
    };
    assert_each(headers, COUNT(headers), true, 7);
}

static void clocks_may_differ_by_the_leeway(void **state) {
    (void)state;
    static const char *const claims[] = {
        "{\"sub\":\"7\",\"exp\":1799999971}",
        "{\"sub\":\"7\",\"exp\":9223372036854775807}",
        "{\"sub\":\"7\",\"exp\":1800003600,\"nbf\":1800000030}",
        "{\"sub\":\"7\",\"exp\":1800003600,\"iat\":1800000030}",
        "{\"sub\":\"7\",\"exp\":1800003600,\"nbf\":0,\"iat\":0}",
        "{\"sub\":\"7\",\"exp\":1800003600,\"iss\":5,\"aud\":{},\"jti\":[null]}",
    };
    assert_each(claims, COUNT(claims), false, 7);
}

static void each_live_key_verifies(void **state) {
    (void)state;
    const struct secret *keys = rules.secrets.keys;
    struct text old = forge(&keys[1], TEXT("{\"alg\":\"HS256\",\"kid\":\"old\"}"), TEXT(CLAIMS));
    struct text old_without_kid = forge(&keys[1], TEXT(HEADER), TEXT(CLAIMS));
    assert_int_equal(verify(old), 7);
    assert_int_equal(verify(old_without_kid), 7);
    /* the name picks the key: the other is not tried */
    assert_int_equal(
        verify(forge(&keys[1], TEXT("{\"alg\":\"HS256\",\"kid\":\"new\"}"), TEXT(CLAIMS))), 0);
    rules.secrets.count = 1; /* the rotation is over */
    assert_int_equal(verify(old), 0);
    assert_int_equal(verify(old_without_kid), 0);
}

static void issuer_and_audience_are_checked_when_configured(void **state) {
    (void)state;
    static const char *const right[] = {
        "{\"sub\":\"7\",\"exp\":1800003600,\"iss\":\"me\",\"aud\":\"us\"}",
        "{\"sub\":\"7\",\"exp\":1800003600,\"iss\":\"me\",\"aud\":[\"them\",\"us\"]}",
    };
    static const char *const wrong[] = {
        "{\"sub\":\"7\",\"exp\":1800003600}",
        "{\"sub\":\"7\",\"exp\":1800003600,\"iss\":\"me\"}",
        "{\"sub\":\"7\",\"exp\":1800003600,\"aud\":\"us\"}",
        "{\"sub\":\"7\",\"exp\":1800003600,\"iss\":\"Me\",\"aud\":\"us\"}",
        "{\"sub\":\"7\",\"exp\":1800003600,\"iss\":[\"me\"],\"aud\":\"us\"}",
        "{\"sub\":\"7\",\"exp\":1800003600,\"iss\":\"me\",\"aud\":\"them\"}",
        "{\"sub\":\"7\",\"exp\":1800003600,\"iss\":\"me\",\"aud\":[]}",
        "{\"sub\":\"7\",\"exp\":1800003600,\"iss\":\"me\",\"aud\":[\"them\"]}",
        "{\"sub\":\"7\",\"exp\":1800003600,\"iss\":\"me\",\"aud\":[\"us\",1]}",
        "{\"sub\":\"7\",\"exp\":1800003600,\"iss\":\"me\",\"aud\":{\"us\":\"us\"}}",
        "{\"sub\":\"7\",\"exp\":1800003600,\"iss\":\"me\",\"aud\":null}",
    };
    rules.issuer = "me";
    rules.audience = "us";
    assert_each(right, COUNT(right), false, 7);
    assert_each(wrong, COUNT(wrong), false, 0);
}

/* ---- bad tokens ----------------------------------------------------------------------------- */

static void another_algorithm_or_key_is_refused(void **state) {
    (void)state;
    static const char *const headers[] = {
        "{\"alg\":\"none\"}",
        "{\"alg\":\"None\"}",
        "{\"alg\":\"NONE\"}",
        "{\"alg\":\"nOnE\"}",
        "{\"alg\":\"\"}",
        "{\"alg\":\"hs256\"}",
        "{\"alg\":\"HS384\"}",
        "{\"alg\":\"HS512\"}",
        "{\"alg\":\"RS256\"}",
        "{\"alg\":\"ES256\"}",
        "{\"alg\":\"EdDSA\"}",
        "{\"alg\":\"HS256 \"}",
        "{\"alg\":[\"HS256\"]}",
        "{\"alg\":null}",
        "{\"alg\":256}",
        "{\"ALG\":\"HS256\"}",
        "{\"typ\":\"JWT\"}",
        "{}",
        "{\"alg\":\"HS256\",\"typ\":\"JOSE\"}",
        "{\"alg\":\"HS256\",\"typ\":\"\"}",
        "{\"alg\":\"HS256\",\"typ\":null}",
        "{\"alg\":\"HS256\",\"typ\":1}",
        "{\"alg\":\"HS256\",\"crit\":[]}",
        "{\"alg\":\"HS256\",\"crit\":[\"exp\"]}",
        "{\"alg\":\"HS256\",\"crit\":null}",
        "{\"alg\":\"HS256\",\"jwk\":{\"kty\":\"oct\",\"k\":\"AAAA\"}}",
        "{\"alg\":\"HS256\",\"jwk\":null}",
        "{\"alg\":\"HS256\",\"jku\":\"https://example.org/keys\"}",
        "{\"alg\":\"HS256\",\"x5u\":\"https://example.org/keys\"}",
        "{\"alg\":\"HS256\",\"x5c\":[]}",
        "{\"alg\":\"HS256\",\"kid\":\"unknown\"}",
        "{\"alg\":\"HS256\",\"kid\":\"\"}",
        "{\"alg\":\"HS256\",\"kid\":\"NEW\"}",
        "{\"alg\":\"HS256\",\"kid\":null}",
        "{\"alg\":\"HS256\",\"kid\":0}",
        "{\"alg\":\"HS256\",\"kid\":\"../../dev/null\"}",
        "{\"alg\":\"HS256\",\"alg\":\"HS256\"}",
        "{\"alg\":\"none\",\"alg\":\"HS256\"}",
        "{\"alg\":\"HS256\",\"x\":{\"y\":1,\"y\":2}}",
        "[\"HS256\"]",
        "\"HS256\"",
        "null",
        "{\"alg\":\"HS256\"",
        "{\"alg\":\"HS256\"} x",
        "{\"alg\":\"HS256\",}",
        "{'alg':'HS256'}",
        "\xEF\xBB\xBF{\"alg\":\"HS256\"}",
        "{\"alg\":\"HS256\",\"x\":\"\xFF\"}",
        "{\"alg\":\"HS256\\u0000\"}",
        " ",
    };
    assert_each(headers, COUNT(headers), true, 0);
}

static void claims_that_do_not_hold_are_refused(void **state) {
    (void)state;
    static const char *const claims[] = {
        "{\"sub\":\"7\"}",
        "{\"sub\":\"7\",\"exp\":1799999970}",
        "{\"sub\":\"7\",\"exp\":0}",
        "{\"sub\":\"7\",\"exp\":-1}",
        "{\"sub\":\"7\",\"exp\":-9223372036854775808}",
        "{\"sub\":\"7\",\"exp\":9223372036854775808}",
        "{\"sub\":\"7\",\"exp\":18446744073709551616}",
        "{\"sub\":\"7\",\"exp\":99999999999999999999999999}",
        "{\"sub\":\"7\",\"exp\":1e300}",
        "{\"sub\":\"7\",\"exp\":1e999}",
        "{\"sub\":\"7\",\"exp\":1800003600.0}",
        "{\"sub\":\"7\",\"exp\":1800003600.5}",
        "{\"sub\":\"7\",\"exp\":18e8}",
        "{\"sub\":\"7\",\"exp\":\"1800003600\"}",
        "{\"sub\":\"7\",\"exp\":null}",
        "{\"sub\":\"7\",\"exp\":true}",
        "{\"sub\":\"7\",\"exp\":[1800003600]}",
        "{\"sub\":\"7\",\"exp\":NaN}",
        "{\"sub\":\"7\",\"exp\":Infinity}",
        "{\"sub\":\"7\",\"EXP\":1800003600}",
        "{\"sub\":\"7\",\"exp\":1800003600,\"nbf\":1800000031}",
        "{\"sub\":\"7\",\"exp\":1800003600,\"nbf\":\"0\"}",
        "{\"sub\":\"7\",\"exp\":1800003600,\"nbf\":null}",
        "{\"sub\":\"7\",\"exp\":1800003600,\"nbf\":9223372036854775808}",
        "{\"sub\":\"7\",\"exp\":1800003600,\"iat\":1800000031}",
        "{\"sub\":\"7\",\"exp\":1800003600,\"iat\":1.5}",
        "{\"sub\":\"7\",\"exp\":1800003600,\"iat\":false}",
        "{\"exp\":1800003600}",
        "{\"sub\":7,\"exp\":1800003600}",
        "{\"sub\":\"\",\"exp\":1800003600}",
        "{\"sub\":\"0\",\"exp\":1800003600}",
        "{\"sub\":\"-7\",\"exp\":1800003600}",
        "{\"sub\":\"+7\",\"exp\":1800003600}",
        "{\"sub\":\"07\",\"exp\":1800003600}",
        "{\"sub\":\" 7\",\"exp\":1800003600}",
        "{\"sub\":\"7.0\",\"exp\":1800003600}",
        "{\"sub\":\"seven\",\"exp\":1800003600}",
        "{\"sub\":\"9223372036854775808\",\"exp\":1800003600}",
        "{\"sub\":[\"7\"],\"exp\":1800003600}",
        "{\"sub\":null,\"exp\":1800003600}",
        "{\"sub\":\"7\",\"sub\":\"7\",\"exp\":1800003600}",
        "{\"sub\":\"8\",\"sub\":\"7\",\"exp\":1800003600}",
        "{\"sub\":\"7\",\"exp\":1800003600,\"exp\":1800003600}",
        "{\"sub\":\"7\",\"exp\":1,\"\\u0065xp\":1800003600}",
        "{\"sub\":\"7\",\"exp\":1800003600,\"x\":\"\xC0\x80\"}",
        "{\"sub\":\"7\",\"exp\":1800003600,\"x\":\"\\ud800\"}",
        "{\"sub\":\"7\",\"exp\":1800003600} {}",
        "{\"sub\":\"7\",\"exp\":1800003600",
        "[{\"sub\":\"7\",\"exp\":1800003600}]",
        "\"7\"",
        "7",
        "null",
        "{}",
    };
    assert_each(claims, COUNT(claims), false, 0);
}

static void a_signature_that_is_not_ours_is_refused(void **state) {
    (void)state;
    struct text good = forge(&rules.secrets.keys[0], TEXT(HEADER), TEXT(CLAIMS));
    assert_int_equal(verify(good), 7);
    assert_int_equal(verify(forge(&stranger, TEXT(HEADER), TEXT(CLAIMS))), 0);
    assert_int_equal(
        verify(forge(&stranger, TEXT("{\"alg\":\"HS256\",\"kid\":\"new\"}"), TEXT(CLAIMS))), 0);
    /* each bit of the whole token counts: header, claims, dots and signature */
    char *copy = arena_alloc(&arena, good.length);
    for (size_t i = 0; i < good.length; i++) {
        for (int bit = 0; bit < 8; bit++) {
            memcpy(copy, good.data, good.length);
            copy[i] = (char)(copy[i] ^ 1 << bit);
            assert_int_equal(verify((struct text){.data = copy, .length = good.length}), 0);
        }
    }
    /* and so does each byte at its end */
    for (size_t length = 0; length < good.length; length++) {
        assert_int_equal(verify((struct text){.data = good.data, .length = length}), 0);
    }
}

static struct text join(struct text a, const char *b) {
    struct buffer joined = {.arena = &arena};
    buffer_append(&joined, a);
    buffer_append(&joined, text_from(b));
    return buffer_text(&joined);
}

static void other_forms_of_a_token_are_refused(void **state) {
    (void)state;
    struct text good = forge(&rules.secrets.keys[0], TEXT(HEADER), TEXT(CLAIMS));
    size_t signature = 43; /* characters, behind the last dot */
    struct text two = {.data = good.data, .length = good.length - signature - 1};
    static const char *const tails[] = {"=", ".", ".x", " ", "\n", "A", "\t", ",", "%3D"};
    for (size_t i = 0; i < COUNT(tails); i++) {
        assert_int_equal(verify(join(good, tails[i])), 0);
    }
    assert_int_equal(verify(two), 0);
    assert_int_equal(verify(join(two, ".")), 0);
    assert_int_equal(verify(join(two, "..")), 0);
    assert_int_equal(verify(join(TEXT(" "), good.data)), 0);
    assert_int_equal(verify(TEXT("")), 0);
    assert_int_equal(verify(TEXT(".")), 0);
    assert_int_equal(verify(TEXT("..")), 0);
    assert_int_equal(verify(TEXT("...")), 0);
    assert_int_equal(verify(TEXT("....")), 0); /* five segments are an encrypted token */
    assert_int_equal(verify(TEXT("\0.\0.\0")), 0);
}

/* The last character of the signature holds four bits of it and two that must be zero: three other
 * characters would decode to the same bytes. */
static void each_signature_has_one_spelling(void **state) {
    (void)state;
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    struct text good = forge(&rules.secrets.keys[0], TEXT(HEADER), TEXT(CLAIMS));
    char *copy = arena_alloc(&arena, good.length);
    memcpy(copy, good.data, good.length);
    int accepted = 0;
    for (size_t i = 0; i < 64; i++) {
        copy[good.length - 1] = alphabet[i];
        accepted += verify((struct text){.data = copy, .length = good.length}) == 7;
    }
    assert_int_equal(accepted, 1);
}

/* Signed as they stand, so that only the spelling is at fault. */
static void a_segment_that_is_not_base64url_is_refused(void **state) {
    (void)state;
    static const char *const inputs[] = {
        "eyJhbGciOiJIUzI1NiJ9=.eyJzdWIiOiI3IiwiZXhwIjoxODAwMDAzNjAwfQ",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI3IiwiZXhwIjoxODAwMDAzNjAwfQ==",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI3IiwiZXhwIjoxODAwMDAzNjAwfR", /* bits left over */
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI3IiwiZXhwIjoxODAwMDAzNjAwf",  /* one character too few */
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI3IiwiZXhw\nIjoxODAwMDAzNjAwfQ",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI3IiwiZXhw IjoxODAwMDAzNjAwfQ",
        "eyJhbGciOiJIUzI1NiIsIngiOiL/In0.eyJzdWIiOiI3IiwiZXhwIjoxODAwMDAzNjAwfQ",
        "eyJhbGciOiJIUzI1NiJ9.",
        ".eyJzdWIiOiI3IiwiZXhwIjoxODAwMDAzNjAwfQ",
    };
    for (size_t i = 0; i < COUNT(inputs); i++) {
        const struct secret *key = &rules.secrets.keys[0];
        unsigned char code[crypto_auth_hmacsha256_BYTES];
        crypto_auth_hmacsha256_state hash;
        struct buffer token = {.arena = &arena};
        buffer_append(&token, text_from(inputs[i]));
        crypto_auth_hmacsha256_init(&hash, key->bytes, key->length);
        crypto_auth_hmacsha256_update(&hash, (unsigned char *)token.data, token.length);
        crypto_auth_hmacsha256_final(&hash, code);
        buffer_append(&token, TEXT("."));
        append_base64url(&token, code, sizeof code);
        if (verify(buffer_text(&token)) != 0) {
            fail_msg("%s was accepted", inputs[i]);
        }
    }
    assert_int_equal(verify_parts("{\"alg\":\"HS256\"}", CLAIMS), 7); /* the same, spelt rightly */
}

static void a_token_over_4_kib_is_refused(void **state) {
    (void)state;
    struct buffer claims = {.arena = &arena};
    buffer_append(&claims, TEXT("{\"sub\":\"7\",\"exp\":1800003600,\"x\":\""));
    bool accepted_one = false;
    bool refused_one = false;
    for (int i = 0; i < 3100; i++) {
        buffer_append(&claims, TEXT("x"));
        if (i < 2900) {
            continue;
        }
        struct buffer whole = {.arena = &arena};
        buffer_append(&whole, buffer_text(&claims));
        buffer_append(&whole, TEXT("\"}"));
        struct text token = forge(&rules.secrets.keys[0], TEXT(HEADER), buffer_text(&whole));
        assert_int_equal(verify(token), token.length <= JWT_BYTES ? 7 : 0);
        accepted_one |= token.length == JWT_BYTES;
        refused_one |= token.length == JWT_BYTES + 1;
    }
    assert_true(accepted_one && refused_one);
}

/* ---- the secret file ------------------------------------------------------------------------ */

#define S32 "0123456789abcdef0123456789abcdef"

static bool read_secrets(const char *content, mode_t mode, struct secrets *secrets) {
    char error[SECRETS_ERROR_BYTES];
    const char *path = scratch_path("secret");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(content, file);
    fclose(file);
    assert_int_equal(chmod(path, mode), 0);
    bool good = secrets_read(secrets, path, error);
    assert_true(good || strstr(error, path) != NULL);
    assert_true(good || strstr(error, "0123456789") == NULL); /* no secret in a message */
    return good;
}

static void a_secret_file_has_one_or_two_keys(void **state) {
    (void)state;
    struct secrets secrets;
    assert_true(read_secrets("1 " S32, 0600, &secrets));
    assert_int_equal(secrets.count, 1);
    assert_string_equal(secrets.keys[0].kid, "1");
    assert_int_equal(secrets.keys[0].length, 32);
    assert_true(read_secrets("2026-b " S32 "!\nold " S32 "\n", 0640, &secrets));
    assert_int_equal(secrets.count, 2);
    assert_string_equal(secrets.keys[1].kid, "old");
    assert_int_equal(secrets.keys[0].length, 33);
}

static void a_secret_file_at_fault_is_refused(void **state) {
    (void)state;
    static const char *const contents[] = {
        "",
        "\n",
        S32,
        "1 0123456789abcdef0123456789abcde",
        "1 " S32 "\n2 short",
        "1 " S32 "\n1 " S32,
        "1 " S32 "\n2 " S32 "\n3 " S32,
        "1 " S32 "\r\n",
        "1  " S32,
        "1 " S32 " ",
        "1\t" S32,
        " " S32,
        "a/b " S32,
        "\n1 " S32,
        "1 " S32 "\xC3\xA4",
        "12345678901234567890123456789012345678901234567890123456789012345 " S32,
    };
    struct secrets secrets;
    for (size_t i = 0; i < COUNT(contents); i++) {
        if (read_secrets(contents[i], 0600, &secrets)) {
            fail_msg("accepted: %s", contents[i]);
        }
    }
    assert_false(read_secrets("1 " S32, 0604, &secrets));
    char error[SECRETS_ERROR_BYTES];
    assert_false(secrets_read(&secrets, scratch_path("missing"), error));
    assert_false(secrets_read(&secrets, "/", error));
}

#define TEST(name) cmocka_unit_test_setup(name, reset)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(what_is_signed_is_verified),
        TEST(the_example_of_rfc_7515_is_authentic),
        TEST(a_header_may_say_less_or_more_that_does_not_matter),
        TEST(clocks_may_differ_by_the_leeway),
        TEST(each_live_key_verifies),
        TEST(issuer_and_audience_are_checked_when_configured),
        TEST(another_algorithm_or_key_is_refused),
        TEST(claims_that_do_not_hold_are_refused),
        TEST(a_signature_that_is_not_ours_is_refused),
        TEST(other_forms_of_a_token_are_refused),
        TEST(each_signature_has_one_spelling),
        TEST(a_segment_that_is_not_base64url_is_refused),
        TEST(a_token_over_4_kib_is_refused),
        cmocka_unit_test_setup_teardown(a_secret_file_has_one_or_two_keys, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(a_secret_file_at_fault_is_refused, scratch_setup,
                                        scratch_teardown),
    };
    if (sodium_init() < 0) {
        return 1;
    }
    int status = cmocka_run_group_tests(tests, NULL, NULL);
    arena_destroy(&arena);
    return status;
}
