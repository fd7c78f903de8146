"""The wire: where the service is, connections to it, the requests sent and the answers read.

Everything here works on bytes and header fields; what an answer should be is said elsewhere. Three tables
are filled in by others: MARKS and ALWAYS (tools.py), and DELETE_HEADERS (credentials.py). Nothing here fails a
check by itself but an answer that is no HTTP; an exchange that does not come about raises Closed or what the
socket raised.
"""
import json
import re
import select
import socket
import ssl
import time
from urllib.parse import urlsplit

TIMEOUT_SECONDS = 10
IDLE_SECONDS = 2  # a server may close an idle connection when it likes: one that was idle so long is not used again


class Site:
    """Where the service is; filled in by main()."""
    scheme, host, port, netloc, prefix, context = "http", "127.0.0.1", 80, "127.0.0.1", "", None

    @classmethod
    def use(cls, url, ca=None):
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError("a base URL looks like http://127.0.0.1:8080")
        cls.scheme, cls.host, cls.netloc = parts.scheme, parts.hostname, parts.netloc
        cls.port = parts.port or (443 if parts.scheme == "https" else 80)
        cls.prefix = parts.path.rstrip("/")
        cls.context = ssl.create_default_context(cafile=ca)


class Closed(Exception):
    """The connection ended where an answer, or the rest of one, was due."""


class Mismatch(AssertionError):
    def __init__(self, what, expected, got):
        super().__init__("%s: expected %s, got %s" % (what, expected, got))
        self.what, self.expected, self.got = what, expected, got


EXCHANGES = []   # (sent, received) of the running check, for the report of a failure
CREATED = []     # path of every row the run has created, without the prefix
DELETE_HEADERS = {}  # start of such a path -> function of the path that gives the headers its DELETE needs
COMPLAINTS = {}  # name of an @always function -> what it found
ALWAYS = {}      # name -> function of an answer that gives back a complaint or None
MARKS = {}       # "<MARK>" -> function that gives what is sent in its place
BYTES_AFTER = "always: no byte follows an answer that has no body, or the length it declared"


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
            self.socket = Site.context.wrap_socket(self.socket, server_hostname=Site.host)
        self.rest, self.sent, self.usable, self.used = b"", b"", True, time.monotonic()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def write(self, data):
        self.sent, self.used = data, time.monotonic()
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError, ssl.SSLEOFError):
            pass  # a server may refuse a request before it has read it all; its answer is what counts

    def end_writing(self):
        socket.socket.shutdown(self.socket, socket.SHUT_WR)  # of TCP: TLS's own would end reading too

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
            self.socket.settimeout(0)
            try:
                self.more()
            except (Closed, ssl.SSLWantReadError):
                pass  # TLS 1.3 sends session tickets, which are no bytes of the answer
            self.socket.settimeout(TIMEOUT_SECONDS)
        if self.rest:
            complain(BYTES_AFTER, "%r after the answer to %s" % (shorten(self.rest), shorten(self.sent)))
            return False
        return self.usable and time.monotonic() - self.used < IDLE_SECONDS


def notice(answer):
    """Keeps the books on an answer: the report, what to delete in the end, what must always hold."""
    EXCHANGES.append((answer.sent, answer.summary()))
    if answer.status == 201:
        CREATED.extend(paths_created(answer))
    for name, rule in ALWAYS.items():
        try:
            complaint = rule(answer)
        except Exception as error:  # an answer that a rule cannot read breaks that rule
            complaint = "%s: %s" % (type(error).__name__, error)
        if complaint:
            complain(name, "%s: %s -> %s" % (complaint, shorten(answer.sent), answer.summary()))


def paths_created(answer):
    location = answer.get("Location")
    if location:
        return [location[len(Site.prefix):]] if location.startswith(Site.prefix + "/") else []
    try:
        return ["/products/%d" % item["id"] for item in answer.json()["items"]]
    except (ValueError, KeyError, TypeError):
        return []  # the check that sent it tells what is wrong


def complain(name, text):
    COMPLAINTS.setdefault(name, []).append(text)


def fill(template):
    if isinstance(template, bytes):
        return fill(template.decode("latin-1")).encode("latin-1")
    for mark, value in MARKS.items():
        if template and mark in template:
            template = template.replace(mark, str(value()))
    return template


def members_once(pairs):
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a member is there twice")
    return value


def shorten(data, limit=100):
    text = data.decode("utf-8", "backslashreplace") if isinstance(data, bytes) else data
    return text if len(text) <= limit else "%s… (%d in all)" % (text[:limit], len(text))


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


class Kept:
    """The run's own connection, used by send() again and again."""
    connection = None


def send(method, path, body=None, headers=None):
    """Sends a request on the run's own kept connection and reads the answer."""
    if Kept.connection is None or not Kept.connection.is_fresh():
        Kept.connection = Connection()
    try:
        Kept.connection.write(wire(method, path, body, headers))
        return Kept.connection.read(method)
    except Exception:
        EXCHANGES.append((Kept.connection.sent, "no answer"))
        Kept.connection = None
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
