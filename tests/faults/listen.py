"""One socket for all lanes: --listen, descriptor 0, systemd's socket activation; and what other servers send."""
import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import threading

from fastcgi_client import FastCGI, encode
from harness import (Service, create_database, environment, expect, expect_each, expect_equal, free_port, larder,
                     new_secret, product, run_larder, wait_until)
from runner import Skip, test
from start import as_somebody_else, directory, expect_refusal

LOGIN = json.dumps({"email": "user1@example.com", "password": "larder-demo"}).encode()


class Alone(Service):
    """A larder without a web server: requests go to `address`, a path or (host, port)."""

    def __init__(self, *flags, address, before=(), stdin=subprocess.DEVNULL, pass_fds=(), **options):
        super().__init__(*flags, **options)
        self.address, self.before, self.stdin, self.pass_fds = address, list(before), stdin, pass_fds

    def serve(self):
        with open(os.path.join(self.directory, "larder.log"), "ab") as log:
            self.supervisor = subprocess.Popen(
                [*self.before, larder(), "serve", *self.flags], stdin=self.stdin, stdout=log, stderr=log,
                pass_fds=self.pass_fds, env=environment(self.env), start_new_session=True)
        self.sessions.add(self.supervisor.pid)

    def start_nginx(self):
        pass

    def wait_ready(self, seconds=15):
        def is_ready():
            expect(self.supervisor.poll() is None, "larder has ended: " + self.log())
            try:
                return self.ask("GET", "/ready").status == 200
            except OSError:
                return False
        wait_until(is_ready, seconds, "GET /ready is 200")

    def ask(self, *request, **options):
        with FastCGI(self.address) as peer:
            return peer.request(*request, **options)


def expect_all_lanes(service):
    """A read, a write and a login, on one connection and each on one of its own."""
    requests = [("GET", "/products/1", b"", 200),
                ("POST", "/products", json.dumps(product("one-%d" % os.getpid())).encode(), 201),
                ("POST", "/api/login", LOGIN, 200)]
    with FastCGI(service.address) as peer:
        expect_each(requests, lambda case: expect_equal(peer.request(*case[:3]).status, case[3], "status of %s %s" % case[:2]))
    requests[1] = (*requests[1][:3], 409)
    expect_each(requests, lambda case: expect_equal(service.ask(*case[:3]).status, case[3], "status of %s %s" % case[:2]))


def reload(service):
    """Reloads by SIGHUP; the service then listens where it did."""
    before = service.log().count("has reloaded")
    service.supervisor.send_signal(signal.SIGHUP)
    wait_until(lambda: service.log().count("has reloaded") > before, 10, "it has reloaded")


def listening(family=socket.AF_INET, address=("127.0.0.1", 0)):
    """A socket such as a starter of services makes."""
    made = socket.socket(family)
    made.bind(address)
    made.listen(64)
    return made


# ---------------------------------------------------------------------------------------------- --listen

@test("--listen PATH serves reads, writes and logins from one process; the socket has the mode, and goes at the end")
def _():
    with directory() as here:
        path = str(here / "one.sock")
        with Alone("--listen", path, "--socket-mode", "600", address=path, readers=None, secrets=[new_secret()]) as service:
            expect_all_lanes(service)
            expect_equal(sorted(service.pids()), ["writer"], "the workers")
            expect_equal(run_larder("health", "--listen", path).stdout, "ready\n", "larder health")
            expect_equal(oct(stat.S_IMODE(os.stat(path).st_mode)), oct(0o600), "mode of the socket")
            expect_equal(sorted(os.listdir(service.run_dir)), ["scoreboard"], "files in the run directory")
            reload(service)
            expect_equal(service.ask("GET", "/products/1").status, 200, "a GET after a reload")
        expect(not os.path.exists(path), "the socket is left")


@test("--listen takes a port of an IPv4 or IPv6 address, and of localhost; the variable does the same")
def _():
    def check(case):
        text, host = case
        port = free_port()
        address = (host, port)
        try:
            socket.create_server(address, family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
        except OSError:
            raise Skip("this machine has no %s" % host) from None
        for flags, env in ((["--listen", "%s:%d" % (text, port)], None), ([], {"LARDER_LISTEN": "%s:%d" % (text, port)})):
            with Alone(*flags, address=address, env=env, readers=0, secrets=[new_secret()]) as service:
                expect_all_lanes(service)
                expect_equal(run_larder("health", *flags, env=env).stdout, "ready\n", "larder health at " + text)
                expect("L01" not in service.log(), "it warns of its own machine:\n" + service.log())
    expect_each([("127.0.0.1", "127.0.0.1"), ("localhost", "127.0.0.1"), ("[::1]", "::1")], check)


@test("a port that other machines may reach is warned of in the log")
def _():
    port = free_port()
    with Alone("--listen", "0.0.0.0:%d" % port, address=("127.0.0.1", port), readers=None) as service:
        expect(re.search(r"L01 listens on 0\.0\.0\.0 port %d: .*firewall" % port, service.log()), "no warning in the log")


@test("a socket file on which nobody listens is replaced; a live one and any other file are left alone")
def _():
    with directory() as here:
        path = here / "one.sock"
        listening(socket.AF_UNIX, str(path)).close()  # what a killed program leaves
        expect(stat.S_ISSOCK(path.stat().st_mode), "no stale socket to begin with")
        with Alone("--listen", str(path), address=str(path), readers=None) as service:
            create_database(here / "other.db")
            other = ["serve", "--db", str(here / "other.db"), "--listen", str(path)]
            expect_refusal(run_larder(*other), 1, "another program listens there")
            expect_equal(service.ask("GET", "/health").status, 200, "a GET of the first")
            service.kill_supervisor()
            wait_until(lambda: not service.left_over(), 5, "the workers are gone")
            service.serve()
            service.wait_ready()
        path.write_text("mine")
        expect_refusal(run_larder(*other), 1, "something else than a socket")
        expect_equal(path.read_text(), "mine", "the file")


@test("a socket that somebody put in the place of ours is not removed at the end")
def _():
    with directory() as here:
        path = here / "one.sock"
        with Alone("--listen", str(path), address=str(path), readers=None):
            path.unlink()
            successor = listening(socket.AF_UNIX, str(path))
        expect(path.exists(), "the successor's socket was removed")
        successor.close()


@test("an address or path that cannot be listened on is refused in one sentence that says what to do")
def _():
    with directory() as here:
        create_database(here / "larder.db")
        taken = listening()
        cases = [("127.0.0.1:%d" % taken.getsockname()[1], 1, "another program listens there: .* another port"),
                 ("192.0.2.7:9000", 1, "no such address"), ("[2001:db8::7]:9000", 1, "no such"),
                 (str(here / "none" / "s"), 1, "no such directory"), (str(here / "larder.db" / "s"), 1, "no such directory"),
                 ("/" + "x" * 107, 2, "up to 107 bytes")]
        cases += [(text, 2, "--listen must be ") for text in (
            "larder.sock", "9000", ":9000", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:x",
            "127.0.0.1:+9", "::1:9000", "[::1]", "[127.0.0.1]:9000", "[::1:9000", "example.org:9000", "127.1:9000")]
        with taken:
            expect_each(cases, lambda case: expect_refusal(run_larder(
                "serve", "--db", str(here / "larder.db"), "--listen", case[0]), *case[1:]))
        expect_refusal(run_larder("serve", "--db", str(here / "larder.db"), "--listen", str(here / "s"), "--readers", "1"),
                       1, "--readers must be 0")
        expect_equal(sorted(os.listdir(here)), ["larder.db", "larder.db.lock"], "the files")


@test("somebody without rights is told so: a port below 1024, a directory that may not be written")
def _():
    before = as_somebody_else()
    with directory() as here:
        here.chmod(0o755)
        binary, home = here / "larder", here / "home"
        shutil.copy(larder(), binary)
        home.mkdir()
        home.chmod(0o777)
        done = run_larder("init", "--db", str(home / "larder.db"), before=before, binary=binary)
        expect_equal(done.returncode, 0, "exit status of larder init (%s)" % done.stderr)

        def refused(listen, advice):
            expect_refusal(run_larder("serve", "--db", str(home / "larder.db"), "--listen", listen, before=before,
                                      binary=binary), 1, advice)
        refused(str(here / "one.sock"), "directory must be writable")
        with open("/proc/sys/net/ipv4/ip_unprivileged_port_start") as file:
            if int(file.read()) <= 80:
                raise Skip("here anybody may take port 80")
        refused("127.0.0.1:80", "from 1024 on")


@test("with --listen no run directory is needed: where the default cannot be made it serves all the same")
def _():
    before = as_somebody_else()
    if not before:
        raise Skip("only root can become somebody without rights")
    with directory() as here:
        here.chmod(0o755)
        home = here / "home"
        home.mkdir()
        home.chmod(0o777)
        binary, port = here / "larder", free_port()
        shutil.copy(larder(), binary)
        run_larder("init", "--db", str(home / "larder.db"), before=before, binary=binary)
        flags = ["--db", str(home / "larder.db"), "--listen", "127.0.0.1:%d" % port]
        with open(here / "log", "wb") as log:
            service = subprocess.Popen([*before, str(binary), "serve", *flags], stdin=subprocess.DEVNULL, stderr=log,
                                       env=environment())

        def answers():
            try:
                with FastCGI(("127.0.0.1", port)) as peer:
                    return peer.request("GET", "/ready").status == 200
            except OSError:
                return False
        try:
            wait_until(answers, 10, "GET /ready is 200")
            service.send_signal(signal.SIGHUP)
            wait_until(lambda: "has reloaded" in (here / "log").read_text(), 10, "it has reloaded")
            expect(answers(), "no answer after a reload")
        finally:
            service.terminate()
            expect_equal(service.wait(15), 0, "exit status, log: %s" % (here / "log").read_text())
        expect("R03" not in (here / "log").read_text(), "a worker was lost: %s" % (here / "log").read_text())


def requests_when_it_stops(service, count):
    """Connects `count` times, sends a request on each, then stops the service; the statuses of the answers."""
    peers = [FastCGI(service.address) for _ in range(count)]
    for number, peer in enumerate(peers):
        body = json.dumps(product("stop-%d" % number)).encode()
        peer.send(encode("POST", "/products", body, keep=False))
    service.supervisor.send_signal(signal.SIGTERM)
    statuses = []
    for peer in peers:
        with peer:
            statuses.append(peer.receive().status)
    return statuses


@test("what waits in the queue of a port when the service stops is answered")
def _():
    port = free_port()
    with Alone("--listen", "127.0.0.1:%d" % port, address=("127.0.0.1", port), readers=None) as service:
        os.kill(service.pids()["writer"], signal.SIGSTOP)
        threading.Timer(0.3, os.kill, (service.pids()["writer"], signal.SIGCONT)).start()
        expect_equal(requests_when_it_stops(service, 100), [201] * 100, "the answers")


# -------------------------------------------------------------------------------------------- handed over

@test("a listening socket on descriptor 0 is served; it stays usable for a successor")
def _():
    with listening() as made:
        address = made.getsockname()
        for _ in range(2):
            with Alone(address=address, stdin=made, readers=None, secrets=[new_secret()]) as service:
                expect_all_lanes(service)
                expect("on descriptor 0 " in service.log(), "the log does not name it:\n" + service.log())
                reload(service)
                expect_equal(service.ask("GET", "/products/1").status, 200, "a GET after a reload")


@test("spawn-fcgi can start it")
def _():
    program = shutil.which("spawn-fcgi")
    if not program:
        raise Skip("spawn-fcgi is not installed")
    with directory() as here:
        path = str(here / "spawned.sock")
        with Alone(address=path, before=[program, "-n", "-s", path, "--"], readers=None, secrets=[new_secret()]) as service:
            expect_all_lanes(service)


@contextlib.contextmanager
def activation(sockets):
    """The start of a command line that hands the sockets over as systemd does, and the descriptors it needs."""
    fds = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, 100) for each in sockets]  # out of the way of 3 and those after it
    moves = " ".join("%d<&%d" % (3 + place, fd) for place, fd in enumerate(fds))
    try:
        yield ["bash", "-c", 'exec %s; export LISTEN_PID=$$; exec "$@"' % moves, "bash"], fds
    finally:
        for fd in fds:
            os.close(fd)


@test("systemd's socket activation: of three sockets each has its lane by its name, and they stay")
def _():
    with directory() as here, contextlib.ExitStack() as stack:
        made = [stack.enter_context(listening(socket.AF_UNIX, str(here / name))) for name in ("login", "write", "read")]
        before, fds = stack.enter_context(activation(made))
        with Alone(address=str(here / "read"), before=before, pass_fds=fds, readers=2, secrets=[new_secret()],
                   env={"LISTEN_FDS": "3", "LISTEN_FDNAMES": "login:write:read"}) as service:
            wait_until(lambda: sorted(service.pids()) == ["login", "reader 1", "reader 2", "writer"], 5, "all workers are there")
            cases = [("read", "GET", "/products/1", b"", 200), ("login", "POST", "/api/login", LOGIN, 200),
                     ("write", "POST", "/api/login", LOGIN, 421), ("write", "GET", "/products/1", b"", 421),
                     ("write", "POST", "/products", json.dumps(product("activated")).encode(), 201)]

            def check(case):
                with FastCGI(str(here / case[0])) as peer:
                    expect_equal(peer.request(*case[1:4]).status, case[4], "%s %s on %s" % (case[1], case[2], case[0]))
            expect_each(cases[:-1], check)
            reload(service)
            expect_each(cases, check)
        expect_equal(sorted(os.listdir(here)), ["login", "read", "write"], "the socket files, which are not ours")


@test("systemd's socket activation: a single socket, whatever its name, is for all lanes")
def _():
    for names in ({}, {"LISTEN_FDNAMES": "larder.socket"}):
        with listening() as made, activation([made]) as (before, fds):
            with Alone(address=made.getsockname(), before=before, pass_fds=fds, readers=None, secrets=[new_secret()],
                       env={"LISTEN_FDS": "1", **names}) as service:
                expect_all_lanes(service)


def start_handed_over(sockets, names, count, *flags):
    with directory() as here, activation(sockets) as (before, fds):
        create_database(here / "larder.db")
        env = environment({"LISTEN_FDS": str(count), **({"LISTEN_FDNAMES": names} if names is not None else {})})
        done = subprocess.run([*before, larder(), "serve", "--db", str(here / "larder.db"), "--run-dir", str(here / "run"),
                               *flags], pass_fds=fds, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=10)
        return subprocess.CompletedProcess(["serve", "with", str(names)], done.returncode, done.stdout, done.stderr)


@test("sockets that were handed over wrongly are refused in one sentence")
def _():
    with contextlib.ExitStack() as stack:
        made = [stack.enter_context(listening()) for _ in range(3)]
        plain = stack.enter_context(socket.socket())
        secret = stack.enter_context(directory()) / "secret"
        secret.write_text(new_secret())
        secret.chmod(0o600)
        cases = [(made[:2], None, 2, "FileDescriptorName"), (made, "a:b:c", 3, "FileDescriptorName"),
                 (made, "read:read:write", 3, "FileDescriptorName"), (made[:2], "read:login", 2, "FileDescriptorName"),
                 (made[:1], "write", 1, "FileDescriptorName"), (made, "read:write:other", 3, "FileDescriptorName"),
                 ([plain], None, 1, "not a listening stream socket"), (made[:1], None, 9, "not a listening|FileDescriptorName"),
                 (made[:1], "larder.socket", 1, "--listen cannot be given", "--listen", "127.0.0.1:9"),
                 (made[:1], "larder.socket", 1, "--readers must be 0", "--readers", "2"),
                 (made[:2], "read:write", 2, "no socket named login", "--secret-file", str(secret))]

        def check(case):
            sockets, names, count, advice, *flags = case
            expect_refusal(start_handed_over(sockets, names, count, *flags), 1, advice)
        expect_each(cases, check)


@test("LISTEN_FDS of another process is not looked at")
def _():
    port = free_port()
    with Alone("--listen", "127.0.0.1:%d" % port, address=("127.0.0.1", port), readers=None,
               env={"LISTEN_PID": "1", "LISTEN_FDS": "3"}) as service:
        expect_equal(service.ask("GET", "/health").status, 200, "a GET")


@test("systemd-socket-activate can start it")
def _():
    program = shutil.which("systemd-socket-activate")
    if not program:
        raise Skip("systemd-socket-activate is not installed")
    port = free_port()
    with Alone(address=("127.0.0.1", port), before=[program, "-l", "127.0.0.1:%d" % port, "--"], readers=None,
               secrets=[new_secret()]) as service:
        expect_all_lanes(service)


# ------------------------------------------------------------------------------------ what other servers send

APACHE = {"SCRIPT_FILENAME": "proxy:fcgi://larder-read/", "SCRIPT_NAME": "/products/1", "PATH_INFO": "/products/1",
          "QUERY_STRING": "", "GATEWAY_INTERFACE": "CGI/1.1", "SERVER_PROTOCOL": "HTTP/1.1", "REMOTE_ADDR": "127.0.0.1",
          "HTTP_HOST": "shop.example", "HTTP_ACCEPT": "*/*", "CONTEXT_DOCUMENT_ROOT": "/var/www/html", "REQUEST_ID": None}


@test("parameters that other servers send change nothing; LARDER_PREFIX alone is the prefix of links")
def _():
    with Service(readers=0) as service, FastCGI(service.socket_path("read.sock")) as peer:
        plain = peer.request("GET", "/products?limit=1")
        expect_equal(peer.request("GET", "/products?limit=1", parameters=APACHE).body, plain.body, "the page")
        below = peer.request("GET", "/shop/products?limit=1", parameters={**APACHE, "LARDER_PREFIX": "/shop"})
        expect(b'"/shop/products?after=' in below.body, "the link is %s" % below.body)
        expect_equal(peer.request("GET", "http://shop.example/products/1", parameters=APACHE).status, 200, "absolute form")
        expect_equal(peer.request("GET", "/products/1", parameters={"CONTENT_TYPE": "", "CONTENT_LENGTH": "0"}).status, 200,
                     "a GET with an empty type and length 0")


@test("without a REQUEST_ID the service makes one or takes the client's, and answers it, on errors too")
def _():
    with Service("--probes", "on", readers=0) as service, FastCGI(service.socket_path("read.sock")) as peer:
        seen = set()
        for method, path in (("GET", "/products/1"), ("GET", "/nope"), ("DELETE", "/health"), ("OPTIONS", "/health"),
                             ("HEAD", "/products/1"), ("GET", "/wait?ms=1")):
            own = peer.request(method, path, parameters={"REQUEST_ID": None, "HTTP_X_REQUEST_ID": "of.the-client_1"})
            expect_equal(own.headers.get("X-Request-Id"), "of.the-client_1", "the id of %s %s" % (method, path))
            made = peer.request(method, path, parameters={"REQUEST_ID": None, "HTTP_X_REQUEST_ID": "not fit"})
            expect(re.fullmatch(r"[0-9a-f]{32}", made.headers.get("X-Request-Id", "")), "made: %s" % made.headers)
            seen.add(made.headers["X-Request-Id"])
            given = peer.request(method, path)
            expect("X-Request-Id" not in given.headers, "a second id beside the web server's")
        expect_equal(len(seen), 6, "different ids")


@test("a body without CONTENT_LENGTH is taken to its end, and not acted on when the connection breaks before that")
def _():
    with Service(readers=0) as service:
        path = service.socket_path("write.sock")
        body = json.dumps(product("no-length")).encode()
        with FastCGI(path) as peer:
            peer.send(encode("POST", "/products", body, {"CONTENT_LENGTH": None})[:-8])  # all but the record that ends the body
        with FastCGI(path) as peer:
            expect_equal(peer.request("POST", "/products", body, {"CONTENT_LENGTH": None}).status, 201, "the whole one")
            expect_equal(peer.request("POST", "/products", b"x" * (1 << 21), {"CONTENT_LENGTH": None}).status, 413, "2 MiB")


@test("without FCGI_KEEP_CONN the connection is closed after the answer, an error and a wait too; with it, it stays")
def _():
    with Service("--probes", "on", readers=0) as service:
        def check(case):
            method, path, status = case
            with FastCGI(service.socket_path("read.sock")) as peer:
                expect_equal(peer.request(method, path, keep=False).status, status, "status of %s %s" % (method, path))
                expect_equal(peer.socket.recv(1), b"", "what follows %s %s" % (method, path))
            with FastCGI(service.socket_path("read.sock")) as peer:
                for _ in range(2):
                    expect_equal(peer.request(method, path).status, status, "kept: status of %s %s" % (method, path))
        expect_each([("GET", "/products/1", 200), ("GET", "/nope", 404), ("DELETE", "/health", 405),
                     ("GET", "/wait?ms=5", 200)], check)
