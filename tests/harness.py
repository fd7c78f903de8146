#!/usr/bin/env python3
"""A whole Larder for a test: database, supervisor, workers and nginx, in a directory that is gone afterwards.

    with Service("--cors-origin", "*", readers=1) as service:
        answer = service.client().get("/products/1")

Or around a command, with {URL} in its arguments replaced by the base URL, {SECRET} by the secret file's path, {CA} by the certificate's:

    python3 tests/harness.py [--prefix /shop] [--tls] [--readers N] [--larder BINARY] COMMAND ARG...

The binary is build/larder, or what the variable LARDER names. Everything listens on 127.0.0.1 and is stopped
by its pid. Leaving the `with` block is a test too: exit status 0, no process and no socket left, no worker
that died unasked, no finding of a sanitizer in the log.
"""
import argparse
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import sys
import tempfile
import time
from urllib.parse import urlsplit

ROOT = pathlib.Path(__file__).resolve().parent.parent
NGINX = shutil.which("nginx") or "/usr/sbin/nginx"
SANITIZER = re.compile(r"ERROR: AddressSanitizer|runtime error:|LeakSanitizer")
START_SECONDS = 15
STOP_SECONDS = 15


def larder():
    """The binary under test."""
    return os.path.abspath(os.environ.get("LARDER") or ROOT / "build" / "larder")


def sanitized():
    """True for a sanitizer build, which is several times slower."""
    return b"__asan_init" in pathlib.Path(larder()).read_bytes()


def environment(changes=None):
    """Without the caller's own settings: LARDER names the binary, LARDER_… are larder's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LARDER")}
    return {**kept, **(changes or {})}


# ------------------------------------------------------------------------------------------ expectations

def expect(condition, complaint):
    if not condition:
        raise AssertionError(complaint)


def expect_equal(actual, expected, subject):
    expect(actual == expected, "%s: expected %r, got %r" % (subject, expected, actual))


def expect_each(cases, check):
    """Runs the check on every case and then tells of all that failed."""
    complaints = []
    for case in cases:
        try:
            check(case)
        except AssertionError as complaint:
            complaints.append(str(complaint))
    expect(not complaints, "\n".join(complaint.strip() for complaint in complaints))


def wait_until(condition, seconds, subject):
    """Polls until the condition is true; returns its value."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        expect(time.monotonic() < deadline, "not within %g s: %s" % (seconds, subject))
        time.sleep(0.01)


# --------------------------------------------------------------------------------------------- processes

def processes():
    """(pid, parent, session, name, state) of every process that can be seen."""
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                text = pathlib.Path("/proc", entry, "stat").read_text()
            except OSError:
                continue
            name, rest = text[text.index("(") + 1:].rsplit(")", 1)
            state, parent, _, session = rest.split()[:4]
            yield int(entry), int(parent), int(session), name, state


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


# ------------------------------------------------------------------------------------------------- HTTP

class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    def __str__(self):
        return "%d %s" % (self.status, self.body[:300].decode("utf-8", "replace"))


class Client:
    """One connection to the service, kept open; without `keep` one for each request. Not to be shared by threads."""

    def __init__(self, url, timeout=30, keep=True, ca=None):
        parts = urlsplit(url)
        self.prefix, self.keep = parts.path, keep
        if parts.scheme == "https":
            self.connection = http.client.HTTPSConnection(parts.hostname, parts.port, timeout=timeout,
                                                          context=ssl.create_default_context(cafile=ca))
        else:
            self.connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout)
        self.sent = 0.0  # when the last request was on its way as a whole

    def request(self, method, path, body=None, headers=None):
        headers = {**({} if self.keep else {"Connection": "close"}), **(headers or {})}
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        try:
            self.connection.request(method, self.prefix + path, body, headers)
            self.sent = time.monotonic()
            received = self.connection.getresponse()
            return Answer(received.status, received.headers, received.read())
        except BaseException:
            self.connection.close()  # the next request starts on a new one
            raise

    def get(self, path, headers=None):
        return self.request("GET", path, headers=headers)

    def post(self, path, body, headers=None):
        return self.request("POST", path, body, headers)

    def delete(self, path):
        return self.request("DELETE", path)

    def close(self):
        self.connection.close()


def product(sku, **changes):
    """A body for POST /products that is fine unless changes make it otherwise."""
    return {"sku": sku, "name": "Test " + sku, "price_cents": 100, "category_id": 1, **changes}


def expect_problem(answer, status):
    """An error, in the form that every error has."""
    expect_equal(answer.status, status, "status of %s" % answer)
    expect_equal(answer.headers["Content-Type"], "application/problem+json", "media type of %s" % answer)
    expect_equal(answer.json()["status"], status, "member status of %s" % answer)
    if status == 503:
        expect(answer.headers["Retry-After"], "a 503 without Retry-After: %s" % answer)


# ---------------------------------------------------------------------------------------------- service

class Service:
    """Context manager: larder and nginx. Flags go to `larder serve`; env adds variables to its environment;
    secrets are the lines of its secret file, without which there are no logins and no deals; binary is another
    program than the one under test. With tls the port speaks TLS and HTTP/2; nginx adds variables for render.sh."""
    nginx_statuses = (0,)  # at its end

    def __init__(self, *flags, readers=2, sync="full", demo=True, prefix="", database=None, env=None, secrets=(),
                 binary=None, tls=False, nginx=None):
        self.directory = tempfile.mkdtemp(prefix="larder-")
        self.run_dir = os.path.join(self.directory, "run")
        self.database = database or os.path.join(self.directory, "larder.db")
        self.demo, self.prefix, self.env, self.binary = demo, prefix, env, binary or larder()
        self.certificate = os.path.join(self.directory, "certificate.pem") if tls else None
        self.variables = nginx or {}
        self.flags = ["--db", self.database, "--run-dir", self.run_dir, "--sync", sync, *flags]
        self.flags += [] if readers is None else ["--readers", str(readers)]
        self.secret_file = os.path.join(self.directory, "secret")
        self.flags += ["--secret-file", self.secret_file] if secrets else []
        write_secrets(self.secret_file, *secrets)
        self.supervisor = self.nginx = None
        self.sessions = set()  # of each supervisor and its workers
        self.clients = []
        self.url = ""

    def __enter__(self):
        try:
            if not os.path.exists(self.database):
                create_database(self.database, self.demo)
            self.serve()
            self.start_nginx()
            self.wait_ready()
            return self
        except BaseException:
            self.tear_down()
            raise

    def __exit__(self, kind, error, trace):
        try:
            if kind is None:
                self.stop()
        except BaseException:
            kind = AssertionError
            raise
        finally:
            if kind is not None and issubclass(kind, Exception):
                print("        the log ends:\n" + "".join(
                    "        | %s\n" % line for line in self.log().splitlines()[-8:]), end="")
            self.tear_down()

    # -- start

    def serve(self):
        """Starts `larder serve`: at first, or again after it was killed."""
        with open(os.path.join(self.directory, "larder.log"), "ab") as log:
            self.supervisor = subprocess.Popen(
                [self.binary, "serve", *self.flags], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=environment(self.env), start_new_session=True)
        self.sessions.add(self.supervisor.pid)

    def start_nginx(self):
        if self.certificate:
            key = os.path.join(self.directory, "key.pem")
            make_certificate(self.certificate, key)
            self.variables = {"CERTIFICATE": self.certificate, "CERTIFICATE_KEY": key, **self.variables}
        for _ in range(3):  # somebody else may take the port between the look and the use
            address = "127.0.0.1:%d" % free_port()
            subprocess.run(["sh", str(ROOT / "nginx" / "render.sh"), self.run_dir, address]
                           + ([self.prefix] if self.prefix else []), check=True, env=environment(self.variables))
            with open(os.path.join(self.directory, "nginx.log"), "ab") as log:
                self.nginx = subprocess.Popen(
                    [NGINX, "-g", "daemon off;", "-e", "stderr", "-p", self.run_dir,
                     "-c", os.path.join(self.run_dir, "nginx", "nginx.conf")],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment(),
                    start_new_session=True)
            self.url = "%s://%s%s" % ("https" if self.certificate else "http", address, self.prefix)
            try:
                wait_until(lambda: self.nginx.poll() is not None or answers(self.url, self.certificate), START_SECONDS,
                           "nginx answers")
            except AssertionError:
                raise AssertionError("nginx does not answer:\n" + self.nginx_log()) from None
            if self.nginx.poll() is None:
                return
        raise AssertionError("nginx does not start:\n" + self.nginx_log())

    def wait_ready(self, seconds=START_SECONDS):
        client = self.client()

        def is_ready():
            expect(self.supervisor.poll() is None, "larder has ended: " + self.log())
            return client.get("/ready").status == 200
        wait_until(is_ready, seconds, "GET /ready is 200")

    # -- look

    def client(self, keep=True):
        self.clients.append(Client(self.url, keep=keep, ca=self.certificate))
        return self.clients[-1]

    def pids(self):
        """The workers by their role: {"writer": 12, "reader 1": 13}."""
        return {name[len("larder-"):]: pid for pid, parent, _, name, state in processes()
                if parent == self.supervisor.pid and name.startswith("larder-") and state not in "ZX"}

    def log(self):
        return self.text("larder.log")

    def nginx_log(self):
        return self.text("nginx.log")

    def text(self, name):
        path = pathlib.Path(self.directory, name)
        return path.read_text("utf-8", "replace") if path.exists() else ""

    def socket_path(self, name):
        return os.path.join(self.run_dir, name)

    # -- trouble

    def kill(self, role, number=signal.SIGKILL):
        """Signals one worker; returns its pid and the time."""
        pid = wait_until(lambda: self.pids().get(role), START_SECONDS, "there is a " + role)
        os.kill(pid, number)
        return pid, time.monotonic()

    def kill_supervisor(self):
        self.supervisor.kill()
        self.supervisor.wait()

    def wait_successor(self, role, pid, seconds=5):
        """Waits until another process has the role."""
        return wait_until(lambda: self.pids().get(role) not in (None, pid), seconds, "there is a new " + role)

    # -- stop

    def stop(self, number=signal.SIGTERM, seconds=STOP_SECONDS):
        """Stops all and holds them to it. Returns the seconds that larder took."""
        started = time.monotonic()
        if self.supervisor.poll() is None:
            self.supervisor.send_signal(number)
        try:
            status = self.supervisor.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError("larder does not stop within %g s" % seconds) from None
        took = time.monotonic() - started
        expect_equal(status, 0, "exit status of larder")
        self.expect_nothing_left()
        self.expect_clean_log()
        if self.nginx is not None:
            self.nginx.terminate()
            status = self.nginx.wait(STOP_SECONDS)
            expect(status in self.nginx_statuses, "the web server ends with status %d" % status)
        return took

    def expect_nothing_left(self):
        left = self.left_over()
        expect(not left, "processes are left: %s" % left)
        sockets = [name for name in (os.listdir(self.run_dir) if os.path.isdir(self.run_dir) else [])
                   if stat.S_ISSOCK(os.stat(os.path.join(self.run_dir, name)).st_mode)]
        expect(not sockets, "sockets are left: %s" % sockets)

    def expect_clean_log(self):
        log = self.log()
        found = SANITIZER.search(log)
        expect(not found, "a sanitizer reports:\n" + log[found.start() if found else 0:][:3000])
        for line in log.splitlines():
            expect(not re.search(r"killed by signal (?!9 )|ended with status (?!0 )", line),
                   "a worker died unasked: " + line)

    def left_over(self):
        """Supervisors and workers of this service that have not ended."""
        return [pid for pid, _, session, _, state in processes() if session in self.sessions and state not in "ZX"]

    def tear_down(self):
        """Whatever happened: nothing stays."""
        for client in self.clients:
            client.close()
        for process, number in (self.nginx, signal.SIGTERM), (self.supervisor, signal.SIGKILL):
            if process is not None and process.poll() is None:
                process.send_signal(number)
                try:
                    process.wait(STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        for pid in self.left_over():
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not self.left_over(), STOP_SECONDS, "the killed workers are gone")
        shutil.rmtree(self.directory, ignore_errors=True)


def make_certificate(path, key, names="DNS:localhost,IP:127.0.0.1"):
    """A certificate signed by itself, so that it is its own authority."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=" + names, "-days", "2",
                    "-keyout", key, "-out", path], check=True, capture_output=True)


def answers(url, ca=None):
    client = Client(url, timeout=5, ca=ca)
    try:
        return client.get("/health").status > 0
    except OSError:
        return False
    finally:
        client.close()


def run_larder(*arguments, env=None, cwd=None, before=(), binary=None, timeout=10, typed=""):
    """Runs a command that ends by itself; `before` starts the command line, `typed` is its standard input. Returns
    what subprocess does."""
    process = subprocess.Popen([*before, binary or larder(), *arguments], stdin=subprocess.PIPE, text=True, cwd=cwd,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(env))
    try:
        output, errors = process.communicate(typed, timeout=timeout)
    except BaseException as error:
        process.terminate()  # a supervisor takes its workers along
        process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            raise AssertionError("larder %s goes on instead of ending" % " ".join(arguments)) from None
        raise
    return subprocess.CompletedProcess(arguments, process.returncode, output, errors)


def new_secret(name="1"):
    """A line of a secret file."""
    return "%s %s\n" % (name, os.urandom(32).hex())


def write_secrets(path, *lines):
    with open(path, "w", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.writelines(lines)


def create_database(path, demo=False):
    done = run_larder("init", "--db", path, *(["--demo"] if demo else []))
    expect_equal(done.returncode, 0, "exit status of larder init (%s)" % done.stderr.strip())


# ---------------------------------------------------------------------------------------------- command

def end_tidily_when_terminated():
    """SIGTERM and a closed terminal then leave through the `with` blocks, as Ctrl-C does."""
    def leave(number, _):
        for each in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(each, signal.SIG_IGN)
        sys.exit(128 + number)
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, leave)


def filled(command, service):
    places = {"{URL}": service.url, "{SECRET}": service.secret_file, "{CA}": service.certificate or ""}
    for mark, place in places.items():
        command = [argument.replace(mark, place) for argument in command]
    return command


def main():
    parser = argparse.ArgumentParser(description="Runs a command against a demo service.")
    parser.add_argument("--prefix", default="", help="serve below this path, such as /shop")
    parser.add_argument("--tls", action="store_true", help="serve TLS and HTTP/2, with a certificate signed by itself")
    parser.add_argument("--readers", type=int, help="reading processes")
    parser.add_argument("--larder", metavar="BINARY", help="instead of build/larder")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND ARG...")
    options = parser.parse_args()
    if not options.command:
        parser.error("a command is missing")
    if options.larder:
        os.environ["LARDER"] = options.larder
    with Service("--probes", "on", prefix=options.prefix, readers=options.readers, secrets=[new_secret()],
                 tls=options.tls) as service:
        status = subprocess.run(filled(options.command, service)).returncode
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    end_tidily_when_terminated()
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
    except AssertionError as complaint:
        sys.exit("harness.py: %s" % complaint)
