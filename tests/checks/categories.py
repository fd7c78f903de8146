"""Categories: the list and its pages, one of them."""
from urllib.parse import parse_qsl, urlsplit

from checks.tools import (World, cases, check, check_none_match, holds, is_strong_tag, json_of, same, section, status,
                          walk)
from checks.wire import Site, send

section("Categories")

def pages(limit):
    return walk("/categories?limit=%d" % limit)

@check("GET /categories answers items and next, and of each item id and name")
def _():
    value = json_of(send("GET", "/categories"))
    same("members", set(value), {"items", "next"})
    holds("some items", value["items"], value)
    for item in value["items"]:
        same("members of an item", set(item), {"id", "name"})
        holds("an id and a name", type(item["id"]) is int and item["id"] > 0 and isinstance(item["name"], str), item)

@check("GET /categories answers 20 at most unless told otherwise")
def _():
    all_items = json_of(send("GET", "/categories?limit=100"))["items"]
    same("the items", json_of(send("GET", "/categories"))["items"], all_items[:20])

@check("GET /categories answers by id, ascending, none twice")
def _():
    ids = [item["id"] for item in json_of(send("GET", "/categories?limit=100"))["items"]]
    same("the ids", ids, sorted(set(ids)))

@cases("GET /categories?limit={0} answers {0} items where there are as many", (1,), (2,), (20,))
def _(limit):
    all_items = json_of(send("GET", "/categories?limit=100"))["items"]
    same("the items", json_of(send("GET", "/categories?limit=%d" % limit))["items"], all_items[:limit])

@cases("GET /categories in pages of {}: the links lead to every one, once, and end", (3,), (7,), (100,))
def _(limit):
    found = pages(limit)
    ids = [item["id"] for page in found for item in page]
    same("the ids in order", ids, sorted(set(ids)))
    same("those that other pages have", ids, [item["id"] for page in pages(19) for item in page])
    same("pages but the last that are not full", [len(page) for page in found[:-1] if len(page) != limit], [])

@check("GET /categories answers next as an absolute path with after and limit, and the same as a Link")
def _():
    total = len(json_of(send("GET", "/categories?limit=2"))["items"])
    answer = send("GET", "/categories?limit=1")
    value = json_of(answer)
    if total == 1:  # a deployment with one category has no second page to link to
        same("next and Link", (value["next"], answer.get("Link")), (None, None))
        return
    target = urlsplit(value["next"])
    same("the path", (target.scheme, target.netloc, target.path), ("", "", Site.prefix + "/categories"))
    same("the query", sorted(parse_qsl(target.query)), [("after", str(value["items"][-1]["id"])), ("limit", "1")])
    same("Link", answer.get("Link"), '<%s>; rel="next"' % value["next"])

@check("GET /categories after the last id answers no items, next null and no Link")
def _():
    answer = send("GET", "/categories?after=%d" % pages(100)[-1][-1]["id"])
    same("the value", json_of(answer), {"items": [], "next": None})
    same("Link", answer.get("Link"), None)

@check("GET /categories?after=N starts behind N, whether or not N is there")
def _():
    items = json_of(send("GET", "/categories?limit=100"))["items"]
    same("after the first", json_of(send("GET", "/categories?limit=100&after=%d" % items[0]["id"]))["items"][:99], items[1:])
    same("before the first", json_of(send("GET", "/categories?limit=100&after=%d" % (items[0]["id"] - 1)))["items"], items)

@check("GET /categories/{id} answers id and name, with a strong ETag")
def _():
    answer = send("GET", "/categories/<CAT>")
    same("the value", json_of(answer), World.category())
    holds("a strong ETag", is_strong_tag(answer.get("ETag")), answer.get("ETag"))

@cases("GET /categories/{{id}} with If-None-Match of {0} answers {2}", ("the ETag", "<T>", 304), ("*", "*", 304),
       ("the weak form of it", "W/<T>", 304), ("a list that has it", '"a", <T>', 304), ("another", '"another"', 200),
       ("a product's ETag", "<TAG>", 200))
def _(_, value, code):
    tag = status(send("GET", "/categories/<CAT>"), 200).get("ETag")
    check_none_match("/categories/<CAT>", value.replace("<T>", tag), code)
