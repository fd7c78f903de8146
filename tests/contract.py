#!/usr/bin/env python3
"""The contract test: holds a running service against its HTTP contract, over the wire alone.

    python3 tests/contract.py BASE_URL [-v] [--list] [--only TEXT]

BASE_URL is any deployment, with or without a path prefix: http://127.0.0.1:8080, https://host/shop.
It needs at least one category there; it creates every other row itself and deletes it at the end.
Closing line: `N passed, N failed`. Exit 0 all passed, 1 something failed, 2 the service cannot be reached.

The file has three parts: the wire (sockets and answers), the tools (comparing, registering), the checks.
A check is one statement about the product. To add one, write a function under a `section(...)`:

    @check("GET /health answers 200")
    def _():
        status(send("GET", "/health"), 200)

or a table of them, where a row fills the braces of the name and is the function's arguments:

    @cases("GET {} answers 404", ("/nope",), ("/products/",))
    def _(path):
        problem(send("GET", path), 404)

Paths, header values and bodies may hold marks that are filled in when they are sent: <SKU> a new sku, <CAT>
a category's id, <ID> the id of a product that every check may read and none may change, <TAG> its ETag.
What must hold for every answer of the whole run (never a 5xx, say) is an `@always` function instead.
"""
import argparse
import datetime
import email.utils
import json
import random
import re
import secrets
import select
import socket
import ssl
import sys
import threading
import time
from urllib.parse import parse_qsl, urlsplit

MIB = 1 << 20
MAX_ID = (1 << 63) - 1
TIMEOUT_SECONDS = 10
ANY_4XX = range(400, 500)
PRODUCT_KEYS = {"id", "sku", "name", "price_cents", "stock", "category", "created_at", "updated_at"}


# ---------------------------------------------------------------------------------------------- the wire

class Site:
    """Where the service is; filled in by main()."""
    scheme, host, port, netloc, prefix = "http", "127.0.0.1", 80, "127.0.0.1", ""

    @classmethod
    def use(cls, url):
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError("a base URL looks like http://127.0.0.1:8080")
        cls.scheme, cls.host, cls.netloc = parts.scheme, parts.hostname, parts.netloc
        cls.port = parts.port or (443 if parts.scheme == "https" else 80)
        cls.prefix = parts.path.rstrip("/")


class Closed(Exception):
    """The connection ended where an answer, or the rest of one, was due."""


EXCHANGES = []  # (sent, received) of the running check, for the report of a failure
CREATED = []    # location of every product the run has created, without the prefix
COMPLAINTS = {}  # name of an @always function -> what it found


class Answer:
    def __init__(self, sent, method, code, headers, body):
        self.sent, self.method, self.status, self.headers, self.body = sent, method, code, headers, body

    def all(self, name):
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def get(self, name):
        values = self.all(name)
        return ", ".join(values) if values else None

    @property
    def media_type(self):
        return (self.get("Content-Type") or "").split(";")[0].strip().lower()

    def json(self):
        return json.loads(self.body.decode("utf-8"), object_pairs_hook=members_once)

    def summary(self):
        return "%d %s %s" % (self.status, self.media_type, shorten(self.body, 300))


class Connection:
    """One connection to the service. Reads to the byte: what follows an answer stays in `rest`."""

    def __init__(self):
        self.socket = socket.create_connection((Site.host, Site.port), TIMEOUT_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if Site.scheme == "https":
            self.socket = ssl.create_default_context().wrap_socket(self.socket, server_hostname=Site.host)
        self.rest, self.sent, self.usable = b"", b"", True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def write(self, data):
        self.sent = data
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # a server may refuse a request before it has read it all; its answer is what counts

    def end_writing(self):
        self.socket.shutdown(socket.SHUT_WR)

    def more(self):
        try:
            data = self.socket.recv(65536)
        except ConnectionResetError:
            data = b""
        if not data:
            self.usable = False
            raise Closed("the connection was closed with %r received" % shorten(self.rest))
        self.rest += data

    def take_until(self, mark):
        while mark not in self.rest:
            self.more()
        taken, self.rest = self.rest.split(mark, 1)
        return taken

    def take(self, length):
        while len(self.rest) < length:
            self.more()
        taken, self.rest = self.rest[:length], self.rest[length:]
        return taken

    def read_head(self):
        """The status code and the header fields of the next answer."""
        first, *lines = self.take_until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        if not re.match(r"HTTP/1\.[01] [1-5]\d\d ", first):
            self.usable = False
            raise Mismatch("a status line", "HTTP/1.1 NNN …", first)
        return int(first.split(" ")[1]), [tuple(line.split(": ", 1)) for line in lines]

    def read(self, method="GET"):
        """The answer to a request of this method; interim 1xx answers are passed over."""
        code, headers = self.read_head()
        while code < 200:
            code, headers = self.read_head()
        answer = Answer(self.sent, method, code, headers, b"")
        if method != "HEAD" and code not in (204, 304):
            answer.body = self.read_body(answer)
        if (answer.get("Connection") or "").lower() == "close":
            self.usable = False
        notice(answer)
        return answer

    def read_body(self, answer):
        if answer.get("Transfer-Encoding"):
            body = b""
            while True:
                size = int(self.take_until(b"\r\n"), 16)
                chunk = self.take(size + 2)
                if size == 0:
                    return body
                body += chunk[:-2]
        if answer.get("Content-Length") is not None:
            return self.take(int(answer.get("Content-Length")))
        try:
            while True:
                self.more()
        except Closed:
            return self.take(len(self.rest))

    def ended(self):
        """True once the server has closed and sent nothing more."""
        try:
            self.more()
        except Closed:
            pass
        return not self.rest

    def is_fresh(self):
        """Whether another request may be sent; bytes nobody asked for are noted against the last answer."""
        readable = select.select([self.socket], [], [], 0)[0]
        if self.usable and readable:
            try:
                self.more()
            except Closed:
                pass
        if self.rest:
            complain(BYTES_AFTER, "%r after the answer to %s" % (shorten(self.rest), shorten(self.sent)))
            return False
        return self.usable


def notice(answer):
    """Keeps the books on an answer: the report, what to delete in the end, what must always hold."""
    EXCHANGES.append((answer.sent, answer.summary()))
    location = answer.get("Location")
    if answer.status == 201 and location and location.startswith(Site.prefix):
        CREATED.append(location[len(Site.prefix):])
    for name, rule in ALWAYS.items():
        try:
            complaint = rule(answer)
        except Exception as error:  # an answer that a rule cannot read breaks that rule
            complaint = "%s: %s" % (type(error).__name__, error)
        if complaint:
            complain(name, "%s: %s -> %s" % (complaint, shorten(answer.sent), answer.summary()))


def complain(name, text):
    COMPLAINTS.setdefault(name, []).append(text)


def wire(method, path, body=None, headers=None, version="HTTP/1.1"):
    """The bytes of a request. A body brings Content-Type and Content-Length; a header of None is left out."""
    body = fill(body)
    fields = {"Host": Site.netloc}
    if body is not None:
        body = body if isinstance(body, bytes) else body.encode("utf-8")
        fields.update({"Content-Type": "application/json", "Content-Length": len(body)})
    fields.update(headers or {})
    lines = ["%s %s%s %s" % (method, Site.prefix, fill(path), version)]
    lines += ["%s: %s" % (name, fill(str(value))) for name, value in fields.items() if value is not None]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + (body or b"")


def send(method, path, body=None, headers=None):
    """Sends a request on the run's own kept connection and reads the answer."""
    if World.connection is None or not World.connection.is_fresh():
        World.connection = Connection()
    try:
        World.connection.write(wire(method, path, body, headers))
        return World.connection.read(method)
    except Exception:
        EXCHANGES.append((World.connection.sent, "no answer"))
        World.connection = None
        raise


def raw(data, method="GET"):
    """Sends bytes on a connection of their own and reads one answer."""
    data = fill(data if isinstance(data, bytes) else data.encode())
    with Connection() as connection:
        try:
            connection.write(data)
            return connection.read(method)
        except Exception:
            EXCHANGES.append((data, "no answer"))
            raise


def chunked(body, size=65536):
    pieces = [body[start:start + size] for start in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


CHUNKED = {"Content-Length": None, "Transfer-Encoding": "chunked"}


# --------------------------------------------------------------------------------------------- the tools

class World:
    """What the run has found or made, each when first asked for."""
    connection = None
    prefix = "contract-%s-" % secrets.token_hex(4)
    count = 0
    category_found = None
    product_made = None

    @classmethod
    def sku(cls):
        cls.count += 1
        return "%s%d" % (cls.prefix, cls.count)

    @classmethod
    def category(cls):
        if cls.category_found is None:
            cls.category_found = send("GET", "/categories").json()["items"][0]
        return cls.category_found

    @classmethod
    def product(cls):
        if cls.product_made is None:
            answer = created(send("POST", "/products", product()))
            cls.product_made = dict(answer.json(), tag=answer.get("ETag"))
        return cls.product_made


MARKS = {
    "<SKU>": lambda: World.sku(),
    "<SKU64>": lambda: World.sku().ljust(64, "x"),
    "<SKU65>": lambda: World.sku().ljust(65, "x"),
    "<CAT>": lambda: World.category()["id"],
    "<ID>": lambda: World.product()["id"],
    "<ID+2^32>": lambda: World.product()["id"] + (1 << 32),
    "<ID+2^64>": lambda: World.product()["id"] + (1 << 64),
    "<ID in percents>": lambda: "".join("%%3%s" % digit for digit in str(World.product()["id"])),
    "<TAKEN>": lambda: World.product()["sku"],
    "<TAG>": lambda: World.product()["tag"],
    "<TAG's inside>": lambda: World.product()["tag"].strip('"'),
    "<PREFIX>": lambda: Site.prefix,
    "<ABOVE>": lambda: "/.." * (Site.prefix.count("/") + 1),
    "<HOST>": lambda: Site.netloc,
    "<SCHEME>": lambda: Site.scheme,
}


def fill(template):
    if isinstance(template, bytes):
        return fill(template.decode("latin-1")).encode("latin-1")
    for mark, value in MARKS.items():
        if template and mark in template:
            template = template.replace(mark, str(value()))
    return template


def product(**members):
    """The text of a valid product, members given as JSON text in place of the usual; None leaves one out."""
    usual = {"sku": '"<SKU>"', "name": '"A name"', "price_cents": "1", "stock": "2", "category_id": "<CAT>"}
    usual.update(members)
    return "{%s}" % ", ".join("%s: %s" % (json.dumps(key, ensure_ascii=False), value)
                              for key, value in usual.items() if value is not None)


def product_bytes(**members):
    """The same with values of bytes, for text that is not UTF-8."""
    text = product(**{key: '"<%s>"' % key.upper() for key in members}).encode()
    for key, value in members.items():
        text = text.replace(b'"<%s>"' % key.upper().encode(), value)
    return text


def post(body, **headers):
    return send("POST", "/products", body, {key.replace("_", "-"): value for key, value in headers.items()})


def new_product(**members):
    """Creates a product and gives back its path and its answer."""
    answer = created(post(product(**members)))
    return "/products/%d" % answer.json()["id"], answer


class Mismatch(AssertionError):
    def __init__(self, what, expected, got):
        super().__init__("%s: expected %s, got %s" % (what, expected, got))
        self.what, self.expected, self.got = what, expected, got


def same(what, got, expected):
    if got != expected or isinstance(got, bool) != isinstance(expected, bool):
        raise Mismatch(what, repr(expected), repr(got))


def holds(what, truth, got):
    if not truth:
        raise Mismatch(what, "it to hold", repr(got))


def status(answer, *expected):
    if answer.status not in expected:
        wanted = "a 4xx" if len(expected) > 5 else " or ".join(map(str, expected))
        raise Mismatch("the status", wanted, answer.summary())
    return answer


def json_of(answer, code=200):
    status(answer, code)
    same("Content-Type", answer.media_type, "application/json")
    return answer.json()


def created(answer):
    """Holds an answer to be a complete 201 for a product."""
    value = json_of(answer, 201)
    same("the product's members", set(value), PRODUCT_KEYS)
    same("Location", answer.get("Location"), "%s/products/%d" % (Site.prefix, value["id"]))
    holds("a strong ETag", is_strong_tag(answer.get("ETag")), answer.get("ETag"))
    return answer


def problem(answer, *codes, pointers=None, names=None):
    """Holds an answer to be an RFC 9457 problem, with these pointers, or with this parameter named."""
    status(answer, *codes)
    complaint = problem_complaint(answer)
    if complaint:
        raise Mismatch("the problem", "a whole one", "%s in %s" % (complaint, answer.summary()))
    if pointers is not None:
        same("the pointers", {error["pointer"] for error in answer.json()["errors"]}, set(pointers))
    if names is not None:
        detail = answer.json()["detail"]
        holds("the detail names %s" % names, re.search(r"(?<!\w)%s(?!\w)" % re.escape(names), detail), detail)
    return answer


def problem_complaint(answer):
    if answer.media_type != "application/problem+json":
        return "Content-Type is not application/problem+json"
    if answer.method == "HEAD":
        return None
    value = answer.json()
    if set(value) != {"type", "title", "status", "detail"} | ({"errors"} if answer.status == 422 else set()):
        return "its members are not type, title, status and detail (with errors at 422)"
    if value["status"] != answer.status:
        return "its status is not the status line's"
    if value["type"] != "about:blank" and not value["type"].startswith(("/problems/", Site.prefix + "/problems/")):
        return "its type is neither about:blank nor under /problems/"
    if not all(isinstance(value[key], str) and value[key].strip() for key in ("title", "detail")):
        return "its title or detail is not a text"
    errors = value.get("errors", [])
    if answer.status == 422 and not errors:
        return "its errors are empty"
    if not all(isinstance(error["pointer"], str) and isinstance(error["detail"], str) and error["detail"].strip()
               for error in errors):
        return "one of its errors lacks a pointer or a detail"
    return None


def allowed(answer):
    return {method.strip() for method in (answer.get("Allow") or "").split(",") if method.strip()}


def is_strong_tag(text):
    return bool(text and re.match(r'^"[^"]+"$', text))


def is_request_id(text):
    return bool(text and re.match(r"^[A-Za-z0-9._-]{1,64}$", text))


def members_once(pairs):
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a member is there twice")
    return value


def shorten(data, limit=100):
    text = data.decode("utf-8", "backslashreplace") if isinstance(data, bytes) else data
    return text if len(text) <= limit else "%s… (%d in all)" % (text[:limit], len(text))


CHECKS = []   # (section, name, function), in the order they run
ALWAYS = {}   # name -> function of an answer that gives back a complaint or None
SECTION = [""]


def section(title):
    SECTION[0] = title


def check(name):
    def register(function):
        CHECKS.append((SECTION[0], name, function))
        return function
    return register


def cases(name, *rows):
    def register(function):
        for row in rows:
            CHECKS.append((SECTION[0], name.format(*row), lambda row=row: function(*row)))
        return function
    return register


def always(name):
    def register(function):
        ALWAYS[name] = function
        return function
    return register


# ------------------------------------------------------------------- what holds for every answer of the run

BYTES_AFTER = "always: no byte follows an answer that has no body, or the length it declared"

@always("always: no request is answered with a 5xx")
def _(answer):
    return "a 5xx" if answer.status >= 500 else None

@always("always: X-Request-Id is there, once, 1..64 of A-Za-z0-9._-")
def _(answer):
    ids = answer.all("X-Request-Id")
    return None if len(ids) == 1 and is_request_id(ids[0]) else "X-Request-Id %r" % ids

@always("always: an answer with a body has Server, Date, Content-Type and Content-Length, once each")
def _(answer):
    wrong = [name for name in ("Server", "Date", "Content-Type", "Content-Length") if len(answer.all(name)) != 1]
    return "%s missing or repeated" % ", ".join(wrong) if answer.body and wrong else None

@always("always: no answer is sent with a Transfer-Encoding")
def _(answer):
    return "Transfer-Encoding" if answer.get("Transfer-Encoding") else None

@always("always: no answer sets a cookie")
def _(answer):
    return "Set-Cookie" if answer.get("Set-Cookie") else None

@always("always: an error is a whole application/problem+json")
def _(answer):
    return problem_complaint(answer) if answer.status >= 400 else None

@always("always: an error tells nothing internal")
def _(answer):
    text = answer.body.decode("utf-8", "replace") if answer.status >= 400 else ""
    found = re.search(r"(?i:sqlite|errno|fastcgi|json-c)|/work|/var/|/tmp/|SELECT |INSERT |UPDATE |DELETE FROM|UNIQUE c", text)
    return "it says %r" % found.group() if found else None

@always("always: a 204 or 304 has no Content-Type, and a 204 no Content-Length")
def _(answer):
    unfit = {204: ("Content-Type", "Content-Length"), 304: ("Content-Type",)}.get(answer.status, ())
    return next((name for name in unfit if answer.get(name) is not None), None)

@always("always: nothing is allowed to other origins while CORS is not configured")
def _(answer):
    return next((name for name, _ in answer.headers if name.lower().startswith("access-control-")), None)


# --------------------------------------------------------------------------------------------- the checks

section("Probes")

@check("GET /health answers 200 text/plain with ok")
def _():
    answer = status(send("GET", "/health"), 200)
    same("Content-Type", answer.media_type, "text/plain")
    same("the body", answer.body.strip(), b"ok")

@check("GET /ready answers 200 with a JSON object whose ready is true")
def _():
    value = json_of(send("GET", "/ready"))
    holds("an object", isinstance(value, dict), value)
    same("ready", value.get("ready"), True)


section("Paths")

@cases("GET {} answers 404",
       ("/nope",), ("/healthz",), ("/health/",), ("/HEALTH",), ("/ready/",), ("/index.html",), ("/products.json",),
       ("//products",), ("//products/<ID>",), ("/products/",), ("/products//<ID>",), ("/products/<ID>/",),
       ("/products/<ID>/x",), ("/products/<ID>.json",), ("/PRODUCTS",), ("/Products/<ID>",), ("/products%2F<ID>",),
       ("/products/../health",), ("/products/%2e%2e/health",), ("/./products/<ID>",), ("/product",),
       ("/categories/",), ("/categories/<CAT>/",), ("/categories%2f<CAT>",), ("/nope?limit=1",))
def _(path):
    problem(send("GET", path), 404)

@cases("{} on an unknown path answers 404",
       ("POST",), ("PUT",), ("PATCH",), ("DELETE",), ("OPTIONS",), ("HEAD",), ("PROPFIND",))
def _(method):
    problem(send(method, "/nope"), 404)

@cases("GET {} answers 200, each segment percent-decoded",
       ("/products/<ID in percents>",), ("/%70roducts/<ID>",), ("/%68ealth",), ("/categorie%73",))
def _(path):
    status(send("GET", path), 200)

@cases("GET {} answers 400 or 404",
       ("/products/%00",), ("/products/<ID>%00",), ("/products/<ID>%00x",), ("/products/%zz",), ("/products/<ID>%",),
       ("/%3",), ("/products/%FF",), ("<ABOVE>/x",), ("<ABOVE>/health",), ("/%2e%2e<ABOVE>/etc/passwd",))
def _(path):
    problem(send("GET", path), 400, 404)

NOT_IDS = [("0",), ("-1",), ("1.5",), ("9223372036854775808",), ("abc",)]

@cases("GET /products/{} answers 404, not being the id of one", *NOT_IDS,
       (str(MAX_ID),), ("0<ID>",), ("+<ID>",), ("%2B<ID>",), ("<ID>%20",), ("%20<ID>",), ("<ID>e0",), ("<ID>.0",),
       ("0x1",), ("<ID>;v=1",), ("<ID>%0A",), ("<ID+2^32>",), ("<ID+2^64>",), ("99999999999999999999",), ("9" * 200,),
       ("%EF%BC%91",), ("-9223372036854775808",))
def _(text):
    problem(send("GET", "/products/" + text), 404)

@cases("GET /categories/{} answers 404, not being the id of one", *NOT_IDS, (str(MAX_ID),), ("0<CAT>",), ("<CAT>%20",))
def _(text):
    problem(send("GET", "/categories/" + text), 404)

@cases("DELETE /products/{} answers 404", *NOT_IDS, ("0<ID>",), ("<ID+2^64>",))
def _(text):
    problem(send("DELETE", "/products/" + text), 404)
    status(send("GET", "/products/<ID>"), 200)


section("Methods")

READ = {"GET", "HEAD", "OPTIONS"}
ROUTES = [("/health", READ, READ), ("/ready", READ, READ), ("/categories", READ, None), ("/categories/<CAT>", READ, None),
          ("/products", {"POST", "OPTIONS"}, None), ("/products/<ID>", READ | {"DELETE"}, None)]

def check_allow(answer, at_least, exactly=None):
    holds("Allow has %s" % sorted(at_least), allowed(answer) >= at_least, answer.get("Allow"))
    if exactly:
        same("Allow", allowed(answer), exactly)

@cases("OPTIONS {0} answers 204 with Allow and no body", *ROUTES)
def _(path, at_least, exactly):
    answer = status(send("OPTIONS", path), 204)
    check_allow(answer, at_least, exactly)
    status(send("GET", "/health"), 200)

@cases("FOO {0} answers 405 with Allow", *ROUTES)
def _(path, at_least, exactly):
    answer = problem(send("FOO", path), 405)
    check_allow(answer, at_least, exactly)
    holds("Allow lacks FOO", "FOO" not in allowed(answer), answer.get("Allow"))

@cases("{} {} answers 405 with Allow",
       ("POST", "/health"), ("DELETE", "/health"), ("PUT", "/health"), ("PATCH", "/health"), ("POST", "/ready"),
       ("DELETE", "/ready"), ("DELETE", "/products"), ("DELETE", "/categories"), ("POST", "/categories/<CAT>"),
       ("PROPFIND", "/products/<ID>"), ("VERSION-CONTROL", "/categories"))
def _(method, path):
    answer = problem(send(method, path, product() if method == "POST" else None), 405)
    holds("Allow has other methods than this one", allowed(answer) and method not in allowed(answer), answer.get("Allow"))

@check("POST /products/{id} answers 405 and creates nothing")
def _():
    body = fill(product())
    check_allow(problem(send("POST", "/products/<ID>", body), 405), READ | {"DELETE"})
    created(post(body))

@cases("TRACE {} answers 405 with Allow, and echoes nothing", ("/health",), ("/products/<ID>",))
def _(path):
    answer = problem(raw(wire("TRACE", path, None, {"Cookie": "secret"})), 405)
    holds("Allow lists methods", allowed(answer), answer.get("Allow"))
    holds("no echo", b"secret" not in answer.body, answer.body)

@cases("CONNECT with {} answers a 4xx problem", ("a host and port", "example.org:443"), ("a path", "<PREFIX>/health"))
def _(_, target):
    problem(raw("CONNECT %s HTTP/1.1\r\nHost: <HOST>\r\n\r\n" % target), *ANY_4XX)

@cases("OPTIONS {} from another origin answers no Access-Control-* header", ("/products",), ("/products/<ID>",), ("/health",))
def _(path):
    answer = status(send("OPTIONS", path, None, {"Origin": "https://other.example",
                                                 "Access-Control-Request-Method": "POST",
                                                 "Access-Control-Request-Headers": "content-type"}), 204)
    same("CORS headers", [name for name, _ in answer.headers if name.lower().startswith("access-control-")], [])

@cases("HEAD {} answers the GET's status and headers, and no body", ("/health",), ("/ready",), ("/categories",),
       ("/categories?limit=1",), ("/categories/<CAT>",), ("/products/<ID>",), ("/products/%s" % MAX_ID,), ("/nope",),
       ("/categories?limit=0",))
def _(path):
    with Connection() as connection:  # one connection, so that a stray body would spoil the answer after it
        connection.write(wire("GET", path))
        get = connection.read()
        connection.write(wire("HEAD", path))
        head = connection.read("HEAD")
        connection.write(wire("GET", "/health"))
        status(connection.read(), 200)
    same("the status", head.status, get.status)
    for name in ("Content-Type", "Content-Length", "ETag", "Link"):
        same(name, head.get(name), get.get(name))


section("Query parameters")

@cases("GET {0}?{1} answers 400 naming {2}",
       ("/health", "x=1", "x"), ("/ready", "x=1", "x"), ("/products/<ID>", "x=1", "x"), ("/categories/<CAT>", "x=1", "x"),
       ("/products/<ID>", "x", "x"), ("/products/<ID>", "limit=1", "limit"), ("/categories", "x=1", "x"),
       ("/categories", "limit=1&colour=2", "colour"), ("/categories", "Limit=1", "Limit"),
       ("/categories", "limit=0", "limit"), ("/categories", "limit=101", "limit"), ("/categories", "limit=-1", "limit"),
       ("/categories", "limit=abc", "limit"), ("/categories", "limit=1.5", "limit"), ("/categories", "limit=", "limit"),
       ("/categories", "limit", "limit"), ("/categories", "limit=1e1", "limit"), ("/categories", "limit=+1", "limit"),
       ("/categories", "limit=%2B1", "limit"), ("/categories", "limit=1%20", "limit"), ("/categories", "limit=1%00", "limit"),
       ("/categories", "limit=0x1", "limit"), ("/categories", "limit=4294967297", "limit"),
       ("/categories", "limit=18446744073709551617", "limit"), ("/categories", "limit=1&limit=2", "limit"),
       ("/categories", "limit=1&limit=1", "limit"), ("/categories", "limit=1&lim%69t=2", "limit"),
       ("/categories", "after=-1", "after"), ("/categories", "after=abc", "after"), ("/categories", "after=", "after"),
       ("/categories", "after=1.5", "after"), ("/categories", "after=9223372036854775808", "after"),
       ("/categories", "after=18446744073709551616", "after"), ("/categories", "after=1&limit=1&after=2", "after"))
def _(path, query, name):
    problem(send("GET", "%s?%s" % (path, query)), 400, names=name)

@cases("GET {} answers 400, a percent escape in it being broken",
       ("/categories?limit=%zz",), ("/categories?limit=1%",), ("/categories?limit=%3",), ("/categories?%=1",),
       ("/products/<ID>?%zz=1",))
def _(path):
    problem(send("GET", path), 400)

@cases("GET {} answers 200", ("/categories?",), ("/products/<ID>?",), ("/health?",), ("/categories?after=0",),
       ("/categories?limit=1",), ("/categories?limit=100",), ("/categories?lim%69t=1",), ("/categories?limit=%31",),
       ("/categories?after=%d" % MAX_ID,), ("/categories?after=0&limit=1",), ("/categories?limit=1&after=0",))
def _(path):
    status(send("GET", path), 200)

@check("POST /products?x=1 answers 400 and creates nothing")
def _():
    body = fill(product())
    problem(send("POST", "/products?x=1", body), 400, names="x")
    created(post(body))

@check("DELETE /products/{id}?x=1 answers 400 and deletes nothing")
def _():
    path, _ = new_product()
    problem(send("DELETE", path + "?x=1"), 400, names="x")
    status(send("GET", path), 200)


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


section("Bodies: media type and size")

@cases("POST /products with {0} answers 415",
       ("no Content-Type", None), ("text/plain", "text/plain"), ("a form's type", "application/x-www-form-urlencoded"),
       ("application/jsonx", "application/jsonx"), ("application/json-seq", "application/json-seq"),
       ("an empty Content-Type", ""), ("merge-patch", "application/merge-patch+json"), ("json alone", "json"),
       ("problem+json", "application/problem+json"), ("a type before it", "text/plain, application/json"))
def _(_, media_type):
    problem(post(product(), Content_Type=media_type), 415)

@cases("POST /products as {0} answers 201", ("application/json; charset=utf-8",), ("application/json ;charset=UTF-8",),
       ("APPLICATION/JSON",), ("application/json;charset=\"utf-8\"",))
def _(media_type):
    created(post(product(), Content_Type=media_type))

def padded(size):
    text = fill(product()).encode()
    return text + b" " * (size - len(text))

@cases("a body of over 1 MiB answers 413: {0}",
       ("declared and not sent", lambda: wire("POST", "/products", None, {"Content-Type": "application/json",
                                                                         "Content-Length": MIB + 1})),
       ("10^15 bytes declared", lambda: wire("POST", "/products", None, {"Content-Type": "application/json",
                                                                        "Content-Length": 10 ** 15})),
       ("one byte over", lambda: wire("POST", "/products", padded(MIB + 1))),
       ("one byte over, chunked", lambda: wire("POST", "/products", chunked(padded(MIB + 1)), CHUNKED)),
       ("of 1.5 MiB, chunked", lambda: wire("POST", "/products", chunked(padded(MIB * 3 // 2)), CHUNKED)))
def _(_, data):
    problem(raw(data(), "POST"), 413)
    status(send("GET", "/health"), 200)

@check("a body of exactly 1 MiB is accepted")
def _():
    created(post(padded(MIB)))

@cases("a chunked body is accepted, in chunks of {}", (1,), (7,), (65536,))
def _(size):
    created(send("POST", "/products", chunked(fill(product()).encode(), size), CHUNKED))


section("Bodies: JSON")

@cases("POST /products with {0} answers 400",
       ("an empty body", b""), ("spaces alone", b"  \r\n"), ("a word", b"hello"), ("half the text", product()[:30]),
       ("all but the last brace", product()[:-1]), ("a byte after the value", product() + "x"),
       ("a brace after the value", product() + "}"), ("NUL after the value", product() + "\0"),
       ("two values", product() + " {}"), ("a byte order mark", "\ufeff" + product()),
       ("UTF-16", product().replace("<SKU>", "s").replace("<CAT>", "1").encode("utf-16-le")),
       ("a no-break space before the value", "\u00a0" + product()), ("a form feed before the value", "\f" + product()),
       # strings
       ("an overlong slash", product_bytes(name=b'"a\xc0\xaf"')),
       ("an overlong NUL", product_bytes(name=b'"a\xc0\x80"')),
       ("an overlong form of three bytes", product_bytes(name=b'"a\xe0\x80\xaf"')),
       ("a lone continuation byte", product_bytes(name=b'"a\x80"')),
       ("a surrogate encoded as UTF-8", product_bytes(name=b'"a\xed\xa0\x80"')),
       ("a sequence cut off by the quote", product_bytes(name=b'"a\xe2\x82"')),
       ("a code point over U+10FFFF", product_bytes(name=b'"a\xf4\x90\x80\x80"')),
       ("the byte FF", product_bytes(name=b'"a\xff"')),
       ("invalid UTF-8 in a member's name", product_bytes(sku=b'"<SKU>", "\xff": 1')),
       ("a raw NUL in a string", product(name='"a\0b"')), ("\\u0000 in a string", product(name='"a\\u0000b"')),
       ("\\u0000 in a member's name", product(name='"n", "a\\u0000b": 1')),
       ("\\u0000 ending a known member's name", product(name='"n", "stock\\u0000": 1')),
       ("a raw newline in a string", product(name='"a\nb"')), ("a raw tab in a string", product(name='"a\tb"')),
       ("a raw U+001F in a string", product(name='"a\x1fb"')), ("a lone high surrogate", product(name='"a\\ud800"')),
       ("a lone low surrogate", product(name='"a\\udc00"')),
       ("a high surrogate before a letter", product(name='"\\ud83dA"')),
       ("two high surrogates", product(name='"\\ud83d\\ud83d"')), ("an unknown escape", product(name='"a\\x41"')),
       ("an escape of three digits", product(name='"\\u012"')),
       ("an escape that is not hexadecimal", product(name='"\\u00g0"')),
       ("a string in single quotes", product(name="'a'")), ("a string that does not end", product(name='"a')),
       # members
       ("a member twice", product(name='"n", "name": "m"')),
       ("a member twice, the same value", product(stock='1, "stock": 1')),
       ("a member twice, once in escapes", product(name='"n", "sk\\u0075": "other"')),
       ("an unknown member twice", product(name='"n", "x": 1, "x": 1')),
       ("a member twice in a nested object", product(extra='{"a": 1, "a": 2}')),
       ("a member twice in an object in an array", product(extra='[{"a": 1, "a": 2}]')),
       ("a trailing comma", product()[:-1] + ",}"), ("a leading comma", "{," + product()[1:]),
       ("a missing colon", product().replace('"stock":', '"stock"')),
       ("a name without quotes", product().replace('"stock"', "stock")),
       ("a trailing comma in an array", product(extra="[1,]")), ("a comment", product(stock="1 /* one */")),
       ("a line comment", product() + "// end"),
       # nesting and literals
       ("nesting of 17", product(extra="[" * 16 + "]" * 16)),
       ("nesting of 17 objects", product(extra='{"a":' * 16 + "1" + "}" * 16)),
       ("nesting of 100,000", product(extra="[" * 100_000 + "]" * 100_000)),
       ("TRUE", product(stock="TRUE")), ("nul", product(stock="nul")), ("undefined", product(stock="undefined")))
def _(_, body):
    problem(post(body), 400)

@cases("POST /products with the price {} answers 400", ("NaN",), ("Infinity",), ("-Infinity",), ("01",), ("-01",),
       ("+1",), (".5",), ("1.",), ("1e",), ("1e+",), ("-",), ("0x10",), ("1_000",), ("1 2",), ("--1",))
def _(number):
    problem(post(product(price_cents=number)), 400)

@check("POST /products without a body or a length answers 400")
def _():
    problem(send("POST", "/products", None, {"Content-Type": "application/json"}), 400)

@cases("POST /products accepts {0}",
       ("white space of every kind", " \t\r\n" + product(name='"n"').replace(" ", " \t\r\n ") + "\r\n\t ", "n"),
       ("members in another order", '{"category_id": <CAT>, "stock": 0, "price_cents": 1, "name": "n", "sku": "<SKU>"}', "n"),
       ("\\u00e9", product(name='"caf\\u00e9"'), "caf\u00e9"),
       ("\\u00E9 in capitals", product(name='"caf\\u00E9"'), "caf\u00e9"),
       ("a surrogate pair", product(name='"\\ud83d\\ude00"'), "\U0001f600"),
       ("UTF-8 of two, three and four bytes", product(name='"é€\U0001f600"'), "é€\U0001f600"),
       ("the ends of the UTF-8 ranges", product(name='"\x7f\u0080\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff"'),
        "\x7f\u0080\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff"),
       ("the short escapes", product(name='"a\\"\\\\\\/\\b\\f\\n\\r\\t"'), 'a"\\/\b\f\n\r\t'),
       ("a member's name in escapes", product(name=None, **{"price_cents": '1, "n\\u0061me": "n"'}), "n"),
       ("text that looks like SQL", product(name='"\'); DROP TABLE products; --"'), "'); DROP TABLE products; --"),
       ("text that looks like HTML", product(name='"<b>&amp;</b>"'), "<b>&amp;</b>"))
def _(_, body, name):
    answer = created(post(body))
    same("name", answer.json()["name"], name)
    same("name of the row", send("GET", answer.get("Location")[len(Site.prefix):]).json()["name"], name)


section("Bodies: shape")

@cases("a body of {0} answers 422 at the whole document", ("a string", '"x"'), ("a number", "1"), ("null", "null"),
       ("true", "true"), ("an empty string", '""'))
def _(_, body):
    problem(post(body), 422, pointers=[""])

BAD_INTEGERS = ["-1", "1.0", "1.5", "1e2", "1E2", "-0.0", "1e400", '"1"', '""', "true", "null", "[]", "[1]", "{}",
                "9223372036854775807", "9223372036854775808", "18446744073709551616", "18446744073709551617",
                "-9223372036854775809", "1" + "0" * 400]

@cases("POST /products with {0} {1:.40} answers 422 at /{0}",
       *[("price_cents", number) for number in BAD_INTEGERS + ["1000000000001"]],
       *[("stock", number) for number in BAD_INTEGERS + ["1000000001", "4294967297"]],
       *[("category_id", number) for number in BAD_INTEGERS + ["0", "9000000000000000"]],
       *[("sku", text) for text in ('""', '"<SKU65>"', '"<SKU> "', '"<SKU>/"', '"<SKU>\u00e9"', '"<SKU>\\n"', '"<SKU>+"',
                                    '"<SKU>%41"', '"<SKU>\u0661"', "1", "null", "true", "[]", "{}")],
       *[("name", text) for text in ('""', '" "', '"   "', '"\\t\\n"', '"\u00a0"', '"\u3000"', '" \u2003\\r"',
                                     "1", "null", "false", "[]", '{"a": 1}')])
def _(member, value):
    problem(post(product(**{member: value})), 422, pointers=["/" + member])

@cases("POST /products with a name of 201 {0} answers 422 at /name",
       ("letters", "a"), ("characters of two bytes", "é"), ("characters of four bytes", "\U0001f600"),
       ("surrogate pairs", "\\ud83d\\ude00"))
def _(_, character):
    problem(post(product(name='"%s"' % (character * 201))), 422, pointers=["/name"])

@cases("POST /products accepts a name of {0}", ("1 letter", "a", 1), ("200 letters", "a", 200),
       ("200 characters of four bytes", "\U0001f600", 200), ("200 surrogate pairs", "\\ud83d\\ude00", 200))
def _(_, character, count):
    answer = created(post(product(name='"%s"' % (character * count))))
    same("name", answer.json()["name"], json.loads('"%s"' % character) * count)

@cases("POST /products accepts {0} {1}", ("price_cents", "0"), ("price_cents", "1000000000000"), ("price_cents", "-0"),
       ("stock", "0"), ("stock", "-0"), ("stock", "1000000000"))
def _(member, number):
    answer = created(post(product(**{member: number})))
    same(member, answer.json()[member], int(number))
    holds("no sign on a nought", b": -0" not in answer.body and b":-0" not in answer.body, answer.body)

@check("POST /products without stock has a stock of 0")
def _():
    same("stock", created(post(product(stock=None))).json()["stock"], 0)

@check("POST /products accepts a sku of 64 characters")
def _():
    same("length of sku", len(created(post(product(sku='"<SKU64>"'))).json()["sku"]), 64)

@check("POST /products accepts a sku of 1 character")
def _():
    letters = list("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
    random.shuffle(letters)
    for letter in letters:  # one that this deployment does not have yet
        answer = post(product(sku='"%s"' % letter))
        if answer.status != 409:
            break
    same("sku", created(answer).json()["sku"], letter)

@check("POST /products accepts every character that a sku may have")
def _():
    for part in ("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz", "0123456789._-"):
        sku = World.sku() + part
        same("sku", created(post(product(sku='"%s"' % sku))).json()["sku"], sku)

@cases("POST /products without {0} answers 422 at /{0}", ("sku",), ("name",), ("price_cents",), ("category_id",))
def _(member):
    problem(post(product(**{member: None})), 422, pointers=["/" + member])

@cases("POST /products with an unknown member {0!r} answers 422 at {1!r}",
       ("colour", "/colour"), ("id", "/id"), ("created_at", "/created_at"), ("updated_at", "/updated_at"),
       ("category", "/category"), ("Name", "/Name"), ("a/b", "/a~1b"), ("a~b", "/a~0b"), ("~1", "/~01"), ("", "/"),
       ("caf\u00e9", "/caf\u00e9"), ('a"b', '/a"b'), ("a\nb", "/a\nb"), ("0", "/0"))
def _(member, pointer):
    problem(post(product(**{member: "1"})), 422, pointers=[pointer])

@cases("nesting of 16 is read, and answers 422 at /extra: {0}",
       ("arrays", "[" * 15 + "]" * 15), ("arrays around a number", "[" * 15 + "1" + "]" * 15),
       ("objects", '{"a":' * 15 + "1" + "}" * 15))
def _(_, value):
    problem(post(product(extra=value)), 422, pointers=["/extra"])

@cases("every error is told at once: {0}",
       ("an empty object", "{}", ["/sku", "/name", "/price_cents", "/category_id"]),
       ("every member of the wrong type and an unknown one",
        product(sku="1", name="null", price_cents='"1"', stock="true", category_id="[]", colour="1"),
        ["/sku", "/name", "/price_cents", "/stock", "/category_id", "/colour"]),
       ("every member out of range, the category unknown",
        product(sku='"a b"', name='" "', price_cents="-1", stock="1000000001", category_id="9000000000000000"),
        ["/sku", "/name", "/price_cents", "/stock", "/category_id"]),
       ("a bad sku and an unknown category", product(sku='""', category_id="9000000000000000"), ["/sku", "/category_id"]),
       ("three unknown members and a missing one", product(name=None, a="1", b="2", **{"c/d": "3"}),
        ["/name", "/a", "/b", "/c~1d"]))
def _(_, body, pointers):
    problem(post(body), 422, pointers=pointers)

@cases("a 422 for {0} creates nothing: the sku is free afterwards", ("a wrong price", {"price_cents": "-1"}),
       ("an unknown category", {"category_id": "9000000000000000"}), ("an unknown member", {"colour": "1"}))
def _(_, members):
    sku = '"%s"' % World.sku()
    problem(post(product(sku=sku, **members)), 422)
    created(post(product(sku=sku)))


section("Products")

@check("POST /products answers 201 with the product's members as they were sent")
def _():
    sku = World.sku()
    value = created(post(product(sku='"%s"' % sku, name='"Tea"', price_cents="250", stock="7"))).json()
    same("members", (value["sku"], value["name"], value["price_cents"], value["stock"]), (sku, "Tea", 250, 7))
    same("integers", [type(value[key]) for key in ("id", "price_cents", "stock")], [int] * 3)
    holds("a positive id", 0 < value["id"] <= MAX_ID, value["id"])

@check("POST /products answers the category nested, with its name")
def _():
    _, answer = new_product()
    same("category", answer.json()["category"], World.category())

@check("POST /products answers created_at and updated_at as one RFC 3339 second in UTC, now")
def _():
    _, answer = new_product()
    value = answer.json()
    same("updated_at", value["updated_at"], value["created_at"])
    holds("the format", re.match(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$", value["created_at"]), value["created_at"])
    made = datetime.datetime.strptime(value["created_at"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=datetime.timezone.utc)
    holds("now, give or take ten minutes", abs(time.time() - made.timestamp()) < 600, value["created_at"])

@check("POST /products answers Location, which leads to the product")
def _():
    _, answer = new_product()
    location = answer.get("Location")
    same("Location", location, "%s/products/%d" % (Site.prefix, answer.json()["id"]))
    same("the product there", json_of(send("GET", location[len(Site.prefix):])), answer.json())

@check("GET after POST answers the identical body and ETag")
def _():
    path, answer = new_product()
    again = status(send("GET", path), 200)
    same("the body", again.body, answer.body)
    same("ETag", again.get("ETag"), answer.get("ETag"))

@check("GET /products/{id} answers the same body and ETag each time")
def _():
    first, second = [status(send("GET", "/products/<ID>"), 200) for _ in range(2)]
    same("the body", second.body, first.body)
    same("ETag", second.get("ETag"), first.get("ETag"))

@check("two products have different ETags")
def _():
    tags = [new_product()[1].get("ETag") for _ in range(2)]
    holds("different", tags[0] != tags[1], tags)

@check("POST /products with a sku that is taken answers 409, and the first product stays as it was")
def _():
    sku = '"%s"' % World.sku()
    path, answer = new_product(sku=sku, name='"First"')
    problem(post(product(sku=sku, name='"Second"')), 409)
    same("the product", send("GET", path).json(), answer.json())

@check("the sku of a deleted product is free again")
def _():
    sku = '"%s"' % World.sku()
    path, _ = new_product(sku=sku)
    status(send("DELETE", path), 204)
    new_product(sku=sku)

@check("ids increase")
def _():
    ids = [new_product()[1].json()["id"] for _ in range(3)]
    same("the order", ids, sorted(set(ids)))

@check("the id of a deleted product is not used again")
def _():
    path, first = new_product()
    status(send("DELETE", path), 204)
    _, second = new_product()
    holds("a larger id", second.json()["id"] > first.json()["id"], (first.json()["id"], second.json()["id"]))

NONE_MATCH = [
    ("the ETag", "<TAG>", 304), ("*", "*", 304), ("the weak form of it", "W/<TAG>", 304),
    ("a list that has it", '"a", <TAG>, "b"', 304), ("a list without spaces that has it", '"a",W/<TAG>', 304),
    ("a list with a comma in a tag before it", '"a,b", <TAG>', 304), ("a list with empty elements", ", ,<TAG>", 304),
    ("another", '"another"', 200), ("a list of others", '"a", W/"b"', 200), ("its beginning", '"<TAG\'s inside>x"', 200),
    ("it without quotes", "<TAG's inside>", 200), ("it without the last quote", '"<TAG\'s inside>', 200),
    ("nothing", "", 200)]

@cases("GET /products/{{id}} with If-None-Match of {0} answers {2}", *NONE_MATCH)
def _(_, value, code):
    check_none_match("/products/<ID>", value, code)

def check_none_match(path, value, code, method="GET"):
    plain = status(send("GET", path), 200)
    answer = status(send(method, path, None, {"If-None-Match": value}), code)
    same("ETag", answer.get("ETag"), plain.get("ETag"))
    if code == 304:
        same("Content-Type", answer.get("Content-Type"), None)
        holds("no other length", answer.get("Content-Length") in (None, plain.get("Content-Length")), answer.headers)
        status(send("GET", "/health"), 200)
    elif method == "GET":
        same("the body", answer.body, plain.body)

@check("HEAD /products/{id} with If-None-Match of the ETag answers 304")
def _():
    check_none_match("/products/<ID>", "<TAG>", 304, "HEAD")

@check("GET of a missing product with If-None-Match: * answers 404")
def _():
    problem(send("GET", "/products/%d" % MAX_ID, None, {"If-None-Match": "*"}), 404)

@check("DELETE /products/{id} answers 204 without a body, then GET and DELETE answer 404")
def _():
    path, _ = new_product()
    answer = status(send("DELETE", path), 204)
    same("headers of a body", (answer.get("Content-Type"), answer.get("Content-Length")), (None, None))
    problem(send("GET", path), 404)
    problem(send("DELETE", path), 404)

@cases("DELETE /products/{{id}} with If-Match of {0} answers {2}",
       ("the ETag", "<T>", 204), ("*", "*", 204), ("a list that has it", '"a", <T>', 204),
       ("a list with a comma in a tag before it", '"a,b",<T>', 204), ("another product's ETag", "<TAG>", 412),
       ("a list of others", '"a", "b"', 412), ("the weak form of it", "W/<T>", 412),
       ("a list of it in weak form", '"a", W/<T>', 412))
def _(_, value, code):
    path, answer = new_product()
    deleted = send("DELETE", path, None, {"If-Match": value.replace("<T>", answer.get("ETag"))})
    status(deleted, 204) if code == 204 else problem(deleted, code)
    status(send("GET", path), 404 if code == 204 else 200)

@check("DELETE /products/{id} with an If-Match that is no ETag deletes nothing")
def _():
    path, answer = new_product()
    problem(send("DELETE", path, None, {"If-Match": answer.get("ETag").strip('"')}), 400, 412)
    status(send("GET", path), 200)

@cases("DELETE of a missing product with If-Match: {0} answers 404", ('"a"',), ("*",))
def _(value):
    problem(send("DELETE", "/products/%d" % MAX_ID, None, {"If-Match": value}), 404)


section("Categories")

def pages(limit):
    """Walks GET /categories by its own links; the items of each page."""
    path, found = "/categories?limit=%d" % limit, []
    while path and len(found) < 1000:
        value = json_of(send("GET", path))
        found.append(value["items"])
        path = value["next"] and value["next"][len(Site.prefix):]
    same("the last page's next", path, None)
    return found

@check("GET /categories answers items and next, and of each item id and name")
def _():
    value = json_of(send("GET", "/categories"))
    same("members", set(value), {"items", "next"})
    holds("some items", value["items"], value)
    for item in value["items"]:
        same("members of an item", set(item), {"id", "name"})
        holds("an id and a name", type(item["id"]) is int and item["id"] > 0 and isinstance(item["name"], str), item)

@check("GET /categories answers 20 at most unless told otherwise")
def _():
    all_items = json_of(send("GET", "/categories?limit=100"))["items"]
    same("the items", json_of(send("GET", "/categories"))["items"], all_items[:20])

@check("GET /categories answers by id, ascending, none twice")
def _():
    ids = [item["id"] for item in json_of(send("GET", "/categories?limit=100"))["items"]]
    same("the ids", ids, sorted(set(ids)))

@cases("GET /categories?limit={0} answers {0} items where there are as many", (1,), (2,), (20,))
def _(limit):
    all_items = json_of(send("GET", "/categories?limit=100"))["items"]
    same("the items", json_of(send("GET", "/categories?limit=%d" % limit))["items"], all_items[:limit])

@cases("GET /categories in pages of {}: the links lead to every one, once, and end", (3,), (7,), (100,))
def _(limit):
    found = pages(limit)
    ids = [item["id"] for page in found for item in page]
    same("the ids in order", ids, sorted(set(ids)))
    same("those that other pages have", ids, [item["id"] for page in pages(19) for item in page])
    same("pages but the last that are not full", [len(page) for page in found[:-1] if len(page) != limit], [])

@check("GET /categories answers next as an absolute path with after and limit, and the same as a Link")
def _():
    total = len(json_of(send("GET", "/categories?limit=2"))["items"])
    answer = send("GET", "/categories?limit=1")
    value = json_of(answer)
    if total == 1:  # a deployment with one category has no second page to link to
        same("next and Link", (value["next"], answer.get("Link")), (None, None))
        return
    target = urlsplit(value["next"])
    same("the path", (target.scheme, target.netloc, target.path), ("", "", Site.prefix + "/categories"))
    same("the query", sorted(parse_qsl(target.query)), [("after", str(value["items"][-1]["id"])), ("limit", "1")])
    same("Link", answer.get("Link"), '<%s>; rel="next"' % value["next"])

@check("GET /categories after the last id answers no items, next null and no Link")
def _():
    answer = send("GET", "/categories?after=%d" % pages(100)[-1][-1]["id"])
    same("the value", json_of(answer), {"items": [], "next": None})
    same("Link", answer.get("Link"), None)

@check("GET /categories?after=N starts behind N, whether or not N is there")
def _():
    items = json_of(send("GET", "/categories?limit=100"))["items"]
    same("after the first", json_of(send("GET", "/categories?limit=100&after=%d" % items[0]["id"]))["items"][:99], items[1:])
    same("before the first", json_of(send("GET", "/categories?limit=100&after=%d" % (items[0]["id"] - 1)))["items"], items)

@check("GET /categories/{id} answers id and name, with a strong ETag")
def _():
    answer = send("GET", "/categories/<CAT>")
    same("the value", json_of(answer), World.category())
    holds("a strong ETag", is_strong_tag(answer.get("ETag")), answer.get("ETag"))

@cases("GET /categories/{{id}} with If-None-Match of {0} answers {2}", ("the ETag", "<T>", 304), ("*", "*", 304),
       ("the weak form of it", "W/<T>", 304), ("a list that has it", '"a", <T>', 304), ("another", '"another"', 200),
       ("a product's ETag", "<TAG>", 200))
def _(_, value, code):
    tag = status(send("GET", "/categories/<CAT>"), 200).get("ETag")
    check_none_match("/categories/<CAT>", value.replace("<T>", tag), code)


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


section("At once")

def at_once(count, data):
    """Sends the same bytes on `count` connections at the same moment; the statuses, sorted."""
    found, start = [], threading.Barrier(count)

    def one():
        try:
            with Connection() as connection:
                start.wait(TIMEOUT_SECONDS)
                connection.write(data)
                found.append(connection.read(data.split(b" ")[0].decode()).status)
        except Exception as error:
            found.append("%s: %s" % (type(error).__name__, error))
    threads = [threading.Thread(target=one) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(found, key=str)

@check("of 20 POSTs of one sku at once, one answers 201 and 19 answer 409")
def _():
    same("the statuses", at_once(20, wire("POST", "/products", product())), [201] + [409] * 19)

@check("of 20 DELETEs of one product at once, one answers 204 and 19 answer 404")
def _():
    path, _ = new_product()
    same("the statuses", at_once(20, wire("DELETE", path)), [204] + [404] * 19)

@check("of 20 DELETEs at once that match its ETag, one answers 204 and 19 answer 404")
def _():
    path, answer = new_product()
    same("the statuses", at_once(20, wire("DELETE", path, None, {"If-Match": answer.get("ETag")})), [204] + [404] * 19)

@check("20 reads of one product at once all answer 200")
def _():
    same("the statuses", at_once(20, wire("GET", "/products/<ID>")), [200] * 20)

# ------------------------------------------------------------------------------------------------ the run

def delete_what_was_created():
    for path in list(CREATED):
        status(send("DELETE", path), 204, 404)


def find_what_was_not_told():
    """Looks through the ids that the run used for rows of its own that no 201 told of; deletes them, and fails."""
    if World.product_made is None:
        return
    last, _ = new_product()
    left = []
    for number in range(World.product_made["id"], min(int(last.rsplit("/", 1)[1]), World.product_made["id"] + 5000)):
        answer = send("GET", "/products/%d" % number)
        if answer.status == 200 and answer.json()["sku"].startswith(World.prefix):
            left.append(answer.json())
            status(send("DELETE", "/products/%d" % number), 204)
    status(send("DELETE", last), 204)
    same("products left by requests that were refused or cut off", left, [])


CLOSING = [("everything that was created can be deleted", delete_what_was_created),
           ("no request that was refused or cut off has left a product behind", find_what_was_not_told)]


class Report:
    def __init__(self, verbose):
        self.verbose, self.passed, self.failed, self.titled = verbose, 0, 0, None

    def run(self, title, name, function):
        EXCHANGES.clear()
        try:
            function()
        except Mismatch as error:
            self.fail(title, name, "%s: %s" % (error.what, error.expected), error.got)
        except Exception as error:
            self.fail(title, name, "an answer to read", "%s: %s" % (type(error).__name__, error))
        else:
            self.passed += 1
            if self.verbose:
                self.title(title)
                print("  ok    " + printable(name))

    def title(self, title):
        if title != self.titled:
            self.titled = title
            print(title)

    def fail(self, title, name, expected, got):
        self.failed += 1
        self.title(title)
        print("  FAIL  " + printable(name))
        for sent, received in EXCHANGES[-3:]:
            print("        sent      %s\n        answered  %s" % (printable(shorten(sent, 400)), printable(received)))
        print("        expected  %s\n        got       %s" % (printable(expected), printable(shorten(got, 600))))

    def always(self):
        for name in [*ALWAYS, BYTES_AFTER]:
            EXCHANGES.clear()
            found = COMPLAINTS.get(name, [])
            self.run("Always", name, lambda found=found: same("complaints (%d)" % len(found), found[:5], []))


def printable(text):
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in shorten(text, 1000)).encode(
        sys.stdout.encoding or "ascii", "backslashreplace").decode(sys.stdout.encoding or "ascii")


def main():
    options = argparse.ArgumentParser(description="Holds a running service against its HTTP contract.")
    options.add_argument("base_url", nargs="?", help="such as http://127.0.0.1:8080 or https://host/shop")
    options.add_argument("-v", action="store_true", help="print the checks that pass, too")
    options.add_argument("--list", action="store_true", help="print the names of the checks and end")
    options.add_argument("--only", default="", metavar="TEXT", help="run the checks with this in name or section")
    chosen = options.parse_args()
    checks = [entry for entry in CHECKS if chosen.only.lower() in ("%s: %s" % entry[:2]).lower()]
    if chosen.list:
        for title, name, _ in checks:
            print(printable("%s: %s" % (title, name)))
        return 0
    try:
        Site.use(chosen.base_url or "")
        World.connection = Connection()
    except (OSError, ValueError) as error:
        print("The service at %s cannot be reached: %s." % (chosen.base_url or "(no BASE_URL)", error), file=sys.stderr)
        return 2
    report = Report(chosen.v)
    try:
        for title, name, function in checks:
            report.run(title, name, function)
    finally:
        for name, function in CLOSING:
            report.run("In the end", name, function)
        report.always()
        print("%d passed, %d failed" % (report.passed, report.failed))
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
