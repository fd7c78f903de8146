#!/bin/bash
# See bench/peers/README.md for the verbs.
set -euo pipefail
cd "$(dirname "$0")"
bun=../../../build/bench/npm/bun-linux-x64/bin/bun

case ${1:-} in
install)
    if [ "$(uname -m)" != x86_64 ]; then
        echo "The pinned Bun is for x86-64 alone."
        exit 1
    fi
    if ! ../../../tools/packages.sh npm=npm >&2 || ! ../npm.sh @oven/bun-linux-x64@1.4.5 \
        0c72edca57b0cbf0a07a242daf0ea8ea96711827f042b80a1c383ce1cc51c771 bin/bun >&2; then
        echo "Bun cannot be fetched with npm."
        exit 1
    fi
    ;;
build) ;;
version)
    "$bun" --print '"Bun " + Bun.version + ", SQLite " +
        new (require("bun:sqlite").Database)().prepare("SELECT sqlite_version()").values()[0][0]'
    ;;
size) cat "$bun" ../javascript/*.mjs server.mjs | wc -c ;;
kind) echo http ;;
serve) exec "$bun" server.mjs ;;
*)
    echo "usage: peer.sh install|build|version|size|kind|serve" >&2
    exit 2
    ;;
esac
