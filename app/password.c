#include "password.h"

#include <assert.h>
#include <sodium.h>

static_assert(PASSWORD_HASH_BYTES == crypto_pwhash_STRBYTES, "libsodium's size of a hash");

/* Of no password: salt and result are random. */
static const char nobody[] =
    "$argon2id$v=19$m=7168,t=5,p=1$f0GrKm0FklyuTAGpIdtk7A$gZmcvc5Ipof+Az4fXmc+Ho675nYluT7CYP3uTYxM7lI";

bool password_hash(struct text password, char hash[static PASSWORD_HASH_BYTES]) {
    return crypto_pwhash_str_alg(hash, password.data, password.length, PASSWORD_PASSES,
                                 PASSWORD_MEMORY_BYTES, crypto_pwhash_ALG_ARGON2ID13) == 0;
}

bool password_matches(struct text hash, struct text password) {
    char copy[PASSWORD_HASH_BYTES] = {0};
    bool exists = hash.length > 0 && hash.length < sizeof copy;
    if (!exists) {
        hash = text_from(nobody);
    }
    memcpy(copy, hash.data, hash.length);
    return crypto_pwhash_str_verify(copy, password.data, password.length) == 0 && exists;
}
