"""GET /products?q=…: the words of names and skus, and how soon a change of them is found.

A query's word fits a whole word of the name or the sku, in either case. Words are made of letters and digits; every
other character separates them, and none is an operator.
"""
import functools
from urllib.parse import quote

from checks.tools import World, cases, check, created, json_of, new_category, new_product, problem, same, section, walk
from checks.wire import MARKS, fill, send

section("Searching")

ROWS = {  # name -> a product's name and sku; <W> and <S> are words that no other row has
    "tea": ("<W> Green Tea", "<S>-AB-12"),
    "mug": ("Mug, <W>; green/blue", "<S>.CD.34"),
    "cafe": ("Caf\u00e9 <W>: \u00c9clair \u0427\u0410\u0419", "<S>_EF_56"),
    "near": ("Near or not and tea (<W>)", "<S>-X"),
    "grams": ("100g-<W> 2x", "<S>-100"),
    "inner": ("x<W>", "x<S>"),
}
ALL = ["tea", "mug", "cafe", "near", "grams"]  # where a word begins with <W>, or with <S>

@functools.cache
def words():
    return World.word(), World.word()

@functools.cache
def rows():
    """Creates the rows, in their order; id -> name."""
    return {new_product(name='"%s"' % name, sku='"%s"' % sku)[1].json()["id"]: label
            for label, (name, sku) in ROWS.items()}

MARKS.update({
    "<W>": lambda: words()[0],
    "<W in capitals>": lambda: words()[0].upper(),
    "<W's beginning>": lambda: words()[0][:7],
    "<W's end>": lambda: words()[0][1:],
    "<S>": lambda: words()[1],
    "<S in capitals>": lambda: words()[1].upper(),
})

def search(text, more="&limit=100"):
    """The items that the query finds, on all pages."""
    return [item for page in walk("/products?q=%s%s" % (quote(fill(text), safe=""), more)) for item in page]

def ids(text):
    return [item["id"] for item in search(text)]

def finds(text, labels):
    names = rows()
    same("what %r finds" % text, [names.get(number, number) for number in ids(text)], labels)

@cases("q finds {0}: {1}",
       ("a word of the name", "<W>", ALL), ("a word of the sku", "<S>", ALL),
       ("the same in capitals", "<W in capitals>", ALL),
       ("a sku's word in capitals", "<S in capitals>", ALL),
       ("nothing by the end of a word", "<W's end>", []), ("a longer word where it is", "x<W>", ["inner"]),
       ("nothing by a word and a letter more", "<W>z", []), ("all words", "<W> green tea", ["tea"]),
       ("all words in any order", "green <W>", ["tea", "mug"]),
       ("nothing where one word is missing", "<W> green coffee", []), ("nothing by a word's end", "<W> reen", []),
       ("a word given twice", "<W> <W>", ALL), ("one word in the name, one in the sku", "<W> ab", ["tea"]),
       ("both parts of a sku", "<S> ab 12", ["tea"]), ("a sku as it is", "<S>-AB-12", ["tea"]),
       ("a sku in small letters", "<S>-ab-12", ["tea"]), ("a sku that has dots", "<S>.cd.34", ["mug"]),
       ("a sku that has underscores", "<S>_EF_56", ["cafe"]), ("a part behind an underscore", "ef <W>", ["cafe"]),
       ("digits of a sku", "12 <W>", ["tea"]), ("digits and letters of a name", "100g <W>", ["grams"]),
       ("nothing by a letter inside a word", "<W> 00", []), ("é as é", "café <W>", ["cafe"]),
       ("é as É", "CAFÉ <W>", ["cafe"]), ("É as é", "<W> éclair", ["cafe"]), ("É as É", "<W> ÉCLAIR", ["cafe"]),
       ("Cyrillic in either case", "<W> чай", ["cafe"]), ("spaces around", "  <W>   tea ", ["tea", "near"]))
def _(_, text, labels):
    finds(text, labels)

@cases("q finds nothing by the beginning of a word: {0}", ("alone", "<W's beginning>"), ("beside a whole word", "<W> gre"),
       ("with an asterisk", "gre* <W>"))
def _(_, text):
    finds(text, [])

@cases("in q, {0} is no operator: {1}",
       ("a pair of quotes", '"<W> green"', ["tea", "mug"]), ("a quote alone", '<W> "green', ["tea", "mug"]),
       ("a quote at the end", '<W>"', ALL), ("a doubled quote", '""<W>""', ALL),
       ("an apostrophe", "<W>'green", ["tea", "mug"]),
       ("an asterisk", "<W> *green*", ["tea", "mug"]), ("an asterisk alone", "<W> *", ALL),
       ("OR", "<W> OR mug", []), ("OR, a word like others,", "<W> OR tea", ["near"]), ("AND", "<W> AND tea", ["near"]),
       ("NOT", "<W> NOT tea", ["near"]), ("NEAR", "<W> NEAR tea", ["near"]), ("NEAR()", "NEAR(<W> tea)", ["near"]),
       ("NEAR(, 5)", "NEAR(<W> tea, 5)", []), ("a minus", "<W> -tea", ["tea", "near"]),
       ("a minus before all", "-<W>", ALL),
       ("a plus", "<W> + tea", ["tea", "near"]), ("a parenthesis", "(<W> green", ["tea", "mug"]),
       ("a closing parenthesis", "<W>) green", ["tea", "mug"]),
       ("a pair of parentheses", "(<W>) (tea)", ["tea", "near"]),
       ("a pair of braces", "{<W> tea}", ["tea", "near"]), ("a colon", "<W>:tea", ["tea", "near"]),
       ("a column's name", "name:<W>", []), ("another column's name", "sku : <S>", []),
       ("a column filter", "{name sku} : <W>", []), ("a caret", "^<W> tea", ["tea", "near"]),
       ("a caret alone", "<W> ^", ALL), ("a comma", "<W>,tea", ["tea", "near"]),
       ("a per cent sign", "<W>%tea", ["tea", "near"]),
       ("an underscore", "<W>_tea", ["tea", "near"]), ("a full stop", "<W>.tea", ["tea", "near"]),
       ("a slash", "<W>/tea\\", ["tea", "near"]), ("a bracket", "[<W>]", ALL),
       ("an ampersand", "<W>&tea=#?", ["tea", "near"]),
       ("a semicolon", "<W>;--", ALL), ("SQL", "<W>' OR '1'='1", []),
       ("an emoji", "<W>\U0001f600tea", ["tea", "near"]),
       ("a tab", "<W>\ttea", ["tea", "near"]), ("a dash", "<W>\u2014tea", ["tea", "near"]),
       ("a no-break space", "<W>\u00a0tea", ["tea", "near"]), ("a backslash", "\\<W>\\tea", ["tea", "near"]))
def _(_, text, labels):
    finds(text, labels)

@check("q with a + for a space finds the same as with %20")
def _():
    rows()
    found = json_of(send("GET", "/products?q=green+<W>"))["items"]
    same("the items", found, search("green <W>"))

@check("what q finds is whole products, by id, on pages of any length")
def _():
    rows()
    found = search("<W>")
    same("the items", found, [json_of(send("GET", "/products/%d" % item["id"])) for item in found])
    for limit in (1, 2, 5):
        same("in pages of %d" % limit, search("<W>", "&limit=%d" % limit), found)
    same("behind the second", search("<W>", "&after=%d" % found[1]["id"]), found[2:])

@cases("q of {0} answers 400 naming q", ("nothing", ""), ("a space", " "), ("a no-break space", "\u00a0"),
       ("a tab", "\t"),
       ("101 letters", "a" * 101), ("101 letters of two bytes", "\u00e9" * 101),
       ("101 characters of many words", "ab " * 33 + "ab"),
       ("a quote", '"'), ("two quotes", '""'), ("an asterisk", "*"), ("a minus", "-"), ("an underscore", "_"),
       ("a caret", "^"),
       ("parentheses", "( )"), ("a colon", ":"), ("dots", "..."), ("a per cent sign", "%"), ("an emoji", "\U0001f600"),
       ("a hundred dots", "." * 100), ("NUL", "\0"), ("a word with NUL", "a\0b"))
def _(_, text):
    problem(send("GET", "/products?q=" + quote(text, safe="")), 400, names="q")

@cases("GET /products?{0} answers 400 naming q", ("q",), ("q=",), ("q=%FF",), ("q=a%C3",), ("q=%C0%AF",),
       ("q=%ED%A0%80",),
       ("q=a&q=b",), ("q=a&q=a",), ("q=a&limit=1&%71=b",))
def _(query):
    problem(send("GET", "/products?" + query), 400, names="q")

@cases("q of {0} answers 200", ("1 letter", "a"), ("1 digit", "0"), ("100 letters", "a" * 100),
       ("100 letters of two bytes", "\u00e9" * 100), ("100 letters of four bytes", "\U00010400" * 100),
       ("100 letters and spaces around", " " * 5 + "a" * 100 + " " * 5), ("50 words", "a b " * 24 + "c d"),
       ("99 characters between two letters' words", "a" + "." * 98 + "b"))
def _(_, text):
    json_of(send("GET", "/products?limit=1&q=" + quote(text, safe="")))

@check("q finds a word of 100 characters")
def _():
    word = World.word().ljust(100, "k")
    _, answer = new_product(name='"%s"' % (word + " " + "m" * 99))
    same("what it finds", ids(word), [answer.json()["id"]])
    same("what it finds with another last letter", ids(word[:99] + "z"), [])

@check("a product is found by its words from the moment it is created until it is deleted")
def _():
    word = World.word()
    same("before", ids(word), [])
    path, answer = new_product(name='"The %s one"' % word)
    same("created", search(word), [answer.json()])
    json_of(send("PATCH", path, '{"price_cents": 5}'))
    same("changed elsewhere", search(word), [json_of(send("GET", path))])
    send("DELETE", path)
    same("deleted", ids(word), [])

@cases("a {1} changed by {0} is found by its new words at once, and no more by its old ones",
       ("PATCH", "name"), ("PATCH", "sku"), ("PUT", "name"), ("PUT", "sku"))
def _(method, member):
    old, new, kept = [World.word() for _ in range(3)]
    body = '{"sku": "%s", "name": "%s", "price_cents": 1, "category_id": <CAT>}'
    both = lambda word: (word, kept) if member == "sku" else (kept, word)
    number = created(send("POST", "/products", body % both(old))).json()["id"]
    same("the old word at first", ids(old), [number])
    change = '{"%s": "%s"}' % (member, new) if method == "PATCH" else body % both(new)
    value = json_of(send(method, "/products/%d" % number, change))
    same("the new word", search(new), [value])
    same("the old word", ids(old), [])
    same("the word of the other member", ids(kept), [number])
    same("new and kept words", ids("%s %s" % (kept, new)), [number])

@check("a change that was refused is not found")
def _():
    old, new = World.word(), World.word()
    path, answer = new_product(name='"%s"' % old)
    problem(send("PATCH", path, '{"name": "%s", "sku": "<TAKEN>"}' % new), 409)
    problem(send("PATCH", path, '{"name": "%s", "stock": -1}' % new), 422)
    problem(send("POST", "/products", fill('[{"sku": "<SKU>", "name": "%s", "price_cents": 1, "category_id": <CAT>}, {}]')
                 % new), 422)
    same("the new word", ids(new), [])
    same("the old word", search(old), [answer.json()])

@check("products created together are found at once")
def _():
    word = World.word()
    items = [fill('{"sku": "<SKU>", "name": "%s %d", "price_cents": 1, "category_id": <CAT>}') % (word, number)
             for number in range(3)]
    made = json_of(send("POST", "/products", "[%s]" % ", ".join(items)), 201)["items"]
    same("all", search(word), made)
    same("the last", search(word + " 2"), made[2:])

@check("q looks into no category's name: a product is found whatever its category is called")
def _():
    first, second, own = [World.word() for _ in range(3)]
    path, answer = new_category(first)
    _, made = new_product(name='"%s"' % own, category_id=str(answer.json()["id"]))
    same("the category's name", ids(first), [])
    json_of(send("PUT", path, '{"name": "%s"}' % second))
    same("the category's new name", ids(second), [])
    found = search(own)
    same("its own word", [(item["id"], item["category"]["name"]) for item in found], [(made.json()["id"], second)])
