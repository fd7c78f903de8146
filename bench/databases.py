"""The databases that servers are started on, each made once and copied for every start."""
import os
import sqlite3

from places import PEERS

from harness import create_database


def demo_database(path):
    """What `larder init --demo` makes."""
    fresh = path.with_suffix(".new")
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh.unlink(missing_ok=True)
    create_database(str(fresh), demo=True)
    os.replace(fresh, path)
    return path


def peer_database(demo, path):
    """The same, with the search index kept by triggers alone."""
    fresh = path.with_suffix(".new")
    fresh.write_bytes(demo.read_bytes())
    database = sqlite3.connect(fresh)
    try:
        database.executescript((PEERS / "search.sql").read_text())
    finally:
        database.close()
    os.replace(fresh, path)
    return path


def search_index_complaint(path):
    """What is wrong with the search index of a database that nobody serves any more; None when it holds what the table holds."""
    database = sqlite3.connect(path, timeout=10)
    try:
        database.execute("INSERT INTO products_search (products_search, rank) VALUES ('integrity-check', 1)")
        left = database.execute("SELECT count(*) FROM products_search").fetchone()[0]
        return None if left else "it is empty"
    except sqlite3.DatabaseError as error:
        return str(error)
    finally:
        database.close()
