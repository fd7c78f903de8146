"""The API's description: well-formed, served as it is written, and true of the service.

Every example in it is sent, and every answer held against what it says about that answer. The description is
read from docs/openapi.json; that the service has the same is a check too. Rows that must not clash (a sku, a
category's name) or must exist (an id, a category) are filled in.
"""
import json
import pathlib
import re
import time
from urllib.parse import quote, urlencode

from checks import json_schema
from checks.tools import (MIB, World, allowed, cases, check, holds, json_of, new_product, same, section,
                          status)
from checks.wire import CREATED, EXCHANGES, send

DOCUMENT = json.loads((pathlib.Path(__file__).parents[2] / "docs" / "openapi.json").read_text("utf-8"))
METHODS = ("get", "post", "put", "patch", "delete")
LOGIN = {"email": "user1@example.com", "password": "larder-demo"}
TOKENS = []


# -- reading the document

def resolved(node):
    return resolved(json_schema.resolve(DOCUMENT, node["$ref"])) if "$ref" in node else node


class Operation:
    def __init__(self, method, path, item):
        self.method, self.path, self.node = method.upper(), path, item[method]
        self.name = "%s %s" % (self.method, path)
        self.parameters = [resolved(one) for one in item.get("parameters", []) + self.node.get("parameters", [])]
        self.responses = {code: resolved(one) for code, one in self.node["responses"].items()}
        self.bodies = self.node.get("requestBody", {}).get("content", {})
        self.tag = self.node["tags"][0]

    @property
    def success(self):
        return next(int(code) for code in self.responses if code.startswith("2"))

    def examples(self):
        """(media type, value) of every request body; one of (None, None) when there is none."""
        found = [(kind, value) for kind, media in self.bodies.items() for value in examples_of(media)]
        return found or [(None, None)]


def examples_of(media):
    if "example" in media:
        return [media["example"]]
    return [one["value"] for one in media.get("examples", {}).values()]


OPERATIONS = [Operation(method, path, item) for path, item in DOCUMENT["paths"].items() for method in METHODS if method in item]


def nodes(node=DOCUMENT, where="#"):
    """Every object in the document with its address; what stands in an example is data."""
    if isinstance(node, dict):
        yield where, node
        for key, child in node.items():
            if key not in ("example", "examples", "const", "enum", "default") or where.endswith(("/properties", "/responses")):
                yield from nodes(child, "%s/%s" % (where, key.replace("~", "~0").replace("/", "~1")))
    elif isinstance(node, list):
        for index, child in enumerate(node):
            yield from nodes(child, "%s/%d" % (where, index))


def medias():
    """(address, media type object) of every body in the document."""
    for where, node in nodes():
        if where.endswith("/content"):
            yield from (("%s/%s" % (where, kind), media) for kind, media in node.items())


def none(what, found):
    same(what, list(found), [])


# -- asking

def token():
    """A bearer token of the demo user, from the route that gives them; asked for once."""
    if not TOKENS:
        TOKENS.append(json_of(ask("POST", "/api/login", json.dumps(LOGIN)))["token"])
    return TOKENS[0]


def ask(method, path, body=None, headers=None):
    """send(), again after a pause when it was too often."""
    for _ in range(10):
        answer = send(method, path, body, headers)
        if answer.status != 429:
            break
        time.sleep(min(int(answer.get("Retry-After") or 1), 10))
    return answer


def row_for(path):
    """The id of a row made for one request, by the example of its collection's POST; deleted at the end of the run."""
    make = next(one for one in OPERATIONS if one.method == "POST" and one.path == path.rsplit("/", 1)[0])
    example = next(value for _, value in make.examples() if isinstance(value, dict))
    fields = {"Authorization": "Bearer " + token()} if "security" in make.node else {}
    return status(send("POST", make.path, json.dumps(unique(example)), fields), 201).json()["id"]


def delete_deal(number):
    """At once: the run's end has no token for it."""
    path = "/api/deals/%d" % number
    status(send("DELETE", path, None, {"Authorization": "Bearer " + token()}), 204, 404)
    CREATED[:] = [one for one in CREATED if not one.endswith(path)]


def unique(value):
    """An example with what must be new or must exist filled in."""
    if isinstance(value, list):
        return [unique(one) for one in value]
    changed = dict(value)
    if "sku" in value:
        changed["sku"] = World.sku()
    if "category_id" in value:
        changed["category_id"] = World.category()["id"]
    if "name" in value:
        changed["name"] = World.sku()
    return changed


def request(operation, kind=None, example=None, number=None, query=None, headers=None, body=None):
    """Sends the operation with the examples of its query's parameters; what is given here goes before."""
    made = None
    if "{id}" in operation.path and number is None:
        number = made = row_for(operation.path)
    path = operation.path.replace("{id}", quote(str(number)))
    values = {one["name"]: one["example"] for one in operation.parameters if one["in"] == "query"}
    fields = {"Authorization": "Bearer " + token()} if "security" in operation.node else {}
    if kind:
        fields["Content-Type"] = kind
        body = json.dumps(unique(example)) if body is None else body
    fields.update(headers or {})
    values.update(query or {})
    answer = ask(operation.method, path + ("?" + urlencode(values) if values else ""), body, fields)
    if operation.path.startswith("/api/deals"):
        if answer.status == 201:
            delete_deal(answer.json()["id"])
        if made:
            sent = EXCHANGES[-1]
            delete_deal(made)
            EXCHANGES.append(sent)
    return answer


def documented(operation, answer, code):
    """Holds an answer to be what the document says about this status of the operation."""
    status(answer, code)
    response = operation.responses[str(code)]
    content = response.get("content", {})
    if content:
        holds("a documented media type", answer.media_type in content, answer.media_type)
        value = answer.json() if answer.media_type.endswith("json") else answer.body.decode()
        none("faults of the body", json_schema.faults(DOCUMENT, content[answer.media_type]["schema"], value))
    else:
        same("the body", answer.body, b"")
    for name, header in response.get("headers", {}).items():
        header, value = resolved(header), answer.get(name)
        if value is None:
            holds("the header " + name, not header.get("required"), value)
        else:
            value = int(value) if resolved(header["schema"]).get("type") == "integer" else value
            none("faults of the header " + name, json_schema.faults(DOCUMENT, header["schema"], value))
    return answer


SWITCHED = {"probes": "/json", "deals": "/api/login", "login": "/api/login"}  # tags that a setting turns off: one path


def is_refused(operation):
    """True where this client may not use it: /metrics is for private networks."""
    return operation.path == "/metrics" and send("GET", "/metrics").status == 403


def is_off(operation):
    """True where the service is set to have no such routes."""
    return operation.tag in SWITCHED and send("OPTIONS", SWITCHED[operation.tag]).status == 404


# -- the checks

section("OpenAPI: the document")

@check("GET /openapi.json answers docs/openapi.json")
def _():
    same("the document", json_of(send("GET", "/openapi.json")), DOCUMENT)

@check("HEAD /openapi.json answers the GET's headers")
def _():
    plain, head = (status(send(method, "/openapi.json"), 200) for method in ("GET", "HEAD"))
    for name in "ETag", "Content-Type", "Content-Length":
        same(name, head.get(name), plain.get(name))

@check("it is OpenAPI 3.1 with title and version, and served from where it lies")
def _():
    holds("openapi 3.1", re.fullmatch(r"3\.1\.\d+", DOCUMENT["openapi"]), DOCUMENT["openapi"])
    holds("title and version", DOCUMENT["info"]["title"] and DOCUMENT["info"]["version"], DOCUMENT["info"])
    same("the servers", [one["url"] for one in DOCUMENT["servers"]], ["."])
    none("members at the top that OpenAPI does not have", sorted(
        set(DOCUMENT) - {"openapi", "info", "servers", "tags", "paths", "components"}))

@check("every $ref leads somewhere, to a component of the kind that belongs there")
def _():
    wrong = []
    kinds = {"schema": "schemas", "items": "schemas", "properties": "schemas", "oneOf": "schemas", "anyOf": "schemas",
             "parameters": "parameters", "headers": "headers", "responses": "responses"}
    for where, node in nodes():
        if "$ref" in node:
            parts = where.split("/")
            kind = next(kinds[part] for part in (parts[-1], parts[-2]) if part in kinds)
            target = node["$ref"].split("/")
            if target[:3] != ["#", "components", kind] or target[-1] not in DOCUMENT["components"][kind]:
                wrong.append("%s at %s" % (node["$ref"], where))
    none("references", wrong)

@check("every component is used")
def _():
    used = {node["$ref"] for _, node in nodes() if "$ref" in node}
    used |= {"#/components/securitySchemes/" + name for one in OPERATIONS for need in one.node.get("security", []) for name in need}
    none("components that nothing refers to", sorted({
        "#/components/%s/%s" % (kind, name) for kind, some in DOCUMENT["components"].items() for name in some} - used))

@check("every operation has a summary, a name of its own, a declared tag and a success")
def _():
    ids = [one.node["operationId"] for one in OPERATIONS]
    same("the names", sorted(ids), sorted(set(ids)))
    tags = [one["name"] for one in DOCUMENT["tags"]]
    none("operations that lack something", [
        one.name for one in OPERATIONS
        if not one.node.get("summary") or not set(one.node["tags"]) <= set(tags) or len(one.node["tags"]) != 1 or
        [code[0] for code in one.responses].count("2") != 1 or "default" not in one.responses])
    none("tags without an operation", [tag for tag in tags if not any(tag in one.node["tags"] for one in OPERATIONS)])

@check("path parameters are declared, and every parameter once")
def _():
    for one in OPERATIONS:
        in_path = [parameter["name"] for parameter in one.parameters if parameter["in"] == "path"]
        same("path parameters of " + one.name, sorted(in_path), sorted(re.findall(r"\{(\w+)\}", one.path)))
        holds("required", all(p.get("required") is True for p in one.parameters if p["in"] == "path"), one.name)
        names = [(parameter["name"], parameter["in"]) for parameter in one.parameters]
        same("parameters of " + one.name, len(names), len(set(names)))
        same("places", {place for _, place in names} - {"path", "query", "header"}, set())

@check("every answer has a description, a known status and the header X-Request-Id")
def _():
    for one in OPERATIONS:
        for code, response in one.responses.items():
            subject = "%s of %s" % (code, one.name)
            holds("a description of " + subject, response.get("description"), response)
            holds("a status in " + subject, re.fullmatch(r"[2-5]\d\d|default", code), code)
            holds("X-Request-Id in " + subject, "X-Request-Id" in response["headers"], response)
            holds("a problem for " + subject, code[0] in "23" or list(response["content"]) == ["application/problem+json"], response)

@check("every schema uses only keywords that are looked at here, and admits no unknown member")
def _():
    schemas = [(where + "/schema", node["schema"]) for where, node in nodes() if "schema" in node and where[-11:] != "/properties"]
    schemas += [("#/components/schemas/" + name, one) for name, one in DOCUMENT["components"]["schemas"].items()]
    none("keywords", ["%s in %s" % (word, where) for where, schema in schemas for word in json_schema.unknown(schema)])
    none("objects open to other members", [
        where for where, node in nodes() if node.get("type") == "object" and "/openapi.json" not in where.replace("~1", "/")
        and node.get("additionalProperties") is not False])

@check("every body in the document has an example, and every example fits its schema")
def _():
    for where, media in medias():
        holds("a schema at " + where, "schema" in media, media)
        holds("an example at " + where, examples_of(media) or "openapi.json" in where, media)
        holds("example or examples at " + where, not ("example" in media and "examples" in media), media)
        for value in examples_of(media):
            none("faults of the example at " + where, json_schema.faults(DOCUMENT, media["schema"], value))
    for where, node in nodes():
        if "example" in node and "schema" in node and "/content/" not in where:
            none("faults of the example at " + where, json_schema.faults(DOCUMENT, node["schema"], node["example"]))

@check("the example of an error has the status that it is for")
def _():
    for one in OPERATIONS:
        for code, response in one.responses.items():
            for value in examples_of(response.get("content", {}).get("application/problem+json", {})):
                holds("%s of %s" % (code, one.name), str(value["status"]) == code or code == "default", value["status"])

@cases("the routes of {} are all on or all off", ("probes",), ("deals", "login"))
def _(*tags):
    found = {one.path: send("OPTIONS", one.path.replace("{id}", "1")).status for one in OPERATIONS if one.tag in tags}
    holds("one status", set(found.values()) in ({204}, {404}), found)


section("OpenAPI: the service does what the document says")

@cases("OPTIONS {} lists the documented methods", *[(path,) for path in DOCUMENT["paths"]])
def _(path):
    here = [one for one in OPERATIONS if one.path == path]
    answer = send("OPTIONS", path.replace("{id}", "1"))
    if is_off(here[0]) or is_refused(here[0]):
        status(answer, 404, 403)
        return
    methods = {one.method for one in here}
    same("Allow", allowed(status(answer, 204)), methods | {"OPTIONS"} | ({"HEAD"} if "GET" in methods else set()))

@cases("{0}, as in example {1}, answers as documented", *[
    (one.name, index + 1, one, example) for one in OPERATIONS for index, example in enumerate(one.examples())])
def _(_, __, operation, example):
    if is_off(operation):
        path = operation.path.replace("{id}", "1")
        documented(operation, send(operation.method, path, example[1] and json.dumps(example[1])), 404)
    else:
        documented(operation, request(operation, *example), 403 if is_refused(operation) else operation.success)


PROVOKE = {  # status -> how to get it from an operation that documents it
    304: {"headers": {"If-None-Match": "*"}},
    400: {"query": {"no-such-parameter": 1}},
    401: {"headers": {"Authorization": "Basic dTpw"}},
    404: {"number": (1 << 63) - 1},
    412: {"headers": {"If-Match": '"another"'}},
    413: {"body": "[%s]" % (" " * MIB)},
    415: {"headers": {"Content-Type": "text/plain"}},
    422: {"body": '{"no_such_member": 1}'},
}

@cases("{0} answers {1} as documented", *[
    (one.name, code, one) for one in OPERATIONS for code in PROVOKE
    if str(code) in one.responses and (code != 401 or "security" in one.node) and (code != 404 or "{id}" in one.path)])
def _(_, code, operation):
    if not is_off(operation) and not is_refused(operation):
        documented(operation, request(operation, *operation.examples()[0], **PROVOKE[code]), code)

@cases("{0} answers 409 as documented", *[(one.name, one) for one in OPERATIONS if one.method == "POST" and "409" in one.responses])
def _(_, operation):
    kind, example = operation.examples()[0]
    body = json.dumps(unique(example))
    status(request(operation, kind, body=body), 201)
    documented(operation, request(operation, kind, body=body), 409)

@check("DELETE /categories/{id} of one in use answers 409 as documented")
def _():
    operation = next(one for one in OPERATIONS if one.node["operationId"] == "deleteCategory")
    number = row_for(operation.path)
    product, _ = new_product(category_id=str(number))
    documented(operation, request(operation, number=number), 409)
    status(send("DELETE", product), 204)  # before the run's end deletes the category

@check("POST /api/login with a wrong password answers 401 as documented")
def _():
    operation = next(one for one in OPERATIONS if one.node["operationId"] == "login")
    if not is_off(operation):
        body = json.dumps(dict(LOGIN, password="another"))
        documented(operation, request(operation, "application/json", body=body), 401)
