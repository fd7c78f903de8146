"""Backups: consistent beside a service under load, checked before they have their name, nothing left of one that failed."""
import os
import pty
import signal
import stat
import subprocess
import time

from databases import connect, content, damage, digest, directory, expect_sound, padded_database, query, schema_version
from disk import small_disk
from harness import Service, create_database, environment, expect, expect_each, expect_equal, larder, run_larder
from load import Load
from runner import test
from start import expect_refusal

WRITERS = 256
PADDING_MIB = 64  # takes long enough to be caught in the middle


def backup(database, file, *flags, **options):
    done = run_larder("backup", str(file), "--db", str(database), *flags, timeout=60, **options)
    expect_equal((done.returncode, done.stderr), (0, ""), "a backup")
    return done


def refused(database, file, advice, *flags):
    expect_refusal(run_larder("backup", str(file), "--db", str(database), *flags), 1, advice)


@test("a backup beside %d writing connections ends, is one moment of the database, and disturbs nobody" % WRITERS)
def _():
    with directory() as here:
        database, file = here / "larder.db", here / "backup.db"
        padded_database(database, 16)
        with Service(database=str(database), readers=2) as service:
            with Load(service, writers=WRITERS, readers=4) as load:
                time.sleep(2)
                with load.lock:
                    before = dict(load.kept)
                    written = load.writes
                backup(database, file)
                time.sleep(0.5)
                with load.lock:
                    expect(load.writes > written, "nobody wrote meanwhile")
                    removed = set(load.deleted) | load.unknown
            expect_sound(file)
            there = {row[0]: row[1:] for row in query(file, "SELECT sku, id FROM products WHERE sku LIKE 'load-%'")}
            lost = [sku for sku, row in before.items() if sku not in removed and there.get(sku) != (row["id"],)]
            expect(not lost, "%d of %d writes that were acknowledged before are not in it" % (len(lost), len(before)))
            expect(len(before) > 100, "only %d writes before" % len(before))
            # ids are given in order: a copy of one moment has none behind a gap that it should have seen
            load.verify(service)
            last = max(there[sku][0] for sku in there)
            later = [sku for sku, row in load.kept.items() if row["id"] <= last and sku not in there]
            expect(not later, "it has a later write and not these: %s" % later[:5])


@test("a backup is one file of mode 600 with all the rows, also those in the log; the database is not touched")
def _():
    with Service(readers=1) as service:
        file = os.path.join(service.directory, "backup.db")
        for name in ("kept", "in the log"):
            expect_equal(service.client().post("/categories", {"name": name}).status, 201, "a POST")
        os.kill(service.pids()["writer"], signal.SIGSTOP)  # now nobody checkpoints
        before = [digest(service.database + suffix) for suffix in ("", "-wal")]
        done = backup(service.database, file)
        after = [digest(service.database + suffix) for suffix in ("", "-wal")]
        os.kill(service.pids()["writer"], signal.SIGCONT)
        expect_equal(after, before, "the database and its log")
        expect("schema version %d, checked" % schema_version() in done.stdout, "it says %s" % done.stdout)
        expect_equal(stat.S_IMODE(os.stat(file).st_mode), 0o600, "mode")
        expect_equal(content(file), content(service.database), "the rows")
        expect_equal([name for name in os.listdir(service.directory) if name.startswith("backup")], ["backup.db"], "files")


@test("an existing file is refused, with --overwrite replaced; what is no file, or the database's own, is refused")
def _():
    with directory() as here:
        database, file = here / "larder.db", here / "backup.db"
        create_database(database)
        (here / "run").mkdir()
        os.symlink(database, here / "link.db")
        file.write_text("old")
        refused(database, file, "exists already.*--overwrite")
        expect_equal(file.read_text(), "old", "the file")
        backup(database, file, "--overwrite")
        expect_sound(file)
        before = digest(database)
        expect_each((database, here / "link.db"), lambda own: refused(database, own, "database itself", "--overwrite"))
        expect_each((here / "run", "/dev/null"), lambda own: refused(database, own, "not a regular file", "--overwrite"))
        refused(database, here / "no" / "such.db", "No such file or directory")
        expect_equal(digest(database), before, "the database")
        expect_refusal(run_larder("backup", "--db", str(database)), 2, "which file")


@test("a damaged, foreign or newer database gives no backup, and an older backup of that name stays")
def _():
    with directory() as here:
        database, file = here / "larder.db", here / "backup.db"
        create_database(database, demo=True)
        backup(database, file)
        before = digest(file)
        damage(database)
        refused(database, file, "is damaged .*larder check", "--overwrite")
        create_database(here / "newer.db")
        with connect(here / "newer.db") as newer:
            newer.execute("PRAGMA user_version = %d" % (schema_version() + 1))
        (here / "text").write_text("text" * 1000)
        refused(here / "newer.db", file, "use the program that fits", "--overwrite")
        refused(here / "text", file, "--db", "--overwrite")
        refused(here / "none.db", file, "there is no database", "--overwrite")
        expect_equal(digest(file), before, "the older backup")
        expect_equal([path.name for path in here.glob("*.part*")], [], "drafts")


def caught(database, file):
    """A backup that is stopped in the middle: the draft is there, the file is not. It is to be ended by a signal."""
    for _ in range(10):
        process = subprocess.Popen([larder(), "backup", str(file), "--db", str(database), "--overwrite"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
        draft = str(file) + ".part"
        while process.poll() is None:
            if os.path.exists(draft) and os.path.getsize(draft) > 0:
                process.send_signal(signal.SIGSTOP)
                if os.path.exists(draft) and not os.path.exists(file):
                    return process
                process.send_signal(signal.SIGCONT)
                break
        process.communicate()
        os.unlink(file)
    raise AssertionError("a backup is never seen in the middle")


@test("a backup ended by Ctrl-C, SIGTERM or a closed terminal leaves nothing")
def _():
    with directory() as here:
        database, file = here / "larder.db", here / "backup.db"
        padded_database(database, PADDING_MIB)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = caught(database, file)
            process.send_signal(number)
            process.send_signal(signal.SIGCONT)
            _, said = process.communicate(timeout=10)
            expect_equal(process.returncode, -number, "how it ended")
            expect_equal(said, "larder: interrupted; no file was left behind\n", "what it said")
            expect_equal(sorted(path.name for path in here.iterdir()), ["larder.db"], "the files")


@test("kill -9 in the middle of a backup leaves no file of that name, and the next backup sweeps up")
def _():
    with directory() as here:
        database, file = here / "larder.db", here / "backup.db"
        padded_database(database, PADDING_MIB)
        before = digest(database)
        process = caught(database, file)
        refused(database, file, "another larder is writing")
        process.kill()
        process.communicate()
        expect_equal(sorted(path.name for path in here.iterdir()), ["backup.db.part", "larder.db"], "the files")
        backup(database, file)
        expect_sound(file)
        expect_equal(sorted(path.name for path in here.iterdir()), ["backup.db", "larder.db"], "the files")
        expect_equal(digest(database), before, "the database")


@test("a disk too small for the backup: one sentence, no file; an older backup of that name stays", mounts=True)
def _():
    with directory() as here, small_disk() as (other, filler):
        database, disk = here / "larder.db", os.path.dirname(other)
        create_database(database, demo=True)
        file = os.path.join(disk, "backup.db")
        backup(other, file)
        before = digest(file)
        with open(filler, "ab") as more:
            more.write(bytes(2 * 1024 * 1024))
        refused(database, file, "the disk is full", "--overwrite")
        refused(database, os.path.join(disk, "new.db"), "the disk is full")
        expect_equal(digest(file), before, "the older backup")
        expect_equal(sorted(os.listdir(disk)), ["backup.db", "filler", "larder.db"], "the files")


@test("a limit on the size of files is a sentence too, not a crash")
def _():
    with directory() as here:
        create_database(here / "larder.db", demo=True)
        done = run_larder("backup", str(here / "backup.db"), "--db", str(here / "larder.db"),
                          before=("sh", "-c", 'ulimit -f 1000; exec "$@"', "sh"))
        expect_refusal(done, 1, "cannot copy")
        expect_equal([path.name for path in here.iterdir()], ["larder.db"], "the files")


@test("a terminal is shown the progress, and nobody else")
def _():
    with directory() as here:
        create_database(here / "larder.db", demo=True)
        master, terminal = pty.openpty()
        done = subprocess.run([larder(), "backup", str(here / "backup.db"), "--db", str(here / "larder.db")],
                              stdout=subprocess.PIPE, stderr=terminal, env=environment(), text=True)
        os.close(terminal)
        shown = os.read(master, 65536).decode()
        os.close(master)
        expect_equal(done.returncode, 0, "exit status")
        pages = os.path.getsize(here / "larder.db") // 4096
        expect("\rcopied 100 %% of %d pages" % pages in shown, "it shows %r" % shown)
        expect(shown.count("copied") > 1, "it shows one step: %r" % shown)
        expect("checking the copy" in shown and shown.endswith("\r"), "it ends with %r" % shown[-60:])


@test("check beside a service takes no lock; of a database at rest it compares the search and the counts too")
def _():
    with Service(readers=1) as service:
        for sql in ("INSERT INTO products_search (products_search, rowid, sku, name) VALUES ('delete', 7, 'SKU-000007', 'Product 7')",
                    "UPDATE deal_counts SET count = 1 WHERE status = 'won'"):
            with connect(service.database) as database:
                database.execute(sql)
        done = run_larder("check", "--db", service.database)
        expect_equal(done.stdout.count("fault: "), 1, "faults while it serves: %s" % done.stdout)
        expect("checked in backups alone" in done.stdout, "it says %s" % done.stdout)
        refused(service.database, os.path.join(service.directory, "backup.db"), "does not fit its rows")
        service.stop()
        done = run_larder("check", "--db", service.database)
        expect_equal((done.returncode, done.stdout.count("fault: ")), (1, 1), "faults at rest: %s" % done.stdout)
        expect("products_search" in done.stdout, "it says %s" % done.stdout)
