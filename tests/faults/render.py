"""nginx/render.sh: one configuration for every place."""
import os
import pathlib
import signal
import subprocess
import tempfile

from harness import NGINX, ROOT, Client, Service, environment, expect, expect_each, expect_equal, free_port, wait_until
from runner import test


def render(*arguments, **variables):
    return subprocess.run(["sh", str(ROOT / "nginx" / "render.sh"), *arguments], env=environment(variables),
                          capture_output=True, text=True)


@test("SOCKETS and ACCESS_LOG set where nginx finds the service and logs, apart from its own directory")
def _():
    with Service(readers=1) as service, tempfile.TemporaryDirectory(prefix="larder-") as path:
        log, own = os.path.join(path, "log"), os.path.join(path, "own")
        port = free_port()
        done = render(own, "127.0.0.1:%d" % port, SOCKETS=service.run_dir, ACCESS_LOG=log)
        expect_equal((done.returncode, done.stderr), (0, ""), "render.sh")
        nginx = subprocess.Popen([NGINX, "-g", "daemon off;", "-e", "stderr", "-p", own, "-c", own + "/nginx/nginx.conf"],
                                 stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment(), start_new_session=True)
        try:
            wait_until(lambda: os.path.exists(own + "/nginx.pid"), 10, "nginx runs")
            client = Client("http://127.0.0.1:%d" % port)
            expect_equal(client.get("/products/1").status, 200, "a read")
            expect_equal(client.get("/docs/").status, 200, "the page")
            client.close()
        finally:
            nginx.send_signal(signal.SIGQUIT)
            errors = nginx.communicate(timeout=10)[1]
        expect_equal(nginx.returncode, 0, "exit status of nginx (%s)" % errors)
        expect("/products/1" in pathlib.Path(log).read_text(), "the request is not in the log")
        expect(not os.path.exists(own + "/access.log"), "there is a second log")


@test("what would break the configuration is refused with a sentence, and nothing is written")
def _():
    good = {"SOCKETS": "/run/larder", "ACCESS_LOG": "/dev/stdout"}

    def check(changes):
        with tempfile.TemporaryDirectory(prefix="larder-") as path:
            done = render(path, "127.0.0.1:8080", **{**good, **changes})
            expect_equal((done.returncode, os.listdir(path)), (1, []), "status and files with %s" % changes)
            expect(done.stderr.startswith("render.sh: ") and done.stderr.count("\n") == 1, "it says %r" % done.stderr)
    good = {**good, "CERTIFICATE": "/c.pem", "CERTIFICATE_KEY": "/k.pem"}
    expect_each([{name: value} for name in good for value in ("relative", '/a"b', "/a;b", "/a$b", "/a\nb", "/a|b", "/a&b")]
                + [{"SOCKETS": "/" + "x" * 96}, {"CONNECTIONS": "0"}, {"CONNECTIONS": "many"}, {"LIMITS": "yes"},
                   {"HSTS": "1y"}, {"CERTIFICATE": ""}, {"CERTIFICATE_KEY": ""}], check)


@test("HTTP/2 is switched on in the words of the nginx that is there")
def _():
    old, new = ("listen 127.0.0.1:8443 ssl http2 backlog", None), ("listen 127.0.0.1:8443 ssl backlog", "http2 on;")

    def check(case):
        version, (listen, directive) = case
        with tempfile.TemporaryDirectory(prefix="larder-") as path:
            program = pathlib.Path(path, "nginx")
            program.write_text("#!/bin/sh\necho 'nginx version: nginx/%s' >&2\n" % version)
            program.chmod(0o755)
            done = render(path + "/run", "127.0.0.1:8443", CERTIFICATE="/c.pem", CERTIFICATE_KEY="/k.pem",
                          PATH="%s:%s" % (path, os.environ["PATH"]))
            expect_equal((done.returncode, done.stderr), (0, ""), "render.sh")
            text = pathlib.Path(path, "run/nginx/nginx.conf").read_text()
            expect(listen in text and (directive is None or directive in text), text)
            expect((directive is None) == ("http2 on" not in text), "for %s:\n%s" % (version, text))
    expect_each([("1.18.0 (Ubuntu)", old), ("1.22.1", old), ("1.25.0", old), ("1.25.1", new), ("1.25.5", new), ("1.26.3", new), ("1.30.6", new),
                 ("2.0.1", new)], check)
