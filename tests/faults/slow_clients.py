"""Clients that send too slowly: nginx ends their connections, and nobody else notices."""
import socket
import time

from harness import Service, expect, expect_equal
from runner import test

LIMIT = 10  # seconds: client_header_timeout and client_body_timeout


@test("a client that stops within its header or its body is hung up on after 10 s, and others are served meanwhile")
def _():
    with Service(readers=1) as service:
        address, port = service.url[len("http://"):].split(":")
        starts = {"half a header": b"GET /products/1 HTTP/1.1\r\nHost: larder\r\n",
                  "half a body": b"POST /products HTTP/1.1\r\nHost: larder\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"}
        began = time.monotonic()
        slow = {}
        for name, start in starts.items():
            slow[name] = socket.create_connection((address, int(port)), timeout=LIMIT + 5)
            slow[name].sendall(start)
        expect_equal(service.client().get("/products/1").status, 200, "status for somebody else")
        for name, client in slow.items():
            with client:
                expect_equal(client.recv(4096), b"", "what the client with %s is told" % name)
            took = time.monotonic() - began
            expect(LIMIT - 1 <= took <= LIMIT + 4, "%s: hung up on after %.1f s" % (name, took))
