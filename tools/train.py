#!/usr/bin/env python3
"""What `make static` learns from: train.py BINARY runs a service of it and asks for a bit of everything.

The binary writes down how often each of its branches is taken (gcc's -fprofile-generate), and the next build lays the
program out for that: what is used often for speed, the rest for size. The requests are those of the comparison, three
quarters of them reads, and some of each error. An answer that is not the one meant ends the training."""
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
    user = {"HTTP_AUTHORIZATION": token}
    return [
        *[("GET", "/products/%d" % (product + i), b"", {}, (200, 404)) for i in range(12)],
        ("GET", "/products/%d" % product, b"", {"HTTP_IF_NONE_MATCH": '"0000000000000000"'}, (200, 404)),
        ("GET", "/products?limit=20&after=%d" % (number % 50 * 20), b"", {}, (200,)),
        ("GET", "/products?category_id=%d&limit=20" % (number % 50 + 1), b"", {}, (200,)),
        ("GET", "/products?q=product+%d&limit=20" % (product % 10000), b"", {}, (200,)),
        ("GET", "/categories?limit=20", b"", {}, (200,)),
        ("GET", "/categories/%d" % (number % 50 + 1), b"", {}, (200,)),
        ("GET", "/api/deals?per_page=20&page=%d" % (number % 50 + 1), b"", user, (200,)),
        ("GET", "/api/deals/%d" % (number % 100 * 10 + 1), b"", user, (200,)),
        ("GET", "/health", b"", {}, (200,)),
        ("GET", "/json", b"", {}, (200,)),
        ("GET", "/db", b"", {}, (200,)),
        ("GET", "/queries?queries=20", b"", {}, (200,)),
        ("GET", "/products?limit=0", b"", {}, (400,)),
        ("GET", "/nowhere", b"", {}, (404,)),
    ]


def writes(number, token):
    def body(sku):
        return b'{"sku": "%s-%d", "name": "Trained \\u00e9 %d", "price_cents": %d, "category_id": %d}' % (
            sku, number, number, number, number % 50 + 1)
    product = number * 7919 % 12500 + 1
    user = {"HTTP_AUTHORIZATION": token}
    deal = b'{"title": "Deal %d", "amount_cents": %d}' % (number // 2, number // 2)
    return [
        *[("POST", "/products", body(b"T%d" % i), {}, (201,)) for i in range(5)],
        *[("POST", "/products", body(b"U"), {}, (201, 409)) for _ in range(2)],  # whichever comes first
        ("POST", "/products", body(b"W").replace(b'"price_cents"', b'"price"'), {}, (422,)),
        ("PUT", "/products/%d" % product, body(b"P"), {}, (200, 404)),
        ("PATCH", "/products/%d" % product, b'{"price_cents": %d}' % number,
         {"CONTENT_TYPE": "application/merge-patch+json"}, (200, 404)),
        ("DELETE", "/products/%d" % product, b"", {}, (204, 404)),
        ("POST", "/api/deals", deal, {**user, "HTTP_IDEMPOTENCY_KEY": "key-%d" % (number // 2)}, (201,)),
        ("DELETE", "/api/deals/%d" % (10 * number + 10), b"", user, (204, 404)),
    ]


def speak(path, requests):
    """As many requests at once as a busy service finds in a batch."""
    peers = [FastCGI(path) for _ in range(BATCH)]
    for start in range(0, len(requests), BATCH):
        batch = list(zip(peers, requests[start:start + BATCH]))
        for peer, request in batch:
            peer.send(encode(*request[:4]))
        for peer, (method, target, _, _, meant) in batch:
            status = peer.receive().status
            if status not in meant:
                raise SystemExit("train.py: %s %s gave %d" % (method, target, status))
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
