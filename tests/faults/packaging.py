"""make install, make uninstall and the Debian package, installed for real in a machine of its own."""
import os
import pathlib
import re
import shutil
import subprocess

from fastcgi_client import FastCGI
from harness import ROOT, environment, expect, expect_equal, sanitized, wait_until
from runner import Skip, test
from start import directory
from systemd import machine, show

# Larder is no package of Debian's: nobody filed a bug to ask for it, and the project has no mail host.
NOT_OURS = "initial-upload-closes-no-bugs,bogus-mail-host,bogus-mail-host-in-debian-changelog"


def make(*arguments):
    if sanitized():
        raise Skip("what is installed is the usual build")
    done = subprocess.run(["make", "--no-print-directory", "-C", str(ROOT), *arguments], capture_output=True, text=True,
                          env=environment(), timeout=300)
    expect_equal(done.returncode, 0, "make %s:\n%s%s" % (" ".join(arguments), done.stdout, done.stderr))


def files(top):
    return sorted(str(path.relative_to(top)) for path in pathlib.Path(top).rglob("*") if not path.is_dir())


@test("make install puts everything below DESTDIR and PREFIX, and make uninstall takes it away")
def _():
    with directory() as here:
        where = ["DESTDIR=%s" % here, "PREFIX=/opt/larder"]
        (here / "opt/larder/bin").mkdir(parents=True)
        (here / "opt/larder/bin/other").touch()
        make("install", *where)
        found = files(here)
        for path in ("bin/larder", "share/man/man1/larder.1", "share/larder/nginx/larder.conf", "share/larder/nginx/docs/index.html",
                     "share/larder/other-servers/apache.conf", "share/larder/schema.sql", "share/doc/larder/operations.md",
                     "share/doc/larder/LICENSE", "lib/systemd/system/larder.service"):
            expect("opt/larder/" + path in found, "%s is not installed: %s" % (path, found))
        unit = (here / "opt/larder/lib/systemd/system/larder.service").read_text()
        expect("ExecStart=/opt/larder/bin/larder serve" in unit, "the unit starts another program")
        done = subprocess.run([str(here / "opt/larder/bin/larder"), "version"], capture_output=True, text=True)
        expect_equal(done.returncode, 0, "exit status of the installed program")
        make("uninstall", *where)
        expect_equal(files(here), ["opt/larder/bin/other"], "files left")


def build_packages():
    """Two, of which the second is an upgrade of the first."""
    for revision in ("1", "2"):
        make("deb", "REVISION=" + revision)
    built = sorted((ROOT / "build").glob("larder_*-[12]_*.deb"))
    expect_equal(len(built), 2, "packages: %s" % built)
    return [str(path) for path in built]


@test("lintian finds no fault in the package")
def _():
    program = shutil.which("lintian")
    if not program:
        raise Skip("lintian is not installed")
    done = subprocess.run([program, "--allow-root", "--fail-on", "error,warning", "--suppress-tags", NOT_OURS,
                           build_packages()[0]], capture_output=True, text=True, timeout=120)
    expect_equal(done.returncode, 0, done.stdout + done.stderr)


def surroundings(started):
    """What a package could leave behind."""
    text = started.run("find", "/etc", "/usr/bin", "/usr/share/larder", "/usr/share/doc/larder", "/usr/share/man/man1",
                       "/lib/systemd/system", "/var/lib/larder", "/run/larder", "-not", "-name", "*-", "-newer", "/etc/fstab",
                       "-not", "-type", "d")
    return set(text.splitlines())


def listed(started, *paths):
    return [path for path in paths if os.path.lexists(started.path(path))]


def install(started, package):
    """Without what only costs time in a machine that is thrown away: the index of man pages, and writing to the disk."""
    started.run("dpkg", "--no-triggers", "--force-unsafe-io", "--force-confold", "--install", package)


@test("the package installs, runs, upgrades without a restart, keeps its data when removed, and goes when purged")
def _():
    first, second = build_packages()
    with machine() as started:
        started.try_run("rm", "/usr/sbin/policy-rc.d")
        started.run("mkdir", "-p", "/usr/share/larder", "/usr/share/doc/larder", "/var/lib/larder", "/run/larder")
        before = surroundings(started)
        started.run("rmdir", "/usr/share/larder", "/usr/share/doc/larder", "/var/lib/larder", "/run/larder")

        install(started, first)
        wait_until(lambda: show(started, "ActiveState") == "active", 15, "it serves")
        expect_equal(started.run("systemctl", "is-enabled", "larder").strip(), "enabled", "at boot")
        with FastCGI(started.path("/run/larder/write.sock")) as peer:
            expect_equal(peer.request("POST", "/categories", b'{"name": "Bread"}').status, 201, "POST /categories")
        with open(started.path("/etc/default/larder"), "a") as file:
            file.write("LARDER_READERS=2\n")

        supervisor = show(started, "MainPID")
        install(started, second)
        expect(started.run("dpkg-query", "-W", "-f", "${Version}", "larder").endswith("-2"), "it is not upgraded")
        wait_until(lambda: show(started, "ActiveState") == "active", 15, "it serves after the upgrade")
        expect_equal(show(started, "MainPID"), supervisor, "the process after an upgrade, which is a reload")
        expect("LARDER_READERS=2" in pathlib.Path(started.path("/etc/default/larder")).read_text(), "the settings are gone")
        expect(b"Bread" in categories(started), "the category is gone after an upgrade")

        started.run("dpkg", "--no-triggers", "--remove", "larder")
        expect_equal(show(started, "ActiveState"), "inactive", "after the removal")
        expect_equal(listed(started, "/usr/bin/larder", "/run/larder", "/lib/systemd/system/larder.service",
                            "/var/lib/larder/larder.db", "/etc/default/larder"),
                     ["/var/lib/larder/larder.db", "/etc/default/larder"], "what a removal leaves")
        install(started, second)
        wait_until(lambda: show(started, "ActiveState") == "active", 15, "it serves again")
        expect(b"Bread" in categories(started), "the category is gone after a removal")

        started.run("dpkg", "--no-triggers", "--purge", "larder")
        started.run("mkdir", "-p", "/usr/share/larder", "/usr/share/doc/larder", "/var/lib/larder", "/run/larder")
        accounts = {"/etc/passwd", "/etc/shadow", "/etc/group", "/etc/gshadow"}
        expect_equal(surroundings(started) - before - accounts, set(), "what a purge leaves")
        expect(started.try_run("getent", "passwd", "larder").returncode != 0, "the user is left")


def categories(started):
    with FastCGI(started.path("/run/larder/read.sock")) as peer:
        return peer.request("GET", "/categories").body


@test("where systemd does not run, the package makes its user and directory, and starts and enables nothing")
def _():
    first, _ = build_packages()
    with machine() as started:
        started.run("mv", "/run/systemd/system", "/run/systemd/hidden")
        install(started, first)
        expect_equal(listed(started, "/etc/systemd/system/multi-user.target.wants/larder.service", "/run/larder"), [],
                     "what it started or enabled")
        started.run("setpriv", "--reuid=larder", "--regid=www-data", "--clear-groups", "larder", "init", "--db",
                    "/var/lib/larder/larder.db")
        started.run("dpkg", "--no-triggers", "--remove", "larder")
        expect_equal(listed(started, "/var/lib/larder/larder.db"), ["/var/lib/larder/larder.db"], "the data after a removal")
        started.run("dpkg", "--no-triggers", "--purge", "larder")
        expect_equal(listed(started, "/var/lib/larder", "/etc/default/larder"), [], "what a purge leaves")


def typed(started, page):
    """The lines of the blocks `sh install` of the page, in the machine, as root."""
    lines = "".join(re.findall(r"^```sh install\n(.*?)^```$", page, re.M | re.S)).replace("sudo ", "")
    started.run("sh", "-ec", "cd %s\n%s" % (ROOT, lines))


@test("make install and the lines of docs/operations.md make a service of its own user, with a key, and a backup each night")
def _():
    if sanitized():
        raise Skip("what is installed is the usual build")
    page = (ROOT / "docs/operations.md").read_text()
    with machine() as started:
        typed(started, page)
        expect_equal(show(started, "ActiveState"), "active", "the service")
        started.run("systemctl", "reload", "larder")
        check = started.run("larder", "check", "--db", "/var/lib/larder/larder.db", "--secret-file", "/var/lib/larder/secret")
        expect("key 1 signs" in check, "check says %s" % check)
        with FastCGI(started.path("/run/larder/login.sock")) as peer:
            expect_equal(peer.request("POST", "/api/login", b'{"email": "a@example.org", "password": "b"}').status, 401, "a login")

        units = re.findall(r"^# (/etc/systemd/system/\S+)\n(.*?)(?=^# /etc/systemd|^```)", page, re.M | re.S)
        expect_equal(len(units), 2, "units in docs/operations.md")
        for path, text in units:
            pathlib.Path(started.path(path)).write_text(text)
        started.run("systemctl", "daemon-reload")
        expect_equal(started.run("systemd-analyze", "verify", *[path for path, _ in units]), "", "what systemd finds in the units")
        started.run("systemctl", "enable", "--now", "larder-backup.timer")
        started.run("systemctl", "start", "larder-backup.service")
        day = started.run("date", "+%u").strip()
        expect_equal(listed(started, "/var/backups/larder/%s.db" % day), ["/var/backups/larder/%s.db" % day], "the backup")
        started.run("make", "--no-print-directory", "-C", str(ROOT), "uninstall")
        expect_equal(listed(started, "/usr/local/bin/larder", "/var/lib/larder/larder.db"), ["/var/lib/larder/larder.db"],
                     "what is left of program and data")
