/* jwt: tokens that say who a request is from (RFC 7519), signed with HMAC-SHA-256 (RFC 7515,
 * "HS256") by libsodium.
 *
 * A token is believed only after its signature has been verified, in constant time, with a key of
 * ours: nothing in it can bring another key or another algorithm. Verifying never writes and never
 * blocks; whether the user exists and is active is the caller's question (endpoints/bearer.h).
 *
 * sodium_init() must have been called; jwt_rules_read() does so. */
#ifndef LARDER_JWT_H
#define LARDER_JWT_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"
#include "handover.h"
#include "secrets.h"
#include "settings.h"
#include "text.h"

enum {
    JWT_BYTES = 4096,  /* a longer token is refused unread */
    JWT_LEEWAY_S = 30, /* by which clocks may differ, at exp, nbf and iat */
};

/* What tokens of this service are signed with and must claim. */
struct jwt_rules {
    struct secrets secrets;
    const char *issuer; /* NULL: iss is not looked at; else set and required */
    const char
        *audience; /* NULL: aud is not looked at; else set and required to be or to contain it */
    int64_t ttl_s;
};

/* Takes the rules from the settings, which stay borrowed, and the secrets from their file. Returns
 * false with one sentence in error. */
bool jwt_rules_read(struct jwt_rules *rules, const struct settings *settings,
                    char error[static SECRETS_ERROR_BYTES]);

/* Leaves the keys to the program that follows; rules may be NULL. The other reads the rules there
 * anew, with the file's keys of now; when they cannot be read it logs, and the keys that were left
 * stay. Returns false when there are none. */
void jwt_rules_give(const struct jwt_rules *rules, struct handover *state);
bool jwt_rules_take(struct jwt_rules *rules, const struct settings *settings,
                    struct handover *state);

/* Appends a token for the user, valid from now (seconds since 1970) for ttl_s. */
void jwt_sign(const struct jwt_rules *rules, int64_t user, int64_t now, int64_t ttl_s,
              struct buffer *token);

/* Returns the user of a valid token, 0 for any other text. Takes scratch memory from the arena. */
int64_t jwt_verify(const struct jwt_rules *rules, struct text token, int64_t now,
                   struct arena *arena);

#endif
