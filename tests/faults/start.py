"""The command line: what does not start says in one sentence why, and what to do."""
import contextlib
import os
import re
import shutil
import sqlite3
import subprocess

from databases import damage, digest, directory, schema_version
from harness import Service, create_database, expect, expect_each, expect_equal, larder, run_larder
from runner import Skip, test

OPTIONS = {  # option -> values it must refuse
    "--db": [""],
    "--run-dir": [""],
    "--listen": ["larder.sock", "9000", ":9000", "127.0.0.1:0", "::1:9000", "example.org:9000", "/" + "x" * 107],
    "--readers": ["", "-1", "65", "x", "1.5", "2 ", "0x2", "99999999999999999999"],
    "--sync": ["", "off", "Full", "full ", "1"],
    "--socket-mode": ["", "0", "8", "1777", "rw", "-1", "660 ", "77777777777777777777777"],
    "--init": ["", "yes", "Demo"],
    "--probes": ["", "yes", "ON", "2"],
    "--slow-ms": ["", "0", "-1", "1.5", "3600001", "1s", "OFF"],
    "--cors-origin": ["https://a b", "https://\u00e4"],
    "--secret-file": [],
    "--token-issuer": ["a b", "\u00e4"],
    "--token-audience": ["a b", "\u00e4"],
    "--token-ttl": ["", "0", "-1", "1.5", "1h", "99999999999999999999"],
}
MESSAGE_BYTES = 600


def variable(option):
    return "LARDER_" + option[2:].upper().replace("-", "_")


def expect_refusal(done, status, advice):
    """One line on standard error and nothing else; `advice` is a pattern of what it must name."""
    name = "larder %s" % " ".join(done.args)
    expect_equal(done.returncode, status, "exit status of %s (%s)" % (name, done.stderr.strip()))
    expect_equal(done.stdout, "", "standard output of %s" % name)
    expect(re.fullmatch(r"larder: [^\n]+\n", done.stderr), "%s says not one line: %r" % (name, done.stderr))
    expect(len(done.stderr) < MESSAGE_BYTES, "%s says too much: %r" % (name, done.stderr))
    expect(re.search(advice, done.stderr), "%s does not tell what to do (%s): %s" % (name, advice, done.stderr))


def expect_not_served(database, advice, run_dir=None, **options):
    """Neither `serve` nor, when it is the database's fault, `check` takes it."""
    flags = ["--db", str(database)]
    expect_refusal(run_larder("serve", *flags, "--run-dir", str(run_dir or database) + ".run", **options), 1, advice)
    if run_dir is None:
        expect_refusal(run_larder("check", *flags, **options), 1, advice)


# ------------------------------------------------------------------------------------------- the database

@test("no database: the message names larder init")
def _():
    with directory() as here:
        expect_not_served(here / "none.db", "larder init --db ")
        expect_equal(sorted(here.iterdir()), [], "files left behind")


@test("a directory, a text file, an empty file or somebody else's database is refused and left as it was")
def _():
    with directory() as here:
        (here / "directory").mkdir()
        (here / "text").write_text("not a database\n" * 100)
        (here / "empty").touch()
        with contextlib.closing(sqlite3.connect(here / "other")) as other:
            other.executescript("CREATE TABLE a (b); PRAGMA user_version = 1")
        before = {name: digest(here / name) for name in ("text", "empty", "other")}
        expect_each(("directory", "text", "empty", "other"),
                    lambda name: expect_not_served(here / name, "--db|larder init"))
        expect_equal({name: digest(here / name) for name in before}, before, "the files")


@test("a database of another schema version is refused, the bytes unchanged, however long its path")
def _():
    with directory() as here:
        def check(case):
            name, change, advice = case
            path = here / name / "larder.db"
            path.parent.mkdir()
            create_database(path)
            with contextlib.closing(sqlite3.connect(path)) as database:
                version, = database.execute("PRAGMA user_version").fetchone()
                database.execute("PRAGMA user_version = %d" % (version + change))
            before = digest(path)
            expect_not_served(path, "schema version %d .*%s" % (version + change, advice), run_dir=here / "run")
            expect_equal(digest(path), before, "the database's bytes")
        fits = "use the program that fits"
        expect_each((("newer", 1, fits), ("older", -1, "larder migrate --db "), ("none", -schema_version(), fits),
                     ("long-" * 40, 1, fits)), check)


@test("check is 0 for a good database, 1 for one with a damaged index or a missing half")
def _():
    with directory() as here:
        good, damaged, half = here / "good.db", here / "damaged.db", here / "half.db"
        create_database(good, demo=True)
        done = run_larder("check", "--db", str(good))
        expect_equal((done.returncode, done.stderr), (0, ""), "a good one")
        expect("integrity: ok" in done.stdout, "check says %s" % done.stdout)
        shutil.copy(good, damaged)
        damage(damaged)
        half.write_bytes(good.read_bytes()[:good.stat().st_size // 2])
        for path in (damaged, half):
            done = run_larder("check", "--db", str(path))
            expect_equal(done.returncode, 1, "exit status for %s (%s)" % (path.name, done.stdout))
            expect("integrity: ok" not in done.stdout, "check says %s" % done.stdout)
        expect("fault: " in run_larder("check", "--db", str(damaged)).stdout, "the fault is not told")


@test("init refuses an existing file and leaves it alone; what it cannot create leaves nothing")
def _():
    with directory() as here:
        (here / "mine").write_text("mine")
        expect_refusal(run_larder("init", "--db", str(here / "mine")), 1, "exists already")
        expect_equal((here / "mine").read_text(), "mine", "the file")
        expect_refusal(run_larder("init", "--db", str(here / "no" / "such.db")), 1, "No such file or directory")
        expect_refusal(run_larder("init", "--db", str(here)), 1, "exists already")
        expect_equal([path.name for path in here.iterdir()], ["mine"], "the files")


@test("init --demo makes the same content every time")
def _():
    with directory() as here:
        dumps = []
        for name in ("a.db", "b.db"):
            create_database(here / name, demo=True)
            with contextlib.closing(sqlite3.connect(here / name)) as database:
                dumps.append("\n".join(database.iterdump()))
        expect(dumps[0] == dumps[1], "the dumps differ")
        expect_equal(dumps[0].count('INSERT INTO "products"'), 10000, "products")


# ---------------------------------------------------------------------------------------- its surroundings

@test("a run directory that is too long, a file, or cannot be made is refused; --run-dir is named")
def _():
    with directory() as here:
        create_database(here / "larder.db")
        (here / "file").touch()
        expect_each((here / ("x" * 120), here / "file", here / "no" / "such"), lambda run_dir: expect_refusal(
            run_larder("serve", "--db", str(here / "larder.db"), "--run-dir", str(run_dir)), 1, "--run-dir"))


def as_somebody_else():
    """The start of a command line that gives up root's right to ignore permissions."""
    if os.geteuid() != 0:
        return ()
    before = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    if not shutil.which("setpriv") or subprocess.run([*before, "true"], capture_output=True).returncode != 0:
        raise Skip("root cannot become somebody else here")
    return before


@test("a directory that may not be written, a database that may not be read or written is refused and named")
def _():
    before = as_somebody_else()
    with directory() as here:
        here.chmod(0o755)
        binary, private = here / "larder", here / "private"
        shutil.copy(larder(), binary)

        def check(case):
            directory_mode, database_mode, advice = case
            private.mkdir()
            create_database(private / "larder.db")
            (private / "larder.db").chmod(database_mode)
            private.chmod(directory_mode)
            try:
                done = run_larder("serve", "--db", str(private / "larder.db"), "--run-dir", str(private / "run"),
                                  before=before, binary=binary)
            finally:
                private.chmod(0o755)
                shutil.rmtree(private)
            expect_refusal(done, 1, advice)
        expect_each(((0o555, 0o666, "must be writable"), (0o777, 0o000, "larder.db"),
                     (0o777, 0o444, "larder.db")), check)


@test("a second larder on the same database, also by another name, is refused while the first serves on")
def _():
    with Service(readers=1) as service:
        link = os.path.join(service.directory, "link.db")
        os.symlink(service.database, link)
        for path in (service.database, link):
            done = run_larder("serve", "--db", path, "--run-dir", service.run_dir)
            expect_refusal(done, 1, "stop it first")
            expect_equal(service.client().get("/products/1").status, 200, "a GET of the first")


@test("a larder on another database does not take the sockets of one that serves")
def _():
    with Service(readers=1) as service:
        other = os.path.join(service.directory, "other.db")
        create_database(other)
        try:
            expect_refusal(run_larder("serve", "--db", other, "--run-dir", service.run_dir), 1, "--run-dir")
        finally:
            status = service.client().get("/products/1").status
        expect_equal(status, 200, "a GET of the first")


# --------------------------------------------------------------------------------------------- the options

@test("usage errors are one line and exit 2: commands, options, values, variables")
def _():
    commands = [[], ["bogus"], [""], ["SERVE"], ["--db", "x"]]
    for arguments in (["--bogus"], ["extra"], ["--reader", "1"], ["--readersx=1"], ["--"], ["-d", "x"]):
        commands += [[command, *arguments] for command in ("serve", "check", "init", "version", "help")]
    expect_each(commands, lambda arguments: expect_refusal(run_larder(*arguments), 2, "larder help"))
    expect_each(OPTIONS, lambda option: expect_refusal(run_larder("serve", option), 2, option + " needs a value"))

    def check(case):
        option, value = case
        for arguments in ([option, value], ["%s=%s" % case]):
            expect_refusal(run_larder("serve", *arguments), 2, option + " must be ")
        expect_refusal(run_larder("serve", env={variable(option): value}), 2, variable(option) + " must be ")
    expect_each([(option, value) for option, values in OPTIONS.items() for value in values], check)


@test("a line break in what the caller typed does not break the line that complains about it")
def _():
    expect_each((["bo\ngus"], ["serve", "--bo\ngus"], ["serve", "--sync", "a\nb"], ["serve", "--db", "no\nsuch.db"],
                 ["serve", "--cors-origin", "https://a\r\nX: y"]), lambda arguments: expect_refusal(
                     run_larder(*arguments), 1 if "--db" in arguments else 2, "a?"))


@test("help lists every command, option and variable; version tells SQLite's")
def _():
    for name in ("help", "--help", "-h"):
        done = run_larder(name)
        expect_equal((done.returncode, done.stderr), (0, ""), "larder %s" % name)
        missing = [word for option in OPTIONS for word in (option, variable(option)) if word not in done.stdout]
        missing += [word for word in ("serve", "init", "--demo", "health", "top", "--once", "check", "backup FILE", "--overwrite",
                                      "restore FILE", "migrate", "--no-copy", "version", "help", "token", "user add",
                                      "user passwd", "user disable", "user enable", "--user", "--ttl", "--email", "--name")
                    if word not in done.stdout]
        expect(not missing, "larder %s does not list %s" % (name, missing))
    listed = set(re.findall(r"LARDER_\w+", done.stdout))
    expect_equal(listed, {variable(option) for option in OPTIONS}, "variables that these tests know")
    done = run_larder("version")
    expect_equal((done.returncode, done.stderr), (0, ""), "larder version")
    expect(re.search(r"^larder \d+\.\d+\.\d+\n.*SQLite 3\.\d+\.\d+", done.stdout), "it says %s" % done.stdout)
