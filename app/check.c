#include "check.h"

#include <stdio.h>

#include "db_admin.h"
#include "endpoints/search.h"
#include "schema.h"

static int check_deal_counts(struct db *db, void (*complain)(const char *sentence)) {
    struct db_statement *wrong =
        db_statement(db, "SELECT s.column1, c.count,"
                         "       (SELECT count(*) FROM deals d WHERE d.status = s.column1) AS real"
                         "  FROM (VALUES ('open'), ('won'), ('lost')) s"
                         "  LEFT JOIN deal_counts c ON c.status = s.column1"
                         " WHERE c.count IS NOT real");
    int found = 0;
    while (db_row(wrong)) {
        struct text status = db_text(wrong, 0);
        char sentence[128];
        snprintf(sentence, sizeof sentence,
                 "deal_counts says %lld deals are %.*s and there are %lld",
                 (long long)db_integer(wrong, 1), (int)status.length, status.data,
                 (long long)db_integer(wrong, 2));
        complain(sentence);
        found++;
    }
    if (db_failure(db) != DB_FINE) {
        complain(db_error(db));
        found++;
    }
    return found;
}

int check_file(const char *path, bool alone, void (*complain)(const char *sentence)) {
    char error[DB_ERROR_BYTES];
    bool current = db_version(path, NULL, error) == SCHEMA_VERSION;
    int found = db_check(path, alone, current ? SEARCH_FEED : NULL, complain);
    if (found > 0 || !current) {
        return found;
    }
    struct db *db = db_open(path, DB_READ, DB_SYNC_FULL, error);
    if (db == NULL) {
        complain(error);
        return 1;
    }
    found = check_deal_counts(db, complain);
    db_close(db);
    return found;
}
