"""A backup put in the database's place: never beside a service, never mixed with the old log, nothing lost on the way."""
import os
import pathlib
import shutil
import signal
import stat
import subprocess

from backup import backup
from databases import (connect, content, damage, digest, directory, expect_sound, old_database, padded_database, query,
                       schema_version)
from disk import small_disk
from harness import (Service, create_database, environment, expect, expect_each, expect_equal, larder, product, run_larder,
                     sanitized)
from runner import Skip, test
from start import expect_refusal

STEPS = ("fchmod", "fsync", "link", "rename", "unlink")  # system calls before which a restore is killed


def restore(database, file):
    done = run_larder("restore", str(file), "--db", str(database), timeout=60)
    expect_equal((done.returncode, done.stderr), (0, ""), "a restore")
    return done.stdout


def refused(database, file, advice):
    expect_refusal(run_larder("restore", str(file), "--db", str(database)), 1, advice)


def kept(database):
    """The databases that restores have kept, without their logs."""
    return sorted(path for path in pathlib.Path(database).parent.glob(pathlib.Path(database).name + ".replaced-*Z"))


def categories(path):
    return {name for name, in query(path, "SELECT name FROM categories")}


def crashed_database(path, name):
    """One whose last category is in its log alone, as after a power cut."""
    create_database(path)
    live = str(path) + ".live"
    shutil.copy(path, live)
    with connect(live) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("INSERT INTO categories (name) VALUES (?)", (name,))
        for suffix in ("", "-wal"):
            shutil.copy(live + suffix, str(path) + suffix)
    for suffix in ("", "-wal", "-shm"):
        pathlib.Path(live + suffix).unlink(missing_ok=True)


def crashed_and_backup(here):
    """A database with the category "old" in its log, and a backup with the category "new"."""
    database, file = here / "larder.db", here / "backup.db"
    create_database(here / "other.db")
    with connect(here / "other.db") as other:
        other.execute("INSERT INTO categories (name) VALUES ('new')")
    backup(here / "other.db", file)
    crashed_database(database, "old")
    return database, file


@test("a restore is refused while the database is served, then puts the rows of the backup back")
def _():
    with Service(readers=1) as service:
        file = os.path.join(service.directory, "backup.db")
        client = service.client()
        made = client.post("/products", product("before"))
        backup(service.database, file)
        expect_equal(client.delete(made.headers["Location"]).status, 204, "a DELETE")
        expect_equal(client.post("/products", product("after")).status, 201, "a POST")
        refused(service.database, file, "stop it first")
        expect_equal(client.get(made.headers["Location"]).status, 404, "after a refused restore")
        service.supervisor.send_signal(signal.SIGTERM)
        service.supervisor.wait(15)
        said = restore(service.database, file)
        old, = kept(service.database)
        expect(str(old) in said, "it does not tell what it kept: %s" % said)
        expect_equal(query(old, "SELECT sku FROM products WHERE id > 12500"), [("after",)], "rows kept")
        service.serve()
        service.wait_ready()
        expect_equal(client.get(made.headers["Location"]).body, made.body, "the product of before")
        expect_equal(client.post("/products", product("after")).status, 201, "a POST of what is not there any more")
        expect_equal(run_larder("check", "--db", service.database).returncode, 0, "check")


@test("the log of a killed service stays with the database that is kept, and never meets the new one")
def _():
    with directory() as here:
        database, file = crashed_and_backup(here)
        restore(database, file)
        expect(not os.path.exists(str(database) + "-wal"), "the old log lies beside the new database")
        expect_equal(content(database), content(file), "rows")
        old, = kept(database)
        expect_equal(categories(old), {"old"}, "categories kept")
        expect_sound(old)
        restore(database, file)
        expect_equal(len(kept(database)), 2, "databases kept after two restores")


@test("onto an empty disk; with a log that was left of a database that is gone; through a symbolic link")
def _():
    with directory() as here:
        database, file = crashed_and_backup(here)
        (here / "empty").mkdir()
        restore(here / "empty" / "larder.db", file)
        expect_equal(categories(here / "empty" / "larder.db"), {"new"}, "on an empty disk")
        expect_equal(kept(here / "empty" / "larder.db"), [], "kept")
        database.unlink()
        expect_refusal(run_larder("init", "--db", str(database)), 1, "larder.db-wal is there")
        restore(database, file)
        expect_equal(categories(database), {"new"}, "beside a left log")
        os.symlink(database, here / "link.db")
        restore(here / "link.db", file)
        expect((here / "link.db").is_symlink(), "the link is gone")
        expect_equal(categories(database), {"new"}, "through the link")


@test("what is damaged, foreign, newer, missing or the database itself is refused, and the database stays")
def _():
    with directory() as here:
        database, file = crashed_and_backup(here)
        before = [digest(str(database) + suffix) for suffix in ("", "-wal")]
        shutil.copy(here / "other.db", here / "newer.db")
        with connect(here / "newer.db") as newer:
            newer.execute("PRAGMA user_version = %d" % (schema_version() + 1))
        shutil.copy(here / "other.db", here / "damaged.db")
        with connect(here / "damaged.db") as damaged:
            damaged.execute("PRAGMA foreign_keys = OFF")
            damaged.execute("INSERT INTO products VALUES (1, 'A', 'A', 1, 1, 77, '', '')")
        (here / "half.db").write_bytes(file.read_bytes()[:30000])
        (here / "text").write_text("text" * 1000)
        os.symlink(database, here / "link.db")
        expect_each((("newer.db", "use the program that fits"), ("damaged.db", "is damaged .*was not changed"),
                     ("half.db", "half.db"), ("text", "give the path of a backup"),
                     ("none.db", "No such file"), ("link.db", "is the database itself")),
                    lambda case: refused(database, here / case[0], case[1]))
        expect_refusal(run_larder("restore", "--db", str(database)), 2, "which file")
        expect_equal([digest(str(database) + suffix) for suffix in ("", "-wal")], before, "the database and its log")
        expect_equal((kept(database), list(here.glob("*.part*"))), ([], []), "what is left")


@test("a backup of an earlier schema is put in place, and the next step is told")
def _():
    with directory() as here:
        create_database(here / "larder.db")
        old_database(here / "old.db", 1)
        said = restore(here / "larder.db", here / "old.db")
        expect("run 'larder migrate --db %s'" % (here / "larder.db") in said, "it says %s" % said)
        expect_equal(query(here / "larder.db", "PRAGMA user_version"), [(1,)], "version")


@test("a database that is damaged is replaced all the same, and kept as it is")
def _():
    with directory() as here:
        database, file = here / "larder.db", here / "backup.db"
        create_database(database, demo=True)
        backup(database, file)
        damage(database)
        before = digest(database)
        restore(database, file)
        expect_equal(run_larder("check", "--db", str(database)).returncode, 0, "check")
        expect_equal(digest(kept(database)[0]), before, "the one kept")
        database.write_bytes(b"rubbish")
        restore(database, file)
        expect_equal(run_larder("check", "--db", str(database)).returncode, 0, "check")


@test("owner and mode of the database before stay, so that the service's user can go on")
def _():
    if os.geteuid() != 0:
        raise Skip("only root can give files away")
    with directory() as here:
        database, file = crashed_and_backup(here)
        os.chown(database, 1234, 2345)
        os.chmod(database, 0o640)
        restore(database, file)
        status = os.stat(database)
        expect_equal((status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)), (1234, 2345, 0o640), "owner and mode")
        os.chown(here, 3456, 4567)
        os.unlink(database)
        os.unlink(str(database) + ".lock")
        restore(database, file)
        for path in (database, str(database) + ".lock"):
            expect_equal((os.stat(path).st_uid, os.stat(path).st_gid), (3456, 4567), "owner of %s" % path)


@test("a full disk: one sentence, the database as it was, no file left", mounts=True)
def _():
    with directory() as here, small_disk() as (database, filler):
        file = here / "backup.db"
        padded_database(here / "other.db", 4)
        backup(here / "other.db", file)
        before = digest(database)
        refused(database, file, "the disk is full; the database was not changed")
        expect_equal(digest(database), before, "the database")
        expect_equal(sorted(os.listdir(os.path.dirname(database))), ["filler", "larder.db", "larder.db.lock"], "the files")


# ------------------------------------------------------------------------------------------------ crashes

def killed_at(call, number, database, file):
    """Runs a restore that is killed before its number-th system call of a kind. Returns whether it got that far."""
    done = subprocess.run(["strace", "-qq", "-o", "/dev/null", "-e", "trace=" + call, "-e",
                           "inject=%s:signal=KILL:when=%d" % (call, number),
                           larder(), "restore", str(file), "--db", str(database)],
                          capture_output=True, text=True, env=environment())
    expect(done.returncode in (0, -signal.SIGKILL), "%s %d: %s" % (call, number, done.stderr))
    return done.returncode != 0


def expect_whole(database, file, step):
    """Either the old database with its log or the new one; or none, and the old one is kept with its log."""
    if database.exists():
        found = categories(database)
        expect(found in ({"old"}, {"new"}), "%s: the database has %s" % (step, found))
        expect_sound(database)
    else:
        found = set()
        expect_refusal(run_larder("init", "--db", str(database)), 1, "there is no database at ")
        expect_equal(categories(kept(database)[0]), {"old"}, "%s: categories kept" % step)
        expect_sound(kept(database)[0])
    restore(database, file)
    expect_equal(categories(database), {"new"}, "%s: after another restore" % step)
    expect_sound(database)
    if found != {"old"}:
        expect({"old"} in [categories(path) for path in kept(database)], "%s: the old one is lost" % step)
    return frozenset(found)


@test("killed before each of its steps, a restore leaves the old database whole or kept whole, and can be repeated")
def _():
    if sanitized():
        raise Skip("a sanitizer build does not end well under strace")
    if not shutil.which("strace") or subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"],
                                                    capture_output=True).returncode != 0:
        raise Skip("strace cannot be used here")
    seen = set()
    for call in STEPS:
        for number in range(1, 100):
            with directory() as here:
                database, file = crashed_and_backup(here)
                if not killed_at(call, number, database, file):
                    expect_equal(categories(database), {"new"}, "the database in the end")
                    break
                seen.add(expect_whole(database, file, "%s %d" % (call, number)))
        expect(1 < number < 99, "%d times %s" % (number, call))
    expect_equal(seen, {frozenset({"old"}), frozenset(), frozenset({"new"})}, "what the kills have met")
