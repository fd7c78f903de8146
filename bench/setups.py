"""Measuring many servers in turn: a setup is a server that is started for some loads; a row is one measurement."""
import dataclasses
import pathlib
import time

from load import measure
from servers import Running, Server

SETTLE_SECONDS = 0.5  # between the first answer and the look at the idle memory


@dataclasses.dataclass(frozen=True)
class Setup:
    """A server that is started once for these loads. `extra` are further members of its rows."""
    server: Server
    loads: tuple
    connections: tuple = (50,)
    sync: str = "full"
    template: pathlib.Path = None
    extra: tuple = ()


def row(setup, name, figures, **members):
    return {"server": setup.server.name, "front": setup.server.front, "sync": setup.sync, "load": name, **dict(setup.extra),
            **members, "figures": figures}


def measure_setup(bench, setup):
    """Starts the server on a fresh database and puts it under its loads, one after the other."""
    rows = []
    with Running(setup.server, setup.template or bench.database(setup.server), setup.sync) as running:
        time.sleep(SETTLE_SECONDS)
        app, front = running.idle_mib()
        rows.append(row(setup, "idle", {"idle_app_mib": app, "idle_nginx_mib": front, "idle_mib": app + front}))
        for connections in setup.connections:
            for each in setup.loads:
                figures = measure(running, each, connections, bench.warmup, bench.seconds)
                rows.append(row(setup, each.name, figures, connections=connections))
                bench.tell("%-32s %-6s %-14s %4d connections  %7.1f us of processor, %8.0f requests/s, %d errors" % (
                    setup.server.key, setup.sync, each.name, connections, figures["cpu_us"], figures["requests_s"],
                    figures["errors"]))
    return rows


def measure_setups(bench, setups, again=False):
    """All of them in turn, as many rounds as asked for. One that fails is told of and left out from then on. With `again`
    the first is measured once more at the end: what the machine itself has drifted by."""
    setups = [setup for setup in setups if bench.passes(setup.server)]
    rows = []

    def attempt(setup, number):
        if setup.server.key in bench.failed:
            return
        try:
            rows.extend({**each, "round": number} for each in measure_setup(bench, setup))
        except AssertionError as complaint:
            bench.fail(setup.server, str(complaint))
    for number in range(1, bench.rounds + 1):
        bench.tell("round %d of %d" % (number, bench.rounds))
        for setup in setups:
            attempt(setup, number)
    if again and setups:
        bench.tell("the first again")
        attempt(setups[0], "again")
    return [each for each in rows if "%(server)s %(front)s" % each not in bench.failed]


def seconds_of(bench, setups, again=False):
    """What measure_setups() is expected to take, the check of each server included."""
    loads = sum(len(setup.loads) * len(setup.connections) for setup in setups) * bench.rounds
    starts = len(setups) * bench.rounds
    if again and setups:
        loads, starts = loads + len(setups[0].loads), starts + 1
    return loads * (bench.warmup + bench.seconds + 0.3) + starts * 2 + len({setup.server for setup in setups}) * 2.5
