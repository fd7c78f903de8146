"""How often an address may log in. Last, since it uses up what there is."""
from checks.credentials import mine
from checks.tools import check, holds, json_of, problem, section, status
from checks.wire import send


section("Login: how often")

@check("too many logins from one address answer 429 with Retry-After; reading goes on")
def _():
    for _ in range(40):
        answer = send("POST", "/api/login", "{}")
        if answer.status != 422:
            break
    problem(answer, 429)
    holds("Retry-After", (answer.get("Retry-After") or "").isdigit(), answer.get("Retry-After"))
    json_of(send("GET", "/api/deals", None, mine()))
    status(send("GET", "/api/login"), 405)
