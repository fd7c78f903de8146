<?php
// A peer of the benchmark: PHP-FPM with opcache, and PDO's connections kept from request to request.
//
// What a reader of its figures has to know:
// - The JIT is off: with it, the peer was slower.
// - A process serves one request at a time, /wait included; there are six. nginx does not keep its connections to them:
//   each would hold a process.
// - SQLite's statements are prepared for each request, as nothing but the connection outlives it.
declare(strict_types=1);

require __DIR__ . '/bodies.php';
require __DIR__ . '/tokens.php';

const PRODUCT = '
    SELECT p.id, p.sku, p.name, p.price_cents, p.stock, p.category_id, c.name AS category_name, p.created_at, p.updated_at
    FROM products p JOIN categories c ON c.id = p.category_id ';
const DEAL = '
    SELECT d.id, d.title, d.amount_cents, d.status, d.owner_id, u.name AS owner_name, d.created_at
    FROM deals d JOIN users u ON u.id = d.owner_id ';

// SQLite's extended result codes
const UNIQUE = 2067;
const FOREIGN_KEY = 787;

const TITLES = [400 => 'Bad Request', 401 => 'Unauthorized', 404 => 'Not Found', 409 => 'Conflict',
    413 => 'Content Too Large', 422 => 'Unprocessable Content', 500 => 'Internal Server Error'];

// ---- answers

function answer(int $status, mixed $value): void
{
    http_response_code($status);
    header('Content-Type: application/' . ($status < 400 ? 'json' : 'problem+json'));
    echo json_encode($value, JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_THROW_ON_ERROR);
}

function problem(int $status, string $detail): void
{
    answer($status, ['type' => 'about:blank', 'title' => TITLES[$status], 'status' => $status, 'detail' => $detail]);
}

// ---- questions

function database(): PDO
{
    return new PDO('sqlite:' . getenv('DB'), null, null, [
        PDO::ATTR_PERSISTENT => true,
        PDO::ATTR_TIMEOUT => 5,
        PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC,
        PDO::SQLITE_ATTR_EXTENDED_RESULT_CODES => true,
    ]);
}

// For writes: with the settings of a connection that matter to them. A kept connection has them already, but does not say
// that it was kept.
function writable_database(): PDO
{
    $db = database();
    $db->exec('PRAGMA foreign_keys = ON; PRAGMA synchronous = ' . (getenv('SYNC') === 'normal' ? 'NORMAL' : 'FULL'));
    return $db;
}

function query(PDO $db, string $sql, array $values = []): PDOStatement
{
    $statement = $db->prepare($sql);
    foreach ($values as $i => $value) {
        $statement->bindValue($i + 1, $value, is_int($value) ? PDO::PARAM_INT : PDO::PARAM_STR);
    }
    $statement->execute();
    return $statement;
}

// An id in a path; 0, which no row has, when it is not one.
function to_id(string $text): int
{
    return preg_match('/^[1-9][0-9]{0,17}$/D', $text) ? (int) $text : 0;
}

// A whole number of the query; null when the problem has been answered.
function query_integer(string $name, int $minimum, int $maximum, int $standard): ?int
{
    $text = $_GET[$name] ?? (string) $standard;
    if (is_string($text) && preg_match('/^[0-9]{1,15}$/D', $text) && $text >= $minimum && $text <= $maximum) {
        return (int) $text;
    }
    problem(400, "$name is out of range");
    return null;
}

// The body's members; null when the problem has been answered.
function read_body(callable $fault): ?array
{
    $text = file_get_contents('php://input', false, null, 0, BODY_LIMIT + 1);
    if (strlen($text) > BODY_LIMIT) {
        problem(413, 'the body may have at most 1 MiB');
        return null;
    }
    $body = json_decode($text);
    if (json_last_error() !== JSON_ERROR_NONE) {
        problem(400, 'the body is not JSON');
        return null;
    }
    $complaint = $body instanceof stdClass ? $fault((array) $body) : 'the body must be an object';
    if ($complaint !== null) {
        problem(422, $complaint);
        return null;
    }
    return (array) $body;
}

function now(): string
{
    return gmdate('Y-m-d\TH:i:s\Z');
}

// ---- products

function to_product(array $row): array
{
    return ['id' => $row['id'], 'sku' => $row['sku'], 'name' => $row['name'], 'price_cents' => $row['price_cents'],
        'stock' => $row['stock'], 'category' => ['id' => $row['category_id'], 'name' => $row['category_name']],
        'created_at' => $row['created_at'], 'updated_at' => $row['updated_at']];
}

function read_product(int $id): void
{
    $row = query(database(), PRODUCT . 'WHERE p.id = ?', [$id])->fetch();
    if ($row === false) {
        problem(404, 'there is no product with this id');
    } else {
        answer(200, to_product($row));
    }
}

function list_products(): void
{
    $limit = query_integer('limit', 1, 100, 20);
    $after = $limit === null ? null : query_integer('after', 0, PHP_INT_MAX, 0);
    if ($after === null) {
        return;
    }
    $rows = query(database(), PRODUCT . 'WHERE p.id > ? ORDER BY p.id LIMIT ?', [$after, $limit + 1])->fetchAll();
    $items = array_map('to_product', array_slice($rows, 0, $limit));
    $next = count($rows) > $limit ? "/products?after={$items[$limit - 1]['id']}&limit=$limit" : null;
    answer(200, ['items' => $items, 'next' => $next]);
}

function create_product(): void
{
    $body = read_body('product_fault');
    if ($body === null) {
        return;
    }
    $db = writable_database();
    try {
        query($db, 'INSERT INTO products (sku, name, price_cents, stock, category_id, created_at, updated_at)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)',
            [$body['sku'], $body['name'], $body['price_cents'], $body['stock'] ?? 0, $body['category_id'], now()]);
    } catch (PDOException $error) {
        match ($error->errorInfo[1]) {
            UNIQUE => problem(409, 'another product has this sku'),
            FOREIGN_KEY => problem(422, 'category_id must be the id of a category'),
            default => throw $error,
        };
        return;
    }
    $id = (int) $db->lastInsertId();
    header("Location: /products/$id");
    answer(201, to_product(query($db, PRODUCT . 'WHERE p.id = ?', [$id])->fetch()));
}

function delete_product(int $id): void
{
    if (query(writable_database(), 'DELETE FROM products WHERE id = ?', [$id])->rowCount() > 0) {
        http_response_code(204);
        header_remove('Content-Type');
    } else {
        problem(404, 'there is no product with this id');
    }
}

// ---- deals

function to_deal(array $row): array
{
    return ['id' => $row['id'], 'title' => $row['title'], 'amount_cents' => $row['amount_cents'],
        'status' => $row['status'], 'owner' => ['id' => $row['owner_id'], 'name' => $row['owner_name']],
        'created_at' => $row['created_at']];
}

// The user of the request's token; 0 when the problem has been answered.
function authenticate(): int
{
    $user = user_of($_SERVER['HTTP_AUTHORIZATION'] ?? '');
    if ($user !== 0 && query(database(), 'SELECT 1 FROM users WHERE id = ? AND active = 1', [$user])->fetch()) {
        return $user;
    }
    header('WWW-Authenticate: Bearer error="invalid_token"');
    problem(401, 'a valid token is needed');
    return 0;
}

function list_deals(): void
{
    $page = authenticate() === 0 ? null : query_integer('page', 1, PHP_INT_MAX, 1);
    $per_page = $page === null ? null : query_integer('per_page', 1, 100, 20);
    if ($per_page === null) {
        return;
    }
    $db = database();
    $total = query($db, 'SELECT sum(count) FROM deal_counts')->fetchColumn();
    $rows = query($db, DEAL . 'ORDER BY d.created_at DESC, d.id DESC LIMIT ? OFFSET ?',
        [$per_page, ($page - 1) * $per_page])->fetchAll();
    answer(200, ['items' => array_map('to_deal', $rows), 'page' => $page, 'per_page' => $per_page, 'total' => $total,
        'pages' => intdiv($total + $per_page - 1, $per_page)]);
}

function create_deal(): void
{
    $user = authenticate();
    $body = $user === 0 ? null : read_body('deal_fault');
    if ($body === null) {
        return;
    }
    $db = writable_database();
    query($db, 'INSERT INTO deals (title, amount_cents, status, owner_id, created_at) VALUES (?, ?, ?, ?, ?)',
        [$body['title'], $body['amount_cents'], $body['status'] ?? 'open', $user, now()]);
    $id = (int) $db->lastInsertId();
    header("Location: /api/deals/$id");
    answer(201, to_deal(query($db, DEAL . 'WHERE d.id = ?', [$id])->fetch()));
}

// ---- probes

function read_health(): void
{
    header('Content-Type: text/plain');
    echo 'ok';
}

// As many random rows, each by a run of its own of the statement.
function random_rows(int $count): array
{
    $statement = database()->prepare('SELECT id, random_number AS randomNumber FROM world WHERE id = ?');
    $rows = [];
    for ($i = 0; $i < $count; $i++) {
        $statement->bindValue(1, mt_rand(1, 10000), PDO::PARAM_INT);
        $statement->execute();
        $rows[] = $statement->fetch();
        $statement->closeCursor();
    }
    return $rows;
}

function read_queries(): void
{
    $text = $_GET['queries'] ?? '';
    answer(200, random_rows(min(max(is_string($text) ? (int) $text : 1, 1), 500)));
}

function wait(): void
{
    $ms = query_integer('ms', 0, 30000, 1000);
    if ($ms !== null) {
        usleep($ms * 1000);
        answer(200, ['waited_ms' => $ms]);
    }
}

// ---- all of it

function route(string $method, string $path): void
{
    if (str_starts_with($path, '/products/')) {
        $id = to_id(substr($path, strlen('/products/')));
        $path = '/products/';
    }
    match ("$method $path") {
        'GET /products/' => read_product($id),
        'DELETE /products/' => delete_product($id),
        'GET /products' => list_products(),
        'POST /products' => create_product(),
        'GET /api/deals' => list_deals(),
        'POST /api/deals' => create_deal(),
        'GET /health' => read_health(),
        'GET /json' => answer(200, ['message' => 'Hello, World!']),
        'GET /db' => answer(200, random_rows(1)[0]),
        'GET /queries' => read_queries(),
        'GET /wait' => wait(),
        default => problem(404, 'there is nothing at this path'),
    };
}

try {
    route($_SERVER['REQUEST_METHOD'], explode('?', $_SERVER['REQUEST_URI'], 2)[0]);
} catch (Throwable $error) {
    error_log((string) $error);
    header_remove('Location');
    problem(500, 'the request failed');
}
