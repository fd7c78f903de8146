"""A small validator for JSON Schema 2020-12: the keywords that docs/openapi.json uses, and no others.

    list(faults(document, schema, value))   what is wrong with the value: texts, none when it is valid
    list(unknown(schema))                   keywords that nobody would look at here

Stricter than the specification in one point, as the service is: 1.0 is no integer.
"""
import datetime
import re

TYPES = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}
FORMATS = {"date-time", "int64", "uri-reference", "json-pointer", "password"}
ANNOTATIONS = {"description", "default", "format"}
LIMITS = {  # keyword -> what of a value it limits, and whether it holds
    "minimum": (lambda value: value, lambda number, limit: number >= limit, "integer"),
    "maximum": (lambda value: value, lambda number, limit: number <= limit, "integer"),
    "minLength": (len, lambda number, limit: number >= limit, "string"),
    "maxLength": (len, lambda number, limit: number <= limit, "string"),
    "minItems": (len, lambda number, limit: number >= limit, "array"),
    "maxItems": (len, lambda number, limit: number <= limit, "array"),
}
KEYWORDS = {"$ref", "type", "const", "enum", "pattern", "properties", "required", "additionalProperties", "items", "oneOf",
            "anyOf", *LIMITS, *ANNOTATIONS}


def resolve(document, reference):
    """What "#/a/b" points to; KeyError when there is nothing."""
    if not reference.startswith("#/"):
        raise KeyError(reference)
    node = document
    for part in reference[2:].split("/"):
        node = node[part.replace("~1", "/").replace("~0", "~")]
    return node


def inner(schema):
    """The schemas right inside one."""
    yield from schema.get("properties", {}).values()
    yield from schema.get("oneOf", []) + schema.get("anyOf", [])
    if "items" in schema:
        yield schema["items"]


def unknown(schema):
    yield from sorted(set(schema) - KEYWORDS)
    if schema.get("format", "int64") not in FORMATS:
        yield "format " + schema["format"]
    types = schema.get("type", [])
    yield from ("type " + name for name in ([types] if isinstance(types, str) else types) if name not in TYPES)
    if schema.get("additionalProperties", False) is not False:
        yield "additionalProperties other than false"
    for part in inner(schema):
        yield from unknown(part)


def equal(one, other):
    """True, 1 and 1.0 are three values."""
    return type(one) is type(other) and one == other


def faults(document, schema, value, where=""):
    def fault(text):
        return "%s %s" % (where or "the value", text)

    if "$ref" in schema:
        yield from faults(document, resolve(document, schema["$ref"]), value, where)
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(TYPES[name](value) for name in types):
        yield fault("is %r, no %s" % (value, " or ".join(types)))
        return
    if "const" in schema and not equal(value, schema["const"]):
        yield fault("is %r, not %r" % (value, schema["const"]))
    if "enum" in schema and not any(equal(value, one) for one in schema["enum"]):
        yield fault("is %r, none of %r" % (value, schema["enum"]))
    for keyword, (measure, is_within, kind) in LIMITS.items():
        if keyword in schema and TYPES[kind](value) and not is_within(measure(value), schema[keyword]):
            yield fault("%s is past %s %d" % (value, keyword, schema[keyword]))
    if isinstance(value, str):
        yield from (fault(text) for text in string_faults(schema, value))
    if isinstance(value, dict):
        yield from (fault("lacks " + name) for name in schema.get("required", []) if name not in value)
        properties = schema.get("properties", {})
        for name, member in value.items():
            if name in properties:
                yield from faults(document, properties[name], member, "%s/%s" % (where, name))
            elif schema.get("additionalProperties") is False:
                yield fault("has the unknown member " + name)
    if isinstance(value, list) and "items" in schema:
        for index, element in enumerate(value):
            yield from faults(document, schema["items"], element, "%s/%d" % (where, index))
    for keyword in "oneOf", "anyOf":
        if keyword in schema:
            found = [list(faults(document, one, value, where)) for one in schema[keyword]]
            fits = sum(not one for one in found)
            if fits == 0 or (keyword == "oneOf" and fits > 1):
                yield fault("fits %d of %s: %s" % (fits, keyword, found))


def string_faults(schema, value):
    # in JavaScript's expressions, which are meant, $ is the very end
    if "pattern" in schema and not re.search(re.sub(r"\$$", r"\\Z", schema["pattern"]), value):
        yield "is %r, which does not match %s" % (value, schema["pattern"])
    if schema.get("format") == "date-time":
        try:
            datetime.datetime.fromisoformat(value.replace("Z", "+00:00"))
        except ValueError:
            yield "is %r, no time" % value
