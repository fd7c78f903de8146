#define _GNU_SOURCE
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"
#include "text.h"

#ifndef LARDER_VERSION
#error "LARDER_VERSION comes from the Makefile"
#endif

#define OWN_LINK "/proc/self/exe"

static char **arguments;
static char path[PATH_MAX];

const char *program_version(void) {
    return LARDER_VERSION;
}

/* ---- the path ------------------------------------------------------------------------------- */

/* Who starts a program may call it by any name. Without /proc the name is all there is. */
static bool leads_here(const char *candidate) {
    struct stat own;
    struct stat other;
    if (stat(candidate, &other) != 0) {
        return false;
    }
    return stat(OWN_LINK, &own) != 0 || (own.st_dev == other.st_dev && own.st_ino == other.st_ino);
}

static bool try_path(const char *directory, size_t length, const char *name) {
    char here[PATH_MAX] = "";
    char candidate[PATH_MAX];
    if (directory[0] != '/' && getcwd(here, sizeof here) == NULL) {
        return false;
    }
    int size = snprintf(candidate, sizeof candidate, "%s%s%.*s/%s", here,
                        directory[0] == '/' ? "" : "/", (int)length, directory, name);
    if (size >= (int)sizeof candidate || !leads_here(candidate)) {
        return false;
    }
    program_set_path(candidate);
    return true;
}

static bool find(const char *name) {
    const char *slash = strrchr(name, '/');
    if (slash != NULL) { /* "/larder" has the root for its directory, of no length */
        return try_path(name, (size_t)(slash - name), slash + 1);
    }
    const char *variable = getenv("PATH");
    struct text rest = text_from(variable == NULL ? "" : variable);
    struct text directory;
    while (text_split(&rest, ':', &directory)) {
        if (directory.length > 0 && try_path(directory.data, directory.length, name)) {
            return true;
        }
    }
    return false;
}

void program_remember(char **argv) {
    arguments = argv;
    if (!find(argv[0])) {
        ssize_t length = readlink(OWN_LINK, path, sizeof path - 1);
        path[length < 0 ? 0 : length] = '\0';
    }
}

const char *program_path(void) {
    return path;
}

void program_set_path(const char *new_path) {
    snprintf(path, sizeof path, "%s", new_path);
}

/* ---- the file ------------------------------------------------------------------------------- */

int program_open(void) {
    return open(path, O_PATH | O_CLOEXEC);
}

int program_open_of(pid_t process) {
    char link[32];
    snprintf(link, sizeof link, "/proc/%ld/exe", (long)process);
    int program = open(link, O_PATH | O_CLOEXEC);
    return program >= 0 ? program : program_open();
}

void program_execute(int program, const char *command) {
    int count = 0;
    while (arguments[count] != NULL) {
        count++;
    }
    char **copy = malloc((size_t)(count + 1) * sizeof *copy);
    if (copy == NULL) {
        log_out_of_memory();
    }
    memcpy(copy, arguments, (size_t)(count + 1) * sizeof *copy);
    if (command != NULL) {
        copy[1] = (char *)command;
    }
    fexecve(program, copy, environ);
    int reason = errno;
    free(copy);
    errno = reason;
}
