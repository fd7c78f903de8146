#define _GNU_SOURCE
#include "secrets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "draft.h"
#include "text.h"

enum { FILE_BYTES = SECRETS * (SECRET_KID_BYTES + SECRET_MAXIMUM_BYTES + 8) };

/* Returns what keeps the file from being used, NULL when nothing does. */
static const char *file_fault(int descriptor) {
    struct stat status;
    if (descriptor < 0 || fstat(descriptor, &status) != 0) {
        return strerror(errno);
    }
    if (!S_ISREG(status.st_mode)) {
        return "it is not a file";
    }
    if ((status.st_mode & S_IROTH) != 0) {
        return "everybody may read it; take that right away with 'chmod o-r'";
    }
    return NULL;
}

/* Returns the length of the file's content, -1 with a sentence in error. */
static ssize_t read_file(const char *path, char content[static FILE_BYTES],
                         char error[static SECRETS_ERROR_BYTES]) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const char *fault = file_fault(descriptor);
    ssize_t length = fault == NULL ? read(descriptor, content, FILE_BYTES) : -1;
    if (length < 0) {
        snprintf(error, SECRETS_ERROR_BYTES, "cannot use the secret file %s: %s", path,
                 fault != NULL ? fault : strerror(errno));
    }
    if (descriptor >= 0) {
        close(descriptor);
    }
    return length;
}

static bool is_visible(struct text text) {
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] <= ' ' || text.data[i] > '~') {
            return false;
        }
    }
    return true;
}

/* Reads a line; returns what is wrong with it, NULL when nothing is. */
static const char *read_line(struct secrets *secrets, struct text line) {
    struct text kid;
    struct text secret = line;
    text_split(&secret, ' ', &kid);
    if (secrets->count == SECRETS) {
        return "has more than two keys";
    }
    if (secret.data == NULL || !is_visible(secret)) {
        return "is not of lines 'NAME SECRET', with visible ASCII characters alone";
    }
    if (kid.length < 1 || kid.length > SECRET_KID_BYTES || !text_is_token(kid)) {
        return "has a key whose name is not 1 to 64 of A-Z a-z 0-9 . _ -";
    }
    if (secret.length < SECRET_MINIMUM_BYTES || secret.length > SECRET_MAXIMUM_BYTES) {
        return "has a secret that is not 32 to 512 characters long";
    }
    struct secret *key = &secrets->keys[secrets->count];
    memcpy(key->kid, kid.data, kid.length);
    memcpy(key->bytes, secret.data, secret.length);
    key->length = secret.length;
    if (secrets->count++ == 1 && strcmp(secrets->keys[0].kid, key->kid) == 0) {
        return "has two keys of the same name";
    }
    return NULL;
}

bool secrets_read(struct secrets *secrets, const char *path,
                  char error[static SECRETS_ERROR_BYTES]) {
    char content[FILE_BYTES];
    *secrets = (struct secrets){0};
    ssize_t length = read_file(path, content, error);
    if (length < 0) {
        return false;
    }
    const char *fault = length == FILE_BYTES ? "is too long" : NULL;
    struct text rest = {.data = content, .length = (size_t)length};
    struct text line;
    while (fault == NULL && text_split(&rest, '\n', &line)) {
        if (line.length > 0 || rest.length > 0) { /* not behind the last line end */
            fault = read_line(secrets, line);
        }
    }
    if (fault == NULL && secrets->count == 0) {
        fault = "is empty: a line is 'NAME SECRET'";
    }
    explicit_bzero(content, sizeof content);
    if (fault != NULL) {
        snprintf(error, SECRETS_ERROR_BYTES, "the secret file %s %s", path, fault);
    }
    return fault == NULL;
}

/* Writes a key's line. Returns false with errno set. */
static bool write_key(int descriptor) {
    unsigned char random[SECRET_MINIMUM_BYTES];
    char line[2 * sizeof random + 4] = "1 ";
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) {
        return false;
    }
    for (size_t i = 0; i < sizeof random; i++) {
        snprintf(line + 2 + 2 * i, 3, "%02x", random[i]);
    }
    line[sizeof line - 2] = '\n';
    ssize_t length = (ssize_t)sizeof line - 1;
    bool written = write(descriptor, line, (size_t)length) == length && fsync(descriptor) == 0;
    explicit_bzero(random, sizeof random);
    explicit_bzero(line, sizeof line);
    return written;
}

bool secrets_create(const char *path, char error[static SECRETS_ERROR_BYTES]) {
    char reason[DB_ERROR_BYTES];
    struct draft draft;
    bool created = draft_open(&draft, path, false, reason);
    if (created && !write_key(draft.descriptor)) {
        snprintf(reason, sizeof reason, "cannot write %s: %s", path, strerror(errno));
        draft_discard(&draft);
        created = false;
    }
    created = created && draft_publish(&draft, false, reason);
    if (!created) {
        snprintf(error, SECRETS_ERROR_BYTES, "cannot make the secret file (%.*s)",
                 SECRETS_ERROR_BYTES - 32, reason);
    }
    return created;
}
