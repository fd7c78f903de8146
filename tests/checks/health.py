"""The probes that tell whether the service is up."""
from checks.tools import check, holds, json_of, same, section, status
from checks.wire import send

section("Probes")

@check("GET /health answers 200 text/plain with ok")
def _():
    answer = status(send("GET", "/health"), 200)
    same("Content-Type", answer.media_type, "text/plain")
    same("the body", answer.body.strip(), b"ok")

@check("GET /ready answers 200 with a JSON object whose ready is true")
def _():
    value = json_of(send("GET", "/ready"))
    holds("an object", isinstance(value, dict), value)
    same("ready", value.get("ready"), True)
