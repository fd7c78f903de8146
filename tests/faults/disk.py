"""A full disk, and another process that holds the database's lock."""
import contextlib
import os
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time

from harness import Service, create_database, expect, expect_equal, expect_problem, product, wait_until
from load import in_parallel
from runner import test

FILLER_BYTES = 1024 * 1024
DISK_KIB = 4096
PARALLEL = 10


@contextlib.contextmanager
def small_disk():
    """A database with one category on a file system of its own, beside a filler file that can be freed."""
    with tempfile.TemporaryDirectory(prefix="larder-") as directory:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%dk" % DISK_KIB, "tmpfs", directory], check=True)
        try:
            database = os.path.join(directory, "larder.db")
            create_database(database)
            with contextlib.closing(sqlite3.connect(database)) as connection:
                connection.execute("INSERT INTO categories (name) VALUES ('Category 1')")
                connection.commit()
            with open(os.path.join(directory, "filler"), "wb") as filler:
                filler.write(bytes(FILLER_BYTES))
            yield database, filler.name
        finally:
            subprocess.run(["umount", directory], check=True)


def rows(database):
    with contextlib.closing(sqlite3.connect(database)) as connection:
        expect_equal(connection.execute("PRAGMA integrity_check").fetchall(), [("ok",)], "integrity")
        return {row[0]: row[1] for row in connection.execute("SELECT sku, id FROM products")}


def fill(client, number, acknowledged):
    """POSTs until the disk has been full for a while. Returns how often it was."""
    full = 0
    for i in range(20000):
        sku = "fill-%d-%d" % (number, i)
        answer = client.post("/products", product(sku, name="x" * 200))
        if answer.status == 201:
            acknowledged[sku] = answer.json()["id"]
        else:
            expect_problem(answer, 507)
            full += 1
            if full == 20:
                break
    return full


def fill_and_free(service, filler, connections):
    acknowledged = {}
    full = in_parallel(connections, lambda number: fill(service.client(), number, acknowledged))
    expect(min(full) == 20, "the disk never was full")
    expect(len(acknowledged) > 40, "only %d writes before the disk was full" % len(acknowledged))
    client = service.client()
    for sku in list(acknowledged)[::50]:
        answer = client.get("/products/%d" % acknowledged[sku])
        expect_equal(answer.status, 200, "a GET on a full disk: %s" % answer)
        expect_equal(answer.json()["sku"], sku, "sku")
    expect_equal(client.get("/ready").status, 200, "/ready on a full disk")
    os.unlink(filler)
    wait_until(lambda: client.post("/products", product("freed")).status in (201, 409), 5, "a write after freeing")
    for i in range(10):
        answer = client.post("/products", product("after-%d" % i))
        expect_equal(answer.status, 201, "a write after freeing: %s" % answer)
        acknowledged["after-%d" % i] = answer.json()["id"]
    service.stop()
    there = rows(service.database)
    there.pop("freed")
    lost = {sku for sku in acknowledged if there.get(sku) != acknowledged[sku]}
    expect(not lost, "%d acknowledged writes are lost" % len(lost))
    expect_equal(len(there), len(acknowledged), "rows in the file, against acknowledged writes")


@test("a full disk is 507, nothing is half-written, reads go on; with space, writes work again", mounts=True)
def _():
    with small_disk() as (database, filler), Service(database=database, readers=1) as service:
        fill_and_free(service, filler, 1)


@test("a full disk under 32 concurrent connections: no acknowledged write of any batch is lost", mounts=True)
def _():
    with small_disk() as (database, filler), Service(database=database, readers=2) as service:
        fill_and_free(service, filler, 32)


@test("once there is space, writes without a pause between them work too: the WAL does not eat it up", mounts=True)
def _():
    with small_disk() as (database, filler), Service(database=database, readers=1) as service:
        client = service.client()
        fill(client, 0, {})
        os.unlink(filler)
        statuses = [client.post("/products", product("again-%d" % i)).status for i in range(500)]
        full = statuses.count(507)
        expect(full < 50, "%d of 500 small writes into 1 MiB of space were answered with 507" % full)


@test("a writer killed while the disk is full comes back, and nothing is lost", mounts=True)
def _():
    with small_disk() as (database, _), Service(database=database, readers=1) as service:
        acknowledged = {}
        fill(service.client(), 0, acknowledged)
        pid, _ = service.kill("writer")
        service.wait_successor("writer", pid)
        service.wait_ready()
        answer = service.client().post("/products", product("more", name="x" * 200))
        if answer.status == 201:  # the new writer has moved some of the WAL into the database
            acknowledged["more"] = answer.json()["id"]
        else:
            expect_problem(answer, 507)
        pid, _ = service.kill("writer")  # what was acknowledged is in the file, not only in its memory
        service.wait_successor("writer", pid)
        service.stop()
        expect_equal(rows(database), acknowledged, "the rows, against the writes that were answered with 201")


# ------------------------------------------------------------------------------------------------- locks

@contextlib.contextmanager
def locked(database):
    """Another process, as a backup or a shell would be, holds the write lock. (A connection of ours will do.)"""
    with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


def post_timed(client, number):
    started = time.monotonic()
    answer = client.post("/products", product("locked-%d-%d" % (number, time.monotonic_ns())))
    return answer, time.monotonic() - started


@test("while another process holds the lock a write is 503 with Retry-After after 2 s; reads go on")
def _():
    with Service(readers=1) as service:
        client = service.client()
        with locked(service.database):
            writes = []
            thread = threading.Thread(target=lambda: writes.append(post_timed(service.client(), 0)))
            thread.start()
            reads = 0
            while thread.is_alive():
                started = time.monotonic()
                expect_equal(client.get("/products/1").status, 200, "a GET meanwhile")
                expect(time.monotonic() - started < 1, "a GET waited for the lock")
                reads += 1
            thread.join()
        (answer, took), = writes
        expect_problem(answer, 503)
        expect(1 < took < 3, "the write took %.1f s" % took)
        expect(reads > 100, "only %d GETs meanwhile" % reads)
        expect_equal(post_timed(client, 0)[0].status, 201, "a write afterwards")


@test("a write that comes while the lock is held is carried out when it is released in time")
def _():
    with Service(readers=1) as service:
        with locked(service.database):
            results = []
            thread = threading.Thread(target=lambda: results.append(post_timed(service.client(), 0)))
            thread.start()
            time.sleep(0.7)
        thread.join()
        expect_equal(results[0][0].status, 201, "the write: %s" % results[0][0])


def expect_one_wait(results):
    for answer, _ in results:
        expect_problem(answer, 503)
    took = sorted(took for _, took in results)
    expect(took[-1] < 4.5, "the lock was waited for again and again: %s" % ["%.1f" % seconds for seconds in took])


@test("a batch waits for the lock once, not each request of it")
def _():
    with Service(readers=1) as service:
        clients = [service.client() for _ in range(PARALLEL)]
        for client in clients:
            client.get("/health")

        def at_once():  # a worker that was stopped meanwhile finds all of them ready
            writer = service.pids()["writer"]
            os.kill(writer, signal.SIGSTOP)
            threading.Timer(0.3, os.kill, (writer, signal.SIGCONT)).start()
            return in_parallel(PARALLEL, lambda number: post_timed(clients[number], number))
        statuses = [answer.status for answer, _ in at_once()]  # opens the web server's connections
        expect_equal(statuses, [201] * PARALLEL, "writes without a lock")
        with locked(service.database):
            expect_one_wait(at_once())


@test("writes on new connections share the wait for the lock too")
def _():
    with Service(readers=1) as service:
        with locked(service.database):
            expect_one_wait(in_parallel(PARALLEL, lambda number: post_timed(service.client(), number)))
