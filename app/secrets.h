/* secrets: the keys that sign tokens, from a file.
 *
 *     1 0f6c…64 hexadecimal characters…9a
 *
 * One line a key: its name (kid, up to 64 of A-Z a-z 0-9 . _ -), a space, and the secret: 32 to 512
 * visible ASCII characters, taken as they stand. The first line signs. A second line may hold the
 * key that signed before, whose tokens are still accepted: so a key is changed without a user
 * noticing.
 *
 * The structure owns its bytes and is read once, before the workers are forked. */
#ifndef LARDER_SECRETS_H
#define LARDER_SECRETS_H

#include <stdbool.h>
#include <stddef.h>

enum {
    SECRETS = 2, /* live at once */
    SECRET_KID_BYTES = 64,
    SECRET_MINIMUM_BYTES = 32, /* of HMAC-SHA-256's key, RFC 7518 section 3.2 */
    SECRET_MAXIMUM_BYTES = 512,
    SECRETS_ERROR_BYTES = 256,
};

struct secret {
    char kid[SECRET_KID_BYTES + 1];
    unsigned char bytes[SECRET_MAXIMUM_BYTES];
    size_t length;
};

struct secrets {
    struct secret keys[SECRETS]; /* the first one signs */
    int count;
};

/* Reads the file. Returns false with one sentence in error when it cannot be read, everybody may
 * read it, or a line is not as above. */
bool secrets_read(struct secrets *secrets, const char *path,
                  char error[static SECRETS_ERROR_BYTES]);

/* Makes a file with one random key, for its owner alone; it is on the disk when this returns.
 * Returns false with one sentence in error when that fails or there is such a file already. */
bool secrets_create(const char *path, char error[static SECRETS_ERROR_BYTES]);

#endif
