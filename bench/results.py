"""What was measured, kept in build/bench/results.json: a section that is measured again replaces the one before."""
import datetime
import json
import os
import platform
import re
import subprocess

from places import BUILT

from harness import NGINX

PATH = BUILT / "results.json"


def read(path=PATH):
    return json.loads(path.read_text()) if path.exists() else {"sections": {}, "servers": {}}


def write(results, path=PATH):
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(results, indent=1))
    os.replace(partial, path)


def first_line(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return (done.stdout + done.stderr).strip().splitlines()[0]


def machine():
    """Where and when, without names of hosts or paths."""
    with open("/proc/cpuinfo") as file:
        model = re.search(r"model name\s*:\s*(.*)", file.read())
    with open("/proc/meminfo") as file:
        memory = int(re.search(r"MemTotal:\s+(\d+)", file.read()).group(1))
    return {
        "date": datetime.date.today().isoformat(),
        "cpu": model.group(1).strip() if model else platform.machine(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_gib": round(memory / 1024 / 1024),
        "kernel": re.match(r"[\d.]+", platform.release()).group(0),
        "nginx": first_line(NGINX, "-v").split("nginx/")[1].split()[0],
        "wrk": re.search(r"wrk (?:debian/)?([\w.-]+)", first_line("wrk", "-v")).group(1),
    }
