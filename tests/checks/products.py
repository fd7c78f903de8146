"""Products: creating, reading, deleting one; ETags."""
import datetime
import re
import time

from checks.tools import (MAX_ID, World, cases, check, check_if_match, check_none_match, created, holds, if_match_rows,
                          json_of, new_product, post, problem, product, same, section, status)
from checks.wire import Site, send

section("Products")

@check("POST /products answers 201 with the product's members as they were sent")
def _():
    sku = World.sku()
    value = created(post(product(sku='"%s"' % sku, name='"Tea"', price_cents="250", stock="7"))).json()
    same("members", (value["sku"], value["name"], value["price_cents"], value["stock"]), (sku, "Tea", 250, 7))
    same("integers", [type(value[key]) for key in ("id", "price_cents", "stock")], [int] * 3)
    holds("a positive id", 0 < value["id"] <= MAX_ID, value["id"])

@check("POST /products answers the category nested, with its name")
def _():
    _, answer = new_product()
    same("category", answer.json()["category"], World.category())

@check("POST /products answers created_at and updated_at as one RFC 3339 second in UTC, now")
def _():
    _, answer = new_product()
    value = answer.json()
    same("updated_at", value["updated_at"], value["created_at"])
    holds("the format", re.match(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$", value["created_at"]), value["created_at"])
    made = datetime.datetime.strptime(value["created_at"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=datetime.timezone.utc)
    holds("now, give or take ten minutes", abs(time.time() - made.timestamp()) < 600, value["created_at"])

@check("POST /products answers Location, which leads to the product")
def _():
    _, answer = new_product()
    location = answer.get("Location")
    same("Location", location, "%s/products/%d" % (Site.prefix, answer.json()["id"]))
    same("the product there", json_of(send("GET", location[len(Site.prefix):])), answer.json())

@check("GET after POST answers the identical body and ETag")
def _():
    path, answer = new_product()
    again = status(send("GET", path), 200)
    same("the body", again.body, answer.body)
    same("ETag", again.get("ETag"), answer.get("ETag"))

@check("GET /products/{id} answers the same body and ETag each time")
def _():
    first, second = [status(send("GET", "/products/<ID>"), 200) for _ in range(2)]
    same("the body", second.body, first.body)
    same("ETag", second.get("ETag"), first.get("ETag"))

@check("two products have different ETags")
def _():
    tags = [new_product()[1].get("ETag") for _ in range(2)]
    holds("different", tags[0] != tags[1], tags)

@check("POST /products with a sku that is taken answers 409, and the first product stays as it was")
def _():
    sku = '"%s"' % World.sku()
    path, answer = new_product(sku=sku, name='"First"')
    problem(post(product(sku=sku, name='"Second"')), 409)
    same("the product", send("GET", path).json(), answer.json())

@check("the sku of a deleted product is free again")
def _():
    sku = '"%s"' % World.sku()
    path, _ = new_product(sku=sku)
    status(send("DELETE", path), 204)
    new_product(sku=sku)

@check("ids increase")
def _():
    ids = [new_product()[1].json()["id"] for _ in range(3)]
    same("the order", ids, sorted(set(ids)))

@check("the id of a deleted product is not used again")
def _():
    path, first = new_product()
    status(send("DELETE", path), 204)
    _, second = new_product()
    holds("a larger id", second.json()["id"] > first.json()["id"], (first.json()["id"], second.json()["id"]))

NONE_MATCH = [
    ("the ETag", "<TAG>", 304), ("*", "*", 304), ("the weak form of it", "W/<TAG>", 304),
    ("a list that has it", '"a", <TAG>, "b"', 304), ("a list without spaces that has it", '"a",W/<TAG>', 304),
    ("a list with a comma in a tag before it", '"a,b", <TAG>', 304), ("a list with empty elements", ", ,<TAG>", 304),
    ("another", '"another"', 200), ("a list of others", '"a", W/"b"', 200), ("its beginning", '"<TAG\'s inside>x"', 200),
    ("it without quotes", "<TAG's inside>", 200), ("it without the last quote", '"<TAG\'s inside>', 200),
    ("nothing", "", 200)]

@cases("GET /products/{{id}} with If-None-Match of {0} answers {2}", *NONE_MATCH)
def _(_, value, code):
    check_none_match("/products/<ID>", value, code)

@check("HEAD /products/{id} with If-None-Match of the ETag answers 304")
def _():
    check_none_match("/products/<ID>", "<TAG>", 304, "HEAD")

@check("GET of a missing product with If-None-Match: * answers 404")
def _():
    problem(send("GET", "/products/%d" % MAX_ID, None, {"If-None-Match": "*"}), 404)

@check("DELETE /products/{id} answers 204 without a body, then GET and DELETE answer 404")
def _():
    path, _ = new_product()
    answer = status(send("DELETE", path), 204)
    same("headers of a body", (answer.get("Content-Type"), answer.get("Content-Length")), (None, None))
    problem(send("GET", path), 404)
    problem(send("DELETE", path), 404)

@cases("DELETE /products/{{id}} with If-Match of {0} answers {2}", *if_match_rows(204))
def _(_, value, code):
    check_if_match(new_product(), "DELETE", None, value, code)

@check("DELETE /products/{id} with an If-Match that is no ETag deletes nothing")
def _():
    path, answer = new_product()
    problem(send("DELETE", path, None, {"If-Match": answer.get("ETag").strip('"')}), 400, 412)
    status(send("GET", path), 200)

@cases("DELETE of a missing product with If-Match: {0} answers 404", ('"a"',), ("*",))
def _(value):
    problem(send("DELETE", "/products/%d" % MAX_ID, None, {"If-Match": value}), 404)
