"""Disaster recovery, rehearsed: the steps of docs/operations.md as they stand there, on a service that is broken first.

Each block that begins with ```sh recovery belongs to the heading above it. Its lines are run one by one by a shell, with the
document's directories replaced by this test's; `systemctl start larder` and `stop` act on a service of the harness."""
import contextlib
import os
import pathlib
import re
import signal
import subprocess

from backup import backup
from databases import connect, content, damage, digest, expect_sound, old_database, query, schema_version
from harness import (ROOT, Service, create_database, environment, expect, expect_equal, expect_problem, larder, product, run_larder,
                     wait_until)
from runner import test

PAGE = ROOT / "docs" / "operations.md"
BLOCK = re.compile(r"^```sh recovery\n(.*?)^```$", re.M | re.S)


def steps(heading):
    """The lines of the blocks below a heading, those that end in a backslash joined."""
    text = PAGE.read_text()
    found = re.search(r"^#+ %s\n(.*?)(?=^#|\Z)" % re.escape(heading), text, re.M | re.S)
    expect(found, "docs/operations.md has no heading %r" % heading)
    lines = "".join(BLOCK.findall(found[1])).replace("\\\n", "").splitlines()
    expect(lines, "nothing is rehearsed below %r" % heading)
    return lines


class Machine:
    """A service with its database and a backup of it, in the places that the document names."""

    def __init__(self, service):
        self.service = service
        self.directory = pathlib.Path(service.directory)
        self.backups = self.directory / "backups"
        self.backups.mkdir()
        (self.directory / "bin").mkdir()
        os.symlink(larder(), self.directory / "bin" / "larder")
        backup(service.database, self.backups / "1.db")

    def here(self, text):
        return text.replace("/var/lib/larder", str(self.directory)).replace("/var/backups/larder", str(self.backups))

    def stop(self):
        if self.service.supervisor.poll() is None:
            self.service.supervisor.send_signal(signal.SIGTERM)
        expect_equal(self.service.supervisor.wait(15), 0, "exit status of larder")

    def start(self):
        self.service.serve()
        self.service.wait_ready()

    def shell(self, line):
        path = "%s:%s" % (self.directory / "bin", os.environ["PATH"])
        return subprocess.run(["sh", "-c", self.here("%s\n%s" % (steps("Disaster recovery")[0], line))], capture_output=True,
                              text=True, env=environment({"PATH": path}), cwd=self.directory, timeout=60)

    def follow(self, heading):
        """Does what the document says; returns what the commands printed."""
        said = ""
        for line in steps(heading):
            if line == "systemctl stop larder":
                self.stop()
            elif line == "systemctl start larder":
                self.start()
            else:
                done = self.shell(line)
                expect_equal((done.returncode, done.stderr), (0, ""), "%s, which says %s" % (line, done.stdout))
                said += done.stdout
        return said

    def check(self):
        done = run_larder("check", "--db", self.service.database)
        expect_equal(done.returncode, 0, "check, which says %s" % done.stdout)


@contextlib.contextmanager
def machine(prepare=None):
    with Service(readers=1) as service:
        if prepare:
            prepare(service)
        yield Machine(service)


def kept(service):
    return list(pathlib.Path(service.directory).glob("larder.db.replaced-*Z"))


@test("the disk is lost: the backup is served on a new machine, in place of the empty database there")
def _():
    with machine() as here:
        before = content(here.service.database)
        expect_equal(here.service.client().post("/products", product("lost")).status, 201, "a POST after the backup")
        here.service.kill_supervisor()
        wait_until(lambda: not here.service.left_over(), 5, "all processes are gone")
        for path in here.directory.glob("larder.db*"):
            path.unlink()
        create_database(here.service.database)  # by the first start on the new machine
        here.start()
        here.follow("The disk is lost")
        expect_equal(query(kept(here.service)[0], "SELECT count(*) FROM products"), [(0,)], "the empty one, kept")
        expect_equal(content(here.service.database), before, "the rows")
        expect_equal(here.service.client().post("/products", product("lost")).status, 201, "a POST")
        here.check()


@test("the file is damaged: the backup takes its place, the damaged file is kept")
def _():
    with machine() as here:
        here.stop()
        damage(here.service.database)
        damaged = digest(here.service.database)
        expect_equal(run_larder("check", "--db", here.service.database).returncode, 1, "check")
        here.start()
        here.follow("The file is damaged")
        here.check()
        old, = kept(here.service)
        expect_equal(os.path.getsize(old), os.path.getsize(here.service.database), "size of the one kept")
        expect(digest(old) == damaged or query(old, "PRAGMA integrity_check") != [("ok",)], "the one kept is sound")
        read = subprocess.run(["sqlite3", str(old), ".dump products"], capture_output=True, text=True, timeout=60)
        expect("SKU-012499" in read.stdout, "the table cannot be read: %s" % read.stderr)
        expect_equal(here.service.client().post("/products", product("after")).status, 201, "a POST")


@test("a wrong delete: its rows come back, what was written since the backup stays")
def _():
    with machine() as here:
        client = here.service.client()
        before = content(here.service.database)["products"]["id"]
        removed = [number for number in range(150, 160) if number % 5]
        for number in removed:
            expect_equal(client.delete("/products/%d" % number).status, 204, "a DELETE")
        expect_equal(client.delete("/products/201").status, 204, "a DELETE that was meant")
        since = client.post("/products", product("since"))
        here.follow("Something was deleted that should not be")
        expect_problem(client.get("/products/201"), 404)
        expect_equal(client.get("/products?q=SKU-000151").json()["items"][0]["id"], 151, "a search of what is back")
        expect_equal(client.get(since.headers["Location"]).body, since.body, "what was written since")
        after = content(here.service.database)["products"]["id"]
        expect_equal(set(before) - set(after), {201}, "products that are gone")
        expect_sound(here.backups / "before-repair.db")
        here.check()


@test("a new release: a database of an earlier schema is migrated, then served")
def _():
    with machine() as here:
        here.stop()
        os.unlink(here.service.database)
        old_database(here.service.database, 1)
        said = here.follow("A new release")
        expect("applied 0002-" in said, "it says %s" % said)
        here.check()


@test("a release that does not do: the one before serves the copy that the migration made")
def _():
    with machine() as here:
        newer = schema_version() + 1
        before = content(here.service.database)
        here.stop()  # what the newer release's migrate does:
        backup(here.service.database, "%s.before-v%d-20261130T220000Z" % (here.service.database, newer))
        with connect(here.service.database) as database:
            database.execute("CREATE TABLE newer (a)")
            database.execute("PRAGMA user_version = %d" % newer)
        done = run_larder("check", "--db", here.service.database)
        expect("use the program that fits" in done.stderr, "the release before says %s" % done.stderr)
        here.follow("A new release does not do")
        expect_equal(content(here.service.database), before, "the rows")
        expect_equal(query(kept(here.service)[0], "SELECT count(*) FROM newer"), [(0,)], "the newer one, kept")
        here.check()


@test("the line for cron makes a backup, and the next night replaces it")
def _():
    with machine() as here:
        line = re.search(r"^\d[\d *]+\S+  (larder backup .*)$", PAGE.read_text(), re.M)
        expect(line, "docs/operations.md has no line for cron")
        command = line[1].replace("\\%", "%")
        unit = re.search(r"^ExecStart=/bin/sh -c 'exec (larder backup .*)'$", PAGE.read_text(), re.M)
        expect_equal(unit and unit[1].replace("%%", "%"), command, "the timer's command")
        for _ in range(2):
            done = here.shell(command)
            expect_equal((done.returncode, done.stderr), (0, ""), "the backup")
        made = [path.name for path in here.backups.iterdir()]
        expect(any(re.fullmatch(r"[1-7]\.db", name) for name in made), "it made %s" % made)
        for path in here.backups.iterdir():
            expect_sound(path)


@test("every step of the document is rehearsed here")
def _():
    text = PAGE.read_text()
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    with_steps = [heading for heading in headings if BLOCK.search(
        re.search(r"^#+ %s\n(.*?)(?=^#|\Z)" % re.escape(heading), text, re.M | re.S)[1])]
    followed = re.findall(r'follow\("([^"]+)"\)', pathlib.Path(__file__).read_text())
    expect_equal(sorted(with_steps), sorted(followed + ["Disaster recovery"]), "headings with steps, and those followed")
