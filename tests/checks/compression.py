"""Compression: of lists alone, since it makes an ETag weak and If-Match needs a strong one."""
import gzip

from checks.product_list import shelf
from checks.tools import (cases, check, created, holds, is_strong_tag, new_category, new_product, post, problem, product, same,
                          section, status)
from checks.wire import fill, send

section("Compression")

GZIP = {"Accept-Encoding": "gzip"}
LIST = "/products?category_id=<SHELF>&limit=25"


def varies(answer):
    holds("Vary names Accept-Encoding", "accept-encoding" in (answer.get("Vary") or "").lower(), answer.get("Vary"))


def plain(answer):
    same("Content-Encoding", answer.get("Content-Encoding"), None)
    return answer


@cases("GET {} with Accept-Encoding: gzip answers the same, compressed, with a weak ETag", ("a list", LIST),
       ("/openapi.json", "/openapi.json"))
def _(_, path):
    shelf()
    whole, packed = send("GET", path), status(send("GET", path, None, GZIP), 200)
    same("Content-Encoding", packed.get("Content-Encoding"), "gzip")
    same("what is in it", gzip.decompress(packed.body), plain(whole).body)
    holds("a third of the size at most", len(packed.body) * 3 < len(whole.body), len(packed.body))
    same("ETag", packed.get("ETag"), whole.get("ETag") and "W/" + whole.get("ETag"))
    for answer in whole, packed:
        varies(answer)

@check("GET a list with Accept-Encoding: gzip and the ETag it had answers 304, with Vary")
def _():
    packed = status(send("GET", LIST, None, GZIP), 200)
    same("Content-Encoding", packed.get("Content-Encoding"), "gzip")
    answer = status(send("GET", LIST, None, {**GZIP, "If-None-Match": packed.get("ETag")}), 304)
    varies(plain(answer))
    new_product(category_id="<SHELF>")
    status(send("GET", LIST.replace("25", "26"), None, {**GZIP, "If-None-Match": packed.get("ETag")}), 200)

@cases("GET a list is not compressed with Accept-Encoding {!r}", (None,), ("identity",), ("gzip;q=0",), ("br",))
def _(accepted):
    plain(status(send("GET", LIST, None, {"Accept-Encoding": accepted}), 200))

@check("GET /products/{id} is never compressed: the ETag it has with Accept-Encoding: gzip fits If-Match")
def _():
    category, _ = new_category("<NAME>" + "\U0001F5C3" * 60)
    path, _ = new_product(name='"%s"' % ("\U0001F35E" * 200), category_id=category.rsplit("/", 1)[1])
    answer = plain(status(send("GET", path, None, GZIP), 200))
    holds("as long as a list that is compressed", len(answer.body) > 1000, len(answer.body))
    holds("a strong ETag", is_strong_tag(answer.get("ETag")), answer.get("ETag"))
    changed = status(send("PATCH", path, '{"stock": 3}', {**GZIP, "If-Match": answer.get("ETag")}), 200)
    holds("a strong ETag of the change", is_strong_tag(plain(changed).get("ETag")), changed.get("ETag"))

@check("HEAD of a list with Accept-Encoding: gzip answers the GET's headers, and no body")
def _():
    get, head = [status(send(method, LIST, None, GZIP), 200) for method in ("GET", "HEAD")]
    for name in ("Content-Encoding", "Content-Length", "ETag", "Vary"):
        same(name, head.get(name), get.get(name))
    status(send("GET", "/health"), 200)

@check("with Accept-Encoding: gzip an error of a list and what POST answers are as they are")
def _():
    plain(problem(send("GET", "/products?limit=0", None, GZIP), 400, names="limit"))
    plain(created(post(product(), Accept_Encoding="gzip")))
    many = status(post("[%s]" % ", ".join(fill(product()) for _ in range(10)), Accept_Encoding="gzip"), 201)
    holds("a long answer", len(plain(many).body) > 1000, len(many.body))
