#!/usr/bin/env python3
"""The page at /docs/, in a real browser: headless Chromium, driven over the DevTools protocol.

    python3 tests/browser.py BASE_URL [-v] [--screenshots DIR]

BASE_URL is any deployment with the demo user, with or without a path prefix. What the checks create they delete.
Closing line: `N passed, N failed`. Exit 0 all passed, 1 something failed, 2 no browser or no service.
"""
import argparse
import base64
import fcntl
import json
import os
import pathlib
import secrets
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--no-first-run",
         "--no-default-browser-check", "--disable-background-networking", "--disable-component-update",
         "--disable-default-apps", "--disable-extensions", "--disable-sync", "--hide-scrollbars",
         "--remote-debugging-pipe")
SECONDS = 20
METHODS = ("get", "post", "put", "patch", "delete")


# --------------------------------------------------------------------------------------------- the browser

class Browser:
    """One page of a Chromium of its own. Commands go to its descriptor 3 and answers come from 4, each ended by NUL."""

    def __init__(self, program):
        self.directory = tempfile.mkdtemp(prefix="larder-browser-")
        there, self.writing = os.pipe()
        self.reading, back = os.pipe()
        # above 4, so that one dup2 cannot close what the other needs
        there, back = (fcntl.fcntl(descriptor, fcntl.F_DUPFD, 10) for descriptor in (there, back))

        def place():
            os.dup2(there, 3)
            os.dup2(back, 4)
        self.process = subprocess.Popen(
            [program, *FLAGS, "--user-data-dir=" + self.directory, "about:blank"], preexec_fn=place, close_fds=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(there)
        os.close(back)
        self.rest, self.number, self.session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def receive(self, seconds):
        """The next message; None when none comes in time."""
        deadline = time.monotonic() + seconds
        while b"\0" not in self.rest:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.reading], [], [], left)[0]:
                return None
            data = os.read(self.reading, 1 << 16)
            if not data:
                raise EOFError("the browser has ended")
            self.rest += data
        message, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(message)
        if "method" in message:
            self.events.append(message)
        return message

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.writing, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + SECONDS
        while True:
            answer = self.receive(deadline - time.monotonic())
            if answer is None:
                raise TimeoutError("the browser does not answer " + method)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise AssertionError("%s: %s" % (method, answer["error"]["message"]))
                return answer["result"]

    def evaluate(self, expression):
        """The value of a JavaScript expression in the page, promises awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError("%s in %s" % (answer["exceptionDetails"]["exception"].get("description"), expression))
        return answer["result"].get("value")

    def wait(self, expression):
        """Waits until the expression is true; gives back its value."""
        deadline = time.monotonic() + SECONDS
        while True:
            value = self.evaluate(expression)
            if value:
                return value
            expect(time.monotonic() < deadline, "not within %d s: %s" % (SECONDS, expression))
            self.receive(0.02)

    def seen(self, method):
        return [event["params"] for event in self.events if event["method"] == method]

    def window(self, width, height, scheme="light"):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 500)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def press(self, key, code, text=""):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code,
                      text=text if kind == "keyDown" else "")

    def screenshot(self, path, whole=False):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    def close(self):
        if self.process.poll() is None:
            try:
                self.session = None
                self.call("Browser.close")
                self.process.wait(SECONDS)
            except (OSError, EOFError, AssertionError, subprocess.TimeoutExpired):
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        os.close(self.writing)
        os.close(self.reading)
        shutil.rmtree(self.directory, ignore_errors=True)


# ------------------------------------------------------------------------------------------------ the tools

def expect(condition, complaint):
    if not condition:
        raise AssertionError(complaint)


def expect_equal(actual, expected, subject):
    expect(actual == expected, "%s: expected %r, got %r" % (subject, expected, actual))


CHECKS = []


def check(name):
    def register(function):
        CHECKS.append((name, function))
        return function
    return register


def get(url):
    """(status, headers, body) outside the browser; redirects are not followed."""
    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_):
            return None
    try:
        with urllib.request.build_opener(Stay).open(url, timeout=SECONDS) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


class Page:
    """What the checks share."""
    base = browser = document = None

    @classmethod
    def load(cls, fragment=""):
        cls.browser.call("Page.navigate", url="about:blank")
        cls.browser.call("Page.navigate", url=cls.base + "/docs/" + fragment)
        cls.browser.wait("document.querySelectorAll('.operation').length > 0")

    @classmethod
    def operations(cls):
        return [(method, path, item[method]) for path, item in cls.document["paths"].items()
                for method in METHODS if method in item]

    @classmethod
    def fill_and_send(cls, operation, fields):
        """Opens an operation, sets fields by their name ("body" is the text) and presses Send.

        Gives back what the page then shows: {"status", "headers", "body"}."""
        cls.browser.evaluate("document.getElementById(%s).open = true" % json.dumps(operation))
        cls.browser.wait("document.querySelector('#%s form') !== null" % operation)
        for name, value in fields.items():
            cls.browser.evaluate("""(() => {
                const field = document.getElementById(%s);
                field.value = %s;
                field.dispatchEvent(new Event("change"));
            })()""" % (json.dumps("%s-%s" % (operation, name)), json.dumps(value)))
        cls.browser.evaluate("document.querySelector('#%s .answer p').replaceChildren()" % operation)
        cls.browser.evaluate("document.querySelector('#%s form button').click()" % operation)
        cls.browser.wait("document.querySelector('#%s .answer p').textContent !== ''" % operation)
        return cls.browser.evaluate("""(() => {
            const answer = document.querySelector("#%s .answer");
            return {status: answer.querySelector(".status")?.textContent ?? answer.textContent,
                    line: answer.querySelector("p").textContent,
                    headers: answer.querySelectorAll("pre")[0]?.textContent,
                    body: answer.querySelectorAll("pre")[1]?.textContent};
        })()""" % operation)


def status_of(shown):
    return int(shown["status"].split()[0]) if shown["status"][:3].isdigit() else shown["status"]


# ----------------------------------------------------------------------------------------------- the checks

@check("/docs leads to /docs/")
def _():
    status, headers, _ = get(Page.base + "/docs")
    expect_equal((status, headers["Location"]), (308, "docs/"), "the redirect")


@check("what is not there below /docs/ answers 404 as a problem")
def _():
    status, headers, body = get(Page.base + "/docs/nothing")
    expect_equal((status, headers["Content-Type"]), (404, "application/problem+json"), "the answer")
    expect_equal(json.loads(body)["status"], 404, "its member status")


@check("the page's files have a request id, a strict policy and the right types, and 20 KB in all at most")
def _():
    total = 0
    for name, kind in ("", "text/html"), ("style.css", "text/css"), ("script.js", "text/javascript"), ("icon.svg", "image/svg+xml"):
        status, headers, body = get(Page.base + "/docs/" + name)
        expect_equal(status, 200, "status of " + name)
        expect_equal(headers["Content-Type"].split(";")[0], kind, "type of " + name)
        expect(headers["X-Request-Id"], name + " has no X-Request-Id")
        expect("default-src 'self'" in headers["Content-Security-Policy"], "the policy is another one")
        expect("unsafe" not in headers["Content-Security-Policy"], "the policy is not strict")
        total += len(body)
    expect(total <= 20_000, "they have %d bytes" % total)


@check("the page lists every operation of the document, once, under its tag")
def _():
    shown = Page.browser.evaluate("""[...document.querySelectorAll(".operation")].map((part) => {
        let title = part;
        while (title.localName !== "h2") title = title.previousElementSibling;
        return [title.textContent, ...[...part.querySelector("summary").children].slice(0, 3).map((one) => one.textContent)];
    })""")
    expected = [[operation["tags"][0], method.upper(), path, operation["summary"]]
                for method, path, operation in Page.operations()]
    expect_equal(sorted(shown), sorted(expected), "the operations")


@check("every operation opens, and shows its parameters, body and answers")
def _():
    for method, path, operation in Page.operations():
        name = operation["operationId"]
        Page.browser.evaluate("document.getElementById('%s').open = true" % name)
        Page.browser.wait("document.querySelector('#%s form') !== null" % name)
        fields = Page.browser.evaluate(
            "[...document.querySelectorAll('#%s input')].map((one) => one.name)" % name)
        parameters = Page.document["paths"][path].get("parameters", []) + operation.get("parameters", [])
        names = [Page.document["components"]["parameters"][one["$ref"].split("/")[-1]]["name"] if "$ref" in one
                 else one["name"] for one in parameters]
        expect_equal(fields, names, "parameters of " + name)
        answers = Page.browser.evaluate(
            "[...document.querySelectorAll('#%s .response strong')].map((one) => one.textContent)" % name)
        expect_equal(sorted(answers), sorted(operation["responses"]), "answers of " + name)
        if "requestBody" in operation:
            json.loads(Page.browser.evaluate("document.getElementById('%s-body').value" % name))
    text = Page.browser.evaluate("document.body.innerText + [...document.querySelectorAll('li')].map((one) => one.textContent)")
    expect("undefined" not in text and "[object" not in text, "a value is shown that is none")


@check("every field has a label of its own, and every id is there once")
def _():
    bare = Page.browser.evaluate("""[...document.querySelectorAll("input, textarea, select")]
        .filter((field) => field.labels.length !== 1 || !field.labels[0].textContent.trim()).map((field) => field.id)""")
    expect_equal(bare, [], "fields without a label")
    ids = Page.browser.evaluate("[...document.querySelectorAll('[id]')].map((one) => one.id)")
    expect_equal(len(ids), len(set(ids)), "ids")


@check("GET /products/{id} sent from the page shows status, time, headers and body")
def _():
    product = json.loads(get(Page.base + "/products?limit=1")[2])["items"][0]
    shown = Page.fill_and_send("getProduct", {"id": str(product["id"])})
    expect_equal(status_of(shown), 200, "status")
    expect(" ms" in shown["line"] and " bytes" in shown["line"], "no time or size in %r" % shown["line"])
    expect("x-request-id: " in shown["headers"] and "etag: " in shown["headers"], shown["headers"])
    expect_equal(json.loads(shown["body"]), product, "the body")


@check("a product is created, changed and deleted from the page")
def _():
    category = json.loads(get(Page.base + "/categories?limit=1")[2])["items"][0]["id"]
    sku = "browser-" + secrets.token_hex(6)
    body = {"sku": sku, "name": "From the page", "price_cents": 1, "category_id": category}
    shown = Page.fill_and_send("createProduct", {"body": json.dumps(body)})
    expect_equal(status_of(shown), 201, "status of POST")
    number = str(json.loads(shown["body"])["id"])
    shown = Page.fill_and_send("changeProduct", {"id": number, "body": '{"stock": 5}'})
    changed = status_of(shown), json.loads(shown["body"]).get("stock")
    shown = Page.fill_and_send("deleteProduct", {"id": number})
    expect_equal(status_of(shown), 204, "status of DELETE")
    expect_equal(changed, (200, 5), "status and stock after PATCH")


@check("the second example of a body can be chosen")
def _():
    Page.browser.evaluate("document.getElementById('createProduct').open = true")
    Page.browser.wait("document.getElementById('createProduct-example') !== null")
    text = Page.browser.evaluate("""(() => {
        const choice = document.getElementById("createProduct-example");
        choice.value = "1";
        choice.dispatchEvent(new Event("change"));
        return document.getElementById("createProduct-body").value;
    })()""")
    expect(isinstance(json.loads(text), list), text)


@check("an error is shown as it came")
def _():
    shown = Page.fill_and_send("getProduct", {"id": "none"})
    expect_equal(status_of(shown), 404, "status")
    expect_equal(json.loads(shown["body"])["status"], 404, "the problem's status")


@check("query parameters are sent, encoded; those left empty are not")
def _():
    shown = Page.fill_and_send("listProducts", {"limit": "1", "q": "100% & more"})
    sent = [event["request"]["url"] for event in Page.browser.seen("Network.requestWillBeSent")][-1]
    expect_equal(sent, Page.base + "/products?limit=1&q=100%25+%26+more", "the address")
    expect_equal(status_of(shown), 200, "status")


@check("the token is sent with a request, and login fills it in")
def _():
    Page.browser.evaluate("document.getElementById('token').value = 'a.b.c'")
    Page.fill_and_send("listDeals", {})
    sent = [event["request"]["headers"] for event in Page.browser.seen("Network.requestWillBeSent")
            if event["request"]["url"].endswith("/api/deals")][-1]
    expect_equal(sent.get("authorization"), "Bearer a.b.c", "the header")
    shown = Page.fill_and_send("login", {})
    if status_of(shown) == 404:
        return  # no secret is configured, so nobody logs in
    expect_equal(status_of(shown), 200, "status of the login")
    expect_equal(Page.browser.evaluate("document.getElementById('token').value"), json.loads(shown["body"])["token"], "the token")
    expect_equal(status_of(Page.fill_and_send("listDeals", {})), 200, "status of the list")


@check("numbers that JavaScript cannot hold are shown to the digit")
def _():
    text = '{"id":9223372036854775807,"a":[],"b":[1,{}],"c":"x,:{}\\\\\\"y"}'
    shown = Page.browser.evaluate("pretty(%s)" % json.dumps(text))
    expect("9223372036854775807" in shown and "\n" in shown, shown)
    expect_equal(json.loads(shown), json.loads(text), "the value")


@check("the keyboard alone opens an operation, fills it in and sends it")
def _():
    Page.load()
    browser = Page.browser
    browser.evaluate("document.getElementById('token').focus()")
    for _ in Page.operations():
        browser.press("Tab", 9)
        if browser.evaluate("document.activeElement.parentElement.id") == "getProduct":
            break
    browser.press("Enter", 13, "\r")
    browser.wait("document.querySelector('#getProduct form') !== null")
    browser.press("Tab", 9)
    expect_equal(browser.evaluate("document.activeElement.id"), "getProduct-id", "the field in focus")
    outline = browser.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    expect(outline != "none", "the focus cannot be seen")
    browser.press("Enter", 13, "\r")
    browser.wait("document.querySelector('#getProduct .status') !== null")


@check("an address with #operation opens that one")
def _():
    Page.load("#createCategory")
    Page.browser.wait("document.getElementById('createCategory').open && document.querySelector('#createCategory form') !== null")
    Page.browser.wait("document.getElementById('createCategory').getBoundingClientRect().top < innerHeight")


@check("nothing is wider than a window of 390 pixels, with everything open")
def _():
    Page.browser.window(390, 844)
    try:
        Page.browser.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        Page.browser.wait("document.querySelectorAll('.operation form').length === document.querySelectorAll('.operation').length")
        Page.browser.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        wide = Page.browser.evaluate("""[...document.querySelectorAll("body *")]
            .filter((one) => one.getBoundingClientRect().right > innerWidth + 0.5).map((one) => one.outerHTML.slice(0, 80))""")
        expect_equal(wide, [], "what is too wide")
    finally:
        Page.browser.window(1200, 900)


CONTRAST = """(() => {
    const channels = (color) => color.match(/[\\d.]+/g).map(Number);
    const light = (color) => channels(color).slice(0, 3).map((c) => c / 255)
        .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const ground = (one) => { while (channels(getComputedStyle(one).backgroundColor)[3] === 0) one = one.parentElement;
                              return getComputedStyle(one).backgroundColor; };
    const poor = new Set();
    for (const one of document.querySelectorAll("body *")) {
        if (!one.checkVisibility() || ![...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
        const [a, b] = [light(getComputedStyle(one).color), light(ground(one))].sort((x, y) => y - x);
        if ((a + 0.05) / (b + 0.05) < 4.5) poor.add(one.localName + "." + one.className);
    }
    return [...poor];
})()"""


@check("text stands out from its ground by 4.5 to 1, light and dark")
def _():
    grounds = set()
    for scheme in "light", "dark":
        Page.browser.window(1200, 900, scheme)
        grounds.add(Page.browser.evaluate("getComputedStyle(document.body).backgroundColor"))
        expect_equal(Page.browser.evaluate(CONTRAST), [], "what is too faint in the %s page" % scheme)
    Page.browser.window(1200, 900)
    expect_equal(len(grounds), 2, "grounds")


@check("no error and no warning was logged")
def _():
    own = (Page.base + "/docs/", Page.base + "/openapi.json")
    logged = [event["entry"] for event in Page.browser.seen("Log.entryAdded")]
    # an answer of 404 to a request from the form is logged as well
    found = ["%s %s" % (one["text"], one.get("url", "")) for one in logged
             if one["source"] != "network" or one.get("url", "").startswith(own)]
    found += [event["exceptionDetails"]["text"] for event in Page.browser.seen("Runtime.exceptionThrown")]
    found += [str(event["args"]) for event in Page.browser.seen("Runtime.consoleAPICalled")]
    expect_equal(found, [], "the log")


@check("no request left the service")
def _():
    asked = {event["request"]["url"] for event in Page.browser.seen("Network.requestWillBeSent")} - {"about:blank"}
    expect(len(asked) > 5, "hardly any request was seen: %s" % asked)
    expect_equal([url for url in asked if not url.startswith(Page.base + "/")], [], "requests to elsewhere")


# -------------------------------------------------------------------------------------------------- the run

def take_screenshots(directory):
    os.makedirs(directory, exist_ok=True)
    product = json.loads(get(Page.base + "/products?limit=1")[2])["items"][0]
    for name, width, height, scheme in ("light", 1200, 1000, "light"), ("dark", 1200, 1000, "dark"), ("narrow", 390, 844, "light"):
        for state in "list", "answer", "body":
            Page.browser.window(width, height, scheme)
            Page.load()
            if state == "answer":
                Page.fill_and_send("getProduct", {"id": str(product["id"])})
                Page.browser.evaluate("document.getElementById('getProduct').scrollIntoView()")
            if state == "body":
                Page.browser.evaluate("document.getElementById('createProduct').open = true")
                Page.browser.wait("document.querySelector('#createProduct form') !== null")
                Page.browser.evaluate("document.querySelector('#createProduct .response').open = true")
                Page.browser.evaluate("document.getElementById('createProduct').scrollIntoView()")
            Page.browser.screenshot(os.path.join(directory, "%s-%s.png" % (name, state)))


def main():
    parser = argparse.ArgumentParser(description="Checks the page at BASE_URL/docs/ in headless Chromium.")
    parser.add_argument("base_url", help="such as http://127.0.0.1:8080 or https://host/shop")
    parser.add_argument("-v", action="store_true", help="print the checks that pass, too")
    parser.add_argument("--screenshots", metavar="DIR", help="write pictures of the page there")
    options = parser.parse_args()
    Page.base = options.base_url.rstrip("/")
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        print("There is no browser: please install what Debian calls chromium.", file=sys.stderr)
        return 2
    try:
        Page.document = json.loads(get(Page.base + "/openapi.json")[2])
    except (OSError, ValueError) as error:
        print("The document at %s/openapi.json cannot be read: %s." % (Page.base, error), file=sys.stderr)
        return 2
    Page.browser = Browser(program)
    passed = failed = 0
    try:
        Page.browser.window(1200, 900)
        Page.load()
        for name, function in CHECKS:
            try:
                function()
            except Exception as error:
                failed += 1
                print("FAIL  %s\n      %s: %s" % (name, type(error).__name__, error))
            else:
                passed += 1
                if options.v:
                    print("ok    " + name)
        if options.screenshots:
            take_screenshots(options.screenshots)
    finally:
        Page.browser.close()
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
