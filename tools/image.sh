#!/bin/bash
# Builds the service's image and tells its size: image.sh ENGINE. What ENGINE is, the Makefile tells.
set -euo pipefail
cd "$(dirname "$0")/.."
engine=$1
image=${LARDER_IMAGE:-larder}

if [ "$(basename "$engine")" = docker ]; then
    docker=("$engine")
    "$engine" compose build app
else
    docker=("$engine" docker)
    log=$("$engine" build . 2>&1) || { echo "$log" >&2; exit 1; }
fi
disk=$("${docker[@]}" image inspect --format '{{.Size}}' "$image")
compressed=$("${docker[@]}" save "$image" | gzip | wc -c)
awk -v image="$image" -v disk="$disk" -v compressed="$compressed" 'BEGIN {
    printf "image %s: %.2f MB on disk (aim: under 2), %.2f MB compressed (aim: under 1)\n", image, disk / 1e6, compressed / 1e6 }'
