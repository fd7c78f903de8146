#!/usr/bin/env python3
"""A whole Larder behind another web server than nginx, with the configuration that other-servers/ has for it.

    python3 tests/other_servers.py [--one-socket path|port] [--close] [--prefix /shop] lighttpd|apache COMMAND ARG...

{URL} and {SECRET} in the command are filled in as tests/harness.py does. --one-socket starts `larder serve
--listen`, at a path or at a free port of 127.0.0.1, in place of a socket for each lane; --close makes Apache
open a connection for each request, as lighttpd always does; --prefix changes the configuration as its own last lines say.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys

import harness
from harness import ROOT, STOP_SECONDS, Service, expect, free_port

LANES = ("read", "write", "login")
MODULES = "mpm_event authz_core proxy proxy_fcgi rewrite env".split()
PATHS = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"

LIGHTTPD = """
server.bind = "127.0.0.1"
server.port = %(port)d
server.document-root = "%(directory)s"
server.upload-dirs = ( "%(directory)s" )
include "%(included)s"
"""

APACHE = """
ServerRoot "%(directory)s"
DefaultRuntimeDir "%(directory)s"
PidFile "%(directory)s/apache.pid"
ErrorLog "/dev/stderr"
ServerName localhost
Listen 127.0.0.1:%(port)d
%(modules)s
<IfModule unixd.c>
    User %(user)s
    Group %(group)s
</IfModule>
<VirtualHost *:%(port)d>
    Include "%(included)s"
</VirtualHost>
"""


PREFIXED = {  # what the last lines of each file tell its reader to change
    "lighttpd": [('( "/" =>', '( "%s/" =>'), ('"/api/login"', '"%s/api/login"'), ('# server.modules += ( "mod_setenv"',
                 'server.modules += ( "mod_setenv"'), ('# setenv.add-environment', 'setenv.add-environment'),
                 ('=> "/shop"', '=> "%s"')],
    "apache": [('RewriteRule    ^ "', 'RewriteRule    ^%s/ "'), ("^/api/login$", "^%s/api/login$"),
               ("# SetEnv  LARDER_PREFIX /shop", "SetEnv  LARDER_PREFIX %s")],
}


def below(prefix, server, text):
    for before, after in PREFIXED[server]:
        expect(before in text, "the file for %s has no %s" % (server, before))
        text = text.replace(before, after.replace("%s", prefix))
    return text


def program(name):
    return shutil.which(name, path=PATHS) or name


class BehindAnother(Service):
    """Context manager, as Service is. One socket: "path", "port" or None for three."""
    nginx_statuses = (0, 1)  # lighttpd's when a client is still connected

    def __init__(self, server, *flags, one_socket=None, close=False, **options):
        self.server, self.close = server, close
        super().__init__("--socket-mode", "666", *flags, readers=None if one_socket else 2, **options)
        os.chmod(self.directory, 0o755)  # a web server that was started as root goes on as somebody else
        self.listen = {None: None, "path": os.path.join(self.run_dir, "one.sock"),
                       "port": "127.0.0.1:%d" % free_port()}[one_socket]
        self.flags += ["--listen", self.listen] if self.listen else []

    def included(self):
        """The file for users, with the sockets of this service in it."""
        text = (ROOT / "other-servers" / (self.server + ".conf")).read_text()
        if self.listen and "/" in self.listen:
            for name in LANES:
                text = text.replace("/run/larder/%s.sock" % name, self.listen)
        elif self.listen:
            host, port = self.listen.split(":")
            for name in LANES:
                text = text.replace("unix:/run/larder/%s.sock|fcgi://larder-%s/" % (name, name),
                                    "fcgi://%s:%s/" % (host, port))
                text = text.replace('"socket" => "/run/larder/%s.sock"' % name,
                                    '"host" => "%s", "port" => %s' % (host, port))
        else:
            text = text.replace("/run/larder", self.run_dir)
        if self.close:
            text = text.replace("enablereuse=on ", "")
        return below(self.prefix, self.server, text) if self.prefix else text

    def write_configuration(self, port):
        path = pathlib.Path(self.directory, "server.conf")
        included = pathlib.Path(self.directory, "included.conf")
        included.write_text(self.included())
        somebody = ("www-data", "www-data") if os.geteuid() == 0 else ("#%d" % os.geteuid(), "#%d" % os.getegid())
        modules = "".join("LoadModule %s_module /usr/lib/apache2/modules/mod_%s.so\n" % (name, name) for name in MODULES)
        path.write_text({"lighttpd": LIGHTTPD, "apache": APACHE}[self.server] % {
            "port": port, "directory": self.directory, "included": included, "modules": modules,
            "user": somebody[0], "group": somebody[1]})
        return str(path)

    def start_nginx(self):
        """Starts the other server in its place."""
        for _ in range(3):
            port = free_port()
            path = self.write_configuration(port)
            command = {"lighttpd": [program("lighttpd"), "-D", "-f", path],
                       "apache": [program("apache2"), "-DFOREGROUND", "-f", path]}[self.server]
            with open(os.path.join(self.directory, "nginx.log"), "ab") as log:
                self.nginx = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                              env=harness.environment(), start_new_session=True)
            self.url = "http://127.0.0.1:%d%s" % (port, self.prefix)
            try:
                harness.wait_until(lambda: self.nginx.poll() is not None or harness.answers(self.url),
                                   harness.START_SECONDS, "%s answers" % self.server)
            except AssertionError:
                raise AssertionError("%s does not answer:\n%s" % (self.server, self.nginx_log())) from None
            if self.nginx.poll() is None:
                return
        raise AssertionError("%s does not start:\n%s" % (self.server, self.nginx_log()))


def main():
    parser = argparse.ArgumentParser(description="Runs a command against a demo service behind another web server.")
    parser.add_argument("--one-socket", choices=("path", "port"))
    parser.add_argument("--close", action="store_true", help="a connection for each request")
    parser.add_argument("--prefix", default="", help="serve below this path, such as /shop")
    parser.add_argument("server", choices=("lighttpd", "apache"))
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND ARG...")
    options = parser.parse_args()
    with BehindAnother(options.server, "--probes", "on", one_socket=options.one_socket, close=options.close,
                       prefix=options.prefix, secrets=[harness.new_secret()]) as service:
        status = subprocess.run(harness.filled(options.command, service)).returncode
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    harness.end_tidily_when_terminated()
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
    except AssertionError as complaint:
        sys.exit("other_servers.py: %s" % complaint)
