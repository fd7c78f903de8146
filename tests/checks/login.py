"""POST /api/login: an email and a password for a token."""
import json
import time

from checks.credentials import Options, Tokens, accepts, decode, pair, post_login
from checks.tools import cases, check, holds, json_of, problem, same, section, status
from checks.wire import send


section("Login")

@check("POST /api/login answers 200 with a token and the time at which it expires, not to be stored")
def _():
    answer = post_login(pair(Options.email, Options.password))
    value = json_of(answer)
    same("the members", list(value), ["token", "expires_at"])
    same("Cache-Control", answer.get("Cache-Control"), "no-store")
    header, claims, _signature = [decode(part) for part in value["token"].split(".")]
    same("alg", json.loads(header)["alg"], "HS256")
    claims = json.loads(claims)
    holds("sub of digits", claims["sub"].isdigit(), claims)
    same("expires_at", value["expires_at"], time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(claims["exp"])))
    holds("a time ahead", claims["exp"] > time.time(), claims)
    accepts(value["token"])
    Tokens.mine = value["token"]

@check("the email's upper and lower case do not matter")
def _():
    accepts(json_of(post_login(pair(Options.email.upper(), Options.password)))["token"])

@check("POST /api/login with a wrong password and with an unknown email answers the same 401 in the same time")
def _():
    def attempt(email, password):
        started = time.monotonic()
        answer = post_login(pair(email, password))
        return time.monotonic() - started, answer
    wrong = [attempt(Options.email, "not the password") for _ in range(2)]
    unknown = [attempt("nobody@example.invalid", "not the password") for _ in range(2)]
    for _, answer in wrong + unknown:
        problem(answer, 401)
        same("WWW-Authenticate", answer.get("WWW-Authenticate"), "Bearer")
        same("the body", answer.body, wrong[0][1].body)
        same("the headers", [name for name, _ in answer.headers], [name for name, _ in wrong[0][1].headers])
    shorter, longer = sorted([min(wrong)[0], min(unknown)[0]])
    holds("neither takes four times as long", longer < 4 * shorter, "%.4f s and %.4f s" % (min(wrong)[0], min(unknown)[0]))

@check("POST /api/login with members of the wrong shape answers 422 with all errors")
def _():
    problem(post_login('{"email": "", "password": 5, "remember": true}'), 422,
            pointers=["/email", "/password", "/remember"])

@check("POST /api/login with a body that is not JSON answers 400")
def _():
    problem(post_login("email=a&password=b"), 400)

@cases("{} /api/login answers 405 with Allow: POST", ("GET",), ("HEAD",), ("PUT",), ("DELETE",), ("PATCH",))
def _(method):
    answer = problem(send(method, "/api/login", None), 405)
    same("Allow", answer.get("Allow"), "POST, OPTIONS")

@check("OPTIONS /api/login answers 204 with Allow")
def _():
    same("Allow", status(send("OPTIONS", "/api/login"), 204).get("Allow"), "POST, OPTIONS")

@cases("POST {} answers 404", ("/api/login/",), ("/api/login/x",), ("/api/Login",), ("/api",), ("/login",))
def _(path):
    problem(send("POST", path, "{}"), 404)
