#!/usr/bin/env python3
"""System calls and batch size of a busy reader: python3 bench/syscalls.py [SECONDS]

wrk keeps 50 connections busy with GET /products/{random id} through nginx while strace counts the calls of the
one reader. Needs wrk and strace. strace slows the reader down, so its batches are larger than in normal use;
the second run, without strace, gives the batch size of normal use and looks for answers of 5xx."""
import re
import signal
import subprocess
import sys
import tempfile

from places import BUILT, ROOT

import load
from databases import demo_database
from harness import processes
from servers import Running, larder


def reader(running):
    return next(pid for pid, parent, _, name, _ in processes() if parent == running.app.pid and name == "larder-reader 1")


def batches(running):
    """Requests and batches, as the reader tells them when it ends."""
    running.stop()
    served, count = re.search(r"reader 1\] W10 served (\d+) requests in (\d+) batches", running.log()).groups()
    return int(served), int(count)


def traced(server, demo, seconds):
    with Running(server, demo) as running, tempfile.NamedTemporaryFile("r") as table:
        strace = subprocess.Popen(["strace", "-c", "-o", table.name, "-p", str(reader(running))], stderr=subprocess.DEVNULL)
        load.wrk(running, load.get(), 50, seconds)
        strace.send_signal(signal.SIGINT)
        strace.wait()
        calls = {name: int(count) for count, name in
                 re.findall(r"^ *[\d.]+ +[\d.]+ +\d+ +(\d+) +(?:\d+ +)?(\w+)$", table.read(), re.M)}
        return calls, *batches(running)


def figures(binary, seconds, demo):
    """Calls a request and a batch by name, under strace; requests a batch with and without; answers of 5xx."""
    server = larder(binary, "larder", "--readers", "1")
    calls, requests, count = traced(server, demo, seconds)
    found = {"calls": {name: [number / requests, number / count] for name, number in
                       sorted(calls.items(), key=lambda item: -item[1]) if name != "total"},
             "batch_traced": requests / count}
    with Running(server, demo) as running:
        report, _ = load.wrk(running, load.get(), 50, seconds)
        requests, count = batches(running)
    found.update({"batch": requests / count,
                  "5xx": sum(number for status, number in report["statuses"].items() if status >= "500")})
    return found


def main():
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    found = figures(ROOT / "build" / "larder", seconds, demo_database(BUILT / "demo.db"))
    print("under strace: %.1f requests a batch" % found["batch_traced"])
    for name, (a_request, a_batch) in found["calls"].items():
        print("  %-12s %.3f a request  %.2f a batch" % (name, a_request, a_batch))
    print("without: %.1f requests a batch; answers of 5xx: %d" % (found["batch"], found["5xx"]))


if __name__ == "__main__":
    main()
