#include "clients.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

struct site {
    struct clients clients;
    int listeners[CLIENTS_LISTENERS];
    struct sockaddr_un address;
};

static struct site site;

static int setup(void **state) {
    if (scratch_setup(state) != 0) {
        return -1;
    }
    site = (struct site){.listeners = {-1, -1, -1}, .address.sun_family = AF_UNIX};
    snprintf(site.address.sun_path, sizeof site.address.sun_path, "%s", scratch_path("s"));
    site.listeners[1] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    site.clients =
        (struct clients){.epoll = epoll_create1(0), .listeners = site.listeners, .accepts = 64};
    return bind(site.listeners[1], (struct sockaddr *)&site.address, sizeof site.address) != 0 ||
           listen(site.listeners[1], 128) != 0 || !clients_listen(&site.clients);
}

static int teardown(void **state) {
    clients_drop_all(&site.clients);
    close(site.listeners[1]);
    close(site.clients.epoll);
    return scratch_teardown(state);
}

static int connect_one(void) {
    int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(connect(descriptor, (struct sockaddr *)&site.address, sizeof site.address), 0);
    return descriptor;
}

static int connections(void) {
    int count = 0;
    for (struct client *client = site.clients.first; client != NULL; client = client->next) {
        count++;
    }
    return count;
}

/* What epoll says is ready, at once. */
static void *ready(void) {
    struct epoll_event event;
    return epoll_wait(site.clients.epoll, &event, 1, 0) == 1 ? event.data.ptr : NULL;
}

static void a_wake_up_accepts_as_many_as_it_may(void **state) {
    int peers[5];
    (void)state;
    for (size_t i = 0; i < COUNT(peers); i++) {
        peers[i] = connect_one();
    }
    assert_int_equal(clients_listener(&site.clients, ready()), site.listeners[1]);
    site.clients.accepts = 1;
    clients_accept(&site.clients, site.listeners[1]);
    assert_int_equal(connections(), 1);
    assert_int_equal(site.clients.open, 1);
    site.clients.accepts = 64;
    clients_accept(&site.clients, site.listeners[1]);
    assert_int_equal(connections(), 5);
    assert_int_equal(site.clients.open, 5);
    assert_int_equal(site.clients.accepted, 5);
    assert_null(ready());
    for (size_t i = 0; i < COUNT(peers); i++) {
        close(peers[i]);
    }
}

static void a_client_that_hangs_up_is_seen_and_dropped(void **state) {
    (void)state;
    int first = connect_one();
    int second = connect_one();
    clients_accept(&site.clients, site.listeners[1]);
    assert_null(ready());
    close(first);
    struct client *client = ready();
    assert_non_null(client);
    assert_int_equal(clients_listener(&site.clients, client), -1);
    clients_drop(&site.clients, client);
    assert_int_equal(connections(), 1);
    assert_int_equal(site.clients.open, 1);
    assert_int_equal(site.clients.accepted, 2);
    assert_null(ready());
    close(second);
}

static void who_stopped_listening_hears_of_no_connection(void **state) {
    (void)state;
    clients_stop_listening(&site.clients);
    int peer = connect_one();
    assert_null(ready());
    assert_true(clients_listen(&site.clients));
    assert_non_null(ready());
    close(peer);
}

static void without_a_descriptor_it_pauses_and_then_goes_on(void **state) {
    (void)state;
    int peer = connect_one();
    log_capture();
    clients_accept(&site.clients, -1); /* any failure of accept4() that is not its time */
    assert_non_null(strstr(log_captured(), "W01"));
    assert_null(ready());
    assert_in_range(clients_accept_again(&site.clients), 1, 1000);
    site.clients.accept_again_ms = 1; /* long ago */
    assert_int_equal(clients_accept_again(&site.clients), -1);
    assert_non_null(ready());
    close(peer);
}

/* What the next program finds, in a process that has the same descriptors. */
static bool is_taken_whole(int64_t due_ms) {
    struct handover taken;
    struct clients next = {.epoll = epoll_create1(0), .listeners = site.listeners, .accepts = 64};
    bool whole = handover_take(&taken) && clients_take(&next, &taken) &&
                 handover_is_whole(&taken) && next.open == 3 && next.partly == 1 &&
                 next.waiting.count == 1;
    if (!whole) {
        return false;
    }
    const struct waiter *waiter = waiting_first(&next.waiting);
    const struct client *client = (const struct client *)waiter;
    struct epoll_event events[4];
    return waiter->due_ms == due_ms && client->head &&
           text_equals(waiter->answer, TEXT("Status: 200 OK\r\n\r\n")) &&
           epoll_wait(next.epoll, events, 4, 0) == 1; /* the one that has hung up */
}

static void the_next_program_has_the_same_clients(void **state) {
    (void)state;
    int peers[3];
    struct arena arena = {0};
    for (size_t i = 0; i < COUNT(peers); i++) {
        peers[i] = connect_one();
    }
    clients_accept(&site.clients, site.listeners[1]);
    struct client *waits = site.clients.first;
    struct client *partly = waits->next;
    clients_park(&site.clients, waits, 60000, TEXT("Status: 200 OK\r\n\r\n"), true);
    int64_t due_ms = waits->waiter.due_ms;
    assert_int_equal(send(peers[1], "\1", 1, 0), 1);
    assert_int_equal(fastcgi_receive(partly->connection, &arena), FASTCGI_PARTLY);
    clients_note_partly(&site.clients, partly, true);
    close(peers[0]);
    struct handover left;
    handover_begin(&left, HANDOVER_WORKER);
    clients_give(&site.clients, &left);
    int memory = handover_store(&left);
    handover_free(&left);
    pid_t child = fork();
    if (child == 0) {
        _exit(is_taken_whole(due_ms) ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(memory);
    close(peers[1]);
    close(peers[2]);
    arena_destroy(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_wake_up_accepts_as_many_as_it_may, setup, teardown),
        cmocka_unit_test_setup_teardown(a_client_that_hangs_up_is_seen_and_dropped, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(who_stopped_listening_hears_of_no_connection, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(without_a_descriptor_it_pauses_and_then_goes_on, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_next_program_has_the_same_clients, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
