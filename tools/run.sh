#!/bin/bash
# The quick start, in the foreground: the demo database if there is none, larder and nginx.
# Ctrl-C stops both. Set by `make run`: PORT, DB, RUN_DIR, SECRET; LARDER_* reach larder itself.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
larder=build/larder

port_answers() {
    (: >"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null
}

if port_answers; then
    echo "Port $PORT is taken by another program: make run PORT=8081" >&2
    exit 1
fi
SECRET=${SECRET:-$(dirname "$DB")/secret}
mkdir -p "$(dirname "$DB")" "$RUN_DIR" "$(dirname "$SECRET")"
run=$(cd "$RUN_DIR" && pwd)

pids=()
# shellcheck disable=SC2317 # called by the trap
stop_one() { # SIGNAL PID
    if [ -n "$2" ] && kill "-$1" "$2" 2>/dev/null; then
        wait "$2" || true
    fi
}
# shellcheck disable=SC2317
stop() {
    trap - EXIT
    trap '' INT TERM HUP # a second signal must not leave a part behind
    stop_one QUIT "${pids[1]:-}" # nginx first: it answers what it has; then nobody asks larder any more
    stop_one TERM "${pids[0]:-}"
}
trap stop EXIT
trap 'trap "" INT TERM HUP; exit 0' INT TERM HUP

# in sessions of their own, so that Ctrl-C reaches them through this script alone, in the right order
setsid $larder serve --init demo --db "$DB" --run-dir "$run" --secret-file "$SECRET" &
pids[0]=$!
nginx/render.sh "$run" "127.0.0.1:$PORT"
setsid nginx -g 'daemon off;' -e stderr -p "$run" -c "$run/nginx/nginx.conf" &
pids[1]=$!

for _ in $(seq 100); do
    if [ -S "$run/read.sock" ] && port_answers; then
        break
    fi
    for pid in "${pids[@]}"; do
        if ! kill -0 "$pid" 2>/dev/null; then
            echo "Did not start; the reason stands above." >&2
            exit 1
        fi
    done
    sleep 0.05
done
echo "Larder serves http://localhost:$PORT, for example http://localhost:$PORT/products/1"
echo "Ctrl-C stops it. The data is in $DB."
wait -n "${pids[@]}"
echo "A part has ended by itself; the reason stands above." >&2
exit 1
