/* For `make static` alone. sodium_init() chooses the fastest form of every cipher that libsodium
 * has, so a static program would carry all of them, with their tables: 150 KB of the curves and
 * ciphers that nothing here uses. These take the place of their choosing. They are weak: whoever
 * comes to use one gets libsodium's own, and so does everybody should libsodium call them otherwise
 * one day. */
int _crypto_onetimeauth_poly1305_pick_best_implementation(void);
int _crypto_scalarmult_curve25519_pick_best_implementation(void);
int _crypto_stream_chacha20_pick_best_implementation(void);
int _crypto_stream_salsa20_pick_best_implementation(void);

#define UNUSED(name)                                                                               \
    __attribute__((weak)) int name(void) {                                                         \
        return 0;                                                                                  \
    }

UNUSED(_crypto_onetimeauth_poly1305_pick_best_implementation)
UNUSED(_crypto_scalarmult_curve25519_pick_best_implementation)
UNUSED(_crypto_stream_chacha20_pick_best_implementation)
UNUSED(_crypto_stream_salsa20_pick_best_implementation)
