#include "first_start.h"

#include <errno.h>
#include <unistd.h>

#include "db_admin.h"
#include "log.h"
#include "schema.h"
#include "secrets.h"

static bool is_missing(const char *path) {
    return access(path, F_OK) != 0 && errno == ENOENT;
}

static bool make_database(const struct settings *settings) {
    char error[DB_ERROR_BYTES];
    bool demo = settings->init == INIT_DEMO;
    if (!is_missing(settings->db)) {
        return true;
    }
    if (!db_create(settings->db, schema_sql, demo ? schema_demo_sql : NULL, error)) {
        return log_refuse("%s", error);
    }
    log_event("F01", "made the database %s%s", settings->db, demo ? " with the demo data" : "");
    return true;
}

static bool make_secrets(const struct settings *settings) {
    char error[SECRETS_ERROR_BYTES];
    if (settings->secret_file == NULL || !is_missing(settings->secret_file)) {
        return true;
    }
    if (!secrets_create(settings->secret_file, error)) {
        return log_refuse("%s", error);
    }
    log_event("F02", "made the secret file %s", settings->secret_file);
    return true;
}

bool first_start(const struct settings *settings) {
    return settings->init == INIT_NOTHING || (make_database(settings) && make_secrets(settings));
}
