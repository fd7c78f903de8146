#!/bin/bash
# Fetches SQLite's amalgamation: sqlite.sh DIR. Nothing of it is kept in the tree.
# The npm package better-sqlite3 ships it unchanged; package, version and checksum are pinned here.
set -euo pipefail
package=better-sqlite3@12.11.1 # SQLite 3.53.2
file=better-sqlite3-12.11.1.tgz
checksum=ebf0ed75a7a59dbcb3b24bbd014ef49d9f15bc328e4adcbf516f2a8fadfa2835
directory=$1

if [ -f "$directory/sqlite3.c" ] && [ "$(cat "$directory/checksum" 2>/dev/null)" = "$checksum" ]; then
    exit 0
fi
if ! command -v npm >/dev/null; then
    echo "SQLITE=bundled needs npm to fetch SQLite; install npm, or give SQLITE_DIR=DIR with sqlite3.c and sqlite3.h." >&2
    exit 1
fi
mkdir -p "$directory"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$work" && npm pack --silent "$package" >/dev/null)
if ! echo "$checksum  $work/$file" | sha256sum --check --quiet -; then
    echo "The package $package is not the one whose checksum is pinned in tools/sqlite.sh; nothing was used of it." >&2
    exit 1
fi
tar -xzf "$work/$file" -C "$work" package/deps/sqlite3/sqlite3.c package/deps/sqlite3/sqlite3.h
mv "$work"/package/deps/sqlite3/sqlite3.[ch] "$directory/"
echo "$checksum" >"$directory/checksum"
