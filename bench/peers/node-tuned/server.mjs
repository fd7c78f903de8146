// A peer of the benchmark: uWebSockets.js and node:sqlite, two threads that listen at the same port (SO_REUSEPORT).
//
// What a reader of its figures has to know:
// - uWebSockets.js is not on npm; the package @btc-vision/uwebsockets.js repackages it, with its prebuilt binaries.
// - The binary wants glibc 2.38. peer.sh loads a copy whose version need is marked as weak, with three functions
//   preloaded (shim.c); no machine code differs.
// - With GROUP_COMMIT=1 the writes of one turn of the event loop share a transaction (writer.mjs), as Larder's do.
import { STATUS_CODES } from 'node:http';
import { createRequire } from 'node:module';
import { isMainThread, Worker, workerData } from 'node:worker_threads';
import { dealFault, parse, productFault } from '../javascript/bodies.mjs';
import { clampQueries, now, randomId, toId, toInteger } from '../javascript/queries.mjs';
import { userOf } from '../javascript/tokens.mjs';
import { openStore } from './store.mjs';
import { makeWriter } from './writer.mjs';

const UNIQUE = 2067, FOREIGN_KEY = 787; // SQLite's extended result codes
const BODY_LIMIT = 1 << 20;

const { App } = createRequire(import.meta.url)(process.env.UWS);
const store = openStore();
const lock = workerData ?? new Int32Array(new SharedArrayBuffer(4));
const write = makeWriter(store.db, lock, process.env.GROUP_COMMIT !== '0');

// ---- answers

// A reply is a status, a JSON text and, of some, one more header.
const problem = (status, detail, name, value) =>
    ({ status, json: JSON.stringify({ type: 'about:blank', title: STATUS_CODES[status], status, detail }), name, value });

const NO_PRODUCT = problem(404, 'there is no product with this id');
const NO_PATH = problem(404, 'there is nothing at this path');
const TAKEN = problem(409, 'another product has this sku');
const NO_CATEGORY = problem(422, 'category_id must be the id of a category');
const NO_TOKEN = problem(401, 'a valid token is needed', 'WWW-Authenticate', 'Bearer error="invalid_token"');
const NOT_JSON = problem(400, 'the body is not JSON');
const TOO_LARGE = problem(413, 'the body may have at most 1 MiB');
const FAILED = problem(500, 'the request failed');
const DELETED = { status: 204 };

function send(response, { status, json, name, value }) {
    if (status !== 200) {
        response.writeStatus(`${status} ${STATUS_CODES[status]}`);
    }
    if (name) {
        response.writeHeader(name, value);
    }
    if (json === undefined) {
        response.endWithoutBody();
    } else {
        response.writeHeader('Content-Type', status < 400 ? 'application/json' : 'application/problem+json').end(json);
    }
}

const sendJson = (response, json) => response.writeHeader('Content-Type', 'application/json').end(json);

// For an answer that leaves later, if the client still waits for it.
function later(response) {
    let gone = false;
    response.onAborted(() => { gone = true; });
    return reply => {
        if (!gone) {
            response.cork(() => send(response, reply ?? FAILED));
        }
    };
}

// Calls use(body) with the body's value; refuses by itself what is wrong with it.
function readBody(response, answer, fault, use) {
    const chunks = [];
    let size = 0;
    response.onData((chunk, isLast) => {
        size += chunk.byteLength;
        if (size <= BODY_LIMIT) {
            const bytes = Buffer.from(chunk);
            chunks.push(isLast ? bytes : Buffer.from(bytes)); // valid only until we return
        }
        if (!isLast) {
            return;
        }
        const body = size > BODY_LIMIT ? undefined : parse(Buffer.concat(chunks).toString());
        const complaint = body === undefined ? null : fault(body);
        if (body === undefined) {
            answer(size > BODY_LIMIT ? TOO_LARGE : NOT_JSON);
        } else if (complaint) {
            answer(problem(422, complaint));
        } else {
            use(body);
        }
    });
}

// ---- products

function readProduct(response, request) {
    const row = store.product.get(toId(request.getParameter(0)));
    if (row) {
        sendJson(response, row[0]);
    } else {
        send(response, NO_PRODUCT);
    }
}

function listProducts(response, request) {
    const limit = toInteger(request.getQuery('limit'), 1, 100, 20);
    const after = toInteger(request.getQuery('after'), 0, Infinity, 0);
    if (limit === null || after === null) {
        send(response, problem(400, 'limit or after is out of range'));
        return;
    }
    const rows = store.products.all(after, limit + 1);
    const more = rows.length > limit;
    if (more) {
        rows.pop();
    }
    const items = rows.map(([, json]) => json).join();
    const next = more ? `"/products?after=${rows.at(-1)[0]}&limit=${limit}"` : 'null';
    sendJson(response, `{"items":[${items}],"next":${next}}`);
}

function insertProduct({ sku, name, price_cents, stock = 0, category_id }) {
    try {
        const { lastInsertRowid: id } = store.insertProduct.run(sku, name, price_cents, stock, category_id, now());
        return { status: 201, json: store.product.get(id)[0], name: 'Location', value: `/products/${id}` };
    } catch (error) {
        if (error.errcode === UNIQUE) {
            return TAKEN;
        }
        if (error.errcode === FOREIGN_KEY) {
            return NO_CATEGORY;
        }
        throw error;
    }
}

function createProduct(response) {
    const answer = later(response);
    readBody(response, answer, productFault, body => write(() => insertProduct(body), answer));
}

function removeProduct(response, request) {
    const id = toId(request.getParameter(0));
    write(() => store.deleteProduct.run(id).changes ? DELETED : NO_PRODUCT, later(response));
}

// ---- deals

// The user of the request's token, 0 when there is none.
function authenticate(request) {
    const user = userOf(request.getHeader('authorization'));
    return user && store.user.get(user) ? user : 0;
}

function listDeals(response, request) {
    const page = toInteger(request.getQuery('page'), 1, Infinity, 1);
    const perPage = toInteger(request.getQuery('per_page'), 1, 100, 20);
    if (!authenticate(request)) {
        send(response, NO_TOKEN);
    } else if (page === null || perPage === null) {
        send(response, problem(400, 'page or per_page is out of range'));
    } else {
        const [total] = store.dealTotal.get();
        const items = store.deals.all(perPage, (page - 1) * perPage).map(([json]) => json).join();
        sendJson(response, `{"items":[${items}],"page":${page},"per_page":${perPage},"total":${total},`
            + `"pages":${Math.ceil(total / perPage)}}`);
    }
}

function insertDeal({ title, amount_cents, status = 'open' }, user) {
    const { lastInsertRowid: id } = store.insertDeal.run(title, amount_cents, status, user, now());
    return { status: 201, json: store.deal.get(id)[0], name: 'Location', value: `/api/deals/${id}` };
}

function createDeal(response, request) {
    const user = authenticate(request);
    const answer = later(response);
    if (user) {
        readBody(response, answer, dealFault, body => write(() => insertDeal(body, user), answer));
    } else {
        answer(NO_TOKEN);
    }
}

// ---- probes

function randomRow() {
    const [id, randomNumber] = store.world.get(randomId());
    return { id, randomNumber };
}

function wait(response, request) {
    const ms = toInteger(request.getQuery('ms'), 0, 30000, 1000);
    if (ms === null) {
        send(response, problem(400, 'ms is out of range'));
    } else {
        setTimeout(later(response), ms, { status: 200, json: JSON.stringify({ waited_ms: ms }) });
    }
}

// ---- all of it

App()
    .get('/products/:id', readProduct)
    .del('/products/:id', removeProduct)
    .get('/products', listProducts)
    .post('/products', createProduct)
    .get('/api/deals', listDeals)
    .post('/api/deals', createDeal)
    .get('/health', response => response.writeHeader('Content-Type', 'text/plain').end('ok'))
    .get('/json', response => sendJson(response, JSON.stringify({ message: 'Hello, World!' })))
    .get('/db', response => sendJson(response, JSON.stringify(randomRow())))
    .get('/queries', (response, request) => {
        const rows = Array.from({ length: clampQueries(request.getQuery('queries')) }, randomRow);
        sendJson(response, JSON.stringify(rows));
    })
    .get('/wait', wait)
    .any('/*', response => send(response, NO_PATH))
    .listen('127.0.0.1', Number(process.env.PORT), socket => {
        if (!socket) {
            console.error(`port ${process.env.PORT} cannot be had`);
            process.exit(1);
        }
    });

if (isMainThread) {
    // without its second thread the peer is not what is measured
    new Worker(new URL(import.meta.url), { workerData: lock }).on('exit', () => process.exit(1));
}
