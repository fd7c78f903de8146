#!/usr/bin/env python3
"""System calls and batch size of a busy reader: python3 bench/syscalls.py [SECONDS]

wrk keeps 50 connections busy with GET /products/{random id} through nginx while strace counts the calls of the
one reader. Needs wrk and strace. strace slows the reader down, so its batches are larger than in normal use;
the second run, without strace, gives the batch size of normal use and looks for answers of 5xx."""
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from harness import Service  # noqa: E402: found through the line above

SCRIPT = """
math.randomseed(os.time())
local errors = 0
request = function() return wrk.format("GET", "/products/" .. math.random(12500)) end
response = function(status) if status >= 500 then errors = errors + 1; print("5xx") end end
"""


def load(service, seconds):
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(SCRIPT)
        script.flush()
        return subprocess.run(["wrk", "-t1", "-c50", "-d%ds" % seconds, "-s", script.name, service.url + "/"],
                              check=True, capture_output=True, text=True).stdout


def batches(log):
    served, count = re.search(r"reader 1\] W10 served (\d+) requests in (\d+) batches", log).groups()
    return int(served), int(count)


def traced(seconds):
    with Service(readers=1) as service, tempfile.NamedTemporaryFile("r") as table:
        strace = subprocess.Popen(["strace", "-c", "-o", table.name, "-p", str(service.pids()["reader 1"])],
                                  stderr=subprocess.DEVNULL)
        load(service, seconds)
        strace.send_signal(signal.SIGINT)
        strace.wait()
        service.stop()
        calls = {name: int(count) for count, name in
                 re.findall(r"^ *[\d.]+ +[\d.]+ +\d+ +(\d+) +(?:\d+ +)?(\w+)$", table.read(), re.M)}
        return calls, batches(service.log())


def main():
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    calls, (requests, count) = traced(seconds)
    print("under strace: %d requests in %d batches, %.1f a batch" % (requests, count, requests / count))
    for name, number in sorted(calls.items(), key=lambda item: -item[1]):
        if name != "total":
            print("  %-12s %.3f a request  %.2f a batch" % (name, number / requests, number / count))
    with Service(readers=1) as service:
        output = load(service, seconds)
        service.stop()
        requests, count = batches(service.log())
        print("without: %d requests in %d batches, %.1f a batch; answers of 5xx: %d"
              % (requests, count, requests / count, output.count("5xx")))


if __name__ == "__main__":
    main()
