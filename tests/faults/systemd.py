"""The service under a service manager: what it tells systemd, and the unit that ships."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

from fastcgi_client import FastCGI
from harness import ROOT, Service, create_database, expect, expect_equal, larder, new_secret, sanitized, wait_until
from listen import reload
from machine import Machine, Unavailable
from runner import Skip, test
from start import directory

UNIT = ROOT / "systemd" / "larder.service"
EXPOSURE = 1.0  # of 10, as systemd-analyze security counts


# ------------------------------------------------------------------------------------ what systemd is told

class Manager:
    """The other end of NOTIFY_SOCKET. `told` is what has come so far, a datagram each."""

    def __init__(self, address):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(address)
        self.socket.setblocking(False)
        self.told = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def hear(self):
        with contextlib.suppress(BlockingIOError):
            while True:
                self.told.append(self.socket.recv(4096).decode())
        return self.told

    def wait_for(self, start, seconds=10, after=0):
        """Waits for a datagram that starts so, behind the first `after`; returns its place."""
        def place():
            return next((i + 1 for i, text in enumerate(self.hear()) if i >= after and text.startswith(start)), None)
        return wait_until(place, seconds, "the manager is told %s; it was told %s" % (start, self.told)) - 1

    def count(self, start):
        return sum(text.startswith(start) for text in self.hear())


@contextlib.contextmanager
def managed(*flags, env=None, abstract=False, **options):
    """A service with a manager."""
    with directory() as here:
        name = "\0larder-test-%d" % os.getpid() if abstract else str(here / "notify")
        with Manager(name) as manager:
            shown = "@" + name[1:] if abstract else name
            with Service(*flags, env={"NOTIFY_SOCKET": shown, **(env or {})}, **options) as service:
                yield service, manager


@test("READY=1 comes once, when every worker serves; STOPPING=1 when it stops; an abstract socket does too")
def _():
    for abstract in (False, True):
        with managed(readers=2, secrets=[new_secret()], abstract=abstract) as (service, manager):
            manager.wait_for("READY=1")
            expect_equal(sorted(service.pids()), ["login", "reader 1", "reader 2", "writer"], "the workers when it is ready")
            service.stop()
            manager.wait_for("STOPPING=1")
            expect_equal(manager.told, ["READY=1", "STOPPING=1"], "all that was told")


@test("READY=1 waits for a worker that is slow to begin")
def _():
    with directory() as here, Manager(str(here / "notify")) as manager:
        with Service(readers=1, env={"NOTIFY_SOCKET": str(here / "notify")}) as service:
            manager.wait_for("READY=1")
            first = len(manager.told)
            service.stop()
            slow = subprocess.Popen(["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=epoll_create1:delay_enter=700000",
                                     larder(), "serve", *service.flags], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                    env={**os.environ, "NOTIFY_SOCKET": str(here / "notify")}, start_new_session=True)
            try:
                time.sleep(0.4)
                expect_equal(manager.hear()[first:], ["STOPPING=1"], "what was told before the workers serve")
                manager.wait_for("READY=1", after=first)
            finally:
                os.killpg(slow.pid, signal.SIGTERM)
                slow.wait(15)


@test("a reload is told with RELOADING=1 and the time, and READY=1 when all have come over; so is one that is refused")
def _():
    with managed(readers=1) as (service, manager):
        ready = manager.wait_for("READY=1")
        reload(service)
        place = manager.wait_for("RELOADING=1", after=ready)
        stamp = re.fullmatch(r"RELOADING=1\nMONOTONIC_USEC=(\d+)", manager.told[place])
        expect(stamp and abs(int(stamp[1]) / 1e6 - time.monotonic()) < 10, "it says %r" % manager.told[place])
        manager.wait_for("READY=1", after=place)
        service.kill("writer")
        time.sleep(0.3)
        expect_equal(manager.count("READY=1"), 2, "READY=1: a worker that starts again is no news")


@test("the watchdog is fed while the service is idle and busy, not while a worker hangs, and again afterwards")
def _():
    with managed(readers=1, secrets=[new_secret()], env={"WATCHDOG_USEC": "800000"}) as (service, manager):
        manager.wait_for("WATCHDOG=1")
        before = manager.count("WATCHDOG=1")
        time.sleep(2)
        fed = manager.count("WATCHDOG=1") - before
        expect(fed >= 4, "fed %d times in 2 s" % fed)
        for role in ("reader 1", "writer", "login"):
            pid = service.pids()[role]
            os.kill(pid, signal.SIGSTOP)
            try:
                wait_until(lambda: "N01 %s does not answer" % role in service.log(), 5, "the log names the %s" % role)
                before = manager.count("WATCHDOG=1")
                time.sleep(1)
                expect_equal(manager.count("WATCHDOG=1"), before, "WATCHDOG=1 while the %s hangs" % role)
            finally:
                os.kill(pid, signal.SIGCONT)
            manager.wait_for("WATCHDOG=1", after=len(manager.told))
        expect_equal(service.log().count("N01"), 3, "lines about it")


@test("the watchdog survives a worker's death and a reload, and says nothing to a watchdog of somebody else")
def _():
    with managed(readers=1, env={"WATCHDOG_USEC": "800000"}) as (service, manager):
        manager.wait_for("WATCHDOG=1")
        pid, _ = service.kill("reader 1")
        service.wait_successor("reader 1", pid)
        manager.wait_for("WATCHDOG=1", after=len(manager.hear()))
        reload(service)
        manager.wait_for("WATCHDOG=1", after=len(manager.hear()))
    for env in ({"WATCHDOG_USEC": "200000", "WATCHDOG_PID": "1"}, {"WATCHDOG_USEC": "x"}, {}):
        with managed(readers=1, env=env) as (_, manager):
            manager.wait_for("READY=1")
            time.sleep(0.4)
            expect_equal(manager.count("WATCHDOG=1"), 0, "WATCHDOG=1 with %s" % env)


@test("a manager that is gone or does not read stops nothing")
def _():
    with managed(readers=1, env={"WATCHDOG_USEC": "100000"}) as (service, manager):
        manager.wait_for("READY=1")
        manager.socket.close()
        time.sleep(0.5)
        expect_equal(service.client().get("/products/1").status, 200, "a GET")
        service.stop()


# ------------------------------------------------------------------------------------------------- the unit

def analyze(*arguments):
    program = shutil.which("systemd-analyze")
    if not program:
        raise Skip("systemd-analyze is not installed")
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60)


def unit_values(name):
    return [line.split("=", 1)[1] for line in UNIT.read_text().splitlines() if line.startswith(name + "=")]


@test("systemd-analyze finds no fault in the unit, and little exposure")
def _():
    with directory() as here:
        unit = here / "larder.service"
        unit.write_text(UNIT.read_text().replace("/usr/bin/larder", larder()))
        done = analyze("verify", "--man=no", str(unit))
        expect_equal((done.returncode, done.stderr), (0, ""), "systemd-analyze verify")
        done = analyze("security", "--offline=true", "--no-pager", "--threshold=%d" % (EXPOSURE * 10), str(unit))
        expect_equal(done.returncode, 0, "systemd-analyze security: %s" % done.stdout[-200:])


class Confined(Service):
    """A service that runs as the unit lets it: as somebody without rights, its own directory the only one to write to."""

    def __init__(self, unit, *flags, **options):
        super().__init__(*flags, "--socket-mode", "666", **options)
        self.home = pathlib.Path(self.directory)
        self.wrapper = self.home / "confined"
        program = self.home / "larder"
        shutil.copy(larder(), program)
        self.wrapper.write_text("#!/bin/sh\nexec %s %s --write %s %s %s \"$@\"\n" % (
            sys.executable, ROOT / "tests" / "confined.py", self.directory, unit, program))
        self.wrapper.chmod(0o755)
        self.binary = str(self.wrapper)

    def serve(self):
        if os.geteuid() == 0:
            self.home.chmod(0o755)
            os.makedirs(self.run_dir, exist_ok=True)
            for path in [self.home, *self.home.rglob("*")]:
                os.chown(path, 65534, 65534)
        super().serve()


@test("the whole contract passes with the unit's system calls, families and one writable directory alone; a reload too")
def _():
    if sanitized():
        raise Skip("the sanitizers need more system calls")
    analyze("--version")
    with Confined(UNIT, "--probes", "on", readers=1, secrets=[new_secret()]) as service:
        done = subprocess.run([sys.executable, str(ROOT / "tests" / "contract.py"), "--secret-file", service.secret_file,
                               service.url], capture_output=True, text=True, timeout=240)
        expect_equal((done.returncode, done.stdout.splitlines()[-1][-8:]), (0, "0 failed"), "the contract: " + done.stdout[-2000:])
        reload(service)
        expect_equal(service.client().get("/products/1").status, 200, "a GET after a reload")
        expect("killed by signal" not in service.log(), "a call was denied: " + service.log())


@test("that proof notices a call that the unit does not allow")
def _():
    if sanitized():
        raise Skip("the sanitizers need more system calls")
    analyze("--version")
    with directory() as here:
        here.chmod(0o755)
        unit = here / "strict.service"
        unit.write_text(UNIT.read_text() + "SystemCallFilter=~epoll_wait epoll_pwait epoll_pwait2\n")
        service = Confined(str(unit), readers=1)
        try:
            create_database(service.database)
            service.serve()
            wait_until(lambda: "killed by signal 31" in service.log(), 10, "a worker is killed: " + service.log())
        finally:
            service.tear_down()


@test("the unit's settings fit the service: its program, directories, and a stop that takes less than the limit")
def _():
    expect_equal(unit_values("Type"), ["notify"], "Type")
    expect_equal(unit_values("ExecStart"), ["/usr/bin/larder serve"], "ExecStart")
    expect(int(unit_values("TimeoutStopSec")[0]) > 21, "less than a drain of 10 s, twice, and the last checkpoint")
    modes = [int(unit_values(name)[0], 8) for name in ("StateDirectoryMode", "RuntimeDirectoryMode")]
    expect_equal([oct(mode) for mode in modes], [oct(0o700), oct(0o750)], "modes of the directories")
    expect_equal(unit_values("Group"), ["www-data"], "the group, which is nginx's")


# ------------------------------------------------------------------------------------------ a real systemd

@contextlib.contextmanager
def machine():
    try:
        with Machine() as started:
            yield started
    except Unavailable as reason:
        raise Skip(str(reason)) from None


def show(started, name):
    return started.run("systemctl", "show", "--value", "--property", name, "larder").strip()


@test("the unit runs under systemd: start, requests from nginx's group, reload, a hung worker, stop")
def _():
    if sanitized():
        raise Skip("the sanitizers need more system calls")
    with machine() as started:
        started.copy(larder(), "/usr/bin/larder", 0o755)
        started.copy(UNIT, "/etc/systemd/system/larder.service")
        started.run("useradd", "--system", "larder")
        with open(started.path("/etc/systemd/system/larder.service.d/fast.conf"), "w") as file:
            file.write("[Service]\nWatchdogSec=2\nTimeoutAbortSec=1\n")
        started.run("systemctl", "daemon-reload")
        started.run("systemctl", "start", "larder")  # returns when it is ready
        expect_equal(show(started, "ActiveState"), "active", "state after the start")
        sockets = started.run("setpriv", "--reuid=www-data", "--regid=www-data", "--clear-groups", "ls", "/run/larder")
        expect("read.sock" in sockets, "nginx's user does not see the sockets: " + sockets)
        for directory_name in ("/var/lib/larder", "/run/larder"):
            done = started.try_run("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "ls", directory_name)
            expect(done.returncode != 0, "somebody else sees what is in " + directory_name)
        with FastCGI(started.path("/run/larder/read.sock")) as peer:
            expect_equal(peer.request("GET", "/ready").status, 200, "GET /ready")
        started.run("setpriv", "--reuid=larder", "--regid=www-data", "--clear-groups", "larder", "user", "add", "--db",
                    "/var/lib/larder/larder.db", "--email", "ada@example.org", "--name", "Ada", typed="correct horse\n")
        with FastCGI(started.path("/run/larder/login.sock")) as peer:
            login = b'{"email": "ada@example.org", "password": "correct horse"}'
            expect_equal(peer.request("POST", "/api/login", login).status, 200, "POST /api/login")
        with FastCGI(started.path("/run/larder/write.sock")) as peer:
            expect_equal(peer.request("POST", "/categories", b'{"name": "Bread"}').status, 201, "POST /categories")
        started.run("systemctl", "reload", "larder")
        wait_until(lambda: show(started, "ActiveState") == "active", 10, "it is active after a reload")
        expect_equal(show(started, "NRestarts"), "0", "restarts")

        supervisor = show(started, "MainPID")
        worker = started.run("pgrep", "-P", supervisor).split()[0]
        started.run("kill", "-STOP", worker)
        wait_until(lambda: show(started, "NRestarts") == "1" and show(started, "ActiveState") == "active", 20,
                   "the watchdog has it started again")
        with FastCGI(started.path("/run/larder/read.sock")) as peer:
            expect(b"Bread" in peer.request("GET", "/categories").body, "the category is gone")
        started.run("systemctl", "stop", "larder")
        expect_equal((show(started, "ActiveState"), show(started, "Result")), ("inactive", "success"), "state after the stop")
        expect(not os.path.exists(started.path("/run/larder")), "the runtime directory is left")
        expect(os.path.exists(started.path("/var/lib/larder/larder.db")), "the database is gone")
