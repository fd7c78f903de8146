"""How the service ends: everything acknowledged is in the database file, and nothing else is left."""
import json
import os
import signal
import time

from fastcgi_client import FastCGI, encode
from harness import Service, expect, expect_equal, product, sanitized, wait_until
from load import Load
from runner import test

STOP_SECONDS = 10 if sanitized() else 5


def expect_empty_log(database):
    path = database + "-wal"
    expect(not os.path.exists(path) or os.path.getsize(path) == 0, "the WAL was not emptied")


def stop_under_load(send):
    """50 connections read and write when the signal comes."""
    with Service(readers=2) as service:
        with Load(service, writers=25, readers=25) as load:
            time.sleep(1)
            load.reads_may_fail = True
            started = time.monotonic()
            send(service.supervisor.pid)
            status = service.supervisor.wait(30)
            took = time.monotonic() - started
        expect_equal(status, 0, "exit status")
        expect(took < STOP_SECONDS, "it took %.1f s" % took)
        service.expect_nothing_left()
        expect_empty_log(service.database)
        expect("S06 has stopped" in service.log(), "the log does not tell the end")
        expect(not load.complaints, "complaints: %s" % load.complaints[:3])
        load.verify_rows(service.database)
        service.serve()
        service.wait_ready()
        load.verify(service)


@test("SIGTERM under load of 50 connections: exit 0 in 5 s, all acknowledged writes there, WAL empty, no socket")
def _():
    stop_under_load(lambda pid: os.kill(pid, signal.SIGTERM))


@test("Ctrl-C, which reaches the whole process group, does the same")
def _():
    stop_under_load(lambda pid: os.killpg(pid, signal.SIGINT))


@test("an idle service stops within a second, its WAL emptied while it was idle")
def _():
    with Service(readers=2) as service:
        time.sleep(0.2)
        took = service.stop()
        expect(took < (3 if sanitized() else 1), "it took %.2f s" % took)
        expect_empty_log(service.database)


@test("a second SIGTERM while it stops changes nothing")
def _():
    with Service(readers=2) as service:
        for _ in range(3):
            service.supervisor.send_signal(signal.SIGTERM)
        service.stop()


@test("when the supervisor is killed, the workers end within 2 s and a new supervisor can start")
def _():
    with Service(readers=2) as service:
        with Load(service, writers=4, readers=4) as load:
            time.sleep(0.5)
            load.reads_may_fail = True
            service.kill_supervisor()
            wait_until(lambda: not service.left_over(), 2, "the workers are gone")
            service.serve()
            service.wait_ready()
        load.verify(service)


@test("a request that has come in part when the service stops is answered once the rest is there")
def _():
    whole = encode("POST", "/products", json.dumps(product("in-parts")).encode())
    with Service(readers=1) as service, FastCGI(service.socket_path("write.sock")) as peer:
        peer.send(whole[:-20])
        time.sleep(0.2)
        service.supervisor.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        peer.send(whole[-20:])
        expect_equal(peer.receive().status, 201, "status")
        expect_equal(service.supervisor.wait(5), 0, "exit status")
