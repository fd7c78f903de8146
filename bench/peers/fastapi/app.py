"""A peer of the benchmark: FastAPI on uvicorn with uvloop and httptools, two processes of Debian's Python.

What a reader of its figures has to know: the endpoints are coroutines, and each process has one connection to SQLite,
which they use without leaving it to a thread. That is the fastest way here, and a write holds up its process. The
processes meet at SQLite's own lock (its busy timeout), which sleeps and tries again."""
import asyncio
import http
import os
import random
import sqlite3
import time
from typing import Literal

from fastapi import Depends, FastAPI, Header, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from pydantic import BaseModel, ConstrainedStr, Extra, conint, constr
from starlette.exceptions import HTTPException

from tokens import user_of

ID_LIMIT = 2 ** 63 - 1

PRODUCT = """
    SELECT p.id, p.sku, p.name, p.price_cents, p.stock, p.category_id, c.name, p.created_at, p.updated_at
    FROM products p JOIN categories c ON c.id = p.category_id """
DEAL = """
    SELECT d.id, d.title, d.amount_cents, d.status, d.owner_id, u.name, d.created_at
    FROM deals d JOIN users u ON u.id = d.owner_id """

app = FastAPI()

# sqlite3 keeps the statements prepared; without isolation_level each is a transaction of its own
database = sqlite3.connect(os.environ["DB"], isolation_level=None, timeout=5)
database.execute("PRAGMA journal_mode = WAL")
database.execute("PRAGMA foreign_keys = ON")
database.execute("PRAGMA synchronous = " + ("NORMAL" if os.environ.get("SYNC") == "normal" else "FULL"))


def row(sql, *values):
    return database.execute(sql, values).fetchone()


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


# ---- problems

def problem(status, detail, headers=None):
    document = {"type": "about:blank", "title": http.HTTPStatus(status).phrase, "status": status, "detail": detail}
    return JSONResponse(document, status, headers, "application/problem+json")


@app.exception_handler(HTTPException)
async def answer_exception(request: Request, error: HTTPException):
    return problem(error.status_code, str(error.detail), getattr(error, "headers", None))


@app.exception_handler(RequestValidationError)
async def answer_invalid(request: Request, error: RequestValidationError):
    first = error.errors()[0]
    detail = "%s: %s" % (".".join(map(str, first["loc"])), first["msg"])
    if first["loc"][0] == "path":
        return problem(404, "there is nothing at this path")
    if first["loc"][0] != "body":
        return problem(400, detail)
    if first["type"] == "value_error.jsondecode" or request.headers.get("content-length", "0") == "0":
        return problem(400, "the body is not JSON")
    return problem(422, detail)


@app.exception_handler(Exception)
async def answer_failure(request: Request, error: Exception):
    return problem(500, "the request failed")


# ---- products

class Title(ConstrainedStr):
    strict, max_length, regex = True, 200, r"(?s).*\S"  # not all blank


class Product(BaseModel, extra=Extra.forbid):
    sku: constr(strict=True, regex=r"^[A-Za-z0-9._-]{1,64}\Z")
    name: Title
    price_cents: conint(strict=True, ge=0, le=10 ** 12)
    stock: conint(strict=True, ge=0, le=10 ** 9) = 0
    category_id: conint(strict=True, ge=1, le=ID_LIMIT)


def to_product(columns):
    number, sku, name, price_cents, stock, category_id, category, created_at, updated_at = columns
    return {"id": number, "sku": sku, "name": name, "price_cents": price_cents, "stock": stock,
            "category": {"id": category_id, "name": category}, "created_at": created_at, "updated_at": updated_at}


@app.get("/products/{number}")
async def read_product(number: int = Path(ge=1, le=ID_LIMIT)):
    columns = row(PRODUCT + "WHERE p.id = ?", number)
    if columns is None:
        return problem(404, "there is no product with this id")
    return JSONResponse(to_product(columns))


@app.get("/products")
async def list_products(limit: int = Query(20, ge=1, le=100), after: int = Query(0, ge=0, le=ID_LIMIT)):
    rows = database.execute(PRODUCT + "WHERE p.id > ? ORDER BY p.id LIMIT ?", (after, limit + 1)).fetchall()
    items = [to_product(columns) for columns in rows[:limit]]
    next_page = "/products?after=%d&limit=%d" % (items[-1]["id"], limit) if len(rows) > limit else None
    return JSONResponse({"items": items, "next": next_page})


@app.post("/products")
async def create_product(product: Product):
    try:
        number = database.execute(
            "INSERT INTO products (sku, name, price_cents, stock, category_id, created_at, updated_at)"
            " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)",
            (product.sku, product.name, product.price_cents, product.stock, product.category_id, now())).lastrowid
    except sqlite3.IntegrityError as error:
        if error.sqlite_errorname == "SQLITE_CONSTRAINT_UNIQUE":
            return problem(409, "another product has this sku")
        if error.sqlite_errorname == "SQLITE_CONSTRAINT_FOREIGNKEY":
            return problem(422, "category_id must be the id of a category")
        raise
    return JSONResponse(to_product(row(PRODUCT + "WHERE p.id = ?", number)), 201, {"Location": "/products/%d" % number})


@app.delete("/products/{number}")
async def delete_product(number: int = Path(ge=1, le=ID_LIMIT)):
    if database.execute("DELETE FROM products WHERE id = ?", (number,)).rowcount == 0:
        return problem(404, "there is no product with this id")
    return Response(status_code=204)


# ---- deals

class Deal(BaseModel, extra=Extra.forbid):
    title: Title
    amount_cents: conint(strict=True, ge=0, le=10 ** 15)
    status: Literal["open", "won", "lost"] = "open"


def to_deal(columns):
    number, title, amount_cents, status, owner_id, owner, created_at = columns
    return {"id": number, "title": title, "amount_cents": amount_cents, "status": status,
            "owner": {"id": owner_id, "name": owner}, "created_at": created_at}


async def authenticate(authorization: str = Header("")):
    """The user of the request's token."""
    user = user_of(authorization)
    if user == 0 or row("SELECT 1 FROM users WHERE id = ? AND active = 1", user) is None:
        raise HTTPException(401, "a valid token is needed", {"WWW-Authenticate": 'Bearer error="invalid_token"'})
    return user


@app.get("/api/deals")
async def list_deals(page: int = Query(1, ge=1, le=10 ** 15), per_page: int = Query(20, ge=1, le=100),
                     user: int = Depends(authenticate)):
    total, = row("SELECT sum(count) FROM deal_counts")
    rows = database.execute(DEAL + "ORDER BY d.created_at DESC, d.id DESC LIMIT ? OFFSET ?",
                            (per_page, (page - 1) * per_page))
    return JSONResponse({"items": [to_deal(columns) for columns in rows], "page": page, "per_page": per_page,
                         "total": total, "pages": -(-total // per_page)})


@app.post("/api/deals")
async def create_deal(deal: Deal, user: int = Depends(authenticate)):
    number = database.execute(
        "INSERT INTO deals (title, amount_cents, status, owner_id, created_at) VALUES (?, ?, ?, ?, ?)",
        (deal.title, deal.amount_cents, deal.status, user, now())).lastrowid
    return JSONResponse(to_deal(row(DEAL + "WHERE d.id = ?", number)), 201, {"Location": "/api/deals/%d" % number})


# ---- probes

@app.get("/health")
async def health():
    return PlainTextResponse("ok")


@app.get("/json")
async def greet():
    return JSONResponse({"message": "Hello, World!"})


def random_row():
    number, value = row("SELECT id, random_number FROM world WHERE id = ?", random.randint(1, 10000))
    return {"id": number, "randomNumber": value}


@app.get("/db")
async def read_world():
    return JSONResponse(random_row())


@app.get("/queries")
async def read_queries(queries: str = ""):
    count = min(max(int(queries), 1), 500) if queries.isdecimal() else 1
    return JSONResponse([random_row() for _ in range(count)])


@app.get("/wait")
async def wait(ms: int = Query(1000, ge=0, le=30000)):
    await asyncio.sleep(ms / 1000)
    return JSONResponse({"waited_ms": ms})
