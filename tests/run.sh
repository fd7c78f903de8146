#!/bin/bash
# Runs all test steps and adds up what they count. Called by `make test`.
# A step's own closing line is `N passed, N failed`; one that prints none counts as one.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
passed=0
failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

step() { # NAME COMMAND...
    local name=$1
    shift
    echo "== $name"
    "$@" 2>&1 | tee "$log"
    local status=${PIPESTATUS[0]} line p f
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -n 1)
    if [ -n "$line" ]; then
        p=${line%% *}
        f=$(cut -d' ' -f3 <<<"$line")
        passed=$((passed + p))
        failed=$((failed + f))
        if [ "$status" != 0 ] && [ "$f" = 0 ]; then
            failed=$((failed + 1))
        fi
    elif [ "$status" = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
}

for target in build san; do
    make --no-print-directory "$target" || exit 1
done
for target in lint-clang lint-tidy lint-cppcheck lint-shell lint-format unit; do
    step "$target" make --no-print-directory "$target"
done
step "contract" python3 tests/harness.py python3 tests/contract.py --secret-file '{SECRET}' '{URL}'
step "contract below a prefix" python3 tests/harness.py --prefix /shop python3 tests/contract.py --secret-file '{SECRET}' '{URL}'
step "contract over TLS" python3 tests/harness.py --tls python3 tests/contract.py --ca '{CA}' --secret-file '{SECRET}' '{URL}'
step "contract, one process for both lanes" python3 tests/harness.py --readers 0 python3 tests/contract.py --secret-file '{SECRET}' '{URL}'
step "contract, sanitizer build" python3 tests/harness.py --larder build/san/larder python3 tests/contract.py --secret-file '{SECRET}' '{URL}'
application=(python3 tests/contract.py --application --secret-file '{SECRET}' '{URL}')
step "contract's application part behind Apache" python3 tests/other_servers.py apache "${application[@]}"
step "... a connection for each request, one port, below a prefix" python3 tests/other_servers.py --one-socket port --close --prefix /shop apache "${application[@]}"
step "contract's application part behind lighttpd" python3 tests/other_servers.py lighttpd "${application[@]}"
step "... one socket, below a prefix" python3 tests/other_servers.py --one-socket path --prefix /shop lighttpd "${application[@]}"
step "the names of the web server's own part" python3 tests/contract.py --list
step "browser" python3 tests/harness.py python3 tests/browser.py '{URL}'
step "browser below a prefix" python3 tests/harness.py --prefix /shop python3 tests/browser.py '{URL}'
step "adding a resource, by the page" python3 tests/guide.py
step "benchmark" python3 tests/bench.py
step "benchmark, what every server has to serve" python3 tests/harness.py python3 bench/subset.py --secret-file '{SECRET}' '{URL}'
step "benchmark, a second of it" python3 bench/bench.py --compare build/larder --warmup 0 --seconds 1 --rounds 1
step "benchmark, instructions of a request" python3 bench/instructions.py --case "GET /health, 8 a batch"
step "benchmark, instructions and system calls of nginx" python3 bench/nginx_settings.py --only "no access log"
step "faults" python3 tests/faults/run.py

echo "== all"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
