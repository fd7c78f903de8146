/* commands: what the command line does about users, tokens, backups and the schema.
 *
 * Each returns the exit status: 0, or 1 after one sentence on standard error. Those about users and
 * tokens, and the backup, may be used while the service runs. A change is one short transaction
 * beside the writer's, waits for the writer at most DB_BUSY_TIMEOUT_MS, and never checkpoints; a
 * backup reads one snapshot. */
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

/* A copy of the database in settings->file, which gets its name when it has been checked. */
int command_backup(const struct settings *settings);

/* Puts the backup in settings->file in the place of the database, which is kept under another name
 * with its log. Refused while a larder uses it. */
int command_restore(const struct settings *settings);

/* Brings the database to the schema of this program, a copy of it as it was put beside it first.
 * Refused while a larder uses it. */
int command_migrate(const struct settings *settings);

#endif
