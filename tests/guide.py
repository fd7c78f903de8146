#!/usr/bin/env python3
"""Follows docs/adding-a-resource.md to the letter, in a copy of the tree: python3 tests/guide.py

Each code block says after its language what it is for:

    ```c app/routes.c after "text"      goes behind the first line that holds the text
    ```c app/schema.h replace "text"    takes the place of that line
    ```sql schema.sql append            goes to the end of the file
    ```c app/new.c new                  is a whole new file
    ```sh                               is run

Closing line: `N passed, N failed`, a block each."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "adding-a-resource.md"
BLOCK = re.compile(r"^```(\w+)(?: ([^\n]*))?\n(.*?)^```$", re.M | re.S)
PLACE = re.compile(r'^(\S+) (new|append|after|replace)(?: "(.*)")?$')


def copy_tree(target):
    """What git tracks, and new files it does not ignore."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def apply(tree, place, text):
    """Does with a block what its first line says."""
    found = PLACE.match(place)
    if not found:
        raise ValueError("the block does not say where it goes: %r" % place)
    name, action, mark = found.groups()
    mark = (mark or "").replace('\\"', '"')
    path = tree / name
    if action == "new":
        if path.exists():
            raise ValueError("%s is there already" % name)
        path.write_text(text)
        return
    old = path.read_text()
    if action == "append":
        path.write_text(old + text)
        return
    lines = old.splitlines(keepends=True)
    at = next((i for i, line in enumerate(lines) if mark in line), None)
    if at is None:
        raise ValueError("%s has no line with %r" % (name, mark))
    lines[at] = text if action == "replace" else lines[at] + text
    path.write_text("".join(lines))


def main():
    passed = failed = 0
    blocks = BLOCK.findall(PAGE.read_text())
    with tempfile.TemporaryDirectory(prefix="larder-guide-") as directory:
        tree = pathlib.Path(directory)
        copy_tree(tree)
        for language, place, text in blocks:
            try:
                if language == "sh":
                    place = text.strip()
                    subprocess.run(["sh", "-ec", text], cwd=tree, check=True)
                else:
                    apply(tree, place, text)
                passed += 1
                print("ok    %s" % place, flush=True)
            except (OSError, ValueError, subprocess.CalledProcessError) as error:
                failed += 1
                print("FAIL  %s: %s" % (place, error), flush=True)
                break  # what follows builds on it
    if not any(language == "sh" for language, _, _ in blocks):
        failed += 1
        print("FAIL  the page runs nothing")
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
