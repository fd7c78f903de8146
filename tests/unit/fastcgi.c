/* The protocol against a scripted web server. */
#include "fastcgi.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "request.h"
#include "support.h"

enum { CLOSE_LIMIT_MS = 500, HANG_LIMIT_S = 60 };

static const char *const get[] = {"REQUEST_METHOD=GET", "REQUEST_URI=/products/1", NULL};

static const char *const post[] = {"REQUEST_METHOD=POST", "REQUEST_URI=/products",
                                   "CONTENT_TYPE=application/json", "CONTENT_LENGTH=9", NULL};

#define POST_BODY TEXT("{\"id\": 1}")

/* ---- helpers -------------------------------------------------------------------------------- */

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static struct buffer wire_in(struct peer *peer) {
    return (struct buffer){.arena = &peer->arena};
}

static bool is_closed(int descriptor) {
    return fcntl(descriptor, F_GETFD) == -1 && errno == EBADF;
}

static int open_descriptors(void) {
    int count = 0;
    for (int i = 0; i < 256; i++) {
        count += !is_closed(i);
    }
    return count;
}

/* All parameters as "NAME=value" lines. */
static struct text parameters(struct peer *peer) {
    struct buffer all = wire_in(peer);
    struct text name;
    struct text value;
    for (size_t i = 0; fastcgi_parameter(peer->connection, &i, &name, &value);) {
        buffer_append(&all, name);
        buffer_append(&all, TEXT("="));
        buffer_append(&all, value);
        buffer_append(&all, TEXT("\n"));
    }
    return buffer_text(&all);
}

/* Waits for the rest of a request that comes in parts. Returns whether it is one. */
static bool receive(struct peer *peer) {
    enum fastcgi_state state = FASTCGI_PARTLY;
    while ((state = fastcgi_receive(peer->connection, &peer->arena)) == FASTCGI_PARTLY) {
        struct pollfd readable = {.fd = peer->near, .events = POLLIN};
        assert_int_equal(poll(&readable, 1, HANG_LIMIT_S * 1000), 1);
    }
    return state == FASTCGI_REQUEST;
}

static struct text body(struct peer *peer) {
    size_t length = 0;
    struct text body = fastcgi_body(peer->connection, &length);
    assert_int_equal(length, body.length);
    return body;
}

static bool answer(struct peer *peer, struct text text) {
    return fastcgi_send(peer->connection, text, TEXT(""));
}

static void assert_answer(struct peer *peer, struct text expected) {
    struct answer got = peer_answer(peer);
    assert_true(got.valid);
    assert_true(got.out_ended);
    assert_true(got.ended);
    assert_int_equal(got.status, 0);
    assert_int_equal(got.protocol_status, 0);
    assert_text(got.out, expected);
}

/* Serves what the peer has sent: these parameters, this body. Then the connection is kept. */
static void assert_serves(struct peer *peer, struct text expected_parameters,
                          struct text expected_body) {
    assert_true(receive(peer));
    assert_text(parameters(peer), expected_parameters);
    assert_text(body(peer), expected_body);
    assert_true(answer(peer, TEXT("Status: 200 OK\r\n\r\nfine")));
    assert_answer(peer, TEXT("Status: 200 OK\r\n\r\nfine"));
}

static void assert_serves_get(struct peer *peer) {
    struct buffer wire = wire_in(peer);
    wire_request(&wire, get, TEXT(""));
    peer_send(peer, buffer_text(&wire));
    assert_serves(peer, TEXT("REQUEST_METHOD=GET\nREQUEST_URI=/products/1\n"), TEXT(""));
}

/* The same up to the request. */
static bool receive_request(struct peer *peer, struct request *request) {
    static uint64_t random_state = 1;
    enum fastcgi_state state = FASTCGI_PARTLY;
    do {
        struct pollfd readable = {.fd = peer->near, .events = POLLIN};
        assert_int_equal(poll(&readable, 1, HANG_LIMIT_S * 1000), 1);
        *request = (struct request){.arena = &peer->arena, .random = &random_state};
        state = request_receive(request, peer->connection);
    } while (state == FASTCGI_PARTLY);
    return state == FASTCGI_REQUEST;
}

static void assert_closes_quickly(struct peer *peer) {
    int64_t before = now_ms();
    fastcgi_close(peer->connection);
    peer->connection = NULL;
    assert_in_range(now_ms() - before, 0, CLOSE_LIMIT_MS);
    assert_true(is_closed(peer->near));
}

/* ---- kept connections ----------------------------------------------------------------------- */

static void
a_kept_connection_serves_two_requests_and_the_second_sees_only_its_own_parameters(void **state) {
    struct peer *peer = *state;
    struct buffer first = wire_in(peer);
    struct buffer second = wire_in(peer);
    wire_request(&first, post, POST_BODY);
    wire_request(&second, (const char *const[]){"REQUEST_METHOD=GET", NULL}, TEXT(""));
    peer_send(peer, buffer_text(&first));
    assert_serves(peer,
                  TEXT("REQUEST_METHOD=POST\nREQUEST_URI=/products\n"
                       "CONTENT_TYPE=application/json\nCONTENT_LENGTH=9\n"),
                  POST_BODY);
    peer_send(peer, buffer_text(&second));
    assert_serves(peer, TEXT("REQUEST_METHOD=GET\n"), TEXT(""));
}

static void a_kept_connection_serves_ten_requests(void **state) {
    struct peer *peer = *state;
    for (int i = 0; i < 10; i++) {
        char number[32];
        char expected[64];
        snprintf(number, sizeof number, "N=%d", i);
        snprintf(expected, sizeof expected, "N=%d\n", i);
        struct buffer wire = wire_in(peer);
        wire_request(&wire, (const char *const[]){number, NULL}, text_from(number));
        peer_send(peer, buffer_text(&wire));
        assert_serves(peer, text_from(expected), text_from(number));
        assert_int_equal(fastcgi_descriptor(peer->connection), peer->near);
    }
}

static void a_connection_that_was_not_asked_to_be_kept_closes_after_the_answer(void **state) {
    struct peer *peer = *state;
    struct buffer wire = wire_in(peer);
    wire_begin(&wire, 1, ROLE_RESPONDER, false);
    wire_stream(&wire, RECORD_PARAMS, TEXT(""), 1);
    wire_stream(&wire, RECORD_STDIN, TEXT(""), 1);
    peer_send(peer, buffer_text(&wire));
    assert_true(receive(peer));
    assert_text(body(peer), TEXT(""));
    int64_t before = now_ms();
    assert_false(answer(peer, TEXT("\r\n")));
    assert_in_range(now_ms() - before, 0, CLOSE_LIMIT_MS);
    assert_answer(peer, TEXT("\r\n"));
    assert_closes_quickly(peer);
    assert_true(peer_sees_end(peer));
}

static void a_peer_that_hangs_up_after_an_answer_is_told_apart_from_a_request(void **state) {
    struct peer *peer = *state;
    assert_serves_get(peer);
    peer_hang_up(peer);
    assert_false(receive(peer));
    assert_closes_quickly(peer);
}

static void a_body_that_nobody_looks_at_is_not_taken_for_the_next_request(void **state) {
    struct peer *peer = *state;
    struct buffer whole = wire_in(peer);
    struct buffer wire = wire_in(peer);
    wire_request(&whole, get, TEXT("")); /* looks like a request */
    wire_request(&wire, post, buffer_text(&whole));
    peer_send(peer, buffer_text(&wire));
    assert_true(receive(peer));
    assert_true(answer(peer, TEXT("")));
    assert_answer(peer, TEXT(""));
    assert_serves_get(peer);
}

static void a_body_that_comes_in_parts_arrives(void **state) {
    struct peer *peer = *state;
    struct buffer wire = wire_in(peer);
    size_t length = (size_t)100 * 1024;
    struct text content = {arena_zalloc(&peer->arena, length), length};
    wire_request(&wire, post, content);
    peer_stream(peer, buffer_text(&wire), 4096, false);
    assert_true(receive(peer));
    assert_text(body(peer), content);
    assert_true(answer(peer, TEXT("")));
    assert_answer(peer, TEXT(""));
    assert_serves_get(peer);
}

/* ---- peers that die ------------------------------------------------------------------------- */

static void a_peer_that_closes_before_it_sends_anything_makes_no_request(void **state) {
    struct peer *peer = *state;
    peer_hang_up(peer);
    int64_t before = now_ms();
    assert_false(receive(peer));
    assert_in_range(now_ms() - before, 0, CLOSE_LIMIT_MS);
    assert_closes_quickly(peer);
}

/* Sends the first bytes of the request and hangs up. Returns true when that was a request to act
 * on. */
static bool acted_on_after(struct peer *peer, struct text sent, struct text expected_body) {
    struct request request;
    peer_connect(peer);
    peer_send(peer, sent);
    peer_hang_up(peer);
    bool whole = receive_request(peer, &request) && request.body_state == BODY_WHOLE;
    if (whole) {
        assert_text(request.body, expected_body);
        assert_false(answer(peer, TEXT("Status: 204 No Content\r\n\r\n")));
    }
    assert_closes_quickly(peer);
    arena_reset(&peer->arena);
    return whole;
}

static void a_peer_that_dies_at_any_byte_of_a_request_has_not_made_one(void **state) {
    static const struct {
        const char *const *pairs;
        struct text body;
    } cases[] = {{post, {"{\"id\": 1}", 9}}, {get, {"", 0}}};
    struct peer *peer = *state;
    int descriptors = open_descriptors();
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct arena arena = {0};
        struct buffer wire = {.arena = &arena};
        wire_request(&wire, cases[i].pairs, cases[i].body);
        for (size_t n = 0; n < wire.length; n++) {
            struct text sent = {.data = wire.data, .length = n};
            if (acted_on_after(peer, sent, cases[i].body)) {
                fail_msg("acted on the first %zu of %zu bytes", n, wire.length);
            }
        }
        assert_true(acted_on_after(peer, buffer_text(&wire), cases[i].body));
        arena_destroy(&arena);
    }
    peer_connect(peer);
    assert_int_equal(open_descriptors(), descriptors);
}

static void a_peer_that_dies_at_any_byte_of_a_second_request_has_not_made_it(void **state) {
    struct peer *peer = *state;
    struct arena arena = {0};
    struct buffer wire = {.arena = &arena};
    wire_request(&wire, post, POST_BODY);
    for (size_t n = 0; n < wire.length; n++) {
        struct request request;
        peer_connect(peer);
        assert_serves_get(peer);
        peer_send(peer, (struct text){.data = wire.data, .length = n});
        peer_hang_up(peer);
        assert_false(receive_request(peer, &request) && request.body_state == BODY_WHOLE);
        assert_closes_quickly(peer);
        arena_reset(&peer->arena);
    }
    arena_destroy(&arena);
}

static void *read_some_and_hang_up(void *context) {
    struct peer *peer = context;
    char some[4096];
    recv(peer->far, some, sizeof some, 0);
    peer_hang_up(peer);
    return NULL;
}

static void
a_peer_that_closes_while_the_answer_is_written_costs_the_connection_and_no_more(void **state) {
    struct peer *peer = *state;
    size_t length = (size_t)1024 * 1024;
    struct text bytes = {arena_zalloc(&peer->arena, length), length};
    for (int read = 0; read < 2; read++) { /* with all of it to come, or after the first bytes */
        struct buffer wire = wire_in(peer);
        peer_connect(peer);
        wire_request(&wire, get, TEXT(""));
        peer_send(peer, buffer_text(&wire));
        assert_true(receive(peer));
        if (read == 1) {
            assert_int_equal(pthread_create(&peer->sender, NULL, read_some_and_hang_up, peer), 0);
            peer->sending = true;
        } else {
            peer_hang_up(peer);
        }
        assert_false(answer(peer, bytes));
        if (peer->sending) {
            pthread_join(peer->sender, NULL);
            peer->sending = false;
        }
        assert_closes_quickly(peer);
    }
}

/* ---- silent peers --------------------------------------------------------------------------- */

static void closing_never_waits_for_a_silent_peer(void **state) {
    struct peer *peer = *state;
    struct buffer wire = wire_in(peer);
    wire_request(&wire, get, TEXT(""));
    enum { FRESH, UNREAD, RECEIVED, READ, ANSWERED, STATES };
    for (int until = FRESH; until < STATES; until++) {
        peer_connect(peer);
        if (until >= UNREAD) {
            peer_send(peer, buffer_text(&wire));
        }
        if (until >= RECEIVED) {
            assert_true(receive(peer));
        }
        if (until >= READ) {
            assert_text(body(peer), TEXT(""));
        }
        if (until >= ANSWERED) {
            assert_true(answer(peer, TEXT("")));
        }
        assert_closes_quickly(peer);
    }
    fastcgi_close(NULL);
}

static void a_connection_that_fails_is_given_up_without_waiting_for_the_peer(void **state) {
    struct peer *peer = *state;
    peer_send(peer, TEXT("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"));
    int64_t before = now_ms();
    assert_false(receive(peer));
    assert_in_range(now_ms() - before, 0, CLOSE_LIMIT_MS);
    assert_closes_quickly(peer);
}

/* How long a peer that does not read its answer can hold us up; -1 when the adapter takes that for
 * success. */
static int64_t unread_answer_ms(struct peer *peer) {
    struct buffer wire = wire_in(peer);
    wire_request(&wire, get, TEXT(""));
    peer_send(peer, buffer_text(&wire));
    if (!receive(peer)) {
        return -1;
    }
    size_t length = (size_t)4 * 1024 * 1024;
    int64_t before = now_ms();
    bool kept = answer(peer, (struct text){arena_zalloc(&peer->arena, length), length});
    return kept ? -1 : now_ms() - before;
}

static void a_peer_that_does_not_read_is_given_up_after_the_time_limit(void **state) {
    struct peer *peer = *state;
    assert_in_range(unread_answer_ms(peer), FASTCGI_SEND_TIMEOUT_MS - 500,
                    FASTCGI_SEND_TIMEOUT_MS + 1500);
    assert_closes_quickly(peer);
}

static void a_peer_that_stops_in_the_middle_holds_nobody_up(void **state) {
    struct peer *peer = *state;
    struct buffer wire = wire_in(peer);
    wire_request(&wire, post, POST_BODY);
    for (size_t n = 0; n < wire.length; n++) {
        peer_connect(peer);
        peer_send(peer, (struct text){.data = wire.data, .length = n});
        int64_t before = now_ms();
        assert_int_equal(fastcgi_receive(peer->connection, &peer->arena), FASTCGI_PARTLY);
        assert_in_range(now_ms() - before, 0, CLOSE_LIMIT_MS);
        peer_send(peer, (struct text){.data = wire.data + n, .length = wire.length - n});
        assert_serves(peer,
                      TEXT("REQUEST_METHOD=POST\nREQUEST_URI=/products\n"
                           "CONTENT_TYPE=application/json\nCONTENT_LENGTH=9\n"),
                      POST_BODY);
    }
}

/* ---- bodies --------------------------------------------------------------------------------- */

static void a_body_is_whole_when_it_is_as_long_as_declared_if_it_was(void **state) {
    static const struct {
        const char *declared; /* NULL: no CONTENT_LENGTH at all */
        size_t sent;
        enum body_state expected;
    } cases[] = {
        {"CONTENT_LENGTH=9", 9, BODY_WHOLE},
        {"CONTENT_LENGTH=9", 8, BODY_CUT_OFF},
        {"CONTENT_LENGTH=9", 0, BODY_CUT_OFF},
        {"CONTENT_LENGTH=9", 10, BODY_CUT_OFF},
        {"CONTENT_LENGTH=9", 9000, BODY_CUT_OFF},
        {"CONTENT_LENGTH=0", 0, BODY_WHOLE},
        {"CONTENT_LENGTH=0", 1, BODY_CUT_OFF},
        {"CONTENT_LENGTH=", 0, BODY_WHOLE},
        {"CONTENT_LENGTH=", 1, BODY_WHOLE},
        {NULL, 0, BODY_WHOLE},
        {NULL, 1, BODY_WHOLE},
        {NULL, BODY_LIMIT_BYTES, BODY_WHOLE},
        {"CONTENT_LENGTH=-1", 0, BODY_CUT_OFF},
        {"CONTENT_LENGTH=9x", 9, BODY_CUT_OFF},
        {"CONTENT_LENGTH= 9", 9, BODY_CUT_OFF},
        {"CONTENT_LENGTH=99999999999999999999", 9, BODY_CUT_OFF},
        {"CONTENT_LENGTH=8192", 8192, BODY_WHOLE},
        {"CONTENT_LENGTH=8193", 8193, BODY_WHOLE},
        {"CONTENT_LENGTH=65536", 65536, BODY_WHOLE},
        {"CONTENT_LENGTH=65536", 65535, BODY_CUT_OFF},
        {"CONTENT_LENGTH=65537", 65537, BODY_WHOLE},
        {"CONTENT_LENGTH=1048576", BODY_LIMIT_BYTES, BODY_WHOLE},
        {"CONTENT_LENGTH=1048576", BODY_LIMIT_BYTES - 1, BODY_CUT_OFF},
        {"CONTENT_LENGTH=1048576", BODY_LIMIT_BYTES + 1, BODY_TOO_LARGE},
        {"CONTENT_LENGTH=1048577", BODY_LIMIT_BYTES + 1, BODY_TOO_LARGE},
        {"CONTENT_LENGTH=1048577", 0, BODY_TOO_LARGE},
        {"CONTENT_LENGTH=9223372036854775807", 9, BODY_TOO_LARGE},
        {"CONTENT_LENGTH=9", BODY_LIMIT_BYTES + 1, BODY_TOO_LARGE},
        {NULL, BODY_LIMIT_BYTES + 1, BODY_TOO_LARGE},
    };
    struct peer *peer = *state;
    for (size_t i = 0; i < COUNT(cases); i++) { /* all on one connection: it stays usable */
        struct request request;
        struct buffer wire = wire_in(peer);
        char *sent = arena_alloc(&peer->arena, cases[i].sent);
        for (size_t k = 0; k < cases[i].sent; k++) {
            sent[k] = (char)(k * 31 + (k >> 8));
        }
        struct text content = {.data = sent, .length = cases[i].sent};
        wire_request(&wire, (const char *const[]){"REQUEST_METHOD=POST", cases[i].declared, NULL},
                     content);
        peer_stream(peer, buffer_text(&wire), 65536, false);
        assert_true(receive_request(peer, &request));
        if (request.body_state != cases[i].expected) {
            fail_msg("%s with %zu bytes gives state %d", cases[i].declared, cases[i].sent,
                     (int)request.body_state);
        }
        if (cases[i].expected == BODY_WHOLE) {
            assert_text(request.body, content);
        } else {
            assert_int_equal(request.body.length, 0);
        }
        assert_true(answer(peer, TEXT("")));
        assert_answer(peer, TEXT(""));
        pthread_join(peer->sender, NULL);
        peer->sending = false;
        arena_reset(&peer->arena);
    }
}

static void
an_endless_body_is_read_up_to_the_limit_and_the_connection_closes_after_the_answer(void **state) {
    struct peer *peer = *state;
    struct buffer start = wire_in(peer);
    struct buffer record = wire_in(peer);
    wire_request(&start, get, TEXT(""));
    start.length -= RECORD_HEADER_BYTES; /* the end of the body never comes */
    wire_record(&record, RECORD_STDIN, 1, (struct text){arena_zalloc(&peer->arena, 32768), 32768},
                0);
    peer_send(peer, buffer_text(&start));
    peer_stream(peer, buffer_text(&record), record.length, true);
    assert_true(receive(peer));
    size_t length = 0;
    assert_int_equal(fastcgi_body(peer->connection, &length).length, FASTCGI_BODY_BYTES);
    assert_in_range(length, FASTCGI_DRAIN_BYTES + 1, FASTCGI_DRAIN_BYTES + 65536);
    assert_false(answer(peer, TEXT("Status: 413 Content Too Large\r\n\r\n")));
    assert_answer(peer, TEXT("Status: 413 Content Too Large\r\n\r\n"));
    assert_closes_quickly(peer);
}

/* ---- the protocol --------------------------------------------------------------------------- */

static void parameters_that_lie_about_their_lengths_make_no_request(void **state) {
    static const struct text contents[] = {
        {"\x04\x01NAM", 5},      /* ends inside a name */
        {"\x04\x05NAMEval", 9},  /* ends inside a value */
        {"\x04", 1},             /* ends before the value's length */
        {"\x04\x80\x00\x00", 4}, /* ends inside the value's length */
        {"\x80\x00", 2},         /* ends inside the name's length */
        {"\x01\x01"
         "A1"
         "\x7F\x7F"
         "rest",
         10}, /* after a good one */
        {"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFFrest", 12},
        {"\x04\xFF\xFF\xFF\xFFNAMErest", 13},
        {"\xFF\xFF\xFF\xFF\x04NAMErest", 13},
        {"\x81\x00\x00\x00\x81\x00\x00\x00rest", 12}, /* 16 MiB each */
    };
    struct peer *peer = *state;
    for (size_t i = 0; i < COUNT(contents); i++) {
        struct buffer wire = wire_in(peer);
        wire_begin(&wire, 1, ROLE_RESPONDER, true);
        wire_stream(&wire, RECORD_PARAMS, contents[i], 65535);
        wire_stream(&wire, RECORD_STDIN, TEXT(""), 1);
        peer_connect(peer);
        peer_send(peer, buffer_text(&wire));
        if (receive(peer)) {
            fail_msg("case %zu was taken for a request", i);
        }
        assert_closes_quickly(peer);
    }
}

static void a_second_request_begun_before_the_first_is_answered_is_refused_and_the_first_is_served(
    void **state) {
    struct peer *peer = *state;
    enum { BEFORE_PARAMS, IN_PARAMS, BEFORE_BODY, IN_BODY, PLACES };
    for (int place = BEFORE_PARAMS; place < PLACES; place++) {
        struct buffer wire = wire_in(peer);
        struct buffer pairs = wire_in(peer);
        wire_pairs(&pairs, (const char *const[]){"A=1", NULL});
        wire_begin(&wire, 1, ROLE_RESPONDER, true);
        for (int step = BEFORE_PARAMS; step < PLACES; step++) {
            if (step == place) {
                wire_begin(&wire, 2, ROLE_RESPONDER, true);
            }
            if (step == BEFORE_PARAMS) {
                wire_record(&wire, RECORD_PARAMS, 1, buffer_text(&pairs), 0);
            } else if (step == IN_PARAMS) {
                wire_record(&wire, RECORD_PARAMS, 1, TEXT(""), 0);
            } else if (step == BEFORE_BODY) {
                wire_record(&wire, RECORD_STDIN, 1, TEXT("body"), 0);
            } else {
                wire_record(&wire, RECORD_STDIN, 1, TEXT(""), 0);
            }
        }
        peer_send(peer, buffer_text(&wire));
        assert_true(receive(peer));
        assert_text(parameters(peer), TEXT("A=1\n"));
        assert_text(body(peer), TEXT("body"));
        assert_true(answer(peer, TEXT("\r\n")));
        struct answer got = peer_answer(peer);
        assert_true(got.valid && got.ended);
        assert_int_equal(got.refused, 1);
        assert_text(got.out, TEXT("\r\n"));
    }
}

static void records_that_do_not_belong_make_no_request(void **state) {
    static const struct {
        const char *what;
        struct text bytes; /* behind a good BEGIN_REQUEST where begun */
        bool begun;
    } cases[] = {
        {"version 0",
         {"\0\1\0\1\0\x08\0\0"
          "\0\1\1\0\0\0\0\0",
          16},
         false},
        {"version 2",
         {"\2\1\0\1\0\x08\0\0"
          "\0\1\1\0\0\0\0\0",
          16},
         false},
        {"BEGIN_REQUEST of id 0",
         {"\1\1\0\0\0\x08\0\0"
          "\0\1\1\0\0\0\0\0",
          16},
         false},
        {"BEGIN_REQUEST of 7 bytes",
         {"\1\1\0\1\0\x07\0\0"
          "\0\1\1\0\0\0\0",
          15},
         false},
        {"BEGIN_REQUEST of 0 bytes", {"\1\1\0\1\0\0\0\0", 8}, false},
        {"version 2 in the params", {"\2\4\0\1\0\0\0\0", 8}, true},
        {"a body before the params have ended", {"\1\5\0\1\0\1\0\0x", 9}, true},
        {"an abort in the params", {"\1\2\0\1\0\0\0\0", 8}, true},
        {"an answer in the params", {"\1\6\0\1\0\0\0\0", 8}, true},
    };
    struct peer *peer = *state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buffer wire = wire_in(peer);
        if (cases[i].begun) {
            wire_begin(&wire, 1, ROLE_RESPONDER, true);
        }
        buffer_append(&wire, cases[i].bytes);
        wire_request(&wire, get, TEXT(""));
        peer_connect(peer);
        peer_send(peer, buffer_text(&wire));
        if (receive(peer)) {
            fail_msg("%s: taken for a request", cases[i].what);
        }
        assert_closes_quickly(peer);
    }
}

static void records_that_do_not_belong_into_a_body_make_no_request(void **state) {
    static const struct text records[] = {
        {"\2\5\0\1\0\0\0\0", 8}, /* another version */
        {"\1\2\0\1\0\0\0\0", 8}, /* an abort */
        {"\1\4\0\1\0\0\0\0", 8}, /* more params */
        {"\1\6\0\1\0\0\0\0", 8}, /* an answer */
    };
    struct peer *peer = *state;
    for (size_t i = 0; i < COUNT(records); i++) {
        struct buffer wire = wire_in(peer);
        wire_request(&wire, post, POST_BODY);
        wire.length -= RECORD_HEADER_BYTES;
        buffer_append(&wire, records[i]);
        wire_record(&wire, RECORD_STDIN, 1, TEXT(""), 0);
        peer_connect(peer);
        peer_send(peer, buffer_text(&wire));
        assert_false(receive(peer));
        assert_closes_quickly(peer);
    }
}

static void only_responders_are_served(void **state) {
    static const int roles[] = {0, ROLE_AUTHORIZER, ROLE_FILTER, 4, 257};
    struct peer *peer = *state;
    for (size_t i = 0; i < COUNT(roles); i++) {
        struct buffer wire = wire_in(peer);
        wire_begin(&wire, 1, roles[i], true);
        wire_stream(&wire, RECORD_PARAMS, TEXT(""), 1);
        wire_stream(&wire, RECORD_STDIN, TEXT(""), 1);
        peer_connect(peer);
        peer_send(peer, buffer_text(&wire));
        if (receive(peer)) {
            fail_msg("role %d was served", roles[i]);
        }
        assert_closes_quickly(peer);
    }
}

static void questions_about_limits_are_answered_and_then_a_request_is_served(void **state) {
    struct peer *peer = *state;
    struct buffer wire = wire_in(peer);
    struct buffer pairs = wire_in(peer);
    struct buffer expected = wire_in(peer);
    wire_pairs(&pairs, (const char *const[]){"FCGI_MPXS_CONNS=", NULL});
    wire_pairs(&expected, (const char *const[]){"FCGI_MPXS_CONNS=0", NULL});
    wire_record(&wire, RECORD_GET_VALUES, 0, buffer_text(&pairs), 0);
    wire_request(&wire, get, TEXT(""));
    peer_send(peer, buffer_text(&wire));
    assert_true(receive(peer));
    assert_text(parameters(peer), TEXT("REQUEST_METHOD=GET\nREQUEST_URI=/products/1\n"));
    assert_text(body(peer), TEXT(""));
    assert_true(answer(peer, TEXT("")));
    struct answer got = peer_answer(peer);
    assert_true(got.valid && got.ended);
    assert_int_equal(got.management_type, RECORD_GET_VALUES_RESULT);
    assert_text(got.management, buffer_text(&expected));
}

static void records_of_requests_that_were_never_begun_are_passed_over(void **state) {
    struct peer *peer = *state;
    struct buffer wire = wire_in(peer);
    struct buffer pairs = wire_in(peer);
    wire_pairs(&pairs, (const char *const[]){"A=1", NULL});
    wire_begin(&wire, 1, ROLE_RESPONDER, true);
    wire_record(&wire, RECORD_PARAMS, 9, TEXT("rubbish"), 1);
    wire_stream(&wire, RECORD_PARAMS, buffer_text(&pairs), 100);
    wire_record(&wire, RECORD_STDIN, 9, TEXT("rubbish"), 0);
    wire_stream(&wire, RECORD_STDIN, TEXT("body"), 100);
    peer_send(peer, buffer_text(&wire));
    assert_serves(peer, TEXT("A=1\n"), TEXT("body"));
}

static void a_request_may_have_any_id(void **state) {
    static const int ids[] = {1, 2, 255, 256, 65535};
    struct peer *peer = *state;
    for (size_t i = 0; i < COUNT(ids); i++) {
        struct buffer wire = wire_in(peer);
        peer->id = ids[i];
        wire_begin(&wire, ids[i], ROLE_RESPONDER, true);
        wire_record(&wire, RECORD_PARAMS, ids[i], TEXT(""), 0);
        wire_record(&wire, RECORD_STDIN, ids[i], TEXT(""), 0);
        peer_send(peer, buffer_text(&wire));
        assert_serves(peer, TEXT(""), TEXT(""));
    }
}

/* A request all of whose records have padding. */
static void send_padded(struct peer *peer, int padding) {
    struct buffer wire = wire_in(peer);
    struct buffer pairs = wire_in(peer);
    wire_pairs(&pairs, (const char *const[]){"CONTENT_LENGTH=4", "B=2", NULL});
    wire_begin(&wire, 1, ROLE_RESPONDER, true);
    wire_record(&wire, RECORD_PARAMS, 1, buffer_text(&pairs), padding);
    wire_record(&wire, RECORD_PARAMS, 1, TEXT(""), padding);
    wire_record(&wire, RECORD_STDIN, 1, TEXT("body"), padding);
    wire_record(&wire, RECORD_STDIN, 1, TEXT(""), padding);
    peer_send(peer, buffer_text(&wire));
}

static void padding_is_skipped(void **state) {
    struct peer *peer = *state;
    for (int padding = 0; padding < 256; padding += 5) {
        send_padded(peer, padding);
        assert_serves(peer, TEXT("CONTENT_LENGTH=4\nB=2\n"), TEXT("body"));
    }
}

static void a_request_in_records_of_any_size_is_the_same_request(void **state) {
    struct peer *peer = *state;
    struct buffer pairs = wire_in(peer);
    wire_pairs(&pairs, post);
    for (size_t step = 1; step <= pairs.length; step++) {
        struct buffer wire = wire_in(peer);
        wire_begin(&wire, 1, ROLE_RESPONDER, true);
        wire_stream(&wire, RECORD_PARAMS, buffer_text(&pairs), step);
        wire_stream(&wire, RECORD_STDIN, POST_BODY, step);
        peer_send(peer, buffer_text(&wire));
        assert_serves(peer,
                      TEXT("REQUEST_METHOD=POST\nREQUEST_URI=/products\n"
                           "CONTENT_TYPE=application/json\nCONTENT_LENGTH=9\n"),
                      POST_BODY);
    }
}

static void a_request_that_comes_byte_by_byte_is_the_same_request(void **state) {
    struct peer *peer = *state;
    struct buffer wire = wire_in(peer);
    wire_request(&wire, post, POST_BODY);
    peer_stream(peer, buffer_text(&wire), 1, false);
    assert_serves(peer,
                  TEXT("REQUEST_METHOD=POST\nREQUEST_URI=/products\n"
                       "CONTENT_TYPE=application/json\nCONTENT_LENGTH=9\n"),
                  POST_BODY);
}

static void parameters_of_any_length_arrive(void **state) {
    static const struct {
        size_t name, value;
    } lengths[] = {{1, 0},     {1, 127},     {1, 128},    {127, 1},    {128, 1},
                   {128, 128}, {1, 8191},    {1, 8192},   {300, 8193}, {1, 65535},
                   {1, 61440}, {9000, 9000}, {1, 100000}, {0, 5}};
    struct peer *peer = *state;
    for (size_t i = 0; i < COUNT(lengths); i++) {
        char *name = arena_alloc(&peer->arena, lengths[i].name);
        char *value = arena_alloc(&peer->arena, lengths[i].value);
        memset(name, 'N', lengths[i].name);
        memset(value, 'v', lengths[i].value);
        struct text name_text = {.data = name, .length = lengths[i].name};
        struct text value_text = {.data = value, .length = lengths[i].value};
        struct buffer pairs = wire_in(peer);
        struct buffer wire = wire_in(peer);
        struct buffer expected = wire_in(peer);
        wire_pair(&pairs, TEXT("BEFORE"), TEXT("1"));
        wire_pair(&pairs, name_text, value_text);
        wire_pair(&pairs, TEXT("AFTER"), TEXT("2"));
        buffer_append(&expected, TEXT("BEFORE=1\n"));
        buffer_append(&expected, name_text);
        buffer_append(&expected, TEXT("="));
        buffer_append(&expected, value_text);
        buffer_append(&expected, TEXT("\nAFTER=2\n"));
        wire_begin(&wire, 1, ROLE_RESPONDER, true);
        wire_stream(&wire, RECORD_PARAMS, buffer_text(&pairs), 65535);
        wire_stream(&wire, RECORD_STDIN, TEXT(""), 1);
        peer_stream(peer, buffer_text(&wire), 65536, false);
        assert_serves(peer, buffer_text(&expected), TEXT(""));
        pthread_join(peer->sender, NULL);
        peer->sending = false;
        arena_reset(&peer->arena);
    }
}

static void five_hundred_parameters_arrive(void **state) {
    struct peer *peer = *state;
    struct buffer pairs = wire_in(peer);
    struct buffer expected = wire_in(peer);
    struct buffer wire = wire_in(peer);
    for (int i = 0; i < 500; i++) {
        char pair[32];
        snprintf(pair, sizeof pair, "NAME_%d=%d", i, i * i);
        wire_pairs(&pairs, (const char *const[]){pair, NULL});
        buffer_append(&expected, text_from(pair));
        buffer_append(&expected, TEXT("\n"));
    }
    wire_begin(&wire, 1, ROLE_RESPONDER, true);
    wire_stream(&wire, RECORD_PARAMS, buffer_text(&pairs), 1000);
    wire_stream(&wire, RECORD_STDIN, TEXT(""), 1);
    peer_send(peer, buffer_text(&wire));
    assert_serves(peer, buffer_text(&expected), TEXT(""));
}

static void more_parameters_than_the_limit_make_no_request(void **state) {
    struct peer *peer = *state;
    struct buffer wire = wire_in(peer);
    char *value = arena_zalloc(&peer->arena, FASTCGI_PARAMETER_BYTES);
    struct buffer pairs = wire_in(peer);
    wire_pair(&pairs, TEXT("A"), (struct text){value, FASTCGI_PARAMETER_BYTES});
    wire_begin(&wire, 1, ROLE_RESPONDER, true);
    wire_stream(&wire, RECORD_PARAMS, buffer_text(&pairs), 65535);
    peer_stream(peer, buffer_text(&wire), 65536, false);
    assert_false(receive(peer));
    assert_closes_quickly(peer);
}

static void a_request_without_parameters_is_a_request(void **state) {
    struct peer *peer = *state;
    struct buffer wire = wire_in(peer);
    wire_request(&wire, (const char *const[]){NULL}, TEXT(""));
    peer_send(peer, buffer_text(&wire));
    assert_serves(peer, TEXT(""), TEXT(""));
}

static void a_nul_is_a_byte_like_any_other(void **state) {
    struct peer *peer = *state;
    struct buffer pairs = wire_in(peer);
    struct buffer wire = wire_in(peer);
    wire_pair(&pairs, TEXT("A"), TEXT("1"));
    wire_pair(&pairs, TEXT("NA\0ME"), TEXT("2"));
    wire_pair(&pairs, TEXT("\0"), TEXT("3"));
    wire_pair(&pairs, TEXT("B"),
              TEXT("4\0"
                   "5"));
    wire_pair(&pairs, TEXT("C"), TEXT("=6="));
    wire_begin(&wire, 1, ROLE_RESPONDER, true);
    wire_stream(&wire, RECORD_PARAMS, buffer_text(&pairs), 65535);
    wire_stream(&wire, RECORD_STDIN, TEXT(""), 1);
    peer_send(peer, buffer_text(&wire));
    assert_serves(peer,
                  TEXT("A=1\nNA\0ME=2\n\0=3\nB=4\0"
                       "5\nC==6=\n"),
                  TEXT(""));
}

/* ---- answers -------------------------------------------------------------------------------- */

static void answers_of_any_size_arrive_byte_for_byte(void **state) {
    static const size_t lengths[] = {0,     1,     7,     8176,   8183,   8184,
                                     8185,  8192,  8193,  65527,  65528,  65535,
                                     65536, 65537, 70000, 131072, 200000, 1048576};
    static const size_t heads[] = {SIZE_MAX, 40000, 32768, 1000, 17, 0};
    struct peer *peer = *state;
    for (size_t i = 0; i < COUNT(lengths); i++) {
        struct buffer wire = wire_in(peer);
        char *bytes = arena_alloc(&peer->arena, lengths[i]);
        for (size_t k = 0; k < lengths[i]; k++) {
            bytes[k] = (char)(k * 7 + (k >> 9));
        }
        struct text whole = {.data = bytes, .length = lengths[i]};
        wire_request(&wire, get, TEXT(""));
        peer_send(peer, buffer_text(&wire));
        assert_true(receive(peer));
        assert_text(body(peer), TEXT(""));
        peer_listen(peer);
        struct text head = whole;
        struct text rest = whole;
        head.length =
            whole.length < heads[i % COUNT(heads)] ? whole.length : heads[i % COUNT(heads)];
        rest.data += head.length;
        rest.length -= head.length;
        assert_true(fastcgi_send(peer->connection, head, rest));
        assert_answer(peer, whole);
        arena_reset(&peer->arena);
        arena_reset(&peer->listener_arena);
    }
}

/* ---- parked requests ----------------------------------------------------------------------- */

/* Receives a request without a body and puts it aside. */
static void park(struct peer *peer, bool keep) {
    struct buffer wire = wire_in(peer);
    struct buffer pairs = wire_in(peer);
    wire_pairs(&pairs, get);
    wire_begin(&wire, peer->id, ROLE_RESPONDER, keep);
    wire_record(&wire, RECORD_PARAMS, peer->id, buffer_text(&pairs), 0);
    wire_record(&wire, RECORD_PARAMS, peer->id, TEXT(""), 0);
    wire_record(&wire, RECORD_STDIN, peer->id, TEXT(""), 0);
    peer_send(peer, buffer_text(&wire));
    assert_true(receive(peer));
    assert_text(body(peer), TEXT(""));
    fastcgi_park(peer->connection);
    assert_false(is_closed(peer->near));
}

static void a_parked_request_is_answered_and_the_connection_serves_the_next(void **state) {
    static const size_t lengths[] = {1, 100, 4096, 100000};
    struct peer *peer = *state;
    for (size_t i = 0; i < COUNT(lengths); i++) {
        char *bytes = arena_alloc(&peer->arena, lengths[i]);
        memset(bytes, 'a' + (int)i, lengths[i]);
        struct text text = {.data = bytes, .length = lengths[i]};
        park(peer, true);
        assert_true(answer(peer, text));
        assert_answer(peer, text);
        assert_serves_get(peer);
    }
    peer->id = 0x1234;
    park(peer, true);
    assert_true(answer(peer, TEXT("x")));
    assert_answer(peer, TEXT("x"));
}

static void a_parked_request_that_was_not_to_be_kept_ends_with_its_answer(void **state) {
    struct peer *peer = *state;
    park(peer, false);
    assert_false(answer(peer, TEXT("\r\n")));
    assert_answer(peer, TEXT("\r\n"));
    assert_closes_quickly(peer);
    assert_true(peer_sees_end(peer));
}

static void
a_peer_that_hangs_up_on_a_parked_request_costs_the_connection_and_no_more(void **state) {
    struct peer *peer = *state;
    park(peer, true);
    peer_hang_up(peer);
    assert_false(answer(peer, TEXT("\r\n")));
    assert_closes_quickly(peer);

    peer_connect(peer);
    park(peer, true);
    assert_closes_quickly(peer); /* unanswered */
    assert_true(peer_sees_end(peer));
}

#ifdef WITH_ADDRESS_SANITIZER
static void a_parked_request_holds_no_buffers(void **state) {
    struct peer *peer = *state;
    park(peer, true); /* once before, so that the peer's own memory is there already */
    assert_true(answer(peer, TEXT("x")));
    assert_answer(peer, TEXT("x"));
    arena_reset(&peer->arena);
    size_t before = __sanitizer_get_current_allocated_bytes();
    park(peer, true);
    size_t after = __sanitizer_get_current_allocated_bytes();
    assert_in_range(after, before, before + 512);
}
#endif

/* ---- the process ---------------------------------------------------------------------------- */

static void a_descriptor_above_1023_works(void **state) {
    enum { HIGH = 2000 };
    struct peer *peer = *state;
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_max <= HIGH) {
        skip();
    }
    if (limit.rlim_cur <= HIGH) {
        limit.rlim_cur = HIGH + 1;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    }
    int high = fcntl(peer->near, F_DUPFD_CLOEXEC, HIGH);
    assert_true(high >= HIGH);
    fastcgi_close(peer->connection);
    peer->near = high;
    peer->connection = fastcgi_open(high);
    assert_serves_get(peer);
    assert_serves_get(peer);
    assert_closes_quickly(peer);
}

static int setup(void **state) {
    (void)state;
    alarm(HANG_LIMIT_S); /* a test that hangs must fail */
    return 0;
}

#define OVER_A_CONNECTION(test) cmocka_unit_test_setup_teardown(test, peer_setup, peer_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        OVER_A_CONNECTION(
            a_kept_connection_serves_two_requests_and_the_second_sees_only_its_own_parameters),
        OVER_A_CONNECTION(a_kept_connection_serves_ten_requests),
        OVER_A_CONNECTION(a_connection_that_was_not_asked_to_be_kept_closes_after_the_answer),
        OVER_A_CONNECTION(a_peer_that_hangs_up_after_an_answer_is_told_apart_from_a_request),
        OVER_A_CONNECTION(a_body_that_nobody_looks_at_is_not_taken_for_the_next_request),
        OVER_A_CONNECTION(a_body_that_comes_in_parts_arrives),
        OVER_A_CONNECTION(a_peer_that_closes_before_it_sends_anything_makes_no_request),
        OVER_A_CONNECTION(a_peer_that_dies_at_any_byte_of_a_request_has_not_made_one),
        OVER_A_CONNECTION(a_peer_that_dies_at_any_byte_of_a_second_request_has_not_made_it),
        OVER_A_CONNECTION(
            a_peer_that_closes_while_the_answer_is_written_costs_the_connection_and_no_more),
        OVER_A_CONNECTION(closing_never_waits_for_a_silent_peer),
        OVER_A_CONNECTION(a_connection_that_fails_is_given_up_without_waiting_for_the_peer),
        OVER_A_CONNECTION(a_peer_that_does_not_read_is_given_up_after_the_time_limit),
        OVER_A_CONNECTION(a_peer_that_stops_in_the_middle_holds_nobody_up),
        OVER_A_CONNECTION(a_body_is_whole_when_it_is_as_long_as_declared_if_it_was),
        OVER_A_CONNECTION(
            an_endless_body_is_read_up_to_the_limit_and_the_connection_closes_after_the_answer),
        OVER_A_CONNECTION(parameters_that_lie_about_their_lengths_make_no_request),
        OVER_A_CONNECTION(
            a_second_request_begun_before_the_first_is_answered_is_refused_and_the_first_is_served),
        OVER_A_CONNECTION(records_that_do_not_belong_make_no_request),
        OVER_A_CONNECTION(records_that_do_not_belong_into_a_body_make_no_request),
        OVER_A_CONNECTION(only_responders_are_served),
        OVER_A_CONNECTION(questions_about_limits_are_answered_and_then_a_request_is_served),
        OVER_A_CONNECTION(records_of_requests_that_were_never_begun_are_passed_over),
        OVER_A_CONNECTION(a_request_may_have_any_id),
        OVER_A_CONNECTION(padding_is_skipped),
        OVER_A_CONNECTION(a_request_in_records_of_any_size_is_the_same_request),
        OVER_A_CONNECTION(a_request_that_comes_byte_by_byte_is_the_same_request),
        OVER_A_CONNECTION(parameters_of_any_length_arrive),
        OVER_A_CONNECTION(five_hundred_parameters_arrive),
        OVER_A_CONNECTION(more_parameters_than_the_limit_make_no_request),
        OVER_A_CONNECTION(a_request_without_parameters_is_a_request),
        OVER_A_CONNECTION(a_nul_is_a_byte_like_any_other),
        OVER_A_CONNECTION(answers_of_any_size_arrive_byte_for_byte),
        OVER_A_CONNECTION(a_parked_request_is_answered_and_the_connection_serves_the_next),
        OVER_A_CONNECTION(a_parked_request_that_was_not_to_be_kept_ends_with_its_answer),
        OVER_A_CONNECTION(
            a_peer_that_hangs_up_on_a_parked_request_costs_the_connection_and_no_more),
#ifdef WITH_ADDRESS_SANITIZER
        OVER_A_CONNECTION(a_parked_request_holds_no_buffers),
#endif
        OVER_A_CONNECTION(a_descriptor_above_1023_works),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
