#!/usr/bin/env python3
"""The contract test: holds a running service against its HTTP contract, over the wire alone.

    python3 tests/contract.py BASE_URL [-v] [--list] [--only TEXT] [--application] [--ca FILE]

BASE_URL is any deployment, with or without a path prefix: http://127.0.0.1:8080, https://host/shop.
It needs at least one category there; it creates every other row itself and deletes it at the end.
--application leaves out the web server's own part (checks/web_server.py), which is nginx's in this project.
Closing line: `N passed, N failed`. Exit 0 all passed, 1 something failed, 2 the service cannot be reached.

What it checks is in the folder beside it; checks/__init__.py tells how to add a check.
"""
import argparse
import sys

import checks
from checks import credentials, web_server
from checks.tools import CHECKS, World, same, status, walk
from checks.wire import (ALWAYS, BYTES_AFTER, COMPLAINTS, CREATED, DELETE_HEADERS, EXCHANGES, Connection, Kept, Mismatch,
                         Site, send, shorten)


def delete_what_was_created():
    for path in sorted(set(CREATED), key=lambda path: path.startswith("/categories/")):  # a category once it is empty
        headers = next((give(path) for start, give in DELETE_HEADERS.items() if path.startswith(start)), None)
        status(send("DELETE", path, None, headers), 204, 404)


def find_what_was_not_told():
    """Looks through the rows behind the run's first for some of its own that no 201 told of; deletes them, and fails."""
    left = []
    for collection, first, member in (("/categories", World.first_category, "name"), ("/products", World.product_made, "sku")):
        if first is None:
            continue
        for page in walk("%s?limit=100&after=%d" % (collection, first["id"] - 1)):
            left += [("%s/%d" % (collection, row["id"]), row) for row in page if row[member].startswith(World.prefix)]
    for path, _ in reversed(left):
        status(send("DELETE", path), 204)
    same("rows left by requests that were refused or cut off", left, [])


CLOSING = [("everything that was created can be deleted", delete_what_was_created),
           ("no request that was refused or cut off has left a row behind", find_what_was_not_told)]


class Report:
    def __init__(self, verbose):
        self.verbose, self.passed, self.failed, self.titled = verbose, 0, 0, None

    def run(self, title, name, function):
        EXCHANGES.clear()
        try:
            function()
        except Mismatch as error:
            self.fail(title, name, "%s: %s" % (error.what, error.expected), error.got)
        except Exception as error:
            self.fail(title, name, "an answer to read", "%s: %s" % (type(error).__name__, error))
        else:
            self.passed += 1
            if self.verbose:
                self.title(title)
                print("  ok    " + printable(name))

    def title(self, title):
        if title != self.titled:
            self.titled = title
            print(title)

    def fail(self, title, name, expected, got):
        self.failed += 1
        self.title(title)
        print("  FAIL  " + printable(name))
        for sent, received in EXCHANGES[-3:]:
            print("        sent      %s\n        answered  %s" % (printable(shorten(sent, 400)), printable(received)))
        print("        expected  %s\n        got       %s" % (printable(expected), printable(shorten(got, 600))))

    def always(self):
        for name in [*ALWAYS, BYTES_AFTER]:
            EXCHANGES.clear()
            found = COMPLAINTS.get(name, [])
            self.run("Always", name, lambda found=found: same("complaints (%d)" % len(found), found[:5], []))


def printable(text):
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in shorten(text, 1000)).encode(
        sys.stdout.encoding or "ascii", "backslashreplace").decode(sys.stdout.encoding or "ascii")


def chosen_checks(chosen):
    return [entry for entry in CHECKS if chosen.only.lower() in ("%s: %s" % entry[:2]).lower()
            and not (chosen.application and web_server.is_own_part(entry[1]))]


def main():
    options = argparse.ArgumentParser(description="Holds a running service against its HTTP contract.")
    options.add_argument("base_url", nargs="?", help="such as http://127.0.0.1:8080 or https://host/shop")
    options.add_argument("-v", action="store_true", help="print the checks that pass, too")
    options.add_argument("--list", action="store_true", help="print the names of the checks and end")
    options.add_argument("--only", default="", metavar="TEXT", help="run the checks with this in name or section")
    options.add_argument("--application", action="store_true", help="leave out what the web server answers by itself")
    options.add_argument("--ca", metavar="FILE", help="whom to trust for an https URL, instead of the system's authorities")
    options.add_argument("--email", default="user1@example.com", help="who logs in (the demo data's %(default)s)")
    options.add_argument("--other-email", default="user2@example.com", help="another user (%(default)s)")
    options.add_argument("--password", default="larder-demo", help="of both (the demo data's)")
    options.add_argument("--secret-file", metavar="PATH", help="the service's own, to forge tokens (var/secret)")
    chosen = options.parse_args()
    credentials.Options.use(chosen)
    if chosen.list:
        checks.register_all()
        stale = web_server.unknown([name for _, name, _ in CHECKS])
        if stale:
            sys.exit("checks/web_server.py names no check with: %s" % "; ".join(stale))
        for title, name, _ in chosen_checks(chosen):
            print(printable("%s: %s" % (title, name)))
        return 0
    try:
        Site.use(chosen.base_url or "", chosen.ca)
        Kept.connection = Connection()
    except (OSError, ValueError) as error:
        print("The service at %s cannot be reached: %s." % (chosen.base_url or "(no BASE_URL)", error), file=sys.stderr)
        return 2
    checks.register_all(checks.NEED_SECRET if send("OPTIONS", "/api/login").status == 404 else ())
    selected = chosen_checks(chosen)
    report = Report(chosen.v)
    try:
        for title, name, function in selected:
            report.run(title, name, function)
    finally:
        for name, function in CLOSING:
            report.run("In the end", name, function)
        report.always()
        print("%d passed, %d failed" % (report.passed, report.failed))
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
