#!/usr/bin/env python3
"""What each of nginx's settings costs or saves: python3 bench/nginx_settings.py [--only TEXT]

Each line changes one setting of nginx/ and counts what nginx takes for a request: instructions, by callgrind, and system
calls, by strace, of GET by id and of a list of 20 products (4 KB). Few and many requests on one kept connection are set
against each other, so that starting drops out. Needs valgrind and strace."""
import argparse
import os

from instructions import CALLGRIND, FEW, MANY, ROOT, STRACE, a_read, run_nginx

BINARY = os.path.join(ROOT, "build", "larder")
TARGETS = {"GET": lambda number: a_read(number)[1], "list": lambda number: "/products?limit=20&after=%d" % (number % 400 * 20)}

# what is changed, by which expression of sed over all files
SETTINGS = [
    ("as shipped", ""),
    ("all parameters of Debian's fastcgi_params too", "s|include fastcgi.conf;|&include /etc/nginx/fastcgi_params;|"),
    ("optional parameters sent when empty too", "s|  *if_not_empty;|;|"),
    ("the client's header fields passed (fastcgi_pass_request_headers on)", "s|pass_request_headers  off|pass_request_headers on|"),
    ("a connection for each request (fastcgi_keep_conn off)", "s|keep_conn  *on;|keep_conn off;|"),
    ("connections not kept in the upstream", "/^upstream/,/^}/s|^ *keepalive.*||"),
    ("fastcgi_buffering off", "s|fastcgi_keep_conn  *on;|&fastcgi_buffering off;|"),
    ("buffers of 4 KiB", "s|buffer_size  *8k|buffer_size 4k|;s|fastcgi_buffers  *8 8k|fastcgi_buffers 16 4k|"),
    ("buffers of 32 KiB", "s|buffer_size  *8k|buffer_size 32k|;s|fastcgi_buffers  *8 8k|fastcgi_buffers 4 32k|"),
    ("no access log", "s|access_log .*|access_log off;|"),
    ("access log written line by line", "s|larder buffer=32k flush=1s|larder|"),
    ("nginx's own request id, of random bytes", "s|default .*msec-.*|default $request_id;|"),
    ("request ids of clients not looked at", "s|^ *.~.*http_x_request_id;||"),
    ("no X-Request-Id in answers", "s|add_header X-Request-Id .*||"),
    ("one socket for reads and writes (no routing)", "s|if (.larder_writes) {|if ($request_method = NONE) {|"),
    ("PCRE's just-in-time compiler", "s|^worker_processes.*|&pcre_jit on;|"),
]


EDIT = """
for config; do :; done
directory=$(dirname "$config")
before=$(cat "$directory"/*.conf)
sed -i -e '%s' "$directory"/*.conf
[ "$before" != "$(cat "$directory"/*.conf)" ] || { echo "nothing was changed" >&2; exit 1; }
"""


def a_request(change, target, under):
    """What nginx takes for one."""
    few, many = (run_nginx(BINARY, count, target, EDIT % change if change else "", under) for count in (FEW, MANY))
    return (many - few) / (MANY - FEW)


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
            cells.append("{:,.0f}".format(a_request(change, target, CALLGRIND)))
            cells.append("{:.2f}".format(a_request(change, target, STRACE)))
        print("| %s | %s |" % (name, " | ".join(cells)), flush=True)


if __name__ == "__main__":
    main()
