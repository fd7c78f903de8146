"""SIGHUP: the service takes new secrets and a new program while it runs, and nobody who uses it notices."""
import contextlib
import json
import os
import pathlib
import pty
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time

from fastcgi_client import FastCGI, encode
from harness import (Service, create_database, environment, expect, expect_each, expect_equal, larder, new_secret,
                     processes, product, run_larder, sanitized, wait_until, write_secrets)
from load import Load
from runner import Skip, test
from tokens import bearer, expect_deals, log_in, token

RELOAD_SECONDS = 30 if sanitized() else 15
LATE_SECONDS = 5 if sanitized() else 1.1
OLD_VERSION = re.search(r"^VERSION = (\S+)$", (pathlib.Path(__file__).parents[2] / "Makefile").read_text(), re.M)[1]
NEW_VERSION = OLD_VERSION.translate(str.maketrans("0123456789", "1234567890"))


# ---------------------------------------------------------------------------------------------- programs

@contextlib.contextmanager
def own_copy():
    """A larder that a test may replace by another."""
    with tempfile.TemporaryDirectory(prefix="larder-") as directory:
        path = os.path.join(directory, "larder")
        shutil.copy(larder(), path)
        yield path


def replace(path, content):
    """As a package manager does it: another file takes the name. Returns its inode."""
    new = path + ".new"
    pathlib.Path(new).write_bytes(content)
    os.chmod(new, 0o755)
    os.rename(new, path)
    return os.stat(path).st_ino


def next_version():
    """The bytes of a larder that differs in nothing but its version."""
    old, new = b"\0%s\0" % OLD_VERSION.encode(), b"\0%s\0" % NEW_VERSION.encode()
    content = pathlib.Path(larder()).read_bytes()
    expect(old in content, "the version does not stand in the program")
    return content.replace(old, new)


def compiled(text):
    """The bytes of a small C program."""
    with tempfile.TemporaryDirectory(prefix="larder-") as directory:
        path = os.path.join(directory, "program")
        subprocess.run(["gcc", "-x", "c", "-o", path, "-"], input=text.encode(), check=True)
        return pathlib.Path(path).read_bytes()


# ----------------------------------------------------------------------------------------------- reloads

def inodes(service):
    """Of the program that each process runs."""
    pids = {"supervisor": service.supervisor.pid, **service.pids()}
    return {role: os.stat("/proc/%d/exe" % pid).st_ino for role, pid in pids.items()}


def ask(service):
    service.supervisor.send_signal(signal.SIGHUP)


def reload(service):
    """One reload from its beginning to its end."""
    done = service.log().count(" R11 ")
    ask(service)
    wait_until(lambda: service.log().count(" R11 ") > done, RELOAD_SECONDS, "the service has reloaded")


def refused(service, reason):
    """A reload that must not happen: the log says why, and the same processes serve on."""
    before, lines = service.pids(), service.log().count(" does not reload: ")
    ask(service)
    wait_until(lambda: service.log().count(" does not reload: ") > lines, RELOAD_SECONDS, "the reload is refused")
    said = [line for line in service.log().splitlines() if " does not reload: " in line][-1]
    expect(re.search(reason, said), "the log does not say %r: %s" % (reason, said))
    expect_equal(service.pids(), before, "the workers")
    expect_equal(service.client().get("/products/1").status, 200, "a GET afterwards")
    expect_equal(service.client().post("/products", product("n%d" % time.monotonic_ns())).status, 201, "a POST afterwards")


def peers(service):
    """Connections that a web server would keep: one to the reader, one to the writer."""
    return [FastCGI(service.socket_path(name)) for name in ("read.sock", "write.sock")]


def use(reader, writer):
    expect_equal(reader.request("GET", "/products/1").status, 200, "a GET on a kept connection")
    body = json.dumps(product("kept-%d" % time.monotonic_ns())).encode()
    expect_equal(writer.request("POST", "/products", body).status, 201, "a POST on a kept connection")


# ------------------------------------------------------------------------------------------ under load

@test("ten reloads and a new program under 256 connections of the mix: no request fails, no write is lost, no connection ends")
def _():
    with own_copy() as path, Service(binary=path, secrets=[new_secret()]) as service:
        before, kept = service.pids(), peers(service)
        with Load(service, writers=0, readers=0, mixed=256) as load:
            load.wait_begun()
            for _ in range(10):
                reload(service)
                use(*kept)
                time.sleep(0.1)
            inode = replace(path, next_version())
            reload(service)
            use(*kept)
            expect_equal(set(inodes(service).values()), {inode}, "the programs that run")
        for peer in kept:
            peer.socket.close()
        expect_equal(load.unavailable_sent, [], "answers of 503")
        load.expect_mix()
        load.verify(service)
        expect_equal(service.pids(), before, "the workers")
        expect("all processes run larder " + NEW_VERSION in service.log(), "the log does not tell the new version")
        expect_equal(service.log().count(" R06 "), 11 * len(before), "lines of workers that came over")


@test("nginx reloads under 256 connections of the mix: no request fails, no write is lost")
def _():
    with Service() as service, Load(service, writers=0, readers=0, mixed=256, keep=False) as load:
        load.wait_begun()
        for _ in range(3):
            service.nginx.send_signal(signal.SIGHUP)
            time.sleep(0.7)
            reload(service)
        time.sleep(0.5)
        load.__exit__()
        expect_equal(load.unavailable_sent, [], "answers of 503")
        load.expect_mix()
        load.verify(service)


@test("SIGTERM under 256 connections of the mix: no 5xx to a request that was sent before it")
def _():
    with Service() as service:
        with Load(service, writers=0, readers=0, mixed=256) as load:
            load.wait_begun()
            time.sleep(0.5)
            load.reads_may_fail = True
            stopped = time.monotonic()
            service.supervisor.terminate()
            expect_equal(service.supervisor.wait(30), 0, "exit status")
        early = ["%.1f ms" % (1000 * (stopped - sent)) for sent in load.unavailable_sent if sent < stopped]
        expect(not early, "%d were sent before, the first %s" % (len(early), early[:3]))
        expect(not load.complaints, "complaints: %s" % load.complaints[:3])
        service.serve()
        service.wait_ready()
        load.expect_mix()
        load.verify(service)


@test("with one process for both lanes, and without full durability, a reload loses nothing either")
def _():
    def check(case):
        readers, sync = case
        with Service(readers=readers, sync=sync) as service:
            before, kept = service.pids(), peers(service)
            with Load(service, writers=8, readers=8) as load:
                for _ in range(5):
                    time.sleep(0.2)
                    reload(service)
                    use(*kept)
            for peer in kept:
                peer.socket.close()
            expect_equal(load.unavailable_sent, [], "answers of 503 with %s" % (case,))
            load.verify(service)
            expect_equal(service.pids(), before, "the workers")
    expect_each([(0, "full"), (0, "normal"), (1, "normal")], check)


# -------------------------------------------------------------------------------------------- what is kept

@test("requests that wait are answered in time across reloads, and their connections serve on")
def _():
    with Service("--probes", "on", readers=2) as service:
        waits = []
        for i in range(100):
            peer, ms = FastCGI(service.socket_path("read.sock")), 300 + 20 * i
            waits.append((time.monotonic(), ms, i % 10 == 0, peer))
            peer.send(encode("HEAD" if i % 10 == 0 else "GET", "/wait?ms=%d" % ms))
        for _ in range(4):
            reload(service)
            time.sleep(0.2)
        for sent, ms, head, peer in waits:
            answer = peer.receive()
            took = time.monotonic() - sent
            expect_equal((answer.status, answer.body), (200, b"" if head else b'{"waited_ms":%d}' % ms), "the answer")
            expect(took >= ms / 1000, "answered too early: %.3f s instead of %d ms" % (took, ms))
            expect(took < ms / 1000 + LATE_SECONDS, "answered late: %.3f s instead of %d ms" % (took, ms))
        for _, _, _, peer in waits:
            expect_equal(peer.request("GET", "/products/1").status, 200, "a GET behind it")
            peer.socket.close()
        expect(re.search(r"R06 .*, [1-9]\d* waiting", service.log()), "nobody waited across a reload")


@test("a request that has come in part is answered once the rest has come to the new program")
def _():
    body = json.dumps([product("part-%d" % i, name="n" * 100) for i in range(900)]).encode()
    small, large = encode("POST", "/products", json.dumps(product("in-parts")).encode()), encode("POST", "/products", body)
    with Service(readers=1) as service:
        def answers(request):
            for at in 3, 8, 40, len(request) // 2, len(request) - 1:
                with FastCGI(service.socket_path("write.sock")) as peer:
                    peer.send(request[:at])
                    time.sleep(0.05)
                    reload(service)
                    peer.send(request[at:])
                    yield peer.receive().status
        for request in small, large:
            expect_equal(list(answers(request)), [201, 409, 409, 409, 409], "what is new, and then the same again")


@test("after 100 reloads no process has another descriptor, and none has grown")
def _():
    def state(service):
        pids = {"supervisor": service.supervisor.pid, **service.pids()}
        return {role: (pid, len(os.listdir("/proc/%d/fd" % pid)), private_kib(pid)) for role, pid in pids.items()}
    with Service(readers=2, secrets=[new_secret()]) as service, FastCGI(service.socket_path("read.sock")) as peer:
        for _ in range(3):
            reload(service)
            peer.request("GET", "/products/1")
        before = state(service)
        for _ in range(100):
            reload(service)
            expect_equal(peer.request("GET", "/products/1").status, 200, "a GET")
        after = state(service)
        for role, (pid, descriptors, kib) in before.items():
            expect_equal(after[role][:2], (pid, descriptors), "pid and descriptors of the " + role)
            expect(sanitized() or after[role][2] < kib + 256, "the %s has grown: %d KiB, %d before" % (role, after[role][2], kib))


def private_kib(pid):
    text = pathlib.Path("/proc/%d/smaps_rollup" % pid).read_text()
    return sum(int(size) for size in re.findall(r"^Private_\w+:\s+(\d+) kB", text, re.M))


@test("a new secret file is read: the new key signs, the old one is accepted as long as it stands there")
def _():
    first, second = new_secret("1"), new_secret("2")
    with Service(readers=1, secrets=[first]) as service:
        old = token(service)
        expect_deals(service, old, 200)
        write_secrets(service.secret_file, second, first)
        reload(service)
        new = log_in(service.client()).json()["token"]
        expect_deals(service, old, 200)
        expect_deals(service, new, 200)
        write_secrets(service.secret_file, second)
        reload(service)
        expect_deals(service, old, 401)
        expect_deals(service, new, 200)


# ----------------------------------------------------------------------------------------- what is refused

@test("a new program that is broken, hangs, or takes over otherwise is refused: the old one serves on")
def _():
    good = pathlib.Path(larder()).read_bytes()
    with own_copy() as path, Service(binary=path) as service:
        service.pids()
        programs = [
            (b"#!/bin/sh\nexit 0\n", "cannot be executed"), (b"", "cannot be executed"),
            (good[:4096], "cannot be executed|died|cannot be tried|was killed"),
            (pathlib.Path("/bin/true").read_bytes(), "exit status is 0"),
            (pathlib.Path("/bin/false").read_bytes(), "exit status is 1"),
            (compiled("#include <signal.h>\nint main(void) { return raise(SIGSEGV); }"), "died of signal 11"),
            (compiled("#include <unistd.h>\nint main(void) { for (;;) pause(); }"), "within 5 s"),
            (compiled("#include <stdio.h>\nint main(void) { for (;;) puts(\"y\"); }"), "within 5 s"),
            (compiled("#include <stdio.h>\nint main(void) { puts(\"hand-over format 99\"); }"),
             "in format 99 .*: stop the service and start it again"),
        ]
        for content, reason in programs:
            replace(path, content)
            refused(service, reason)
        os.unlink(path)
        refused(service, "No such file")
        inode = replace(path, good)
        reload(service)
        expect_equal(set(inodes(service).values()), {inode}, "the programs that run")


@test("a broken secret file or a database of a newer version is refused: the old keys and programs serve on")
def _():
    with Service(readers=1, secrets=[new_secret()]) as service:
        text, good = token(service), pathlib.Path(service.secret_file).read_text()
        write_secrets(service.secret_file, "1 short\n")
        refused(service, "32 to 512 characters")
        os.unlink(service.secret_file)
        refused(service, "secret file .*No such file")
        expect_deals(service, text, 200)
        write_secrets(service.secret_file, good)
        change_version(service.database, 1)
        refused(service, "schema version")
        change_version(service.database, -1)
        reload(service)
        expect_deals(service, text, 200)


def change_version(path, change):
    with contextlib.closing(sqlite3.connect(path)) as database:
        version, = database.execute("PRAGMA user_version").fetchone()
        database.execute("PRAGMA user_version = %d" % (version + change))


@test("a worker that cannot execute the new program says so and goes on; the next reload takes it along")
def _():
    with own_copy() as path, Service(binary=path, readers=1, env={"A": "a" * 100_000, "B": "b" * 100_000}) as service:
        kept, reader = peers(service), service.pids()["reader 1"]
        old, limit = os.stat(path).st_ino, resource.prlimit(reader, resource.RLIMIT_STACK)
        resource.prlimit(reader, resource.RLIMIT_STACK, (256 * 1024, limit[1]))  # the environment is too large for it
        new = replace(path, next_version())
        ask(service)
        wait_until(lambda: " R04 " in service.log(), RELOAD_SECONDS, "the worker says so")
        use(*kept)
        wait_until(lambda: " R10 " in service.log(), RELOAD_SECONDS, "the supervisor says so")
        expect_equal(inodes(service), {"supervisor": new, "writer": new, "reader 1": old}, "the programs that run")
        use(*kept)
        resource.prlimit(reader, resource.RLIMIT_STACK, limit)
        reload(service)
        use(*kept)
        expect_equal(set(inodes(service).values()), {new}, "the programs that run")
        expect_equal(service.pids()["reader 1"], reader, "the reader")
        for peer in kept:
            peer.socket.close()


@test("a scoreboard of another version is replaced by a new one")
def _():
    with Service(readers=1) as service:
        before, board = service.pids(), service.socket_path("scoreboard")
        inode = os.stat(board).st_ino
        reload(service)
        expect_equal(os.stat(board).st_ino, inode, "the scoreboard after a reload without a change")
        with open(board, "r+b") as file:
            file.write(b"\xff" * 4)
        reload(service)
        expect(os.stat(board).st_ino != inode, "the scoreboard is still the old one")
        expect_equal(service.client().get("/ready").status, 200, "/ready")
        expect_equal(service.pids(), before, "the workers")


# ------------------------------------------------------------------------------------------------ signals

@test("a reload that is asked for twenty times in a row happens, and the service is whole")
def _():
    with Service(readers=2) as service:
        before = service.pids()
        for i in range(20):
            ask(service)
            time.sleep(0.003 * i)
        time.sleep(0.2)
        reload(service)
        expect_equal(service.pids(), before, "the workers")
        for run_dir, reason in (service.run_dir + "-2", "another larder uses"), (service.run_dir, "another larder"):
            done = run_larder("serve", "--db", service.database, "--run-dir", run_dir)
            expect(done.returncode == 1 and reason in done.stderr, "a second larder is let in: %s" % done.stderr)
        expect(not re.search(r" [SRW]0\d .*(does not|goes on|cannot)", service.log()), "the log complains: " + service.log())


@test("SIGTERM at any moment of a reload stops the service cleanly")
def _():
    for wait_ms in range(0, 100, 8):
        with Service(readers=2, secrets=[new_secret()], demo=False) as service:
            ask(service)
            time.sleep(wait_ms / 1000)
            service.stop()


@test("a worker that is killed at any moment of a reload is started again, with the new program")
def _():
    with own_copy() as path, Service(binary=path, readers=2) as service:
        for wait_ms in range(0, 100, 8):
            role = ("writer", "reader 1", "reader 2")[wait_ms % 3]
            inode = replace(path, pathlib.Path(larder()).read_bytes())
            done = service.log().count(" R11 ")
            ask(service)
            time.sleep(wait_ms / 1000)
            service.kill(role)
            wait_until(lambda done=done: service.log().count(" R11 ") > done, RELOAD_SECONDS, "the service has reloaded")
            wait_until(lambda: len(service.pids()) == 3, 5, "all workers are there")
            wait_until(lambda inode=inode: set(inodes(service).values()) == {inode}, 5, "all run the new program")
        service.wait_ready()


@test("as the first process of a container it reloads too")
def _():
    before = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if subprocess.run([*before, "true"], capture_output=True).returncode != 0:
        raise Skip("unshare is not permitted here")
    with tempfile.TemporaryDirectory(prefix="larder-") as directory:
        database, run, log = (os.path.join(directory, name) for name in ("db", "run", "log"))
        create_database(database, demo=True)
        with open(log, "wb") as file:
            outer = subprocess.Popen([*before, larder(), "serve", "--db", database, "--run-dir", run, "--readers", "1"],
                                     stdin=subprocess.DEVNULL, stderr=file, env=environment(), start_new_session=True)
        try:
            wait_until(lambda: os.path.exists(run + "/login.sock"), 10, "it serves")
            first, = [pid for pid, parent, *_ in processes() if parent == outer.pid]
            with FastCGI(run + "/read.sock") as peer:
                for number in 1, 2:
                    os.kill(first, signal.SIGHUP)
                    wait_until(lambda number=number: pathlib.Path(log).read_text().count(" R11 ") == number, RELOAD_SECONDS,
                               "it has reloaded")
                    expect_equal(peer.request("GET", "/products/1").status, 200, "a GET on a kept connection")
            os.kill(first, signal.SIGTERM)
            expect_equal(outer.wait(10), 0, "exit status")
        finally:
            if outer.poll() is None:
                outer.kill()
                outer.wait()


@test("when its terminal is closed the service ends instead")
def _():
    with tempfile.TemporaryDirectory(prefix="larder-") as directory:
        database, run = os.path.join(directory, "db"), os.path.join(directory, "run")
        create_database(database)
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(larder(), [larder(), "serve", "--db", database, "--run-dir", run, "--readers", "1"], environment())
        try:
            wait_until(lambda: os.path.exists(run + "/login.sock"), 10, "it serves")
            time.sleep(0.2)
            os.close(terminal)
            wait_until(lambda: os.waitpid(pid, os.WNOHANG)[0] == pid, 10, "it has ended")
            pid = 0
            expect_equal([name for name in os.listdir(run) if name.endswith(".sock")], [], "sockets left")
        finally:
            if pid:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


# -------------------------------------------------------------------------------------------------- larder try

@test("larder try is 0 where the service would start, beside a running one too, and else says why")
def _():
    with Service(readers=1, secrets=[new_secret()]) as service:
        flags = ["--db", service.database, "--run-dir", service.run_dir, "--secret-file", service.secret_file]
        done = run_larder("try", *flags)
        expect_equal((done.returncode, done.stderr), (0, ""), "larder try")
        expect(re.fullmatch(r"larder \S+ can serve [^\n]+\nhand-over format \d+\n", done.stdout), "it says %r" % done.stdout)
        for changes in ["--db", service.database + "-none"], ["--secret-file", service.secret_file + "-none"]:
            done = run_larder("try", *flags, *changes)
            expect_equal((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1), "larder try with %s" % changes)
    done = run_larder("serve", env={"LARDER_HAND_OVER": "3"})
    expect_equal((done.returncode, done.stderr.count("LARDER_HAND_OVER is set")), (1, 1), "a hand-over that is none")
