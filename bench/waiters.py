"""Clients of /wait?ms=N by the thousand, each on a connection of its own."""
import resource
import selectors
import socket
import time

import places  # noqa: F401: for the next line
from harness import expect

AT_ONCE = 500  # connects in progress, below any server's queue
PATIENCE_SECONDS = 30


def allow_descriptors(count):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (count, max(count, hard)))
        except (ValueError, PermissionError):
            raise AssertionError("this user may open %d descriptors, %d are needed" % (hard, count)) from None


def request(ms):
    return b"GET /wait?ms=%d HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" % ms


class Waiter:
    def __init__(self, port, selector):
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.socket.connect_ex(("127.0.0.1", port))
        self.sent, self.received = None, b""
        selector.register(self.socket, selectors.EVENT_WRITE, self)

    def is_answered(self, ms):
        head, found, body = self.received.partition(b"\r\n\r\n")
        return found and head.startswith(b"HTTP/1.1 200 ") and b"waited_ms" in body and str(ms).encode() in body and b"}" in body


def wait_at_once(port, count, ms, when_all_wait=lambda: None):
    """Opens `count` connections and lets each wait once. Calls when_all_wait() as soon as all requests are sent. Returns
    (seconds it took to send them, [seconds after its due time, for each that was answered with 200])."""
    selector, opened, sent, late = selectors.DefaultSelector(), 0, 0, []
    first = deadline = time.monotonic()
    try:
        while sent < count or selector.get_map():
            while opened < count and opened - sent < AT_ONCE:
                Waiter(port, selector)
                opened += 1
            ready = selector.select(PATIENCE_SECONDS + ms / 1000)
            if not ready:
                break
            for key, events in ready:
                waiter = key.data
                if events & selectors.EVENT_WRITE:
                    sent += 1
                    send(waiter, selector, ms)
                    if sent == count:
                        deadline = time.monotonic()
                        when_all_wait()
                else:
                    receive(waiter, selector, ms, late)
    finally:
        for key in list(selector.get_map().values()):
            key.fileobj.close()
        selector.close()
    return deadline - first, late


def send(waiter, selector, ms):
    try:
        waiter.socket.send(request(ms))
        waiter.sent = time.monotonic()
        selector.modify(waiter.socket, selectors.EVENT_READ, waiter)
    except OSError:
        selector.unregister(waiter.socket)
        waiter.socket.close()


def receive(waiter, selector, ms, late):
    try:
        part = waiter.socket.recv(4096)
    except OSError:
        part = b""
    waiter.received += part
    if waiter.is_answered(ms):
        late.append(time.monotonic() - waiter.sent - ms / 1000)
    elif part:
        return
    selector.unregister(waiter.socket)
    waiter.socket.close()


def keep_waiting(port, count, ms, seconds):
    """`count` connections, each of which asks again as soon as it is answered, for so long; returns how many answers came
    in that time and the tenth of a second after it."""
    selector, answers = selectors.DefaultSelector(), 0
    started = time.monotonic()
    end = started + seconds
    for _ in range(count):
        Waiter(port, selector)
    try:
        while (left := end + 0.1 - time.monotonic()) > 0 and selector.get_map():
            for key, events in selector.select(left):
                waiter = key.data
                if events & selectors.EVENT_WRITE:
                    send(waiter, selector, ms)
                    continue
                try:
                    part = waiter.socket.recv(4096)
                except OSError:
                    part = b""
                expect(part, "a connection was closed instead of being answered")
                waiter.received += part
                if waiter.is_answered(ms):
                    answers += 1
                    waiter.received = b""
                    if time.monotonic() < end:
                        send(waiter, selector, ms)
    finally:
        for key in list(selector.get_map().values()):
            key.fileobj.close()
        selector.close()
    return answers
