"""What a killed process takes with it: nothing that was acknowledged."""
import os
import signal
import time

from harness import Service, expect, expect_equal, expect_problem, product, run_larder, sanitized, wait_until
from load import Load
from runner import test

BACK_SECONDS = 3.0 if sanitized() else 1.0


def back_after_kill(service, role, use):
    """Kills one worker; returns the seconds until another process has its role and serves `use`."""
    pid, killed = service.kill(role)
    service.wait_successor(role, pid)
    wait_until(use, 5, "the new %s serves" % role)
    return time.monotonic() - killed


def kill_everything(service):
    workers = service.pids().values()
    service.kill_supervisor()
    for pid in workers:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it ended with its supervisor
    wait_until(lambda: not service.left_over(), 5, "all processes are gone")


@test("kill -9 of writer, reader, all workers and the supervisor under load loses no acknowledged write")
def _():
    with Service(readers=2) as service:
        with Load(service, writers=8, readers=8) as load:
            time.sleep(0.5)
            for _ in range(3):
                service.kill("writer")
                time.sleep(0.4)
            for _ in range(3):
                service.kill("reader 1")
                time.sleep(0.4)
            for role in sorted(service.pids()):
                service.kill(role)
            time.sleep(1.0)
            load.reads_may_fail = True
            kill_everything(service)
            service.serve()
            service.wait_ready()
            time.sleep(0.1)
            load.reads_may_fail = False
            time.sleep(0.5)
        load.verify(service)
        expect(load.unavailable < load.writes / 2, "%d of %d writes were answered with 503" % (
            load.unavailable, load.writes))
        check = run_larder("check", "--db", service.database)
        expect_equal(check.returncode, 0, "exit status of larder check, which says %s" % check.stdout)


@test("with a single reader and 32 connections, GETs go on while it and the writer are killed")
def _():
    with Service(readers=1) as service:
        with Load(service, writers=2, readers=32) as load:
            for role in ("reader 1", "reader 1", "writer") * 3:
                time.sleep(0.4)
                service.kill(role)
            time.sleep(0.5)
        load.verify(service)


@test("a killed writer is back within one second")
def _():
    with Service() as service:
        client = service.client()

        def writes():
            answer = client.post("/products", product("back-%d" % time.monotonic_ns()))
            expect(answer.status in (201, 503), "a POST: %s" % answer)
            return answer.status == 201
        took = back_after_kill(service, "writer", writes)
        expect(took < BACK_SECONDS, "it took %.2f s" % took)


@test("a killed reader is back within one second")
def _():
    with Service(readers=1) as service:
        client = service.client()
        took = back_after_kill(service, "reader 1", lambda: client.get("/products/1").status == 200)
        expect(took < BACK_SECONDS, "it took %.2f s" % took)


@test("a worker killed five times in a row comes back within a second each time, later and later")
def _():
    with Service(readers=1) as service:
        times = []
        for _ in range(5):
            pid, killed = service.kill("writer")
            service.wait_successor("writer", pid)
            times.append(time.monotonic() - killed)
        service.wait_ready()
        slow = [round(seconds, 2) for seconds in times if seconds >= BACK_SECONDS]
        expect(not slow, "it took %s s" % slow)
        expect(times[-1] > 0.2, "no back-off: %s" % [round(seconds, 3) for seconds in times])
        expect_equal(service.log().count(" S02 "), 5, "log lines about a killed worker")


@test("while there is no writer a write is 503 with Retry-After and /ready is 503; reads go on")
def _():
    with Service(readers=1) as service:
        client = service.client()
        pid = 0
        for _ in range(5):  # the back-off leaves it away long enough to look
            wait_until(lambda: service.pids().get("writer") not in (None, pid), 5, "there is a new writer")
            pid, _ = service.kill("writer")
        seen = set()
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            expect_equal(client.get("/products/1").status, 200, "a GET without a writer")
            answer = client.get("/ready")
            seen.add(answer.status)
            if answer.status == 503:
                expect_problem(answer, 503)
                expect_equal(answer.json()["writer"], False, "the member writer of /ready")
            elif 503 in seen:
                break
        expect_equal(seen, {200, 503}, "answers of /ready before and after")
        expect_equal(client.post("/products", product("waits")).status, 201, "a POST afterwards")


@test("SIGTERM to one worker drains it: it is replaced, no GET fails, no acknowledged write is lost")
def _():
    with Service(readers=2) as service:
        with Load(service, writers=4, readers=8) as load:
            for role in ("reader 1", "writer", "reader 2"):
                time.sleep(0.4)
                pid, _ = service.kill(role, signal.SIGTERM)
                service.wait_successor(role, pid)
            time.sleep(0.4)
        load.verify(service)
        expect_equal(service.log().count("ended with status 0"), 3, "workers that ended by themselves")
