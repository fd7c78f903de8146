#!/usr/bin/env python3
"""Runs the fault and command-line tests: python3 tests/faults/run.py [--only TEXT] [--list]

Closing line: `N passed, N failed`. Exit 0 when all passed, 1 when something failed. The variable LARDER
names another binary than build/larder; of a sanitizer build every finding is a failure."""
import argparse
import importlib
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import harness  # noqa: E402: found through the line above
import runner  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description="Runs the fault and command-line tests.")
    parser.add_argument("--only", default="", metavar="TEXT", help="those with TEXT in `file: statement`")
    parser.add_argument("--list", action="store_true", help="print the statements and run nothing")
    options = parser.parse_args()
    for path in sorted(HERE.glob("*.py")):
        if path.stem != "run":
            importlib.import_module(path.stem)
    if options.list:
        for file, statement, _, _ in runner.TESTS:
            print("%s: %s" % (file, statement))
        return 0
    return runner.run_tests(options.only)


if __name__ == "__main__":
    harness.end_tidily_when_terminated()
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
