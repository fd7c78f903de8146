"""Batches: a wake-up of a worker serves all that is ready, and what the workers counted is what was sent."""
import json
import random
import re
import socket
import time
from urllib.parse import urlsplit

from harness import Service, expect, expect_equal, product
from load import in_parallel
from runner import test

SERVED = re.compile(r"larder\[(\w+)[^]]*\] W10 served (\d+) requests in (\d+) batches, (\d+\.\d) a batch$", re.M)


def served(service):
    """{"reader": (requests, batches), "writer": …} from the closing lines of the log, readers added up."""
    totals = {}
    for role, requests, batches, ratio in SERVED.findall(service.log()):
        requests, batches = int(requests), int(batches)
        expect_equal("%.1f" % (requests / batches if batches else 0), ratio, "requests a batch")
        before = totals.get(role, (0, 0))
        totals[role] = (before[0] + requests, before[1] + batches)
    return totals


def answered_by(service, written):
    """Requests that the web server had answered by a worker, from its log: writes or reads."""
    lines = [json.loads(line) for line in service.text("run/access.log").splitlines()]
    return sum(1 for line in lines if (line["request"].split(" ")[0] not in ("GET", "HEAD", "OPTIONS")) == written
               and re.fullmatch(r"(502, )*(?!502)\d+", line["upstream_status"]))


def read_for(client, seconds):
    """The statuses of reading random products for that long."""
    statuses = []
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        statuses.append(client.get("/products/%d" % random.randint(1, 12500)).status)
    return statuses


@test("50 connections of reads for 3 s: no 5xx, and the readers' closing lines count exactly what was sent")
def _():
    with Service(readers=2) as service:
        statuses = in_parallel(50, lambda _: read_for(service.client(), 3))
        service.stop()
        seen = [status for each in statuses for status in each]
        expect_equal(sorted(set(seen)), [200, 404], "statuses")
        requests, batches = served(service)["reader"]
        expect_equal(requests, answered_by(service, written=False), "requests served, against the web server's log")
        others = service.text("run/access.log").count(" /health ") + service.text("run/access.log").count(" /ready ")
        expect(len(seen) <= requests <= len(seen) + others, "%d served, %d sent" % (requests, len(seen)))
        expect(0 < batches <= requests, "%d batches" % batches)


def post_at_once(service, connections, rounds):
    """Sends on all connections before it reads on any. Returns the statuses."""
    parts = urlsplit(service.url)
    sockets = [socket.create_connection((parts.hostname, parts.port), 30) for _ in range(connections)]
    statuses = []
    for i in range(rounds):
        for k, peer in enumerate(sockets):
            body = json.dumps(product("once-%d-%d" % (i, k)))
            peer.sendall(("POST /products HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                          "Content-Length: %d\r\n\r\n%s" % (len(body), body)).encode())
        for peer in sockets:
            statuses.append(status_of_answer(peer))
    for peer in sockets:
        peer.close()
    return statuses


def status_of_answer(peer):
    data = b""
    while b"\r\n\r\n" not in data:
        data += peer.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(re.search(rb"Content-Length: (\d+)", head).group(1))
    while len(body) < length:
        body += peer.recv(65536)
    return int(head.split()[1])


@test("group commit: of 32 concurrent writes several share a batch, and the writer's closing line counts them all")
def _():
    with Service(readers=1) as service:
        statuses = post_at_once(service, 32, 60)
        expect_equal(set(statuses), {201}, "statuses")
        service.stop()
        requests, batches = served(service)["writer"]
        expect_equal(requests, len(statuses), "requests that the writer served")
        expect_equal(requests, answered_by(service, written=True), "the same, against the web server's log")
        expect(requests / batches > 1.2, "%d requests in %d batches" % (requests, batches))


@test("one process for both lanes counts reads and writes together")
def _():
    with Service(readers=0) as service:
        client = service.client()
        for i in range(50):
            client.get("/products/%d" % i)
            client.post("/products", product("both-%d" % i))
        service.stop()
        requests, _ = served(service)["writer"]
        expect_equal(requests, answered_by(service, True) + answered_by(service, False), "requests served")
