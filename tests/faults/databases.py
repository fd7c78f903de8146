"""Databases that tests need: large ones, damaged ones, those of earlier versions; and what is in one."""
import contextlib
import hashlib
import pathlib
import re
import sqlite3
import tempfile

from harness import ROOT, create_database, expect_equal

SCHEMAS = ROOT / "tests" / "schemas"
APPLICATION_ID = 0x4C617264


@contextlib.contextmanager
def directory():
    with tempfile.TemporaryDirectory(prefix="larder-") as path:
        yield pathlib.Path(path)


def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


@contextlib.contextmanager
def connect(path):
    """A connection that commits by itself and never checkpoints a larder's WAL."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA wal_autocheckpoint = 0")
        yield database


def query(path, sql):
    with connect(path) as database:
        return database.execute(sql).fetchall()


def schema_version():
    """The one that this program serves."""
    return int(re.search(r"SCHEMA_VERSION = (\d+)", (ROOT / "app" / "schema.h").read_text())[1])


def old_database(path, version):
    """As a larder of that schema version made it, with the demo data of its time."""
    with connect(path) as database:
        database.executescript("BEGIN; %s; PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT" % (
            (SCHEMAS / ("%04d.sql" % version)).read_text(), APPLICATION_ID, version))


def padded_database(path, mebibytes):
    """The demo, and rows that take long to copy."""
    create_database(path, demo=True)
    with connect(path) as database:
        database.execute("BEGIN")
        for i in range(mebibytes):
            database.execute("INSERT INTO idempotency_keys VALUES (1, ?, '', 1, hex(zeroblob(524288)), '')",
                             ("pad-%d" % i,))
        database.execute("COMMIT")


def damage(path):
    """Spoils an index, as a failing disk would."""
    with connect(path) as database:
        size, = database.execute("PRAGMA page_size").fetchone()
        page, = database.execute("SELECT rootpage FROM sqlite_schema WHERE type = 'index' AND "
                                 "tbl_name = 'products' AND sql IS NULL").fetchone()
    content = bytearray(pathlib.Path(path).read_bytes())
    for i in range(page * size - 12, page * size - 4):  # the end of a page is where its cells are
        content[i] ^= 0xFF
    pathlib.Path(path).write_bytes(content)


def shape(path):
    """What the database consists of: the text of each part, without comments and white space."""
    def bare(sql):
        return re.sub(r"\s+", "", re.sub(r"--[^\n]*", "", sql or ""))
    return {(kind, name): bare(sql) for kind, name, sql in query(path, "SELECT type, name, sql FROM sqlite_schema")}


def content(path):
    """Every row of every table, column by column: {table: {column: [values]}}. Not the search's own tables."""
    with connect(path) as database:
        tables = [name for name, in database.execute(
            "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name <> 'sqlite_schema'")]
        found = {}
        for table in tables:
            rows = database.execute('SELECT * FROM "%s" ORDER BY 1, 2' % table)
            names = [column[0] for column in rows.description]
            columns = list(zip(*rows)) or [()] * len(names)
            found[table] = dict(zip(names, columns))
        return found


def expect_sound(path):
    expect_equal(query(path, "PRAGMA integrity_check"), [("ok",)], "integrity of %s" % path)
    expect_equal(query(path, "PRAGMA foreign_key_check"), [], "references of %s" % path)
