"""nginx in front of a server of the benchmark: what ships for Larder, and the same settings with another upstream for peers."""
import os
import pathlib
import re
import subprocess

from places import ROOT

UPSTREAM = """
upstream peer {
    server %s max_fails=0;
    keepalive 256;
    keepalive_timeout 60s;
    keepalive_requests 1000000;
}
"""
HTTP = """
location / {
    proxy_pass          http://peer;
    proxy_http_version  1.1;
    proxy_set_header    Connection "";
    proxy_set_header    X-Request-Id $larder_request_id;
    proxy_buffer_size   4k;
    proxy_buffers       16 4k;
    proxy_read_timeout  40s;
}
"""
# A connection that is kept holds one of the few processes of the peer.
SCRIPT = """
fastcgi_pass_request_headers  off;
fastcgi_buffer_size           4k;
fastcgi_buffers               16 4k;
fastcgi_read_timeout          40s;
location / {
    include        fastcgi.conf;
    fastcgi_param  QUERY_STRING     $query_string;
    fastcgi_param  SCRIPT_FILENAME  "%s";
    fastcgi_pass   %s;
}
"""


def render(run_dir, address, connections=None):
    """Larder's configuration, as it ships."""
    environment = {name: value for name, value in os.environ.items() if name != "CONNECTIONS"}
    if connections:
        environment["CONNECTIONS"] = str(connections)
    subprocess.run(["sh", str(ROOT / "nginx" / "render.sh"), run_dir, address], check=True, env=environment)


def set_workers(run_dir, count):
    path = pathlib.Path(run_dir, "nginx", "nginx.conf")
    text, found = re.subn(r"(?m)^worker_processes\s+\S+;", "worker_processes %d;" % count, path.read_text())
    if found != 1:
        raise AssertionError("nginx.conf does not say worker_processes once")
    path.write_text(text)


def put_peer(run_dir, target, script=None):
    """Replaces Larder behind it: the settings of larder.conf for requests and connections stay, its locations go."""
    http, server = (pathlib.Path(run_dir, "nginx", name) for name in ("larder-http.conf", "larder.conf"))
    settings = peer_settings(server.read_text())
    if script:
        server.write_text(settings + SCRIPT % (script, target))
    else:
        server.write_text(settings + HTTP)
        http.write_text(http.read_text() + UPSTREAM % target)


def peer_settings(text):
    """The part of larder.conf before the first error page."""
    settings, found, _ = text.partition("\nerror_page")
    if not found or "keepalive_requests" not in settings or re.search(r"(?m)^[^#]*\{", settings):
        raise AssertionError("larder.conf does not begin with its settings")
    return settings
