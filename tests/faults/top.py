"""larder top, on a terminal and without one."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import tempfile
import termios
import threading
import time

from harness import Service, environment, expect, expect_equal, larder, run_larder, sanitized, wait_until
from runner import test

ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"
HIDE, SHOW = b"\x1b[?25l", b"\x1b[?25h"
SECONDS = 15 if sanitized() else 6


class Terminal:
    """`larder top` on a terminal of its own, as the shell's foreground job."""

    def __init__(self, run_dir, rows=40, columns=120, arguments=()):
        self.master, slave = pty.openpty()
        self.resize(rows, columns)
        self.settings = termios.tcgetattr(slave)
        self.slave, self.seen = slave, b""

        def take_terminal():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        self.process = subprocess.Popen([larder(), "top", "--run-dir", run_dir, *arguments], stdin=slave, stdout=slave,
                                        stderr=slave, env=environment(), preexec_fn=take_terminal)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self):
        """Takes what has been written until now."""
        while select.select([self.master], [], [], 0.02)[0]:
            self.seen += os.read(self.master, 65536)
        return self.seen

    def page(self):
        """The last whole page, as lines of plain text; [] before the first."""
        pages = self.read().split(b"\x1b[H")[1:]
        whole = [page for page in pages if page.endswith(b"\x1b[J") or page is not pages[-1]]
        if not whole:
            return []
        text = re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", whole[-1]).decode()
        return re.split(r"\r+\n", text)

    def shows(self, words, seconds=SECONDS):
        return wait_until(lambda: [line for line in self.page() if words in line], seconds, "the page shows %r: %r" % (
            words, self.seen[-2000:]))

    def key(self, text):
        os.write(self.master, text)

    def end(self):
        """Waits for the end; returns the exit status."""
        status = self.process.wait(SECONDS)
        self.read()
        return status

    def expect_restored(self):
        expect_equal(termios.tcgetattr(self.slave), self.settings, "the terminal's settings")
        expect_equal(self.seen.count(ENTER), self.seen.count(LEAVE), "pages opened and left")
        expect_equal(self.seen.count(HIDE), self.seen.count(SHOW), "cursors hidden and shown")
        expect(self.seen.rindex(LEAVE) > self.seen.rindex(ENTER), "the other page was not left")


@test("top shows what a service does, second by second: requests, workers, files")
def _():
    with Service(readers=1) as service, Terminal(service.run_dir) as terminal:
        terminal.shows("requests     0.0/s")
        ending = threading.Event()

        def load():
            client = service.client()
            while not ending.is_set():
                client.get("/products/1")
                time.sleep(0.005)
        thread = threading.Thread(target=load)
        thread.start()
        try:
            wait_until(lambda: [line for line in terminal.page() if re.match(r"requests +[1-9]\d+\.\d/s +reads [1-9]", line)],
                       SECONDS, "requests are shown")
        finally:
            ending.set()
            thread.join()
        page = terminal.page()
        for words in ("latency", "batches", "commits", "checkpoints", "files", "connections", "trouble", service.database):
            expect(any(words in line for line in page), "no %r in %r" % (words, page))
        for role, pid in service.pids().items():
            expect(any(line.split()[:1] == role.split()[:1] and str(pid) in line and " serves " in line for line in page),
                   "no line of %s %d in %r" % (role, pid, page))
        killed, _ = service.kill("reader 1")
        service.wait_successor("reader 1", killed)
        terminal.shows("%8d  serves" % service.pids()["reader 1"])
        terminal.shows("restarts of workers 1")
        terminal.key(b"q")
        expect_equal(terminal.end(), 0, "exit status")
        terminal.expect_restored()


@test("top ends on q, Q, Ctrl-C, SIGTERM, SIGHUP and SIGQUIT, and gives the terminal back as it was")
def _():
    with Service(readers=1) as service:
        for how in (b"q", b"Q", b"\x03", b"\x1c", signal.SIGTERM, signal.SIGHUP):
            with Terminal(service.run_dir) as terminal:
                terminal.shows("requests")
                settings = termios.tcgetattr(terminal.slave)
                expect(not settings[3] & (termios.ICANON | termios.ECHO), "keys are not read one by one")
                # Ctrl-C drops the keys before it, maybe after poll() has seen them: a read that waits would wait for good.
                expect_equal(settings[6][termios.VMIN], 0, "VMIN")
                terminal.key(b"xyz\r ")  # keys that mean nothing
                if isinstance(how, bytes):
                    terminal.key(how)
                else:
                    terminal.process.send_signal(how)
                expect_equal(terminal.end(), 0, "exit status after %r" % how)
                terminal.expect_restored()


@test("top fits its page to the terminal, and draws it anew at once when its size changes")
def _():
    with Service(readers=2) as service, Terminal(service.run_dir) as terminal:
        terminal.shows("reader 2")
        for rows, columns in (5, 30), (60, 200), (1, 1), (24, 80), (3, 10):
            drawn = terminal.read().count(b"\x1b[H")
            terminal.resize(rows, columns)
            terminal.process.send_signal(signal.SIGWINCH)  # what a terminal sends to its foreground job
            wait_until(lambda before=drawn: terminal.read().count(b"\x1b[J") > before, 0.9 if not sanitized() else 5, "it is drawn")
            time.sleep(0.1)
            page = terminal.page()
            expect(len(page) <= rows and max(map(len, page)) <= columns, "%d x %d shows %r" % (rows, columns, page))
        terminal.resize(24, 80)
        terminal.shows("reader 2")
        terminal.key(b"q")
        expect_equal(terminal.end(), 0, "exit status")
        terminal.expect_restored()


@test("top gives the terminal back while it is stopped by Ctrl-Z, and takes it again")
def _():
    with Service(readers=1) as service, Terminal(service.run_dir) as terminal:
        terminal.shows("requests")
        terminal.key(b"\x1a")
        wait_until(lambda: state_of(terminal.process.pid) == "T", SECONDS, "it is stopped")
        terminal.read()
        terminal.expect_restored()
        terminal.seen = b""
        terminal.process.send_signal(signal.SIGCONT)
        terminal.shows("requests")
        terminal.key(b"q")
        expect_equal(terminal.end(), 0, "exit status")
        expect_equal(termios.tcgetattr(terminal.slave), terminal.settings, "the terminal's settings")


def state_of(pid):
    with open("/proc/%d/stat" % pid) as file:
        return file.read().rsplit(")", 1)[1].split()[0]


@test("top ends with a sentence when the service stops, and follows one that is started again")
def _():
    with Service(readers=1) as service, Terminal(service.run_dir) as terminal:
        terminal.shows("pid %d " % service.supervisor.pid)
        terminal.process.send_signal(signal.SIGSTOP)  # so that it does not see the time between
        service.supervisor.terminate()
        service.supervisor.wait()
        service.serve()
        service.wait_ready()
        terminal.process.send_signal(signal.SIGCONT)
        terminal.shows("pid %d " % service.supervisor.pid)
        service.stop()
        expect_equal(terminal.end(), 1, "exit status")
        terminal.expect_restored()
        sentence = terminal.seen[terminal.seen.rindex(LEAVE) + len(LEAVE):].decode()
        expect(sentence.startswith("larder: the larder in %s has stopped" % service.run_dir), "it says %r" % sentence)


@test("top --once prints one page about a second, without escapes; without a terminal so does top")
def _():
    with Service(readers=1) as service:
        for arguments in ["--once"], []:
            started = time.monotonic()
            done = run_larder("top", "--run-dir", service.run_dir, *arguments)
            expect_equal((done.returncode, done.stderr), (0, ""), "larder top %s" % arguments)
            expect(0.9 < time.monotonic() - started < 8, "it takes a second")
            expect("\x1b" not in done.stdout and "\1" not in done.stdout, "escapes: %r" % done.stdout)
            for words in ("larder  pid %d" % service.supervisor.pid, "requests     ", "writer ", "reader 1 ", service.database):
                expect(words in done.stdout, "no %r in %s" % (words, done.stdout))
        with Terminal(service.run_dir, arguments=["--once"]) as terminal:
            expect_equal(terminal.end(), 0, "exit status on a terminal")
            expect(b"\x1b" not in terminal.seen and b"requests" in terminal.seen, "it shows %r" % terminal.seen)


@test("top says in a sentence why it has nothing to look at")
def _():
    def expect_sentence(run_dir, words):
        done = run_larder("top", "--run-dir", run_dir)
        expect_equal((done.returncode, done.stdout), (1, ""), "larder top --run-dir %s" % run_dir)
        expect(done.stderr.startswith("larder: ") and words in done.stderr and done.stderr.count("\n") == 1, "it says %r" % done.stderr)
    with tempfile.TemporaryDirectory(prefix="larder-") as directory:
        expect_sentence(directory, "no larder serves in " + directory)
        expect_sentence(directory + "/none", "no larder serves in")
        path = os.path.join(directory, "scoreboard")
        with open(path, "wb") as file:
            file.write(b"of another program" * 1000)
        expect_sentence(directory, "another version")
        os.truncate(path, 0)
        expect_sentence(directory, "another version")
    with Service(readers=1) as service:
        workers = service.pids().values()
        service.kill_supervisor()
        for pid in workers:
            os.kill(pid, signal.SIGKILL)
        expect(os.path.exists(os.path.join(service.run_dir, "scoreboard")), "what is left behind")
        expect_sentence(service.run_dir, "no larder serves in")
        wait_until(lambda: not service.left_over(), 5, "all processes are gone")
        service.serve()
        service.wait_ready()
