"""A machine for a test: a copy of this system with systemd running in it, gone afterwards.

    with Machine() as machine:
        machine.run("systemctl", "start", "larder")

It needs root, systemd and an overlay file system; where one is missing, it says so with Unavailable. What it writes
goes to memory; it shares the project's directory, and nothing else, with this system."""
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

from harness import ROOT, expect, wait_until

START_SECONDS = 30


class Unavailable(Exception):
    """There can be no machine here; the message says why."""


class Machine:
    def __enter__(self):
        if os.geteuid() != 0:
            raise Unavailable("only root can start a machine")
        if not os.path.exists("/lib/systemd/systemd"):
            raise Unavailable("systemd is not installed")
        self.directory = tempfile.mkdtemp(prefix="larder-machine-")
        self.process = subprocess.Popen([str(ROOT / "tests" / "machine.sh"), self.directory, str(ROOT)],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            wait_until(lambda: self.process.poll() is not None or self.is_up(), START_SECONDS, "the machine is up")
            if self.process.poll() is not None:
                raise Unavailable("no machine can be started here: " + self.process.stdout.read().strip()[-200:])
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGKILL)  # unshare's; its child is killed with it
        self.process.wait()
        self.process.stdout.close()
        name = os.path.basename(self.directory)
        groups = pathlib.Path("/sys/fs/cgroup")
        for group in [groups / name, *groups.glob("*/" + name)]:
            wait_until(lambda group=group: remove_groups(group), 10, "the control group %s is empty" % group)
        os.rmdir(self.directory)

    def first(self):
        """The pid, as this system sees it, of the machine's first process; 0 when there is none yet."""
        try:
            with open("/proc/%d/task/%d/children" % (self.process.pid, self.process.pid)) as file:
                return int(file.read().split()[0])
        except (OSError, IndexError):
            return 0

    def is_up(self):
        try:
            is_systemd = os.path.basename(os.readlink("/proc/%d/exe" % self.first())) == "systemd"
        except OSError:
            return False
        return is_systemd and self.try_run("systemctl", "is-active", "machine.target").stdout.strip() == "active"

    def path(self, inside):
        """A path inside the machine, as this system can open it."""
        return "/proc/%d/root%s" % (self.first(), inside)

    def try_run(self, *command, typed=None):
        enter = ["nsenter", "--target", str(self.first()), "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--root",
                 "--wd=/"]
        environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8",
                       "DEBIAN_FRONTEND": "noninteractive"}
        return subprocess.run([*enter, *command], input=typed or "", capture_output=True, text=True,
                              env=environment, timeout=120)

    def run(self, *command, typed=None):
        """Runs a command inside, which must succeed; returns its output."""
        done = self.try_run(*command, typed=typed)
        expect(done.returncode == 0, "in the machine, %s: status %d\n%s%s" % (
            " ".join(command), done.returncode, done.stdout[-2000:], done.stderr[-2000:]))
        return done.stdout

    def copy(self, source, inside, mode=0o644):
        shutil.copy(source, self.path(inside))
        os.chmod(self.path(inside), mode)


def remove_groups(group):
    """Removes a control group and those below it. Returns whether they are gone."""
    for path, _, _ in os.walk(group, topdown=False):
        try:
            os.rmdir(path)
        except OSError:
            return False
    return True
