"""Categories: creating, renaming and deleting one, and what that does to its products."""
from checks.tools import (MAX_ID, MIB, World, cases, check, check_if_match, created_category, holds, if_match_rows,
                          is_strong_tag, json_of, new_category, new_product, post, problem, product, same, section,
                          status, unchanged)
from checks.wire import Site, fill, raw, send, wire

section("Creating and changing categories")

def create(body, **headers):
    return send("POST", "/categories", body, {key.replace("_", "-"): value for key, value in headers.items()})

def number_of(path):
    return path.rsplit("/", 1)[1]

@check("POST /categories answers 201 with id and name, Location and ETag, as GET answers it")
def _():
    name = World.sku()
    answer = created_category(create('{"name": "%s"}' % name))
    same("name", answer.json()["name"], name)
    holds("a positive id", 0 < answer.json()["id"] <= MAX_ID, answer.json()["id"])
    again = send("GET", answer.get("Location")[len(Site.prefix):])
    same("the body", again.body, answer.body)
    same("ETag", again.get("ETag"), answer.get("ETag"))

@cases("POST /categories accepts a name of {0}", ("1 character", "\U0001f9c0"), ("100 letters", "a" * 100),
       ("100 characters of four bytes", "\U0001f600" * 100), ("quotes and a backslash", 'a"b\\c'),
       ("HTML and SQL", "<b>'; --"))
def _(_, name):
    text = name.replace("\\", "\\\\").replace('"', '\\"')
    answer = create('{"name": "%s"}' % text)
    if answer.status == 409 and len(name) == 1:
        return  # this deployment has it
    same("name", created_category(answer).json()["name"], name)
    status(send("DELETE", "/categories/%d" % answer.json()["id"]), 204)

@check("POST /categories accepts 100 surrogate pairs")
def _():
    answer = created_category(create('{"name": "%s"}' % ("\\ud83e\\uddc0" * 100)))
    same("name", answer.json()["name"], "\U0001f9c0" * 100)
    status(send("DELETE", "/categories/%d" % answer.json()["id"]), 204)

WRONG = [("no name", "{}", "/name"), ("a number for a name", '{"name": 1}', "/name"),
         ("null for a name", '{"name": null}', "/name"),
         ("an array for a name", '{"name": ["a"]}', "/name"), ("an empty name", '{"name": ""}', "/name"),
         ("a name of spaces", '{"name": "  "}', "/name"),
         ("a name of a no-break space", '{"name": "\u00a0"}', "/name"),
         ("a name of 101 letters", '{"name": "%s"}' % ("a" * 101), "/name"),
         ("a name of 101 characters of four bytes", '{"name": "%s"}' % ("\U0001f600" * 101), "/name"),
         ("an unknown member", '{"name": "<NAME>", "colour": 1}', "/colour"),
         ("an id", '{"name": "<NAME>", "id": 1}', "/id"),
         ("an unknown member with a slash", '{"name": "<NAME>", "a/b": 1}', "/a~1b"),
         ("a string", '"x"', ""), ("null", "null", ""), ("a number", "1", ""), ("an empty array", "[]", ""),
         ("an array of categories", '[{"name": "<NAME>"}]', "")]

@cases("POST /categories with {0} answers 422 at {2!r}", *WRONG)
def _(_, body, pointer):
    problem(create(body), 422, pointers=[pointer])

@cases("PUT /categories/{{id}} with {0} answers 422 at {2!r}, and changes nothing", *WRONG)
def _(_, body, pointer):
    path, before = new_category()
    problem(send("PUT", path, body), 422, pointers=[pointer])
    unchanged(path, before)

@cases("{0} of a category tells every error at once", ("POST",), ("PUT",))
def _(method):
    path = "/categories" if method == "POST" else new_category()[0]
    problem(send(method, path, '{"name": " ", "colour": 1, "id": 2}'), 422, pointers=["/name", "/colour", "/id"])

@cases("{0} of a category with {1} answers 400", *[(method, kind, body) for method in ("POST", "PUT")
       for kind, body in (("no text", b""), ("half a text", '{"name": "a'), ("a byte after it", '{"name": "<NAME>"}x'),
                          ("a name twice", '{"name": "<NAME>", "name": "<NAME>"}'),
                          ("\\u0000", '{"name": "a\\u0000b"}'),
                          ("invalid UTF-8", b'{"name": "\xff"}'))])
def _(method, _, body):
    problem(send(method, "/categories" if method == "POST" else new_category()[0], body), 400)

@cases("{0} of a category as {1} answers 415, and changes nothing", ("POST", "text/plain"), ("POST", None),
       ("PUT", "text/plain"),
       ("PUT", None), ("PUT", "application/merge-patch+json"), ("POST", "application/merge-patch+json"))
def _(method, media_type):
    path, before = new_category()
    body = fill('{"name": "<NAME>"}')
    problem(send(method, "/categories" if method == "POST" else path, body, {"Content-Type": media_type}), 415)
    unchanged(path, before)
    created_category(create(body))

@cases("{0} of a category with a body of over 1 MiB answers 413", ("POST",), ("PUT",))
def _(method):
    path, before = new_category()
    body = fill('{"name": "<NAME>"}') + " " * MIB
    problem(raw(wire(method, "/categories" if method == "POST" else path, body), method), 413)
    unchanged(path, before)

@check("POST /categories with a name that is taken answers 409, and the first stays as it was")
def _():
    path, before = new_category()
    problem(create('{"name": "%s"}' % before.json()["name"]), 409)
    unchanged(path, before)

@check("the name of a deleted category is free again, its id is not")
def _():
    path, before = new_category()
    status(send("DELETE", path), 204)
    _, after = new_category(before.json()["name"])
    holds("a larger id", after.json()["id"] > before.json()["id"], (before.json()["id"], after.json()["id"]))

@check("PUT /categories/{id} answers 200 with the new name and another ETag, as GET answers it")
def _():
    path, before = new_category()
    name = World.sku()
    answer = send("PUT", path, '{"name": "%s"}' % name)
    same("the value", json_of(answer), {"id": before.json()["id"], "name": name})
    holds("another, strong ETag", is_strong_tag(answer.get("ETag")) and answer.get("ETag") != before.get("ETag"),
          answer.get("ETag"))
    unchanged(path, answer)
    created_category(create('{"name": "%s"}' % before.json()["name"]))  # the old name is free

@check("PUT /categories/{id} with the name it has answers 200")
def _():
    path, before = new_category()
    same("the value", json_of(send("PUT", path, '{"name": "%s"}' % before.json()["name"])), before.json())

@check("PUT /categories/{id} with another's name answers 409, and changes neither")
def _():
    (one, first), (two, second) = new_category(), new_category()
    problem(send("PUT", one, '{"name": "%s"}' % second.json()["name"]), 409)
    unchanged(one, first)
    unchanged(two, second)

@cases("{0} of a missing category answers 404", ("PUT",), ("DELETE",))
def _(method):
    path, _ = new_category()
    status(send("DELETE", path), 204)
    problem(send(method, path, '{"name": "<NAME>"}' if method == "PUT" else None), 404)
    problem(send("GET", path), 404)

@cases("{0} of a missing category with If-Match: {1} answers 404",
       *[(method, value) for method in ("PUT", "DELETE") for value in ('"a"', "*", "<TAG>")])
def _(method, value):
    body = '{"name": "<NAME>"}' if method == "PUT" else None
    problem(send(method, "/categories/%d" % MAX_ID, body, {"If-Match": value}), 404)

@cases("PUT /categories/{{id}} with If-Match of {0} answers {2}", *if_match_rows(200))
def _(_, value, code):
    check_if_match(new_category(), "PUT", '{"name": "<NAME>"}', value, code)

@cases("DELETE /categories/{{id}} with If-Match of {0} answers {2}", *if_match_rows(204))
def _(_, value, code):
    check_if_match(new_category(), "DELETE", None, value, code)

@cases("{0} of a category with an If-Match that has gone stale answers 412, and with the new ETag {1}",
       ("PUT", 200), ("DELETE", 204))
def _(method, code):
    path, before = new_category()
    now = status(send("PUT", path, '{"name": "<NAME>"}'), 200)
    body = '{"name": "<NAME>"}' if method == "PUT" else None
    problem(send(method, path, body, {"If-Match": before.get("ETag")}), 412)
    unchanged(path, now)
    status(send(method, path, body, {"If-Match": now.get("ETag")}), code)

@check("DELETE /categories/{id} answers 204 without a body, then GET and DELETE answer 404")
def _():
    path, _ = new_category()
    answer = status(send("DELETE", path), 204)
    same("headers of a body", (answer.get("Content-Type"), answer.get("Content-Length")), (None, None))
    problem(send("GET", path), 404)
    problem(send("DELETE", path), 404)

@cases("DELETE of a category that a product is in answers 409, {0}, and both stay", ("with no condition", None),
       ("with If-Match: *", "*"), ("with the ETag for If-Match", "<T>"))
def _(_, value):
    path, before = new_category()
    inside, row = new_product(category_id=number_of(path))
    headers = {"If-Match": value.replace("<T>", before.get("ETag"))} if value else {}
    problem(send("DELETE", path, None, headers), 409)
    unchanged(path, before)
    unchanged(inside, row)

@cases("a category can be deleted once its last product is {0}", ("deleted", "DELETE", None),
       ("moved by PATCH", "PATCH", '{"category_id": <CAT>}'), ("moved by PUT", "PUT", product()))
def _(_, method, body):
    path, _ = new_category()
    first, second = [new_product(category_id=number_of(path))[0] for _ in range(2)]
    status(send(method, first, body), 200, 204)
    problem(send("DELETE", path), 409)
    status(send(method, second, body), 200, 204)
    status(send("DELETE", path), 204)

@check("a product for a category that was deleted answers 422 at /category_id")
def _():
    path, _ = new_category()
    status(send("DELETE", path), 204)
    problem(post(product(category_id=number_of(path))), 422, pointers=["/category_id"])
    problem(send("PATCH", new_product()[0], '{"category_id": %s}' % number_of(path)), 422, pointers=["/category_id"])

@check("renaming a category changes the body and the ETag of its products, and of no others")
def _():
    path, _ = new_category()
    inside, before = new_product(category_id=number_of(path))
    outside, other = new_product()
    category = json_of(send("PUT", path, '{"name": "<NAME>"}'))
    answer = send("GET", inside, None, {"If-None-Match": before.get("ETag")})
    same("category", json_of(answer)["category"], category)
    rest = {"sku", "name", "price_cents", "stock", "created_at"}
    same("the rest", {key: answer.json()[key] for key in rest}, {key: before.json()[key] for key in rest})
    holds("another ETag", answer.get("ETag") not in (None, before.get("ETag")), answer.get("ETag"))
    problem(send("PATCH", inside, '{"stock": 1}', {"If-Match": before.get("ETag")}), 412)
    status(send("PATCH", inside, '{"stock": 1}', {"If-Match": answer.get("ETag")}), 200)
    unchanged(outside, other)

@check("a category is in the list from the moment it is created, under its new name, until it is deleted")
def _():
    path, before = new_category()
    first = before.json()
    listed = lambda: json_of(send("GET", "/categories?after=%d" % (first["id"] - 1)))["items"]
    same("created", listed(), [first])
    renamed = json_of(send("PUT", path, '{"name": "<NAME>"}'))
    same("renamed", listed(), [renamed])
    status(send("DELETE", path), 204)
    same("deleted", listed(), [])

@cases("of 4 categories, limit={0} answers {0}, and next {1}", (3, "is there"), (4, "is null"), (5, "is null"))
def _(limit, next_is):
    rows = [new_category()[1].json() for _ in range(4)]
    answer = send("GET", "/categories?limit=%d&after=%d" % (limit, rows[0]["id"] - 1))
    value = json_of(answer)
    same("the items", value["items"], rows[:limit])
    same("no next", value["next"] is None, next_is == "is null")
    same("no Link", answer.get("Link") is None, next_is == "is null")

@check("GET /categories answers an ETag that changes with its items, and 304 while it does not")
def _():
    path, before = new_category()
    query = "/categories?after=%d" % (before.json()["id"] - 1)
    first = status(send("GET", query), 200)
    holds("a strong ETag", is_strong_tag(first.get("ETag")), first.get("ETag"))
    status(send("GET", query, None, {"If-None-Match": first.get("ETag")}), 304)
    status(send("PUT", path, '{"name": "<NAME>"}'), 200)
    status(send("GET", query, None, {"If-None-Match": first.get("ETag")}), 200)
