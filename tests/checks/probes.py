"""The routes that published comparisons measure. Where a deployment has them off, every one of them is 404."""
import time

from checks.tools import allowed, at_once, cases, check, holds, json_of, problem, same, section, status
from checks.wire import send, wire

section("Probe routes")

ROUTES = ["/json", "/db", "/queries", "/greet?name=Ada", "/wait?ms=0"]
ROWS = 10_000


def on():
    """Whether the deployment has them: as /json goes, so go all."""
    return send("GET", "/json").status != 404


def ask(path):
    """The JSON of a probe; None where the probes are off, and that it is then a 404 is held here."""
    answer = send("GET", path)
    if on():
        return json_of(answer)
    problem(answer, 404)
    return None


def hold(path, truth, what):
    value = ask(path)
    if value is not None:
        holds(what, truth(value), value)


def is_row(value):
    return (set(value) == {"id", "randomNumber"} and type(value["id"]) is int and type(value["randomNumber"]) is int
            and 1 <= value["id"] <= ROWS and 1 <= value["randomNumber"] <= ROWS)


@check("the probe routes are all there or all 404")
def _():
    same("there", {path: send("GET", path).status != 404 for path in ROUTES}, dict.fromkeys(ROUTES, on()))


@check("GET /json answers the one message")
def _():
    hold("/json", lambda value: value == {"message": "Hello, World!"}, "the message")


@cases("{0} allows GET, HEAD and OPTIONS", *[(path.split("?")[0],) for path in ROUTES])
def _(path):
    answer = send("OPTIONS", path)
    if on():
        status(answer, 204)
        same("Allow", allowed(answer), {"GET", "HEAD", "OPTIONS"})
        problem(send("POST", path, "{}"), 405)
    else:
        problem(answer, 404)


@cases("GET {0} has Server, Date, the JSON type and the length", ("/json",), ("/db",), ("/queries?queries=20",))
def _(path):
    answer = send("GET", path)
    if not on():
        problem(answer, 404)
        return
    same("Content-Type", answer.get("Content-Type"), "application/json")
    same("Content-Length", answer.get("Content-Length"), str(len(answer.body)))
    holds("Server and Date", answer.get("Server") and answer.get("Date"), answer.headers)


@check("GET /db answers one row, and the rows vary")
def _():
    hold("/db", is_row, "a row")
    if on():
        rows = [ask("/db") for _ in range(20)]
        holds("more than one id", len({row["id"] for row in rows}) > 1, rows)
        known = {}
        for row in rows:
            same("the number of row %d" % row["id"], row["randomNumber"], known.setdefault(row["id"], row["randomNumber"]))


@cases("GET /queries{0} answers {1} rows",
       ("", 1), ("?queries=", 1), ("?queries", 1), ("?queries=foo", 1), ("?queries=0", 1), ("?queries=-1", 1),
       ("?queries=1", 1), ("?queries=2", 2), ("?queries=20", 20), ("?queries=499", 499), ("?queries=500", 500),
       ("?queries=501", 500), ("?queries=1000000", 500), ("?queries=99999999999999999999", 500), ("?queries=%31%30", 10), ("?quer%69es=2", 2),
       ("?queries=007", 7), ("?queries=1.5", 1),
       ("?queries=%20", 1))
def _(query, count):
    hold("/queries" + query, lambda value: len(value) == count and all(map(is_row, value)), "%d rows" % count)


@cases("GET /greet?name={0} greets {1}",
       ("Ada", "Ada"), ("A%64a", "Ada"), ("Ada+L", "Ada L"), ("Zo%C3%AB", "Zo\u00eb"), ("%22%5C", '"\\'),
       ("a" * 100, "a" * 100), ("%F0%9F%98%80" * 100, "\U0001f600" * 100), ("%3Cb%3E", "<b>"))
def _(encoded, name):
    hold("/greet?name=" + encoded, lambda value: value == {"message": "hello, " + name}, "the greeting")


@cases("GET /greet{0} answers 400 naming {1}",
       ("", "name"), ("?name=", "name"), ("?name=" + "a" * 101, "name"), ("?name=%F0%9F%98%80" + "%F0%9F%98%80" * 100, "name"),
       ("?name=a&name=b", "name"), ("?name=%FF", "name"), ("?name=%00", "name"), ("?name=%4", "name"), ("?nam=a", "nam"),
       ("?name=a&x=1", "x"))
def _(query, named):
    answer = send("GET", "/greet" + query)
    problem(answer, 400, names=named) if on() else problem(answer, 404)


@cases("GET {0} answers 400 naming {1}",
       ("/json?x=1", "x"), ("/db?x=1", "x"), ("/wait?ms=-1", "ms"), ("/wait?ms=30001", "ms"), ("/wait?ms=abc", "ms"),
       ("/wait?ms=", "ms"), ("/wait?ms=1&ms=2", "ms"), ("/wait?ms=1.5", "ms"), ("/wait?s=1", "s"))
def _(path, named):
    answer = send("GET", path)
    problem(answer, 400, names=named) if on() else problem(answer, 404)


@cases("GET /wait?ms={0} answers after that long", (0,), (1,), (250,))
def _(ms):
    started = time.monotonic()
    value = ask("/wait?ms=%d" % ms)
    took = time.monotonic() - started
    if value is not None:
        same("the answer", value, {"waited_ms": ms})
        holds("a wait of at least %d ms" % ms, took >= ms / 1000, took)
        holds("a wait of no more than a second above", took < ms / 1000 + 1, took)


@check("50 waits of half a second at once take about half a second")
def _():
    started = time.monotonic()
    same("the statuses", at_once(50, wire("GET", "/wait?ms=500")), [200 if on() else 404] * 50)
    holds("under 1.5 s in all", time.monotonic() - started < 1.5, time.monotonic() - started)


@check("HEAD /wait waits too, and has no body")
def _():
    answer = send("HEAD", "/wait?ms=100")
    status(answer, 200 if on() else 404)
    same("the body", answer.body, b"")
