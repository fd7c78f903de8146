-- The search index is fed by the writer, once a transaction, no longer by the triggers, one row at a time. And it keeps no
-- lengths of texts, which only ranking reads: a tenth less of log with each product.

DROP TRIGGER products_search_insert;
DROP TRIGGER products_search_delete;
DROP TRIGGER products_search_update;
DROP TABLE products_search;

CREATE VIRTUAL TABLE products_search USING fts5 (
    sku, name, content = 'products', content_rowid = 'id', columnsize = 0, tokenize = 'unicode61 remove_diacritics 0'
);

-- Eight segments a level before they are merged, not four: half the work of a write, and a search still looks at few.
INSERT INTO products_search (products_search, rank) VALUES ('automerge', 8);
INSERT INTO products_search (products_search) VALUES ('rebuild');

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
