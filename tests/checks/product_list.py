"""GET /products: its pages, its filters, its items, its ETag. What q finds is in search.py."""
import functools
import re
from urllib.parse import parse_qsl, quote, urlsplit

from checks.tools import (MAX_ID, PRODUCT_KEYS, cases, check, check_none_match, holds, inside, is_strong_tag, json_of,
                          new_category, new_product, problem, same, section, status, walk)
from checks.wire import MARKS, Site, fill, send

section("The list of products")

SHELF_SIZE = 25
SHELF_NAME = "Caf\u00e9 & Cr\u00e8me 100%"

@functools.cache
def shelf():
    """A category's id and its products, as POST answered them; every check may read them, none may change them."""
    _, answer = new_category()
    category = answer.json()["id"]
    names = ['"%s %d"' % (SHELF_NAME, number) for number in range(SHELF_SIZE)]
    return category, [new_product(name=name, category_id=str(category))[1].json() for name in names]

MARKS.update({
    "<SHELF>": lambda: shelf()[0],
    "<BEFORE>": lambda: shelf()[1][0]["id"] - 1,
    "<FIFTH>": lambda: shelf()[1][4]["id"],
    "<LAST>": lambda: shelf()[1][-1]["id"],
})

def listed(query):
    return json_of(send("GET", "/products?" + query))

def ids(items):
    return [item["id"] for item in items]

@check("GET /products answers items and next, and each item is a whole product")
def _():
    shelf()
    value = json_of(send("GET", "/products"))
    same("members", set(value), {"items", "next"})
    holds("some items", value["items"], value)
    for item in value["items"]:
        same("members of an item", set(item), PRODUCT_KEYS)
        same("members of its category", set(item["category"]), {"id", "name"})

@check("GET /products answers 20 at most unless told otherwise")
def _():
    shelf()
    same("the items", json_of(send("GET", "/products"))["items"], listed("limit=100")["items"][:20])
    same("how many of 25", len(listed("category_id=<SHELF>")["items"]), 20)

@check("GET /products answers by id, ascending, none twice")
def _():
    found = ids(listed("limit=100&after=<BEFORE>")["items"])
    same("the ids", found, sorted(set(found)))

@check("the items of GET /products are the same as GET /products/{id}")
def _():
    for item in listed("category_id=<SHELF>&limit=100")["items"]:
        same("the item", item, json_of(send("GET", "/products/%d" % item["id"])))

@cases("GET /products?limit={0} answers {0} items where there are as many", (1,), (2,), (24,), (25,))
def _(limit):
    same("the items", listed("category_id=<SHELF>&limit=%d" % limit)["items"], shelf()[1][:limit])

@cases("25 products in pages of {}: the links lead to every one, once, in order, and end",
       (1,), (5,), (7,), (24,), (25,), (26,), (100,))
def _(limit):
    found = walk(fill("/products?category_id=<SHELF>&limit=%d" % limit))
    same("the items", [item for page in found for item in page], shelf()[1])
    same("the pages' lengths", [len(page) for page in found],
         [limit] * (SHELF_SIZE // limit) + [SHELF_SIZE % limit] * (SHELF_SIZE % limit > 0))

@cases("the products behind one, in pages of {}, are all led to, once", (10,), (19,), (100,))
def _(limit):
    found = ids(item for page in walk(fill("/products?after=<BEFORE>&limit=%d" % limit)) for item in page)
    same("the ids", found, sorted(set(found)))
    same("those of the shelf", set(ids(shelf()[1])) - set(found), set())

WORDS = quote("crème  100% & café", safe="")
FILTERED = ["limit=5", "category_id=<SHELF>", "category_id=<SHELF>&limit=5", "limit=5&after=<FIFTH>&category_id=<SHELF>",
            "limit=5&q=%s" % WORDS, "q=%s" % WORDS, "limit=5&category_id=<SHELF>&q=%s" % WORDS,
            "q=%%22caf%%C3%%A9%%22+%s&category_id=<SHELF>&limit=5&after=<FIFTH>" % quote("100%=?#+&/<>*", safe="")]

@cases("next of GET /products?{} carries every filter, behind the last item", *[(query,) for query in FILTERED])
def _(query):
    asked = dict(parse_qsl(fill(query)))
    shelf()
    answer = send("GET", "/products?" + query)
    value = json_of(answer)
    holds("a next", isinstance(value["next"], str), value["next"])
    same("the length of the page", len(value["items"]), int(asked.get("limit", 20)))
    target = urlsplit(value["next"])
    same("the path", (target.scheme, target.netloc, target.path), ("", "", Site.prefix + "/products"))
    holds("characters of a URI alone", re.fullmatch(r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/?]|%[0-9A-Fa-f]{2})+", value["next"]),
          value["next"])
    wanted = {"limit": "20", **asked, "after": str(value["items"][-1]["id"])}
    same("the query", sorted(parse_qsl(target.query)), sorted(wanted.items()))
    same("Link", answer.get("Link"), '<%s>; rel="next"' % value["next"])
    status(send("GET", inside(value["next"])), 200)

@cases("GET /products?{} leads to each product of the shelf once, through its pages",
       ("category_id=<SHELF>&limit=4&q=%s" % WORDS,), ("q=%s&category_id=<SHELF>&limit=25" % WORDS,))
def _(query):
    shelf()
    same("the ids", ids(item for page in walk("/products?" + fill(query)) for item in page), ids(shelf()[1]))

@cases("GET /products?{} answers no items, next null and no Link",
       ("category_id=<SHELF>&after=<LAST>",), ("after=%d" % MAX_ID,), ("category_id=%d" % MAX_ID,),
       ("category_id=9000000000000000",), ("category_id=<SHELF>&q=nosuchwordatall",), ("q=nosuchwordatall",),
       ("category_id=9000000000000000&q=caf%C3%A9",))
def _(query):
    answer = send("GET", "/products?" + query)
    same("the value", json_of(answer), {"items": [], "next": None})
    same("Link", answer.get("Link"), None)

@check("GET /products?category_id=N answers the products of that category alone")
def _():
    wanted = listed("category_id=<SHELF>&limit=100")["items"]
    same("the items", wanted, shelf()[1])
    same("their categories", {item["category"]["id"] for item in wanted}, {shelf()[0]})

@check("GET /products with category_id, q, after and limit answers what fits all of them")
def _():
    other = new_product(name='"%s 7"' % SHELF_NAME)[1].json()
    found = listed("q=%s%%207&category_id=<SHELF>&after=<FIFTH>&limit=100" % WORDS)["items"]
    same("one of the shelf", found, [shelf()[1][7]])
    found = listed("q=%s%%207&after=<LAST>&limit=100" % WORDS)["items"]
    same("the one elsewhere", [item for item in found if item["id"] == other["id"]], [other])

@check("GET /products?after=N starts behind N, whether or not N is there")
def _():
    path, answer = new_category()
    category = "category_id=%d" % answer.json()["id"]
    rows = [new_product(category_id=category.split("=")[1])[1].json() for _ in range(4)]
    status(send("DELETE", "/products/%d" % rows[1]["id"]), 204)
    same("behind one", listed("%s&after=%d" % (category, rows[0]["id"]))["items"], rows[2:])
    same("behind a deleted one", listed("%s&after=%d" % (category, rows[1]["id"]))["items"], rows[2:])
    same("from the start", listed("%s&after=0" % category)["items"], [rows[0], *rows[2:]])

@check("products that come and go between two pages make no other one appear twice or be left out")
def _():
    category = new_category()[1].json()["id"]
    rows = [new_product(category_id=str(category))[1].json() for _ in range(6)]
    value = listed("category_id=%d&limit=2" % category)
    same("the first page", value["items"], rows[:2])
    for row in (rows[0], rows[1], rows[3]):
        status(send("DELETE", "/products/%d" % row["id"]), 204)
    rows.append(new_product(category_id=str(category))[1].json())
    found = [item for page in walk(inside(value["next"])) for item in page]
    same("the other pages", found, [rows[2], rows[4], rows[5], rows[6]])

@check("a product that is created, moved and deleted is in the lists of its categories at once")
def _():
    one, two = [new_category()[1].json()["id"] for _ in range(2)]
    lists = lambda: [ids(listed("category_id=%d" % category)["items"]) for category in (one, two)]
    path, answer = new_product(category_id=str(one))
    number = answer.json()["id"]
    same("created", lists(), [[number], []])
    json_of(send("PATCH", path, '{"category_id": %d}' % two))
    same("moved", lists(), [[], [number]])
    status(send("DELETE", path), 204)
    same("deleted", lists(), [[], []])

@cases("GET /products?{0} answers 400 naming category_id", *[("category_id=" + text,) for text in (
    "0", "-1", "abc", "", "1.5", "1e1", "+1", "%2B1", "1%20", "%201", "0x1", "1%00", "9223372036854775808",
    "18446744073709551617", "1,2", "null")], ("category_id",), ("category_id=1&category_id=2",),
    ("category_id=1&category_id=1",), ("category_id=1&q=a&categor%79_id=1",))
def _(query):
    problem(send("GET", "/products?" + query), 400, names="category_id")

@check("GET /products answers a strong ETag, and the same one each time")
def _():
    shelf()
    first, second = [send("GET", "/products?category_id=<SHELF>") for _ in range(2)]
    holds("a strong ETag", is_strong_tag(first.get("ETag")), first.get("ETag"))
    same("ETag", second.get("ETag"), first.get("ETag"))
    same("the body", second.body, first.body)

@cases("GET /products with If-None-Match of {0} answers {2}", ("the ETag", "<T>", 304), ("*", "*", 304),
       ("the weak form of it", "W/<T>", 304), ("a list that has it", '"a", <T>', 304), ("another", '"another"', 200),
       ("a product's ETag", "<TAG>", 200))
def _(_, value, code):
    path = "/products?category_id=<SHELF>&limit=3"
    check_none_match(path, value.replace("<T>", status(send("GET", path), 200).get("ETag")), code)

@check("the ETag of GET /products changes whenever one of its items does")
def _():
    category, answer = new_category()
    query = "/products?category_id=%d" % answer.json()["id"]
    tags = [send("GET", query).get("ETag")]

    def changed(what):
        again = status(send("GET", query, None, {"If-None-Match": tags[-1]}), 200)
        holds("another ETag, " + what, again.get("ETag") not in tags, (tags, again.get("ETag")))
        tags.append(again.get("ETag"))
    path, _ = new_product(category_id=str(answer.json()["id"]))
    changed("one created")
    json_of(send("PATCH", path, '{"stock": 77}'))
    changed("one changed")
    json_of(send("PUT", category, '{"name": "<NAME>"}'))
    changed("its category renamed")
    new_product(category_id=str(answer.json()["id"]))
    changed("another created")
    status(send("DELETE", path), 204)
    changed("one deleted")
