#include "db_wal.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum {
    GATHER_BYTES = 64 * 1024, /* fifteen frames */
    FRAME_HEADER_BYTES = 24,
    COMMIT_OFFSET = 4, /* in the header: the size of the database after a commit, otherwise 0 */
    COMMIT_BYTES = 4,
};

struct log_file {
    sqlite3_file file;
    sqlite3_int64 start; /* where in the file the gathered bytes belong */
    int length;
    bool commits; /* the last header was a commit's */
    /* here the system's file */
};

static char gathered[GATHER_BYTES]; /* pages of zeros until the first write */
static sqlite3_vfs *below;

static struct log_file *log_of(sqlite3_file *file) {
    return (struct log_file *)file;
}

static sqlite3_file *real(sqlite3_file *file) {
    return &(log_of(file) + 1)->file;
}

static int leave(sqlite3_file *file) {
    struct log_file *log = log_of(file);
    if (log->length == 0) {
        return SQLITE_OK;
    }
    int code = real(file)->pMethods->xWrite(real(file), gathered, log->length, log->start);
    if (code == SQLITE_OK) {
        log->length = 0;
    }
    return code;
}

/* The log grows at its end. A header before that end, while frames of an open transaction wait
 * here, means that the frames from there on were rolled back. */
static void take_header(struct log_file *log, const char *header, sqlite3_int64 offset) {
    static const char nothing[COMMIT_BYTES];
    log->commits = memcmp(header + COMMIT_OFFSET, nothing, COMMIT_BYTES) != 0;
    if (offset < log->start + log->length) {
        log->length = offset > log->start ? (int)(offset - log->start) : 0;
    }
}

static int log_write(sqlite3_file *file, const void *data, int amount, sqlite3_int64 offset) {
    struct log_file *log = log_of(file);
    if (amount == FRAME_HEADER_BYTES) {
        take_header(log, data, offset);
    } else if (offset == 0) { /* the log's own header: it begins anew */
        log->length = 0;
    }
    bool appends = offset == log->start + log->length;
    if (!appends || log->length + amount > GATHER_BYTES) {
        int code = leave(file);
        if (code != SQLITE_OK) {
            return code;
        }
    }
    if (amount > GATHER_BYTES) { /* the largest page and its header do not fit */
        return real(file)->pMethods->xWrite(real(file), data, amount, offset);
    }
    if (log->length == 0) {
        log->start = offset;
    }
    memcpy(gathered + log->length, data, (size_t)amount);
    log->length += amount;
    return log->commits || offset == 0 ? leave(file) : SQLITE_OK;
}

static int log_read(sqlite3_file *file, void *data, int amount, sqlite3_int64 offset) {
    const struct log_file *log = log_of(file);
    bool apart = offset + amount <= log->start || offset >= log->start + log->length;
    int code = apart ? SQLITE_OK : leave(file);
    return code != SQLITE_OK ? code : real(file)->pMethods->xRead(real(file), data, amount, offset);
}

/* What waits here then is no commit's. */
static int log_sync(sqlite3_file *file, int flags) {
    return real(file)->pMethods->xSync(real(file), flags);
}

static int log_truncate(sqlite3_file *file, sqlite3_int64 size) {
    int code = SQLITE_OK;
    if (size <= log_of(file)->start) {
        log_of(file)->length = 0;
    } else {
        code = leave(file);
    }
    return code != SQLITE_OK ? code : real(file)->pMethods->xTruncate(real(file), size);
}

static int log_size(sqlite3_file *file, sqlite3_int64 *size) {
    return real(file)->pMethods->xFileSize(real(file), size);
}

static int log_close(sqlite3_file *file) {
    return real(file)->pMethods->xClose(real(file));
}

static int log_lock(sqlite3_file *file, int level) {
    return real(file)->pMethods->xLock(real(file), level);
}

static int log_unlock(sqlite3_file *file, int level) {
    return real(file)->pMethods->xUnlock(real(file), level);
}

static int log_is_reserved(sqlite3_file *file, int *reserved) {
    return real(file)->pMethods->xCheckReservedLock(real(file), reserved);
}

static int log_control(sqlite3_file *file, int question, void *answer) {
    return real(file)->pMethods->xFileControl(real(file), question, answer);
}

static int log_sector_size(sqlite3_file *file) {
    return real(file)->pMethods->xSectorSize(real(file));
}

static int log_characteristics(sqlite3_file *file) {
    return real(file)->pMethods->xDeviceCharacteristics(real(file));
}

static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = log_close,
    .xRead = log_read,
    .xWrite = log_write,
    .xTruncate = log_truncate,
    .xSync = log_sync,
    .xFileSize = log_size,
    .xLock = log_lock,
    .xUnlock = log_unlock,
    .xCheckReservedLock = log_is_reserved,
    .xFileControl = log_control,
    .xSectorSize = log_sector_size,
    .xDeviceCharacteristics = log_characteristics,
};

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                     int *given) {
    (void)vfs;
    if ((flags & SQLITE_OPEN_WAL) == 0) {
        return below->xOpen(below, name, file, flags, given);
    }
    *log_of(file) = (struct log_file){0};
    int code = below->xOpen(below, name, real(file), flags, given);
    if (code == SQLITE_OK) { /* with methods it would be closed */
        file->pMethods = &methods;
    }
    return code;
}

const char *db_wal_vfs(void) {
    static sqlite3_vfs ours;
    if (below == NULL) {
        below = sqlite3_vfs_find(NULL);
        ours = *below;
        ours.zName = "larder";
        ours.szOsFile += (int)sizeof(struct log_file);
        ours.xOpen = open_file;
        ours.pNext = NULL;
        sqlite3_vfs_register(&ours, 0);
    }
    return ours.zName;
}
