"""The web server's side of FastCGI, for tests that speak to a worker's socket directly.

    with FastCGI("/run/larder/read.sock") as peer:
        answer = peer.request("GET", "/products/1")      # .status, .headers, .body

The protocol is in the FastCGI 1.0 specification; the numbers are those of its section 8."""
import socket
import struct

BEGIN, END, PARAMS, STDIN, STDOUT = 1, 3, 4, 5, 6
RESPONDER, KEEP_CONNECTION = 1, 1


def record(kind, content=b"", number=1):
    return struct.pack(">BBHHBx", 1, kind, number, len(content), 0) + content


def stream(kind, content):
    """The records of a stream, with the empty one that ends it."""
    parts = [content[i:i + 65535] for i in range(0, len(content), 65535)]
    return b"".join(record(kind, part) for part in parts) + record(kind)


def length_of(text):
    return bytes([len(text)]) if len(text) < 128 else struct.pack(">I", len(text) | 1 << 31)


def encode(method, target, body=b"", parameters=None, keep=True):
    """A whole request. A parameter that is None is left out."""
    values = {"REQUEST_METHOD": method, "REQUEST_URI": target, "REQUEST_ID": "direct"}
    if body:
        values.update(CONTENT_LENGTH=str(len(body)), CONTENT_TYPE="application/json")
    values.update(parameters or {})
    pairs = [(name.encode(), value.encode()) for name, value in values.items() if value is not None]
    encoded = b"".join(length_of(name) + length_of(value) + name + value for name, value in pairs)
    begin = record(BEGIN, struct.pack(">HB5x", RESPONDER, KEEP_CONNECTION if keep else 0))
    return begin + stream(PARAMS, encoded) + stream(STDIN, body)


class Answer:
    def __init__(self, text):
        head, _, self.body = text.partition(b"\r\n\r\n")
        self.headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.status = int(self.headers["Status"].split()[0])


class FastCGI:
    """One connection to a worker, by the path of a socket or (host, port). ConnectionError when the worker ends it."""

    def __init__(self, address, timeout=30):
        if isinstance(address, tuple):
            self.socket = socket.create_connection(address, timeout)
        else:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(timeout)
            self.socket.connect(address)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def take(self, length):
        data = b""
        while len(data) < length:
            part = self.socket.recv(length - len(data))
            if not part:
                raise ConnectionResetError("the worker closed the connection")
            data += part
        return data

    def receive(self):
        text = b""
        while True:
            _, kind, _, length, padding = struct.unpack(">BBHHBx", self.take(8))
            content = self.take(length + padding)[:length]
            if kind == STDOUT:
                text += content
            elif kind == END:
                return Answer(text)

    def request(self, method, target, body=b"", parameters=None, keep=True):
        self.send(encode(method, target, body, parameters, keep))
        return self.receive()
