"""What is measured: Larder, the floor and the peers; how each is made, started and stopped. What a peer is, with the verbs of
its peer.sh, tells bench/peers/README.md."""
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from places import BUILT, PEERS, ROOT

import nginx
from fastcgi_client import FastCGI
from harness import NGINX, environment, expect, free_port, new_secret, processes, wait_until, write_secrets
from processes import pss_kib, tree


START_SECONDS = 30
STOP_SECONDS = 10
POLL_SECONDS = 0.0002


@dataclasses.dataclass(frozen=True)
class Server:
    """One way to serve. `front` is "nginx" or "direct"; `kind` "larder", "floor", "http", "fastcgi"."""
    name: str
    front: str
    kind: str
    command: tuple
    settings: tuple = ()    # of its environment
    script: str = ""        # see the verb
    nginx_workers: int = 0  # 0: as the configuration ships
    connections: int = 0    # that nginx may hold; 0: likewise
    cpus: str = ""          # the processors for all of it, as taskset names them
    is_variant: bool = False  # of another server; measured in the main section alone

    @property
    def key(self):
        return "%s %s" % (self.name, self.front)


# ------------------------------------------------------------------------------------------------ running

class Running:
    """Context manager: the server on a fresh copy of a database, in a directory that is gone afterwards.
    .start_ms is the time from nothing to the first 200 on /health."""

    def __init__(self, server, template, sync="full"):
        self.server, self.template, self.sync = server, str(template), sync
        self.directory = tempfile.mkdtemp(prefix="larder-bench-")
        self.run_dir = os.path.join(self.directory, "run")
        self.database = os.path.join(self.directory, "larder.db")
        self.secret_file = os.path.join(self.directory, "secret")
        self.app = self.nginx = None
        self.sessions = set()

    def __enter__(self):
        try:
            os.mkdir(self.run_dir)
            copy_to_disk(self.template, self.database)
            write_secrets(self.secret_file, new_secret())
            port, front_port = free_port(), free_port()
            self.port = port if self.server.front == "direct" else front_port
            self.url = "http://127.0.0.1:%d" % self.port
            if self.server.front == "nginx":
                self.prepare_nginx(port, front_port)
            started = time.monotonic()
            self.app = self.spawn("app", self.command(), self.settings(port))
            if self.server.front == "nginx":
                self.nginx = self.spawn("nginx", [NGINX, "-g", "daemon off;", "-e", "stderr", "-p", self.run_dir, "-c",
                                                  os.path.join(self.run_dir, "nginx", "nginx.conf")], {})
            self.wait_healthy(started + START_SECONDS)
            self.start_ms = (time.monotonic() - started) * 1000
            return self
        except BaseException:
            self.tear_down()
            raise

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                self.stop()
        finally:
            self.tear_down()

    def prepare_nginx(self, port, front_port):
        nginx.render(self.run_dir, "127.0.0.1:%d" % front_port, self.server.connections)
        if self.server.nginx_workers:
            nginx.set_workers(self.run_dir, self.server.nginx_workers)
        if self.server.kind == "floor":  # one socket for both lanes
            os.symlink("read.sock", os.path.join(self.run_dir, "write.sock"))
        elif self.server.kind == "http":
            nginx.put_peer(self.run_dir, "127.0.0.1:%d" % port)
        elif self.server.kind == "fastcgi":
            nginx.put_peer(self.run_dir, "unix:%s/peer.sock" % self.run_dir, self.server.script)

    def command(self):
        if self.server.kind != "larder":
            return self.server.command
        return [*self.server.command[:1], "serve", "--db", self.database, "--run-dir", self.run_dir, "--sync", self.sync,
                "--secret-file", self.secret_file, "--probes", "on", *self.server.command[1:]]

    def settings(self, port):
        return {"DB": self.database, "PORT": str(port), "SYNC": self.sync, "SECRET_FILE": self.secret_file,
                "SOCKET": os.path.join(self.run_dir, "read.sock" if self.server.kind == "floor" else "peer.sock"),
                **dict(self.server.settings)}

    def spawn(self, name, command, settings):
        if self.server.cpus:
            command = ["taskset", "-c", self.server.cpus, *command]
        with open(os.path.join(self.directory, name + ".log"), "ab") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment(settings),
                                       start_new_session=True)
        self.sessions.add(process.pid)
        return process

    def wait_healthy(self, deadline):
        while not self.is_healthy():
            for process in self.app, self.nginx:
                expect(process is None or process.poll() is None, "%s has ended: %s" % (self.server.key, self.log()))
            expect(time.monotonic() < deadline, "%s does not answer /health: %s" % (self.server.key, self.log()))
            time.sleep(POLL_SECONDS)

    def is_healthy(self):
        if self.server.kind == "larder" and self.server.front == "direct":
            return fastcgi_is_healthy(os.path.join(self.run_dir, "read.sock"))
        return http_is_healthy(self.port)

    def log(self):
        logs = [pathlib.Path(self.directory, name) for name in ("app.log", "nginx.log")]
        return "".join(log.read_text("utf-8", "replace")[-3000:] for log in logs if log.exists()).strip() or "nothing logged"

    def roots(self):
        """The roots of the served side: the app, and nginx where there is one."""
        return [process.pid for process in (self.app, self.nginx) if process is not None]

    def idle_mib(self):
        """Memory of the app and of nginx, 0 without one."""
        sizes = [pss_kib(root) / 1024 for root in self.roots()]
        return sizes[0], sum(sizes[1:])

    def stop(self):
        """The app ends by SIGTERM, with all its processes."""
        self.app.terminate()
        try:
            self.app.wait(STOP_SECONDS)
            wait_until(lambda: not self.left(self.app.pid), STOP_SECONDS, "its processes end")
        except (subprocess.TimeoutExpired, AssertionError):
            raise AssertionError("%s does not end on SIGTERM" % self.server.key) from None

    def left(self, *sessions):
        return [pid for pid, _, session, _, state in processes() if session in sessions and state not in "ZX"]

    def tear_down(self):
        """Whatever happened: nothing stays."""
        strays = [pid for process in (self.app, self.nginx) if process is not None and process.poll() is None
                  for pid in tree(process.pid)]
        if self.nginx is not None and self.nginx.poll() is None:
            self.nginx.terminate()
            try:
                self.nginx.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                pass
        for pid in {*strays, *self.left(*self.sessions)}:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for process in self.app, self.nginx:
            if process is not None:
                process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


def copy_to_disk(source, target):
    """A copy that is written out: otherwise the first sync of a server waits for all of it."""
    shutil.copyfile(source, target)
    with open(target, "rb+") as copy:
        os.fsync(copy.fileno())


def http_is_healthy(port):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            return connection.recv(64).startswith(b"HTTP/1.1 200 ")
    except OSError:
        return False


def fastcgi_is_healthy(path):
    try:
        with FastCGI(path, timeout=5) as connection:
            return connection.request("GET", "/health").status == 200
    except OSError:
        return False


# --------------------------------------------------------------------------------------------- what there is

class Left(Exception):
    """A server that cannot be had; the message says why."""


def larder(binary, name, *flags, **changes):
    return Server(name, "nginx", "larder", (str(binary), *flags), **changes)


def peer_names():
    return sorted(path.parent.name for path in PEERS.glob("*/peer.sh"))


def call(name, verb, seconds=1800):
    """Output of a verb; Left with its last line when it fails."""
    done = subprocess.run([str(PEERS / name / "peer.sh"), verb], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=seconds)
    if done.returncode != 0:
        lines = (done.stdout if verb == "install" else done.stderr + done.stdout).strip().splitlines()
        raise Left((lines or ["`peer.sh %s` failed" % verb])[-1])
    return done.stdout.strip()


def peer_sources(name):
    """Its own folder, and what it may share with others."""
    return [path for path in sorted(PEERS.iterdir()) if path.name == name or not (path / "peer.sh").exists() and path.suffix != ".md"]


def fingerprint(*paths):
    """Of the contents of the files and folders."""
    digest = hashlib.sha256()
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                digest.update(str(file.relative_to(ROOT)).encode() + file.read_bytes())
    return digest.hexdigest()


def prepared(name, source, make):
    """What make() tells, or told last time if the source is still the same and what it built is there."""
    path = BUILT / "facts" / (name + ".json")
    if path.exists():
        facts = json.loads(path.read_text())
        if facts["source"] == source and (BUILT / name).exists():
            return facts
    facts = {"source": source, **make()}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(facts))
    return facts


def prepare_peer(name):
    """Installs and builds it; its version, size, build time and how it is started."""
    def make():
        shutil.rmtree(BUILT / name, ignore_errors=True)
        call(name, "install")
        started = time.monotonic()
        call(name, "build")
        took = time.monotonic() - started
        (BUILT / name).mkdir(parents=True, exist_ok=True)
        kind = call(name, "kind")
        script = call(name, "script") if kind == "fastcgi" and has_script(name) else ""
        return {"version": call(name, "version"), "bytes": int(call(name, "size")), "build_s": took, "kind": kind,
                "script": script}
    return prepared(name, fingerprint(*peer_sources(name)), make)


def has_script(name):
    return re.search(r"(?m)^\s*script\)", (PEERS / name / "peer.sh").read_text()) is not None


def peer_servers(name, facts):
    """All the ways a peer is served."""
    command = (str(PEERS / name / "peer.sh"), "serve")
    if name == "floor":
        return [Server(name, "nginx", "floor", command)]
    fronts = ["nginx"] if facts["kind"] == "fastcgi" else ["direct", "nginx"]
    variants = [(name, ())]
    if name == "node-tuned":
        variants = [(name, (("GROUP_COMMIT", "1"),)), (name + ", no group commit", (("GROUP_COMMIT", "0"),))]
    return [Server(label, front, facts["kind"], command, settings, facts["script"], is_variant=label != name)
            for label, settings in variants for front in fronts]


def prepare_larder(name, binary, target):
    """Size and version of a binary of Larder; the time that `make` takes to build it from nothing, SQLite's source at hand."""
    def make():
        directory = BUILT / name
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        bundled = target.startswith("static")
        if bundled:
            shutil.copytree(ROOT / "build" / "sqlite", directory / "sqlite")
        started = time.monotonic()
        done = subprocess.run(["make", "-C", str(ROOT), "--no-print-directory", "BUILD=build/bench/" + name,
                               *(["SQLITE=bundled"] if bundled else []), "build/bench/%s/%s" % (name, target)],
                              capture_output=True, text=True)
        took = time.monotonic() - started
        expect(done.returncode == 0, "%s cannot be built: %s" % (name, done.stderr[-1000:]))
        version = subprocess.run([str(binary), "version"], capture_output=True, text=True, check=True).stdout.splitlines()
        return {"version": "%s, %s" % (version[0], version[1].split(",")[0]), "bytes": binary.stat().st_size, "build_s": took}
    return prepared(name, fingerprint(ROOT / "app", ROOT / "Makefile"), make)
