"""The schema brought up to date: from every earlier version on, with data; what fails changes nothing."""
import os
import signal
import subprocess
import time

from databases import (SCHEMAS, connect, content, directory, expect_sound, old_database, query, schema_version, shape)
from disk import small_disk
from harness import Service, create_database, environment, expect, expect_equal, larder, product, run_larder
from runner import test
from start import expect_refusal

CURRENT = schema_version()
EARLIER = range(1, CURRENT)
EMPTY_AT_REST = {"products_search_changes"}


def migrate(database, *flags):
    done = run_larder("migrate", "--db", str(database), *flags, timeout=60)
    expect_equal((done.returncode, done.stderr), (0, ""), "a migration")
    return done.stdout


def version(path):
    return query(path, "PRAGMA user_version")[0][0]


def copies(database):
    return sorted(database.parent.glob("%s.before-v%d-*Z" % (database.name, CURRENT)))


@test("tests/schemas/ holds every earlier schema, so that the tests below begin at each")
def _():
    expect_equal(sorted(path.name for path in SCHEMAS.iterdir()), ["%04d.sql" % number for number in EARLIER], "the files")
    expect(CURRENT > 1, "there is no earlier version")


def expect_rows(before, after, what):
    """No value of a column that both schemas have was changed on the way."""
    for table in sorted(set(before) & set(after)):
        for column in sorted(set(before[table]) & set(after[table])):
            expect(before[table][column] == after[table][column], "%s: column %s.%s has changed" % (what, table, column))


@test("from every earlier version on a database with data becomes what init makes, and no row is lost")
def _():
    filled = set(EMPTY_AT_REST)  # tables that a schema up to here had a row in
    for number in EARLIER:
        for journal in ("DELETE", "WAL"):
            with directory() as here:
                what = "from version %d, %s" % (number, journal)
                create_database(here / "new.db")
                database = here / "larder.db"
                old_database(database, number)
                query(database, "PRAGMA journal_mode = " + journal)
                before = content(database)
                filled |= {table for table, columns in before.items() if any(columns.values())}
                expect(set(before) <= filled, "%s: nothing is proved of %s: add a row to the end of tests/schemas/%04d.sql" % (
                    what, sorted(set(before) - filled), number))
                said = migrate(database)
                expect_equal(said.count("applied "), CURRENT - number, "migrations " + what)
                expect_equal(shape(database), shape(here / "new.db"), "the schema " + what)
                settings = "SELECT k, v FROM products_search_config ORDER BY k"  # of the search, not in its text
                expect_equal(query(database, settings), query(here / "new.db", settings), "the search " + what)
                expect_equal(version(database), CURRENT, "version " + what)
                expect_rows(before, content(database), what)
                expect_sound(database)
                check = run_larder("check", "--db", str(database))
                expect_equal((check.returncode, check.stderr), (0, ""), "check %s, which says %s" % (what, check.stdout))
                copy, = copies(database)
                expect(str(copy) in said, "it does not tell of the copy: %s" % said)
                expect_equal((version(copy), content(copy)), (number, before), "the copy " + what)


@test("a database of an earlier version is served when it has been migrated: reads, search, writes")
def _():
    for number in EARLIER:
        with directory() as here:
            database = here / "larder.db"
            old_database(database, number)
            flags = ("--db", str(database), "--run-dir", str(here / "run"))
            expect_refusal(run_larder("serve", *flags), 1, "larder migrate --db %s" % database)
            migrate(database, "--no-copy")
            expect_equal(copies(database), [], "copies with --no-copy")
            with Service(database=str(database), readers=1) as service:
                client = service.client()
                expect_equal(client.get("/products/1").json()["sku"], "SKU-000001", "a product")
                expect_equal(client.get("/products?q=SKU-000007").json()["items"][0]["id"], 7, "a search")
                made = client.post("/products", product("migrated"))
                expect_equal(made.status, 201, "a POST")
                expect_equal(client.get("/products?q=migrated").json()["items"], [made.json()], "a search of the new one")


@test("migrate is refused while the database is served, and says so when there is nothing to do, also then")
def _():
    with Service(readers=1) as service:
        said = migrate(service.database)
        expect("schema version %d already" % CURRENT in said, "it says %s" % said)
        with connect(service.database) as database:
            database.execute("PRAGMA user_version = %d" % EARLIER[-1])
        expect_refusal(run_larder("migrate", "--db", service.database), 1, "stop it first")
        with connect(service.database) as database:
            database.execute("PRAGMA user_version = %d" % CURRENT)


@test("a newer, a foreign and a missing database are refused and left alone")
def _():
    with directory() as here:
        create_database(here / "newer.db")
        with connect(here / "newer.db") as newer:
            newer.execute("PRAGMA user_version = %d" % (CURRENT + 1))
        (here / "text").write_text("text" * 1000)
        for name, advice in (("newer.db", "use the program that fits"), ("text", "--db"), ("none.db", "there is no database")):
            expect_refusal(run_larder("migrate", "--db", str(here / name)), 1, advice)
        expect_equal(version(here / "newer.db"), CURRENT + 1, "version of the newer one")
        expect_equal(sorted(path.name for path in here.iterdir()), ["newer.db", "text"], "the files")


@test("a full disk: without room for the copy nothing is done; in a migration it is undone and named", mounts=True)
def _():
    with directory() as here, small_disk() as (other, filler):
        disk = os.path.dirname(other)
        os.unlink(filler)
        os.unlink(other)
        database = os.path.join(disk, "old.db")
        old_database(database, 1)
        before = content(database)

        def leave(size):
            with open(filler, "wb") as file:
                room = os.statvfs(disk)
                file.write(bytes(room.f_bavail * room.f_frsize - size))
        leave(1024 * 1024)
        expect_refusal(run_larder("migrate", "--db", database), 1, "the disk is full; the database was not changed")
        leave(16 * 1024)
        expect_refusal(run_larder("migrate", "--db", database, "--no-copy"), 1, r"0002-[\w-]+\.sql failed.* full.*stays at schema version 1")
        os.unlink(filler)
        expect_equal((version(database), content(database)), (1, before), "the database")
        expect_sound(database)
        migrate(database, "--no-copy")
        expect_equal(version(database), CURRENT, "version, once there is room")


@test("kill -9 in the middle of a migration leaves the database as it was, and the next one succeeds")
def _():
    with directory() as here:
        database = here / "larder.db"
        old_database(database, 1)
        with connect(database) as more:
            more.executescript(
                "BEGIN; INSERT INTO products SELECT id + 20000 * n, 'N' || n || '-' || sku, name, price_cents, stock, "
                "category_id, created_at, updated_at FROM products, (WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL "
                "SELECT n + 1 FROM c WHERE n < 8) SELECT n FROM c); COMMIT")
        before = content(database)
        process = subprocess.Popen([larder(), "migrate", "--no-copy", "--db", str(database)], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=environment())
        journal = str(database) + "-journal"
        deadline = time.monotonic() + 20
        while process.poll() is None and time.monotonic() < deadline:
            if os.path.exists(journal) and os.path.getsize(journal) > 0:
                process.kill()
                break
        process.communicate(timeout=30)
        expect_equal(process.returncode, -signal.SIGKILL, "how it ended: it was too fast to be killed")
        expect_equal((version(database), content(database)), (1, before), "the database")
        expect_sound(database)
        migrate(database)
        expect_rows(before, content(database), "after a kill")
        expect_sound(database)
