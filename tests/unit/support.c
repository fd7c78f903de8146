#include "support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "db_admin.h"
#include "schema.h"

void support_assert_text(struct text got, struct text expected, const char *file, int line) {
    if (!text_equals(got, expected)) {
        print_error("got      (%zu) %.*s\nexpected (%zu) %.*s\n", got.length,
                    got.length > 2000 ? 2000 : (int)got.length, got.length == 0 ? "" : got.data,
                    expected.length, expected.length > 2000 ? 2000 : (int)expected.length,
                    expected.length == 0 ? "" : expected.data);
        _fail(file, line);
    }
}

struct text exactly(struct text text) {
    char *copy = malloc(text.length == 0 ? 1 : text.length);
    assert_non_null(copy);
    if (text.length > 0) {
        memcpy(copy, text.data, text.length);
    }
    return (struct text){.data = copy, .length = text.length};
}

void release(struct text copy) {
    free((void *)copy.data);
}

/* ---- scratch -------------------------------------------------------------------------------- */

enum { PATH_BYTES = 512, PATHS = 8 };

static char directory[PATH_BYTES];

int scratch_setup(void **state) {
    (void)state;
    const char *parent = getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%s/larder-test-XXXXXX",
             parent == NULL || parent[0] == '\0' ? "/tmp" : parent);
    return mkdtemp(directory) == NULL ? -1 : 0;
}

static int each_file(void (*visit)(const char *path)) {
    DIR *listing = opendir(directory);
    if (listing == NULL) {
        return -1;
    }
    int count = 0;
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            count++;
            if (visit != NULL) {
                visit(scratch_path(entry->d_name));
            }
        }
    }
    closedir(listing);
    return count;
}

static void delete (const char *path) {
    remove(path);
}

int scratch_teardown(void **state) {
    (void)state;
    log_captured();
    each_file(delete);
    return rmdir(directory);
}

const char *scratch_path(const char *name) {
    static char paths[PATHS][2 * PATH_BYTES];
    static int next;
    char *path = paths[next++ % PATHS];
    snprintf(path, sizeof paths[0], "%s/%s", directory, name);
    return path;
}

int scratch_files(void) {
    return each_file(NULL);
}

char *scratch_read(const char *path, size_t *length) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    assert_true(descriptor >= 0);
    assert_int_equal(fstat(descriptor, &status), 0);
    *length = (size_t)status.st_size;
    char *bytes = malloc(*length + 1);
    assert_non_null(bytes);
    assert_int_equal(read(descriptor, bytes, *length), *length);
    close(descriptor);
    return bytes;
}

const char *scratch_database(bool demo) {
    char error[DB_ERROR_BYTES] = "";
    const char *path = scratch_path("db");
    if (!db_create(path, schema_sql, demo ? schema_demo_sql : NULL, error)) {
        fail_msg("%s", error);
    }
    return path;
}

static sqlite3 *open_raw(const char *path) {
    sqlite3 *raw = NULL;
    if (sqlite3_open(path, &raw) != SQLITE_OK) {
        fail_msg("%s: %s", path, sqlite3_errmsg(raw));
    }
    return raw;
}

void scratch_alter(const char *path, const char *sql) {
    sqlite3 *raw = open_raw(path);
    char *message = NULL;
    if (sqlite3_exec(raw, sql, NULL, NULL, &message) != SQLITE_OK) {
        fail_msg("%s: %s", sql, message);
    }
    sqlite3_close(raw);
}

int64_t scratch_ask(const char *path, const char *sql) {
    sqlite3 *raw = open_raw(path);
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(raw, sql, -1, &statement, NULL) != SQLITE_OK ||
        sqlite3_step(statement) != SQLITE_ROW) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(raw));
    }
    int64_t value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(raw);
    return value;
}

struct db *scratch_open(enum db_mode mode) {
    char error[DB_ERROR_BYTES] = "";
    struct db *db = db_open(scratch_path("db"), mode, DB_SYNC_FULL, error);
    if (db == NULL) {
        fail_msg("%s", error);
    }
    return db;
}

/* ---- log ------------------------------------------------------------------------------------ */

static FILE *captured;
static int standard_error = -1;

void log_capture(void) {
    fflush(stderr);
    captured = tmpfile();
    standard_error = dup(STDERR_FILENO);
    if (captured == NULL || standard_error < 0 || dup2(fileno(captured), STDERR_FILENO) < 0) {
        fail_msg("cannot capture standard error");
    }
}

const char *log_captured(void) {
    static char text[4096];
    text[0] = '\0';
    if (captured != NULL) {
        fflush(stderr);
        dup2(standard_error, STDERR_FILENO);
        close(standard_error);
        rewind(captured);
        text[fread(text, 1, sizeof text - 1, captured)] = '\0';
        fclose(captured);
        captured = NULL;
    }
    return text;
}

/* ---- wire ----------------------------------------------------------------------------------- */

static void append_byte(struct buffer *wire, size_t byte) {
    char c = (char)(unsigned char)byte;
    buffer_append(wire, (struct text){.data = &c, .length = 1});
}

void wire_record(struct buffer *wire, int type, int id, struct text content, int padding) {
    append_byte(wire, 1);
    append_byte(wire, (size_t)type);
    append_byte(wire, (size_t)id >> 8);
    append_byte(wire, (size_t)id & 0xFF);
    append_byte(wire, content.length >> 8);
    append_byte(wire, content.length & 0xFF);
    append_byte(wire, (size_t)padding);
    append_byte(wire, 0);
    buffer_append(wire, content);
    for (int i = 0; i < padding; i++) {
        append_byte(wire, 0xAA);
    }
}

void wire_begin(struct buffer *wire, int id, int role, bool keep) {
    char content[8] = {(char)(role >> 8), (char)role, keep ? 1 : 0};
    wire_record(wire, RECORD_BEGIN, id, (struct text){.data = content, .length = sizeof content},
                0);
}

static void append_length(struct buffer *wire, size_t length) {
    if (length > 127) {
        append_byte(wire, length >> 24 | 0x80);
        append_byte(wire, length >> 16 & 0xFF);
        append_byte(wire, length >> 8 & 0xFF);
    }
    append_byte(wire, length & 0xFF);
}

void wire_pair(struct buffer *wire, struct text name, struct text value) {
    append_length(wire, name.length);
    append_length(wire, value.length);
    buffer_append(wire, name);
    buffer_append(wire, value);
}

void wire_pairs(struct buffer *wire, const char *const *pairs) {
    for (; *pairs != NULL; pairs++) {
        const char *equals = strchr(*pairs, '=');
        assert_non_null(equals);
        wire_pair(wire, (struct text){.data = *pairs, .length = (size_t)(equals - *pairs)},
                  text_from(equals + 1));
    }
}

void wire_stream(struct buffer *wire, int type, struct text content, size_t step) {
    while (content.length > 0) {
        size_t part = content.length < step ? content.length : step;
        wire_record(wire, type, 1, (struct text){.data = content.data, .length = part}, 0);
        content.data += part;
        content.length -= part;
    }
    wire_record(wire, type, 1, TEXT(""), 0);
}

void wire_request(struct buffer *wire, const char *const *pairs, struct text body) {
    struct buffer parameters = {.arena = wire->arena};
    wire_begin(wire, 1, ROLE_RESPONDER, true);
    wire_pairs(&parameters, pairs);
    wire_stream(wire, RECORD_PARAMS, buffer_text(&parameters), 65535);
    wire_stream(wire, RECORD_STDIN, body, 65535);
}

/* ---- peer ----------------------------------------------------------------------------------- */

static void join(struct peer *peer) {
    if (peer->sending) {
        pthread_join(peer->sender, NULL);
        peer->sending = false;
    }
    if (peer->listening) {
        pthread_join(peer->listener, NULL);
        peer->listening = false;
    }
}

static void disconnect(struct peer *peer) {
    fastcgi_close(peer->connection);
    peer->connection = NULL;
    join(peer);
    peer_hang_up(peer);
}

void peer_connect(struct peer *peer) {
    int ends[2];
    disconnect(peer);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    struct timeval limit = {.tv_sec = 10};
    setsockopt(ends[1], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    peer->near = ends[0];
    peer->far = ends[1];
    peer->connection = fastcgi_open(ends[0]);
}

int peer_setup(void **state) {
    struct peer *peer = calloc(1, sizeof *peer);
    if (peer == NULL) {
        return -1;
    }
    peer->far = -1;
    peer->id = 1;
    peer_connect(peer);
    *state = peer;
    return 0;
}

int peer_teardown(void **state) {
    struct peer *peer = *state;
    disconnect(peer);
    arena_destroy(&peer->arena);
    arena_destroy(&peer->listener_arena);
    free(peer);
    return 0;
}

void peer_send(struct peer *peer, struct text bytes) {
    if (bytes.length > 0) {
        ssize_t sent = send(peer->far, bytes.data, bytes.length, MSG_NOSIGNAL | MSG_DONTWAIT);
        assert_int_equal(sent, bytes.length);
    }
}

static void *send_script(void *context) {
    const struct peer *peer = context;
    do {
        for (size_t at = 0; at < peer->to_send.length;) {
            size_t left = peer->to_send.length - at;
            ssize_t sent = send(peer->far, peer->to_send.data + at,
                                left < peer->step ? left : peer->step, MSG_NOSIGNAL);
            if (sent <= 0) {
                return NULL;
            }
            at += (size_t)sent;
        }
    } while (peer->endless);
    return NULL;
}

void peer_stream(struct peer *peer, struct text bytes, size_t step, bool endless) {
    join(peer);
    peer->to_send = bytes;
    peer->step = step;
    peer->endless = endless;
    assert_int_equal(pthread_create(&peer->sender, NULL, send_script, peer), 0);
    peer->sending = true;
}

void peer_hang_up(struct peer *peer) {
    if (peer->far >= 0) {
        close(peer->far);
        peer->far = -1;
    }
}

static bool read_exactly(int descriptor, unsigned char *bytes, size_t length) {
    for (size_t got = 0; got < length;) {
        ssize_t part = recv(descriptor, bytes + got, length - got, 0);
        if (part <= 0) {
            return false;
        }
        got += (size_t)part;
    }
    return true;
}

static struct answer read_answer(int descriptor, int expected_id, struct arena *arena) {
    struct answer answer = {.valid = true, .status = -1, .protocol_status = -1};
    struct buffer out = {.arena = arena};
    unsigned char header[RECORD_HEADER_BYTES];
    unsigned char *content = arena_alloc(arena, 65535 + 255);
    while (!answer.ended && read_exactly(descriptor, header, sizeof header)) {
        int type = header[1];
        int id = header[2] << 8 | header[3];
        size_t length = (size_t)header[4] << 8 | header[5];
        if (!read_exactly(descriptor, content, length + header[6])) {
            answer.valid = false;
            break;
        }
        answer.valid &= header[0] == 1;
        if (id == 0) {
            char *copy = arena_alloc(arena, length);
            memcpy(copy, content, length);
            answer.management = (struct text){.data = copy, .length = length};
            answer.management_type = type;
        } else if (id != expected_id) {
            answer.valid &= type == RECORD_END && length == 8 && content[4] == 1;
            answer.refused++;
        } else if (type == RECORD_STDOUT) {
            answer.valid &= !answer.out_ended;
            answer.out_ended = length == 0;
            buffer_append(&out, (struct text){.data = (char *)content, .length = length});
        } else if (type == RECORD_END) {
            answer.valid &= length == 8;
            answer.ended = true;
            answer.status =
                (int64_t)content[0] << 24 | content[1] << 16 | content[2] << 8 | content[3];
            answer.protocol_status = content[4];
        } else {
            answer.valid = false;
        }
    }
    answer.out = buffer_text(&out);
    return answer;
}

static void *listen_for_answer(void *context) {
    struct peer *peer = context;
    peer->heard = read_answer(peer->far, peer->id, &peer->listener_arena);
    return NULL;
}

void peer_listen(struct peer *peer) {
    assert_int_equal(pthread_create(&peer->listener, NULL, listen_for_answer, peer), 0);
    peer->listening = true;
}

struct answer peer_answer(struct peer *peer) {
    if (peer->listening) {
        pthread_join(peer->listener, NULL);
        peer->listening = false;
        return peer->heard;
    }
    return read_answer(peer->far, peer->id, &peer->arena);
}

bool peer_sees_end(struct peer *peer) {
    char byte;
    ssize_t got = recv(peer->far, &byte, 1, 0);
    return got == 0 || (got < 0 && errno == ECONNRESET);
}
