"""What the settings do, seen from outside."""
import os
import stat

from fastcgi_client import FastCGI
from harness import Service, expect, expect_equal, product, wait_until
from runner import test

ORIGIN = "https://shop.example"
ALLOW_ORIGIN = "Access-Control-Allow-Origin"


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def each_method(client, origin):
    headers = {"Origin": origin} if origin else {}
    each_method.count += 1
    yield "GET", client.get("/products/1", headers)
    yield "a 404", client.get("/products/5", headers)
    yield "POST", client.post("/products", product("cors-%d" % each_method.count), headers)
    yield "OPTIONS", client.request("OPTIONS", "/products", headers=headers)


each_method.count = 0


@test("--cors-origin answers that origin alone, and says Vary: Origin to all")
def _():
    with Service("--cors-origin", ORIGIN, readers=1) as service:
        client = service.client()
        for origin in (ORIGIN, "https://other.example", ORIGIN + ".evil.example", ORIGIN.upper(), "null", None):
            for name, answer in each_method(client, origin):
                what = "%s from %s" % (name, origin)
                expect(answer.status < 500, "%s: %s" % (what, answer))
                expect_equal(answer.headers[ALLOW_ORIGIN], ORIGIN if origin == ORIGIN else None, what)
                expect_equal(answer.headers["Vary"], "Origin", "Vary of " + what)
                expect_equal(answer.headers["Access-Control-Allow-Credentials"], None, "credentials of " + what)
        preflight = client.request("OPTIONS", "/products/1", headers={
            "Origin": ORIGIN, "Access-Control-Request-Method": "DELETE"})
        expect_equal(preflight.status, 204, "status of a preflight")
        expect("DELETE" in preflight.headers["Access-Control-Allow-Methods"], "methods of a preflight")
        expect("If-Match" in preflight.headers["Access-Control-Allow-Headers"], "headers of a preflight")
        exposed = client.get("/products/1", {"Origin": ORIGIN}).headers["Access-Control-Expose-Headers"]
        expect("ETag" in exposed, "exposed headers: %s" % exposed)


@test("--cors-origin '*' answers every origin, and nobody without one")
def _():
    with Service("--cors-origin", "*", readers=1) as service:
        for origin in (ORIGIN, "null", None):
            for name, answer in each_method(service.client(), origin):
                expect_equal(answer.headers[ALLOW_ORIGIN], "*" if origin else None, "%s from %s" % (name, origin))


@test("without --cors-origin no answer has a CORS header")
def _():
    with Service(readers=1) as service:
        for name, answer in each_method(service.client(), ORIGIN):
            found = [key for key in answer.headers if key.lower().startswith("access-control")]
            expect_equal(found, [], "CORS headers of " + name)


@test("--sync normal serves and stops as full does")
def _():
    with Service(readers=1, sync="normal") as service:
        expect_equal(service.client().post("/products", product("normal")).status, 201, "a POST")


@test("--socket-mode sets the sockets' permissions, 660 without it")
def _():
    for flags, mode in (([], 0o660), (["--socket-mode", "600"], 0o600), (["--socket-mode=0666"], 0o666)):
        with Service(*flags, readers=1) as service:
            for name in ("read.sock", "write.sock"):
                expect_equal(oct(mode_of(service.socket_path(name))), oct(mode), "mode of %s with %s" % (name, flags))


@test("variables of the environment work, and a flag beats its variable")
def _():
    variables = {"LARDER_READERS": "3", "LARDER_SOCKET_MODE": "600", "LARDER_CORS_ORIGIN": ORIGIN,
                 "LARDER_SYNC": "normal", "LARDER_DB": "/none.db", "LARDER_RUN_DIR": "/none"}
    with Service(env=variables, readers=None) as service:
        expect_equal(sorted(service.pids()), ["reader 1", "reader 2", "reader 3", "writer"], "the workers")
        expect_equal(mode_of(service.socket_path("read.sock")), 0o600, "mode of the sockets")
        answer = service.client().get("/products/1", {"Origin": ORIGIN})
        expect_equal(answer.headers[ALLOW_ORIGIN], ORIGIN, ALLOW_ORIGIN)
    with Service("--socket-mode", "640", env=variables, readers=1) as service:
        expect_equal(sorted(service.pids()), ["reader 1", "writer"], "the workers with --readers 1")
        expect_equal(mode_of(service.socket_path("read.sock")), 0o640, "mode with --socket-mode 640")


@test("the last of a repeated flag holds")
def _():
    with Service("--readers", "1", readers=2) as service:
        expect_equal(sorted(service.pids()), ["reader 1", "reader 2", "writer"], "the workers")


@test("the X-Request-Id of a request that fails is in the log of the web server and of larder")
def _():
    with Service(readers=1) as service:
        client = service.client()
        with FastCGI(service.socket_path("read.sock")) as peer:
            peer.request("DELETE", "/products/1", parameters={"REQUEST_ID": "trace-421"})
        expect("trace-421" in service.log(), "no trace-421 in larder's log")
        pid = 0
        for _ in range(6):  # the back-off then leaves the writer away long enough to see its absence
            wait_until(lambda: service.pids().get("writer") not in (None, pid), 5, "there is a new writer")
            pid, _ = service.kill("writer")

        def refused():
            answer = client.get("/ready", {"X-Request-Id": "trace-503"})
            expect_equal(answer.headers["X-Request-Id"], "trace-503", "X-Request-Id")
            return answer.status == 503
        wait_until(refused, 2, "/ready is 503")
        expect("trace-503" in service.log(), "no trace-503 in larder's log")
        expect_equal(client.get("/products/1", {"X-Request-Id": "odd~id"}).status, 200, "a GET with an odd id")
        service.wait_ready()
        service.stop()
        expect("trace-503" in service.text("run/access.log"), "no trace-503 in the web server's log")
        expect("odd~id" not in service.text("run/access.log"), "an odd id came into the log")
