// A peer of the benchmark: node:http and node:sqlite in one process, as their own introductions write it. Statements are
// prepared where the module is loaded; a write is a statement, and so a transaction, of its own.
import { createServer, STATUS_CODES } from 'node:http';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout } from 'node:timers/promises';
import { dealFault, parse, productFault } from '../javascript/bodies.mjs';
import { clampQueries, now, randomId, toId, toInteger } from '../javascript/queries.mjs';
import { userOf } from '../javascript/tokens.mjs';

const UNIQUE = 2067, FOREIGN_KEY = 787; // SQLite's extended result codes
const BODY_LIMIT = 1 << 20;

const db = new DatabaseSync(process.env.DB, { timeout: 5000 });
db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${process.env.SYNC === 'normal' ? 'NORMAL' : 'FULL'}`);

const PRODUCT = `
    SELECT p.id, p.sku, p.name, p.price_cents, p.stock, p.category_id, c.name AS category_name, p.created_at, p.updated_at
    FROM products p JOIN categories c ON c.id = p.category_id`;
const DEAL = `
    SELECT d.id, d.title, d.amount_cents, d.status, d.owner_id, u.name AS owner_name, d.created_at
    FROM deals d JOIN users u ON u.id = d.owner_id`;

const selectProduct = db.prepare(`${PRODUCT} WHERE p.id = ?`);
const selectProducts = db.prepare(`${PRODUCT} WHERE p.id > ? ORDER BY p.id LIMIT ?`);
const insertProduct = db.prepare(`
    INSERT INTO products (sku, name, price_cents, stock, category_id, created_at, updated_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)`);
const deleteProduct = db.prepare('DELETE FROM products WHERE id = ?');
const selectDeal = db.prepare(`${DEAL} WHERE d.id = ?`);
const selectDeals = db.prepare(`${DEAL} ORDER BY d.created_at DESC, d.id DESC LIMIT ? OFFSET ?`);
const countDeals = db.prepare('SELECT sum(count) AS total FROM deal_counts');
const insertDeal = db.prepare('INSERT INTO deals (title, amount_cents, status, owner_id, created_at) VALUES (?, ?, ?, ?, ?)');
const selectUser = db.prepare('SELECT 1 FROM users WHERE id = ? AND active = 1');
const selectWorld = db.prepare('SELECT id, random_number AS randomNumber FROM world WHERE id = ?');

function answer(response, status, value, headers = {}) {
    const body = JSON.stringify(value);
    const type = status < 400 ? 'application/json' : 'application/problem+json';
    response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body), ...headers });
    response.end(body);
}

function problem(response, status, detail, headers) {
    answer(response, status, { type: 'about:blank', title: STATUS_CODES[status], status, detail }, headers);
}

// The body's value; undefined when it has been refused.
async function readBody(request, response, fault) {
    const chunks = [];
    let size = 0;
    for await (const chunk of request) {
        size += chunk.length;
        if (size > BODY_LIMIT) {
            problem(response, 413, 'the body may have at most 1 MiB');
            return undefined;
        }
        chunks.push(chunk);
    }
    const body = parse(Buffer.concat(chunks).toString());
    const complaint = body === undefined ? null : fault(body);
    if (body === undefined) {
        problem(response, 400, 'the body is not JSON');
    } else if (complaint) {
        problem(response, 422, complaint);
    }
    return complaint ? undefined : body;
}

// ---- products

function toProduct(row) {
    const { id, sku, name, price_cents, stock, category_id, category_name, created_at, updated_at } = row;
    return { id, sku, name, price_cents, stock, category: { id: category_id, name: category_name }, created_at, updated_at };
}

function readProduct(response, id) {
    const row = selectProduct.get(id);
    if (row) {
        answer(response, 200, toProduct(row));
    } else {
        problem(response, 404, 'there is no product with this id');
    }
}

function listProducts(response, query) {
    const limit = toInteger(query.get('limit'), 1, 100, 20);
    const after = toInteger(query.get('after'), 0, Infinity, 0);
    if (limit === null || after === null) {
        problem(response, 400, 'limit or after is out of range');
        return;
    }
    const rows = selectProducts.all(after, limit + 1);
    const items = rows.slice(0, limit).map(toProduct);
    const next = rows.length > limit ? `/products?after=${items.at(-1).id}&limit=${limit}` : null;
    answer(response, 200, { items, next });
}

async function createProduct(request, response) {
    const body = await readBody(request, response, productFault);
    if (body === undefined) {
        return;
    }
    try {
        const { sku, name, price_cents, stock = 0, category_id } = body;
        const { lastInsertRowid: id } = insertProduct.run(sku, name, price_cents, stock, category_id, now());
        answer(response, 201, toProduct(selectProduct.get(id)), { Location: `/products/${id}` });
    } catch (error) {
        if (error.errcode === UNIQUE) {
            problem(response, 409, 'another product has this sku');
        } else if (error.errcode === FOREIGN_KEY) {
            problem(response, 422, 'category_id must be the id of a category');
        } else {
            throw error;
        }
    }
}

function removeProduct(response, id) {
    if (deleteProduct.run(id).changes) {
        response.writeHead(204).end();
    } else {
        problem(response, 404, 'there is no product with this id');
    }
}

// ---- deals

function toDeal({ id, title, amount_cents, status, owner_id, owner_name, created_at }) {
    return { id, title, amount_cents, status, owner: { id: owner_id, name: owner_name }, created_at };
}

// The user of the request's token; 0 when it has been refused.
function authenticate(request, response) {
    const user = userOf(request.headers.authorization);
    if (user && selectUser.get(user)) {
        return user;
    }
    problem(response, 401, 'a valid token is needed', { 'WWW-Authenticate': 'Bearer error="invalid_token"' });
    return 0;
}

function listDeals(request, response, query) {
    if (!authenticate(request, response)) {
        return;
    }
    const page = toInteger(query.get('page'), 1, Infinity, 1);
    const perPage = toInteger(query.get('per_page'), 1, 100, 20);
    if (page === null || perPage === null) {
        problem(response, 400, 'page or per_page is out of range');
        return;
    }
    const { total } = countDeals.get();
    const items = selectDeals.all(perPage, (page - 1) * perPage).map(toDeal);
    answer(response, 200, { items, page, per_page: perPage, total, pages: Math.ceil(total / perPage) });
}

async function createDeal(request, response) {
    const user = authenticate(request, response);
    const body = user ? await readBody(request, response, dealFault) : undefined;
    if (body !== undefined) {
        const { title, amount_cents, status = 'open' } = body;
        const { lastInsertRowid: id } = insertDeal.run(title, amount_cents, status, user, now());
        answer(response, 201, toDeal(selectDeal.get(id)), { Location: `/api/deals/${id}` });
    }
}

// ---- probes

async function wait(response, query) {
    const ms = toInteger(query.get('ms'), 0, 30000, 1000);
    if (ms === null) {
        problem(response, 400, 'ms is out of range');
        return;
    }
    await setTimeout(ms);
    answer(response, 200, { waited_ms: ms });
}

function readWorld(response, query) {
    const rows = [];
    for (let count = clampQueries(query.get('queries')); count > 0; count--) {
        rows.push(selectWorld.get(randomId()));
    }
    answer(response, 200, rows);
}

// ---- all of it

function route(request, response) {
    const { pathname, searchParams } = new URL(request.url, 'http://localhost');
    const [, product] = /^\/products\/([^/]+)$/.exec(pathname) ?? [];
    switch (`${request.method} ${product ? '/products/' : pathname}`) {
    case 'GET /products/':
        return readProduct(response, toId(product));
    case 'DELETE /products/':
        return removeProduct(response, toId(product));
    case 'GET /products':
        return listProducts(response, searchParams);
    case 'POST /products':
        return createProduct(request, response);
    case 'GET /api/deals':
        return listDeals(request, response, searchParams);
    case 'POST /api/deals':
        return createDeal(request, response);
    case 'GET /health':
        return response.writeHead(200, { 'Content-Type': 'text/plain' }).end('ok');
    case 'GET /json':
        return answer(response, 200, { message: 'Hello, World!' });
    case 'GET /db':
        return answer(response, 200, selectWorld.get(randomId()));
    case 'GET /queries':
        return readWorld(response, searchParams);
    case 'GET /wait':
        return wait(response, searchParams);
    default:
        return problem(response, 404, 'there is nothing at this path');
    }
}

const server = createServer(async (request, response) => {
    try {
        await route(request, response);
    } catch (error) {
        console.error(error);
        problem(response, 500, 'the request failed');
    }
});
server.keepAliveTimeout = 65000; // longer than a proxy in front keeps its connections
server.listen(process.env.PORT, '127.0.0.1');
