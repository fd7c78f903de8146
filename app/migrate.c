#include <stdio.h>
#include <unistd.h>

#include "commands.h"
#include "copy.h"
#include "db_admin.h"
#include "files.h"
#include "lock.h"
#include "log.h"
#include "schema.h"

static bool keep_copy(const char *database, char error[static DB_ERROR_BYTES]) {
    char what[32];
    char kept[PATH_MAX];
    struct draft draft;
    snprintf(what, sizeof what, "before-v%d", SCHEMA_VERSION);
    if (!files_stamped(database, what, kept)) {
        snprintf(error, DB_ERROR_BYTES, "the path of the database is too long");
        return false;
    }
    if (!draft_open(&draft, kept, false, error) || !copy_checked(database, &draft, error)) {
        return false;
    }
    files_inherit_owner(draft.descriptor, database);
    if (!draft_publish(&draft, false, error)) {
        return false;
    }
    printf("the database before is kept as %s\n", kept);
    return true;
}

static void tell(const char *name) {
    printf("applied %s\n", name);
}

static int migrate(const struct settings *settings) {
    char error[DB_ERROR_BYTES];
    if (settings->copy && !keep_copy(settings->db, error)) {
        return log_sentence("%s; the database was not changed ('--no-copy' does without a copy)",
                            error);
    }
    if (!db_migrate(settings->db, schema_migrations, tell, error)) {
        return log_sentence("%s", error);
    }
    printf("%s has schema version %d\n", settings->db, SCHEMA_VERSION);
    return 0;
}

int command_migrate(const struct settings *settings) {
    char error[DB_ERROR_BYTES];
    int version = db_version(settings->db, NULL, error);
    if (version < 0) {
        return log_sentence("%s", error);
    }
    if (version == SCHEMA_VERSION) {
        printf("%s has schema version %d already\n", settings->db, SCHEMA_VERSION);
        return 0;
    }
    int lock = lock_database(settings->db);
    if (lock < 0) {
        return 1;
    }
    int status = migrate(settings);
    close(lock);
    return status;
}
