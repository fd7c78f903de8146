#!/bin/bash
# SQLite for a peer whose driver carries a copy of its own: sqlite.sh DIR FLAG... makes DIR/libsqlite3.a of the
# version that Larder's own build uses (tools/sqlite.sh), with the compile options that the driver gives its copy.
set -euo pipefail
directory=$1
shift
source=$(cd "$(dirname "$0")/../.." && pwd)/build/sqlite
mkdir -p "$directory"
gcc -std=gnu17 -w "$@" -c -o "$directory/sqlite3.o" "$source/sqlite3.c"
rm -f "$directory/libsqlite3.a"
ar rcs "$directory/libsqlite3.a" "$directory/sqlite3.o"
