"""`make run`, as somebody at a terminal uses it."""
import os
import pty
import select
import shutil
import signal
import tempfile
import time

from harness import ROOT, Client, environment, expect, expect_equal, free_port, processes, product, wait_until
from runner import test


class Terminal:
    """A program that runs in a terminal of its own."""

    def __init__(self, command, variables):
        self.output = ""
        self.pid, self.screen = pty.fork()
        if self.pid == 0:
            try:
                os.chdir(ROOT)
                os.execvpe(command[0], command, environment(variables))
            finally:
                os._exit(127)  # never back into the tests, as a second runner

    def read_until(self, text, seconds):
        deadline = time.monotonic() + seconds
        while text not in self.output:
            expect(time.monotonic() < deadline, "%r does not appear: %s" % (text, self.output))
            if select.select([self.screen], [], [], 0.1)[0]:
                try:
                    self.output += os.read(self.screen, 65536).decode("utf-8", "replace")
                except OSError:  # the program has closed the terminal
                    expect(text in self.output, "it ended: %s" % self.output)

    def type(self, text):
        os.write(self.screen, text)

    def wait(self, seconds):
        def ended():
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            return pid and (status,)
        return wait_until(ended, seconds, "it ends")[0]


def left(directory):
    found = []
    for pid, _, _, _, state in processes():
        try:
            with open("/proc/%d/cmdline" % pid, "rb") as file:
                if directory.encode() in file.read() and state not in "ZX":
                    found.append(pid)
        except OSError:
            pass
    return found


def run(use):
    """Starts it as `make run` does, has it used, and sees that nothing stays."""
    directory = tempfile.mkdtemp(prefix="larder-")
    port = free_port()
    terminal = Terminal(["tools/run.sh"], {"PORT": str(port), "DB": directory + "/db", "RUN_DIR": directory + "/run",
                                           "LARDER_PROBES": "1"})
    try:
        terminal.read_until("Ctrl-C stops it", 20)
        use(terminal, "http://localhost:%d" % port, directory)
        wait_until(lambda: not left(directory), 10, "nothing is left running")
    finally:
        for pid in [terminal.pid, *left(directory)]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        shutil.rmtree(directory, ignore_errors=True)


@test("the quick start serves the demo, Ctrl-C stops all of it, and the next start has the data still")
def _():
    def use(terminal, url, directory):
        expect("serves " + url in terminal.output, terminal.output)
        answer = Client(url).post("/products", product("quick-1"))
        expect_equal(answer.status, 201, "a POST: %s" % answer)
        expect_equal(Client(url).get("/products/1").json()["price_cents"], 7919, "the price of product 1")
        terminal.type(b"\x03")
        terminal.read_until("has stopped", 10)
        terminal.wait(10)
        expect(os.path.exists(directory + "/db"), "the database is gone")
        expect(not os.path.exists(directory + "/run/read.sock"), "a socket is left")
    run(use)


@test("closing the terminal stops the quick start too")
def _():
    def use(terminal, url, _):
        expect_equal(Client(url).get("/health").status, 200, "GET /health")
        os.close(terminal.screen)
    run(use)


@test("a port that is taken ends the quick start with a sentence")
def _():
    def use(terminal, url, directory):
        port = url.rsplit(":", 1)[1]
        second = Terminal(["tools/run.sh"], {"PORT": port, "DB": directory + "/db2", "RUN_DIR": directory + "/run2"})
        second.read_until("make run PORT=", 10)
        expect(second.wait(10) != 0, "exit status 0")
        terminal.type(b"\x03")
        terminal.read_until("has stopped", 10)
    run(use)
