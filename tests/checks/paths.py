"""Paths, methods and query parameters: what is there, and what it may be asked."""
from checks.tools import (ANY_4XX, MAX_ID, allowed, cases, check, created, holds, new_category, new_product, post,
                          problem, product, same, section, status, unchanged)
from checks.wire import Connection, fill, raw, send, wire

section("Paths")

@cases("GET {} answers 404",
       ("/nope",), ("/healthz",), ("/health/",), ("/HEALTH",), ("/ready/",), ("/index.html",), ("/products.json",),
       ("//products",), ("//products/<ID>",), ("/products/",), ("/products//<ID>",), ("/products/<ID>/",),
       ("/products/<ID>/x",), ("/products/<ID>.json",), ("/PRODUCTS",), ("/Products/<ID>",), ("/products%2F<ID>",),
       ("/products/../health",), ("/products/%2e%2e/health",), ("/./products/<ID>",), ("/product",),
       ("/categories/",), ("/categories/<CAT>/",), ("/categories%2f<CAT>",), ("/nope?limit=1",))
def _(path):
    problem(send("GET", path), 404)

@cases("{} on an unknown path answers 404",
       ("POST",), ("PUT",), ("PATCH",), ("DELETE",), ("OPTIONS",), ("HEAD",), ("PROPFIND",))
def _(method):
    problem(send(method, "/nope", "{}" if method == "POST" else None), 404)

@cases("GET {} answers 200, each segment percent-decoded",
       ("/products/<ID in percents>",), ("/%70roducts/<ID>",), ("/%68ealth",), ("/categorie%73",))
def _(path):
    status(send("GET", path), 200)

@cases("GET {} answers 400 or 404",
       ("/products/%00",), ("/products/<ID>%00",), ("/products/<ID>%00x",), ("/products/%zz",), ("/products/<ID>%",),
       ("/%3",), ("/products/%FF",), ("<ABOVE>/x",), ("<ABOVE>/health",), ("/%2e%2e<ABOVE>/etc/passwd",))
def _(path):
    problem(send("GET", path), 400, 404)

NOT_IDS = ["0", "-1", "1.5", "9223372036854775808", "abc"]

@cases("GET /products/{} answers 404, not being the id of one", *[(text,) for text in NOT_IDS],
       (str(MAX_ID),), ("0<ID>",), ("+<ID>",), ("%2B<ID>",), ("<ID>%20",), ("%20<ID>",), ("<ID>e0",), ("<ID>.0",),
       ("0x1",), ("<ID>;v=1",), ("<ID>%0A",), ("<ID+2^32>",), ("<ID+2^64>",), ("99999999999999999999",), ("9" * 200,),
       ("%EF%BC%91",), ("-9223372036854775808",))
def _(text):
    problem(send("GET", "/products/" + text), 404)

@cases("GET /categories/{} answers 404, not being the id of one", *[(text,) for text in NOT_IDS], (str(MAX_ID),),
       ("0<CAT>",), ("<CAT>%20",))
def _(text):
    problem(send("GET", "/categories/" + text), 404)

@cases("{0} /products/{1} answers 404", *[(method, text) for method in ("PUT", "PATCH", "DELETE")
                                           for text in NOT_IDS + ["0<ID>", "<ID+2^64>"]])
def _(method, text):
    problem(send(method, "/products/" + text, {"PUT": product(), "PATCH": "{}"}.get(method)), 404)
    status(send("GET", "/products/<ID>"), 200)

@cases("{0} /categories/{1} answers 404", *[(method, text) for method in ("PUT", "DELETE")
                                             for text in NOT_IDS + ["0<CAT>"]])
def _(method, text):
    problem(send(method, "/categories/" + text, '{"name": "<NAME>"}' if method == "PUT" else None), 404)
    status(send("GET", "/categories/<CAT>"), 200)


section("Methods")

READ = {"GET", "HEAD", "OPTIONS"}
ROUTES = [("/health", READ), ("/ready", READ), ("/categories", READ | {"POST"}),
          ("/categories/<CAT>", READ | {"PUT", "DELETE"}), ("/products", READ | {"POST"}),
          ("/products/<ID>", READ | {"PUT", "PATCH", "DELETE"})]

@cases("OPTIONS {0} answers 204 with Allow and no body", *ROUTES)
def _(path, methods):
    same("Allow", allowed(status(send("OPTIONS", path), 204)), methods)
    status(send("GET", "/health"), 200)

@cases("FOO {0} answers 405 with Allow", *ROUTES)
def _(path, methods):
    same("Allow", allowed(problem(send("FOO", path), 405)), methods)

@cases("{} {} answers 405 with Allow",
       ("POST", "/health"), ("DELETE", "/health"), ("PUT", "/health"), ("PATCH", "/health"), ("POST", "/ready"),
       ("DELETE", "/ready"), ("DELETE", "/products"), ("PUT", "/products"), ("PATCH", "/products"),
       ("DELETE", "/categories"), ("PUT", "/categories"), ("PATCH", "/categories"), ("POST", "/categories/<CAT>"),
       ("PATCH", "/categories/<CAT>"), ("PROPFIND", "/products/<ID>"), ("VERSION-CONTROL", "/categories"))
def _(method, path):
    answer = problem(send(method, path, product() if method == "POST" else None), 405)
    holds("Allow has other methods than this one", allowed(answer) and method not in allowed(answer), answer.get("Allow"))

@check("POST /products/{id} answers 405 and creates nothing")
def _():
    body = fill(product())
    answer = problem(send("POST", "/products/<ID>", body), 405)
    same("Allow", allowed(answer), READ | {"PUT", "PATCH", "DELETE"})
    created(post(body))

@cases("TRACE {0} answers 405 with Allow, and echoes nothing", ("/health", READ), ("/products/<ID>", READ | {"PUT", "PATCH", "DELETE"}))
def _(path, methods):
    answer = problem(raw(wire("TRACE", path, None, {"Cookie": "secret"})), 405)
    same("Allow", allowed(answer), methods)
    holds("no echo", b"secret" not in answer.body, answer.body)

@check("TRACE on an unknown path answers 404")
def _():
    problem(raw(wire("TRACE", "/nope")), 404)

@cases("CONNECT with {} answers a 4xx problem", ("a host and port", "example.org:443"), ("a path", "<PREFIX>/health"))
def _(_, target):
    problem(raw("CONNECT %s HTTP/1.1\r\nHost: <HOST>\r\n\r\n" % target), *ANY_4XX)

@cases("OPTIONS {} from another origin answers no Access-Control-* header", ("/products",), ("/products/<ID>",),
       ("/health",))
def _(path):
    answer = status(send("OPTIONS", path, None, {"Origin": "https://other.example",
                                                 "Access-Control-Request-Method": "POST",
                                                 "Access-Control-Request-Headers": "content-type"}), 204)
    same("CORS headers", [name for name, _ in answer.headers if name.lower().startswith("access-control-")], [])

@cases("HEAD {} answers the GET's status and headers, and no body", ("/health",), ("/ready",), ("/categories",),
       ("/categories?limit=1",), ("/categories/<CAT>",), ("/products/<ID>",), ("/products/%s" % MAX_ID,), ("/nope",),
       ("/categories?limit=0",), ("/products",), ("/products?limit=1",), ("/products?category_id=<CAT>&limit=2",),
       ("/products?q=product",), ("/products?q=",), ("/categories/%s" % MAX_ID,))
def _(path):
    with Connection() as connection:  # one connection, so that a stray body would spoil the answer after it
        connection.write(wire("GET", path))
        get = connection.read()
        connection.write(wire("HEAD", path))
        head = connection.read("HEAD")
        connection.write(wire("GET", "/health"))
        status(connection.read(), 200)
    same("the status", head.status, get.status)
    for name in ("Content-Type", "Content-Length", "ETag", "Link"):
        same(name, head.get(name), get.get(name))


section("Query parameters")

LISTS = ["/categories", "/products"]
WRONG_IN_LISTS = [
    ("x=1", "x"), ("limit=1&colour=2", "colour"), ("Limit=1", "Limit"), ("page=1", "page"),
    ("limit=0", "limit"), ("limit=101", "limit"), ("limit=-1", "limit"), ("limit=abc", "limit"),
    ("limit=1.5", "limit"),
    ("limit=", "limit"), ("limit", "limit"), ("limit=1e1", "limit"), ("limit=+1", "limit"), ("limit=007", "limit"), ("after=-0", "after"), ("after=00", "after"), ("limit=%2B1", "limit"),
    ("limit=1%20", "limit"), ("limit=1%00", "limit"), ("limit=0x1", "limit"), ("limit=4294967297", "limit"),
    ("limit=18446744073709551617", "limit"), ("limit=1&limit=2", "limit"), ("limit=1&limit=1", "limit"),
    ("limit=1&lim%69t=2", "limit"), ("after=-1", "after"), ("after=abc", "after"), ("after=", "after"),
    ("after=1.5", "after"), ("after=9223372036854775808", "after"), ("after=18446744073709551616", "after"),
    ("after=1&limit=1&after=2", "after")]

@cases("GET {0}?{1} answers 400 naming {2}",
       ("/health", "x=1", "x"), ("/ready", "x=1", "x"), ("/products/<ID>", "x=1", "x"),
       ("/categories/<CAT>", "x=1", "x"),
       ("/products/<ID>", "x", "x"), ("/products/<ID>", "limit=1", "limit"), ("/categories", "q=a", "q"),
       ("/categories", "category_id=1", "category_id"),
       *[(path, query, name) for path in LISTS for query, name in WRONG_IN_LISTS])
def _(path, query, name):
    problem(send("GET", "%s?%s" % (path, query)), 400, names=name)

@cases("GET {} answers 400, a percent escape in it being broken",
       ("/categories?limit=%zz",), ("/categories?limit=1%",), ("/categories?limit=%3",), ("/categories?%=1",),
       ("/products/<ID>?%zz=1",), ("/products?limit=%zz",), ("/products?%=1",), ("/products?q=%zz",),
       ("/products?q=a%",))
def _(path):
    problem(send("GET", path), 400)

RIGHT_IN_LISTS = ["", "after=0", "limit=1", "limit=100", "lim%69t=1", "limit=%31", "after=9223372036854775807",
                  "after=0&limit=1", "limit=1&after=0"]

@cases("GET {} answers 200", ("/products/<ID>?",), ("/health?",), *[
       ("%s?%s" % (path, query),) for path in LISTS for query in RIGHT_IN_LISTS])
def _(path):
    status(send("GET", path), 200)

@cases("POST {0}?x=1 answers 400 and creates nothing", ("/products", product()), ("/categories", '{"name": "<NAME>"}'))
def _(path, body):
    body = fill(body)
    problem(send("POST", path + "?x=1", body), 400, names="x")
    status(send("POST", path, body), 201)

@cases("{0} {1}/{{id}}?x=1 answers 400 and changes nothing",
       ("DELETE", "/products", None), ("PUT", "/products", product()), ("PATCH", "/products", '{"stock": 9}'),
       ("DELETE", "/categories", None), ("PUT", "/categories", '{"name": "<NAME>"}'))
def _(method, collection, body):
    path, before = new_product() if collection == "/products" else new_category()
    problem(send(method, path + "?x=1", body), 400, names="x")
    unchanged(path, before)
