"""TLS and HTTP/2: what nginx/tls.conf says, and that nothing of the contract is lost on the way. HTTP/2 is curl's."""
import json
import os
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import warnings
from concurrent.futures import ThreadPoolExecutor

from harness import Answer, Service, expect, expect_each, expect_equal, expect_problem, new_secret, product, wait_until
from runner import test

HSTS = "max-age=31536000"
STREAMS = 500


def serving(**options):
    return Service("--probes", "on", readers=1, tls=True, secrets=[new_secret()], **options)


def address(service):
    host, port = service.url.split("/")[2].split(":")
    return host, int(port)


# ------------------------------------------------------------------------------------------------ curl

def curl(service, *arguments):
    """Runs curl, which speaks HTTP/2 where it can; returns what subprocess does."""
    return subprocess.run(["curl", "-sS", "--max-time", "20", "--cacert", service.certificate, *arguments],
                          capture_output=True, timeout=60)


def ask(service, method, path, body=None, **headers):
    """One request over HTTP/2."""
    arguments = ["--head"] if method == "HEAD" else ["-X", method]
    if body is not None:
        headers.setdefault("Content-Type", "application/json")
        arguments += ["--data-binary", body if isinstance(body, str) else json.dumps(body)]
    for name, value in headers.items():
        arguments += ["-H", "%s: %s" % (name.replace("_", "-"), value)]
    done = curl(service, "-i", *arguments, service.url + path)
    expect_equal((done.returncode, done.stderr), (0, b""), "curl for %s %s" % (method, path))
    head, _, content = done.stdout.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    expect(first.startswith("HTTP/2 "), "it is not HTTP/2: " + first)
    return Answer(int(first.split()[1]), {name.title(): value for name, value in (line.split(": ", 1) for line in lines)},
                  content)


@test("over HTTP/2 rows are made, read, changed and deleted, and errors are problems")
def _():
    with serving() as service:
        made = ask(service, "POST", "/products", product("H2-1"), X_Request_Id="of-my-own")
        expect_equal((made.status, made.headers["X-Request-Id"]), (201, "of-my-own"), "status and id of %s" % made)
        expect_equal(ask(service, "POST", "/products", product("H2-2"), Content_Length="").status, 201, "a body without a length")
        path, tag = made.headers["Location"], {"If_Match": made.headers["Etag"]}
        expect_equal(ask(service, "GET", path).body, made.body, "the product")
        expect_equal(ask(service, "HEAD", path).headers["Content-Length"], str(len(made.body)), "HEAD's length")
        expect_equal(ask(service, "GET", path, If_None_Match=made.headers["Etag"]).status, 304, "asked again")
        expect_equal(ask(service, "PATCH", path, {"stock": 4}, **tag).json()["stock"], 4, "the stock")
        for status, method, target, body, headers in (
                (412, "DELETE", path, None, tag), (404, "GET", "/nope", None, {}), (405, "DELETE", "/health", None, {}),
                (422, "POST", "/products", {}, {}), (400, "POST", "/products", "{", {}), (409, "POST", "/products", product("H2-1"), {}),
                (401, "GET", "/api/deals", None, {}), (413, "POST", "/products", "0" * 100_000, {"Content_Length": 2_000_000}),
                (405, "TRACE", "/health", None, {}), (400, "GET", "/health", None, {"Host": "a/b"})):
            expect_problem(ask(service, method, target, body, **headers), status)
        expect_equal(ask(service, "DELETE", path).status, 204, "the deletion")
        expect_equal(ask(service, "GET", path).status, 404, "afterwards")


@test("many streams of one HTTP/2 connection have a request id each")
def _():
    with serving() as service:
        wanted = [argument for number in range(STREAMS)
                  for argument in ("-o", "/dev/null", "%s/products?limit=1&after=%d" % (service.url, number))]
        done = curl(service, "--parallel", "--parallel-max", "100", "--no-progress-meter", "-w",
                    r"%{http_version} %{http_code} %{num_connects} %header{x-request-id}\n", *wanted)
        expect_equal((done.returncode, done.stderr), (0, b""), "curl")
        rows = [line.split() for line in done.stdout.decode().splitlines()]
        expect_equal({tuple(row[:2]) for row in rows}, {("2", "200")}, "versions and statuses")
        ids = {row[3] for row in rows}
        expect_equal(len(ids), STREAMS, "different ids")
        fewest = len({"-".join(text.split("-")[:3])[len("1796108600.256"):] for text in ids})
        expect(fewest < STREAMS / 4, "%d connections for %d streams: they had one each" % (fewest, STREAMS))


@test("headers that are too large end an HTTP/2 connection without a page, and every line of the log is JSON")
def _():
    with serving() as service:
        for headers in (["X-Long: " + "a" * 20_000], ["X-%d: %s" % (number, "a" * 1000) for number in range(100)]):
            done = curl(service, *[argument for header in headers for argument in ("-H", header)], service.url + "/health")
            expect(done.returncode != 0, "curl is content")
            expect_equal(done.stdout, b"", "what came")
        expect_equal(ask(service, "GET", "/health").body, b"ok", "afterwards")
        log = pathlib.Path(service.run_dir, "access.log")
        wait_until(lambda: log.exists() and log.read_text().count("/health HTTP/2") >= 1, 10, "the log is written")
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        expect(any(line["status"] == 0 for line in lines), "no line tells of the refused ones")


# ------------------------------------------------------------------------------------------------- TLS

def handshake(service, version, session=None, context=None):
    """(what the server chose, the session, whether it was an old one) after a request."""
    context = context or ssl.create_default_context(cafile=service.certificate)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of the versions that shall be refused
        context.minimum_version = context.maximum_version = version
    context.set_ciphers("ALL:@SECLEVEL=0")  # lets this side try anything
    with socket.create_connection(address(service), 10) as plain:
        with context.wrap_socket(plain, server_hostname="localhost", session=session) as secure:
            secure.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            answer = b""
            while data := secure.recv(65536):
                answer += data
            expect(answer.endswith(b"ok"), "it answers %r" % answer)
            return secure.version(), secure.cipher()[0], secure.session, secure.session_reused


@test("TLS 1.2 and 1.3 are spoken with ciphers that are forward secret, older versions are refused; a session is resumed")
def _():
    with serving() as service:
        for version in ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3:
            context = ssl.create_default_context(cafile=service.certificate)
            spoken, cipher, session, _ = handshake(service, version, None, context)
            expect_equal(spoken, version.name.replace("_", "."), "the version")
            expect(re.match("ECDHE-.*(GCM|POLY1305)|TLS_", cipher), "the cipher is " + cipher)
            expect(handshake(service, version, session, context)[3], "a session of %s is not resumed" % spoken)
        for version in ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1:
            try:
                spoken = handshake(service, version)[0]
            except (ssl.SSLError, OSError):
                continue
            raise AssertionError(spoken + " is spoken")


@test("no early data is taken: it could be sent again by somebody else")
def _():
    with serving() as service:
        host, port = address(service)
        done = subprocess.run(["openssl", "s_client", "-connect", "%s:%d" % (host, port), "-CAfile", service.certificate, "-ign_eof"],
                              input="GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", capture_output=True,
                              text=True, timeout=20)
        found = re.findall(r"Max Early Data: (\d+)", done.stdout)
        expect(found and set(found) == {"0"}, "tickets allow %s bytes of early data" % found)


@test("plain HTTP on the TLS port is told in a problem, another name gets an answer, and what is neither is cut off")
def _():
    for prefix in "", "/shop":
        with serving(prefix=prefix) as service:
            with socket.create_connection(address(service), 10) as plain:
                plain.sendall(b"GET %s/health HTTP/1.1\r\nHost: localhost\r\n\r\n" % prefix.encode())
                answer = plain.makefile("rb").read()
            expect(answer.startswith(b"HTTP/1.1 400 ") and b"\r\nContent-Type: application/problem+json\r\n" in answer,
                   "it answers %r" % answer)
            expect(json.loads(answer.split(b"\r\n\r\n")[1])["status"] == 400, "it answers %r" % answer)
            with socket.create_connection(address(service), 10) as noise:
                noise.sendall(b"\x16\x03\x01\x00\x05hello")
                expect(b"<" not in noise.makefile("rb").read(), "noise is answered with a page")
            context = ssl.create_default_context(cafile=service.certificate)
            context.check_hostname = False
            with socket.create_connection(address(service), 10) as plain:
                with context.wrap_socket(plain, server_hostname="nobody.example") as secure:
                    secure.sendall(b"GET %s/health HTTP/1.0\r\nHost: elsewhere.example\r\n\r\n" % prefix.encode())
                    expect(secure.recv(65536).startswith(b"HTTP/1.1 200 "), "another name is not answered")


# --------------------------------------------------------------------------------------------- headers

PAGE = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
NONE = "default-src 'none'; frame-ancestors 'none'"
KINDS = [  # status, request after the prefix, headers, policy
    (200, "GET", "/products/1", {}, NONE), (200, "GET", "/products", {}, NONE), (200, "GET", "/products", {"Accept-Encoding": "gzip"}, NONE),
    (200, "HEAD", "/products/1", {}, NONE), (204, "OPTIONS", "/products", {}, NONE), (304, "GET", "/products/1", {"If-None-Match": "*"}, NONE),
    (200, "GET", "/metrics", {}, NONE), (401, "GET", "/api/deals", {}, NONE), (404, "GET", "/nope", {}, NONE),
    (405, "DELETE", "/health", {}, NONE), (405, "TRACE", "/health", {}, NONE), (308, "GET", "/docs", {}, NONE),
    (413, "POST", "/products", {"Content-Length": "2000000"}, NONE), (400, "GET", "/health", {"Host": "a/b"}, NONE),
    (414, "GET", "/" + "a" * 10_000, {}, NONE), (431, "GET", "/health", {"X-Long": "a" * 20_000}, NONE),
    (422, "POST", "/products", {"Content-Type": "application/json", "Content-Length": "2"}, NONE),
    (200, "GET", "/docs/", {}, PAGE), (404, "GET", "/docs/nope", {}, NONE), (405, "POST", "/docs/", {"Content-Length": "0"}, NONE),
    (204, "OPTIONS", "/docs/", {}, NONE)]


def expect_headers(service, kind):
    status, method, path, headers, policy = kind
    client = service.client(keep=False)
    body = b"{}" if headers.get("Content-Length") == "2" else None
    answer = client.request(method, path, body, headers)
    name = "%s %s" % (method, path[:40])
    expect_equal(answer.status, status, "status of " + name)
    for header, value in (("Content-Security-Policy", policy), ("X-Content-Type-Options", "nosniff"),
                          ("Strict-Transport-Security", HSTS if service.certificate and not service.prefix else None)):
        expect_equal(answer.headers.get_all(header), [value] if value else None, "%s of %d, %s" % (header, status, name))
    expect_equal(len(answer.headers.get_all("X-Request-Id")), 1, "request ids of " + name)


@test("every kind of answer has the security headers, once, and over TLS on a host of its own HSTS")
def _():
    for tls, prefix in ((True, ""), (False, ""), (True, "/shop")):
        with Service(readers=1, tls=tls, prefix=prefix, secrets=[new_secret()]) as service:
            expect_each(KINDS, lambda kind: expect_headers(service, kind))


@test("HSTS sets for how long browsers insist on TLS")
def _():
    for seconds, prefix in (("300", ""), ("300", "/shop"), ("0", "")):
        with serving(prefix=prefix, nginx={"HSTS": seconds}) as service:
            for path in "/products/1", "/products", "/docs/", "/nope":
                expect_equal(service.client().get(path).headers.get_all("Strict-Transport-Security"),
                             ["max-age=300"] if seconds == "300" else None, "HSTS of %s with %s" % (path, seconds))


# ---------------------------------------------------------------------------------------------- limits

def expect_limited(answers, served):
    """Some were served, the others told to come again."""
    expect_equal({answer.status for answer in answers}, {served, 429}, "statuses")
    for answer in answers:
        if answer.status == 429:
            expect_problem(answer, 429)
            expect(answer.headers["Retry-After"].isdigit(), "a 429 without Retry-After")


@test("LIMITS bounds requests a second and at once of an address; without it nothing does")
def _():
    for prefix in "", "/shop":
        with serving(prefix=prefix, nginx={"LIMITS": "on"}) as service:
            with ThreadPoolExecutor(80) as pool:
                expect_limited(list(pool.map(lambda _: service.client(keep=False).get("/wait?ms=1000"), range(80))), 200)
            client = service.client()
            expect_limited([client.get("/products/1") for _ in range(1000)], 200)
            wait_until(lambda: client.get("/products/1").status == 200, 5, "it serves again")
    with serving() as service:
        client = service.client()
        expect_equal({client.get("/products/1").status for _ in range(1000)}, {200}, "statuses without limits")


@test("of one address two logins at once are served, the others told to come again, and reads go on")
def _():
    with serving() as service:
        os.kill(service.pids()["login"], signal.SIGSTOP)  # so that they are at once
        try:
            with ThreadPoolExecutor(6) as pool:
                asked = [pool.submit(service.client(keep=False).post, "/api/login", {}) for _ in range(6)]
                wait_until(lambda: sum(one.done() for one in asked) == 4, 10, "four are answered")
                expect_equal(service.client().get("/products/1").status, 200, "a read")
                os.kill(service.pids()["login"], signal.SIGCONT)
                answers = [one.result() for one in asked]
        finally:
            os.kill(service.pids()["login"], signal.SIGCONT)
        expect_limited(answers, 422)
        expect_equal(sum(answer.status == 422 for answer in answers), 2, "served")
