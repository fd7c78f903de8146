"""`serve --init`: what is missing is made, what is there is never touched."""
import os
import pathlib
import re
import sqlite3
import stat
import subprocess
import tempfile

from harness import ROOT, create_database, environment, expect, expect_equal, larder, run_larder, wait_until
from runner import test


class Started:
    """`larder serve` in a directory, from its first line on until the `with` block ends."""

    def __init__(self, here, *flags, env=None):
        self.here = pathlib.Path(here)
        self.command = [larder(), "serve", "--db", "larder.db", "--run-dir", "run", "--readers", "1", *flags]
        self.env = env

    def __enter__(self):
        with open(self.here / "log", "wb") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.here,
                                            env=environment(self.env))
        try:
            wait_until(lambda: self.process.poll() is None and run_larder(
                "health", "--run-dir", "run", cwd=self.here).returncode == 0, 10, "it is ready: " + self.log())
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.terminate()
        expect_equal(self.process.wait(15), 0, "exit status: " + self.log())

    def log(self):
        return (self.here / "log").read_text()


def rows(here):
    with sqlite3.connect(here / "larder.db") as database:
        count, = database.execute("SELECT count(*) FROM products").fetchone()
    database.close()
    return count


def directory():
    return tempfile.TemporaryDirectory(prefix="larder-")


@test("--init makes an empty or the demo database and a secret for its owner alone; the next start leaves both")
def _():
    for kind, count in ("empty", 0), ("demo", 10000):
        with directory() as path:
            here = pathlib.Path(path)
            with Started(here, "--init", kind, "--secret-file", "secret") as started:
                expect(re.search(r"F01 made the database larder\.db( with the demo data)?\n.*F02 made the secret file secret",
                                 started.log()), started.log())
            secret = (here / "secret").read_text()
            expect(re.fullmatch("1 [0-9a-f]{64}\n", secret), "the secret file holds %r" % secret)
            expect_equal(stat.S_IMODE(os.stat(here / "secret").st_mode), 0o600, "mode of the secret file")
            expect_equal(rows(here), count, "products")
            with Started(here, env={"LARDER_INIT": "demo", "LARDER_SECRET_FILE": "secret"}) as started:
                expect(not re.search("F01|F02", started.log()), started.log())
            expect_equal((rows(here), (here / "secret").read_text()), (count, secret), "products and secret")
            expect_equal(sorted(os.listdir(here)), ["larder.db", "larder.db.lock", "log", "run", "secret"], "the files")


@test("two secrets made are not the same")
def _():
    made = set()
    for _ in range(2):
        with directory() as path:
            with Started(path, "--init", "empty", "--secret-file", "secret"):
                made.add(pathlib.Path(path, "secret").read_text())
    expect_equal(len(made), 2, "secrets")


@test("--init refuses what it cannot make, a left write-ahead log and an unusable secret file, each in a sentence")
def _():
    def expect_refusal(here, advice, *flags):
        done = run_larder("serve", "--init", "empty", "--db", str(here / "larder.db"), "--run-dir", str(here / "run"), *flags)
        expect_equal(done.returncode, 1, "exit status")
        expect(re.search("(^|\n)larder: [^\n]*(%s)[^\n]*\n$" % advice, done.stderr), "it says %r" % done.stderr)
    with directory() as path:
        here = pathlib.Path(path)
        expect_refusal(here / "none", "cannot create .*: No such file or directory")
        (here / "larder.db-wal").write_bytes(b"x" * 100)
        expect_refusal(here, "larder.db-wal is there")
        expect(not (here / "larder.db").exists(), "a database was made beside a log")
        (here / "larder.db-wal").unlink()
        expect_refusal(here, "cannot make the secret file .*: No such file or directory", "--secret-file", str(here / "no" / "secret"))
        (here / "secret").write_text("")
        (here / "secret").chmod(0o600)
        expect_refusal(here, "secret .*is empty", "--secret-file", str(here / "secret"))
        expect_equal(sorted(os.listdir(here)), ["larder.db", "secret"], "the files")


@test("without --init nothing is made")
def _():
    with directory() as path:
        here = pathlib.Path(path)
        create_database(here / "larder.db")
        done = run_larder("serve", "--db", str(here / "larder.db"), "--run-dir", str(here / "run"),
                          "--secret-file", str(here / "secret"))
        expect_equal(done.returncode, 1, "exit status (%s)" % done.stderr)
        expect_equal(os.listdir(here), ["larder.db"], "the files")


@test("the files for containers name settings that larder has, and files that are there")
def _():
    known = set(re.findall(r"LARDER_\w+", run_larder("help").stdout)) | {"LARDER_IMAGE"}
    fixed = {"LARDER_DB", "LARDER_RUN_DIR", "LARDER_LISTEN", "LARDER_SOCKET_MODE"}  # as the two containers need them
    named = {name for path in ROOT.glob("docker-compose*.yml") for name in re.findall(r"LARDER_\w+", path.read_text())}
    expect_equal(named, known - fixed, "settings that docker-compose*.yml name")
    wanted = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    expect_equal([name for name in wanted if not (ROOT / name).exists()], [], "names in .dockerignore without a file")
