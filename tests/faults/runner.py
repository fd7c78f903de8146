"""The runner that the files of this directory share: @test registers a statement about the product."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import traceback

from harness import expect


class Skip(Exception):
    """The test cannot run here; the message says why."""


TESTS = []  # (file, statement, function, mounts)


def test(statement, mounts=False):
    """Registers a test: a function that raises when the statement does not hold. One that mounts a file
    system runs in a user namespace of its own where this user may not mount."""
    def register(function):
        TESTS.append((pathlib.Path(function.__code__.co_filename).stem, statement, function, mounts))
        return function
    return register


def run_in_namespace(name):
    command = ["unshare", "-rm"]
    if os.geteuid() == 0 or subprocess.run([*command, "true"], capture_output=True).returncode != 0:
        raise Skip("neither mount nor unshare is permitted here")
    runner = [sys.executable, os.path.join(os.path.dirname(__file__), "run.py"), "--only", name]
    done = subprocess.run([*command, *runner], capture_output=True, text=True)
    expect(done.returncode == 0 and done.stdout.startswith("ok"), "in a namespace: " + done.stdout + done.stderr)


def may_mount():
    with tempfile.TemporaryDirectory(prefix="larder-") as directory:
        if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", directory], capture_output=True).returncode != 0:
            return False
        subprocess.run(["umount", directory], check=True)
        return True


def reason(error):
    if isinstance(error, AssertionError):
        return str(error) or traceback.format_exc().strip()
    return traceback.format_exc().strip()


def run_tests(only=""):
    """Runs those whose `file: statement` contains the text. Returns the exit status."""
    passed = failed = 0
    for file, statement, function, mounts in TESTS:
        name = "%s: %s" % (file, statement)
        if only not in name:
            continue
        started = time.monotonic()
        try:
            if mounts and not may_mount():
                run_in_namespace(name)
            else:
                function()
            passed += 1
            print("ok    %s (%.1f s)" % (name, time.monotonic() - started), flush=True)
        except Skip as skip:
            print("skip  %s: %s" % (name, skip), flush=True)
        except Exception as error:
            failed += 1
            print("FAIL  %s\n        %s" % (name, reason(error).replace("\n", "\n        ")), flush=True)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0
