"""Verifies bearer tokens (RFC 7519, HS256)."""
import base64
import hashlib
import hmac
import json
import os
import re
import time

LEEWAY = 30  # seconds by which clocks may differ
REFUSED = {"crit", "jwk", "jku", "x5u", "x5c"}
TOKEN = re.compile(r"bearer +([\w-]+)\.([\w-]+)\.([\w-]+)", re.ASCII | re.IGNORECASE)
LONGEST = 4096

with open(os.environ["SECRET_FILE"], encoding="ascii") as file:
    KID, SECRET = file.readline().split()


def decode(segment):
    """The object that a segment holds; empty when it holds none."""
    try:
        value = json.loads(base64.urlsafe_b64decode(segment + "=" * (-len(segment) % 4)))
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def is_signed(message, signature):
    code = hmac.digest(SECRET.encode(), message.encode(), hashlib.sha256)
    return hmac.compare_digest(base64.urlsafe_b64encode(code).rstrip(b"=").decode(), signature)


def is_time(value):
    return type(value) is int  # no bool


def user_of(authorization):
    """The user's id from an Authorization header, 0 when it holds no valid token."""
    found = TOKEN.fullmatch(authorization) if len(authorization) <= LONGEST else None
    if found is None or not is_signed(found[1] + "." + found[2], found[3]):
        return 0
    header, claims, now = decode(found[1]), decode(found[2]), int(time.time())
    if header.get("alg") != "HS256" or header.get("kid", KID) != KID or REFUSED & header.keys():
        return 0
    expires, subject = claims.get("exp"), claims.get("sub")
    past = [claims.get(name, now) for name in ("nbf", "iat")]
    if not (is_time(expires) and now - LEEWAY < expires and all(is_time(each) and each <= now + LEEWAY for each in past)):
        return 0
    return int(subject) if isinstance(subject, str) and re.fullmatch("[1-9][0-9]{0,17}", subject) else 0
