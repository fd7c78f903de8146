#!/bin/bash
# See bench/peers/README.md for the verbs.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../../.. && pwd)
out=$root/build/bench/go

case ${1:-} in
install)
    packages=(go=golang-go gcc=gcc stdlib.h=libc6-dev npm=npm)
    # not a command, so always missing to packages.sh
    [ -d /usr/share/gocode/src/github.com/mattn/go-sqlite3 ] || packages+=(go-sqlite3=golang-github-mattn-go-sqlite3-dev)
    if ! "$root/tools/packages.sh" "${packages[@]}" >&2; then
        echo "Debian's packages of Go cannot be installed."
        exit 1
    fi
    if ! "$root/tools/sqlite.sh" "$root/build/sqlite" >&2; then
        echo "SQLite's source cannot be fetched with npm."
        exit 1
    fi
    ;;
build)
    # the driver's own options (its cgo lines), and its tag fts5, which the schema needs
    ../sqlite.sh "$out" -O2 -DSQLITE_ENABLE_RTREE -DSQLITE_THREADSAFE=1 -DHAVE_USLEEP=1 -DSQLITE_ENABLE_FTS3 \
        -DSQLITE_ENABLE_FTS3_PARENTHESIS -DSQLITE_TRACE_SIZE_LIMIT=15 -DSQLITE_OMIT_DEPRECATED \
        -DSQLITE_DEFAULT_WAL_SYNCHRONOUS=1 -DHAVE_PREAD64=1 -DHAVE_PWRITE64=1 -DSQLITE_ENABLE_FTS5
    export GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE="$out/cache" GOFLAGS=
    export CGO_CFLAGS="-O2 -I$root/build/sqlite" CGO_LDFLAGS="-L$out -lm"
    go build -tags libsqlite3 -o "$out/server" .
    ;;
version) "$out/server" version ;;
size) stat -c %s "$out/server" ;;
kind) echo http ;;
serve) exec "$out/server" ;;
*)
    echo "usage: peer.sh install|build|version|size|kind|serve" >&2
    exit 2
    ;;
esac
