#!/usr/bin/env python3
"""The part of the HTTP contract that every server of the benchmark serves: python3 bench/subset.py BASE_URL --secret-file FILE

The server has a fresh demo database (`larder init --demo`) and the secret of FILE. The products that are created are deleted
again; two deals stay. Closing line: `N passed, N failed`. Exit 0 all passed, 1 something failed, 2 nobody answers.
"""
import argparse
import concurrent.futures
import secrets
import sys
import time
from urllib.parse import parse_qsl, urlsplit

import places  # noqa: F401: for the next line
import tokens
from harness import Client, expect, expect_equal, product

CHECKS = []  # (name, function of a Run)


def check(name, *rows):
    """Registers a check; with rows, one for each, its values put into the name."""
    def register(function):
        for row in rows or [()]:
            CHECKS.append((name.format(*row), lambda run, row=row: function(run, *row)))
        return function
    return register


class Run:
    """What the checks share: the connection, the key, skus of their own, and what is to be deleted."""

    def __init__(self, url, secret_file):
        self.url = url
        self.client = Client(url)
        self.kid, self.secret = tokens.read_secret(secret_file)
        self.prefix, self.count = "subset-%s-" % secrets.token_hex(4), 0
        self.made = []

    def sku(self):
        self.count += 1
        return self.prefix + str(self.count)

    def post(self, body):
        answer = self.client.post("/products", body)
        if answer.status == 201:
            self.made.append("/products/%d" % answer.json()["id"])
        return answer

    def token(self, header=None, secret=None, **claims):
        return tokens.token(secret or self.secret, header, **claims)

    def bearer(self, token=None):
        return {"Authorization": "Bearer " + (token or self.token())}

    def deals(self, page=1, per_page=20):
        return json_of(self.client.get("/api/deals?page=%d&per_page=%d" % (page, per_page), self.bearer()))


def media_type(answer):
    return (answer.headers["Content-Type"] or "").split(";")[0].strip().lower()


def json_of(answer, status=200):
    expect_equal(answer.status, status, "status of %s" % answer)
    expect_equal(media_type(answer), "application/json", "media type of %s" % answer)
    return answer.json()


def expect_problem(answer, status):
    expect_equal(answer.status, status, "status of %s" % answer)
    expect_equal(media_type(answer), "application/problem+json", "media type of %s" % answer)
    expect_equal(answer.json()["status"], status, "member status of %s" % answer)
    expect(isinstance(answer.json()["title"], str), "a problem without a title: %s" % answer)


def demo_product(i):
    """What app/demo.sql makes, as the API tells it."""
    return {"id": i, "sku": "SKU-%06d" % i, "name": "Product %d" % i, "price_cents": i * 7919 % 1000000,
            "stock": i * 3 % 1000, "category": {"id": i % 50 + 1, "name": "Category %d" % (i % 50 + 1)},
            "created_at": "2026-11-30T22:00:00Z", "updated_at": "2026-11-30T22:00:00Z"}


def expect_recent(text):
    """A time of now, in the API's form."""
    told = time.strptime(text, "%Y-%m-%dT%H:%M:%SZ")
    expect(abs(time.mktime(told) - time.timezone - time.time()) < 600, "the time is not now: " + text)


# -------------------------------------------------------------------------------------------------- probes

@check("GET /health answers ok as plain text")
def _(run):
    answer = run.client.get("/health")
    expect_equal((answer.status, answer.body.strip(), media_type(answer)), (200, b"ok", "text/plain"), "the answer")


@check("GET /json answers the greeting")
def _(run):
    expect_equal(json_of(run.client.get("/json")), {"message": "Hello, World!"}, "the body")


def expect_world(row):
    expect_equal(set(row), {"id", "randomNumber"}, "the members")
    expect(1 <= row["id"] <= 10000, "the id is %r" % row["id"])
    expect_equal(row["randomNumber"], row["id"] * 7919 % 10007 % 10000 + 1, "randomNumber of row %d" % row["id"])


@check("GET /db answers a random row, another each time")
def _(run):
    rows = [json_of(run.client.get("/db")) for _ in range(10)]
    for row in rows:
        expect_world(row)
    expect(len({row["id"] for row in rows}) > 5, "the ids are %s" % [row["id"] for row in rows])


@check("GET /queries{} answers {} rows", ("?queries=20", 20), ("?queries=1", 1), ("?queries=500", 500), ("?queries=501", 500),
       ("?queries=0", 1), ("?queries=-3", 1), ("?queries=abc", 1), ("?queries=", 1), ("", 1))
def _(run, query, count):
    rows = json_of(run.client.get("/queries" + query))
    expect_equal(len(rows), count, "rows")
    for row in rows:
        expect_world(row)


@check("GET /wait?ms=200 answers after that long")
def _(run):
    started = time.monotonic()
    expect_equal(json_of(run.client.get("/wait?ms=200")), {"waited_ms": 200}, "the body")
    took = time.monotonic() - started
    expect(0.2 <= took < 1, "it took %.3f s" % took)


@check("an unknown path answers 404")
def _(run):
    expect_problem(run.client.get("/nowhere"), 404)


# ------------------------------------------------------------------------------------------------ products

@check("GET /products/{} answers its row", (1,), (2,), (9999,), (12499,))
def _(run, number):
    expect_equal(json_of(run.client.get("/products/%d" % number)), demo_product(number), "the product")


@check("GET /products/{} answers 404", ("5",), ("12500",), ("9223372036854775807",), ("0",), ("-1",), ("abc",))
def _(run, number):
    expect_problem(run.client.get("/products/" + number), 404)


@check("GET /products?limit=20 is the first page, with the way to the next")
def _(run):
    page = json_of(run.client.get("/products?limit=20"))
    expect_equal(set(page), {"items", "next"}, "the members")
    expect_equal(page["items"], [demo_product(i) for i in range(1, 25) if i % 5], "the items")
    parts = urlsplit(page["next"])
    expect_equal((parts.path.endswith("/products"), dict(parse_qsl(parts.query))), (True, {"after": "24", "limit": "20"}),
                 "next")


@check("POST /products answers 201 with Location and what GET then tells")
def _(run):
    body = product(run.sku(), stock=7, category_id=3)
    answer = run.post(body)
    row = json_of(answer, 201)
    expect(row["id"] > 12500, "the id is %d" % row["id"])
    for time_of in "created_at", "updated_at":
        expect_recent(row[time_of])
    expected = {**body, "id": row["id"], "category": {"id": 3, "name": "Category 3"}, "created_at": row["created_at"],
                "updated_at": row["updated_at"]}
    del expected["category_id"]
    expect_equal(row, expected, "the product")
    expect_equal(urlsplit(answer.headers["Location"]).path.endswith("/products/%d" % row["id"]), True,
                 "Location %s is the product's" % answer.headers["Location"])
    expect_equal(json_of(run.client.get("/products/%d" % row["id"])), row, "the product read again")


@check("POST /products without stock has 0 of it")
def _(run):
    expect_equal(json_of(run.post(product(run.sku())), 201)["stock"], 0, "stock")


@check("POST /products with {} = {} answers 201", ("name", "é" * 200), ("name", 'quote " and \\ and 😀'), ("price_cents", 0),
       ("price_cents", 10 ** 12), ("stock", 10 ** 9))
def _(run, member, value):
    row = json_of(run.post(product(run.sku(), **{member: value})), 201)
    expect_equal(row[member], value, member)
    expect_equal(json_of(run.client.get("/products/%d" % row["id"]))[member], value, member + " read again")


@check("POST /products with {} = {} answers 422", ("sku", ""), ("sku", "a b"), ("sku", "x" * 65), ("sku", 1), ("name", ""),
       ("name", "  "), ("name", "é" * 201), ("name", None), ("price_cents", -1), ("price_cents", 10 ** 12 + 1),
       ("price_cents", 1.5), ("price_cents", "1"), ("price_cents", True), ("stock", -1), ("stock", 10 ** 9 + 1),
       ("category_id", 0), ("category_id", 99999), ("category_id", "1"), ("unknown", 1))
def _(run, member, value):
    expect_problem(run.post({**product(run.sku()), member: value}), 422)


@check("POST /products without {} answers 422", ("sku",), ("name",), ("price_cents",), ("category_id",))
def _(run, member):
    body = product(run.sku())
    del body[member]
    expect_problem(run.post(body), 422)


@check("POST /products with {} for a body answers 400", ("{",), ("",), ('{"sku": 1} x',))
def _(run, body):
    expect_problem(run.client.request("POST", "/products", body.encode(), {"Content-Type": "application/json"}), 400)


@check("POST /products with a taken sku answers 409 and changes nothing")
def _(run):
    expect_problem(run.post(product("SKU-000001", name="Taken")), 409)
    expect_equal(json_of(run.client.get("/products/1")), demo_product(1), "the product")


@check("DELETE of a product answers 204, then 404")
def _(run):
    path = "/products/%d" % json_of(run.post(product(run.sku())), 201)["id"]
    expect_equal(json_of(run.client.get(path))["id"] > 0, True, "the product is there")
    answer = run.client.delete(path)
    expect_equal((answer.status, answer.body), (204, b""), "the answer")
    expect_problem(run.client.delete(path), 404)
    expect_problem(run.client.get(path), 404)


@check("an id is never given twice")
def _(run):
    first = json_of(run.post(product(run.sku())), 201)["id"]
    expect_equal(run.client.delete("/products/%d" % first).status, 204, "status of the DELETE")
    expect(json_of(run.post(product(run.sku())), 201)["id"] > first, "the id %d came again" % first)


def create_and_delete(url, skus):
    client = Client(url)
    try:
        ids = [json_of(client.post("/products", product(sku)), 201)["id"] for sku in skus]
        for i in ids:
            expect_equal(json_of(client.get("/products/%d" % i))["id"], i, "the product just made")
            expect_equal(client.delete("/products/%d" % i).status, 204, "status of DELETE /products/%d" % i)
        return ids
    finally:
        client.close()


@check("eight clients that create, read and delete at once do not disturb each other")
def _(run):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        tasks = [pool.submit(create_and_delete, run.url, [run.sku() for _ in range(20)]) for _ in range(8)]
        ids = [i for task in tasks for i in task.result()]
    expect_equal(len(set(ids)), 160, "different ids")


# --------------------------------------------------------------------------------------------------- deals

@check("GET /api/deals is a page, the newest first")
def _(run):
    page = run.deals()
    expect_equal((page["page"], page["per_page"], page["pages"]), (1, 20, -(-page["total"] // 20)), "page, per_page, pages")
    expect(page["total"] >= 1000, "total is %d" % page["total"])
    expect_equal(len(page["items"]), 20, "items")
    order = [(item["created_at"], item["id"]) for item in page["items"]]
    expect_equal(order, sorted(order, reverse=True), "the order")
    for item in page["items"]:
        expect_equal(set(item), {"id", "title", "amount_cents", "status", "owner", "created_at"}, "the members")
        if item["id"] <= 1000:
            i = item["id"]
            owner = {"id": i % 10 + 1, "name": "User %d" % (i % 10 + 1)}
            expect_equal((item["title"], item["amount_cents"], item["owner"]), ("Deal %d" % i, i * 104729 % 10000000, owner),
                         "deal %d" % i)


@check("GET /api/deals?page=2 goes on where page 1 ended")
def _(run):
    both = run.deals(per_page=40)["items"]
    expect_equal(run.deals(1)["items"] + run.deals(2)["items"], both, "the items")


@check("POST /api/deals answers 201 with Location; the owner is the token's user")
def _(run):
    before = run.deals()["total"]
    answer = run.client.post("/api/deals", {"title": "A deal", "amount_cents": 5}, run.bearer(run.token(sub="3")))
    row = json_of(answer, 201)
    expect_recent(row["created_at"])
    expect_equal(row, {"id": row["id"], "title": "A deal", "amount_cents": 5, "status": "open",
                       "owner": {"id": 3, "name": "User 3"}, "created_at": row["created_at"]}, "the deal")
    expect_equal(urlsplit(answer.headers["Location"]).path.endswith("/api/deals/%d" % row["id"]), True,
                 "Location %s is the deal's" % answer.headers["Location"])
    expect_equal(run.deals()["total"], before + 1, "total")


@check("POST /api/deals takes a status")
def _(run):
    answer = run.client.post("/api/deals", {"title": "Won", "amount_cents": 10 ** 15, "status": "won"}, run.bearer())
    row = json_of(answer, 201)
    expect_equal((row["status"], row["amount_cents"]), ("won", 10 ** 15), "status and amount")


@check("POST /api/deals with {} answers 422", ({"title": "x"},), ({"amount_cents": 1},), ({"title": "", "amount_cents": 1},),
       ({"title": "x" * 201, "amount_cents": 1},), ({"title": "x", "amount_cents": -1},),
       ({"title": "x", "amount_cents": 10 ** 15 + 1},), ({"title": "x", "amount_cents": 1, "status": "lots"},))
def _(run, body):
    expect_problem(run.client.post("/api/deals", body, run.bearer()), 422)


@check("POST /api/deals without JSON answers 400")
def _(run):
    headers = {"Content-Type": "application/json", **run.bearer()}
    expect_problem(run.client.request("POST", "/api/deals", b"{", headers), 400)


def refuse(run, headers):
    """Both routes, and nothing is written."""
    before = run.deals()["total"]
    for answer in (run.client.get("/api/deals?page=1&per_page=20", headers),
                   run.client.post("/api/deals", {"title": "No", "amount_cents": 1}, headers)):
        expect_problem(answer, 401)
        told = answer.headers["WWW-Authenticate"] or ""
        expect(told.startswith("Bearer"), "WWW-Authenticate is %r" % told)
    expect_equal(run.deals()["total"], before, "total")


BAD_TOKENS = {
    "expired": lambda run: run.token(exp=int(time.time()) - 60),
    "without exp": lambda run: run.token(exp=None),
    "not yet valid": lambda run: run.token(nbf=int(time.time()) + 120),
    "signed with another key": lambda run: run.token(secret="x" * 64),
    "of alg none": lambda run: run.token(header={"alg": "none"}),
    "of alg none, unsigned": lambda run: run.token(header={"alg": "none"}).rsplit(".", 1)[0] + ".",
    "of alg HS512": lambda run: run.token(header={"alg": "HS512"}),
    "of an unknown user": lambda run: run.token(sub="999"),
    "without sub": lambda run: run.token(sub=None),
    "of two segments": lambda run: run.token().rsplit(".", 1)[0],
    "that is none": lambda run: "abc",
}


@check("a token {} answers 401", *[(name,) for name in BAD_TOKENS])
def _(run, name):
    refuse(run, run.bearer(BAD_TOKENS[name](run)))


@check("no token answers 401")
def _(run):
    refuse(run, {})


@check("another scheme answers 401")
def _(run):
    refuse(run, {"Authorization": "Basic " + run.token()})


@check("a token that names the key, or expired a moment ago, is good")
def _(run):
    for token in run.token(header={"kid": run.kid}), run.token(exp=int(time.time()) - 5):
        json_of(run.client.get("/api/deals?page=1&per_page=20", run.bearer(token)))


# --------------------------------------------------------------------------------------------------- a run

def verify(run, tell=print):
    """Runs all checks; returns how many passed, and what failed as (name, complaint)."""
    failed = []
    for name, function in CHECKS:
        try:
            function(run)
        except Exception as error:  # an answer that cannot be read is a failed check
            failed.append((name, str(error) if isinstance(error, AssertionError) else "%s: %s" % (type(error).__name__, error)))
            tell("FAIL  %s\n        %s" % (name, failed[-1][1]))
    for path in run.made:
        run.client.delete(path)
    run.client.close()
    return len(CHECKS) - len(failed), failed


def main():
    parser = argparse.ArgumentParser(description="Holds a server of the benchmark to the part of the contract it serves.")
    parser.add_argument("base_url")
    parser.add_argument("--secret-file", required=True, help="one line `KID SECRET`, the server's own")
    options = parser.parse_args()
    run = Run(options.base_url, options.secret_file)
    try:
        run.client.get("/health")
    except OSError as error:
        print("Nobody answers at %s: %s." % (options.base_url, error), file=sys.stderr)
        return 2
    passed, failed = verify(run)
    print("%d passed, %d failed" % (passed, len(failed)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
