#include "copy.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "db_admin.h"

static void show_progress(int64_t done, int64_t total) {
    static int64_t shown = -1;
    int64_t percent = total > 0 ? done * 100 / total : 100;
    if (percent != shown && isatty(STDERR_FILENO)) {
        fprintf(stderr, "\rcopied %3lld %% of %lld pages", (long long)percent, (long long)total);
        shown = percent;
    }
}

static void show(const char *step) {
    if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r%-40s%s", step, step[0] == '\0' ? "\r" : "");
    }
}

static char first_fault[DB_ERROR_BYTES];

static void keep_first(const char *sentence) {
    if (first_fault[0] == '\0') {
        snprintf(first_fault, sizeof first_fault, "%s", sentence);
    }
}

bool copy_checked(const char *from, struct draft *draft, char error[static DB_ERROR_BYTES]) {
    char reason[DB_ERROR_BYTES];
    if (!db_copy(from, draft->path, show_progress, reason)) {
        snprintf(error, DB_ERROR_BYTES, "cannot copy %.4000s to %.4000s: %.500s", from, draft->name,
                 reason);
        draft_discard(draft);
        return false;
    }
    show("checking the copy");
    first_fault[0] = '\0';
    int faults = check_file(draft->path, true, keep_first);
    show("");
    if (faults > 0) {
        snprintf(error, DB_ERROR_BYTES,
                 "%.4000s is damaged (%.500s) and was not copied: see 'larder check'", from,
                 first_fault);
        draft_discard(draft);
    }
    return faults == 0;
}
