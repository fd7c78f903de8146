"""Bearer tokens: which are believed, and the one answer to all others."""
import base64
import hashlib
import hmac
import json

from checks.credentials import (INVALID_TOKEN, LEFT_OUT, Tokens, accepts, deal, encode, forge, mine, refused, refuses,
                                sign)
from checks.tools import MAX_ID, cases, check, json_of, problem, same, section, status
from checks.wire import raw, send, wire


section("Tokens")

@cases("{} {} without a token answers 401", ("GET", "/api/deals"), ("HEAD", "/api/deals"), ("POST", "/api/deals"),
       ("GET", "/api/deals/<DEAL>"), ("DELETE", "/api/deals/<DEAL>"), ("GET", "/api/deals/%d" % MAX_ID),
       ("GET", "/api/deals?page=0"))
def _(method, path):
    answer = problem(send(method, path, deal() if method == "POST" else None), 401)
    same("WWW-Authenticate", answer.get("WWW-Authenticate"), INVALID_TOKEN)
    status(send("GET", "/api/deals/<DEAL>", None, mine()), 200)

@check("without a token an unknown path is 404, and an unknown method 405, all the same")
def _():
    for path in ("/api/deals/", "/api/deals/0", "/api/deals/abc", "/api/deal", "/api/deals/1/x"):
        problem(send("GET", path), 404)
    same("Allow", problem(send("PUT", "/api/deals"), 405).get("Allow"), "GET, HEAD, POST, OPTIONS")
    same("Allow", problem(send("PATCH", "/api/deals/1"), 405).get("Allow"), "GET, HEAD, DELETE, OPTIONS")
    status(send("OPTIONS", "/api/deals"), 204)

@cases("the scheme {} is accepted", ("Bearer",), ("bearer",), ("BEARER",))
def _(scheme):
    json_of(send("GET", "/api/deals", None, {"Authorization": "%s %s" % (scheme, Tokens.my())}))

@cases("Authorization: {} answers 401", ("",), ("Bearer",), ("Bearer ",), ("<TOKEN>",), ("Basic <TOKEN>",),
       ("Bearer<TOKEN>",), ("Bearer=<TOKEN>",), ("Token <TOKEN>",), ("Bearer Bearer <TOKEN>",),
       ("Bearer <TOKEN> <TOKEN>",), ("Bearer <TOKEN>,",), ('Bearer "<TOKEN>"',), ("Bearer token=<TOKEN>",),
       ("Bearer x",), ("Bearer a.b.c",), ("Bearer ..",), ("Bearer null",))
def _(value):
    refused(send("GET", "/api/deals", None, {"Authorization": value}))

@check("two Authorization headers answer 400 or 401")
def _():
    request = wire("GET", "/api/deals", None, mine()).replace(
        b"\r\n\r\n", b"\r\nAuthorization: Basic YTpi\r\n\r\n")
    problem(raw(request), 400, 401)

@check("a token in the query or in a cookie answers 401")
def _():
    problem(send("GET", "/api/deals?access_token=" + Tokens.my()), 401)
    refused(send("GET", "/api/deals", None, {"Cookie": "token=" + Tokens.my()}))

@check("a token signed with the secret file's key is accepted")
def _():
    accepts(forge())
    accepts(forge({"kid": Tokens.secret()[0]}))

@cases("a token whose header has {} answers 401",
       ("alg none", {"alg": "none"}), ("alg None", {"alg": "None"}), ("alg NONE", {"alg": "NONE"}),
       ("alg nOnE", {"alg": "nOnE"}), ("alg hs256", {"alg": "hs256"}), ("alg HS384", {"alg": "HS384"}),
       ("alg HS512", {"alg": "HS512"}), ("alg RS256", {"alg": "RS256"}), ("alg ES256", {"alg": "ES256"}),
       ("no alg", {"alg": LEFT_OUT}), ("alg null", {"alg": None}), ("alg in a list", {"alg": ["HS256"]}),
       ("another typ", {"typ": "JOSE"}), ("crit", {"crit": ["exp"]}), ("an empty crit", {"crit": []}),
       ("jwk", {"jwk": {"kty": "oct", "k": "AAAA"}}), ("jku", {"jku": "https://example.org/"}),
       ("x5u", {"x5u": "https://example.org/"}), ("x5c", {"x5c": ["AAAA"]}), ("an unknown kid", {"kid": "unknown"}),
       ("an empty kid", {"kid": ""}), ("a kid that is a number", {"kid": 1}),
       ("alg twice", '{"alg":"HS256","alg":"HS256"}'), ("a list instead of members", '["HS256"]'),
       ("bytes that are no UTF-8", b'{"alg":"HS256","x":"\xff"}'), ("no JSON", '{"alg":"HS256"'))
def _(_, header):
    refuses(forge(header))

@cases("a token whose claims have {} answers 401",
       ("no exp", {"exp": LEFT_OUT}), ("exp passed by 31 s", {"exp": lambda now: now - 31}), ("exp 0", {"exp": 0}),
       ("a negative exp", {"exp": -1}), ("exp in a string", {"exp": lambda now: str(now + 600)}),
       ("exp with a fraction", {"exp": lambda now: now + 600.5}), ("exp null", {"exp": None}),
       ("exp true", {"exp": True}), ("exp of 64 bits", {"exp": 1 << 63}), ("exp of 100 digits", {"exp": 10 ** 99}),
       ("exp with an exponent", '{"sub":"1","exp":9e99}'), ("exp NaN", '{"sub":"1","exp":NaN}'),
       ("nbf ahead by 60 s", {"nbf": lambda now: now + 60}), ("nbf in a string", {"nbf": "0"}),
       ("iat ahead by 60 s", {"iat": lambda now: now + 60}), ("iat in a list", {"iat": [0]}),
       ("no sub", {"sub": LEFT_OUT}), ("sub a number", {"sub": 1}), ("an empty sub", {"sub": ""}), ("sub 0", {"sub": "0"}),
       ("a sub of no user", {"sub": str(MAX_ID)}), ("a sub of 64 bits", {"sub": str(1 << 63)}),
       ("a sub with a leading zero", {"sub": "01"}), ("a sub with a sign", {"sub": "+1"}), ("a sub null", {"sub": None}),
       ("exp twice", '{"sub":"1","exp":9999999999,"exp":9999999999}'),
       ("sub twice", '{"sub":"1","sub":"1","exp":9999999999}'), ("a list around them", '[{"sub":"1","exp":9999999999}]'),
       ("something behind them", '{"sub":"1","exp":9999999999}{}'), ("a byte order mark", b'\xef\xbb\xbf{"sub":"1","exp":9999999999}'))
def _(_, claims):
    refuses(forge(None, claims))

@cases("a token whose claims have {} is accepted", ("exp passed by 10 s", {"exp": lambda now: now - 10}),
       ("nbf ahead by 10 s", {"nbf": lambda now: now + 10}), ("iat ahead by 10 s", {"iat": lambda now: now + 10}),
       ("members nobody knows", {"role": "admin", "jti": "x"}))
def _(_, claims):
    accepts(forge(None, claims))

@check("a token signed with another secret answers 401")
def _():
    refuses(forge(secret=b"another secret of at least 32 bytes"))
    refuses(forge({"kid": Tokens.secret()[0]}, secret=b"another secret of at least 32 bytes"))

@check("a token signed with the empty secret, or with a longer hash, answers 401")
def _():
    header, claims, _signature = forge().split(".")
    signed = "%s.%s" % (header, claims)
    refuses("%s.%s" % (signed, encode(hmac.new(b"", signed.encode(), hashlib.sha256).digest())))
    refuses(sign(signed, None, hashlib.sha512))

@cases("a token with its {} changed answers 401", ("header", 0), ("claims", 1), ("signature", 2))
def _(_, index):
    parts = Tokens.my().split(".")
    for position in (0, len(parts[index]) // 2, len(parts[index]) - 2):
        letter = parts[index][position]
        changed = parts[index][:position] + ("A" if letter != "A" else "B") + parts[index][position + 1:]
        refuses(".".join(parts[:index] + [changed] + parts[index + 1:]))

@cases("a token of {} answers 401",
       ("two segments", lambda header, claims, code: "%s.%s" % (header, claims)),
       ("four segments", lambda header, claims, code: "%s.%s.%s." % (header, claims, code)),
       ("an empty signature", lambda header, claims, code: "%s.%s." % (header, claims)),
       ("an empty header", lambda header, claims, code: ".%s.%s" % (claims, code)),
       ("half a signature", lambda header, claims, code: "%s.%s.%s" % (header, claims, code[:22])),
       ("a padded signature", lambda header, claims, code: "%s.%s.%s=" % (header, claims, code)),
       ("a padded header, signed so", lambda header, claims, code: sign("%s=.%s" % (header, claims))),
       ("the other base64 alphabet", lambda header, claims, code: sign(
           "%s.%s" % (base64.b64encode(b'{"alg":"HS256","x":"\xc3\xbf\xc3\xbe?>~"}').decode().rstrip("="), claims))))
def _(_, make):
    refuses(make(*forge().split(".")))

@check("the three other spellings of a signature's last character answer 401")
def _():
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    token = Tokens.my()
    first = alphabet.index(token[-1]) & ~3
    for other in set(alphabet[first:first + 4]) - {token[-1]}:
        refuses(token[:-1] + other)

@check("a token of 4 KiB is accepted, a longer one is 401")
def _():
    def padded(count):
        return forge(None, {"x": "x" * count})
    longest = max((padded(count) for count in range(2900, 2960)), key=lambda token: (len(token) <= 4096, len(token)))
    accepts(longest)
    refuses(min((padded(count) for count in range(2940, 3000)), key=lambda token: (len(token) <= 4096, len(token))))
