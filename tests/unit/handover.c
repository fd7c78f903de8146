#define _GNU_SOURCE
#include "handover.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "program.h"
#include "support.h"

static bool closes_on_exec(int descriptor) {
    return (fcntl(descriptor, F_GETFD) & FD_CLOEXEC) != 0;
}

/* What the next program would read. */
static struct handover passed(struct handover *left) {
    struct handover state;
    assert_true(handover_store(left) >= 0);
    handover_free(left);
    assert_true(handover_take(&state));
    assert_null(getenv("LARDER_HAND_OVER"));
    return state;
}

static void without_a_predecessor_there_is_nothing(void **state) {
    (void)state;
    struct handover taken;
    unsetenv("LARDER_HAND_OVER");
    assert_false(handover_take(&taken));
}

static void what_is_put_is_what_comes(void **state) {
    (void)state;
    struct handover left;
    handover_begin(&left, HANDOVER_WORKER);
    handover_put(&left, INT64_MIN);
    handover_put(&left, 0);
    handover_put_text(&left, TEXT(""));
    handover_put_text(&left, TEXT("a\0b"));
    handover_put_descriptor(&left, -1);
    for (int i = 0; i < 100000; i++) {
        handover_put(&left, i);
    }
    struct handover taken = passed(&left);
    assert_int_equal(taken.kind, HANDOVER_WORKER);
    assert_true(handover_number(&taken) == INT64_MIN);
    assert_int_equal(handover_number(&taken), 0);
    assert_text(handover_text(&taken), TEXT(""));
    assert_text(handover_text(&taken), TEXT("a\0b"));
    assert_int_equal(handover_descriptor(&taken), -1);
    for (int i = 0; i < 100000; i++) {
        assert_false(handover_is_whole(&taken));
        assert_int_equal(handover_number(&taken), i);
    }
    assert_true(handover_is_whole(&taken));
    handover_free(&taken);
}

static void more_than_was_put_is_not_there(void **state) {
    (void)state;
    struct handover left;
    handover_begin(&left, HANDOVER_SUPERVISOR);
    handover_put(&left, 7);
    struct handover taken = passed(&left);
    assert_int_equal(handover_number(&taken), 7);
    assert_true(handover_is_whole(&taken));
    assert_int_equal(handover_number(&taken), 0);
    assert_text(handover_text(&taken), TEXT(""));
    assert_int_equal(handover_descriptor(&taken), -1);
    assert_false(handover_is_whole(&taken));
    handover_free(&taken);
}

static void a_length_beyond_the_end_is_refused(void **state) {
    (void)state;
    static const int64_t lengths[] = {-1, INT64_MIN, INT64_MAX, 9};
    for (size_t i = 0; i < COUNT(lengths); i++) {
        struct handover left;
        handover_begin(&left, HANDOVER_WORKER);
        handover_put(&left, lengths[i]);
        handover_put(&left, 0); /* 8 bytes */
        struct handover taken = passed(&left);
        assert_text(handover_text(&taken), TEXT(""));
        assert_false(handover_is_whole(&taken));
        handover_free(&taken);
    }
}

static void a_descriptor_is_closed_when_this_program_is_replaced_in_its_turn(void **state) {
    (void)state;
    int ends[2];
    struct handover left;
    assert_int_equal(pipe(ends), 0); /* as they are after an exec */
    handover_begin(&left, HANDOVER_WORKER);
    handover_put_descriptor(&left, ends[0]);
    handover_put_descriptor(&left, 12345); /* that is not open */
    struct handover taken = passed(&left);
    assert_false(closes_on_exec(ends[0]));
    assert_int_equal(handover_descriptor(&taken), ends[0]);
    assert_true(closes_on_exec(ends[0]));
    assert_int_equal(handover_descriptor(&taken), -1);
    assert_false(handover_is_whole(&taken));
    handover_free(&taken);
    close(ends[0]);
    close(ends[1]);
}

static void what_is_not_ours_is_unreadable(void **state) {
    (void)state;
    static const char *const values[] = {"", "x", "-1", "0", "2", "12345", "99999999999999999999"};
    struct handover taken;
    for (size_t i = 0; i < COUNT(values); i++) {
        setenv("LARDER_HAND_OVER", values[i], 1);
        assert_true(handover_take(&taken));
        assert_int_equal(taken.kind, HANDOVER_UNREADABLE);
        handover_free(&taken);
    }
}

/* The first numbers are a mark, the format and the kind. */
static void another_format_or_kind_is_unreadable(void **state) {
    (void)state;
    for (size_t place = 0; place < 3; place++) {
        struct handover left;
        handover_begin(&left, HANDOVER_WORKER);
        left.bytes[place * 8] ^= 0x40;
        struct handover taken = passed(&left);
        assert_int_equal(taken.kind, HANDOVER_UNREADABLE);
        handover_free(&taken);
    }
}

static void when_the_program_cannot_be_executed_all_is_as_before(void **state) {
    (void)state;
    static char *arguments[] = {"larder", "serve", NULL};
    struct handover left;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    handover_begin(&left, HANDOVER_WORKER);
    handover_put_descriptor(&left, ends[0]);
    program_remember(arguments);
    int next = dup(ends[0]);
    handover_pass(&left, -1);
    assert_true(closes_on_exec(ends[0]));
    assert_null(getenv("LARDER_HAND_OVER"));
    int after = dup(ends[0]); /* nothing has stayed open */
    assert_int_equal(after, next + 1);
    close(after);
    close(next);
    close(ends[0]);
    close(ends[1]);
    handover_free(&left);
}

/* ---- a connection --------------------------------------------------------------------------- */

/* The connection as the next program has it, on the same descriptor. */
static void replace_program(struct peer *peer) {
    struct handover left;
    handover_begin(&left, HANDOVER_WORKER);
    fastcgi_give(peer->connection, &left);
    int spare = dup(peer->near);
    fastcgi_close(peer->connection);
    assert_int_equal(dup2(spare, peer->near), peer->near);
    close(spare);
    struct handover taken = passed(&left);
    peer->connection = fastcgi_take(&taken);
    assert_non_null(peer->connection);
    assert_true(handover_is_whole(&taken));
    handover_free(&taken);
}

static void a_request_that_has_come_in_part_goes_on_anywhere(void **state) {
    struct peer *peer = *state;
    struct buffer wire = {.arena = &peer->arena};
    struct arena arena = {0};
    wire_request(&wire, (const char *const[]){"REQUEST_METHOD=POST", "CONTENT_LENGTH=5", NULL},
                 TEXT("hello"));
    for (size_t at = 1; at < wire.length; at++) {
        peer_send(peer, (struct text){wire.data, at});
        assert_int_equal(fastcgi_receive(peer->connection, &arena), FASTCGI_PARTLY);
        replace_program(peer);
        peer_send(peer, (struct text){wire.data + at, wire.length - at});
        assert_int_equal(fastcgi_receive(peer->connection, &arena), FASTCGI_REQUEST);
        size_t length = 0;
        size_t position = 0;
        struct text name;
        struct text value;
        assert_text(fastcgi_body(peer->connection, &length), TEXT("hello"));
        assert_true(fastcgi_parameter(peer->connection, &position, &name, &value));
        assert_text(value, TEXT("POST"));
        assert_true(fastcgi_send(peer->connection, TEXT("Status: 200 OK\r\n\r\n"), TEXT("fine")));
        struct answer answer = peer_answer(peer);
        assert_true(answer.valid && answer.ended);
        assert_text(answer.out, TEXT("Status: 200 OK\r\n\r\nfine"));
        arena_reset(&arena);
    }
    arena_destroy(&arena);
}

static void a_parked_request_is_answered_by_the_next_program(void **state) {
    struct peer *peer = *state;
    struct buffer wire = {.arena = &peer->arena};
    struct arena arena = {0};
    peer->id = 513;
    wire_begin(&wire, peer->id, ROLE_RESPONDER, false);
    wire_record(&wire, RECORD_PARAMS, peer->id, TEXT(""), 0);
    wire_record(&wire, RECORD_STDIN, peer->id, TEXT(""), 0);
    peer_send(peer, buffer_text(&wire));
    assert_int_equal(fastcgi_receive(peer->connection, &arena), FASTCGI_REQUEST);
    fastcgi_park(peer->connection);
    replace_program(peer);
    replace_program(peer);
    /* not to be kept, as its request said */
    assert_false(fastcgi_send(peer->connection, TEXT("Status: 200 OK\r\n\r\n"), TEXT("")));
    struct answer answer = peer_answer(peer);
    assert_true(answer.valid && answer.ended);
    arena_destroy(&arena);
}

static void a_connection_that_contradicts_itself_is_refused(void **state) {
    struct peer *peer = *state;
    struct handover left;
    handover_begin(&left, HANDOVER_WORKER);
    handover_put_descriptor(&left, dup(peer->near));
    for (int i = 0; i < 3; i++) {
        handover_put(&left, 1);
    }
    handover_put(&left, 10); /* of parameters, in 3 bytes */
    handover_put(&left, 0);
    handover_put(&left, 0);
    handover_put_text(&left, TEXT("abc"));
    struct handover taken = passed(&left);
    assert_null(fastcgi_take(&taken));
    handover_free(&taken);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_predecessor_there_is_nothing),
        cmocka_unit_test(what_is_put_is_what_comes),
        cmocka_unit_test(more_than_was_put_is_not_there),
        cmocka_unit_test(a_length_beyond_the_end_is_refused),
        cmocka_unit_test(a_descriptor_is_closed_when_this_program_is_replaced_in_its_turn),
        cmocka_unit_test(what_is_not_ours_is_unreadable),
        cmocka_unit_test(another_format_or_kind_is_unreadable),
        cmocka_unit_test(when_the_program_cannot_be_executed_all_is_as_before),
        cmocka_unit_test_setup_teardown(a_request_that_has_come_in_part_goes_on_anywhere,
                                        peer_setup, peer_teardown),
        cmocka_unit_test_setup_teardown(a_parked_request_is_answered_by_the_next_program,
                                        peer_setup, peer_teardown),
        cmocka_unit_test_setup_teardown(a_connection_that_contradicts_itself_is_refused, peer_setup,
                                        peer_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
