"""Idempotency-Key: a POST that is sent twice is carried out once."""
import time

from checks.credentials import Tokens, bearer, created_deal, deal, listed, mine, new_deal, path_of, post
from checks.tools import answers_at_once, cases, check, holds, problem, same, section, status
from checks.wire import send, wire


section("Idempotency-Key")

def keyed(key, body=None, token=None):
    return post(body or deal(), {**bearer(token or Tokens.my()), "Idempotency-Key": key})

def new_key():
    return "contract-%d" % time.monotonic_ns()

@check("a repeat answers the first answer byte for byte, marked as a repeat, and creates nothing")
def _():
    key = new_key()
    first = created_deal(keyed(key))
    same("Idempotency-Replayed", first.get("Idempotency-Replayed"), None)
    total = listed()["total"]
    for _ in range(2):
        again = created_deal(keyed(key))
        same("the body", again.body, first.body)
        same("Location", again.get("Location"), first.get("Location"))
        same("ETag", again.get("ETag"), first.get("ETag"))
        same("Idempotency-Replayed", again.get("Idempotency-Replayed"), "true")
    same("total", listed()["total"], total)

@check("the same key with another body answers 422, and the first answer stays")
def _():
    key = new_key()
    first = created_deal(keyed(key))
    total = listed()["total"]
    problem(keyed(key, deal(amount_cents="6")), 422, pointers=[""])
    same("the body", created_deal(keyed(key)).body, first.body)
    same("total", listed()["total"], total)

@check("a key of a request that was refused may be used again")
def _():
    key = new_key()
    problem(keyed(key, deal(title='""')), 422)
    same("Idempotency-Replayed", created_deal(keyed(key)).get("Idempotency-Replayed"), None)

@check("keys are each user's own")
def _():
    key = new_key()
    first, others = created_deal(keyed(key)), created_deal(keyed(key, None, Tokens.others()))
    holds("two deals", first.json()["id"] != others.json()["id"], others.json())
    same("Idempotency-Replayed", others.get("Idempotency-Replayed"), None)

@check("once its deal is deleted, a key creates anew")
def _():
    key = new_key()
    first = created_deal(keyed(key))
    status(send("DELETE", path_of(first), None, mine()), 204)
    holds("another id", created_deal(keyed(key)).json()["id"] > first.json()["id"], first.json())

@cases("a key of {} answers {}", ("1 character", 201, lambda: "%c" % (33 + time.monotonic_ns() % 90)),
       ("128 characters", 201, lambda: new_key().ljust(128, "~")), ("129 characters", 400, lambda: new_key().ljust(129, "x")),
       ("two words", 400, lambda: new_key() + " x"), ("a letter beyond ASCII", 400, lambda: new_key() + "\xe4"),
       ("a quoted string", 201, lambda: '"%s"' % new_key()))
def _(_, code, make):
    answer = keyed(make())
    problem(answer, code) if code == 400 else created_deal(answer)

@check("a malformed key is refused before the token's user is asked for a body, and after the token")
def _():
    problem(send("POST", "/api/deals", deal(), {"Idempotency-Key": "two words"}), 401)

@check("of many requests with one key at once, one creates the deal and all tell of it")
def _():
    title = "At once %d" % time.monotonic_ns()
    headers = mine(Idempotency_Key=new_key())
    answers = answers_at_once(12, wire("POST", "/api/deals", deal(title='"%s"' % title), headers))
    same("the statuses", [answer.status for answer in answers], [201] * 12)
    same("the bodies", len({answer.body for answer in answers}), 1)
    same("marked as repeats", [answer.get("Idempotency-Replayed") for answer in answers].count("true"), 11)
    same("deals of that title", [item["title"] for item in listed("?per_page=100")["items"]].count(title), 1)

@check("without a key two equal requests create two deals")
def _():
    holds("two ids", new_deal()[0] != new_deal()[0], "one")
