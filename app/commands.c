#define _GNU_SOURCE
#include "commands.h"

#include <sodium.h>
#include <stdio.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "jwt.h"
#include "log.h"
#include "password.h"

enum { PASSWORD_MINIMUM = 8, PASSWORD_MAXIMUM = 200, LINE_BYTES = 4 * PASSWORD_MAXIMUM + 2 };

int command_token(const struct settings *settings) {
    char error[SECRETS_ERROR_BYTES];
    struct jwt_rules rules;
    if (settings->user == 0) {
        return log_sentence("whose token? Give --user ID");
    }
    if (settings->secret_file == NULL) {
        return log_sentence("a token needs the service's secret: give --secret-file PATH");
    }
    if (!jwt_rules_read(&rules, settings, error)) {
        return log_sentence("%s", error);
    }
    struct arena arena = {0};
    struct buffer token = {.arena = &arena};
    jwt_sign(&rules, settings->user, time(NULL), rules.ttl_s, &token);
    printf("%.*s\n", (int)token.length, token.data);
    arena_destroy(&arena);
    return 0;
}

/* ---- passwords ------------------------------------------------------------------------------ */

/* Reads a line from standard input, without its end; a terminal shows a prompt and not what is
 * typed. False when there is none or it is too long. */
static bool read_line(const char *prompt, char line[static LINE_BYTES]) {
    struct termios before;
    bool terminal = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &before) == 0;
    if (terminal) {
        struct termios silent = before;
        silent.c_lflag &= ~(tcflag_t)ECHO;
        fputs(prompt, stderr);
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
    }
    bool got = fgets(line, LINE_BYTES, stdin) != NULL;
    if (terminal) {
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
        fputc('\n', stderr);
    }
    size_t length = got ? strcspn(line, "\n") : 0;
    bool whole = got && (line[length] == '\n' || feof(stdin));
    if (got) {
        line[length] = '\0';
    }
    return whole;
}

/* Returns NULL with the hash of a password, else what is wrong. */
static const char *read_password(char hash[static PASSWORD_HASH_BYTES]) {
    char line[LINE_BYTES];
    char again[LINE_BYTES];
    struct text password;
    const char *fault = NULL;
    if (!read_line("Password: ", line) ||
        (password = text_from(line), text_code_points(password) < PASSWORD_MINIMUM) ||
        text_code_points(password) > PASSWORD_MAXIMUM || !text_is_utf8(password)) {
        fault = "a password is one line of 8 to 200 characters";
    } else if (isatty(STDIN_FILENO) &&
               (!read_line("Once more: ", again) || strcmp(line, again) != 0)) {
        fault = "the two passwords are not the same";
    } else if (sodium_init() < 0 || !password_hash(password, hash)) {
        fault = "there is not enough memory to hash a password";
    }
    sodium_memzero(line, sizeof line);
    sodium_memzero(again, sizeof again);
    return fault;
}

/* ---- users ---------------------------------------------------------------------------------- */

static int fail_by_database(struct db *db) {
    return log_sentence("%s", db_failure(db) == DB_BUSY ? "the database is busy; try again"
                              : db_failure(db) == DB_FULL
                                  ? "the disk is full; nothing was changed"
                                  : "the database failed; nothing was changed");
}

/* Opens the database for one change. NULL after the sentence on standard error. */
static struct db *open_database(const struct settings *settings) {
    char error[DB_ERROR_BYTES];
    struct db *db = db_open(settings->db, DB_GUEST, DB_SYNC_FULL, error);
    if (db == NULL) {
        log_sentence("%s", error);
    }
    return db;
}

/* Runs a statement about --email in a transaction of its own and says what came of it. */
static int change_user(struct db *db, const struct settings *settings,
                       struct db_statement *statement, const char *done) {
    int status = 0;
    db_bind_text(statement, ":email", text_from(settings->email));
    enum db_result result = db_begin(db) ? db_run(statement) : DB_FAILED;
    if (result == DB_UNIQUE) {
        status = log_sentence("there is a user with this email already; nothing was changed");
    } else if (result == DB_DONE && db_changes(db) == 0) {
        status = log_sentence("there is no user with this email");
    } else if (result != DB_DONE || !db_commit(db)) {
        status = fail_by_database(db);
    } else {
        struct db_statement *user = db_statement(db, "SELECT id FROM users WHERE email = :email");
        db_bind_text(user, ":email", text_from(settings->email));
        int64_t id = db_row(user) ? db_integer(user, 0) : 0;
        printf("%s user %lld, %s\n", done, (long long)id, settings->email);
    }
    db_rollback(db);
    return status;
}

static int change_with_password(const struct settings *settings,
                                struct db_statement *(*prepare)(struct db *db), const char *done) {
    char hash[PASSWORD_HASH_BYTES];
    struct db *db = open_database(settings);
    if (db == NULL) {
        return 1;
    }
    int status = 1;
    const char *fault = read_password(hash);
    if (fault != NULL) {
        log_sentence("%s", fault);
    } else {
        struct db_statement *statement = prepare(db);
        db_bind_text(statement, ":hash", text_from(hash));
        if (db_has_parameter(statement, ":name")) {
            db_bind_text(statement, ":name", text_from(settings->name));
        }
        status = change_user(db, settings, statement, done);
    }
    db_close(db);
    return status;
}

static struct db_statement *insert_user(struct db *db) {
    return db_statement(
        db, "INSERT INTO users (email, name, password_hash) VALUES (:email, :name, :hash)");
}

static struct db_statement *change_password(struct db *db) {
    return db_statement(db, "UPDATE users SET password_hash = :hash WHERE email = :email");
}

static int need_email(const struct settings *settings) {
    return settings->email == NULL ? log_sentence("which user? Give --email ADDRESS") : 0;
}

int command_user_add(const struct settings *settings) {
    if (need_email(settings) != 0) {
        return 1;
    }
    if (settings->name == NULL) {
        return log_sentence("what is the user called? Give --name NAME");
    }
    return change_with_password(settings, insert_user, "added");
}

int command_user_passwd(const struct settings *settings) {
    return need_email(settings) != 0
               ? 1
               : change_with_password(settings, change_password, "changed the password of");
}

static int switch_user(const struct settings *settings, int64_t active, const char *done) {
    if (need_email(settings) != 0) {
        return 1;
    }
    struct db *db = open_database(settings);
    if (db == NULL) {
        return 1;
    }
    struct db_statement *statement =
        db_statement(db, "UPDATE users SET active = :active WHERE email = :email");
    db_bind_integer(statement, ":active", active);
    int status = change_user(db, settings, statement, done);
    db_close(db);
    return status;
}

int command_user_disable(const struct settings *settings) {
    return switch_user(settings, 0, "disabled");
}

int command_user_enable(const struct settings *settings) {
    return switch_user(settings, 1, "enabled");
}
