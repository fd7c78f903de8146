"""GET /metrics: Prometheus's format to the letter, and counters that move as requests are made.

The service counts an answer before it sends it, but another client's requests are counted too: so counts are held to
have grown by at least what was sent. Behind a proxy, or from a public address, /metrics is refused; then that is held."""
import time

from checks import exposition
from checks.tools import allowed, cases, check, holds, problem, product, same, section, status
from checks.wire import raw, send, wire

section("Metrics")

PLAIN = "text/plain; version=0.0.4; charset=utf-8"
COUNTERS = ["requests_total", "slow_requests_total", "commit_failures_total", "lock_waits_total", "lock_wait_seconds_total",
            "statement_cache_hits_total", "statement_cache_misses_total", "checkpoint_failures_total",
            "checkpoint_pages_total", "connections_accepted_total", "waits_total", "worker_restarts_total"]
GAUGES = ["info", "start_time_seconds", "database_bytes", "wal_bytes", "wal_pending_pages", "worker_up", "connections",
          "waiting_requests"]
HISTOGRAMS = ["request_seconds", "batch_requests", "commit_seconds", "checkpoint_seconds"]


def is_refused():
    return send("GET", "/metrics").status == 403


def metrics():
    """The families; None where this client may not see them."""
    answer = send("GET", "/metrics")
    if answer.status == 403:
        problem(answer, 403)
        return None
    same("Content-Type", status(answer, 200).get("Content-Type"), PLAIN)
    return exposition.parse(answer.body.decode("utf-8"))


def grows(family, least, act, **labels):
    """Holds a count to grow by at least so much when something is done."""
    before = metrics()
    act()
    if before is None:
        return
    deadline = time.monotonic() + 5  # another worker's batch ends a moment after its answer
    while True:
        grown = metrics()[family].total(**labels) - before[family].total(**labels)
        if grown >= least or time.monotonic() > deadline:
            break
        time.sleep(0.05)
    holds("%s%r to grow by %d" % (family, labels, least), grown >= least, grown)


@check("GET /metrics answers in the text format 0.0.4, and may not be kept")
def _():
    if metrics() is not None:
        same("Cache-Control", send("GET", "/metrics").get("Cache-Control"), "no-store")

@check("HEAD /metrics answers the GET's headers, OPTIONS what it allows, and other methods 405")
def _():
    if is_refused():
        return
    head = status(send("HEAD", "/metrics"), 200)
    same("Content-Type", head.get("Content-Type"), PLAIN)
    same("the body", head.body, b"")
    same("Allow", allowed(status(send("OPTIONS", "/metrics"), 204)), {"GET", "HEAD", "OPTIONS"})
    for method in "POST", "PUT", "PATCH", "DELETE", "PROPFIND":
        same("Allow", allowed(problem(send(method, "/metrics", "{}" if method != "PROPFIND" else None), 405)), {"GET", "HEAD", "OPTIONS"})

@check("GET /metrics with a query answers 400")
def _():
    if not is_refused():
        problem(send("GET", "/metrics?name=x"), 400, names="name")

@cases("{} is not another way to it", ("/metrics/",), ("/Metrics",), ("//metrics",), ("/metrics/x",), ("/health/../metrics",),
       ("/metrics%2F",), ("/metrics;x",))
def _(path):
    problem(raw(wire("GET", path)), 404, 403)

@cases("a client that is passed on for {} is refused", ("8.8.8.8",), ("10.0.0.1, 8.8.8.8",), ("2001:db8::1",), ("unknown",), ("[::1]",))
def _(forwarded):
    answer = problem(send("GET", "/metrics", None, {"X-Forwarded-For": forwarded}), 403)
    holds("nothing counted in it", b"larder_" not in answer.body, answer.body)

@check("every metric is there, with its type")
def _():
    families = metrics()
    if families is not None:
        expected = {"larder_" + name: kind for kind, names in (
            ("counter", COUNTERS), ("gauge", GAUGES), ("histogram", HISTOGRAMS)) for name in names}
        same("the metrics", {name: family.type for name, family in families.items()}, expected)

@cases("a {4} of {0} {1} is counted under {2} as {3}",
       ("GET", "/products/<ID>", "/products/{id}", "GET", 200, None),
       ("HEAD", "/products/<ID>", "/products/{id}", "HEAD", 200, None),
       ("GET", "/products/9223372036854775807", "/products/{id}", "GET", 404, None),
       ("POST", "/products", "/products", "POST", 201, product()),
       ("POST", "/products", "/products", "POST", 422, "{}"),
       ("PUT", "/products/9223372036854775807", "/products/{id}", "PUT", 404, product()),
       ("OPTIONS", "/categories", "/categories", "OPTIONS", 204, None),
       ("DELETE", "/health", "/health", "DELETE", 405, None),
       ("PROPFIND", "/health", "/health", "other", 405, None),
       ("GET", "/products/x", "other", "GET", 404, None),
       ("GET", "/metrics", "/metrics", "GET", 200, None))
def _(method, path, route, label, code, body):
    if not is_refused():
        grows("larder_requests_total", 1, lambda: status(send(method, path, body), code), route=route, method=label, status=str(code))

@check("requests are in the times and batches of their lane, a write in a commit, statements in the cache")
def _():
    families = metrics()
    if families is None:
        return
    lanes = {dict(key)["lane"] for key in families["larder_batch_requests"].samples}
    holds("lanes that are known", lanes <= {"read", "write", "login", "all"}, lanes)
    read, write = ("all", "all") if "all" in lanes else ("read", "write")
    grows("larder_request_seconds", 5, lambda: [send("GET", "/products/<ID>") for _ in range(5)], part="_count", lane=read)
    grows("larder_batch_requests", 5, lambda: [send("GET", "/products/<ID>") for _ in range(5)], part="_sum", lane=read)
    grows("larder_request_seconds", 1, lambda: send("POST", "/products", product()), part="_count", lane=write)
    grows("larder_commit_seconds", 1, lambda: send("POST", "/products", product()), part="_count")
    grows("larder_statement_cache_hits_total", 4, lambda: [send("GET", "/products/<ID>") for _ in range(5)])

@check("gauges tell of the present: workers that serve, this connection, files that are there")
def _():
    families = metrics()
    if families is None:
        return
    up = families["larder_worker_up"].samples
    same("the writer", up[(("worker", "writer"),)], 1.0)
    holds("every worker up", set(up.values()) == {1.0}, up)
    holds("a connection", families["larder_connections"].total() >= 1, families["larder_connections"].samples)
    holds("a database of whole pages", families["larder_database_bytes"].total() % 4096 == 0, None)
    holds("a start in the past", 1.6e9 < families["larder_start_time_seconds"].total() <= time.time() + 600, None)
    same("info", families["larder_info"].total(), 1.0)

@check("no path and no method that a client makes up becomes a label")
def _():
    before = metrics()
    for number in range(40):
        for method, path in (("GET", "/made-up-%d" % number), ("MADE-UP-%s" % chr(65 + number % 26), "/products"),
                             ("GET", "/products/%d" % (number + (1 << 60))), ("GET", '/a%%22%%0a"b\\%d' % number)):
            send(method, path)
    if before is None:
        return
    families = metrics()
    counted = families["larder_requests_total"]
    new = set(counted.samples) - set(before["larder_requests_total"].samples)
    holds("no more than three new rows", len(new) <= 3, new)
    labels = {name: {dict(key)[name] for key in counted.samples} for name in ("route", "method", "status")}
    holds("routes of ours", all(route == "other" or route.startswith("/") and "made" not in route and "%" not in route
                                for route in labels["route"]) and len(labels["route"]) <= 24, labels["route"])
    holds("methods of ours", labels["method"] <= {"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "other"}, labels["method"])
    holds("statuses", all(len(code) == 3 and code.isdigit() for code in labels["status"]), labels["status"])

@check("counters never go back, and the route, method and status of a row stay")
def _():
    before, after = metrics(), metrics()
    if before is None:
        return
    for name, family in before.items():
        if family.type != "gauge":
            gone = {key: (value, after[name].samples.get(key)) for key, value in family.samples.items()
                    if not after[name].samples.get(key, -1) >= value}
            same("samples of %s that went back" % name, gone, {})
