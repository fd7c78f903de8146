"""Secrets, users and tokens, as the one who runs the service sees them: starts refused, keys changed, users switched
off, and what becomes of logins and of idempotency keys when a worker dies."""
import contextlib
import datetime
import os
import pathlib
import sqlite3
import tempfile
import threading

from fastcgi_client import FastCGI
from harness import (Service, create_database, expect, expect_each, expect_equal, expect_problem, new_secret, run_larder,
                     wait_until, write_secrets)
from runner import test

EMAIL, PASSWORD = "user1@example.com", "larder-demo"
DEAL = {"title": "A deal", "amount_cents": 5}


def log_in(client, email=EMAIL, password=PASSWORD):
    return client.post("/api/login", {"email": email, "password": password})


def bearer(token):
    return {"Authorization": "Bearer " + token}


def token(service, *flags, user=1):
    done = run_larder("token", "--user", str(user), "--secret-file", service.secret_file, *flags)
    expect_equal((done.returncode, done.stderr), (0, ""), "larder token")
    return done.stdout.strip()


def expect_deals(service, text, status):
    answer = service.client().get("/api/deals?per_page=1", bearer(text))
    if status == 200:
        expect_equal(answer.status, 200, "status of %s" % answer)
    else:
        expect_problem(answer, status)
        expect_equal(answer.headers["WWW-Authenticate"], 'Bearer error="invalid_token"', "WWW-Authenticate")


def user(service, action, *flags, typed="", status=0):
    done = run_larder("user", action, "--db", service.database, *flags, typed=typed)
    expect_equal(done.returncode, status, "exit status of larder user %s: %s" % (action, done.stderr))
    sentences = [line for line in done.stderr.splitlines() if line.startswith("larder: ")]
    expect_equal(len(done.stdout.splitlines() + sentences), 1, "lines of larder user %s" % action)
    return done


@contextlib.contextmanager
def directory():
    with tempfile.TemporaryDirectory(prefix="larder-") as path:
        yield pathlib.Path(path)


# ------------------------------------------------------------------------------------------- the secret file

@test("a secret file that is short, open to all, malformed or not there stops the start, with a sentence and no secret")
def _():
    secret = "0123456789abcdef" * 2
    contents = {
        "a secret of 31 bytes": "1 %s\n" % secret[:31], "a short second one": "1 %s\n2 %s\n" % (secret, secret[:31]),
        "the same name twice": "1 %s\n1 %s\n" % (secret, secret), "three keys": "".join("%d %s\n" % (i, secret) for i in (1, 2, 3)),
        "nothing": "", "no name": secret + "\n", "a name with a slash": "a/b %s\n" % secret, "CRLF": "1 %s\r\n" % secret,
    }
    with directory() as here:
        create_database(str(here / "db"), demo=False)

        def refused(path):
            done = run_larder("serve", "--db", str(here / "db"), "--run-dir", str(here / "run"), "--secret-file", str(path))
            expect_equal((done.returncode, done.stdout), (1, ""), "larder serve with %s" % path.name)
            expect_equal(done.stderr.count("\n"), 1, "lines about %s: %s" % (path.name, done.stderr))
            expect("secret file" in done.stderr and secret[:16] not in done.stderr, done.stderr)
            done = run_larder("check", "--db", str(here / "db"), "--secret-file", str(path))
            expect_equal(done.returncode, 1, "larder check with %s" % path.name)
            done = run_larder("token", "--user", "1", "--secret-file", str(path))
            expect_equal((done.returncode, done.stdout), (1, ""), "larder token with %s" % path.name)
        paths = [here / name for name in contents]
        for path in paths:
            write_secrets(path, contents[path.name])
        write_secrets(here / "open to all", "1 %s\n" % secret)
        os.chmod(here / "open to all", 0o644)
        (here / "a directory").mkdir()
        expect_each([*paths, here / "open to all", here / "a directory", here / "nowhere"], refused)


@test("larder check tells which key signs and which is still accepted")
def _():
    with directory() as here:
        create_database(str(here / "db"), demo=False)
        write_secrets(here / "secret", new_secret("b"), new_secret("a"))
        done = run_larder("check", "--db", str(here / "db"), "--secret-file", str(here / "secret"))
        expect_equal(done.returncode, 0, "exit status: " + done.stderr)
        expect("key b signs, key still accepted: a\n" in done.stdout, done.stdout)
        done = run_larder("check", "--db", str(here / "db"))
        expect("secret file: none" in done.stdout, done.stdout)


@test("without a secret file there are no logins, no deals and no login worker")
def _():
    with Service(readers=1) as service:
        client = service.client()
        expect_equal(set(service.pids()), {"writer", "reader 1"}, "the workers")
        for method in ("GET", "POST", "OPTIONS", "DELETE"):
            for path in ("/api/login", "/api/deals", "/api/deals/1"):
                expect_problem(client.request(method, path, {} if method == "POST" else None), 404)
        expect_problem(log_in(client), 404)
        expect_equal(client.get("/products/1").status, 200, "a product")


@test("the second of two keys is accepted until it goes, while the first signs")
def _():
    old, new = new_secret("a"), new_secret("b")
    with Service(readers=1, secrets=[old]) as service:
        first = log_in(service.client()).json()["token"]
        expect_deals(service, first, 200)

        def restart(*lines):
            service.supervisor.terminate()
            service.supervisor.wait()
            write_secrets(service.secret_file, *lines)
            service.serve()
            service.wait_ready()
        restart(new, old)
        second = log_in(service.client()).json()["token"]
        expect_deals(service, first, 200)
        expect_deals(service, second, 200)
        restart(new)
        expect_deals(service, first, 401)
        expect_deals(service, second, 200)


@test("--token-issuer and --token-audience are asked of every token, --token-ttl is how long one is good")
def _():
    flags = ["--token-issuer", "https://larder.example", "--token-audience", "shop"]
    with Service(*flags, "--token-ttl", "60", readers=1, secrets=[new_secret()]) as service:
        expect_deals(service, token(service, *flags), 200)
        expect_each([[], flags[:2], flags[2:], [*flags[:3], "shops"]],
                    lambda some: expect_deals(service, token(service, *some), 401))
        answer = log_in(service.client()).json()
        expect_deals(service, answer["token"], 200)
        expires = datetime.datetime.strptime(answer["expires_at"], "%Y-%m-%dT%H:%M:%SZ")
        left = expires - datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)
        expect(50 <= left.total_seconds() <= 60, "it expires in %s" % left)


# --------------------------------------------------------------------------------------------------- users

@test("a user who is switched off is refused at once, with tokens that are good and at the login; switched on again, not")
def _():
    with Service(readers=2, secrets=[new_secret()]) as service:
        client = service.client()
        good = log_in(client).json()["token"]
        expect_deals(service, good, 200)
        user(service, "disable", "--email", EMAIL.upper())
        expect_deals(service, good, 401)
        expect_problem(client.post("/api/deals", DEAL, bearer(good)), 401)
        refused, unknown = log_in(client), log_in(client, "nobody@example.com")
        expect_problem(refused, 401)
        expect_equal(refused.body, unknown.body, "the answer to a user who is switched off")
        expect_deals(service, token(service, user=2), 200)
        user(service, "enable", "--email", EMAIL)
        expect_deals(service, good, 200)
        expect_equal(log_in(client).status, 200, "a login")


@test("users are added and given passwords beside a running service")
def _():
    with Service(readers=1, secrets=[new_secret()]) as service:
        client = service.client()
        added = user(service, "add", "--email", "Ada@example.org", "--name", "Ada Lovel\u00e4ce", typed="eight ch\n")
        answer = log_in(client, "ada@EXAMPLE.org", "eight ch")
        expect_equal(answer.status, 200, "a login: %s" % answer)
        made = client.post("/api/deals", DEAL, bearer(answer.json()["token"])).json()
        expect_equal(made["owner"]["name"], "Ada Lovel\u00e4ce", "the owner")
        expect("user %d," % made["owner"]["id"] in added.stdout, "it says %s" % added.stdout)
        user(service, "passwd", "--email", "ada@example.org", typed="another \u00e4 one")
        expect_problem(log_in(client, "ada@example.org", "eight ch"), 401)
        expect_equal(log_in(client, "ada@example.org", "another \u00e4 one").status, 200, "the new password")
        # a change that is refused changes nothing
        user(service, "add", "--email", "ADA@example.org", "--name", "Ada", typed="long enough\n", status=1)
        for typed in ("", "\n", "seven c\n", "x" * 201 + "\n", "x" * 3000):
            user(service, "passwd", "--email", "ada@example.org", typed=typed, status=1)
        for action in ("passwd", "disable", "enable"):
            user(service, action, "--email", "nobody@example.org", typed="long enough\n", status=1)
        expect_equal(log_in(client, "ada@example.org", "another \u00e4 one").status, 200, "the password that stayed")


@test("a password is never taken from the command line, and what is missing is asked for")
def _():
    expect_each((["user", "add", "--password", "x"], ["user"], ["user", "remove"], ["user", "add", "--email", "nobody"],
                 ["user", "add", "--email", "a b@c"], ["user", "add", "--name", " "], ["token", "--user", "0"],
                 ["token", "--ttl", "0"]),
                lambda arguments: expect_equal(run_larder(*arguments).returncode, 2, "larder %s" % " ".join(arguments)))
    expect_each((["user", "add"], ["user", "passwd"], ["user", "disable"], ["user", "add", "--email", "a@b"], ["token"],
                 ["token", "--user", "1"]),
                lambda arguments: expect_equal(run_larder(*arguments).returncode, 1, "larder %s" % " ".join(arguments)))


@test("a user is changed while writes go on, and a database that stays locked is a sentence")
def _():
    with Service(readers=1, secrets=[new_secret()]) as service:
        stop, failures = threading.Event(), []

        def write(client=service.client(), headers=bearer(token(service))):
            while not stop.is_set():
                answer = client.post("/api/deals", DEAL, headers)
                if answer.status != 201:
                    failures.append(str(answer))
        writer = threading.Thread(target=write)
        writer.start()
        try:
            for _ in range(20):
                user(service, "disable", "--email", "user3@example.com")
                user(service, "enable", "--email", "user3@example.com")
        finally:
            stop.set()
            writer.join()
        expect(not failures, "%d writes failed: %s" % (len(failures), failures[:1]))
        other = sqlite3.connect(service.database, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        done = user(service, "disable", "--email", EMAIL, status=1)
        expect("busy" in done.stderr, done.stderr)
        other.execute("ROLLBACK")
        other.close()
        expect_equal(log_in(service.client()).status, 200, "a login")


# --------------------------------------------------------------------------------------------- the login worker

@test("a login worker that dies is replaced; deals are served meanwhile")
def _():
    with Service(readers=1, secrets=[new_secret()]) as service:
        client = service.client()
        good = log_in(client).json()["token"]
        pid, _ = service.kill("login")
        expect_deals(service, good, 200)
        service.wait_successor("login", pid)
        wait_until(lambda: log_in(client).status == 200, 5, "a login succeeds again")


@test("with --readers 0 logins still have a process of their own")
def _():
    with Service(readers=0, secrets=[new_secret()]) as service:
        expect_equal(set(service.pids()), {"writer", "login"}, "the workers")
        expect_deals(service, log_in(service.client()).json()["token"], 200)


@test("a login in the wrong lane, and a deal in the login worker's, is 421")
def _():
    with Service(readers=1, secrets=[new_secret()]) as service:
        body = b'{"email": "user1@example.com", "password": "larder-demo"}'
        for name in ("read.sock", "write.sock"):
            with FastCGI(service.socket_path(name)) as peer:
                expect_equal(peer.request("POST", "/api/login", body).status, 421, "a login to " + name)
        with FastCGI(service.socket_path("login.sock")) as peer:
            expect_equal(peer.request("POST", "/api/deals", body).status, 421, "a deal to login.sock")
            expect_equal(peer.request("GET", "/api/deals").status, 421, "the deals from login.sock")
            expect_equal(peer.request("GET", "/api/login").status, 405, "GET of the login from login.sock")


# --------------------------------------------------------------------------------------------- idempotency keys

def post_keyed(service, key, text):
    return service.client().post("/api/deals", DEAL, {**bearer(text), "Idempotency-Key": key})


@test("an Idempotency-Key is kept when the writer is killed, and when all is started anew")
def _():
    with Service(readers=1, secrets=[new_secret()]) as service:
        good = token(service)
        first = post_keyed(service, "kept", good)
        expect_equal(first.status, 201, "the first: %s" % first)
        pid, _ = service.kill("writer")
        service.wait_successor("writer", pid)
        service.wait_ready()
        expect_equal(post_keyed(service, "kept", good).body, first.body, "after the writer was killed")
        service.supervisor.terminate()
        service.supervisor.wait()
        service.serve()
        service.wait_ready()
        again = post_keyed(service, "kept", good)
        expect_equal(again.body, first.body, "after a new start")
        expect_equal(again.headers["Idempotency-Replayed"], "true", "Idempotency-Replayed")


@test("after a day an Idempotency-Key is forgotten, and so are the others of that age, a few at a time")
def _():
    with Service(readers=1, secrets=[new_secret()]) as service:
        good = token(service)
        first = [post_keyed(service, "key-%d" % number, good) for number in range(10)]
        expect_equal([answer.status for answer in first], [201] * 10, "the first answers")
        service.supervisor.terminate()
        service.supervisor.wait()
        now = datetime.datetime.now(datetime.timezone.utc)

        def age(key, hours, minutes):
            past = (now - datetime.timedelta(hours=hours, minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")
            database.execute("UPDATE idempotency_keys SET created_at = ? WHERE key = ?", (past, key))
        database = sqlite3.connect(service.database, isolation_level=None)
        for number in range(9):
            age("key-%d" % number, 24, 1)
        age("key-9", 23, 59)
        database.close()
        service.serve()
        service.wait_ready()
        same, other = post_keyed(service, "key-9", good), post_keyed(service, "key-0", good)
        expect_equal(same.body, first[9].body, "a key of 23:59 h")
        expect_equal(other.status, 201, "a key of 24:01 h")
        expect(other.json()["id"] > first[9].json()["id"], "a key of 24:01 h gives %s" % other)
        database = sqlite3.connect("file:%s?mode=ro" % service.database, uri=True)

        def kept():
            return database.execute("SELECT count(*) FROM idempotency_keys").fetchone()[0]
        expect(6 <= kept() < 10, "%d keys are left" % kept())
        for number in range(2):
            post_keyed(service, "later-%d" % number, good)
        expect_equal(kept(), 4, "keys that are left")
        database.close()


@test("the counts of deals agree with the rows, also after an answer was taken back")
def _():
    with Service(readers=1, secrets=[new_secret()]) as service:
        client, headers = service.client(), bearer(token(service))
        for status in ("open", "won", "lost", "won"):
            made = client.post("/api/deals", {**DEAL, "status": status}, headers)
            expect_equal(made.status, 201, "a deal: %s" % made)
        client.request("DELETE", made.headers["Location"], headers=headers)
        client.post("/api/deals", {**DEAL, "status": "nothing"}, headers)
        database = sqlite3.connect("file:%s?mode=ro" % service.database, uri=True)
        rows = database.execute("SELECT status, count(*) FROM deals GROUP BY status ORDER BY status").fetchall()
        counts = database.execute("SELECT status, count FROM deal_counts ORDER BY status").fetchall()
        database.close()
        expect_equal(counts, rows, "the counts")
