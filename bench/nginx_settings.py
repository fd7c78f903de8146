#!/usr/bin/env python3
"""What each of nginx's settings costs or saves: python3 bench/nginx_settings.py [--only TEXT]

Each line changes one setting of nginx/ and counts what nginx takes for a request: instructions, by callgrind, and system
calls, by strace, of GET by id and of a list of 20 products (some 5 KB). Few and many requests on one kept connection are set
against each other, so that starting drops out. Needs valgrind and strace."""
import argparse
import glob
import os
import re
import sys
import tempfile

import instructions
from instructions import FEW, MANY, a_read, counted, harness, speak_http, wrap

BINARY = os.path.join(instructions.ROOT, "build", "larder")
TARGETS = {"GET": lambda number: a_read(number)[1], "list": lambda number: "/products?limit=20&offset=%d" % (number % 400 * 20)}

# what is changed, by which expression of sed over all files
SETTINGS = [
    ("as shipped", ""),
    ("all parameters of Debian's fastcgi_params too", "s|include fastcgi.conf;|&include /etc/nginx/fastcgi_params;|"),
    ("optional parameters sent when empty too", "s|  *if_not_empty;|;|"),
    ("the client's header fields passed (fastcgi_pass_request_headers on)", "s|pass_request_headers  off|pass_request_headers on|"),
    ("a connection for each request (fastcgi_keep_conn off)", "s|keep_conn  *on;|keep_conn off;|"),
    ("connections not kept in the upstream", "/^upstream/,/^}/s|^ *keepalive.*||"),
    ("fastcgi_buffering off", "s|fastcgi_keep_conn  *on;|&fastcgi_buffering off;|"),
    ("buffers of 8 KiB", "s|buffer_size  *4k|buffer_size 8k|;s|fastcgi_buffers  *16 4k|fastcgi_buffers 8 8k|"),
    ("buffers of 32 KiB", "s|buffer_size  *4k|buffer_size 32k|;s|fastcgi_buffers  *16 4k|fastcgi_buffers 4 32k|"),
    ("no access log", "s|access_log .*|access_log off;|"),
    ("access log written line by line", "s|larder buffer=32k flush=1s|larder|"),
    ("nginx's own request id, of random bytes", "s|default .*msec-.*|default $request_id;|"),
    ("request ids of clients not looked at", "s|^ *.~.*http_x_request_id;||"),
    ("no X-Request-Id in answers", "s|add_header X-Request-Id .*||"),
    ("one socket for reads and writes (no routing)", "s|if (.larder_writes) {|if ($request_method = NONE) {|"),
    ("PCRE's just-in-time compiler", "s|^worker_processes.*|&pcre_jit on;|"),
]


def run(change, target, count, tool):
    """What nginx took in all."""
    edit = "" if not change else """
for config; do :; done
directory=$(dirname "$config")
before=$(cat "$directory"/*.conf)
sed -i -e '%s' "$directory"/*.conf
[ "$before" != "$(cat "$directory"/*.conf)" ] || { echo "nothing was changed" >&2; exit 1; }
""" % change
    with tempfile.TemporaryDirectory() as directory:
        under = {"under": "strace -D -f -qq -c -o '{}/calls'"} if tool == "calls" else {}
        real, harness.NGINX = harness.NGINX, wrap(directory, harness.NGINX, edit, **under)
        try:
            with harness.Service(readers=1, binary=BINARY) as service:
                speak_http(service.url, target, count)
        finally:
            harness.NGINX = real
        if tool == "calls":
            path = os.path.join(directory, "calls")  # written when all processes have ended
            harness.wait_until(lambda: os.path.exists(path) and os.path.getsize(path), 10, "strace has counted")
            with open(path) as file:
                return int(re.search(r"(\d+)(?: +\d+)? total", file.read()).group(1))
        return sum(counted(directory, int(path.rsplit(".", 1)[1])) for path in glob.glob(directory + "/out.*"))


def main():
    parser = argparse.ArgumentParser(description="What each of nginx's settings costs or saves.")
    parser.add_argument("--only", default="", metavar="TEXT", help="the settings with TEXT in their names")
    options = parser.parse_args()
    heads = ["%s, %s" % (name, what) for name in TARGETS for what in ("instructions", "system calls")]
    print("| changed | %s |\n| --- |%s" % (" | ".join(heads), " ---: |" * len(heads)))
    for name, change in SETTINGS:
        if options.only not in name:
            continue
        cells = []
        for target in TARGETS.values():
            for tool, form in ("instructions", "{:,.0f}"), ("calls", "{:.2f}"):
                cells.append(form.format((run(change, target, MANY, tool) - run(change, target, FEW, tool)) / (MANY - FEW)))
        print("| %s | %s |" % (name, " | ".join(cells)), flush=True)


if __name__ == "__main__":
    sys.exit(main())
