#!/usr/bin/env python3
"""What SQLite costs inside the process: python3 bench/sqlite.py [--rounds N] [--instructions] [--json FILE]

Reads one product by its id, or inserts one, in the ways that bench/sqlite.c lists, with the system's SQLite and with the
lean build of the bundled one (both made by `make bench-sqlite`). Each round runs every way with both libraries in turn,
each on a fresh demo database below build/bench; printed are medians over the rounds. --instructions counts, under
valgrind, instead of timing: one run says it all, whatever else the machine does."""
import argparse
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from harness import create_database  # noqa: E402: found through the line above

BENCH = ROOT / "build" / "bench"
LIBRARIES = "system", "bundled"
MEASURED = "sqlite_bench_measured"
# what is printed, the way, operations timed, operations counted, operations in a transaction (0: SQLite's own)
WAYS = [
    ("read, cold: open, prepare, close each time", "cold", 500, 200, 0),
    ("read, prepared each time", "prepared", 5000, 500, 0),
    ("read, prepared once, a transaction each", "bare", 20000, 2000, 1),
    ("the same through db.h", "layer", 20000, 2000, 1),
    ("read, prepared once, 100 in a transaction", "bare", 50000, 2000, 100),
    ("the same through db.h", "layer", 50000, 2000, 100),
    ("insert, a transaction each", "bare-insert", 200, 200, 1),
    ("the same through db.h", "layer-insert", 200, 200, 1),
    ("insert, 100 in a transaction", "bare-insert", 1000, 1000, 100),
    ("the same through db.h", "layer-insert", 1000, 1000, 100),
    ("the same with a savepoint each, as the worker", "worker-insert", 1000, 1000, 100),
]


def run(binary, database, way, count, per_transaction, before=()):
    """Returns standard output and standard error."""
    with tempfile.TemporaryDirectory(dir=BENCH) as directory:
        copy = pathlib.Path(directory, "demo.db")
        shutil.copy(database, copy)
        command = [*before, binary, copy, way, str(count), str(per_transaction)]
        done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=directory)
        return done.stdout, done.stderr


def timed(binary, database, way, count, per_transaction):
    """Nanoseconds an operation: of the processor, of the clock."""
    cpu, clock = run(binary, database, way, count, per_transaction)[0].split()
    return {"ns of CPU": int(cpu) / count, "ns": int(clock) / count}


def instructions(binary, database, way, count, per_transaction):
    """Instructions an operation. Those of the tenth that warms up are counted too: so they are divided by all."""
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--collect-atstart=no",
                "--toggle-collect=" + MEASURED]
    errors = run(binary, database, way, count, per_transaction, valgrind)[1]
    return int(re.search(r"Collected : (\d+)", errors).group(1)) / (count + count // 10 + 1)


def measure(options, database):
    """A row for each way: its name, the way, and for each library and figure what each round measured."""
    rows = [{"name": name, "way": way, **{library: {} for library in LIBRARIES}} for name, way, _, _, _ in WAYS]
    for _ in range(1 if options.instructions else options.rounds):
        for row, (_, way, count, few, per_transaction) in zip(rows, WAYS):
            for library in LIBRARIES:
                binary = BENCH / ("sqlite-" + library)
                if options.instructions:
                    found = {"instructions": instructions(binary, database, way, few, per_transaction)}
                else:
                    found = timed(binary, database, way, count, per_transaction)
                for figure, value in found.items():
                    row[library].setdefault(figure, []).append(value)
    return rows


def table(rows):
    """Flat rows, as they are printed: a column for each library and figure, with the median."""
    return [{"one operation": row["name"],
             **{"%s, %s" % (library, figure): round(statistics.median(values))
                for library in LIBRARIES for figure, values in row[library].items()}}
            for row in rows]


def print_table(lines):
    print("| %s |\n|%s" % (" | ".join(lines[0]), " --- |" * len(lines[0])))
    for line in lines:
        print("| %s |" % " | ".join(str(value) for value in line.values()))


def rates(rows):
    """How fast db.h is, the same statement used bare being 1: {(what, library): rate}. Of each round the two ways are set
    against each other, since they ran one after the other; then the median is taken."""
    found = {}
    for before, row in zip(rows, rows[1:]):
        for library in LIBRARIES if row["way"].startswith("layer") else ():
            pairs = zip(*(next(iter(one[library].values())) for one in (before, row)))
            found[before["name"], library] = statistics.median(bare / layer for bare, layer in pairs)
    return found


def main():
    parser = argparse.ArgumentParser(description="What SQLite costs inside the process.")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--instructions", action="store_true", help="count under valgrind instead of timing")
    parser.add_argument("--json", metavar="FILE", help="write the figures there too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=BENCH) as directory:
        database = str(pathlib.Path(directory, "demo.db"))
        create_database(database, demo=True)
        rows = measure(options, database)
    lines = table(rows)
    print_table(lines)
    print()
    found = rates(rows)
    for (name, library), rate in found.items():
        print("Rate of db.h over the bare statement, %s, %s: %.3f" % (name, library, rate))
    if options.json:
        # the bound is held to the leanest case: reads that share a transaction, with the library that ships
        rate = found["read, prepared once, 100 in a transaction", "bundled"]
        told = {"operations": lines, "rate_of_db_h": rate}
        pathlib.Path(options.json).write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
