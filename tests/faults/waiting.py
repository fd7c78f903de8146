"""Requests that wait hold no worker: /wait, by the thousand."""
import os
import random
import resource
import selectors
import socket
import time

from fastcgi_client import END, FastCGI, encode, record
from harness import Service, expect, expect_equal, expect_problem, sanitized, wait_until
from runner import test

WAITERS = 10_000
LATE_SECONDS = 1.1 if not sanitized() else 5
MEMORY_KIB = 64 * 1024


def allow_descriptors(count):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    expect(hard == resource.RLIM_INFINITY or hard >= count, "this machine allows %d descriptors, %d are needed" % (hard, count))
    resource.setrlimit(resource.RLIMIT_NOFILE, (count if soft < count else soft, hard))


def descriptors(pid):
    return len(os.listdir("/proc/%d/fd" % pid))


def memory_kib(pid):
    with open("/proc/%d/smaps_rollup" % pid) as file:
        return int(next(line for line in file if line.startswith("Pss:")).split()[1])


def ask_to_wait(service, ms, closing=False):
    """A client of the web server that waits; returns its socket."""
    host, port = service.url.split("//")[1].split(":")
    client = socket.create_connection((host, int(port)), timeout=30)
    client.sendall(b"GET /wait?ms=%d HTTP/1.1\r\nHost: x\r\n%s\r\n" % (ms, b"Connection: close\r\n" if closing else b""))
    return client


def idle_reader(service):
    """The reader, and how many descriptors it holds when nobody waits."""
    reader = service.pids()["reader 1"]
    service.client().get("/products/1")
    return reader, descriptors(reader)


def connected(waiter, path):
    """False while the queue of connections that nobody has accepted yet is full."""
    try:
        waiter.setblocking(False)
        waiter.connect(path)
        return True
    except BlockingIOError:
        return False


def begin_waiting(path, count, ms):
    """Opens connections that each wait; returns (socket, time it was sent)."""
    waiters = []
    request = encode("GET", "/wait?ms=%d" % ms)
    for _ in range(count):
        waiter = socket.socket(socket.AF_UNIX)
        wait_until(lambda waiter=waiter: connected(waiter, path), 30, "there is room in the socket's queue")
        waiter.settimeout(30)
        waiters.append((waiter, time.monotonic()))
        waiter.sendall(request)
    return waiters


@test("10,000 requests wait at once on one worker, each is answered in time, and products go on being served")
def _():
    allow_descriptors(WAITERS + 200)
    ms = 8000
    with Service("--probes", "on", readers=1) as service:
        reader = service.pids()["reader 1"]
        client = service.client()
        waiters = begin_waiting(service.socket_path("read.sock"), WAITERS, ms)
        wait_until(lambda: descriptors(reader) >= WAITERS, 5, "all wait")
        expect(time.monotonic() - waiters[0][1] < ms / 1000, "the first was due before the last was sent")
        if not sanitized():
            expect(memory_kib(reader) < MEMORY_KIB, "the worker takes %d KiB" % memory_kib(reader))
        for _ in range(200):
            started = time.monotonic()
            answer = client.get("/products/%d" % (random.randrange(2500) * 5 + 1))
            expect_equal(answer.status, 200, "status of a product while 10,000 wait")
            expect(time.monotonic() - started < 1, "a product took over a second")
        late = collect(waiters, ms)
        expect(late <= LATE_SECONDS, "one was answered %.2f s after its time" % late)


def collect(waiters, ms):
    """Takes every answer; returns by how many seconds the latest came after its time."""
    late = 0
    with selectors.DefaultSelector() as selector:
        for waiter, sent in waiters:
            selector.register(waiter, selectors.EVENT_READ, sent)
        while selector.get_map():
            ready = selector.select(30)
            expect(ready, "%d were not answered" % len(selector.get_map()))
            for key, _ in ready:
                answer = key.fileobj.recv(4096)
                now = time.monotonic()
                expect(b"Status: 200 OK" in answer and b'{"waited_ms":%d}' % ms in answer, "the answer is %r" % answer[:200])
                expect(answer.endswith(record(END, bytes(8))), "the request is not ended: %r" % answer[-40:])
                expect(now - key.data >= ms / 1000, "one was answered %.3f s after it was sent" % (now - key.data))
                late = max(late, now - key.data - ms / 1000)
                selector.unregister(key.fileobj)
                key.fileobj.close()
    return late


@test("3,000 clients of the web server wait at once when it may hold so many connections")
def _():
    clients, ms = 3000, 5000
    allow_descriptors(clients + 200)
    os.environ["CONNECTIONS"] = "8192"  # for nginx/render.sh
    try:
        with Service("--probes", "on", readers=1) as service, selectors.DefaultSelector() as selector:
            for _ in range(clients):
                selector.register(ask_to_wait(service, ms, closing=True), selectors.EVENT_READ)
            expect_equal(service.client().get("/products/1").status, 200, "status of a product meanwhile")
            while selector.get_map():
                ready = selector.select(30)
                expect(ready, "%d were not answered" % len(selector.get_map()))
                for key, _ in ready:
                    answer = key.fileobj.recv(4096)
                    expect(answer.startswith(b"HTTP/1.1 200") and b'{"waited_ms":5000}' in answer, "the answer is %r" % answer[:200])
                    selector.unregister(key.fileobj)
                    key.fileobj.close()
    finally:
        del os.environ["CONNECTIONS"]


@test("a client that hangs up frees its place at once")
def _():
    with Service("--probes", "on", readers=1) as service:
        reader, before = idle_reader(service)
        waiters = begin_waiting(service.socket_path("read.sock"), 100, 30000)
        wait_until(lambda: descriptors(reader) == before + 100, 5, "100 wait")
        for waiter, _ in waiters:
            waiter.close()
        wait_until(lambda: descriptors(reader) == before, 1, "the places are free")


@test("a client of the web server that hangs up frees its place too")
def _():
    with Service("--probes", "on", readers=1) as service:
        reader, before = idle_reader(service)
        client = ask_to_wait(service, 30000)
        time.sleep(0.3)
        client.close()
        wait_until(lambda: descriptors(reader) <= before, 2, "the place is free")


@test("a kept connection serves on after a wait")
def _():
    with Service("--probes", "on", readers=1) as service, FastCGI(service.socket_path("read.sock")) as peer:
        for _ in range(3):
            expect_equal(peer.request("GET", "/wait?ms=20").body, b'{"waited_ms":20}', "the answer to a wait")
            expect_equal(peer.request("GET", "/products/1").status, 200, "status of a product behind it")
            expect_equal(peer.request("HEAD", "/wait?ms=20").body, b"", "the body of a HEAD")


@test("those who wait when the service stops get 503 at once")
def _():
    with Service("--probes", "on", readers=1) as service:
        client = ask_to_wait(service, 30000, closing=True)
        time.sleep(0.3)
        service.supervisor.terminate()
        answer = b""
        while part := client.recv(65536):
            answer += part
        expect(answer.startswith(b"HTTP/1.1 503") and b"Retry-After" in answer, "the answer is %r" % answer[:300])


@test("without --probes their routes are not there")
def _():
    with Service(readers=1) as service:
        for path in "/json", "/db", "/queries", "/greet?name=a", "/wait?ms=1":
            expect_problem(service.client().get(path), 404)
