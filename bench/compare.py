#!/usr/bin/env python3
"""CPU time a request of several binaries, in turn: python3 bench/compare.py [--rounds N] [--seconds N] BINARY...

Each round gives every binary a fresh demo database behind nginx, with one reader, the writer and SYNC full, and lets wrk
keep 50 connections busy: first with GET /products/{id} over ids of which four in five exist, then with the mix of 75 %
such reads, 20 % creates and 5 % deletes of what was created. Printed are medians over the rounds, with least and most:
microseconds of processor a request, of larder's processes and of nginx's; requests a second; answers of 5xx; and the
memory (PSS) of all processes before the first request. The machine should be otherwise idle. Needs wrk."""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests"))
from harness import Service, processes  # noqa: E402: found through the line above

COMMON = """
math.randomseed(os.time())
local errors = 0
response = function(status) if status >= 500 then print("5xx") end end
local get = function() return wrk.format("GET", "/products/" .. math.random(12500)) end
"""
WORKLOADS = {
    "GET by id": COMMON + "request = get\n",
    "mix 75/20/5": COMMON + """
local made, next_delete, count = 12501, 12501, 0
local json = {["Content-Type"] = "application/json"}
request = function()
    local dice = math.random(100)
    if dice <= 75 then return get() end
    if dice <= 95 or next_delete + 200 > made then
        count, made = count + 1, made + 1
        return wrk.format("POST", "/products", json, string.format(
            '{"sku": "B-%d-%d", "name": "Bench %d", "price_cents": %d, "category_id": %d}',
            os.time(), count, count, math.random(100000), math.random(50)))
    end
    next_delete = next_delete + 1
    return wrk.format("DELETE", "/products/" .. next_delete)
end
""",
}


def tree(pid):
    found = [pid]
    for child, parent, _, _, _ in processes():
        if parent == pid:
            found.append(child)
    return found


def cpu_us(pids):
    ticks = 0
    for pid in pids:
        with open("/proc/%d/stat" % pid) as file:
            fields = file.read().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks * 1_000_000 / os.sysconf("SC_CLK_TCK")


def pss_kib(pids):
    total = 0
    for pid in pids:
        with open("/proc/%d/smaps_rollup" % pid) as file:
            total += int(re.search(r"^Pss:\s+(\d+)", file.read(), re.M).group(1))
    return total


def load(service, script, seconds):
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
        file.write(script)
        file.flush()
        output = subprocess.run(["wrk", "-t1", "-c50", "-d%ds" % seconds, "-s", file.name, service.url + "/"],
                                check=True, capture_output=True, text=True).stdout
    return int(re.search(r"(\d+) requests in", output).group(1)), output.count("5xx")


def measure(binary, seconds):
    """{(workload, figure): value} of one round."""
    os.environ["LARDER"] = binary
    figures = {}
    with Service(readers=1) as service:
        larder, nginx = tree(service.supervisor.pid), tree(service.nginx.pid)
        figures["idle", "PSS MiB"] = pss_kib(larder + nginx) / 1024
        figures["idle", "PSS MiB of larder"] = pss_kib(larder) / 1024
        for name, script in WORKLOADS.items():
            load(service, script, 1)
            before = cpu_us(larder), cpu_us(nginx)
            requests, errors = load(service, script, seconds)
            figures[name, "larder us"] = (cpu_us(larder) - before[0]) / requests
            figures[name, "nginx us"] = (cpu_us(nginx) - before[1]) / requests
            figures[name, "requests/s"] = requests / seconds
            figures[name, "5xx"] = errors
    return figures


def main():
    parser = argparse.ArgumentParser(description="CPU time a request of several binaries, in turn.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("binaries", nargs="+", metavar="BINARY")
    options = parser.parse_args()
    rounds = {binary: [] for binary in options.binaries}
    for _ in range(options.rounds):
        for binary in options.binaries:
            rounds[binary].append(measure(os.path.abspath(binary), options.seconds))
    print("| workload | figure | %s |\n| --- | --- | %s |" % (
        " | ".join(options.binaries), " | ".join("---" for _ in options.binaries)))
    for workload, figure in rounds[options.binaries[0]][0]:
        cells = []
        for binary in options.binaries:
            values = [one[workload, figure] for one in rounds[binary]]
            cells.append("%.1f (%.1f to %.1f)" % (statistics.median(values), min(values), max(values)))
        print("| %s | %s | %s |" % (workload, figure, " | ".join(cells)))


if __name__ == "__main__":
    main()
