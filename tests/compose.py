#!/usr/bin/env python3
"""docker-compose.yml, really built, started, used, restarted and stopped: python3 tests/compose.py ENGINE

ENGINE is docker, or the path of a script that keeps an engine in a network namespace of its own and has the
commands `build DIR`, `up DIR`, `in COMMAND…`, `docker ARG…` and `down DIR`. With docker the project, its volumes
and its image have names of their own and are gone afterwards. Where no engine answers nothing is tested, and the
exit status is 0.

Closing line: `N passed, N failed`.
"""
import argparse
import contextlib
import http.client
import json
import os
import pathlib
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "faults"), str(HERE)]

from databases import old_database  # noqa: E402: found through the line above
from harness import (ROOT, Client, end_tidily_when_terminated, environment, expect, expect_equal, expect_problem,  # noqa: E402
                     free_port, new_secret, processes, product, wait_until, write_secrets)
from load import Load  # noqa: E402
from runner import Skip, run_tests, test  # noqa: E402

IMAGE = "larder-test"
PAGE = ROOT / "docs" / "operations.md"
OWNER = 65532  # the service's user and group
SERVICES = ("app", "nginx")


# ------------------------------------------------------------------------------------------------- engine

class Engine:
    def __init__(self, command):
        self.command = command
        self.private = os.path.basename(command) != "docker"
        self.docker_command = [command, "docker"] if self.private else [command]
        name = re.sub("[^a-z0-9_-]", "", ROOT.name.lower())
        self.project = name if self.private else "larder-test-%d" % os.getpid()

    def answers(self):
        if self.private:
            return shutil.which(self.command) is not None
        try:
            return all(subprocess.run([self.command, *words], capture_output=True, timeout=30).returncode == 0
                       for words in (["info"], ["compose", "version"]))
        except (OSError, subprocess.TimeoutExpired):
            return False

    def run(self, command, check=True, **options):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, **options)
        expect(not check or done.returncode == 0, "%s: exit status %d: %s" % (
            " ".join(command), done.returncode, (done.stdout + done.stderr)[-2000:]))
        return done

    def docker(self, *words, **options):
        return self.run([*self.docker_command, *words], **options)

    def compose(self, *words, files=(), **options):
        files = [word for name in ("docker-compose.yml", *files) for word in ("-f", str(ROOT / name))]
        return self.docker("compose", "-p", self.project, *files, *words, **options)

    def up(self, **options):
        self.compose("up", "--detach", "--no-build", **options)

    def inspect(self, service):
        container = self.compose("ps", "--all", "--quiet", service).stdout.strip()
        return json.loads(self.docker("inspect", container).stdout)[0]

    def logs(self, service):
        return self.compose("logs", "--no-color", "--no-log-prefix", service).stdout

    def pid(self, service):
        """Of the container's first process, seen from here; Skip where the engine runs on another machine."""
        pid = self.inspect(service)["State"]["Pid"]
        try:
            cgroup = pathlib.Path("/proc/%d/cgroup" % pid).read_text()
        except OSError:
            cgroup = ""
        if not re.search("docker|libpod|containerd", cgroup):
            raise Skip("the containers' processes cannot be seen from here")
        return pid

    def wait_healthy(self):
        for service in SERVICES:
            wait_until(lambda: self.inspect(service)["State"]["Health"]["Status"] == "healthy", 60, service + " is healthy")

    # -- before and after, outside the namespace

    def start(self):
        """Builds, tells the sizes, starts."""
        if self.private:
            self.build_bases()
        print(self.run([str(ROOT / "tools" / "image.sh"), self.command]).stdout.splitlines()[-1], flush=True)
        if self.private:
            self.run([self.command, "up", str(ROOT)])
        else:
            self.up()

    def build_bases(self):
        """A private engine's base images know neither this machine's certificates, which npm needs, nor wget, which
        nginx's health check needs and the image named in docker-compose.yml has."""
        with tempfile.TemporaryDirectory(prefix="larder-") as directory:
            here = pathlib.Path(directory)
            shutil.copy("/etc/ssl/certs/ca-certificates.crt", here / "certificates")
            (here / "node").write_text("FROM node:24-slim\nCOPY certificates /certificates\n"
                                       "ENV npm_config_cafile=/certificates\n")
            (here / "nginx").write_text("FROM nginx:stable-alpine-slim\nRUN apt-get -qq update && apt-get -qq install "
                                        "--yes --no-install-recommends wget >/dev/null\n")
            (here / "docker-compose.yml").write_text("services:\n" + "".join(
                "  %s: {image: %s, build: {context: ., dockerfile: %s}}\n" % (name, os.environ[name.upper() + "_IMAGE"], name)
                for name in ("node", "nginx")))
            self.run([self.command, "build", directory])

    def stop(self):
        if self.private:
            self.run([self.command, "down", str(ROOT)])
        else:
            self.compose("down", "--volumes", "--rmi", "local")
            self.docker("image", "rm", IMAGE, check=False)


def variables(engine):
    """What docker-compose.yml and the Dockerfile are given."""
    given = {"PORT": str(free_port()), "ADDRESS": "127.0.0.1", "LARDER_IMAGE": IMAGE, "LARDER_INIT": "demo",
             "LARDER_PROBES": "on"}
    if engine.private:
        given.update(NODE_IMAGE="larder-test-node", NGINX_IMAGE="larder-test-nginx")
    return {**environment(), **given}


# ------------------------------------------------------------------------------------------------ service

engine = None  # set by main()


def url():
    return "http://localhost:%s" % os.environ["PORT"]


class Site:
    """What Load asks of a service."""

    def __init__(self):
        self.clients = []

    def client(self, keep=True):
        self.clients.append(Client(url(), keep=keep))
        return self.clients[-1]

    def close(self):
        for client in self.clients:
            client.close()


def is_ready():
    try:
        return Client(url(), timeout=5).get("/ready").status == 200
    except (OSError, http.client.HTTPException):
        return False


class Shaken(Load):
    """Load that counts a connection that was refused or broke: the fate of its write is unknown."""

    def __init__(self, site, mark):
        super().__init__(site, writers=6, readers=6, mark=mark)
        self.reads_may_fail = True
        self.broken = 0

    def read(self, *arguments):
        self.count_broken(super().read, *arguments)

    def write(self, client, sku, round_number):
        self.unknown.add(sku)
        self.count_broken(super().write, client, sku, round_number)

    def count_broken(self, work, *arguments):
        try:
            work(*arguments)
        except (OSError, http.client.HTTPException):
            with self.lock:
                self.broken += 1

    def verify(self, site):
        expect(not self.complaints, "%d complaints, the first: %s" % (len(self.complaints), self.complaints[:3]))
        expect(len(self.kept) > 50, "the load got only %d rows written" % len(self.kept))
        self.verify_answers(site)

    def tell(self):
        print("      %d reads, %d writes, %d acknowledged and there; %d answered 503, %d connections refused or broken"
              % (self.reads, self.writes, len(self.kept), self.unavailable, self.broken))


def under_load(mark, trouble):
    """Load before, during and after the trouble; afterwards every acknowledged row is there."""
    site = Site()
    try:
        with Shaken(site, mark) as load:
            time.sleep(1)
            trouble()
            wait_until(is_ready, 30, "it serves again")
            time.sleep(1)
        load.verify(site)
        load.tell()
    finally:
        site.close()


def log_in(client):
    return client.post("/api/login", {"email": "user1@example.com", "password": "larder-demo"})


def deals(client, token):
    return client.get("/api/deals", {"Authorization": "Bearer " + token}).status


# ------------------------------------------------------------------------------------------------- memory

def memory(service):
    """MiB in use now without what the kernel can drop, and the peak, page cache included."""
    paths = dict(line.split(":", 2)[1:] for line in pathlib.Path(
        "/proc/%d/cgroup" % engine.pid(service)).read_text().splitlines())
    one = pathlib.Path("/sys/fs/cgroup/memory" + paths.get("memory", ""))
    if (one / "memory.usage_in_bytes").exists():
        names = "memory.usage_in_bytes", "memory.max_usage_in_bytes", "total_inactive_file"
    else:
        one = pathlib.Path("/sys/fs/cgroup" + paths[""])
        names = "memory.current", "memory.peak", "inactive_file"
    if not all((one / name).exists() for name in names[:2]):
        raise Skip("the control group does not tell the memory")
    droppable = dict(line.split() for line in (one / "memory.stat").read_text().splitlines())[names[2]]
    now, peak = (int((one / name).read_text()) for name in names[:2])
    return (now - int(droppable)) / 2 ** 20, peak / 2 ** 20


def tell_memory(when):
    print("      memory %s: %s" % (when, "; ".join("%s %.1f MiB, at most %.1f so far" % (service, *memory(service))
                                                   for service in SERVICES)))


# -------------------------------------------------------------------------------------------------- tests

@test("both services become healthy, and the published port serves the demo")
def _():
    wait_until(is_ready, 30, "GET /ready is 200")
    expect_equal(Client(url()).get("/products/1").json()["price_cents"], 7919, "the price of product 1")
    engine.wait_healthy()


@test("the memory is told: idle, and after the contract test, which passes")
def _():
    time.sleep(1)
    tell_memory("idle")
    with tempfile.TemporaryDirectory(prefix="larder-") as directory:
        secret = os.path.join(directory, "secret")
        engine.compose("cp", "app:/data/secret", secret)
        done = engine.run([sys.executable, str(HERE / "contract.py"), url(), "--secret-file", secret], check=False)
    print("      contract: " + done.stdout.strip().splitlines()[-1])
    expect_equal(done.returncode, 0, "exit status of the contract test:\n" + done.stdout[-3000:])
    tell_memory("after the contract test")


@test("load of 12 connections for 3 s: nothing fails, and the memory is told")
def _():
    under_load("plain", lambda: time.sleep(3))
    tell_memory("after the load")


@test("the service's image holds the program, an empty directory for the data, and nothing else")
def _():
    container = engine.docker("create", IMAGE).stdout.strip()
    try:
        with tempfile.TemporaryDirectory(prefix="larder-") as directory:
            archive = os.path.join(directory, "image.tar")
            engine.docker("export", "--output", archive, container)
            names = engine.run(["tar", "-tf", archive]).stdout.split()
    finally:
        engine.docker("rm", container)
    made_by_engine = re.compile(r"^(\.dockerenv|(dev|etc|proc|sys|run)/.*)$")
    expect_equal(sorted(name for name in names if not made_by_engine.match(name)), ["data/", "larder"], "the files")


def expect_hardened(service, user):
    container = engine.inspect(service)
    host = container["HostConfig"]
    expect_equal(container["Config"]["User"], user, "user of " + service)
    expect(host["ReadonlyRootfs"], "the root of %s can be written" % service)
    expect_equal(host["CapDrop"], ["ALL"], "capabilities dropped of " + service)
    expect(not host["CapAdd"], "%s has capabilities: %s" % (service, host["CapAdd"]))
    expect_equal(host["SecurityOpt"], ["no-new-privileges:true"], "security options of " + service)
    expect(not host["Privileged"], service + " is privileged")
    for limit in ("Memory", "NanoCpus", "PidsLimit"):
        expect(host[limit] > 0, "%s has no limit: %s" % (service, limit))
    expect_equal(host["RestartPolicy"]["Name"], "unless-stopped", "restart policy of " + service)
    expect_equal(host["LogConfig"]["Config"].get("max-size"), "10m", "limit of the log of " + service)


@test("both run as their users on a read-only root, without capabilities, within limits; the app has no network")
def _():
    expect_hardened("app", "%d:%d" % (OWNER, OWNER))
    expect_hardened("nginx", "101:%d" % OWNER)
    expect_equal(engine.inspect("app")["HostConfig"]["NetworkMode"], "none", "network of app")


@test("the kernel agrees: user, capabilities, no new privileges, of the first process of both")
def _():
    for service, user in ("app", OWNER), ("nginx", 101):
        text = pathlib.Path("/proc/%d/status" % engine.pid(service)).read_text()
        status = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
        expect_equal((status["Uid"].split(), status["Gid"].split()), ([str(user)] * 4, [str(OWNER)] * 4), "user of " + service)
        for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            expect_equal(int(status[name], 16), 0, "%s of %s" % (name, service))
        expect_equal(status["NoNewPrivs"], "1", "NoNewPrivs of " + service)


@test("neither can write where it should not")
def _():
    for service, command in (("app", ["/larder", "init", "--db", "/x.db"]), ("nginx", ["touch", "/etc/x"]),
                             ("nginx", ["touch", "/run/larder/x"]), ("nginx", ["touch", "/etc/larder/nginx.conf"])):
        done = engine.compose("exec", "-T", service, *command, check=False)
        expect(done.returncode != 0 and re.search("Read-only file system|Permission denied", done.stderr),
               "%s in %s: %d %s" % (command, service, done.returncode, done.stderr))


@test("the number of readers follows the limit of processors, the database and the secret are sound")
def _():
    done = engine.compose("exec", "-T", "app", "/larder", "check")
    expect("settings: 1 readers" in done.stdout, "it says %s" % done.stdout)
    expect("secret file: /data/secret, key 1 signs" in done.stdout, "it says %s" % done.stdout)
    expect("integrity: ok" in done.stdout, "it says %s" % done.stdout)


@test("as the first process the supervisor replaces a killed worker and leaves no zombie")
def _():
    supervisor = engine.pid("app")

    def workers():
        return {name: (pid, state) for pid, parent, _, name, state in processes() if parent == supervisor}
    before = workers()["larder-reader 1"][0]
    os.kill(before, 9)
    wait_until(lambda: workers().get("larder-reader 1", (before,))[0] != before, 5, "there is a new reader")
    expect(all(state not in "ZX" for _, state in workers().values()), "zombies: %s" % workers())
    wait_until(is_ready, 5, "GET /ready is 200")


@test("health is 1 and names the reason while the service cannot be reached")
def _():
    done = engine.compose("exec", "-T", "app", "/larder", "health", "--run-dir", "/data", check=False)
    expect(done.returncode == 1 and "no service" in done.stderr, "%d %s" % (done.returncode, done.stderr))
    expect_equal(engine.compose("exec", "-T", "app", "/larder", "health").stdout, "ready\n", "health")


@test("a restart of the app under load loses no acknowledged write; nginx answers 503 meanwhile")
def _():
    under_load("app", lambda: [engine.compose("restart", "app") for _ in range(3)])
    state = engine.inspect("app")["State"]
    expect(not state["OOMKilled"] and state["Running"], "state of app: %s" % state)
    expect_equal(engine.logs("app").count("has stopped"), 3, "tidy ends")


@test("a restart of nginx under load loses no acknowledged write")
def _():
    under_load("nginx", lambda: [engine.compose("restart", "nginx") for _ in range(3)])


@test("kill -9 of the app's container under load loses no acknowledged write")
def _():
    def kill():
        engine.compose("kill", "app")
        engine.compose("start", "app")
    under_load("kill", kill)


@test("stop ends both within their grace periods, the app with status 0 and nothing left in the write-ahead log")
def _():
    started = time.monotonic()
    engine.compose("stop")
    took = time.monotonic() - started
    for service in SERVICES:
        state = engine.inspect(service)["State"]
        expect_equal((state["Status"], state["ExitCode"]), ("exited", 0), "state of " + service)
    expect(took < 15, "it took %.1f s" % took)
    expect("S04" not in engine.logs("app"), "a worker had to be killed")
    with tempfile.TemporaryDirectory(prefix="larder-") as directory:
        engine.compose("cp", "app:/data", directory + "/data")
        expect_equal(sorted(os.listdir(directory + "/data")), ["larder.db", "larder.db.lock", "secret"], "files in the volume")
    engine.up()
    wait_until(is_ready, 30, "GET /ready is 200")


@test("down and up again: rows, users and tokens are there still")
def _():
    client = Client(url())
    row = client.post("/products", product("survivor")).json()
    token = log_in(client).json()["token"]
    engine.compose("down")
    engine.up()
    wait_until(is_ready, 30, "GET /ready is 200")
    client = Client(url())
    expect_equal(client.get("/products/%d" % row["id"]).json(), row, "the row")
    expect_equal(deals(client, token), 200, "a token of before")
    expect("F01" not in engine.logs("app"), "the database was made anew")


def follow(name, directory):
    """Does in the directory what docs/operations.md says in the block of that name; returns what was printed."""
    block = re.search(r"^```sh compose %s\n(.*?)^```$" % name, PAGE.read_text(), re.M | re.S)
    expect(block, "docs/operations.md has no block 'sh compose %s'" % name)
    command = " ".join(map(shlex.quote, engine.docker_command))
    here = '%s compose -p %s -f "%s"' % (command, engine.project, ROOT / "docker-compose.yml")
    lines = 'set -e\ndocker() {\nif [ "$1" = compose ]; then shift; %s "$@"; else %s "$@"; fi\n}\n%s' % (
        here, command, block[1].replace("larder_data", engine.project + "_data"))
    return engine.run(["bash", "-c", lines], cwd=directory).stdout


@test("the commands of docs/operations.md run in the container")
def _():
    with tempfile.TemporaryDirectory(prefix="larder-") as directory:
        said = follow("commands", directory)
    expect("integrity: ok" in said and "requests" in said, "they say %s" % said)
    token = re.search(r"^[\w-]+\.[\w-]+\.[\w-]+\r?$", said, re.M)
    expect(token and deals(Client(url()), token[0].strip()) == 200, "the token is refused: %s" % said)
    ada = {"email": "ada@example.org", "password": "a long password"}
    expect_equal(Client(url()).post("/api/login", ada).status, 200, "a login of the user who was added")


@test("a backup is made while it serves, brought out and back, as docs/operations.md says; on a new volume too")
def _():
    def serves(row, later):
        wait_until(is_ready, 30, "GET /ready is 200")
        client = Client(url())
        expect_equal(client.get("/products/%d" % row["id"]).json(), row, "a row of the backup")
        expect_problem(client.get("/products/%d" % later["id"]), 404)
        expect_equal(deals(client, token), 200, "a token of before")
        expect_equal(client.post("/products", product("restored")).status, 201, "a POST")
    client = Client(url())
    row, token = client.post("/products", product("in-the-copy")).json(), log_in(client).json()["token"]
    with tempfile.TemporaryDirectory(prefix="larder-") as directory:
        follow("backup", directory)
        with contextlib.closing(sqlite3.connect(directory + "/backup.db")) as copy:
            expect_equal(copy.execute("PRAGMA integrity_check").fetchall(), [("ok",)], "integrity of the copy")
        later = client.post("/products", product("not-in-the-copy")).json()
        follow("restore", directory)
        serves(row, later)
        follow("remove", directory)
        expect_equal(files_in_volume(), ["backup.db", "larder.db", "larder.db-shm", "larder.db-wal", "larder.db.lock", "secret"],
                     "files after the removal")
        engine.compose("down", "--volumes")
        engine.up()
        wait_until(is_ready, 30, "GET /ready is 200")
        follow("restore", directory)
        serves(row, later)


def files_in_volume():
    with tempfile.TemporaryDirectory(prefix="larder-") as directory:
        engine.compose("cp", "app:/data", directory + "/data")
        return sorted(os.listdir(directory + "/data"))


@test("a database of an earlier schema is refused, then migrated, as docs/operations.md says, and served")
def _():
    with tempfile.TemporaryDirectory(prefix="larder-") as directory:
        engine.compose("stop", "app")
        old_database(directory + "/larder.db", 1)
        put_in(directory, "larder.db")
        engine.compose("start", "app")
        wait_until(lambda: "larder migrate" in engine.logs("app"), 30, "it refuses")
        expect("applied 0002-" in follow("migrate", directory), "migrate does not tell what it applied")
    wait_until(is_ready, 30, "GET /ready is 200")
    expect_equal(Client(url()).get("/products?q=SKU-000007").json()["items"][0]["id"], 7, "a search")
    expect(any(name.startswith("larder.db.before-v") for name in files_in_volume()), "no copy was kept")


def put_in(directory, name):
    """A file into the volume, with the owner it needs."""
    packed = subprocess.run(["tar", "-C", directory, "--owner=%d" % OWNER, "--group=%d" % OWNER, "-c", name],
                            stdout=subprocess.PIPE, check=True).stdout
    done = subprocess.run([*engine.docker_command, "compose", "-p", engine.project, "-f", str(ROOT / "docker-compose.yml"),
                           "cp", "-", "app:/data"], input=packed, capture_output=True)
    expect_equal(done.returncode, 0, "exit status of cp: %s" % done.stderr)


@test("a secret file of the user's own, as a secret of Compose, takes the place of the one in the volume")
def _():
    if os.geteuid() != 0:
        raise Skip("only root can give a file to the service's user")
    old = log_in(Client(url())).json()["token"]
    with tempfile.TemporaryDirectory(prefix="larder-") as directory:
        os.chmod(directory, 0o711)
        path = os.path.join(directory, "secret")
        write_secrets(path, new_secret("mine"))
        os.chown(path, OWNER, OWNER)
        engine.up(files=("docker-compose.secret.yml",), env={**os.environ, "SECRET_FILE": path})
        try:
            wait_until(is_ready, 30, "GET /ready is 200")
            expect("key mine signs" in engine.compose("exec", "-T", "app", "/larder", "check").stdout, "check")
            client = Client(url())
            expect_equal(deals(client, old), 401, "a token of the other secret")
            expect_equal(deals(client, log_in(client).json()["token"]), 200, "a token of this one")
        finally:
            engine.up()
    wait_until(is_ready, 30, "GET /ready is 200")
    expect_equal(deals(Client(url()), old), 200, "a token of the secret in the volume")


@test("the first start makes an empty database unless the demo is asked for, and refuses when told to make nothing")
def _():
    engine.compose("down", "--volumes")
    for init in ("no", None):
        given = {name: value for name, value in os.environ.items() if name != "LARDER_INIT"}
        engine.up(env={**given, **({"LARDER_INIT": init} if init else {})})
        if init:
            wait_until(lambda: "cannot use the secret file" in engine.logs("app"), 30, "it refuses")
            expect_problem(Client(url()).get("/products/1"), 503)
    wait_until(is_ready, 30, "GET /ready is 200")
    client = Client(url())
    expect_equal(client.get("/products").json()["items"], [], "the products")
    expect_equal(client.post("/categories", {"name": "First"}).status, 201, "a POST")


# --------------------------------------------------------------------------------------------------- main

def main():
    global engine
    parser = argparse.ArgumentParser(description="Builds, starts and tests docker-compose.yml.")
    parser.add_argument("engine", metavar="ENGINE", help="docker, or a script that keeps an engine of its own")
    parser.add_argument("--only", default="", metavar="TEXT", help="those with TEXT in their statement")
    parser.add_argument("--started", metavar="PROJECT", help=argparse.SUPPRESS)  # the second half, in the namespace
    options = parser.parse_args()
    engine = Engine(options.engine)
    if options.started:
        engine.project = options.started
        return run_tests(options.only)
    if not engine.answers():
        print("skip  docker compose: no engine answers to '%s'; give one with ENGINE=" % options.engine)
        return 0
    os.environ.update(variables(engine))
    inside = [engine.command, "in"] if engine.private else []
    try:
        engine.start()
        return subprocess.run([*inside, sys.executable, __file__, options.engine, "--started", engine.project,
                               "--only", options.only]).returncode
    finally:
        engine.stop()


if __name__ == "__main__":
    end_tidily_when_terminated()
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
    except AssertionError as complaint:
        sys.exit("compose.py: %s" % complaint)
