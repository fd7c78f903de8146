"""Requests sent at the same moment."""
from checks.tools import World, at_once, cases, check, json_of, new_category, new_product, product, same, section
from checks.wire import fill, send, wire

section("At once")

@check("of 20 POSTs of one sku at once, one answers 201 and 19 answer 409")
def _():
    same("the statuses", at_once(20, wire("POST", "/products", product())), [201] + [409] * 19)

@check("of 20 DELETEs of one product at once, one answers 204 and 19 answer 404")
def _():
    path, _ = new_product()
    same("the statuses", at_once(20, wire("DELETE", path)), [204] + [404] * 19)

@check("of 20 DELETEs at once that match its ETag, one answers 204 and 19 answer 404")
def _():
    path, answer = new_product()
    same("the statuses", at_once(20, wire("DELETE", path, None, {"If-Match": answer.get("ETag")})), [204] + [404] * 19)

@check("20 reads of one product at once all answer 200")
def _():
    same("the statuses", at_once(20, wire("GET", "/products/<ID>")), [200] * 20)

@check("of 20 POSTs of one category's name at once, one answers 201 and 19 answer 409")
def _():
    same("the statuses", at_once(20, wire("POST", "/categories", '{"name": "<NAME>"}')), [201] + [409] * 19)

@check("of 20 DELETEs of one category at once, one answers 204 and 19 answer 404")
def _():
    path, _ = new_category()
    same("the statuses", at_once(20, wire("DELETE", path)), [204] + [404] * 19)

@cases("of 20 {0}s at once that match a {1}'s ETag, one answers 200 and 19 answer 412",
       ("PATCH", "product", '{"stock": 91}'), ("PUT", "product", product(sku='"<SKU>"', name='"At once"')),
       ("PUT", "category", '{"name": "<NAME>"}'))
def _(method, kind, body):
    path, answer = new_product() if kind == "product" else new_category()
    data = wire(method, path, body, {"If-Match": answer.get("ETag")})
    same("the statuses", at_once(20, data), [200] + [412] * 19)

@cases("20 {0}s of one product at once without If-Match all answer 200, and the last word holds",
       ("PATCH", '{"stock": 92}'), ("PUT", product(stock="92")))
def _(method, body):
    path, _ = new_product()
    same("the statuses", at_once(20, wire(method, path, body)), [200] * 20)
    same("the stock", json_of(send("GET", path))["stock"], 92)

@check("of 20 POSTs of one array at once, one answers 201 and 19 answer 409, and each product is there once")
def _():
    word = World.word()
    body = "[%s]" % ", ".join(fill(product(name='"%s %d"' % (word, number))) for number in range(5))
    same("the statuses", at_once(20, wire("POST", "/products", body)), [201] + [409] * 19)
    found = json_of(send("GET", "/products?q=%s" % word))["items"]
    same("the names", [item["name"] for item in found], ["%s %d" % (word, number) for number in range(5)])
