#!/bin/bash
# Fetches files of an npm package for a peer: npm.sh PACKAGE@VERSION SHA256 FILE...
# Nothing of them is kept in the tree, and nothing of the package is run. They come to build/bench/npm/PACKAGE (less its
# scope), once for all peers. The checksum is that of the package as npm delivers it.
set -euo pipefail
package=$1 checksum=$2
shift 2
directory=$(cd "$(dirname "$0")/../.." && pwd)/build/bench/npm
name=${package##*/}
place=$directory/${name%@*}

if [ "$(cat "$place/checksum" 2>/dev/null)" = "$checksum" ]; then
    exit 0
fi
mkdir -p "$directory"
work=$(mktemp -d -p "$directory") # beside the place, so that the last step is a rename
trap 'rm -rf "$work"' EXIT
(cd "$work" && npm pack --silent "$package" >/dev/null)
archives=("$work"/*.tgz)
if ! echo "$checksum  ${archives[0]}" | sha256sum --check --quiet -; then
    echo "The package $package is not the one whose checksum is pinned; nothing was used of it."
    exit 1
fi
mkdir "$work/files"
tar -xzf "${archives[0]}" -C "$work/files" --strip-components=1 "${@/#/package/}"
echo "$checksum" >"$work/files/checksum"
rm -rf "$place"
mv "$work/files" "$place"
