// The database of a thread. SQLite writes the JSON: a row crosses into JavaScript as one text, not as nine values.
import { DatabaseSync } from 'node:sqlite';

const PRODUCT = `
    json_object('id', p.id, 'sku', p.sku, 'name', p.name, 'price_cents', p.price_cents, 'stock', p.stock,
                'category', json_object('id', c.id, 'name', c.name),
                'created_at', p.created_at, 'updated_at', p.updated_at)
    FROM products p JOIN categories c ON c.id = p.category_id`;
const DEAL = `
    json_object('id', d.id, 'title', d.title, 'amount_cents', d.amount_cents, 'status', d.status,
                'owner', json_object('id', u.id, 'name', u.name), 'created_at', d.created_at)
    FROM deals d JOIN users u ON u.id = d.owner_id`;

export function openStore() {
    const db = new DatabaseSync(process.env.DB, { timeout: 5000 });
    db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${process.env.SYNC === 'normal' ? 'NORMAL' : 'FULL'}`);
    const rows = sql => { // whose rows come as arrays
        const statement = db.prepare(sql);
        statement.setReturnArrays(true);
        return statement;
    };
    return {
        db,
        product: rows(`SELECT ${PRODUCT} WHERE p.id = ?`),
        products: rows(`SELECT p.id, ${PRODUCT} WHERE p.id > ? ORDER BY p.id LIMIT ?`),
        insertProduct: db.prepare(`
            INSERT INTO products (sku, name, price_cents, stock, category_id, created_at, updated_at)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)`),
        deleteProduct: db.prepare('DELETE FROM products WHERE id = ?'),
        deal: rows(`SELECT ${DEAL} WHERE d.id = ?`),
        deals: rows(`SELECT ${DEAL} ORDER BY d.created_at DESC, d.id DESC LIMIT ? OFFSET ?`),
        dealTotal: rows('SELECT sum(count) FROM deal_counts'),
        insertDeal: db.prepare(`
            INSERT INTO deals (title, amount_cents, status, owner_id, created_at) VALUES (?, ?, ?, ?, ?)`),
        user: rows('SELECT 1 FROM users WHERE id = ? AND active = 1'),
        world: rows('SELECT id, random_number FROM world WHERE id = ?'),
    };
}
