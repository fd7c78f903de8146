#!/usr/bin/env python3
"""Instructions a request, counted by callgrind: python3 bench/instructions.py [--top N] [--nginx] [BINARY...]

A busy machine does not change these counts. Each case is run twice, with few and with many requests, and the difference is
divided by the difference in number: starting and preparing statements drop out. A worker is spoken to on its own socket, by as
many connections at once as the batch is to have requests. With --nginx the web server is counted too, by requests that go through it.
--top N lists the functions that take most, of the first case. Needs valgrind."""
import argparse
import glob
import os
import re
import socket
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests"))
import harness  # noqa: E402: found through the line above
from fastcgi_client import FastCGI, encode  # noqa: E402

FEW, MANY = 256, 1280
DEMO_IDS = 12500
MEANT = (200, 201, 404)  # of the ids four in five exist; a refusal would cost less and be counted as if it were the answer
CALLGRIND = "valgrind -q --tool=callgrind --callgrind-out-file='{}/out.%p'"
STRACE = "strace -D -f -qq -c -o '{}/calls'"


def a_read(number):
    return "GET", "/products/%d" % (number * 7919 % DEMO_IDS + 1), b""


def a_create(number):
    return "POST", "/products", (b'{"sku": "I-%d", "name": "Instructions %d", "price_cents": %d, "category_id": %d}'
                                 % (number, number, number, number % 50 + 1))


CASES = {  # name: role, request, requests a batch
    "GET by id, 8 a batch": ("reader 1", a_read, 8),
    "GET by id, 1 a batch": ("reader 1", a_read, 1),
    "GET /health, 8 a batch": ("reader 1", lambda number: ("GET", "/health", b""), 8),
    "GET /products?limit=20, 8 a batch": ("reader 1", lambda number: ("GET", "/products?limit=20", b""), 8),
    "POST /products, 8 a batch": ("writer", a_create, 8),
    "POST /products, 1 a batch": ("writer", a_create, 1),
}


def speak(service, role, request, batch, count):
    """Sends that many requests in batches, each batch before its first answer is awaited."""
    path = service.socket_path("write.sock" if role == "writer" else "read.sock")
    peers = [FastCGI(path, timeout=120) for _ in range(batch)]
    for start in range(0, count, batch):
        for i, peer in enumerate(peers):
            peer.send(encode(*request(start + i)))
        for peer in peers:
            status = peer.receive().status
            harness.expect(status in MEANT, "an answer of %d" % status)
    for peer in peers:
        peer.socket.close()


def wrap(directory, program, before="", under=CALLGRIND):
    """A program of the same name that runs the real one under that tool; `before` are lines of shell."""
    path = os.path.join(directory, "counted-" + os.path.basename(program))
    with open(path, "w") as file:
        file.write("#!/bin/sh\n%sexec %s '%s' \"$@\"\n" % (before, under.format(directory), program))
    os.chmod(path, 0o755)
    return path


def counted(directory, pid):
    with open(os.path.join(directory, "out.%d" % pid)) as file:
        return int(re.search(r"^(?:summary|totals): (\d+)", file.read(), re.M).group(1))


def run_worker(binary, case, count, keep=None):
    """Instructions that the worker took in all."""
    role, request, batch = CASES[case]
    with tempfile.TemporaryDirectory() as directory:
        with harness.Service("--probes", "on", readers=1, binary=os.path.abspath(binary)) as service:
            service.stop()
            service.binary = wrap(directory, service.binary)
            service.serve()
            harness.wait_until(lambda: os.path.exists(service.socket_path("login.sock")), 60, "larder listens")
            speak(service, role, request, batch, count)
            pid = service.pids()[role]
            service.supervisor.terminate()
            service.supervisor.wait(60)
            if keep is not None:
                keep(os.path.join(directory, "out.%d" % pid))
            return counted(directory, pid)


def speak_http(url, target, count):
    """Sends that many requests on one kept connection; `target` gives the path of each."""
    address, port = url[len("http://"):].split(":")
    with socket.create_connection((address, int(port))) as peer:
        reader = peer.makefile("rb")
        for number in range(count):
            peer.sendall(b"GET %s HTTP/1.1\r\nHost: larder\r\n\r\n" % target(number).encode())
            status, length = int(reader.readline().split()[1]), 0
            harness.expect(status in MEANT, "%s gave %d" % (target(number), status))
            while (line := reader.readline()) != b"\r\n":
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            reader.read(length)


def calls_counted(directory):
    path = os.path.join(directory, "calls")  # written when all processes have ended
    harness.wait_until(lambda: os.path.exists(path) and os.path.getsize(path), 10, "strace has counted")
    with open(path) as file:
        return int(re.search(r"(\d+)(?: +\d+)? total", file.read()).group(1))


def run_nginx(binary, count, target=lambda number: a_read(number)[1], before="", under=CALLGRIND):
    """What nginx took in all, GET by id unless told otherwise: instructions, or system calls under STRACE."""
    with tempfile.TemporaryDirectory() as directory:
        real, harness.NGINX = harness.NGINX, wrap(directory, harness.NGINX, before, under)
        try:
            with harness.Service(readers=1, binary=os.path.abspath(binary)) as service:
                speak_http(service.url, target, count)
        finally:
            harness.NGINX = real
        if under == STRACE:
            return calls_counted(directory)
        return sum(counted(directory, int(path.rsplit(".", 1)[1])) for path in glob.glob(directory + "/out.*"))


def measure(binaries, cases, with_nginx):
    """Yields a name and, for each binary, the instructions a request."""
    for case in cases:
        yield "worker, " + case, [(run_worker(binary, case, MANY) - run_worker(binary, case, FEW)) // (MANY - FEW)
                                  for binary in binaries]
    if with_nginx:
        yield "nginx, GET by id", [(run_nginx(binary, MANY) - run_nginx(binary, FEW)) // (MANY - FEW) for binary in binaries]


def main():
    parser = argparse.ArgumentParser(description="Instructions a request, counted by callgrind.")
    parser.add_argument("--top", type=int, default=0, metavar="N", help="list the functions that take most")
    parser.add_argument("--nginx", action="store_true", help="count the web server too")
    parser.add_argument("--case", action="append", choices=CASES, help="only this one; can be repeated")
    parser.add_argument("binaries", nargs="*", default=["build/larder"], metavar="BINARY")
    options = parser.parse_args()
    cases = options.case or list(CASES)
    print("| instructions a request | %s |\n| --- | %s |" % (
        " | ".join(options.binaries), " | ".join("---:" for _ in options.binaries)))
    for name, values in measure(options.binaries, cases, options.nginx):
        print("| %s | %s |" % (name, " | ".join("{:,}".format(value) for value in values)), flush=True)
    if options.top > 0:
        run_worker(options.binaries[0], cases[0], 4 * MANY, lambda path: print(subprocess.run(
            ["callgrind_annotate", "--threshold=100", path], capture_output=True, text=True).stdout
            .split("file:function")[1].split("\n", 2)[2][:120 * options.top]))


if __name__ == "__main__":
    main()
