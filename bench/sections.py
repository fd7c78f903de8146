"""The sections of the benchmark: which servers each measures, and under what. A section is a function of a Bench that returns
its rows."""
import json
import os
import re
import resource
import statistics
import subprocess
import time

from places import BUILT, ROOT

import grow
import instructions
import load
import waiters
from harness import expect
from processes import Peak
from servers import Running, Server, larder
from setups import Setup, measure_setups, row, seconds_of
from syscalls import figures as syscall_figures

STARTS = 5
CONNECTION_PEERS = ("node-tuned", "rust", "go")
WAIT_MS, WAIT_SECONDS, WAITERS, LONG_WAIT_MS = 1000, 10, 10_000, 8000


# ---------------------------------------------------------------------------------------- sections of setups

def main_setups(bench):
    setups = []
    for server in bench.servers:
        setups += [Setup(server, (load.get(), load.mix())), Setup(server, (load.mix(),), sync="normal")]
    return setups


def connection_setups(bench):
    return [Setup(server, (load.get(), load.mix()), (10, 256)) for server in bench.servers
            if server.name in ("larder", *CONNECTION_PEERS)]


def workload_setups(bench):
    return [Setup(server, tuple(load.PLAIN)) for server in bench.one_of_each()]


def default_setups(bench):
    """Larder with one and two processors to run on, one and two nginx workers, and no, one and two readers."""
    setups = []
    for cpus in "0", "0,1":
        for workers in 1, 2:
            for readers in 0, 1, 2:
                extra = (("cpus", len(cpus.split(","))), ("workers", workers), ("readers", readers))
                name = "larder, " + ", ".join("%s %d" % pair for pair in extra)
                server = larder(bench.binary, name, "--readers", str(readers), nginx_workers=workers, cpus=cpus)
                setups.append(Setup(server, (load.get(), load.mix()), extra=extra))
    return setups


def grown(bench, count):
    """The database of so many products, kept from one run to the next."""
    path = BUILT / ("products-%d.db" % count)
    newest = max(os.stat(file).st_mtime for file in (ROOT / "schema.sql", ROOT / "bench" / "grow.py"))
    if not path.exists() or path.stat().st_mtime < newest:
        started = time.monotonic()
        grow.grow(bench.demo, path, count)
        bench.tell("made the database of %d products in %.0f s" % (count, time.monotonic() - started))
    return path


def scale_setups(bench):
    """The same at every size; ids are drawn from all of it."""
    file = BUILT / "searches.txt"
    file.write_text("\n".join(grow.searches()) + "\n")
    setups = []
    for count in bench.sizes:
        spread = count / 10000
        loads = load.get(spread), load.lists(spread), load.searches(file), load.mix(spread)
        path = BUILT / ("products-%d.db" % count)
        setups.append(Setup(larder(bench.binary, "larder"), loads, template=path, extra=(("products", count),)))
    return setups


def scale(bench):
    for count in bench.sizes:
        grown(bench, count)
    rows = measure_setups(bench, scale_setups(bench))
    for setup in scale_setups(bench):
        rows.append(row(setup, "file", {"mib": setup.template.stat().st_size / 1024 / 1024}))
    return rows


def scale_seconds(bench):
    missing = sum(count for count in bench.sizes if not (BUILT / ("products-%d.db" % count)).exists())
    return seconds_of(bench, scale_setups(bench)) + missing * 11e-6 + sum(bench.sizes) * bench.rounds * 1e-6


# -------------------------------------------------------------------------------------------- other sections

def start(bench):
    """The time from nothing to the first 200, of every server; of Larder also without nginx, at its own socket."""
    rows = []
    for server in [*bench.servers, Server("larder", "direct", "larder", (str(bench.binary),))]:
        if server.front == "nginx" and not bench.passes(server):
            continue
        setup = Setup(server, ())
        for number in range(STARTS):
            with Running(server, bench.database(server)) as running:
                rows.append(row(setup, "start", {"start_ms": running.start_ms}, round=number + 1))
        bench.tell("%-32s %6.1f ms" % (server.key, statistics.median(each["figures"]["start_ms"] for each in rows[-STARTS:])))
    return rows


def waiting_larder(bench):
    """Each that waits takes two of nginx's connections. Where the limit on descriptors is too low for one worker, two share."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if limit == resource.RLIM_INFINITY or limit > 3 * WAITERS:
        return larder(bench.binary, "larder", connections=int(2.2 * WAITERS))
    return larder(bench.binary, "larder", connections=int((limit - 64) * 0.8), nginx_workers=2)


def wait(bench):
    """100 connections for ten seconds, then 10,000 at once: Larder behind nginx, peers served directly."""
    waiters.allow_descriptors(WAITERS + 200)
    rows = []
    for server in [waiting_larder(bench), *(each for each in bench.one_of_each() if each.front == "direct")]:
        if not bench.passes(server):
            continue
        try:
            rows += wait_rows(bench, server)
        except AssertionError as complaint:
            bench.fail(server, str(complaint))
    return rows


def wait_rows(bench, server):
    setup = Setup(server, (), extra=(("nginx_workers", server.nginx_workers or 1), ("nginx_connections", server.connections)))
    with Running(server, bench.database(server)) as running:
        with Peak(running.roots(), 0.5) as peak:
            answers = waiters.keep_waiting(running.port, 100, WAIT_MS, WAIT_SECONDS)
        rows = [row(setup, "wait, 100", {"answers": answers, "peak_app_mib": peak.kib[0] / 1024, "peak_mib": peak.all_kib / 1024})]
        with Peak(running.roots(), 0.5) as peak:
            took, late = waiters.wait_at_once(running.port, WAITERS, LONG_WAIT_MS)
        figures = {"answered": len(late), "in_time": sum(each <= 1.1 for each in late), "latest_s": max(late, default=0),
                   "sent_s": took, "peak_app_mib": peak.kib[0] / 1024, "peak_mib": peak.all_kib / 1024}
        rows.append(row(setup, "wait, 10000", figures))
    bench.tell("%-32s %d answers; %d of %d in time, %.1f MiB" % (server.key, answers, figures["in_time"], WAITERS, figures["peak_mib"]))
    return rows


def syscalls(bench):
    return [{"server": "larder", "load": "GET", "figures": syscall_figures(bench.binary, bench.seconds, bench.demo)}]


def sqlite(bench):
    """The database layers in one process, without HTTP: what bench/sqlite.c measures, timed and then counted."""
    path = BUILT / "sqlite.json"
    rows = []
    for flags in "--json %s", "--instructions --json %s":
        path.unlink(missing_ok=True)
        done = subprocess.run(["make", "-C", str(ROOT), "--no-print-directory", "bench-sqlite", "BENCH_SQLITE_FLAGS=" + flags % path])
        expect(done.returncode == 0 and path.exists(), "make bench-sqlite has failed")
        rows.append({"load": "sqlite", "counted": "--instructions" in flags, "figures": {}, "told": json.loads(path.read_text())})
    return rows


def counted_instructions(bench):
    """Of the worker, with either SQLite, and of nginx."""
    ours = {server.name: server.command[0] for server in bench.servers if server.kind == "larder"}
    return [{"load": name, "figures": dict(zip(ours, values))}
            for name, values in instructions.measure(list(ours.values()), instructions.CASES, with_nginx=True)]


def image(bench):
    """The size of the service's image, as `make image` tells it; nothing where that cannot be made."""
    done = subprocess.run(["make", "-C", str(ROOT), "--no-print-directory", "image"], capture_output=True, text=True)
    found = re.search(r"([\d.]+) MB on disk.*?([\d.]+) MB compressed", done.stdout)
    if not found:
        bench.tell("the image cannot be made here: " + (done.stderr.strip() or "no reason told").splitlines()[-1])
        return []
    return [{"load": "image", "figures": {"disk_mb": float(found.group(1)), "compressed_mb": float(found.group(2))}}]


def of_setups(setups, again=False):
    return (lambda bench: measure_setups(bench, setups(bench), again)), (lambda bench: seconds_of(bench, setups(bench), again))


# name: (what to do, how many seconds that is expected to take)
SECTIONS = {
    "main": of_setups(main_setups, again=True),
    "start": (start, lambda bench: (len(bench.servers) + 1) * STARTS * 0.7),
    "connections": of_setups(connection_setups),
    "workloads": of_setups(workload_setups),
    "wait": (wait, lambda bench: 30 * (1 + sum(server.front == "direct" for server in bench.one_of_each()))),
    "defaults": of_setups(default_setups),
    "scale": (scale, scale_seconds),
    "syscalls": (syscalls, lambda bench: 2 * bench.seconds + 5),
    "instructions": (counted_instructions, lambda bench: 90),
    "sqlite": (sqlite, lambda bench: 120),
    "image": (image, lambda bench: 60),
}
