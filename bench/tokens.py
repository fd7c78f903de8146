"""Bearer tokens for the checks and for the load, made with the secret that the server has."""
import base64
import hashlib
import hmac
import json
import pathlib
import time


def read_secret(path):
    """The name and the text of the key that signs."""
    return pathlib.Path(path).read_text().splitlines()[0].split(" ")


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def token(secret, header=None, **claims):
    """Good for a day and user 1, unless the arguments say otherwise; a claim that is None is left out."""
    claims = {"sub": "1", "exp": int(time.time()) + 86400, **claims}
    parts = [{"alg": "HS256", "typ": "JWT", **(header or {})},
             {name: value for name, value in claims.items() if value is not None}]
    signed = b".".join(base64url(json.dumps(part).encode()) for part in parts)
    code = hmac.new(secret.encode(), signed, hashlib.sha256).digest()
    return (signed + b"." + base64url(code)).decode()
