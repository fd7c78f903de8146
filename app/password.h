/* password: passwords as argon2id hashes (RFC 9106), by libsodium.
 *
 * 5 passes over 7 MiB, one of the settings that OWASP's password storage sheet recommends: the
 * least memory of them, so that a login fits into a machine of 512 MB. A check takes tens of
 * milliseconds and the 7 MiB on purpose, and gives the memory back. A hash says with what settings
 * it was made: older ones go on to work when these change.
 *
 * sodium_init() must have been called. */
#ifndef LARDER_PASSWORD_H
#define LARDER_PASSWORD_H

#include <stdbool.h>

#include "text.h"

enum {
    PASSWORD_HASH_BYTES = 128,
    PASSWORD_PASSES = 5,
    PASSWORD_MEMORY_BYTES = 7 * 1024 * 1024,
};

/* Writes a new hash, with a salt of its own, ending in NUL. False when memory is short. */
bool password_hash(struct text password, char hash[static PASSWORD_HASH_BYTES]);

/* True when the hash is that of the password. An empty hash stands for a user who does not exist:
 * the check takes as long as any other and fails. */
bool password_matches(struct text hash, struct text password);

#endif
