"""What holds for every answer of the whole run."""
import re

from checks.tools import always, is_request_id, problem_complaint

@always("always: no request is answered with a 5xx")
def _(answer):
    return "a 5xx" if answer.status >= 500 else None

@always("always: X-Request-Id is there, once, 1..64 of A-Za-z0-9._-")
def _(answer):
    ids = answer.all("X-Request-Id")
    return None if len(ids) == 1 and is_request_id(ids[0]) else "X-Request-Id %r" % ids

@always("always: an answer with a body has Server, Date, Content-Type and Content-Length, once each")
def _(answer):
    wrong = [name for name in ("Server", "Date", "Content-Type", "Content-Length") if len(answer.all(name)) != 1]
    if answer.get("Content-Encoding") and "Content-Length" in wrong and not answer.get("Content-Length"):
        wrong.remove("Content-Length")  # nginx compresses while it sends
    return "%s missing or repeated" % ", ".join(wrong) if answer.body and wrong else None

@always("always: no answer is sent with a Transfer-Encoding, unless it is compressed")
def _(answer):
    return "Transfer-Encoding" if answer.get("Transfer-Encoding") and not answer.get("Content-Encoding") else None

@always("always: no answer sets a cookie")
def _(answer):
    return "Set-Cookie" if answer.get("Set-Cookie") else None

@always("always: an error is a whole application/problem+json")
def _(answer):
    return problem_complaint(answer) if answer.status >= 400 else None

@always("always: an error tells nothing internal")
def _(answer):
    text = answer.body.decode("utf-8", "replace") if answer.status >= 400 else ""
    found = re.search(r"(?i:sqlite|errno|fastcgi|json-c)|/var/|/home/|/root/|/tmp/|SELECT |INSERT |UPDATE |DELETE FROM|UNIQUE c", text)
    return "it says %r" % found.group() if found else None

@always("always: a 204 or 304 has no Content-Type, and a 204 no Content-Length")
def _(answer):
    unfit = {204: ("Content-Type", "Content-Length"), 304: ("Content-Type",)}.get(answer.status, ())
    return next((name for name in unfit if answer.get(name) is not None), None)

@always("always: nothing is allowed to other origins while CORS is not configured")
def _(answer):
    return next((name for name, _ in answer.headers if name.lower().startswith("access-control-")), None)
