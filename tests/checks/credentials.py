"""Who the run is to the service: logging in, forging tokens, and deals to try them on.

Logs in as --email with --password (the demo data's first user), and as --other-email for what is between two
users. Tokens are forged with the key of --secret-file, the service's own; without the option, with the one
that `make run` has made.
"""
import base64
import hashlib
import hmac
import json
import pathlib
import time

from checks.tools import holds, is_strong_tag, json_of, problem, same
from checks.wire import DELETE_HEADERS, MARKS, Mismatch, Site, send

DEAL_KEYS = ["id", "title", "amount_cents", "status", "owner", "created_at"]
INVALID_TOKEN = 'Bearer error="invalid_token"'
MADE_BY_MAKE = pathlib.Path(__file__).resolve().parents[2] / "var" / "secret"


class Options:
    """Filled in by contract.py."""
    email = other_email = password = secret_file = None

    @classmethod
    def use(cls, chosen):
        cls.email, cls.other_email = chosen.email, chosen.other_email
        cls.password, cls.secret_file = chosen.password, chosen.secret_file


class Tokens:
    """Of the run, each when first asked for."""
    mine = other = key = None
    owners = {}  # path of a deal -> headers of its owner

    @classmethod
    def my(cls):
        cls.mine = cls.mine or log_in(Options.email)
        return cls.mine

    @classmethod
    def others(cls):
        cls.other = cls.other or log_in(Options.other_email)
        return cls.other

    @classmethod
    def secret(cls):
        """The name and the bytes of the key that signs."""
        if cls.key is None:
            path = pathlib.Path(Options.secret_file or MADE_BY_MAKE)
            if not path.exists():
                raise Mismatch("this check forges tokens", "--secret-file PATH, the service's own", "no file %s" % path.name)
            name, secret = path.read_text().splitlines()[0].split(" ")
            cls.key = name, secret.encode()
        return cls.key


def post_login(body, headers=None):
    """POST /api/login; waits when the run, or one before it, has used up what an address may ask."""
    for _ in range(20):
        answer = send("POST", "/api/login", body, headers)
        if answer.status != 429:
            return answer
        time.sleep(float(answer.get("Retry-After")))
    return answer


def pair(email, password):
    return json.dumps({"email": email, "password": password})


def log_in(email):
    answer = post_login(pair(email, Options.password))
    if answer.status != 200:
        raise Mismatch("the login of %s" % email, "200, or --email, --other-email and --password that fit",
                       answer.summary())
    return answer.json()["token"]


def bearer(token):
    return {"Authorization": "Bearer " + token}


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def sign(signed, secret=None, digest=hashlib.sha256):
    code = hmac.new(secret or Tokens.secret()[1], signed.encode(), digest).digest()
    return "%s.%s" % (signed, encode(code))


def forge(header=None, claims=None, secret=None):
    """A rightly signed token; header and claims are JSON text or values, and changes to the usual ones."""
    usual = {"alg": "HS256", "typ": "JWT"}
    now = int(time.time())
    usual_claims = {"sub": str(json.loads(decode(Tokens.my().split(".")[1]))["sub"]), "exp": now + 600}

    def text(usual, changes):
        if isinstance(changes, (str, bytes)):
            return changes.encode("latin-1") if isinstance(changes, str) else changes
        value = {**usual, **{key: change(now) if callable(change) else change
                             for key, change in (changes or {}).items()}}
        return json.dumps({key: member for key, member in value.items() if member is not LEFT_OUT}).encode()
    return sign("%s.%s" % (encode(text(usual, header)), encode(text(usual_claims, claims))), secret)


LEFT_OUT = object()


def mine(**more):
    """Headers of a request of the run's user."""
    return {**bearer(Tokens.my()), **{name.replace("_", "-"): value for name, value in more.items()}}


def refused(answer):
    """Holds an answer to be the one 401 there is."""
    problem(answer, 401)
    same("WWW-Authenticate", answer.get("WWW-Authenticate"), INVALID_TOKEN)
    holds("the same body for every reason", answer.body == send("GET", "/api/deals").body, answer.body)


def refuses(token):
    refused(send("GET", "/api/deals", None, bearer(token)))


def accepts(token):
    json_of(send("GET", "/api/deals?per_page=1", None, bearer(token)))


# -- deals

def deal(**members):
    usual = {"title": '"A deal"', "amount_cents": "5"}
    usual.update(members)
    return "{%s}" % ", ".join('"%s": %s' % item for item in usual.items() if item[1] is not None)


def post(body, headers=None):
    answer = send("POST", "/api/deals", body, headers or mine())
    if answer.status == 201:
        Tokens.owners[path_of(answer)] = {"Authorization": (headers or mine())["Authorization"]}
    return answer


def path_of(answer):
    return "/api/deals/%d" % answer.json()["id"]


def created_deal(answer):
    """Holds an answer to be a complete 201 for a deal."""
    value = json_of(answer, 201)
    same("the deal's members", list(value), DEAL_KEYS)
    same("Location", answer.get("Location"), Site.prefix + path_of(answer))
    holds("a strong ETag", is_strong_tag(answer.get("ETag")), answer.get("ETag"))
    return answer


def new_deal(headers=None, **members):
    answer = created_deal(post(deal(**members), headers))
    return path_of(answer), answer


def listed(query=""):
    value = json_of(send("GET", "/api/deals" + query, None, mine()))
    same("members of a page", list(value), ["items", "page", "per_page", "total", "pages"])
    return value


class Lasting:
    """A deal that every check may read and none may change."""
    path = answer = None

    @classmethod
    def get(cls):
        if cls.path is None:
            cls.path, cls.answer = new_deal()
        return cls.path, cls.answer


DELETE_HEADERS["/api/deals/"] = lambda path: Tokens.owners.get(path) or mine()
MARKS["<DEAL>"] = lambda: Lasting.get()[0].rsplit("/", 1)[1]
MARKS["<TOKEN>"] = lambda: Tokens.my()
