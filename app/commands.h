/* commands: what the command line does about users and tokens.
 *
 * Each returns the exit status: 0, or 1 after one sentence on standard error. They may be used
 * while the service runs: a change is one short transaction beside the writer's, waits for the
 * writer at most DB_BUSY_TIMEOUT_MS, and never checkpoints. */
#ifndef LARDER_COMMANDS_H
#define LARDER_COMMANDS_H

#include "settings.h"

/* Prints a token for the user --user. Reads the secret file and no database: whether there is such
 * a user is asked when the token is used. */
int command_token(const struct settings *settings);

/* The user --email; a password is the first line of standard input, 8 to 200 characters, and a
 * terminal does not show it. */
int command_user_add(const struct settings *settings);
int command_user_passwd(const struct settings *settings);
int command_user_disable(const struct settings *settings);
int command_user_enable(const struct settings *settings);

#endif
