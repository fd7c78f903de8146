"""`larder health`, which containers and scripts ask."""
import os
import re
import signal
import socket
import tempfile
import threading
import time

from harness import Service, expect, expect_equal, run_larder, wait_until
from runner import test


def expect_unhealthy(run_dir, reason):
    done = run_larder("health", "--run-dir", run_dir)
    expect_equal((done.returncode, done.stdout), (1, ""), "status and output (%s)" % done.stderr.strip())
    expect(re.fullmatch("larder: [^\n]*(%s)[^\n]*\n" % reason, done.stderr), "it says %r" % done.stderr)


@test("health is 0 while the service is ready, by option and by variable, and 1 once it has stopped")
def _():
    with Service(readers=1) as service:
        for done in (run_larder("health", "--run-dir", service.run_dir),
                     run_larder("health", env={"LARDER_RUN_DIR": service.run_dir})):
            expect_equal((done.returncode, done.stdout, done.stderr), (0, "ready\n", ""), "larder health")
        service.stop()
        expect_unhealthy(service.run_dir, "no service at .*/read.sock: No such file")


@test("health is 1 and names the part while the writer is away")
def _():
    with Service(readers=1) as service:
        pid = 0
        for _ in range(6):  # the back-off then leaves the writer away long enough to see its absence
            wait_until(lambda: service.pids().get("writer") not in (None, pid), 5, "there is a new writer")
            pid, _ = service.kill("writer")
        expect_unhealthy(service.run_dir, '"writer":false')
        service.wait_ready()


@test("health is 1 after 3 s when the reader hangs")
def _():
    with Service(readers=1) as service:
        pid, started = service.kill("reader 1", signal.SIGSTOP)
        try:
            expect_unhealthy(service.run_dir, "does not answer within 3 s")
            expect(2.5 < time.monotonic() - started < 6, "it took %.1f s" % (time.monotonic() - started))
        finally:
            os.kill(pid, signal.SIGCONT)


@test("health is 1 when what answers speaks no FastCGI, breaks off, or sends without end")
def _():
    header = bytes([1, 6, 0, 1])

    def answer(reply):
        with tempfile.TemporaryDirectory(prefix="larder-") as directory, socket.socket(socket.AF_UNIX) as listener:
            listener.bind(os.path.join(directory, "read.sock"))
            listener.listen()
            thread = threading.Thread(target=serve, args=(listener, reply))
            thread.start()
            expect_unhealthy(directory, "gave no whole answer")
            thread.join()

    def serve(listener, reply):
        peer, _ = listener.accept()
        with peer:
            peer.recv(4096)
            try:
                peer.sendall(reply)
            except OSError:
                pass  # it hung up
    for reply in (b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", header, header + b"\xff\xff\0\0Status: 200 OK\r\n\r\n",
                  header + b"\0\x0c\0\0Status: 200\n", b"\xff" * 100000):
        answer(reply)


@test("a run directory too long for a socket is a sentence")
def _():
    expect_unhealthy("/" + "x" * 200, "--run-dir .* is too long")
