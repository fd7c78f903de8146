#!/usr/bin/env python3
"""A demo database with more products: python3 bench/grow.py DEMO_DB NEW_DB COUNT

Ids 1 to COUNT * 1.25 with every fifth missing, as in the demo data, and names of four words such as "Velamo Oak Table 120": of 13,824
brands each as often, of materials and things some often and some seldom. The same rows every time. All but the products stays
as it is."""
import os
import pathlib
import shutil
import sqlite3
import sys

SYLLABLES = "ba be bo da de di fa fe ga go ka ki ko la le lo ma mi mo na ra ri ta ve".split()
MATERIALS = """oak pine steel glass cotton wool leather paper copper brass iron linen bamboo cork marble granite ceramic plastic rubber silk
velvet walnut maple birch ash cherry beech teak nickel bronze silver tin zinc slate clay wax felt hemp jute straw""".split()
THINGS = """table chair lamp shelf cup plate bowl knife fork spoon pan pot kettle basket box chest mirror clock vase frame
desk bench stool rug curtain cushion blanket towel apron tray jug bottle jar candle hook rail ladder bucket brush broom""".split()
SEARCHES = 400

INSERT = """
INSERT INTO products (id, sku, name, price_cents, stock, category_id, created_at, updated_at)
WITH RECURSIVE n (i, h) AS (SELECT 1, 2654435761 UNION ALL SELECT i + 1, (i + 1) * 2654435761 % 4294967296 FROM n WHERE i < :last)
SELECT i, printf('SKU-%06d', i),
       (SELECT word FROM brands WHERE id = h % :brands) || ' ' ||
       (SELECT word FROM materials WHERE id = (h / 16384 % 1000) * (h / 16384 % 1000) * :materials / 1000000) || ' ' ||
       (SELECT word FROM things WHERE id = (h / 1024 % 997) * (h / 1024 % 997) * :things / 1000000) || ' ' || (i % 900),
       i * 7919 % 1000000, i * 3 % 1000, i % 50 + 1, '2026-11-30T22:00:00Z', '2026-11-30T22:00:00Z'
FROM n WHERE i % 5 <> 0
"""


def words():
    """Brands, materials and things, as they are written in a name."""
    brands = [(a + b + c).capitalize() for a in SYLLABLES for b in SYLLABLES for c in SYLLABLES]
    return {"brands": brands, "materials": [word.capitalize() for word in MATERIALS],
            "things": [word.capitalize() for word in THINGS]}


def searches():
    """Expressions for ?q=: half of them a material and a thing, which many products are, half a brand and a thing."""
    known = words()
    found = []
    for i in range(SEARCHES):
        first = known["brands"] if i % 2 else known["materials"]
        found.append("%s%%20%s" % (first[i * 37 % len(first)], known["things"][i * 7 % len(known["things"])]))
    return found


def fill(database, count):
    """Replaces the products. The triggers that keep the search index would do so row by row: they are put back afterwards."""
    triggers = database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'products'").fetchall()
    for name, _ in triggers:
        database.execute("DROP TRIGGER " + name)
    known = words()
    for table, entries in known.items():
        database.execute("CREATE TEMP TABLE %s (id INTEGER PRIMARY KEY, word TEXT)" % table)
        database.executemany("INSERT INTO %s VALUES (?, ?)" % table, enumerate(entries))
    database.execute("DELETE FROM products")
    last = count // 4 * 5
    database.execute(INSERT, {"last": last, **{table: len(entries) for table, entries in known.items()}})
    database.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'products'", [last])
    database.execute("INSERT INTO products_search (products_search) VALUES ('rebuild')")
    for _, sql in triggers:
        database.execute(sql)
    found = database.execute("SELECT count(*) FROM products").fetchone()[0]
    if found != count:
        raise AssertionError("there are %d products, not %d" % (found, count))


def grow(demo, path, count):
    """Writes the new database to `path`, whole or not at all."""
    partial = str(path) + ".partial"
    shutil.copyfile(demo, partial)
    database = sqlite3.connect(partial, isolation_level=None)
    try:
        for pragma in "journal_mode = OFF", "synchronous = OFF", "foreign_keys = OFF", "cache_size = -1000000", "temp_store = MEMORY":
            database.execute("PRAGMA " + pragma)
        database.execute("BEGIN")
        fill(database, count)
        database.execute("COMMIT")
        database.execute("PRAGMA journal_mode = WAL")
    finally:
        database.close()
    os.replace(partial, path)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    grow(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3]))
