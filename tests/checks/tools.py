"""The tools of a check: registering it, comparing, what it may use of the run, and the marks in requests.

A comparison that does not hold raises Mismatch; every other exception is reported as an answer that cannot be
read. Rows that a check creates are deleted at the end of the run: see CREATED in wire.py.
"""
import json
import re
import secrets
import threading

from checks.wire import ALWAYS, MARKS, TIMEOUT_SECONDS, Connection, Mismatch, Site, send

ANY_4XX = range(400, 500)
MAX_ID = (1 << 63) - 1
MIB = 1 << 20
PRODUCT_KEYS = {"id", "sku", "name", "price_cents", "stock", "category", "created_at", "updated_at"}


CHECKS = []   # (section, name, function), in the order they run
SECTION = [""]


def section(title):
    SECTION[0] = title


def check(name):
    def register(function):
        CHECKS.append((SECTION[0], name, function))
        return function
    return register


def cases(name, *rows):
    def register(function):
        for row in rows:
            CHECKS.append((SECTION[0], name.format(*row), lambda row=row: function(*row)))
        return function
    return register


def always(name):
    def register(function):
        ALWAYS[name] = function
        return function
    return register


class World:
    """What the run has found or made, each when first asked for."""
    prefix = "contract-%s-" % secrets.token_hex(4)
    count = 0
    category_found = None
    product_made = None
    first_category = None  # of those the run made

    @classmethod
    def sku(cls):
        cls.count += 1
        return "%s%d" % (cls.prefix, cls.count)

    @staticmethod
    def word():
        """A word that no row has yet, and that begins no word of one."""
        return "".join(secrets.choice("bcdfghjkmpqrstvwxz") for _ in range(12))

    @classmethod
    def category(cls):
        if cls.category_found is None:
            cls.category_found = send("GET", "/categories").json()["items"][0]
        return cls.category_found

    @classmethod
    def product(cls):
        if cls.product_made is None:
            answer = created(send("POST", "/products", product()))
            cls.product_made = dict(answer.json(), tag=answer.get("ETag"))
        return cls.product_made


MARKS.update({
    "<SKU>": lambda: World.sku(),
    "<NAME>": lambda: World.sku(),
    "<SKU64>": lambda: World.sku().ljust(64, "x"),
    "<SKU65>": lambda: World.sku().ljust(65, "x"),
    "<CAT>": lambda: World.category()["id"],
    "<ID>": lambda: World.product()["id"],
    "<ID+2^32>": lambda: World.product()["id"] + (1 << 32),
    "<ID+2^64>": lambda: World.product()["id"] + (1 << 64),
    "<ID in percents>": lambda: "".join("%%3%s" % digit for digit in str(World.product()["id"])),
    "<TAKEN>": lambda: World.product()["sku"],
    "<TAG>": lambda: World.product()["tag"],
    "<TAG's inside>": lambda: World.product()["tag"].strip('"'),
    "<PREFIX>": lambda: Site.prefix,
    "<ABOVE>": lambda: "/.." * (Site.prefix.count("/") + 1),
    "<HOST>": lambda: Site.netloc,
    "<SCHEME>": lambda: Site.scheme,
})


def product(**members):
    """The text of a valid product, members given as JSON text in place of the usual; None leaves one out."""
    usual = {"sku": '"<SKU>"', "name": '"A name"', "price_cents": "1", "stock": "2", "category_id": "<CAT>"}
    usual.update(members)
    return "{%s}" % ", ".join("%s: %s" % (json.dumps(key, ensure_ascii=False), value)
                              for key, value in usual.items() if value is not None)


def product_bytes(**members):
    """The same with values of bytes, for text that is not UTF-8."""
    text = product(**{key: '"<%s>"' % key.upper() for key in members}).encode()
    for key, value in members.items():
        text = text.replace(b'"<%s>"' % key.upper().encode(), value)
    return text


def post(body, **headers):
    return send("POST", "/products", body, {key.replace("_", "-"): value for key, value in headers.items()})


def new_product(**members):
    """Creates a product and gives back its path and its answer."""
    answer = created(post(product(**members)))
    return "/products/%d" % answer.json()["id"], answer


def new_category(name="<NAME>"):
    """Creates a category and gives back its path and its answer."""
    answer = created_category(send("POST", "/categories", '{"name": "%s"}' % name))
    return "/categories/%d" % answer.json()["id"], answer


def unchanged(path, before):
    """Holds a row to be what an answer for it told earlier."""
    now = status(send("GET", path), 200)
    same("the row", now.json(), before.json())
    same("its ETag", now.get("ETag"), before.get("ETag"))


def inside(target):
    """A path that the service told, without the prefix."""
    holds("a path below the prefix", target.startswith(Site.prefix + "/"), target)
    return target[len(Site.prefix):]


def walk(path):
    """Follows a list by its own links, held to be told twice and alike; the items of each page."""
    found = []
    while path:
        answer = send("GET", path)
        value = json_of(answer)
        same("members of a page", set(value), {"items", "next"})
        same("Link", answer.get("Link"), value["next"] and '<%s>; rel="next"' % value["next"])
        found.append(value["items"])
        holds("an end of the pages", len(found) < 1000, value["next"])
        path = value["next"] and inside(value["next"])
    return found


def same(what, got, expected):
    if got != expected or isinstance(got, bool) != isinstance(expected, bool):
        raise Mismatch(what, repr(expected), repr(got))


def holds(what, truth, got):
    if not truth:
        raise Mismatch(what, "it to hold", repr(got))


def status(answer, *expected):
    if answer.status not in expected:
        wanted = "a 4xx" if len(expected) > 5 else " or ".join(map(str, expected))
        raise Mismatch("the status", wanted, answer.summary())
    return answer


def json_of(answer, code=200):
    status(answer, code)
    same("Content-Type", answer.media_type, "application/json")
    return answer.json()


def created(answer):
    """Holds an answer to be a complete 201 for a product."""
    value = json_of(answer, 201)
    same("the product's members", set(value), PRODUCT_KEYS)
    same("Location", answer.get("Location"), "%s/products/%d" % (Site.prefix, value["id"]))
    holds("a strong ETag", is_strong_tag(answer.get("ETag")), answer.get("ETag"))
    return answer


def created_category(answer):
    """Holds an answer to be a complete 201 for a category."""
    value = json_of(answer, 201)
    World.first_category = World.first_category or value
    same("the category's members", set(value), {"id", "name"})
    same("Location", answer.get("Location"), "%s/categories/%d" % (Site.prefix, value["id"]))
    holds("a strong ETag", is_strong_tag(answer.get("ETag")), answer.get("ETag"))
    return answer


def problem(answer, *codes, pointers=None, names=None):
    """Holds an answer to be an RFC 9457 problem, with these pointers, or with this parameter named."""
    status(answer, *codes)
    complaint = problem_complaint(answer)
    if complaint:
        raise Mismatch("the problem", "a whole one", "%s in %s" % (complaint, answer.summary()))
    if pointers is not None:
        same("the pointers", {error["pointer"] for error in answer.json()["errors"]}, set(pointers))
    if names is not None:
        detail = answer.json()["detail"]
        holds("the detail names %s" % names, re.search(r"(?<!\w)%s(?!\w)" % re.escape(names), detail), detail)
    return answer


def problem_complaint(answer):
    if answer.media_type != "application/problem+json":
        return "Content-Type is not application/problem+json"
    if answer.method == "HEAD":
        return None
    value = answer.json()
    may, must = {"errors"} if answer.status in (409, 422) else set(), {"errors"} if answer.status == 422 else set()
    if not must <= set(value) - {"type", "title", "status", "detail"} <= may:
        return "its members are not type, title, status and detail (with errors at 422, and perhaps at 409)"
    if not {"type", "title", "status", "detail"} <= set(value):
        return "it lacks one of type, title, status and detail"
    if value["status"] != answer.status:
        return "its status is not the status line's"
    if value["type"] != "about:blank" and not value["type"].startswith(("/problems/", Site.prefix + "/problems/")):
        return "its type is neither about:blank nor under /problems/"
    if not all(isinstance(value[key], str) and value[key].strip() for key in ("title", "detail")):
        return "its title or detail is not a text"
    errors = value.get("errors", [])
    if answer.status == 422 and not errors:
        return "its errors are empty"
    if not all(isinstance(error["pointer"], str) and isinstance(error["detail"], str) and error["detail"].strip()
               for error in errors):
        return "one of its errors lacks a pointer or a detail"
    return None


def allowed(answer):
    return {method.strip() for method in (answer.get("Allow") or "").split(",") if method.strip()}


def is_strong_tag(text):
    return bool(text and re.match(r'^"[^"]+"$', text))


def is_request_id(text):
    return bool(text and re.match(r"^[A-Za-z0-9._-]{1,64}$", text))


def check_none_match(path, value, code, method="GET"):
    plain = status(send("GET", path), 200)
    answer = status(send(method, path, None, {"If-None-Match": value}), code)
    same("ETag", answer.get("ETag"), plain.get("ETag"))
    if code == 304:
        same("Content-Type", answer.get("Content-Type"), None)
        holds("no other length", answer.get("Content-Length") in (None, plain.get("Content-Length")), answer.headers)
        status(send("GET", "/health"), 200)
    elif method == "GET":
        same("the body", answer.body, plain.body)


IF_MATCH = [
    ("the ETag", "<T>", True), ("*", "*", True), ("a list that has it", '"a", <T>', True),
    ("a list with a comma in a tag before it", '"a,b",<T>', True), ("a list with empty elements", ", ,<T>", True),
    ("another row's ETag", "<TAG>", False), ("a list of others", '"a", "b"', False),
    ("the weak form of it", "W/<T>", False),
    ("a list of it in weak form", '"a", W/<T>', False)]


def if_match_rows(done):
    """Rows for a table of checks: the kind of If-Match, its value, and the status, `done` where it fits."""
    return [(kind, value, done if fits else 412) for kind, value, fits in IF_MATCH]


def check_if_match(row, method, body, value, code):
    """Sends a change under a condition to a row just made, (path, answer); a 412 has changed nothing."""
    path, before = row
    answer = send(method, path, body, {"If-Match": value.replace("<T>", before.get("ETag"))})
    if code == 412:
        problem(answer, 412)
        unchanged(path, before)
    elif code == 204:
        status(answer, 204)
        status(send("GET", path), 404)
    else:
        status(answer, code)
        holds("another ETag", is_strong_tag(answer.get("ETag")) and answer.get("ETag") != before.get("ETag"),
              answer.get("ETag"))
        unchanged(path, answer)


def answers_at_once(count, data):
    """Sends the same bytes on `count` connections at the same moment; the answers, or what came in their place."""
    found, start = [], threading.Barrier(count)

    def one():
        try:
            with Connection() as connection:
                start.wait(TIMEOUT_SECONDS)
                connection.write(data)
                found.append(connection.read(data.split(b" ")[0].decode()))
        except Exception as error:
            found.append("%s: %s" % (type(error).__name__, error))
    threads = [threading.Thread(target=one) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def at_once(count, data):
    """The statuses of answers_at_once(), sorted."""
    return sorted((getattr(found, "status", found) for found in answers_at_once(count, data)), key=str)
