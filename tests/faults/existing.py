"""An nginx with a site of its own, in which Larder is included as "Behind an existing nginx" in docs/operations.md says.

The blocks that begin with ```nginx existing or ```sh existing are used as they stand there; only directories, ports and the
networks of the CDN are this test's. The site's answers are taken down before, and compared after."""
import json
import os
import pathlib
import re
import subprocess
import sys

from harness import (NGINX, ROOT, START_SECONDS, Client, Service, answers, environment, expect, expect_equal, expect_problem, free_port,
                     make_certificate, new_secret, processes, wait_until)
from packaging import make
from runner import test

PAGE = ROOT / "docs" / "operations.md"
SITE = """
%(user)s
pid %(directory)s/nginx.pid;
error_log stderr;
events {}
http {
    %(temporary)s
    access_log     %(directory)s/site.log;
    types          { text/html html; application/json json; }
    gzip           on;
    gzip_types     application/json;
    add_header     X-Site http always;
    limit_req_zone $binary_remote_addr zone=site:1m rate=100r/s;
    %(http)s

    server {
        listen 127.0.0.1:%(http_port)d;
        server_name example.com;
        return 200 "another\\n";
    }
    server {
        listen               127.0.0.1:%(https_port)d ssl http2 default_server;
        ssl_certificate      %(directory)s/site.pem;
        ssl_certificate_key  %(directory)s/site.key;
        return 200 "default\\n";
    }
    server {
        listen      127.0.0.1:%(http_port)d default_server;
        server_name example.org;
        root        %(directory)s/www;
        error_page  403 404 /oops.html;
        large_client_header_buffers 4 16k;
        client_max_body_size        3m;
        keepalive_timeout           5s;
        add_header  X-Site example always;
        location /  { limit_req zone=site burst=1000 nodelay; }
        %(path)s
    }
    %(host)s
}
"""


def block(language, name):
    """The text of a block of the page."""
    found = re.findall(r"^```%s existing %s\n(.*?)^```$" % (language, name) if name else r"^```%s existing\n(.*?)^```$" % language,
                       PAGE.read_text(), re.M | re.S)
    expect(len(found) == 1, "docs/operations.md has %d blocks `%s existing %s`" % (len(found), language, name))
    return found[0]


class Existing(Service):
    """Context manager: larder behind the site's nginx, as a "path" of it or as a "host" beside it."""

    def __init__(self, way, *flags, limits=True, cdn=False):
        super().__init__(*flags, readers=1, prefix="/shop" if way == "path" else "", secrets=[new_secret()])
        self.way, self.limits, self.cdn = way, limits, cdn
        self.here = pathlib.Path(self.directory)
        self.http_port = self.https_port = 0

    def placed(self, text):
        """A block with this machine's places in it."""
        for there, here in (("/usr/share/larder", "%s/usr/share/larder" % self.here), ("/etc/larder", "%s/etc" % self.here),
                            ("/etc/letsencrypt/live/shop.example.org", str(self.here)),
                            ("/var/www/acme", "%s/acme" % self.here), ("/var/log/nginx", "%s/logs" % self.here), ("192.0.2.0/24", "127.0.0.1"),
                            ("listen 80;", "listen 127.0.0.1:%d;" % self.http_port),
                            ("listen 443 ", "listen 127.0.0.1:%d " % self.https_port)):
            text = text.replace(there, here)
        return text if self.limits else re.sub(r"(?m)^.*limits\.conf.*$", "", text)

    def configure(self, included, errors=False):
        blocks = {"http": "", "path": "", "host": ""}
        if included:
            blocks["http"] = self.placed(block("nginx", "http") + (block("nginx", "cdn") if self.cdn else ""))
            blocks[self.way] = self.placed(block("nginx", self.way) + (block("nginx", "errors") if errors else ""))
        kinds = ("client_body", "fastcgi", "proxy", "uwsgi", "scgi")
        text = SITE % {
            "directory": self.here, "user": "user root;" if os.geteuid() == 0 else "", "http_port": self.http_port,
            "https_port": self.https_port, "temporary": "".join("%s_temp_path %s/tmp-%s; " % (kind, self.here, kind) for kind in kinds),
            **blocks}
        version = subprocess.run([NGINX, "-v"], capture_output=True, text=True, check=True).stderr
        if tuple(int(part) for part in re.search(r"/(\d+)\.(\d+)\.(\d+)", version).groups()) >= (1, 25, 1):  # the words the page gives for it
            text = re.sub(r"(listen \S+ ssl) http2(.*?;)", r"\1\2 http2 on;", text)
        (self.here / "nginx.conf").write_text(text)

    def reconfigure(self, **changes):
        """Another configuration, and the processes that have the old one are gone."""
        self.configure(True, **changes)
        old = {pid for pid, parent, _, _, _ in processes() if parent == self.nginx.pid}
        self.reload()
        wait_until(lambda: not old & {pid for pid, _, _, _, _ in processes()}, START_SECONDS, "the old processes have ended")

    def shell(self, text):
        """Runs a block; returns what it said."""
        done = subprocess.run(["sh", "-ec", self.placed(text)], capture_output=True, text=True, timeout=60,
                              env=environment({"PATH": "%s/bin:%s" % (self.here, os.environ["PATH"]), "SOCKETS": self.run_dir}))
        expect_equal(done.returncode, 0, "%s, which says %s" % (text, done.stderr))
        return done.stdout + done.stderr

    def reload(self):
        """As the page says; nginx finds nothing to warn of."""
        said = self.shell(block("sh", ""))
        expect("test is successful" in said and not re.search(r"\[(?!notice)", said), "nginx says " + said)

    def start_nginx(self):
        make("install", "DESTDIR=%s" % self.here, "PREFIX=/usr")
        for name in "www", "bin", "logs", "acme/.well-known/acme-challenge":
            (self.here / name).mkdir(parents=True)
        for name, text in (("www/index.html", "<h1>site</h1>"), ("www/oops.html", "<h1>oops</h1>"), ("www/shopping.html", "<p>"),
                           ("www/data.json", '{"a": "%s"}' % ("b" * 4000)), ("acme/.well-known/acme-challenge/token", "proof"),
                           ("bin/nginx", '#!/bin/sh\nexec %s -e stderr -p %s -c %s/nginx.conf "$@"\n' % (NGINX, self.here, self.here))):
            (self.here / name).write_text(text)
        (self.here / "bin/nginx").chmod(0o755)
        make_certificate(self.here / "site.pem", self.here / "site.key", "DNS:example.org")
        make_certificate(self.here / "fullchain.pem", self.here / "privkey.pem", "DNS:shop.example.org")
        self.http_port, self.https_port = free_port(), free_port()
        self.configure(False)
        with open(self.here / "nginx.log", "ab") as log:
            self.nginx = subprocess.Popen([self.here / "bin/nginx", "-g", "daemon off;"], stdin=subprocess.DEVNULL, stdout=log,
                                          stderr=log, env=environment(), start_new_session=True)
        site = "http://127.0.0.1:%d" % self.http_port
        wait_until(lambda: self.nginx.poll() is not None or answers(site), START_SECONDS, "nginx answers")
        expect(self.nginx.poll() is None, "nginx does not start:\n" + self.nginx_log())
        self.before = self.site()
        self.url = site + self.prefix
        self.shell(block("sh", self.way))
        self.reconfigure()

    def wait_ready(self, seconds=START_SECONDS):
        wait_until(lambda: self.ask("GET", "/ready")[0] == 200, seconds, "GET /ready is 200")

    def ask(self, method, path, *arguments):
        """(status, headers, body) by curl, from the host of its own or below the path."""
        where = {"host": "https://shop.example.org:%d" % self.https_port, "path": "http://example.org:%d/shop" % self.http_port}[self.way]
        return self.curl(where + path, "-X", method, *arguments)

    def curl(self, url, *arguments):
        host, port = url.split("/")[2].split(":")
        done = subprocess.run(["curl", "-sSi", "--max-time", "10", "--cacert", self.here / "fullchain.pem", "--resolve",
                               "%s:%s:127.0.0.1" % (host, port), *arguments, url], capture_output=True, timeout=60)
        expect_equal((done.returncode, done.stderr), (0, b""), "curl for " + url)
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        return int(first.split()[1]), {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}, body

    def site(self):
        """What the site answers, without what changes from moment to moment."""
        found = []
        for method, path, headers in (("GET", "/", {}), ("GET", "/nope", {}), ("GET", "/shopping.html", {}), ("GET", "/docs/", {}),
                                      ("GET", "/products", {}), ("GET", "/shop", {}), ("TRACE", "/", {}), ("POST", "/", {"Content-Length": "0"}),
                                      ("GET", "/data.json", {"Accept-Encoding": "gzip"}), ("GET", "/", {"X-Long": "a" * 12_000}),
                                      ("GET", "/", {"X-Long": "a" * 17_000}), ("GET", "//", {}), ("GET", "/", {"Host": "example.com"}),
                                      ("GET", "/?" + "a" * 20_000, {}), ("POST", "/", {"Content-Length": "4000000"})):
            client = Client("http://127.0.0.1:%d" % self.http_port, keep=False)
            answer = client.request(method, path, None, {"Host": "example.org", **headers})
            client.close()
            found.append((method, path[:20], answer.status, [(name, value) for name, value in answer.headers.items() if name != "Date"],
                          answer.body))
        return found

    def expect_site_as_before(self):
        for before, after in zip(self.before, self.site()):
            expect_equal(after, before, "what the site answers")


@test("below a path the site around it stays as it was, and the contract holds")
def _():
    with Existing("path", "--probes", "on", limits=False) as service:
        service.expect_site_as_before()
        for method, path, status in (("GET", "/products/0", 404), ("DELETE", "/health", 405), ("POST", "/docs/", 405), ("GET", "/docs/nope", 404)):
            answer = service.ask(method, path)
            expect_equal((answer[0], answer[1]["content-type"]), (status, "application/problem+json"), "%s %s" % (method, path))
            expect("x-site" not in answer[1], "it has the site's header")
        expect_equal(service.ask("GET", "/docs/")[0], 200, "the page")
        service.reconfigure(errors=True)
        done = subprocess.run([sys.executable, str(ROOT / "tests" / "contract.py"), "--application", "--secret-file", service.secret_file,
                               service.url], capture_output=True, text=True, timeout=300)
        expect_equal(done.returncode, 0, "the contract:\n" + done.stdout[-3000:] + done.stderr)
        lines = [json.loads(line) for line in (service.here / "logs/larder.log").read_text().splitlines()]
        service.limits = True
        service.reconfigure()
        client = Client(service.url)
        found = [client.get("/products/1") for _ in range(600)]
        client.close()
        expect_equal({answer.status for answer in found}, {200, 429}, "statuses with limits.conf")
        refused = next(answer for answer in found if answer.status == 429)
        expect_problem(refused, 429)
        expect_equal(refused.headers["Retry-After"], "1", "Retry-After")
        service.expect_site_as_before()
        expect(len(lines) > 1000 and all(line["request_id"] for line in lines), "the log has %d lines" % len(lines))


@test("on a host of its own TLS, the redirect and the certificate's renewal work, and the site beside it stays as it was")
def _():
    with Existing("host", limits=False) as service:
        service.expect_site_as_before()
        status, headers, _ = service.ask("GET", "/products/1")
        expect_equal((status, headers["strict-transport-security"], headers["server"]), (200, "max-age=31536000", headers["server"]), "a read")
        for method, path, status in (("GET", "/nope", 404), ("TRACE", "/health", 405), ("GET", "/" + "a" * 40, 404)):
            answer = service.ask(method, path)
            expect_equal((answer[0], answer[1]["content-type"]), (status, "application/problem+json"), "%s %s" % (method, path))
        plain = "http://shop.example.org:%d" % service.http_port
        expect_equal(service.curl(plain + "/.well-known/acme-challenge/token")[2], b"proof", "the challenge")
        status, headers, _ = service.curl(plain + "/products?limit=1")
        expect_equal((status, headers["location"]), (308, "https://shop.example.org/products?limit=1"), "the redirect")
        expect_equal(service.curl("https://shop.example.org:%d/products/1" % service.https_port, "-H", "Host: example.net")[2],
                     b"default\n", "another name")
        old = (service.here / "fullchain.pem").read_text()
        make_certificate(service.here / "fullchain.pem", service.here / "privkey.pem", "DNS:shop.example.org")
        service.reconfigure()
        shown = subprocess.run(["openssl", "s_client", "-connect", "127.0.0.1:%d" % service.https_port, "-servername", "shop.example.org"],
                               input="", capture_output=True, text=True, timeout=20).stdout
        expect((service.here / "fullchain.pem").read_text().strip() in shown and old.strip() not in shown, "the old certificate is shown")
        expect_equal(service.ask("GET", "/products/1")[0], 200, "with the new certificate")


@test("behind a CDN limits go by the client's address: of IPv6 by its first half")
def _():
    def statuses(service, address, count, *arguments):
        return [service.ask("POST", "/api/login", "-H", "X-Forwarded-For: " + address % number, *arguments)[0] for number in range(count)]
    with Existing("host", cdn=True) as service:
        log_in = ("-H", "Content-Type: application/json", "-d", "{}")
        expect_equal(set(statuses(service, "2001:db8:%x::1", 30, *log_in)), {422}, "networks of their own")
        same = statuses(service, "2001:db8:1:2:3:4:5:%x", 30, *log_in)
        expect_equal((same[0], same[-1]), (422, 429), "one network")
        short = statuses(service, "2001:db8::%x", 30, *log_in)
        expect_equal((short[0], short[-1]), (422, 429), "one network, with zeros in it")
        expect_equal(set(statuses(service, "198.51.100.%d", 30, *log_in)), {422}, "IPv4 addresses")
        one = statuses(service, "203.0.113.%d, 198.51.100.77, 127.0.0.1", 30, *log_in)
        expect_equal((one[0], one[-1]), (422, 429), "one address that claims to pass on others")
