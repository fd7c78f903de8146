#!/usr/bin/env python3
"""The benchmark: Larder and its peers side by side, on this machine.

    python3 bench/bench.py                       measures all sections, then writes docs/benchmarks.md and its charts
    python3 bench/bench.py --sections "main wait"
    python3 bench/bench.py --plan                how long that is going to take
    python3 bench/bench.py --report              writes the report from what was measured before
    python3 bench/bench.py --quick               two peers in two minutes, told here alone
    python3 bench/bench.py --compare BINARY...   several binaries of Larder, told here alone

Every server has passed bench/subset.py before it is measured; one that cannot be had or fails is named in the report. Needs wrk
and nginx, and strace for one section. The machine should be otherwise idle."""
import argparse
import os
import pathlib
import signal
import sys
import time

from places import BUILT, ROOT

import load
import report
import results
import subset
import tables
from databases import demo_database, peer_database, search_index_complaint
from harness import end_tidily_when_terminated
from sections import SECTIONS
from servers import Left, Running, larder, peer_names, peer_servers, prepare_larder, prepare_peer
from setups import Setup, measure_setups

QUICK_PEERS = ["node-quick", "node-tuned"]  # they need no compiling
BINARIES = {"larder": "static/larder", "larder, system's SQLite": "larder"}  # by what `make` builds


class Bench:
    """What the sections share: the settings, the servers, and what went wrong so far."""

    def __init__(self, options):
        self.warmup, self.seconds, self.rounds = options.warmup, options.seconds, options.rounds
        self.sizes = options.sizes
        self.peers = chosen_peers(options)
        self.binary = pathlib.Path(options.compare[0] if options.compare else ROOT / "build" / BINARIES["larder"]).resolve()
        os.environ["LARDER"] = str(self.binary)  # for what makes databases
        self.demo = demo_database(BUILT / "demo.db")
        self.peers_demo = peer_database(self.demo, BUILT / "demo-peers.db")
        self.servers, self.facts, self.left_out = [], {}, {}
        self.passed, self.failed = set(), {}

    def tell(self, text):
        print("%s  %s" % (time.strftime("%H:%M:%S"), text), flush=True)

    def prepare_larder(self):
        """Both binaries, and the time that building each from nothing takes."""
        for name, target in BINARIES.items():
            built = ROOT / "build" / target
            self.tell("builds %s once more, for the time that takes" % name)
            self.facts[name] = prepare_larder("larder-static" if target.startswith("static") else "larder-system", built, target)
            self.servers.append(larder(built, name, is_variant=name != "larder"))

    def prepare_peers(self, peers):
        """Installs and builds; what cannot be had is left out by name."""
        for name in peers:
            self.tell("prepares " + name)
            try:
                facts = prepare_peer(name)
            except Left as reason:
                self.left_out[name] = str(reason)
                self.tell("%s is left out: %s" % (name, reason))
                continue
            self.facts[name] = facts
            self.servers += peer_servers(name, facts)

    def one_of_each(self):
        """Without the variants, and without the floor, which serves nothing."""
        return [server for server in self.servers if not server.is_variant and server.kind != "floor"]

    def database(self, server):
        return self.demo if server.kind == "larder" else self.peers_demo

    def passes(self, server):
        """Whether it serves what it must; looked at once."""
        if server.kind == "floor" or server in self.passed:
            return True
        if server.key in self.failed:
            return False
        try:
            with Running(server, self.database(server)) as running:
                _, failed = subset.verify(subset.Run(running.url, running.secret_file), self.tell)
                running.stop()
                complaint = search_index_complaint(running.database)
                failed += [("the search index holds what the table holds", complaint)] if complaint else []
        except AssertionError as complaint:
            failed = [("start and stop", str(complaint))]
        if failed:
            self.fail(server, "; ".join("%s: %s" % pair for pair in failed[:3]))
            return False
        self.passed.add(server)
        return True

    def fail(self, server, complaint):
        self.failed[server.key] = complaint
        self.tell("FAILED %s: %s" % (server.key, complaint))


def chosen_peers(options):
    """The floor, which is no peer, goes with the whole benchmark."""
    there = peer_names()
    if options.quick:
        return options.peers if options.peers is not None else [name for name in QUICK_PEERS if name in there]
    return [name for name in there if options.peers is None or name in options.peers or name == "floor"]


def expected(bench, names):
    """Seconds of each section."""
    return {name: SECTIONS[name][1](bench) for name in names}


def tell_plan(bench, names):
    plan = expected(bench, names)
    for name, seconds in plan.items():
        bench.tell("%-12s %5.1f minutes" % (name, seconds / 60))
    bench.tell("%-12s %5.1f minutes, installing and building not counted" % ("all", sum(plan.values()) / 60))


def run_sections(bench, names):
    """Measures, and keeps what was measured section by section."""
    for name in names:
        bench.tell("section " + name)
        started = time.monotonic()
        rows = SECTIONS[name][0](bench)
        kept = results.read()
        kept["sections"][name] = {
            "machine": results.machine(), "took_s": time.monotonic() - started, "rows": rows, "left_out": bench.left_out,
            "settings": {"WARMUP": bench.warmup, "SECONDS": bench.seconds, "ROUNDS": bench.rounds},
            "sizes": bench.sizes, "failed": dict(bench.failed)}
        kept["servers"].update(bench.facts)
        results.write(kept)


def quick(bench):
    bench.servers.append(larder(bench.binary, "larder"))
    bench.prepare_peers(bench.peers)
    rows = measure_setups(bench, [Setup(server, (load.get(), load.mix())) for server in bench.one_of_each()])
    results.write({"sections": {"quick": {"rows": rows, "machine": results.machine()}}}, BUILT / "quick.json")
    print()
    print("\n\n".join(tables.load_tables(rows)))
    return 1 if bench.failed else 0


def compare(bench, binaries):
    servers = [larder(os.path.abspath(binary), os.path.relpath(binary, ROOT)) for binary in binaries]
    rows = measure_setups(bench, [Setup(server, (load.get(), load.mix())) for server in servers])
    print()
    print("\n\n".join([*tables.load_tables(rows), tables.idle_table(rows)]))
    return 1 if bench.failed else 0


def parse():
    parser = argparse.ArgumentParser(description="Measures Larder and its peers side by side.")
    parser.add_argument("--sections", default=" ".join(SECTIONS), type=str.split, help="of: " + " ".join(SECTIONS))
    parser.add_argument("--peers", default=None, type=str.split, help="some of bench/peers; all without it")
    parser.add_argument("--warmup", type=int, default=10, metavar="SECONDS")
    parser.add_argument("--seconds", type=int, default=30, help="that are measured")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", default="10000 1000000 10000000", type=lambda text: [int(size) for size in text.split()],
                        help="numbers of products for the section scale")
    parser.add_argument("--plan", action="store_true")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--compare", nargs="+", metavar="BINARY")
    options = parser.parse_args()
    for name in options.sections:
        if name not in SECTIONS:
            parser.error("there is no section %s; there are %s" % (name, " ".join(SECTIONS)))
    for name in options.peers or []:
        if name not in peer_names():
            parser.error("there is no peer %s in bench/peers" % name)
    return options


def main():
    options = parse()
    if options.report:
        report.write(results.read())
        return 0
    bench = Bench(options)
    if options.compare:
        return compare(bench, options.compare)
    if options.quick:
        return quick(bench)
    bench.prepare_larder()
    bench.prepare_peers(bench.peers)
    tell_plan(bench, options.sections)
    if not options.plan:
        run_sections(bench, options.sections)
        report.write(results.read())
    return 0


if __name__ == "__main__":
    end_tidily_when_terminated()
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except AssertionError as complaint:
        sys.exit("bench.py: %s" % complaint)
