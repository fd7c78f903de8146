"""What is counted, through trouble: workers that die, locks, slow requests; and who may see it."""
import collections
import os
import re
import signal
import sqlite3
import subprocess
import tempfile
import time

from checks.exposition import parse
from disk import small_disk
from fastcgi_client import FastCGI
from harness import Service, expect, expect_equal, expect_problem, product, wait_until
from load import in_parallel
from runner import Skip, test

SLOW = re.compile(r"W12 slow: request (\S+), (\S+) (\S+), (\d+), took (\d+) ms: (\d+) before its handler, (\d+) in it"
                  r"(?: \((\d+) for the lock of another process\))?, (\d+) until its batch of (\d+) was committed; "
                  r"(\d+) more were slow since the last such line")

SQLITE_CALLS = {"fcntl", "fstat", "stat", "newfstatat"}  # a snapshot's locks, and whether the file is still the one


def metrics(service, client=None):
    answer = (client or service.client()).get("/metrics")
    expect_equal(answer.status, 200, "status of /metrics: %s" % answer)
    return parse(answer.body.decode())


def total(service, name, **labels):
    return metrics(service)[name].total(**labels)


def counters(families):
    """Every sample that may never go back."""
    return {(name, key): value for name, family in families.items() if family.type != "gauge"
            for key, value in family.samples.items()}


@test("no counter goes back when workers are killed with -9; the restarts are counted by worker")
def _():
    with Service(readers=1) as service:
        client = service.client()
        for number in range(20):
            client.get("/products/%d" % number)
            client.post("/products", product("count-%d" % number))
        sent = {("/products", "POST", "201"): 20, ("/products/{id}", "GET", "200"): 0}
        before = metrics(service)
        for role in ("writer", "reader 1", "writer"):
            pid, _ = service.kill(role)
            service.wait_successor(role, pid)
        service.wait_ready()
        client.post("/products", product("after"))
        after = metrics(service)
        gone = {name: (value, counters(after).get(name)) for name, value in counters(before).items()
                if not counters(after).get(name, -1) >= value}
        expect_equal(gone, {}, "samples that went back")
        for (route, method, status), least in sent.items():
            expect(before["larder_requests_total"].total(route=route, method=method, status=status) >= least,
                   "%s %s %s was counted too few times" % (method, route, status))
        expect_equal(after["larder_requests_total"].total(route="/products", method="POST", status="201"), 21.0, "POSTs in all")
        for worker, times in (("writer", 2), ("reader 1", 1)):
            expect_equal(after["larder_worker_restarts_total"].total(worker=worker), float(times), "restarts of the " + worker)
        expect(re.search(r"reader 1\] W10 ", service.log()) is None, "a killed reader cannot have said what it served")


@test("a reload counts on: no request, connection or wait is missing, and none is counted twice")
def _():
    with Service("--probes", "on", readers=1) as service, FastCGI(service.socket_path("write.sock")) as writer:
        answers = [FastCGI(service.socket_path("read.sock")) for _ in range(5)]
        for peer in (writer, *answers):  # by then they are accepted
            expect(peer.request("GET", "/health").status in (200, 421), "a first request")
        before = metrics(service)
        for number in range(3):
            for peer in answers:
                expect_equal(peer.request("GET", "/products/1").status, 200, "a GET")
                expect_equal(peer.request("GET", "/wait?ms=1").status, 200, "a wait")
            service.supervisor.send_signal(signal.SIGHUP)
            wait_until(lambda number=number: service.log().count(" R11 ") > number, 15, "the service has reloaded")
        after = metrics(service)
        for name, labels, times in (("larder_requests_total", {"route": "/products/{id}", "method": "GET", "status": "200"}, 15),
                                    ("larder_waits_total", {}, 15), ("larder_worker_restarts_total", {}, 0),
                                    ("larder_connections", {"worker": "writer"}, 0)):
            expect_equal(after[name].total(**labels) - before[name].total(**labels), float(times), name)
        more = after["larder_connections_accepted_total"].total() - before["larder_connections_accepted_total"].total()
        expect(more <= 2, "%d connections accepted, of which nginx made one" % more)
        for peer in answers:
            peer.socket.close()


@test("a reader that has just died, and all connections kept to it, are no reason to refuse /metrics")
def _():
    with Service(readers=1) as service:
        clients = [service.client() for _ in range(8)]
        for _ in range(5):
            in_parallel(8, lambda number: clients[number].get("/products?limit=100"))
            service.kill("reader 1")
            expect_equal(service.client().get("/metrics").status, 200, "status of /metrics")


@test("a worker that ends tells how many requests it served itself, not its predecessors")
def _():
    with Service(readers=1) as service:
        client = service.client()
        for _ in range(30):
            client.get("/products/1")
        pid, _ = service.kill("reader 1")
        service.wait_successor("reader 1", pid)
        for _ in range(4):
            client.get("/products/1")
        pid, _ = service.kill("reader 1", signal.SIGTERM)
        service.wait_successor("reader 1", pid)
        told = re.findall(r"reader 1\] W10 served (\d+) requests in (\d+) batches", service.log())
        expect_equal(len(told), 1, "lines W10 of readers")
        expect(4 <= int(told[0][0]) <= 10, "the second reader served %s requests" % told[0][0])


@test("while a worker is away it is not up and its connections are gone")
def _():
    with Service(readers=1) as service:
        service.client().post("/products", product("a"))
        pid = 0
        for _ in range(5):  # the back-off leaves it away long enough to look
            wait_until(lambda: service.pids().get("writer") not in (None, pid), 5, "there is a new writer")
            pid, _ = service.kill("writer")
        wait_until(lambda: total(service, "larder_worker_up", worker="writer") == 0, 2, "the writer is not up")
        expect_equal(total(service, "larder_connections", worker="writer"), 0.0, "its connections")
        wait_until(lambda: total(service, "larder_worker_up", worker="writer") == 1, 5, "the writer is up")


@test("connections and waits are counted, and those that go leave the gauges")
def _():
    with Service("--probes", "on", readers=1) as service:
        before = total(service, "larder_connections", worker="reader 1")
        peers = [FastCGI(service.socket_path("read.sock")) for _ in range(10)]
        for peer in peers[:4]:
            peer.request("GET", "/health")
        wait_until(lambda: total(service, "larder_connections", worker="reader 1") >= before + 10, 5, "10 more are open")
        expect(total(service, "larder_connections_accepted_total", worker="reader 1") >= before + 10, "10 more were accepted")
        waits = total(service, "larder_waits_total")
        in_parallel(5, lambda _: service.client().get("/wait?ms=600"))
        expect_equal(total(service, "larder_waits_total") - waits, 5.0, "waits")
        expect_equal(total(service, "larder_waiting_requests"), 0.0, "requests that wait afterwards")
        slow = total(service, "larder_request_seconds", part="_sum")
        expect(slow < 0.5, "%.3f s: a wait on purpose is not in the time of a request" % slow)
        for peer in peers:
            peer.socket.close()
        wait_until(lambda: total(service, "larder_connections", worker="reader 1") <= before + 6, 5, "they are gone")


@test("a wait for another process's lock is counted, and logged as slow with its request id and where the time went")
def _():
    with Service("--slow-ms", "300", readers=1) as service:
        client = service.client()
        client.post("/products", product("quick"))
        expect("W12" not in service.log(), "nothing was slow yet: " + service.log())
        other = sqlite3.connect(service.database, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")

        def let_go(number):
            if number == 1:
                time.sleep(0.8)
                other.execute("ROLLBACK")
                return None
            return service.client().post("/products", product("slow"), {"X-Request-Id": "slow-1"})
        other.close()
        other = sqlite3.connect(service.database, isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        answers = in_parallel(2, let_go)
        other.close()
        expect_equal([answer.status for answer in answers if answer], [201], "status of the write")
        line = SLOW.search(service.log())
        expect(line, "no line W12: " + service.log())
        expect_equal(line.groups()[:4], ("slow-1", "POST", "/products", "201"), "what the line says")
        took, before, handler, locked, commit, batch, more = (int(number) for number in line.groups()[4:])
        expect(300 <= took < 5000 and 300 <= locked <= handler + 10 and abs(took - before - handler - commit) < 10,
               "the line says %s" % line.group())
        expect_equal((batch, more), (1, 0), "batch and others")
        families = metrics(service)
        expect_equal(families["larder_lock_waits_total"].total(), 1.0, "waits for a lock")
        expect(0.3 <= families["larder_lock_wait_seconds_total"].total() < 5, "seconds of them")
        expect_equal(families["larder_slow_requests_total"].total(lane="write"), 1.0, "slow requests")
        expect_equal(families["larder_slow_requests_total"].total(lane="read"), 0.0, "slow reads")


@test("slow requests have at most one line a second a worker, and the next line tells how many had none")
def _():
    with Service("--slow-ms", "1", readers=0) as service:
        started = time.monotonic()
        clients = [service.client() for _ in range(8)]

        def write(number):
            count = 0
            while time.monotonic() < started + 2.5:
                count += 1
                body = [product("r-%d-%d-%d" % (number, count, i)) for i in range(400)]
                expect_equal(clients[number].post("/products", body).status, 201, "status of 400 products")
        in_parallel(8, write)
        seconds = time.monotonic() - started
        told = [match.groups() for match in SLOW.finditer(service.log())]
        expect(2 <= len(told) <= seconds + 2, "%d lines in %.1f s" % (len(told), seconds))
        slow = total(service, "larder_slow_requests_total")
        expect(slow > len(told), "%d slow requests, %d lines" % (slow, len(told)))
        counted = sum(1 + int(groups[-1]) for groups in told)
        expect(len(told) < counted <= slow, "the lines tell of %d, the counter of %d" % (counted, slow))


@test("--slow-ms off logs nothing, and neither /wait nor its waiting is slow")
def _():
    for flags in (["--slow-ms", "off"], ["--slow-ms", "200"]):
        with Service("--probes", "on", *flags, readers=1) as service:
            expect_equal(service.client().get("/wait?ms=500").status, 200, "status of a wait")
            if flags[1] == "off":
                other = sqlite3.connect(service.database, isolation_level=None)
                other.execute("BEGIN IMMEDIATE")
                expect_equal(service.client().post("/products", product("a")).status, 503, "a POST while the lock is held")
                other.close()
            expect("W12" not in service.log(), "it says " + service.log())
            expect_equal(total(service, "larder_slow_requests_total"), 0.0, "slow requests")


@test("commits that fail for a full disk and the answers 507 are counted", mounts=True)
def _():
    with small_disk() as (database, _), Service(database=database, readers=1) as service:
        client, full = service.client(), 0
        for i in range(200):
            many = [product("full-%d-%d" % (i, k), name="x" * 200) for k in range(200 if full == 0 else 20)]
            status = client.post("/products", many).status
            expect(status in (201, 507), "a POST: %d" % status)
            full += status == 507
            if full == 5:
                break
        families = metrics(service)
        answers = families["larder_requests_total"].total(route="/products", method="POST", status="507")
        expect_equal(answers, float(full), "answers 507")
        expect(full == 5, "the disk never was full")
        failed = families["larder_commit_failures_total"].total()
        expect(0 < failed <= full, "%d commits failed" % failed)
        expect(families["larder_wal_bytes"].total() > 4096, "the WAL has no size")


@test("/metrics is refused to whom the web server says is elsewhere, and to whoever it says nothing about")
def _():
    with Service(readers=1) as service, FastCGI(service.socket_path("read.sock")) as peer:
        for address, forwarded, status in (
                ("127.0.0.1", None, 200), ("10.9.8.7", None, 200), ("::1", "192.168.0.9", 200), (None, None, 403),
                ("8.8.8.8", None, 403), ("127.0.0.1", "8.8.8.8", 403), ("", "", 403), ("2001:db8::1", "10.0.0.1", 403)):
            answer = peer.request("GET", "/metrics", parameters={"REMOTE_ADDR": address, "HTTP_X_FORWARDED_FOR": forwarded})
            expect_equal(answer.status, status, "status for %s, passed on for %s" % (address, forwarded))
            expect_equal(b"larder_" in answer.body, status == 200, "figures in the answer")


@test("nginx refuses /metrics to addresses elsewhere, as real_ip tells them, below a prefix too")
def _():
    for prefix in "", "/shop":
        with Service(readers=1, prefix=prefix) as service:
            path = os.path.join(service.run_dir, "nginx", "nginx.conf")
            with open(path) as file:
                text = file.read()
            with open(path, "w") as file:
                file.write(text.replace("include fastcgi.conf;", "include fastcgi.conf; set_real_ip_from 127.0.0.0/8;"
                                        " real_ip_header X-Forwarded-For;"))
            service.nginx.send_signal(signal.SIGHUP)

            def by_nginx():
                answer = service.client().get("/metrics", {"X-Forwarded-For": "203.0.113.9"})
                expect_problem(answer, 403)
                return answer.json()["detail"] == "Access is refused."
            wait_until(by_nginx, 5, "nginx itself refuses")
            for address, status in (("10.1.2.3", 200), ("203.0.113.9", 403), ("2001:db8::1", 403), ("fd00::1", 200)):
                for method in "GET", "HEAD":
                    answer = service.client().request(method, "/metrics", headers={"X-Forwarded-For": address})
                    expect_equal(answer.status, status, "status of %s for %s" % (method, address))
            expect_equal(service.client().get("/products/1", {"X-Forwarded-For": "203.0.113.9"}).status, 200, "all else")


def calls(pid, work):
    """The system calls of a process while it works, by name."""
    with tempfile.TemporaryDirectory(prefix="larder-") as directory:
        path = os.path.join(directory, "calls")
        strace = subprocess.Popen(["strace", "-o", path, "-p", str(pid)], stderr=subprocess.PIPE, text=True)
        try:
            line = strace.stderr.readline()
            if "attached" not in line:
                raise Skip("strace may not attach here: " + line.strip())
            work()
        finally:
            strace.send_signal(signal.SIGINT)
            strace.communicate()
        with open(path) as file:
            return collections.Counter(re.findall(r"^(\w+)\(", file.read(), re.M))


@test("counting costs no system call and no lock: a request is one wait, one receive and one send, beside what SQLite does with its file")
def _():
    with Service(readers=1) as service, FastCGI(service.socket_path("read.sock")) as peer:
        def ask(path):
            for _ in range(100):
                expect_equal(peer.request("GET", path).status, 200, "GET " + path)
        ask("/products/1")  # statements are prepared
        reader = service.pids()["reader 1"]
        expect_calls(calls(reader, lambda: ask("/health")))
        found = calls(reader, lambda: ask("/products/1"))
        expect_calls(collections.Counter({name: count for name, count in found.items() if name not in SQLITE_CALLS}))
        expect_equal(total(service, "larder_requests_total", route="/products/{id}", status="200"), 200, "what was counted")


def expect_calls(found):
    expect_equal(set(found), {"epoll_wait", "recvfrom", "sendto"}, "system calls")
    for name, count in found.items():
        expect(100 <= count <= 105, "%d calls of %s for 100 requests" % (count, name))
