#define _GNU_SOURCE
#include "settings.h"

#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "listen.h"
#include "scoreboard.h"
#include "text.h"

enum {
    TOKEN_TTL_MAXIMUM_S = 366 * 86400,
    SLOW_MAXIMUM_MS = 3600 * 1000,
    EMAIL_CHARACTERS = 254,
    NAME_CHARACTERS = 100
};

/* ---- values: each returns false when the text is not one ------------------------------------ */

static bool read_db(struct settings *settings, const char *value) {
    settings->db = value;
    return value[0] != '\0';
}

static bool read_run_dir(struct settings *settings, const char *value) {
    settings->run_dir = value;
    settings->run_dir_given = true;
    return value[0] != '\0';
}

static bool read_listen(struct settings *settings, const char *value) {
    struct listen_address address;
    settings->listen = value[0] == '\0' ? NULL : value;
    return settings->listen == NULL || listen_parse(value, &address);
}

static bool read_readers(struct settings *settings, const char *value) {
    int64_t readers = 0;
    if (!text_integer(text_from(value), 0, SCOREBOARD_READERS, &readers)) {
        return false;
    }
    settings->readers = (int)readers;
    settings->readers_given = true;
    return true;
}

static bool read_sync(struct settings *settings, const char *value) {
    if (strcmp(value, "full") == 0 || strcmp(value, "FULL") == 0) {
        settings->sync = DB_SYNC_FULL;
        return true;
    }
    settings->sync = DB_SYNC_NORMAL;
    return strcmp(value, "normal") == 0 || strcmp(value, "NORMAL") == 0;
}

static bool read_socket_mode(struct settings *settings, const char *value) {
    mode_t mode = 0;
    for (const char *c = value; *c != '\0'; c++) {
        if (*c < '0' || *c > '7' || mode > 0777) {
            return false;
        }
        mode = mode * 8 + (mode_t)(*c - '0');
    }
    settings->socket_mode = mode;
    return mode > 0 && mode <= 0777;
}

/* Visible ASCII; an empty value is the same as none. */
static bool read_visible(const char **setting, const char *value) {
    *setting = value[0] == '\0' ? NULL : value;
    if (strlen(value) > 255) {
        return false;
    }
    for (const char *c = value; *c != '\0'; c++) {
        if (*c <= ' ' || *c > '~') {
            return false;
        }
    }
    return true;
}

static bool read_cors_origin(struct settings *settings, const char *value) {
    return read_visible(&settings->cors_origin, value);
}

static bool read_secret_file(struct settings *settings, const char *value) {
    settings->secret_file = value[0] == '\0' ? NULL : value;
    return true;
}

static bool read_token_issuer(struct settings *settings, const char *value) {
    return read_visible(&settings->token_issuer, value);
}

static bool read_token_audience(struct settings *settings, const char *value) {
    return read_visible(&settings->token_audience, value);
}

static bool read_token_ttl(struct settings *settings, const char *value) {
    return text_integer(text_from(value), 1, TOKEN_TTL_MAXIMUM_S, &settings->token_ttl_s);
}

static bool read_user(struct settings *settings, const char *value) {
    return text_id(text_from(value), &settings->user);
}

/* Not a proof that mail arrives there: one @ between two parts, nothing that is no address. */
static bool read_email(struct settings *settings, const char *value) {
    struct text domain = text_from(value);
    struct text name;
    settings->email = value;
    for (const char *c = value; *c != '\0'; c++) {
        if ((unsigned char)*c <= ' ' || *c == 0x7F) {
            return false;
        }
    }
    return text_is_utf8(domain) && text_code_points(domain) <= EMAIL_CHARACTERS &&
           text_split(&domain, '@', &name) && name.length > 0 && domain.length > 0 &&
           memchr(domain.data, '@', domain.length) == NULL;
}

static bool read_name(struct settings *settings, const char *value) {
    struct text name = text_from(value);
    settings->name = value;
    return text_is_utf8(name) && text_code_points(name) <= NAME_CHARACTERS && !text_is_blank(name);
}

static bool read_probes(struct settings *settings, const char *value) {
    settings->probes = strcmp(value, "1") == 0 || strcmp(value, "on") == 0;
    return settings->probes || strcmp(value, "0") == 0 || strcmp(value, "off") == 0;
}

static bool read_init(struct settings *settings, const char *value) {
    static const char *const names[] = {
        [INIT_NOTHING] = "no", [INIT_EMPTY] = "empty", [INIT_DEMO] = "demo"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(value, names[i]) == 0) {
            settings->init = (enum settings_init)i;
            return true;
        }
    }
    return false;
}

static bool read_slow_ms(struct settings *settings, const char *value) {
    settings->slow_ms = 0;
    return strcmp(value, "off") == 0 ||
           text_integer(text_from(value), 1, SLOW_MAXIMUM_MS, &settings->slow_ms);
}

/* ---- the table ------------------------------------------------------------------------------ */

static const struct option {
    const char *flag, *variable, *argument, *rule, *help;
    bool (*read)(struct settings *settings, const char *value);
} options[] = {
    {"--db", "LARDER_DB", "PATH", "a path", "the database file (larder.db)", read_db},
    {"--run-dir", "LARDER_RUN_DIR", "DIR", "a path",
     "where read.sock, write.sock and login.sock are made (/run/larder)", read_run_dir},
    {"--listen", "LARDER_LISTEN", "PATH|HOST:PORT",
     "a path of up to 107 bytes with a slash in it, or an address and a port such as "
     "127.0.0.1:9000 or [::1]:9000",
     "one socket for everything, served by one process, instead of the three (none)", read_listen},
    {"--readers", "LARDER_READERS", "N", "a number from 0 to 64",
     "reading processes; 0: one process serves all (half the processors)", read_readers},
    {"--sync", "LARDER_SYNC", "full|normal", "full or normal",
     "full: a write that was answered survives a power cut; normal: it may not (full)", read_sync},
    {"--socket-mode", "LARDER_SOCKET_MODE", "MODE", "an octal mode such as 660",
     "who may connect to the sockets (660)", read_socket_mode},
    {"--cors-origin", "LARDER_CORS_ORIGIN", "ORIGIN", "an origin such as https://example.org, or *",
     "the web origin whose pages may call the service (none)", read_cors_origin},
    {"--init", "LARDER_INIT", "no|empty|demo", "no, empty or demo",
     "serve: make the database, and the secret file, where there is none (no)", read_init},
    {"--probes", "LARDER_PROBES", "on|off", "on or off",
     "the routes that comparisons measure: /json, /db, /queries, /greet, /wait (off)", read_probes},
    {"--slow-ms", "LARDER_SLOW_MS", "N|off",
     "a number of milliseconds, an hour at the most, or off",
     "a request that takes so long is logged, with where its time went (1000)", read_slow_ms},
    {"--secret-file", "LARDER_SECRET_FILE", "PATH", "a path",
     "one or two lines 'NAME SECRET' that sign tokens; without it nobody logs in (none)",
     read_secret_file},
    {"--token-issuer", "LARDER_TOKEN_ISSUER", "TEXT", "of visible ASCII characters",
     "what tokens must claim as iss (not looked at)", read_token_issuer},
    {"--token-audience", "LARDER_TOKEN_AUDIENCE", "TEXT", "of visible ASCII characters",
     "what tokens must claim as aud (not looked at)", read_token_audience},
    {"--token-ttl", "LARDER_TOKEN_TTL", "SECONDS", "a number of seconds, a year at the most",
     "how long a token is good (3600)", read_token_ttl},
    {"--ttl", NULL, "SECONDS", "a number of seconds, a year at the most",
     "token: the same, for this one", read_token_ttl},
    {"--user", NULL, "ID", "the id of a user", "token: whose it is", read_user},
    {"--email", NULL, "ADDRESS", "an address such as ada@example.org", "user: which one",
     read_email},
    {"--name", NULL, "NAME", "1 to 100 characters, not blank", "user add: what to call them",
     read_name},
};

enum { OPTIONS = sizeof options / sizeof *options };

void settings_help(FILE *out) {
    for (int i = 0; i < OPTIONS; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s %s", options[i].flag, options[i].argument);
        fprintf(out, "  %-24s %-21s %s\n", left,
                options[i].variable == NULL ? "" : options[i].variable, options[i].help);
    }
}

static bool use(const struct option *option, struct settings *settings, const char *name,
                const char *value, char *error, size_t error_size) {
    if (!option->read(settings, value)) {
        snprintf(error, error_size, "%s must be %s, not '%s'", name, option->rule, value);
        return false;
    }
    return true;
}

/* Options without a value and a variable; the help of their commands names them. */
static bool read_switch(struct settings *settings, const char *name) {
    if (strcmp(name, "--demo") == 0) {
        settings->demo = true;
    } else if (strcmp(name, "--once") == 0) {
        settings->once = true;
    } else if (strcmp(name, "--overwrite") == 0) {
        settings->overwrite = true;
    } else if (strcmp(name, "--no-copy") == 0) {
        settings->copy = false;
    } else {
        return false;
    }
    return true;
}

bool settings_read(struct settings *settings, int argc, char **argv, char *error,
                   size_t error_size) {
    *settings = (struct settings){
        .db = "larder.db",
        .run_dir = "/run/larder",
        .readers = settings_default_readers(),
        .sync = DB_SYNC_FULL,
        .socket_mode = 0660,
        .token_ttl_s = 3600,
        .copy = true,
        .slow_ms = 1000,
    };
    for (int i = 0; i < OPTIONS; i++) {
        const char *value = options[i].variable == NULL ? NULL : getenv(options[i].variable);
        if (value != NULL &&
            !use(&options[i], settings, options[i].variable, value, error, error_size)) {
            return false;
        }
    }
    for (int i = 1; i < argc; i++) {
        size_t length = strcspn(argv[i], "=");
        const struct option *option = NULL;
        for (int k = 0; k < OPTIONS; k++) {
            if (strlen(options[k].flag) == length &&
                strncmp(options[k].flag, argv[i], length) == 0) {
                option = &options[k];
            }
        }
        if (option == NULL) {
            if (read_switch(settings, argv[i])) {
                continue;
            }
            snprintf(error, error_size, "'%s' is not an option: see 'larder help'", argv[i]);
            return false;
        }
        const char *value = argv[i][length] == '=' ? argv[i] + length + 1 : argv[++i];
        if (value == NULL) {
            snprintf(error, error_size, "%s needs a value: %s", option->flag, option->rule);
            return false;
        }
        if (!use(option, settings, option->flag, value, error, error_size)) {
            return false;
        }
    }
    if (settings->listen != NULL && !settings->readers_given) {
        settings->readers = 0;
    }
    return true;
}

/* ---- processors ----------------------------------------------------------------------------- */

/* Reads the whole numbers at the start of a small file's first line, up to most. Returns how many:
 * none where the file says "max" or is not there. */
static int read_numbers(const char *path, int64_t *numbers, int most) {
    char line[64] = "";
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    bool read = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    line[strcspn(line, "\n")] = '\0';
    struct text rest = text_from(line);
    struct text number;
    int count = 0;
    while (read && count < most && text_split(&rest, ' ', &number) &&
           text_integer(number, 1, INT64_MAX / 2, &numbers[count])) {
        count++;
    }
    return count;
}

/* Processors that the control group's quota is worth, rounded up; 0 without a quota. */
static int64_t quota(void) {
    int64_t time[2]; /* microseconds of processor in a period of microseconds */
    bool found = read_numbers("/sys/fs/cgroup/cpu.max", time, 2) == 2 ||
                 (read_numbers("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", &time[0], 1) == 1 &&
                  read_numbers("/sys/fs/cgroup/cpu/cpu.cfs_period_us", &time[1], 1) == 1);
    return found ? (time[0] + time[1] - 1) / time[1] : 0;
}

int settings_default_readers(void) {
    cpu_set_t set;
    int processors = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    int64_t limit = quota();
    if (limit > 0 && limit < processors) {
        processors = (int)limit;
    }
    int readers = (processors + 1) / 2;
    return readers < SCOREBOARD_READERS ? readers : SCOREBOARD_READERS;
}
