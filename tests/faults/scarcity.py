"""When memory, the disk or descriptors run short: what a client is told, and what is left afterwards."""
import contextlib
import json
import os
import resource
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time

from disk import small_disk
from fastcgi_client import FastCGI, encode
from harness import Service, create_database, expect, expect_equal, larder, product, run_larder, sanitized, wait_until
from runner import test

MEMORY_KIB = 64 * 1024


def peak_kib(pid):
    with open("/proc/%d/status" % pid) as file:
        return int(next(line for line in file if line.startswith("VmHWM:")).split()[1])


@test("a megabyte of tiny values is refused and costs the writer little memory, eight at once too")
def _():
    bodies = [b"[" + b",".join([text] * (1_040_000 // (len(text) + 1))) + b"]" for text in (b"{}", b"0", b'""', b"[]")]
    with Service(readers=1) as service:
        writer = service.pids()["writer"]
        peers = [(FastCGI(service.socket_path("write.sock")), body) for body in bodies * 2]
        os.kill(writer, signal.SIGSTOP)  # so that it finds all of them ready
        for peer, _ in peers:
            peer.socket.setblocking(False)
        left = [(peer, memoryview(encode("POST", "/products", body))) for peer, body in peers]
        os.kill(writer, signal.SIGCONT)
        while left:
            left = [(peer, data[sent(peer, data):]) for peer, data in left]
            left = [(peer, data) for peer, data in left if data]
        for peer, _ in peers:
            peer.socket.settimeout(30)
            expect_equal(peer.receive().status, 400, "status")
            peer.socket.close()
        if not sanitized():
            expect(peak_kib(writer) < MEMORY_KIB, "the writer took %d KiB" % peak_kib(writer))
        expect_equal(service.pids()["writer"], writer, "the writer")


def sent(peer, data):
    try:
        return peer.socket.send(data[:65536])
    except BlockingIOError:
        time.sleep(0.001)
        return 0


@test("when a commit fails, no answer tells of the state that was rolled back, and each is readable across origins", mounts=True)
def _():
    with small_disk() as (database, _):
        create_row(database)
        with Service("--cors-origin", "https://a.example", readers=1, database=database) as service:
            writer = service.pids()["writer"]
            body = json.dumps(product("void-1", name="x" * 200)).encode()
            asks = [("POST", "/products", body), ("POST", "/products", body), ("DELETE", "/products/1", b""),
                    ("DELETE", "/products/1", b"")]
            peers = [FastCGI(service.socket_path("write.sock")) for _ in asks]
            for peer in peers:
                expect_equal(peer.request("OPTIONS", "/products").status, 204, "status of an OPTIONS")
            os.kill(writer, signal.SIGSTOP)
            for peer, (method, path, content) in zip(peers, asks):
                peer.send(encode(method, path, content, {"HTTP_ORIGIN": "https://a.example", "REQUEST_ID": "void-" + path[1:4]}))
            fill_to_the_last_byte(os.path.join(os.path.dirname(database), "more"))
            os.kill(writer, signal.SIGCONT)
            for peer, ask in zip(peers, asks):
                answer = peer.receive()
                expect_equal(answer.status, 507, "status of %s %s" % ask[:2])
                expect_equal(answer.headers.get("Access-Control-Allow-Origin"), "https://a.example", "CORS of a 507")
                peer.socket.close()
            expect("W04 request void-pro was answered with 507" in service.log(), "the log: %s" % service.log())
            expect_equal(service.client().get("/products/1").status, 200, "the product that was not deleted")
            os.unlink(os.path.join(os.path.dirname(database), "more"))


def create_row(database):
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute("INSERT INTO products (sku, name, price_cents, stock, category_id, created_at, updated_at) VALUES "
                           "('one', 'One', 1, 1, 1, '2026-11-30T22:00:00Z', '2026-11-30T22:00:00Z')")
        connection.commit()


def fill_to_the_last_byte(path):
    with open(path, "wb", buffering=0) as file:
        for size in 65536, 4096, 512, 1:
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(size))


@test("init on a disk that is too small fails with a sentence and leaves nothing", mounts=True)
def _():
    for size in 1000, 2000, 2600, 3600:
        with tempfile.TemporaryDirectory(prefix="larder-") as directory:
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%dk" % size, "tmpfs", directory], check=True)
            try:
                path = os.path.join(directory, "larder.db")
                done = run_larder("init", "--demo", "--db", path)
                if done.returncode == 0:
                    expect_equal(run_larder("check", "--db", path).returncode, 0, "check of what init made at %d KiB" % size)
                    expect_equal([name for name in os.listdir(directory) if "new" in name], [], "left beside it")
                else:
                    expect_equal(os.listdir(directory), [], "left at %d KiB" % size)
                    expect(done.stderr.count("\n") == 1, "the sentence: %r" % done.stderr)
            finally:
                subprocess.run(["umount", directory], check=True)


@test("without a descriptor left a worker waits, with a line in the log now and then, and goes on afterwards")
def _():
    with tempfile.TemporaryDirectory(prefix="larder-") as directory:
        database, run_dir = directory + "/db", directory + "/run"
        create_database(database, demo=True)
        with open(directory + "/log", "wb") as log:
            supervisor = subprocess.Popen(
                [larder(), "serve", "--db", database, "--run-dir", run_dir, "--readers", "1"], stdout=log, stderr=log,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24)))
        try:
            wait_until(lambda: os.path.exists(run_dir + "/read.sock"), 5, "it serves")
            peers = [FastCGI(run_dir + "/read.sock") for _ in range(40)]
            time.sleep(1)
            with open(directory + "/log") as file:
                lines = sum(" W01 " in line for line in file)
            expect(0 < lines < 30, "%d lines in a second" % lines)
            for peer in peers:
                peer.socket.close()
            with FastCGI(run_dir + "/read.sock") as peer:
                expect_equal(peer.request("GET", "/products/1").status, 200, "status afterwards")
        finally:
            supervisor.terminate()
            expect_equal(supervisor.wait(10), 0, "exit status")


@test("a log that nobody reads any more does not end the service")
def _():
    with Service(readers=1) as service:
        service.stop()
        reading, writing = os.pipe()
        supervisor = subprocess.Popen([larder(), "serve", *service.flags], stderr=writing, start_new_session=True)
        service.sessions.add(supervisor.pid)
        os.close(writing)
        os.read(reading, 100)  # it has begun
        os.close(reading)
        service.supervisor = supervisor
        pid, _ = service.kill("reader 1")
        service.wait_successor("reader 1", pid)
        expect(supervisor.poll() is None, "the supervisor has ended: %s" % supervisor.returncode)
        with FastCGI(service.socket_path("read.sock")) as peer:
            expect_equal(peer.request("GET", "/products/1").status, 200, "status")
        supervisor.terminate()
        expect_equal(supervisor.wait(15), 0, "exit status")


@test("a request whose body is cut off is not acted on, also where no body is asked for")
def _():
    with Service(readers=1) as service:
        with FastCGI(service.socket_path("write.sock")) as peer:
            whole = encode("DELETE", "/products/1", b"x" * 100)
            peer.send(whole[:-60])
            peer.socket.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionError):
                expect_equal(peer.receive().status, 400, "status")
        expect_equal(service.client().get("/products/1").status, 200, "the product")
