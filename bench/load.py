"""The loads, and what a server costs under one of them: wrk with a script of bench/load, with one thread."""
import dataclasses
import json
import pathlib
import resource
import sqlite3
import subprocess

import places  # noqa: F401: for the next line
from harness import expect
from processes import Peak, cpu_ns
from tokens import read_secret, token

SCRIPTS = pathlib.Path(__file__).resolve().parent / "load"
LATE_SECONDS = 10  # an answer that takes longer counts as lost


@dataclasses.dataclass(frozen=True)
class Load:
    """`arguments` are the script's, from the running server and the number of connections; `good` the statuses that are
    no error: a product that does not exist is 404."""
    name: str
    script: str
    arguments: object = lambda running, connections: []
    good: tuple = ("200",)


def last_id(running):
    """The newest product's id, read from the database beside the server."""
    database = sqlite3.connect("file:%s?mode=ro" % running.database, uri=True, timeout=10)
    try:
        return database.execute("SELECT seq FROM sqlite_sequence WHERE name = 'products'").fetchone()[0]
    finally:
        database.close()


def bearer(running):
    return token(read_secret(running.secret_file)[1])


def get(spread=1):
    return Load("GET", "get", lambda *_: [spread], ("200", "404"))


def mix(spread=1):
    return Load("mix", "mix", lambda running, connections: [last_id(running), 4 * connections, spread],
                ("200", "201", "204", "404"))


def lists(spread):
    return Load("list", "lists", lambda *_: [spread])


def searches(file):
    return Load("search", "searches", lambda *_: [file])


def path(name, target):
    return Load(name, "path", lambda *_: [target])


PLAIN = [path("/health", "/health"), path("/json", "/json"), path("/db", "/db"), path("/queries=20", "/queries?queries=20"),
         Load("deals, list", "path", lambda running, _: ["/api/deals?page=1&per_page=20", bearer(running)]),
         Load("deals, insert", "deals", lambda running, _: [bearer(running)], ("201",))]


def wrk(running, load, connections, seconds):
    """One run: what the script reports, and the processor time that wrk itself took, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        ["wrk", "-t1", "-c%d" % connections, "-d%ds" % seconds, "--timeout", "%ds" % LATE_SECONDS, "-s", load.script + ".lua",
         running.url + "/", "--", *map(str, load.arguments(running, connections))],
        cwd=SCRIPTS, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    report = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    expect(done.returncode == 0 and report, "wrk has failed: " + (done.stderr + done.stdout)[-500:])
    own = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(report[0][len("RESULT "):]), own


def figures_of(report, good, cpu, wrk_s, peak_kib, peak_all_kib):
    """The figures of a run; cpu and peak_kib are [app] or [app, nginx]."""
    answers = sum(report["statuses"].values())
    expect(answers, "no request was answered")
    bad = {status: count for status, count in report["statuses"].items() if status not in good}
    app, front = cpu[0], sum(cpu[1:])
    return {
        "requests_s": report["requests"] / report["microseconds"] * 1e6,
        "p50_ms": report["p50"] / 1000, "p99_ms": report["p99"] / 1000, "p999_ms": report["p999"] / 1000,
        "app_us": app / 1000 / answers, "nginx_us": front / 1000 / answers, "cpu_us": (app + front) / 1000 / answers,
        "wrk_us": wrk_s * 1e6 / answers,
        "answers": answers, "5xx": sum(count for status, count in bad.items() if status >= "500"),
        "errors": sum(bad.values()) + report["broken"] + report["late"],
        "peak_app_mib": peak_kib[0] / 1024, "peak_nginx_mib": sum(peak_kib[1:]) / 1024, "peak_mib": peak_all_kib / 1024,
    }


def measure(running, load, connections, warmup, seconds):
    """Warms up, then measures."""
    if warmup:
        wrk(running, load, connections, warmup)
    roots = running.roots()
    before = [cpu_ns(root) for root in roots]
    with Peak(roots) as peak:
        report, wrk_s = wrk(running, load, connections, seconds)
        cpu = [cpu_ns(root) - earlier for root, earlier in zip(roots, before)]
    return figures_of(report, load.good, cpu, wrk_s, peak.kib, peak.all_kib)
