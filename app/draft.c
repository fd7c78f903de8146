#include "draft.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

int draft_create(const char *path, mode_t mode, char draft[static PATH_MAX]) {
    uint32_t random = 0;
    if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random) {
        return -1;
    }
    if (snprintf(draft, PATH_MAX, "%s.new-%08x", path, (unsigned)random) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return open(draft, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
}

bool draft_publish(const char *draft, const char *path) {
    /* rename() would replace what somebody made meanwhile */
    bool published = link(draft, path) == 0;
    int reason = errno;
    unlink(draft);
    errno = reason;
    return published;
}
