-- The search never asks how many words a text has (only ranking does), so FTS5 need not keep it: 6 % of the file,
-- and one page less to write with each product.

DROP TABLE products_search;

CREATE VIRTUAL TABLE products_search USING fts5 (
    sku, name, content = 'products', content_rowid = 'id', columnsize = 0, tokenize = 'unicode61 remove_diacritics 0'
);

INSERT INTO products_search (products_search) VALUES ('rebuild');
