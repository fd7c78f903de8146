#!/usr/bin/env python3
"""Copies a shared library with one version need marked as weak: weaken.py VERSION FROM TO

The loader then takes the library also where the C library lacks the version (as GLIBC_2.38), if the symbols come from
somewhere else. Two bytes change, no code does. ELF, 64 bits, little-endian."""
import struct
import sys

VERNEED = 0x6FFFFFFE  # the section type, ELF symbol versioning
WEAK = 2


def sections(elf):
    """Type, offset, size, link of each."""
    table, = struct.unpack_from("<Q", elf, 0x28)
    size, count = struct.unpack_from("<HH", elf, 0x3A)
    for i in range(count):
        kind, _, _, offset, length, link = struct.unpack_from("<I4QI", elf, table + i * size + 4)
        yield kind, offset, length, link


def needs(elf):
    """Offset of the entry and name of the version, for each that the library needs."""
    found = list(sections(elf))
    for kind, offset, _, link in found:
        if kind != VERNEED:
            continue
        strings, need, more = found[link][1], offset, True
        while more:
            _, count, _, first, more = struct.unpack_from("<HHIII", elf, need)
            entry = need + first
            for _ in range(count):
                _, _, _, name, step = struct.unpack_from("<IHHII", elf, entry)
                yield entry, elf[strings + name:elf.index(b"\0", strings + name)].decode()
                entry += step
            need += more


def main(version, source, target):
    with open(source, "rb") as file:
        elf = bytearray(file.read())
    entries = [entry for entry, name in needs(elf) if name == version]
    for entry in entries:
        flags, = struct.unpack_from("<H", elf, entry + 4)
        struct.pack_into("<H", elf, entry + 4, flags | WEAK)
    with open(target, "wb") as file:
        file.write(elf)
    if not entries:
        sys.exit("%s does not need %s" % (source, version))


if __name__ == "__main__":
    main(*sys.argv[1:])
