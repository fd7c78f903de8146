"""POST /products with an array: many products created at once, or none."""
import time

from checks.tools import (PRODUCT_KEYS, World, cases, check, created, holds, json_of, new_category, new_product, post,
                          problem, product, same, section, status, walk)
from checks.wire import CHUNKED, chunked, fill, send

section("Products in an array")

def array(*elements):
    """The text of an array; marks are filled in here, so that every product has a sku of its own."""
    return "[%s]" % ", ".join(fill(element) for element in elements)

def created_together(answer):
    """Holds an answer to be a complete 201 for an array; its items."""
    value = json_of(answer, 201)
    same("members", set(value), {"items"})
    for item in value["items"]:
        same("the product's members", set(item), PRODUCT_KEYS)
    ids = [item["id"] for item in value["items"]]
    same("the ids, ascending", ids, sorted(set(ids)))
    return value["items"]

def creates_nothing(body, skus, *codes, **expected):
    """Holds an array to be refused, and its good skus to be free afterwards."""
    answer = problem(post(body), *codes, **expected)
    for sku in skus:
        created(post(product(sku='"%s"' % sku)))
    return answer

@cases("POST /products with an array of {} answers 201 with as many items, in order", (1,), (2,), (20,))
def _(count):
    skus = [World.sku() for _ in range(count)]
    items = created_together(post(array(*[product(sku='"%s"' % sku, name='"No. %d"' % number, price_cents=str(number),
                                                   stock=str(count - number))
                                          for number, sku in enumerate(skus)])))
    same("the products", [(item["sku"], item["name"], item["price_cents"], item["stock"]) for item in items],
         [(sku, "No. %d" % number, number, count - number) for number, sku in enumerate(skus)])

@check("the items of an array are the products that GET /products/{id} answers")
def _():
    for item in created_together(post(array(product(), product(stock=None), product(name='"caf\\u00e9"')))):
        answer = send("GET", "/products/%d" % item["id"])
        same("the product", json_of(answer), item)
        holds("an ETag", answer.get("ETag"), answer.headers)

@check("products of an array have a category with its name, a stock of 0 unless told, and one time of creation")
def _():
    first, second = created_together(post(array(product(stock=None), product(stock="4"))))
    same("category", first["category"], World.category())
    same("the stocks", (first["stock"], second["stock"]), (0, 4))
    times = {item[key] for item in (first, second) for key in ("created_at", "updated_at")}
    same("the times", times, {first["created_at"]})

@check("the ids of an array's products follow those that were there, and come before those that follow")
def _():
    before = new_product()[1].json()["id"]
    ids = [item["id"] for item in created_together(post(array(product(), product())))]
    after = new_product()[1].json()["id"]
    holds("the order", before < ids[0] < ids[1] < after, (before, ids, after))

@check("POST /products with an array of 1000 answers 201 within five seconds, and each is there")
def _():
    category = new_category()[1].json()["id"]
    elements = array(*[product(name='"Number %d of a thousand"' % number, category_id=str(category))
                       for number in range(1000)])
    start = time.monotonic()
    items = created_together(post(elements))
    seconds = time.monotonic() - start
    same("how many", len(items), 1000)
    holds("within five seconds", seconds < 5, "%.1f s" % seconds)
    same("the names", [item["name"] for item in items], ["Number %d of a thousand" % number for number in range(1000)])
    same("the pages of the list", walk("/products?limit=100&category_id=%d" % category),
         [items[start:start + 100] for start in range(0, 1000, 100)])

@check("POST /products with an array in chunks answers 201")
def _():
    body = array(product(), product()).encode()
    same("how many", len(created_together(send("POST", "/products", chunked(body, 50), CHUNKED))), 2)

@cases("POST /products with an array of {0} answers 422 at the whole document, and creates nothing", (0,), (1001,),
       (1500,))
def _(count):
    skus = [World.sku() for _ in range(count)]
    body = "[%s]" % ", ".join(fill(product(sku='"%s"' % sku)) for sku in skus)
    creates_nothing(body, skus[:1] + skus[-1:] if skus else [], 422, pointers=[""])

@check("1001 elements that are no products answer 422 at the whole document")
def _():
    problem(post("[%s]" % ", ".join(["1"] * 1001)), 422, pointers=[""])

BAD_SKU, BAD_PRICE = product(sku='"a b"'), product(price_cents="-1")

@cases("an array with {0} answers 422, tells each error and creates nothing",
       ("a bad sku in the first place", [BAD_SKU, "<GOOD>"], ["/0/sku"]),
       ("a bad sku in the last place", ["<GOOD>", "<GOOD>", "<GOOD>", BAD_SKU], ["/3/sku"]),
       ("errors in two elements", ["<GOOD>", BAD_SKU, "<GOOD>", BAD_PRICE], ["/1/sku", "/3/price_cents"]),
       ("errors in every element", [BAD_SKU, BAD_PRICE, BAD_SKU], ["/0/sku", "/1/price_cents", "/2/sku"]),
       ("an empty object", ["<GOOD>", "{}"], ["/1/sku", "/1/name", "/1/price_cents", "/1/category_id"]),
       ("an unknown member", [product(colour="1"), "<GOOD>"], ["/0/colour"]),
       ("an unknown member with a slash and a tilde", ["<GOOD>", product(**{"a/b~": "1"})], ["/1/a~1b~0"]),
       ("an id", ["<GOOD>", product(id="1")], ["/1/id"]),
       ("an unknown category", ["<GOOD>", product(category_id="9000000000000000")], ["/1/category_id"]),
       ("unknown categories and a bad sku", [product(category_id="9000000000000000"), BAD_SKU, "<GOOD>",
                                             product(category_id="9000000000000001")],
        ["/0/category_id", "/1/sku", "/3/category_id"]),
       ("ten elements before a bad one", ["<GOOD>"] * 10 + [BAD_PRICE], ["/10/price_cents"]),
       ("a number among products", ["<GOOD>", "<GOOD>", "1"], ["/2"]), ("a string among products", ['"x"', "<GOOD>"],
       ["/0"]),
       ("null among products", ["<GOOD>", "null"], ["/1"]), ("true among products", ["true", "<GOOD>"], ["/0"]),
       ("an array among products", ["<GOOD>", "[]"], ["/1"]),
       ("a product in an array of its own", ["<GOOD>", "[%s]" % product()], ["/1"]),
       ("no products at all", ["1", "null", '"x"'], ["/0", "/1", "/2"]),
       ("a number and a bad sku", ["1", "<GOOD>", BAD_SKU], ["/0", "/2/sku"]))
def _(_, elements, pointers):
    skus, filled = [], []
    for element in elements:
        if element == "<GOOD>":
            skus.append(World.sku())
            element = product(sku='"%s"' % skus[-1])
        filled.append(element)
    creates_nothing(array(*filled), skus, 422, pointers=pointers)

@check("the last of 1000 being wrong answers 422 at it, and creates none")
def _():
    skus = [World.sku() for _ in range(999)]
    body = array(*[product(sku='"%s"' % sku) for sku in skus], BAD_PRICE)
    creates_nothing(body, skus[:1] + skus[-1:], 422, pointers=["/999/price_cents"])

def told_twice(answer, first, second):
    """Two elements that exclude each other: the later is to be told, the earlier may be."""
    pointers = {error["pointer"] for error in answer.json()["errors"]}
    holds("%s is told, and nothing else but %s" % (second, first), {second} <= pointers <= {first, second}, pointers)

@check("a sku twice in an array answers 409 at the second, and creates nothing")
def _():
    one, two = World.sku(), World.sku()
    body = array(*[product(sku='"%s"' % sku) for sku in (one, two, one)])
    told_twice(problem(post(body), 409), "/0/sku", "/2/sku")
    for sku in (one, two):
        created(post(product(sku='"%s"' % sku)))

@cases("skus that are taken, at {0} of an array, answer 409 at each, and create nothing",
       ([0], 2), ([1], 2), ([3], 5), ([0, 2], 3))
def _(places, count):
    taken = [new_product() for _ in places]
    skus = [World.sku() for _ in range(count)]
    for place, (_, answer) in zip(places, taken):
        skus[place] = answer.json()["sku"]
    creates_nothing(array(*[product(sku='"%s"' % sku, name='"Second"') for sku in skus]),
                    [sku for place, sku in enumerate(skus) if place not in places],
                    409, pointers=["/%d/sku" % place for place in places])
    for path, answer in taken:
        same("the first product", json_of(send("GET", path)), answer.json())

@check("an array with a wrong price and a sku that is taken answers 422 or 409, and creates nothing")
def _():
    sku = World.sku()
    body = array(product(sku='"%s"' % sku), product(sku='"<TAKEN>"'), BAD_PRICE)
    creates_nothing(body, [sku], 409, 422)

@cases("an array that is {0} answers 400, and creates nothing", ("cut off", lambda body: body[:-1]),
       ("followed by a byte", lambda body: body + "x"), ("ended by a comma", lambda body: body[:-1] + ",]"),
       ("of an object with a member twice", lambda body: body[:-2] + ', "stock": 1}]'))
def _(_, spoil):
    sku = World.sku()
    creates_nothing(spoil(array(product(sku='"%s"' % sku))), [sku], 400)

@check("an array of the wrong media type answers 415, and creates nothing")
def _():
    sku = World.sku()
    problem(post(array(product(sku='"%s"' % sku)), Content_Type="text/plain"), 415)
    created(post(product(sku='"%s"' % sku)))

@check("an array nested to 16 levels is read, and to 17 answers 400")
def _():
    problem(post(array(product(extra="[" * 14 + "]" * 14))), 422, pointers=["/0/extra"])
    problem(post(array(product(extra="[" * 15 + "]" * 15))), 400)

@check("each product of an array can be changed and deleted like any other")
def _():
    first, second = created_together(post(array(product(), product())))
    changed = json_of(send("PATCH", "/products/%d" % first["id"], '{"stock": 8}'))
    same("the stock", changed["stock"], 8)
    status(send("DELETE", "/products/%d" % first["id"]), 204)
    same("the other", json_of(send("GET", "/products/%d" % second["id"])), second)

@check("an array with an error in each member of 1,000 elements answers 422 with all of them")
def _():
    answer = post("[%s]" % ", ".join(['{"sku": "", "name": "", "price_cents": -1, "stock": -1, "category_id": 0}'] * 1000))
    problem(answer, 422, pointers=["/%d/%s" % (index, member) for index in range(1000)
                                   for member in ("sku", "name", "price_cents", "stock", "category_id")])

@cases("an array of {0} values answers 400", (20_001,), (300_000,))
def _(count):
    problem(post("[%s]" % ",".join(["0"] * count)), 400)
