#!/bin/bash
# See bench/peers/README.md for the verbs. Not a peer that serves anything: it answers every request alike, so the
# contract's checks are not for it.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../../.. && pwd)
out=$root/build/bench/floor

case ${1:-} in
install)
    if ! "$root/tools/packages.sh" gcc=gcc stdlib.h=libc6-dev >&2; then
        echo "A C compiler cannot be installed."
        exit 1
    fi
    ;;
build)
    mkdir -p "$out"
    gcc -std=c17 -O2 -Wall -Wextra -Werror -Wconversion -o "$out/floor" floor.c
    strip "$out/floor"
    ;;
version) gcc --version | head -n 1 ;;
size) stat -c %s "$out/floor" ;;
kind) echo fastcgi ;;
serve) exec "$out/floor" ;;
*)
    echo "usage: peer.sh install|build|version|size|kind|serve" >&2
    exit 2
    ;;
esac
