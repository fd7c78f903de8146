"""What a process and all its descendants cost: processor time and memory."""
import os
import re
import threading
import time

import places  # noqa: F401: for the next line
from harness import processes

TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def tree(root):
    """The pids of a process and its descendants."""
    children = {}
    for pid, parent, _, _, state in processes():
        if state not in "ZX":
            children.setdefault(parent, []).append(pid)
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    return found


def cpu_ns(root):
    """Of all the tree: the kernel's clock of each process, exact to the nanosecond, its ended threads included; and what
    children that have ended took, to 10 ms."""
    total = 0
    for pid in tree(root):
        try:
            total += int(time.clock_gettime((~pid << 3) | 2) * 1e9)  # clock_getcpuclockid(3)
            with open("/proc/%d/stat" % pid) as file:
                fields = file.read().rsplit(")", 1)[1].split()
            total += (int(fields[13]) + int(fields[14])) * TICK_NS
        except OSError:  # ended meanwhile: its parent has its time
            continue
    return total


def pss_kib(root):
    """Memory of the tree, what is shared divided among those who share it."""
    total = 0
    for pid in tree(root):
        try:
            with open("/proc/%d/smaps_rollup" % pid) as file:
                total += int(re.search(r"^Pss:\s+(\d+)", file.read(), re.M).group(1))
        except OSError:
            continue
    return total


class Peak:
    """Samples the memory of some trees while the `with` block runs: .kib, one for each root, is the largest, .all_kib
    that of their sum. A test replaces `sample`."""

    def __init__(self, roots, every_s=1.0, sample=pss_kib):
        self.roots, self.every_s, self.sample = roots, every_s, sample
        self.kib, self.all_kib = [0] * len(roots), 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def look(self):
        now = [self.sample(root) for root in self.roots]
        self.kib = [max(pair) for pair in zip(self.kib, now)]
        self.all_kib = max(self.all_kib, sum(now))

    def watch(self):
        while not self.ended.wait(self.every_s):
            self.look()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        self.look()
