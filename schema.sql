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
-- columnsize = 0: how long a text is matters to ranking alone.
CREATE VIRTUAL TABLE products_search USING fts5 (
    sku, name, content = 'products', content_rowid = 'id', columnsize = 0, tokenize = 'unicode61 remove_diacritics 0'
);

-- Eight segments a level before they are merged, not four: half the work of a write, and a search still looks at few.
INSERT INTO products_search (products_search, rank) VALUES ('automerge', 8);

-- What the index does not hold yet. The writer moves it there before each commit (app/endpoints/search.c): the index
-- takes many rows at once for a fraction of what it asks for one at a time, as a trigger would give them.
CREATE TABLE products_search_changes (
    seq INTEGER PRIMARY KEY,
    command TEXT CHECK (command = 'delete'),  -- NULL: insert
    id INTEGER NOT NULL,
    sku TEXT NOT NULL,
    name TEXT NOT NULL
) STRICT;

CREATE TRIGGER products_search_insert AFTER INSERT ON products BEGIN
    INSERT INTO products_search_changes (id, sku, name) VALUES (new.id, new.sku, new.name);
END;
CREATE TRIGGER products_search_delete AFTER DELETE ON products BEGIN
    INSERT INTO products_search_changes (command, id, sku, name)
    VALUES ('delete', old.id, old.sku, old.name);
END;
CREATE TRIGGER products_search_update AFTER UPDATE OF sku, name ON products
WHEN old.sku <> new.sku OR old.name <> new.name BEGIN
    INSERT INTO products_search_changes (command, id, sku, name)
    VALUES ('delete', old.id, old.sku, old.name), (NULL, new.id, new.sku, new.name);
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
