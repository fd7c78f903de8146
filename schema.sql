-- The tables of Larder. Run by `larder init`, embedded in the program.
-- AUTOINCREMENT: an id that was given once is never given again, also after its row is deleted.
-- Times are text, RFC 3339 in UTC with seconds. Money is in cents.

CREATE TABLE categories (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE products (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    sku         TEXT NOT NULL UNIQUE,
    name        TEXT NOT NULL,
    price_cents INTEGER NOT NULL CHECK (price_cents >= 0),
    stock       INTEGER NOT NULL CHECK (stock >= 0),
    category_id INTEGER NOT NULL REFERENCES categories (id),
    created_at  TEXT NOT NULL,
    updated_at  TEXT NOT NULL
) STRICT;

-- serves the foreign key's check when a category is deleted, and lists by category in order of id
CREATE INDEX products_by_category ON products (category_id);

-- The words of sku and name, for `q`. The index holds no copy of the text: the triggers keep the two together.
CREATE VIRTUAL TABLE products_search USING fts5 (
    sku, name, content = 'products', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 0'
);

CREATE TRIGGER products_search_insert AFTER INSERT ON products BEGIN
    INSERT INTO products_search (rowid, sku, name) VALUES (new.id, new.sku, new.name);
END;

CREATE TRIGGER products_search_delete AFTER DELETE ON products BEGIN
    INSERT INTO products_search (products_search, rowid, sku, name)
    VALUES ('delete', old.id, old.sku, old.name);
END;

CREATE TRIGGER products_search_update AFTER UPDATE OF sku, name ON products
WHEN old.sku <> new.sku OR old.name <> new.name BEGIN
    INSERT INTO products_search (products_search, rowid, sku, name)
    VALUES ('delete', old.id, old.sku, old.name);
    INSERT INTO products_search (rowid, sku, name) VALUES (new.id, new.sku, new.name);
END;

-- The rows that /db and /queries pick from; filled by the demo data only.
CREATE TABLE world (
    id            INTEGER PRIMARY KEY,
    random_number INTEGER NOT NULL
) STRICT;
