-- Run on the database that a peer serves. Larder's triggers only note what the search index lacks, and its writer puts
-- that in once a transaction (app/endpoints/search.c). Here the triggers put it in, as a peer's users would write them.
DROP TRIGGER products_search_insert;
DROP TRIGGER products_search_delete;
DROP TRIGGER products_search_update;

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
