#!/usr/bin/env python3
"""Runs a command under the restrictions of a systemd unit, without systemd:

    python3 tests/confined.py [--write DIR] UNIT COMMAND ARG...

SystemCallFilter, MemoryDenyWriteExecute and RestrictAddressFamilies become one seccomp filter, which kills whoever calls
what the unit denies: the unit's own EPERM could pass unnoticed. As root it also takes ProtectSystem=strict, with DIR
the one place to write to, PrivateNetwork, and a user without rights. The groups of system calls are what
`systemd-analyze syscall-filter` says, their numbers what the C library's headers say.
"""
import argparse
import ctypes
import os
import platform
import re
import struct
import subprocess
import sys

SECCOMP_SET_MODE_FILTER, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = 2, 38, 22
KILL, ALLOW = 0x80000000, 0x7FFF0000
LOAD, EQUAL, MASK, RETURN = 0x20, 0x15, 0x54, 0x06  # BPF: load a word, compare, and, return
MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
NUMBER_AT, MACHINE_AT, ARGUMENTS_AT = 0, 4, 16  # in struct seccomp_data
WRITE_EXECUTE, EXECUTE = 6, 4
FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10}
NOBODY = 65534


def unit_values(path, name):
    with open(path) as file:
        return [line.split("=", 1)[1].strip() for line in file if line.startswith(name + "=")]


def groups():
    """Every group with its own members, a member being a call or a group."""
    text = subprocess.run(["systemd-analyze", "--no-pager", "syscall-filter"], check=True, capture_output=True, text=True).stdout
    found, current = {}, None
    for line in text.splitlines():
        word = re.sub(r"\x1b\[[0-9;]*m", "", line).strip()
        if word.startswith("@") and not line.startswith(" "):
            current = found.setdefault(word, [])
        elif word and not word.startswith("#") and current is not None:
            current.append(word)
    return found


def expand(words, known):
    calls = set()
    for word in words:
        calls |= expand(known[word], known) if word.startswith("@") else {word}
    return calls


def allowed_calls(unit):
    known, allowed = groups(), set()
    for value in unit_values(unit, "SystemCallFilter"):
        named = expand(value.lstrip("~").split(), known)
        allowed = allowed - named if value.startswith("~") else allowed | named
    return allowed | expand(["@default"], known)  # systemd always adds these


def numbers():
    text = subprocess.run(["cc", "-dM", "-E", "-x", "c", "-"], input="#include <sys/syscall.h>\n", check=True,
                          capture_output=True, text=True).stdout
    return {name: int(number) for name, number in re.findall(r"^#define __NR_(\w+) (\d+)$", text, re.M)}


def instruction(code, value, if_true=0, if_false=0):
    return struct.pack("=HBBI", code, if_true, if_false, value)


def program(calls, number_of, write_execute, families):
    """The filter: of each call whether it may be made."""
    made = instruction(LOAD, MACHINE_AT) + instruction(EQUAL, MACHINES[platform.machine()], 1, 0) + instruction(RETURN, KILL)
    made += instruction(LOAD, NUMBER_AT)

    def with_argument(call, index, checks):
        """A call that depends on an argument: the checks, of which each ends or falls through, and then ALLOW."""
        nonlocal made
        body = instruction(LOAD, ARGUMENTS_AT + 8 * index) + checks
        made += instruction(EQUAL, number_of[call], 0, len(body) // 8) + body
    if not write_execute:
        with_argument("mmap", 2, instruction(MASK, WRITE_EXECUTE) + instruction(EQUAL, WRITE_EXECUTE, 0, 1)
                      + instruction(RETURN, KILL) + instruction(RETURN, ALLOW))
        with_argument("mprotect", 2, instruction(MASK, EXECUTE) + instruction(EQUAL, EXECUTE, 0, 1)
                      + instruction(RETURN, KILL) + instruction(RETURN, ALLOW))
    for call in ("socket", "socketpair"):
        with_argument(call, 0, b"".join(instruction(EQUAL, FAMILIES[family], 0, 1) + instruction(RETURN, ALLOW)
                                        for family in families) + instruction(RETURN, KILL))
    for call in sorted(calls & set(number_of)):
        made += instruction(EQUAL, number_of[call], 0, 1) + instruction(RETURN, ALLOW)
    return made + instruction(RETURN, KILL)


def install(filter_bytes):
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(filter_bytes)
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(filter_bytes) // 8, ctypes.addressof(buffer)))
    for arguments in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, SECCOMP_SET_MODE_FILTER, header, 0, 0)):
        if libc.prctl(*arguments) != 0:
            sys.exit("confined.py: prctl: %s" % os.strerror(ctypes.get_errno()))


def separate(directory):
    """A mount namespace where all but the directory is read-only, and a network without interfaces."""
    command = ["unshare", "--mount", "--net", "sh", "-c",
               'mount --bind "$0" "$0" && mount -o remount,bind,ro / && exec "$@"', directory]
    os.execvp(command[0], [*command, sys.executable, *sys.argv])


def main():
    parser = argparse.ArgumentParser(description="Runs a command under the restrictions of a systemd unit.")
    parser.add_argument("unit")
    parser.add_argument("--write", metavar="DIR", help="the only directory to write to")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND ARG...")
    options = parser.parse_args()
    if os.geteuid() == 0 and options.write and "CONFINED" not in os.environ:
        os.environ["CONFINED"] = "1"
        separate(options.write)
    os.environ.pop("CONFINED", None)
    made = program(allowed_calls(options.unit), numbers(), "yes" not in unit_values(options.unit, "MemoryDenyWriteExecute"),
                   unit_values(options.unit, "RestrictAddressFamilies")[-1].split())
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    install(made)
    os.execvp(options.command[0], options.command)


if __name__ == "__main__":
    main()
