"""The edge of HTTP: what nginx answers alone, headers that every answer has, requests cut off."""
import email.utils
import secrets
import time

from checks.tools import (ANY_4XX, MIB, World, cases, check, created, holds, is_request_id, json_of, post, problem,
                          product, same, section, status)
from checks.wire import CHUNKED, Closed, Connection, chunked, fill, raw, send, wire

section("The protocol's edge")

GET = b"GET <PREFIX>/health HTTP/1.1\r\nHost: <HOST>\r\n"
POST = b"POST <PREFIX>/products HTTP/1.1\r\nHost: <HOST>\r\nContent-Type: application/json\r\n"

@cases("{0} answers 400",
       ("a request line of one word", b"GARBAGE\r\n\r\n"),
       ("a method with an @", b"G@T <PREFIX>/health HTTP/1.1\r\nHost: <HOST>\r\n\r\n"),
       ("a method in lower case", b"get <PREFIX>/health HTTP/1.1\r\nHost: <HOST>\r\n\r\n"),
       ("a protocol that is not HTTP", b"GET <PREFIX>/health FOO/1.1\r\nHost: <HOST>\r\n\r\n"),
       ("a target without a slash", b"GET health HTTP/1.1\r\nHost: <HOST>\r\n\r\n"),
       ("HTTP/1.1 without Host", b"GET <PREFIX>/health HTTP/1.1\r\n\r\n"),
       ("a second Host", GET + b"Host: <HOST>\r\n\r\n"),
       ("a Host that is no host", b"GET <PREFIX>/health HTTP/1.1\r\nHost: a/b\r\n\r\n"),
       ("a header line of words without a colon", GET + b"no colon here\r\n\r\n"),
       ("a header name before a space", GET + b"X-A : 1\r\n\r\n"), ("a header without a name", GET + b": 1\r\n\r\n"),
       ("a header with NUL in it", GET + b"X-A: a\0b\r\n\r\n"),
       ("Content-Length: abc", POST + b"Content-Length: abc\r\n\r\n"),
       ("Content-Length: -1", POST + b"Content-Length: -1\r\n\r\n"),
       ("Content-Length: 0x2", POST + b"Content-Length: 0x2\r\n\r\n{}"),
       ("a second Content-Length", POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} "),
       ("Content-Length beside chunked", POST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
       ("a chunk size that is no number", POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n"))
def _(_, data):
    problem(raw(data), 400)

@cases("{0} answers a 4xx problem",
       ("HTTP/3.0", b"GET <PREFIX>/health HTTP/3.0\r\nHost: <HOST>\r\n\r\n"),
       ("HTTP/2.0", b"GET <PREFIX>/health HTTP/2.0\r\nHost: <HOST>\r\n\r\n"),
       ("Transfer-Encoding: gzip, chunked", POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
       ("a Content-Length over 64 bits", POST + b"Content-Length: 18446744073709551618\r\n\r\n{}"))
def _(_, data):
    problem(raw(data), *ANY_4XX)

@cases("a target of {0} answers 414",
       ("10,000 characters", "/" + "a" * 10_000), ("10,000 characters of query", "/categories?q=" + "a" * 10_000))
def _(_, path):
    problem(raw(wire("GET", path)), 414)

@cases("{0} answers 431", ("a header of 20,000 characters", {"X-Long": "a" * 20_000}),
       ("a hundred headers of 1,000 characters", {"X-%d" % number: "a" * 1000 for number in range(100)}))
def _(_, headers):
    problem(raw(wire("GET", "/health", None, headers)), 431)

@check("a target in absolute form is answered like one in origin form")
def _():
    answer = raw("GET <SCHEME>://<HOST><PREFIX>/products/<ID> HTTP/1.1\r\nHost: <HOST>\r\n\r\n")
    same("id", json_of(answer)["id"], World.product()["id"])

@check("HTTP/1.0 is answered, and the connection closed")
def _():
    with Connection() as connection:
        connection.write(wire("GET", "/products/<ID>", version="HTTP/1.0"))
        same("id", json_of(connection.read())["id"], World.product()["id"])
        holds("closed", connection.ended(), connection.rest)

def pipeline(*requests):
    """Sends (method, path, body) at once, each with a request id of its own; the answers, held to be in order."""
    ids = ["%s-%d" % (World.prefix, number) for number in range(len(requests))]
    with Connection() as connection:
        connection.write(b"".join(wire(*request, {"X-Request-Id": ids[number]}) for number, request in enumerate(requests)))
        answers = [connection.read(request[0]) for request in requests]
    same("the order", [answer.get("X-Request-Id") for answer in answers], ids)
    return [answer.status for answer in answers]

@cases("requests sent at once are answered in order: {0}",
       ("two reads", [("GET", "/products/<ID>", None), ("GET", "/health", None)], [200, 200]),
       ("three reads, the middle one a 404", [("GET", "/products/<ID>", None), ("GET", "/nope", None),
                                              ("GET", "/categories", None)], [200, 404, 200]),
       ("a write, a HEAD and a read", [("POST", "/products", product()), ("HEAD", "/products/<ID>", None),
                                       ("GET", "/products/<ID>", None)], [201, 200, 200]),
       ("a refused write and a good one", [("POST", "/products", "{}"), ("POST", "/products", product())], [422, 201]))
def _(_, requests, expected):
    same("the statuses", pipeline(*requests), expected)

@check("Expect: 100-continue is answered with 100 before the body is sent, and 201 after")
def _():
    body = fill(product()).encode()
    with Connection() as connection:
        connection.write(wire("POST", "/products", None, {"Content-Type": "application/json", "Expect": "100-continue",
                                                          "Content-Length": len(body)}))
        same("the interim status", connection.read_head()[0], 100)
        connection.write(body)
        created(connection.read("POST"))

@cases("a connection stays open after {0}",
       ("404", 404, "GET", "/nope", None, {}), ("405", 405, "DELETE", "/health", None, {}),
       ("422", 422, "POST", "/products", "{}", {}), ("400", 400, "POST", "/products", "{", {}),
       ("409", 409, "POST", "/products", product(sku='"<TAKEN>"'), {}),
       ("415", 415, "POST", "/products", product(), {"Content-Type": "text/plain"}),
       ("304", 304, "GET", "/products/<ID>", None, {"If-None-Match": "<TAG>"}))
def _(_, code, method, path, body, headers):
    with Connection() as connection:
        connection.write(wire(method, path, body, headers))
        status(connection.read(method), code)
        connection.write(wire("GET", "/products/<ID>"))
        same("id", json_of(connection.read())["id"], World.product()["id"])


section("Headers of every answer")

KINDS = [
    ("200", lambda headers: send("GET", "/products/<ID>", None, headers)),
    ("201", lambda headers: send("POST", "/products", product(), headers)),
    ("204", lambda headers: send("OPTIONS", "/health", None, headers)),
    ("304", lambda headers: send("GET", "/products/<ID>", None, dict(headers, **{"If-None-Match": "*"}))),
    ("400", lambda headers: send("POST", "/products", "{", headers)),
    ("404", lambda headers: send("GET", "/nope", None, headers)),
    ("405", lambda headers: send("DELETE", "/health", None, headers)),
    ("409", lambda headers: send("POST", "/products", product(sku='"<TAKEN>"'), headers)),
    ("412", lambda headers: send("DELETE", "/products/<ID>", None, dict(headers, **{"If-Match": '"stale"'}))),
    ("413", lambda headers: raw(wire("POST", "/products", None, dict(headers, **{
        "Content-Type": "application/json", "Content-Length": MIB + 1})))),
    ("415", lambda headers: send("POST", "/products", product(), dict(headers, **{"Content-Type": None}))),
    ("422", lambda headers: send("POST", "/products", "{}", headers)),
]
EDGE_KINDS = [
    ("400", lambda headers: raw("GARBAGE\r\n\r\n")),
    ("414", lambda headers: raw(wire("GET", "/" + "a" * 10_000, None, headers))),
    ("431", lambda headers: raw(wire("GET", "/health", None, dict(headers, **{"X-Long": "a" * 20_000})))),
]

@cases("a {0} answers the client's own X-Request-Id", *KINDS)
def _(code, ask):
    own = "own-" + secrets.token_hex(8)
    same("X-Request-Id", status(ask({"X-Request-Id": own}), int(code)).get("X-Request-Id"), own)

@cases("a {0} for a request that cannot be read has an X-Request-Id", *EDGE_KINDS)
def _(code, ask):
    answer = status(ask({}), int(code))
    holds("an id", is_request_id(answer.get("X-Request-Id")), answer.get("X-Request-Id"))

@cases("a {0} has Server, Date and the length of its body", *[kind for kind in KINDS if kind[0] not in ("204", "304")],
       *EDGE_KINDS[1:])
def _(code, ask):
    answer = status(ask({}), int(code))
    holds("Server", answer.get("Server"), answer.headers)
    age = time.time() - email.utils.parsedate_to_datetime(answer.get("Date")).timestamp()
    holds("Date is now, give or take ten minutes", abs(age) < 600, answer.get("Date"))
    same("Content-Length", answer.get("Content-Length"), str(len(answer.body)))

@cases("X-Request-Id {0} is taken", ("a",), ("A-z.0_9-",), ("0" * 64,), ("...",))
def _(own):
    same("X-Request-Id", send("GET", "/health", None, {"X-Request-Id": own}).get("X-Request-Id"), own)

@cases("X-Request-Id {0!r} is replaced by the service's own",
       ("0" * 65,), ("",), ("a b",), ("a/b",), ("a,b",), ('a"b',), ("caf\u00e9",), ("a\tb",), ("{a}",), ("a" * 1000,))
def _(own):
    got = send("GET", "/products/<ID>", None, {"X-Request-Id": own}).get("X-Request-Id")
    holds("another, well-formed id", is_request_id(got) and got != own, got)

@check("two requests without an X-Request-Id get different ones")
def _():
    first, second = [send("GET", "/products/<ID>").get("X-Request-Id") for _ in range(2)]
    holds("different ids", first and second and first != second, (first, second))


section("Requests cut off")

@cases("a POST cut off is not acted on: {0}",
       ("one byte short, then the end of the client's side", lambda body: wire(
           "POST", "/products", body, {"Content-Length": len(body) + 1}), True),
       ("one byte short, then closed", lambda body: wire("POST", "/products", body, {"Content-Length": len(body) + 1}), False),
       ("half the body, then closed", lambda body: wire("POST", "/products", body)[:-len(body) // 2], False),
       ("chunked without the last chunk, then the end of the client's side", lambda body: wire(
           "POST", "/products", chunked(body)[:-5], CHUNKED), True),
       ("chunked without the last chunk, then closed", lambda body: wire(
           "POST", "/products", chunked(body)[:-5], CHUNKED), False),
       ("in its headers, then closed", lambda body: wire("POST", "/products", body).split(b"\r\n\r\n")[0], False))
def _(_, cut, half_close):
    body = fill(product()).encode()
    with Connection() as connection:
        connection.write(cut(body))
        if half_close:
            connection.end_writing()
            try:
                problem(connection.read("POST"), 400, 408)
            except Closed:
                pass  # no answer is as good as a refusal
    time.sleep(0.15)  # a service that acts on it would have by now
    created(post(body))

@check("a POST longer than its Content-Length answers 400, and the rest is not acted on")
def _():
    body = fill(product()).encode()
    with Connection() as connection:
        connection.write(wire("POST", "/products", body, {"Content-Length": len(body) - 10}))
        problem(connection.read("POST"), 400)
        try:
            problem(connection.read(), 400)
        except Closed:
            pass
    created(post(body))

@check("a POST with Content-Length: 0 before its body answers 400 and creates nothing")
def _():
    body = fill(product()).encode()
    problem(raw(wire("POST", "/products", body, {"Content-Length": 0}), "POST"), 400)
    created(post(body))
