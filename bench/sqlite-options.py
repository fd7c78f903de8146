#!/usr/bin/env python3
"""What each compile option of the bundled SQLite gives: make bench-sqlite-options [BENCH_SQLITE_FLAGS="--only WORD --json FILE"]

Builds the amalgamation with each option of SQLITE_OPTIONS (Makefile) left out in turn, then with each candidate below
put in, links bench/sqlite.c with it and counts, under valgrind, the instructions of a read by id and of an insert, 100 in
a transaction, through app/db.h. Instructions do not depend on what else the machine does, so one run says it all; the
text is that of the object alone. Most of the time goes into the compiler, about a minute a line; two work at once."""
import argparse
import concurrent.futures
import importlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sqlite = importlib.import_module("sqlite")

NEEDED = "-DSQLITE_ENABLE_FTS5"  # the schema does not work without
# put in beside the options there are; a flag such as -O3 comes after the Makefile's own and wins
CANDIDATES = [
    "-DSQLITE_DEFAULT_LOOKASIDE=1200,100", "-DSQLITE_MAX_MMAP_SIZE=0", "-DSQLITE_TEMP_STORE=3", "-DSQLITE_MAX_ATTACHED=0",
    "-DSQLITE_DEFAULT_MEMSTATUS=0", "-DSQLITE_USE_ALLOCA", "-DSQLITE_OMIT_TRACE", "-DSQLITE_OMIT_UTF16",
    "-DSQLITE_OMIT_AUTOVACUUM", "-O3", "-Os",
    "-fno-stack-protector -fno-stack-clash-protection",
]
COUNTED = [("read", "layer", 2000, 100), ("insert", "layer-insert", 1000, 100)]


def variants(options):
    """(what the line says, options, further flags)."""
    yield "all of SQLITE_OPTIONS", options, []
    for option in options:
        if option != NEEDED:
            yield "without `%s`" % option.removeprefix("-D"), [other for other in options if other != option], []
    for candidate in CANDIDATES:
        yield "with `%s`" % candidate.replace("-D", ""), options, candidate.split()


def run_quietly(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode == 0


def measure(options, flags, database):
    """{figure: value}, or None when it cannot be built or does not serve."""
    environment = {name: os.environ[name].split() for name in ("RELEASE", "LINK", "OBJECTS", "LIBS")}
    environment["RELEASE"].remove("-g")  # takes time, and no instruction
    compiler = os.environ["CC"]
    source = str(sqlite.ROOT / "build" / "sqlite" / "sqlite3.c")
    with tempfile.TemporaryDirectory(dir=sqlite.BENCH) as directory:
        object_file, binary = directory + "/sqlite3.o", directory + "/sqlite"
        if not (run_quietly([compiler, "-std=gnu17", "-w", *options, *environment["RELEASE"], *flags, "-c", "-o", object_file, source])
                and run_quietly([compiler, *environment["RELEASE"], *environment["LINK"], "-o", binary, object_file,
                                 *environment["OBJECTS"], *environment["LIBS"], "-lm"])):
            return None
        size = subprocess.run(["size", object_file], check=True, capture_output=True, text=True).stdout
        figures = {"text": int(re.search(r"^\s*(\d+)", size.splitlines()[1]).group(1))}
        try:
            for name, way, count, per_transaction in COUNTED:
                figures[name] = sqlite.instructions(binary, database, way, count, per_transaction)
        except subprocess.CalledProcessError:
            return None
        return figures


def cell(value, base):
    change = 100 * (value - base) / base
    return "%.0f" % value if abs(change) < 0.005 else "%.0f (%+.2f %%)" % (value, change)


def main():
    parser = argparse.ArgumentParser(description="What each compile option of the bundled SQLite gives.")
    parser.add_argument("--only", metavar="WORD", help="only lines that hold this word, beside the first")
    parser.add_argument("--json", metavar="FILE", help="write the figures there too")
    arguments = parser.parse_args()
    lines = list(variants(os.environ["SQLITE_OPTIONS"].split()))
    lines[1:] = [line for line in lines[1:] if (arguments.only or "") in line[0]]
    with tempfile.TemporaryDirectory(dir=sqlite.BENCH) as directory, concurrent.futures.ThreadPoolExecutor(2) as pool:
        database = directory + "/demo.db"
        sqlite.create_database(database, demo=True)
        tasks = [pool.submit(measure, options, flags, database) for _, options, flags in lines]
        base = tasks[0].result()
        if base is None:
            sys.exit("The build with all of SQLITE_OPTIONS fails.")
        print("| build | instructions a read | instructions an insert | bytes of text |\n| --- | --- | --- | --- |")
        for (name, _, _), task in zip(lines, tasks):
            figures = task.result()
            cells = ["cannot be built or does not serve", "", ""] if figures is None else [
                cell(figures[figure], base[figure]) for figure in ("read", "insert", "text")]
            print("| %s | %s |" % (name, " | ".join(cells)), flush=True)
    if arguments.json:
        rows = [{"build": name, **(task.result() or {})} for (name, _, _), task in zip(lines, tasks)]
        pathlib.Path(arguments.json).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
