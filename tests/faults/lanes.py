"""What a worker does with what comes out of its socket: the lanes, and peers that are no web server."""
import json
import random
import socket
import time

from fastcgi_client import BEGIN, PARAMS, FastCGI, encode, record
from harness import Service, expect, expect_equal, product, sanitized
from load import in_parallel
from runner import test

STALL_SECONDS = 5  # a worker waits that long for the rest of a request
ANSWERED_SECONDS = 12 if sanitized() else 7


def expect_served(service):
    """Both lanes serve, through the web server."""
    client = service.client()
    expect_equal(client.get("/products/1").status, 200, "a GET")
    answer = client.post("/products", product("served-%d" % time.monotonic_ns()))
    expect_equal(answer.status, 201, "a POST: %s" % answer)


def expect_closed_or_answered(peer, data):
    """The worker may answer what it cannot use or hang up; it must not wait for ever."""
    try:
        peer.send(data)
        peer.socket.shutdown(socket.SHUT_WR)
        while peer.socket.recv(65536):
            pass
    except ConnectionError:
        pass


@test("a write sent to read.sock is 421 and is not carried out; the log says what to mend")
def _():
    with Service(readers=1) as service:
        body = json.dumps(product("misled")).encode()
        with FastCGI(service.socket_path("read.sock")) as peer:
            answer = peer.request("POST", "/products", body, {"REQUEST_ID": "misled-1"})
            expect_equal(answer.status, 421, "status")
            expect_equal(answer.headers["Content-Type"], "application/problem+json", "media type")
            expect_equal(peer.request("DELETE", "/products/1").status, 421, "status of a DELETE")
            expect_equal(peer.request("GET", "/products/1").status, 200, "a GET on the same connection")
        line = [line for line in service.log().splitlines() if "misled-1" in line]
        expect(line and "write.sock" in line[0] and "nginx/larder.conf" in line[0], "the log says %s" % line)
        expect_equal(service.client().post("/products", product("misled")).status, 201, "the same sku")


@test("a read sent to write.sock is 421, HEAD too")
def _():
    with Service(readers=1) as service, FastCGI(service.socket_path("write.sock")) as peer:
        expect_equal(peer.request("GET", "/products/1").status, 421, "status")
        answer = peer.request("HEAD", "/products/1")
        expect_equal((answer.status, answer.body), (421, b""), "status and body of a HEAD")


@test("with --readers 0 one process serves both lanes")
def _():
    with Service(readers=0) as service:
        expect_equal(list(service.pids()), ["writer"], "the workers")
        client = service.client()
        answer = client.post("/products", product("alone"))
        expect_equal(answer.status, 201, "a POST: %s" % answer)
        row = answer.json()
        path = "/products/%d" % row["id"]
        expect_equal(answer.headers["Location"], path, "Location")
        expect_equal(client.get(path).json(), row, "a GET")
        expect_equal(client.post("/products", product("alone")).status, 409, "the same sku again")
        expect_equal(client.delete(path).status, 204, "a DELETE")
        expect_equal(client.get(path).status, 404, "a GET after it")
        expect_equal(client.get("/ready").status, 200, "/ready")
        with FastCGI(service.socket_path("read.sock")) as peer:
            expect_equal(peer.request("DELETE", "/products/1").status, 204, "a write through read.sock")


@test("a body shorter than it was declared is not acted on")
def _():
    with Service(readers=1) as service, FastCGI(service.socket_path("write.sock")) as peer:
        body = json.dumps(product("cut-off")).encode()
        for length in (len(body) + 1, len(body) - 1, 0, -1, "x", "99999999999999999999"):
            answer = peer.request("POST", "/products", body, {"CONTENT_LENGTH": str(length)})
            expect_equal(answer.status, 400, "status with CONTENT_LENGTH %s" % length)
        expect_equal(peer.request("POST", "/products", body).status, 201, "the whole body")


@test("a body over 1 MiB is 413 from the worker too, and the connection goes on or ends")
def _():
    with Service(readers=1) as service, FastCGI(service.socket_path("write.sock")) as peer:
        answer = peer.request("POST", "/products", b" " * (1024 * 1024 + 1))
        expect_equal(answer.status, 413, "status")
        expect_served(service)


@test("a peer that sends garbage, hangs up anywhere or asks for odd roles disturbs nobody")
def _():
    with Service(readers=1) as service:
        whole = encode("POST", "/products", json.dumps(product("never")).encode()[:-1])
        noise = random.Random(1)
        odd = [b"\0" * 64, b"\xff" * 64, b"GET / HTTP/1.1\r\n\r\n", b"", noise.randbytes(4096),
               record(BEGIN, b"\0\2\0\0\0\0\0\0"), record(9, b"", 0), record(77, b"x" * 100),
               record(PARAMS, b"\xff\xff\xff\xff\xff\xff\xff\xff" * 9), encode("GET", "x" * 70000)]
        odd += [whole[:length] for length in range(1, len(whole), 9)]
        odd += [bytes(byte ^ (noise.random() < 0.02) * noise.randrange(1, 256) for byte in whole) for _ in range(60)]
        for data in odd:
            for name in ("read.sock", "write.sock"):
                with FastCGI(service.socket_path(name)) as peer:
                    expect_closed_or_answered(peer, data)
        expect_served(service)
        expect_equal(service.log().count(" S0"), 1, "log lines of the supervisor")


@test("two requests at once on one connection: the first is answered, others are not disturbed")
def _():
    with Service(readers=1) as service, FastCGI(service.socket_path("read.sock")) as peer:
        peer.send(encode("GET", "/products/1") * 2)
        expect_equal(peer.receive().status, 200, "the first answer")
        expect_served(service)


@test("a peer that stalls in the middle of a request delays nobody")
def _():
    request = encode("GET", "/products/1")
    with Service(readers=1) as service, FastCGI(service.socket_path("read.sock")) as peer:
        peer.send(request[:len(request) // 2])
        time.sleep(0.2)

        def use(number):
            started = time.monotonic()
            if number == 0:  # the other lane
                expect_equal(service.client().post("/products", product("beside")).status, 201, "a POST meanwhile")
            else:
                expect_equal(service.client().get("/products/1").status, 200, "a GET meanwhile")
            return time.monotonic() - started
        took = in_parallel(9, use)
        expect(max(took) < 2, "a GET took %.1f s" % max(took))
        peer.send(request[len(request) // 2:])
        expect_equal(peer.receive().status, 200, "the stalled request, once it is whole")


@test("a peer that stalls does not keep the service from stopping")
def _():
    request = encode("GET", "/products/1")
    with Service(readers=1) as service, FastCGI(service.socket_path("read.sock")) as peer:
        peer.send(request[:len(request) // 2])
        time.sleep(0.2)
        took = service.stop()
        expect(took < ANSWERED_SECONDS, "it took %.1f s" % took)
