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

INSERT INTO products_search (products_search, rowid, sku, name)
SELECT command, id, sku, name FROM products_search_changes ORDER BY seq;
DELETE FROM products_search_changes;

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
