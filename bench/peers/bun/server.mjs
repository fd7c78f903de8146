// A peer of the benchmark: Bun.serve and bun:sqlite, two processes that listen at the same port (SO_REUSEPORT).
//
// What a reader of its figures has to know:
// - The names of categories and owners are subqueries: with SQLite 3.54.1, which Bun brings, a join costs four times as
//   much here.
// - The processes meet at SQLite's own lock (busy_timeout), which sleeps and tries again: it shows in the slowest writes.
import { Database } from 'bun:sqlite';
import { STATUS_CODES } from 'node:http';
import { dealFault, parse, productFault } from '../javascript/bodies.mjs';
import { clampQueries, now, randomId, toId, toInteger } from '../javascript/queries.mjs';
import { userOf } from '../javascript/tokens.mjs';

const BODY_LIMIT = 1 << 20;
const IDLE_SECONDS = 65; // longer than the longest wait, and than a proxy in front keeps its connections

const db = new Database(process.env.DB);
db.exec('PRAGMA busy_timeout = 5000');
db.exec(`PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON;
         PRAGMA synchronous = ${process.env.SYNC === 'normal' ? 'NORMAL' : 'FULL'}`);

const PRODUCT = `
    SELECT id, sku, name, price_cents, stock, category_id,
           (SELECT name FROM categories WHERE id = category_id) AS category_name, created_at, updated_at
    FROM products`;
const DEAL = `
    SELECT id, title, amount_cents, status, owner_id, (SELECT name FROM users WHERE id = owner_id) AS owner_name, created_at
    FROM deals`;

const selectProduct = db.prepare(`${PRODUCT} WHERE id = ?`);
const selectProducts = db.prepare(`${PRODUCT} WHERE id > ? ORDER BY id LIMIT ?`);
const insertProduct = db.prepare(`
    INSERT INTO products (sku, name, price_cents, stock, category_id, created_at, updated_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)`);
const deleteProduct = db.prepare('DELETE FROM products WHERE id = ?');
const selectDeal = db.prepare(`${DEAL} WHERE id = ?`);
const selectDeals = db.prepare(`${DEAL} ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?`);
const countDeals = db.prepare('SELECT sum(count) AS total FROM deal_counts');
const insertDeal = db.prepare('INSERT INTO deals (title, amount_cents, status, owner_id, created_at) VALUES (?, ?, ?, ?, ?)');
const selectUser = db.prepare('SELECT 1 FROM users WHERE id = ? AND active = 1');
const selectWorld = db.prepare('SELECT id, random_number AS randomNumber FROM world WHERE id = ?');

function problem(status, detail, headers) {
    return Response.json({ type: 'about:blank', title: STATUS_CODES[status], status, detail },
        { status, headers: { 'Content-Type': 'application/problem+json', ...headers } });
}

const created = (value, path) => Response.json(value, { status: 201, headers: { Location: path } });

const queryOf = request => new URL(request.url).searchParams;

// The answer of use(body), or what is wrong with the body.
async function withBody(request, fault, use) {
    const body = parse(await request.text());
    if (body === undefined) {
        return problem(400, 'the body is not JSON');
    }
    const complaint = fault(body);
    return complaint ? problem(422, complaint) : use(body);
}

// ---- products

function toProduct({ id, sku, name, price_cents, stock, category_id, category_name, created_at, updated_at }) {
    return { id, sku, name, price_cents, stock, category: { id: category_id, name: category_name }, created_at, updated_at };
}

function readProduct(request) {
    const row = selectProduct.get(toId(request.params.id));
    return row ? Response.json(toProduct(row)) : problem(404, 'there is no product with this id');
}

function listProducts(request) {
    const query = queryOf(request);
    const limit = toInteger(query.get('limit'), 1, 100, 20);
    const after = toInteger(query.get('after'), 0, Infinity, 0);
    if (limit === null || after === null) {
        return problem(400, 'limit or after is out of range');
    }
    const rows = selectProducts.all(after, limit + 1);
    const items = rows.slice(0, limit).map(toProduct);
    const next = rows.length > limit ? `/products?after=${items.at(-1).id}&limit=${limit}` : null;
    return Response.json({ items, next });
}

function addProduct({ sku, name, price_cents, stock = 0, category_id }) {
    try {
        const { lastInsertRowid: id } = insertProduct.run(sku, name, price_cents, stock, category_id, now());
        return created(toProduct(selectProduct.get(id)), `/products/${id}`);
    } catch (error) {
        switch (error.code) {
        case 'SQLITE_CONSTRAINT_UNIQUE':
            return problem(409, 'another product has this sku');
        case 'SQLITE_CONSTRAINT_FOREIGNKEY':
            return problem(422, 'category_id must be the id of a category');
        default:
            throw error;
        }
    }
}

function removeProduct(request) {
    return deleteProduct.run(toId(request.params.id)).changes
        ? new Response(null, { status: 204 })
        : problem(404, 'there is no product with this id');
}

// ---- deals

function toDeal({ id, title, amount_cents, status, owner_id, owner_name, created_at }) {
    return { id, title, amount_cents, status, owner: { id: owner_id, name: owner_name }, created_at };
}

// The answer of use(user) for the user of the request's token.
function withUser(request, use) {
    const user = userOf(request.headers.get('authorization'));
    return user && selectUser.get(user)
        ? use(user)
        : problem(401, 'a valid token is needed', { 'WWW-Authenticate': 'Bearer error="invalid_token"' });
}

function listDeals(request) {
    const query = queryOf(request);
    const page = toInteger(query.get('page'), 1, Infinity, 1);
    const perPage = toInteger(query.get('per_page'), 1, 100, 20);
    if (page === null || perPage === null) {
        return problem(400, 'page or per_page is out of range');
    }
    const { total } = countDeals.get();
    const items = selectDeals.all(perPage, (page - 1) * perPage).map(toDeal);
    return Response.json({ items, page, per_page: perPage, total, pages: Math.ceil(total / perPage) });
}

function addDeal({ title, amount_cents, status = 'open' }, user) {
    const { lastInsertRowid: id } = insertDeal.run(title, amount_cents, status, user, now());
    return created(toDeal(selectDeal.get(id)), `/api/deals/${id}`);
}

// ---- probes

const readWorld = () => selectWorld.get(randomId());

async function wait(request) {
    const ms = toInteger(queryOf(request).get('ms'), 0, 30000, 1000);
    if (ms === null) {
        return problem(400, 'ms is out of range');
    }
    await Bun.sleep(ms);
    return Response.json({ waited_ms: ms });
}

// ---- all of it

Bun.serve({
    hostname: '127.0.0.1',
    port: process.env.PORT,
    reusePort: true,
    idleTimeout: IDLE_SECONDS,
    maxRequestBodySize: BODY_LIMIT,
    routes: {
        '/products/:id': { GET: readProduct, DELETE: removeProduct },
        '/products': { GET: listProducts, POST: request => withBody(request, productFault, addProduct) },
        '/api/deals': {
            GET: request => withUser(request, () => listDeals(request)),
            POST: request => withUser(request, user => withBody(request, dealFault, body => addDeal(body, user))),
        },
        '/health': { GET: () => new Response('ok') },
        '/json': { GET: () => Response.json({ message: 'Hello, World!' }) },
        '/db': { GET: () => Response.json(readWorld()) },
        '/queries': {
            GET: request => Response.json(Array.from({ length: clampQueries(queryOf(request).get('queries')) }, readWorld)),
        },
        '/wait': { GET: wait },
    },
    fetch: () => problem(404, 'there is nothing at this path'),
    error(error) {
        console.error(error);
        return problem(500, 'the request failed');
    },
});

if (!process.env.SECOND) {
    // without its second process the peer is not what is measured
    const second = Bun.spawn([process.execPath, import.meta.path], {
        env: { ...process.env, SECOND: '1' },
        stdio: ['ignore', 'inherit', 'inherit'],
        onExit: () => process.exit(1),
    });
    process.on('SIGTERM', () => {
        second.kill();
        process.exit(0);
    });
}
