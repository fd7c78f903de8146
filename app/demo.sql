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
