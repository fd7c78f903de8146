#include "draft.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"

/* The draft and what SQLite may leave beside it: a signal removes them. */
enum { PATHS = 4 };
static char paths[PATHS][PATH_MAX];

static void unlink_all(void) {
    for (int i = 0; i < PATHS; i++) {
        if (paths[i][0] != '\0') {
            unlink(paths[i]);
        }
    }
}

static void end_by_signal(int number) {
    static const char sentence[] = "larder: interrupted; no file was left behind\n";
    unlink_all();
    ssize_t written = write(STDERR_FILENO, sentence, sizeof sentence - 1);
    (void)written;
    raise(number); /* the default again, by SA_RESETHAND, as soon as this returns */
}

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static void handle_signals(const struct sigaction *action) {
    for (int i = 0; i < NUMBERS; i++) {
        struct sigaction before;
        sigaction(numbers[i], NULL, &before);
        if (before.sa_handler != SIG_IGN) { /* as under nohup */
            sigaction(numbers[i], action, NULL);
        }
    }
}

static void watch_signals(void) {
    struct sigaction action = {.sa_handler = end_by_signal, .sa_flags = (int)SA_RESETHAND};
    handle_signals(&action);
    signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is an error of the write */
}

/* What stands at the paths from now on may be another process's. */
static void forget(void) {
    struct sigaction action = {.sa_handler = SIG_DFL};
    handle_signals(&action);
    memset(paths, 0, sizeof paths);
}

static bool set_paths(const char *name, char error[static DB_ERROR_BYTES]) {
    static const char *const suffixes[PATHS] = {".part", ".part-journal", ".part-wal", ".part-shm"};
    for (int i = 0; i < PATHS; i++) {
        if (!files_suffixed(name, suffixes[i], paths[i])) {
            snprintf(error, DB_ERROR_BYTES, "the path %.200s... is too long", name);
            return false;
        }
    }
    return true;
}

static bool may_stand(const char *name, bool overwrite, char error[static DB_ERROR_BYTES]) {
    struct stat status;
    if (lstat(name, &status) != 0) {
        return true;
    }
    bool regular = stat(name, &status) == 0 && S_ISREG(status.st_mode);
    if (regular && overwrite) {
        return true;
    }
    snprintf(error, DB_ERROR_BYTES,
             regular ? "%s exists already and was not changed: give another name, or --overwrite"
                     : "%s exists already and is not a regular file: give another name",
             name);
    return false;
}

/* What another process left is taken over, what another process writes is not. */
static bool remove_old(const char *path) {
    int old = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool free = old < 0 || flock(old, LOCK_EX | LOCK_NB) == 0;
    if (free) {
        unlink_all();
    }
    if (old >= 0) {
        close(old);
    }
    return free;
}

/* With the directory locked, so that two who begin at once see each other. */
static bool make(struct draft *draft, int directory, char error[static DB_ERROR_BYTES]) {
    flock(directory, LOCK_EX);
    bool free = remove_old(draft->path);
    draft->descriptor = free ? open(draft->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    if (!free) {
        snprintf(error, DB_ERROR_BYTES, "another larder is writing %s", draft->path);
    } else if (draft->descriptor < 0 || flock(draft->descriptor, LOCK_EX | LOCK_NB) != 0) {
        snprintf(error, DB_ERROR_BYTES, "cannot create %s: %s", draft->path, strerror(errno));
    }
    flock(directory, LOCK_UN);
    return draft->descriptor >= 0;
}

bool draft_open(struct draft *draft, const char *name, bool overwrite,
                char error[static DB_ERROR_BYTES]) {
    char path[PATH_MAX];
    *draft = (struct draft){.name = name, .descriptor = -1};
    if (!may_stand(name, overwrite, error) || !set_paths(name, error)) {
        return false;
    }
    memcpy(draft->path, paths[0], PATH_MAX);
    files_split(name, path);
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) {
        snprintf(error, DB_ERROR_BYTES, "cannot create %s: %s", name, strerror(errno));
        forget();
        return false;
    }
    bool made = make(draft, directory, error);
    close(directory);
    if (made) {
        watch_signals();
    } else {
        forget();
    }
    return made;
}

bool draft_publish(struct draft *draft, bool overwrite, char error[static DB_ERROR_BYTES]) {
    sigset_t ends;
    sigset_t before;
    sigemptyset(&ends);
    for (int i = 0; i < NUMBERS; i++) {
        sigaddset(&ends, numbers[i]);
    }
    sigprocmask(SIG_BLOCK, &ends, &before); /* they promise that nothing was left behind */
    /* link() fails when somebody made the file meanwhile; rename() would replace it */
    bool published =
        fsync(draft->descriptor) == 0 &&
        (overwrite ? rename(draft->path, draft->name) : link(draft->path, draft->name)) == 0 &&
        files_sync_directory(draft->name);
    if (!published) {
        snprintf(error, DB_ERROR_BYTES, "cannot write %s: %s", draft->name, strerror(errno));
    }
    draft_discard(draft);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return published;
}

void draft_discard(struct draft *draft) {
    unlink_all();
    forget();
    if (draft->descriptor >= 0) {
        close(draft->descriptor);
    }
    draft->descriptor = -1;
}
