-- Schema version 1 with data of its time, for the test that migrations start from here.

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

-- A user is switched off rather than deleted: deals keep their owner.
CREATE TABLE users (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    email         TEXT NOT NULL COLLATE NOCASE UNIQUE, -- upper and lower case of ASCII letters are the same
    name          TEXT NOT NULL,
    password_hash TEXT NOT NULL,                       -- argon2id, as libsodium writes it
    active        INTEGER NOT NULL DEFAULT 1 CHECK (active IN (0, 1))
) STRICT;

CREATE TABLE deals (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    title        TEXT NOT NULL,
    amount_cents INTEGER NOT NULL CHECK (amount_cents >= 0),
    status       TEXT NOT NULL CHECK (status IN ('open', 'won', 'lost')),
    owner_id     INTEGER NOT NULL REFERENCES users (id),
    created_at   TEXT NOT NULL
) STRICT;

-- pages, newest first: an index ends in the row's id, so walking it backwards sorts by both
CREATE INDEX deals_by_time ON deals (created_at);
CREATE INDEX deals_by_status_and_time ON deals (status, created_at);

-- how many deals there are of each status, so that a page's total costs no count of rows
CREATE TABLE deal_counts (
    status TEXT PRIMARY KEY,
    count  INTEGER NOT NULL CHECK (count >= 0)
) STRICT, WITHOUT ROWID;

INSERT INTO deal_counts (status, count) VALUES ('open', 0), ('won', 0), ('lost', 0);

CREATE TRIGGER deals_counted_in AFTER INSERT ON deals BEGIN
    UPDATE deal_counts SET count = count + 1 WHERE status = new.status;
END;

CREATE TRIGGER deals_counted_out AFTER DELETE ON deals BEGIN
    UPDATE deal_counts SET count = count - 1 WHERE status = old.status;
END;

CREATE TRIGGER deals_counted_over AFTER UPDATE OF status ON deals WHEN old.status <> new.status BEGIN
    UPDATE deal_counts SET count = count - 1 WHERE status = old.status;
    UPDATE deal_counts SET count = count + 1 WHERE status = new.status;
END;

-- the first answer to each Idempotency-Key, to be given again
CREATE TABLE idempotency_keys (
    user_id    INTEGER NOT NULL REFERENCES users (id),
    key        TEXT NOT NULL,
    body_hash  TEXT NOT NULL, -- SHA-256 of the request's body, hexadecimal
    deal_id    INTEGER NOT NULL REFERENCES deals (id) ON DELETE CASCADE,
    answer     TEXT NOT NULL, -- the body, byte for byte
    created_at TEXT NOT NULL,
    PRIMARY KEY (user_id, key)
) STRICT;

CREATE INDEX idempotency_keys_by_deal ON idempotency_keys (deal_id);
CREATE INDEX idempotency_keys_by_time ON idempotency_keys (created_at);
-- The demo data: the same bytes every time.
-- 10,000 products over the ids 1..12500 with every fifth missing: four in five random ids exist.

INSERT INTO categories (id, name)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50)
SELECT i, 'Category ' || i FROM n;

INSERT INTO products (id, sku, name, price_cents, stock, category_id, created_at, updated_at)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12500)
SELECT i, printf('SKU-%06d', i), 'Product ' || i, i * 7919 % 1000000, i * 3 % 1000, i % 50 + 1,
       '2026-11-30T22:00:00Z', '2026-11-30T22:00:00Z'
FROM n WHERE i % 5 <> 0;

UPDATE sqlite_sequence SET seq = 12500 WHERE name = 'products';

INSERT INTO world (id, random_number)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
SELECT i, i * 7919 % 10007 % 10000 + 1 FROM n;

-- Ten users; the password of all is larder-demo. The hash is fixed, where `larder user add` salts each anew.
INSERT INTO users (id, email, name, password_hash)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10)
SELECT i, 'user' || i || '@example.com', 'User ' || i,
       '$argon2id$v=19$m=7168,t=5,p=1$F/UaV/+jPtcqXoDM0ls08g$reHqR13yrUHYuGb+zFO4gQqXkVWjWqzr+9SJabxDs40'
FROM n;

-- 1,000 deals, one every half hour up to 2026-11-30T22:00:00Z: six in ten open, three won, one lost.
INSERT INTO deals (id, title, amount_cents, status, owner_id, created_at)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
SELECT i, 'Deal ' || i, i * 104729 % 10000000,
       CASE WHEN (i + i / 10) % 10 < 6 THEN 'open' WHEN (i + i / 10) % 10 < 9 THEN 'won' ELSE 'lost' END,
       i % 10 + 1,
       strftime('%Y-%m-%dT%H:%M:%SZ', '2026-11-30T22:00:00Z', ((i - 1000) * 30) || ' minutes')
FROM n;

INSERT INTO idempotency_keys (user_id, key, body_hash, deal_id, answer, created_at)
VALUES (1, 'key-1', hex(zeroblob(32)), 1, '{"id":1}', '2026-11-30T22:00:00Z');
