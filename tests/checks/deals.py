"""Deals: pages of them, one of them, creating and deleting."""
import json
import time

from checks.credentials import (DEAL_KEYS, Lasting, Tokens, bearer, deal, decode, listed, mine, new_deal, path_of, post)
from checks.tools import MAX_ID, cases, check, holds, json_of, problem, same, section, status
from checks.wire import send


section("Deals: reading")

@check("GET /api/deals/{id} answers 200 with what POST told")
def _():
    path, before = Lasting.get()
    answer = send("GET", path, None, mine())
    same("the body", status(answer, 200).body, before.body)
    same("ETag", answer.get("ETag"), before.get("ETag"))

@check("a deal has its members in order, the owner's id and name, and a time")
def _():
    value = json_of(send("GET", "/api/deals/<DEAL>", None, mine()))
    same("the members", list(value), DEAL_KEYS)
    same("the owner's members", list(value["owner"]), ["id", "name"])
    same("the owner", str(value["owner"]["id"]), json.loads(decode(Tokens.my().split(".")[1]))["sub"])
    holds("the time", abs(time.time() - time.mktime(time.strptime(value["created_at"], "%Y-%m-%dT%H:%M:%SZ")) + time.timezone) < 600,
          value["created_at"])

@check("If-None-Match with the ETag answers 304, with another 200")
def _():
    path, before = Lasting.get()
    answer = status(send("GET", path, None, mine(If_None_Match=before.get("ETag"))), 304)
    same("ETag", answer.get("ETag"), before.get("ETag"))
    status(send("GET", path, None, mine(If_None_Match='"another"')), 200)

@check("HEAD /api/deals/{id} answers the GET's headers")
def _():
    path, before = Lasting.get()
    answer = status(send("HEAD", path, None, mine()), 200)
    same("Content-Length", answer.get("Content-Length"), str(len(before.body)))

@cases("GET /api/deals/{} answers 404", (str(MAX_ID),), ("0",), ("-1",), ("1.5",), ("9223372036854775808",), ("abc",),
       ("0<DEAL>",))
def _(text):
    problem(send("GET", "/api/deals/" + text, None, mine()), 404)

@cases("{} answers 400 naming {}", ("/api/deals?page=0", "page"), ("/api/deals?page=-1", "page"),
       ("/api/deals?page=9223372036854775808", "page"), ("/api/deals?page=1.5", "page"), ("/api/deals?page=", "page"),
       ("/api/deals?page=1&page=1", "page"), ("/api/deals?per_page=0", "per_page"), ("/api/deals?per_page=101", "per_page"),
       ("/api/deals?per_page=x", "per_page"), ("/api/deals?status=Open", "status"), ("/api/deals?status=", "status"),
       ("/api/deals?status=open&status=won", "status"), ("/api/deals?sort=id", "sort"), ("/api/deals/<DEAL>?x=1", "x"))
def _(path, name):
    problem(send("GET", path, None, mine()), 400, names=name)

@check("GET /api/deals is page 1 of 20, the newest first")
def _():
    Lasting.get()
    value = listed()
    same("page", value["page"], 1)
    same("per_page", value["per_page"], 20)
    same("pages", value["pages"], -(-value["total"] // 20))
    same("the items", len(value["items"]), min(20, value["total"]))
    same("the same asked for", listed("?per_page=20&page=1"), value)
    for item in value["items"]:
        same("an item", json_of(send("GET", "/api/deals/%d" % item["id"], None, mine())), item)

@check("pages hold each deal once, by time and then by id, both descending")
def _():
    for _ in range(3):
        new_deal()
    seen = []
    pages = min(listed("?per_page=100")["pages"], 20)
    for page in range(1, pages + 1):
        value = listed("?per_page=100&page=%d" % page)
        holds("a full page", len(value["items"]) == 100 or page == value["pages"], len(value["items"]))
        seen += [(item["created_at"], item["id"]) for item in value["items"]]
    same("the order", seen, sorted(set(seen), reverse=True))

@check("a page of one and a page of two tell the same deals")
def _():
    new_deal()
    two = listed("?per_page=2")["items"]
    same("the first", listed("?per_page=1&page=1")["items"], two[:1])
    same("the second", listed("?per_page=1&page=2")["items"], two[1:])

@cases("page {} past the end answers 200 with no items", (1000000,), ((1 << 32) + 1,), (MAX_ID // 20 + 2,), (MAX_ID,))
def _(page):
    value = listed("?page=%d" % page)
    same("the items", value["items"], [])
    same("page", value["page"], page)
    same("total", value["total"], listed()["total"])

@cases("status={} lists those alone, and counts them", ("open",), ("won",), ("lost",))
def _(word):
    before = listed("?status=" + word)
    _, answer = new_deal(status='"%s"' % word)
    value = listed("?status=" + word)
    same("total", value["total"], before["total"] + 1)
    same("the statuses", {item["status"] for item in value["items"]}, {word})
    same("the newest", value["items"][0], answer.json())
    same("of each status", sum(listed("?status=" + each)["total"] for each in ("open", "won", "lost")), listed()["total"])

@check("total follows a creation and a removal")
def _():
    before = listed()["total"]
    path, _ = new_deal()
    same("after the creation", listed()["total"], before + 1)
    status(send("DELETE", path, None, mine()), 204)
    same("after the removal", listed()["total"], before)

@check("a list's ETag answers 304 until there is another deal")
def _():
    tag = send("GET", "/api/deals", None, mine()).get("ETag")
    status(send("GET", "/api/deals", None, mine(If_None_Match=tag)), 304)
    new_deal()
    status(send("GET", "/api/deals", None, mine(If_None_Match=tag)), 200)


section("Deals: writing")

@check("POST /api/deals answers 201 with the deal, open unless told, its Location and ETag")
def _():
    _, answer = new_deal(title='"A \\u00e4 \\ud83d\\ude00 title"', amount_cents="1000000000000000")
    value = answer.json()
    same("title", value["title"], "A ä 😀 title")
    same("amount_cents", value["amount_cents"], 10 ** 15)
    same("status", value["status"], "open")
    _, answer = new_deal(title='"%s"' % ("ä" * 200), amount_cents="0", status='"lost"')
    same("status", answer.json()["status"], "lost")

@cases("POST /api/deals with {} answers 422 at {}",
       ("no title", "/title", deal(title=None)), ("an empty title", "/title", deal(title='""')),
       ("a blank title", "/title", deal(title='"  "')), ("201 characters", "/title", deal(title='"%s"' % ("x" * 201))),
       ("a title that is a number", "/title", deal(title="5")), ("no amount", "/amount_cents", deal(amount_cents=None)),
       ("a negative amount", "/amount_cents", deal(amount_cents="-1")),
       ("an amount over 10^15", "/amount_cents", deal(amount_cents="1000000000000001")),
       ("an amount with a fraction", "/amount_cents", deal(amount_cents="1.0")),
       ("an amount in a string", "/amount_cents", deal(amount_cents='"1"')),
       ("an amount of 64 bits", "/amount_cents", deal(amount_cents="18446744073709551615")),
       ("status null", "/status", deal(status="null")), ("another status", "/status", deal(status='"lose"')),
       ("status OPEN", "/status", deal(status='"OPEN"')), ("an owner", "/owner", deal(owner='{"id": 1}')),
       ("an owner_id", "/owner_id", deal(owner_id="1")), ("an id", "/id", deal(id="1")), ("a list", "", "[]"))
def _(_, pointer, body):
    problem(post(body), 422, pointers=[pointer])

@check("all errors are told at once")
def _():
    problem(post('{"amount_cents": -1, "status": 5, "x": 1}'), 422,
            pointers=["/title", "/amount_cents", "/status", "/x"])

@check("POST /api/deals of another media type answers 415, and a query parameter 400")
def _():
    problem(send("POST", "/api/deals", deal(), mine(Content_Type="text/plain")), 415)
    problem(send("POST", "/api/deals?x=1", deal(), mine()), 400, names="x")

@check("the owner is the token's user")
def _():
    _, answer = new_deal(bearer(Tokens.others()))
    holds("another owner", answer.json()["owner"]["id"] != Lasting.get()[1].json()["owner"]["id"], answer.json())
    json_of(send("GET", path_of(answer), None, mine()))

@check("DELETE /api/deals/{id} answers 204, then 404")
def _():
    path, _ = new_deal()
    answer = status(send("DELETE", path, None, mine()), 204)
    same("Content-Type", answer.get("Content-Type"), None)
    problem(send("DELETE", path, None, mine()), 404)
    problem(send("GET", path, None, mine()), 404)

@check("DELETE of somebody else's deal answers 403 and leaves it")
def _():
    path, _ = Lasting.get()
    problem(send("DELETE", path, None, bearer(Tokens.others())), 403)
    status(send("GET", path, None, mine()), 200)

@cases("DELETE with If-Match of {} answers {}", ("the ETag", 204, "<T>"), ("*", 204, "*"), ("another", 412, '"another"'),
       ("the weak form", 412, "W/<T>"))
def _(_, code, value):
    path, before = new_deal()
    status(send("DELETE", path, None, mine(If_Match=value.replace("<T>", before.get("ETag")))), code)
    status(send("GET", path, None, mine()), 404 if code == 204 else 200)
