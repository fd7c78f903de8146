"""PUT and PATCH /products/{id}: replacing a product, merging into it, and doing so under a condition."""
import functools
import time

from checks.tools import (MAX_ID, MIB, World, cases, check, check_if_match, holds, if_match_rows, is_strong_tag,
                          json_of, new_category, new_product, problem, product, same, section, status, unchanged)
from checks.wire import Closed, Connection, fill, raw, send, wire

BOTH = [("PUT", product()), ("PATCH", '{"name": "Changed"}')]


def changed(path, before, answer, **members):
    """Holds an answer to be a 200 that differs from an earlier one in these members alone; the row is the same."""
    expected = {**before.json(), **members, "updated_at": json_of(answer)["updated_at"]}
    same("the product", answer.json(), expected)
    holds("another, strong ETag", is_strong_tag(answer.get("ETag")) and answer.get("ETag") != before.get("ETag"),
          answer.get("ETag"))
    unchanged(path, answer)


section("Changing a product")

@check("PUT /products/{id} answers 200 with every member replaced, id and created_at kept")
def _():
    path, before = new_product(stock="5")
    sku, (_, category) = World.sku(), new_category()
    answer = send("PUT", path, product(sku='"%s"' % sku, name='"Other"', price_cents="99", stock="6",
                                       category_id=str(category.json()["id"])))
    changed(path, before, answer, sku=sku, name="Other", price_cents=99, stock=6, category=category.json())

@check("PUT /products/{id} without stock puts it back to 0")
def _():
    path, before = new_product(stock="5")
    sku = before.json()["sku"]
    changed(path, before, send("PUT", path, product(sku='"%s"' % sku, stock=None)), stock=0)

@cases("PATCH /products/{{id}} with {0} alone changes nothing else", ("sku", "<SKU>"), ("name", "caf\u00e9"),
       ("price_cents", 0), ("price_cents", 10 ** 12), ("stock", 0), ("stock", 10 ** 9))
def _(member, value):
    path, before = new_product()
    value = fill(value) if member == "sku" else value
    body = '{"%s": %s}' % (member, value if isinstance(value, int) else '"%s"' % value)
    changed(path, before, send("PATCH", path, body), **{member: value})

@check("PATCH /products/{id} with category_id alone moves it to that category, with its name")
def _():
    path, before = new_product()
    category = new_category()[1].json()
    changed(path, before, send("PATCH", path, '{"category_id": %d}' % category["id"]), category=category)

@check("PATCH /products/{id} with two members changes both")
def _():
    path, before = new_product()
    changed(path, before, send("PATCH", path, '{"stock": 9, "name": "Both"}'), stock=9, name="Both")

@functools.cache
def aged():
    """A product for each of these changes, made in an earlier second of the service's clock than the present one."""
    rows = {change: new_product() for change in ("PATCH {}", "PUT", "PATCH")}
    while new_product()[1].json()["created_at"] == rows["PATCH"][1].json()["created_at"]:
        time.sleep(0.05)
    return rows

@check("PATCH /products/{id} with {} answers 200 and changes nothing, not even later")
def _():
    path, before = aged()["PATCH {}"]
    answer = send("PATCH", path, "{}")
    same("the product", json_of(answer), before.json())
    same("ETag", answer.get("ETag"), before.get("ETag"))
    unchanged(path, before)

@check("PATCH /products/{id} with stock null puts it back to 0")
def _():
    path, before = new_product(stock="5")
    changed(path, before, send("PATCH", path, '{"stock": null}'), stock=0)

@cases("PATCH /products/{{id}} with {0} null answers 422 at it", ("sku",), ("name",), ("price_cents",),
       ("category_id",))
def _(member):
    path, before = new_product()
    problem(send("PATCH", path, '{"%s": null}' % member), 422, pointers=["/" + member])
    unchanged(path, before)

@cases("{0} /products/{{id}} sets updated_at to now, and leaves created_at", *BOTH)
def _(method, body):
    path, before = aged()[method]
    value = json_of(send(method, path, body))
    same("created_at", value["created_at"], before.json()["created_at"])
    holds("a later updated_at", value["updated_at"] > before.json()["updated_at"], value["updated_at"])

@check("every change gives an ETag that the product has not had, however soon")
def _():
    path, before = new_product()
    tags = [before.get("ETag")]
    for number in range(5):
        tags.append(status(send("PATCH", path, '{"stock": %d}' % (100 + number)), 200).get("ETag"))
        tags.append(status(send("PUT", path, product(stock=str(200 + number))), 200).get("ETag"))
    same("different ones", len(set(tags)), len(tags))

@cases("{0} of a missing product answers 404, and creates none", *BOTH)
def _(method, body):
    path, _ = new_product()
    status(send("DELETE", path), 204)
    problem(send(method, path, body), 404)
    problem(send("GET", path), 404)

@cases("{0} /products/{{id}} with a sku that another has answers 409, and changes nothing",
       ("PUT", product(sku='"<TAKEN>"')), ("PATCH", '{"sku": "<TAKEN>"}'),
       ("PATCH", '{"name": "Lost", "sku": "<TAKEN>"}'))
def _(method, body):
    path, before = new_product()
    problem(send(method, path, body), 409)
    unchanged(path, before)

@cases("{0} /products/{{id}} with the sku it has answers 200",
       ("PUT", product(sku='"<OWN>"', name='"New"', price_cents="3")), ("PATCH", '{"sku": "<OWN>", "name": "New"}'))
def _(method, body):
    path, before = new_product()
    value = json_of(send(method, path, body.replace("<OWN>", before.json()["sku"])))
    same("sku and name", (value["sku"], value["name"]), (before.json()["sku"], "New"))

@cases("the sku that {0} took from a product is free, and the one it gave is taken", ("PUT",), ("PATCH",))
def _(method):
    path, before = new_product()
    new = World.sku()
    json_of(send(method, path, product(sku='"%s"' % new)))
    new_product(sku='"%s"' % before.json()["sku"])
    problem(send("POST", "/products", product(sku='"%s"' % new)), 409)

@cases("PUT /products/{{id}} without {0} answers 422 at it", ("sku",), ("name",), ("price_cents",), ("category_id",))
def _(member):
    path, before = new_product()
    problem(send("PUT", path, product(**{member: None})), 422, pointers=["/" + member])
    unchanged(path, before)

WRONG = [("sku", '""'), ("sku", '"<SKU65>"'), ("sku", '"a b"'), ("sku", "1"), ("name", '""'), ("name", '" "'),
         ("name", "1"),
         ("name", '"%s"' % ("a" * 201)), ("price_cents", "-1"), ("price_cents", "1.0"), ("price_cents", '"1"'),
         ("price_cents", "1000000000001"), ("stock", "-1"), ("stock", "1e2"), ("stock", "true"),
         ("stock", "1000000001"),
         ("category_id", "0"), ("category_id", "9000000000000000"), ("category_id", "1.0"), ("category_id", "[]"),
         ("colour", "1"), ("id", "1"), ("created_at", '"2026-11-30T22:00:00Z"'), ("updated_at", "1"),
         ("category", '{"id": 1}'), ("Name", '"n"')]

@cases("{0} /products/{{id}} with {1} {2:.30} answers 422 at /{1}, and changes nothing",
       *[("PUT", member, value) for member, value in WRONG], ("PUT", "stock", "null"),
       *[("PATCH", member, value) for member, value in WRONG], ("PATCH", "colour", "null"))
def _(method, member, value):
    path, before = new_product()
    body = product(**{member: value}) if method == "PUT" else '{"%s": %s}' % (member, value)
    problem(send(method, path, body), 422, pointers=["/" + member])
    unchanged(path, before)

@cases("{0} /products/{{id}} tells every error at once, {1}",
       ("PUT", "of an empty object", "{}", ["/sku", "/name", "/price_cents", "/category_id"]),
       ("PUT", "of wrong members", product(sku="1", name="null", stock="[]", colour="1", category_id="9000000000000000"),
        ["/sku", "/name", "/stock", "/colour", "/category_id"]),
       ("PATCH", "of wrong members", '{"sku": "", "name": null, "stock": -1, "a/b": 1, "category_id": 9000000000000000}',
        ["/sku", "/name", "/stock", "/a~1b", "/category_id"]),
       ("PATCH", "beside a good one", '{"stock": 3, "price_cents": -1, "name": " "}', ["/price_cents", "/name"]))
def _(method, _, body, pointers):
    path, before = new_product()
    problem(send(method, path, body), 422, pointers=pointers)
    unchanged(path, before)

@cases("{0} /products/{{id}} with {1} answers 422 at the whole document",
       *[(method, body) for method in ("PUT", "PATCH")
       for body in ("null", "1", '"x"', "true", "[]", '[{"stock": 1}]')])
def _(method, body):
    problem(send(method, "/products/<ID>", body), 422, pointers=[""])

@cases("{0} /products/{{id}} with {1} answers 400, and changes nothing",
       *[(method, kind, body) for method in ("PUT", "PATCH")
       for kind, body in (("no text", b""), ("half a text", '{"stock": 1'), ("a byte after it", '{"stock": 1}x'),
                          ("a member twice", '{"stock": 1, "stock": 2}'),
                          ("\\u0000 in a string", '{"name": "a\\u0000"}'),
                          ("invalid UTF-8", b'{"name": "\xff"}'), ("a byte order mark", '\ufeff{"stock": 1}'))])
def _(method, _, body):
    path, before = new_product()
    problem(send(method, path, body), 400)
    unchanged(path, before)

@cases("PATCH /products/{{id}} as {0} answers 200", ("application/merge-patch+json",), ("application/json",),
       ("application/merge-patch+json; charset=utf-8",), ("application/json;charset=UTF-8",),
       ("Application/Merge-Patch+JSON",))
def _(media_type):
    path, before = new_product()
    answer = send("PATCH", path, '{"stock": 31}', {"Content-Type": media_type})
    changed(path, before, answer, stock=31)

@cases("{0} /products/{{id}} as {1} answers 415, and changes nothing", ("PUT", "text/plain"), ("PUT", None),
       ("PUT", "application/merge-patch+json"), ("PATCH", "text/plain"), ("PATCH", None), ("PATCH", ""),
       ("PATCH", "application/json-patch+json"), ("PATCH", "application/merge-patch"), ("PATCH", "merge-patch+json"),
       ("PATCH", "application/x-www-form-urlencoded"))
def _(method, media_type):
    path, before = new_product()
    body = product() if method == "PUT" else '{"stock": 31}'
    problem(send(method, path, body, {"Content-Type": media_type}), 415)
    unchanged(path, before)

@cases("{0} /products/{{id}} with a body of over 1 MiB answers 413, and changes nothing", *BOTH)
def _(method, body):
    path, before = new_product()
    problem(raw(wire(method, path, fill(body) + " " * MIB), method), 413)
    unchanged(path, before)

@cases("a {0} cut off is not acted on", *BOTH)
def _(method, body):
    path, before = new_product()
    body = fill(body).encode()
    with Connection() as connection:
        connection.write(wire(method, path, body, {"Content-Length": len(body) + 1}))
        connection.end_writing()
        try:
            problem(connection.read(method), 400, 408)
        except Closed:
            pass  # no answer is as good as a refusal
    time.sleep(0.15)  # a service that acts on it would have by now
    unchanged(path, before)


section("Changing a product under a condition")

@cases("PUT /products/{{id}} with If-Match of {0} answers {2}", *if_match_rows(200))
def _(_, value, code):
    check_if_match(new_product(), "PUT", product(name='"Matched"'), value, code)

@cases("PATCH /products/{{id}} with If-Match of {0} answers {2}", *if_match_rows(200))
def _(_, value, code):
    check_if_match(new_product(), "PATCH", '{"name": "Matched"}', value, code)

@cases("{0} /products/{{id}} with an If-Match that has gone stale answers 412, and with the new ETag 200", *BOTH)
def _(method, body):
    path, before = new_product()
    now = status(send("PATCH", path, '{"stock": 55}'), 200)
    problem(send(method, path, body, {"If-Match": before.get("ETag")}), 412)
    unchanged(path, now)
    status(send(method, path, body, {"If-Match": now.get("ETag")}), 200)

@check("DELETE /products/{id} with an If-Match that has gone stale answers 412, and with the new ETag 204")
def _():
    path, before = new_product()
    now = status(send("PATCH", path, '{"stock": 55}'), 200)
    problem(send("DELETE", path, None, {"If-Match": before.get("ETag")}), 412)
    unchanged(path, now)
    status(send("DELETE", path, None, {"If-Match": now.get("ETag")}), 204)

@cases("the ETag that {0} answered is the one for the next If-Match", *BOTH)
def _(method, body):
    path, before = new_product()
    first = status(send(method, path, body, {"If-Match": before.get("ETag")}), 200)
    status(send("PATCH", path, '{"stock": 41}', {"If-Match": first.get("ETag")}), 200)

@cases("{0} /products/{{id}} with an If-Match that is no ETag changes nothing", *BOTH)
def _(method, body):
    path, before = new_product()
    problem(send(method, path, body, {"If-Match": before.get("ETag").strip('"')}), 400, 412)
    unchanged(path, before)

@cases("{0} of a missing product with If-Match: {2} answers 404",
       *[(method, body, value) for method, body in BOTH for value in ('"a"', "*", "<TAG>")])
def _(method, body, value):
    problem(send(method, "/products/%d" % MAX_ID, body, {"If-Match": value}), 404)

@check("GET /products/{id} with If-None-Match of the ETag before a change answers 200 with the change")
def _():
    path, before = new_product()
    json_of(send("PATCH", path, '{"stock": 61}'))
    same("the stock", json_of(send("GET", path, None, {"If-None-Match": before.get("ETag")}))["stock"], 61)

@cases("{0} with If-None-Match {1} answers 412 and changes nothing", *[
    (method, name, value) for method in ("PUT", "PATCH", "DELETE") for name, value in (("*", "*"), ("of its ETag", None))])
def _(method, _, value):
    path, before = new_product()
    headers = {"If-None-Match": value or before.get("ETag"), "Content-Type": "application/json"}
    problem(send(method, path, None if method == "DELETE" else product(), headers), 412)
    same("the product", json_of(send("GET", path)), before.json())
