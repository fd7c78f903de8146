"""Bodies of requests: their media type and size, the JSON grammar, the members of a product."""
import json
import random

from checks.tools import (MIB, World, cases, check, created, holds, post, problem, product, product_bytes, same,
                          section, status)
from checks.wire import CHUNKED, Site, chunked, fill, raw, send, wire

section("Bodies: media type and size")

@cases("POST /products with {0} answers 415",
       ("no Content-Type", None), ("text/plain", "text/plain"), ("a form's type", "application/x-www-form-urlencoded"),
       ("application/jsonx", "application/jsonx"), ("application/json-seq", "application/json-seq"),
       ("an empty Content-Type", ""), ("merge-patch", "application/merge-patch+json"), ("json alone", "json"),
       ("problem+json", "application/problem+json"), ("a type before it", "text/plain, application/json"))
def _(_, media_type):
    problem(post(product(), Content_Type=media_type), 415)

@cases("POST /products as {0} answers 201", ("application/json; charset=utf-8",), ("application/json ;charset=UTF-8",),
       ("APPLICATION/JSON",), ("application/json;charset=\"utf-8\"",))
def _(media_type):
    created(post(product(), Content_Type=media_type))

def padded(size):
    text = fill(product()).encode()
    return text + b" " * (size - len(text))

@cases("a body of over 1 MiB answers 413: {0}",
       ("declared and not sent", lambda: wire("POST", "/products", None, {"Content-Type": "application/json",
                                                                         "Content-Length": MIB + 1})),
       ("10^15 bytes declared", lambda: wire("POST", "/products", None, {"Content-Type": "application/json",
                                                                        "Content-Length": 10 ** 15})),
       ("one byte over", lambda: wire("POST", "/products", padded(MIB + 1))),
       ("one byte over, chunked", lambda: wire("POST", "/products", chunked(padded(MIB + 1)), CHUNKED)),
       ("of 1.5 MiB, chunked", lambda: wire("POST", "/products", chunked(padded(MIB * 3 // 2)), CHUNKED)))
def _(_, data):
    problem(raw(data(), "POST"), 413)
    status(send("GET", "/health"), 200)

@check("a body of exactly 1 MiB is accepted")
def _():
    created(post(padded(MIB)))

@cases("a chunked body is accepted, in chunks of {}", (1,), (7,), (65536,))
def _(size):
    created(send("POST", "/products", chunked(fill(product()).encode(), size), CHUNKED))


section("Bodies: JSON")

@cases("POST /products with {0} answers 400",
       ("an empty body", b""), ("spaces alone", b"  \r\n"), ("a word", b"hello"), ("half the text", product()[:30]),
       ("all but the last brace", product()[:-1]), ("a byte after the value", product() + "x"),
       ("a brace after the value", product() + "}"), ("NUL after the value", product() + "\0"),
       ("two values", product() + " {}"), ("a byte order mark", "\ufeff" + product()),
       ("UTF-16", product().replace("<SKU>", "s").replace("<CAT>", "1").encode("utf-16-le")),
       ("a no-break space before the value", "\u00a0" + product()), ("a form feed before the value", "\f" + product()),
       # strings
       ("an overlong slash", product_bytes(name=b'"a\xc0\xaf"')),
       ("an overlong NUL", product_bytes(name=b'"a\xc0\x80"')),
       ("an overlong form of three bytes", product_bytes(name=b'"a\xe0\x80\xaf"')),
       ("a lone continuation byte", product_bytes(name=b'"a\x80"')),
       ("a surrogate encoded as UTF-8", product_bytes(name=b'"a\xed\xa0\x80"')),
       ("a sequence cut off by the quote", product_bytes(name=b'"a\xe2\x82"')),
       ("a code point over U+10FFFF", product_bytes(name=b'"a\xf4\x90\x80\x80"')),
       ("the byte FF", product_bytes(name=b'"a\xff"')),
       ("invalid UTF-8 in a member's name", product_bytes(sku=b'"<SKU>", "\xff": 1')),
       ("a raw NUL in a string", product(name='"a\0b"')), ("\\u0000 in a string", product(name='"a\\u0000b"')),
       ("\\u0000 in a member's name", product(name='"n", "a\\u0000b": 1')),
       ("\\u0000 ending a known member's name", product(name='"n", "stock\\u0000": 1')),
       ("a raw newline in a string", product(name='"a\nb"')), ("a raw tab in a string", product(name='"a\tb"')),
       ("a raw U+001F in a string", product(name='"a\x1fb"')), ("a lone high surrogate", product(name='"a\\ud800"')),
       ("a lone low surrogate", product(name='"a\\udc00"')),
       ("a high surrogate before a letter", product(name='"\\ud83dA"')),
       ("two high surrogates", product(name='"\\ud83d\\ud83d"')), ("an unknown escape", product(name='"a\\x41"')),
       ("an escape of three digits", product(name='"\\u012"')),
       ("an escape that is not hexadecimal", product(name='"\\u00g0"')),
       ("a string in single quotes", product(name="'a'")), ("a string that does not end", product(name='"a')),
       # members
       ("a member twice", product(name='"n", "name": "m"')),
       ("a member twice, the same value", product(stock='1, "stock": 1')),
       ("a member twice, once in escapes", product(name='"n", "sk\\u0075": "other"')),
       ("an unknown member twice", product(name='"n", "x": 1, "x": 1')),
       ("a member twice in a nested object", product(extra='{"a": 1, "a": 2}')),
       ("a member twice in an object in an array", product(extra='[{"a": 1, "a": 2}]')),
       ("a trailing comma", product()[:-1] + ",}"), ("a leading comma", "{," + product()[1:]),
       ("a missing colon", product().replace('"stock":', '"stock"')),
       ("a name without quotes", product().replace('"stock"', "stock")),
       ("a trailing comma in an array", product(extra="[1,]")), ("a comment", product(stock="1 /* one */")),
       ("a line comment", product() + "// end"),
       # nesting and literals
       ("nesting of 17", product(extra="[" * 16 + "]" * 16)),
       ("nesting of 17 objects", product(extra='{"a":' * 16 + "1" + "}" * 16)),
       ("nesting of 100,000", product(extra="[" * 100_000 + "]" * 100_000)),
       ("TRUE", product(stock="TRUE")), ("nul", product(stock="nul")), ("undefined", product(stock="undefined")))
def _(_, body):
    problem(post(body), 400)

@cases("POST /products with the price {} answers 400", ("NaN",), ("Infinity",), ("-Infinity",), ("01",), ("-01",),
       ("+1",), (".5",), ("1.",), ("1e",), ("1e+",), ("-",), ("0x10",), ("1_000",), ("1 2",), ("--1",))
def _(number):
    problem(post(product(price_cents=number)), 400)

@check("POST /products without a body or a length answers 400")
def _():
    problem(send("POST", "/products", None, {"Content-Type": "application/json"}), 400)

@cases("POST /products accepts {0}",
       ("white space of every kind", " \t\r\n" + product(name='"n"').replace(" ", " \t\r\n ") + "\r\n\t ", "n"),
       ("members in another order", '{"category_id": <CAT>, "stock": 0, "price_cents": 1, "name": "n", "sku": "<SKU>"}', "n"),
       ("\\u00e9", product(name='"caf\\u00e9"'), "caf\u00e9"),
       ("\\u00E9 in capitals", product(name='"caf\\u00E9"'), "caf\u00e9"),
       ("a surrogate pair", product(name='"\\ud83d\\ude00"'), "\U0001f600"),
       ("UTF-8 of two, three and four bytes", product(name='"é€\U0001f600"'), "é€\U0001f600"),
       ("the ends of the UTF-8 ranges", product(name='"\x7f\u0080\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff"'),
        "\x7f\u0080\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff"),
       ("the short escapes", product(name='"a\\"\\\\\\/\\b\\f\\n\\r\\t"'), 'a"\\/\b\f\n\r\t'),
       ("a member's name in escapes", product(name=None, **{"price_cents": '1, "n\\u0061me": "n"'}), "n"),
       ("text that looks like SQL", product(name='"\'); DROP TABLE products; --"'), "'); DROP TABLE products; --"),
       ("text that looks like HTML", product(name='"<b>&amp;</b>"'), "<b>&amp;</b>"))
def _(_, body, name):
    answer = created(post(body))
    same("name", answer.json()["name"], name)
    same("name of the row", send("GET", answer.get("Location")[len(Site.prefix):]).json()["name"], name)


section("Bodies: shape")

@cases("a body of {0} answers 422 at the whole document", ("a string", '"x"'), ("a number", "1"), ("null", "null"),
       ("true", "true"), ("an empty string", '""'))
def _(_, body):
    problem(post(body), 422, pointers=[""])

BAD_INTEGERS = ["-1", "1.0", "1.5", "1e2", "1E2", "-0.0", "1e400", '"1"', '""', "true", "null", "[]", "[1]", "{}",
                "9223372036854775807", "9223372036854775808", "18446744073709551616", "18446744073709551617",
                "-9223372036854775809", "1" + "0" * 400]

@cases("POST /products with {0} {1:.40} answers 422 at /{0}",
       *[("price_cents", number) for number in BAD_INTEGERS + ["1000000000001"]],
       *[("stock", number) for number in BAD_INTEGERS + ["1000000001", "4294967297"]],
       *[("category_id", number) for number in BAD_INTEGERS + ["0", "9000000000000000"]],
       *[("sku", text) for text in ('""', '"<SKU65>"', '"<SKU> "', '"<SKU>/"', '"<SKU>\u00e9"', '"<SKU>\\n"', '"<SKU>+"',
                                    '"<SKU>%41"', '"<SKU>\u0661"', "1", "null", "true", "[]", "{}")],
       *[("name", text) for text in ('""', '" "', '"   "', '"\\t\\n"', '"\u00a0"', '"\u3000"', '" \u2003\\r"',
                                     "1", "null", "false", "[]", '{"a": 1}')])
def _(member, value):
    problem(post(product(**{member: value})), 422, pointers=["/" + member])

@cases("POST /products with a name of 201 {0} answers 422 at /name",
       ("letters", "a"), ("characters of two bytes", "é"), ("characters of four bytes", "\U0001f600"),
       ("surrogate pairs", "\\ud83d\\ude00"))
def _(_, character):
    problem(post(product(name='"%s"' % (character * 201))), 422, pointers=["/name"])

@cases("POST /products accepts a name of {0}", ("1 letter", "a", 1), ("200 letters", "a", 200),
       ("200 characters of four bytes", "\U0001f600", 200), ("200 surrogate pairs", "\\ud83d\\ude00", 200))
def _(_, character, count):
    answer = created(post(product(name='"%s"' % (character * count))))
    same("name", answer.json()["name"], json.loads('"%s"' % character) * count)

@cases("POST /products accepts {0} {1}", ("price_cents", "0"), ("price_cents", "1000000000000"), ("price_cents", "-0"),
       ("stock", "0"), ("stock", "-0"), ("stock", "1000000000"))
def _(member, number):
    answer = created(post(product(**{member: number})))
    same(member, answer.json()[member], int(number))
    holds("no sign on a nought", b": -0" not in answer.body and b":-0" not in answer.body, answer.body)

@check("POST /products without stock has a stock of 0")
def _():
    same("stock", created(post(product(stock=None))).json()["stock"], 0)

@check("POST /products accepts a sku of 64 characters")
def _():
    same("length of sku", len(created(post(product(sku='"<SKU64>"'))).json()["sku"]), 64)

@check("POST /products accepts a sku of 1 character")
def _():
    letters = list("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
    random.shuffle(letters)
    for letter in letters:  # one that this deployment does not have yet
        answer = post(product(sku='"%s"' % letter))
        if answer.status != 409:
            break
    same("sku", created(answer).json()["sku"], letter)

@check("POST /products accepts every character that a sku may have")
def _():
    for part in ("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz", "0123456789._-"):
        sku = World.sku() + part
        same("sku", created(post(product(sku='"%s"' % sku))).json()["sku"], sku)

@cases("POST /products without {0} answers 422 at /{0}", ("sku",), ("name",), ("price_cents",), ("category_id",))
def _(member):
    problem(post(product(**{member: None})), 422, pointers=["/" + member])

@cases("POST /products with an unknown member {0!r} answers 422 at {1!r}",
       ("colour", "/colour"), ("id", "/id"), ("created_at", "/created_at"), ("updated_at", "/updated_at"),
       ("category", "/category"), ("Name", "/Name"), ("a/b", "/a~1b"), ("a~b", "/a~0b"), ("~1", "/~01"), ("", "/"),
       ("caf\u00e9", "/caf\u00e9"), ('a"b', '/a"b'), ("a\nb", "/a\nb"), ("0", "/0"))
def _(member, pointer):
    problem(post(product(**{member: "1"})), 422, pointers=[pointer])

@cases("nesting of 16 is read, and answers 422 at /extra: {0}",
       ("arrays", "[" * 15 + "]" * 15), ("arrays around a number", "[" * 15 + "1" + "]" * 15),
       ("objects", '{"a":' * 15 + "1" + "}" * 15))
def _(_, value):
    problem(post(product(extra=value)), 422, pointers=["/extra"])

@cases("every error is told at once: {0}",
       ("an empty object", "{}", ["/sku", "/name", "/price_cents", "/category_id"]),
       ("every member of the wrong type and an unknown one",
        product(sku="1", name="null", price_cents='"1"', stock="true", category_id="[]", colour="1"),
        ["/sku", "/name", "/price_cents", "/stock", "/category_id", "/colour"]),
       ("every member out of range, the category unknown",
        product(sku='"a b"', name='" "', price_cents="-1", stock="1000000001", category_id="9000000000000000"),
        ["/sku", "/name", "/price_cents", "/stock", "/category_id"]),
       ("a bad sku and an unknown category", product(sku='""', category_id="9000000000000000"), ["/sku", "/category_id"]),
       ("three unknown members and a missing one", product(name=None, a="1", b="2", **{"c/d": "3"}),
        ["/name", "/a", "/b", "/c~1d"]))
def _(_, body, pointers):
    problem(post(body), 422, pointers=pointers)

@cases("a 422 for {0} creates nothing: the sku is free afterwards", ("a wrong price", {"price_cents": "-1"}),
       ("an unknown category", {"category_id": "9000000000000000"}), ("an unknown member", {"colour": "1"}))
def _(_, members):
    sku = '"%s"' % World.sku()
    problem(post(product(sku=sku, **members)), 422)
    created(post(product(sku=sku)))
