#!/usr/bin/env python3
"""What `make static` learns from: train.py BINARY runs a service of it and asks for a bit of everything.

The binary writes down how often each of its branches is taken (gcc's -fprofile-generate), and the next build lays the
program out for that: what is used often for speed, the rest for size. The requests are those of the comparison, three
quarters of them reads, and some of each error."""
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests"))
from fastcgi_client import FastCGI, encode  # noqa: E402: found through the line above

ROUNDS, BATCH = 400, 8
SECRET = "training only-for-the-training-of-the-static-build"


def reads(number, token):
    product = number * 7919 % 12500 + 1  # four in five exist
    page = number % 50
    return [
        *[("GET", "/products/%d" % (product + i), b"", {}) for i in range(12)],
        ("GET", "/products/%d" % product, b"", {"HTTP_IF_NONE_MATCH": '"0000000000000000"'}),
        ("GET", "/products?limit=20&offset=%d" % (page * 20), b"", {}),
        ("GET", "/products?category_id=%d&sort=-price_cents&limit=20" % (page + 1), b"", {}),
        ("GET", "/products?q=blue&limit=20", b"", {}),
        ("GET", "/categories?limit=20", b"", {}),
        ("GET", "/categories/%d" % (page + 1), b"", {}),
        ("GET", "/api/deals?limit=20", b"", {"HTTP_AUTHORIZATION": token}),
        ("GET", "/api/deals/%d" % (page + 1), b"", {"HTTP_AUTHORIZATION": token}),
        ("GET", "/health", b"", {}),
        ("GET", "/json", b"", {}),
        ("GET", "/db", b"", {}),
        ("GET", "/queries?queries=20", b"", {}),
        ("GET", "/products?limit=0", b"", {}),
        ("GET", "/nowhere", b"", {}),
    ]


def writes(number, token):
    body = b'{"sku": "T-%d", "name": "Trained %d", "description": "A thing of \\u00e9 many parts", ' \
           b'"price_cents": %d, "category_id": %d}' % (number, number, number, number % 50 + 1)
    product = number * 7919 % 12500 + 1
    return [
        *[("POST", "/products", body.replace(b'"T-', b'"T%d-' % i), {}) for i in range(4)],
        ("POST", "/products", body.replace(b'"price_cents"', b'"price"'), {}),
        ("POST", "/products", body, {"HTTP_IDEMPOTENCY_KEY": "key-%d" % (number // 2)}),
        ("PUT", "/products/%d" % product, body.replace(b'"T-', b'"P-'), {}),
        ("PATCH", "/products/%d" % product, b'{"price_cents": %d}' % number, {"CONTENT_TYPE": "application/merge-patch+json"}),
        ("DELETE", "/products/%d" % product, b"", {}),
        ("POST", "/api/deals", b'{"title": "Deal %d", "amount_cents": %d}' % (number, number), {"HTTP_AUTHORIZATION": token}),
        ("DELETE", "/api/deals/%d" % (number + 1), b"", {"HTTP_AUTHORIZATION": token}),
    ]


def speak(path, requests):
    """As many requests at once as a busy service finds in a batch."""
    peers = [FastCGI(path) for _ in range(BATCH)]
    for start in range(0, len(requests), BATCH):
        batch = list(zip(peers, requests[start:start + BATCH]))
        for peer, request in batch:
            peer.send(encode(*request))
        for peer, request in batch:
            status = peer.receive().status
            if status >= 500:
                raise SystemExit("train.py: %s %s gave %d" % (*request[:2], status))
    for peer in peers:
        peer.socket.close()


def main():
    binary = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as directory:
        secret = os.path.join(directory, "secret")
        with open(os.open(secret, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write(SECRET + "\n")
        place = ["--db", os.path.join(directory, "larder.db"), "--secret-file", secret]
        subprocess.run([binary, "init", "--demo", *place[:2]], check=True, stdout=subprocess.DEVNULL)
        token = "Bearer " + subprocess.run([binary, "token", "--user", "1", *place], check=True, capture_output=True,
                                           text=True).stdout.strip()
        service = subprocess.Popen([binary, "serve", "--run-dir", directory, "--readers", "1", "--probes", "on", *place],
                                   stderr=subprocess.DEVNULL)
        try:
            while not os.path.exists(os.path.join(directory, "login.sock")) and service.poll() is None:
                time.sleep(0.01)
            time.sleep(0.1)
            for number in range(0, ROUNDS, 20):
                numbers = range(number, number + 20)
                speak(os.path.join(directory, "read.sock"), [request for n in numbers for request in reads(n, token)])
                speak(os.path.join(directory, "write.sock"), [request for n in numbers for request in writes(n, token)])
        finally:
            service.terminate()
            status = service.wait(30)
    sys.exit("train.py: the service ended with status %d" % status if status else 0)


if __name__ == "__main__":
    main()
