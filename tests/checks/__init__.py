"""The checks of the contract test; tests/contract.py runs them.

wire.py       sockets, requests and answers
tools.py      registering a check, comparing, the rows and marks that a check may use
always.py     what holds for every answer of the run
the others    one subject a file

A check is one statement about the product. To add one, write a function under a `section(...)`:

    @check("GET /health answers 200")
    def _():
        status(send("GET", "/health"), 200)

or a table of them, where a row fills the braces of the name and is the function's arguments:

    @cases("GET {} answers 404", ("/nope",), ("/products/",))
    def _(path):
        problem(send("GET", path), 404)

Paths, header values and bodies may hold marks that are filled in when they are sent: <SKU> a new sku, <NAME>
a new name of a category, <CAT> a category's id, <ID> the id of a product that every check may read and none may
change, <TAG> its ETag. A subject may add its own: see MARKS.
What must hold for every answer of the whole run (never a 5xx, say) is an `@always` function instead.

The modules are imported, and their checks run, in the order of SUBJECTS; a new file is added there.
"""
from importlib import import_module

SUBJECTS = [
    "always", "health", "paths", "protocol", "bodies", "products", "product_list", "compression", "search", "batches", "changes",
    "categories", "category_changes", "simultaneous", "probes", "metrics", "login", "tokens", "deals", "idempotency", "openapi",
    "login_limit",
]


# What a deployment without a secret file does not have; that it is 404 there is held by the checks of OpenAPI.
NEED_SECRET = ["login", "tokens", "deals", "idempotency", "login_limit"]


def register_all(without=()):
    for subject in SUBJECTS:
        if subject not in without:
            import_module("checks." + subject)
