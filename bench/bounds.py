"""The numbers that Larder is to hold, each computed from what was measured."""
import collections

from figures import best, chosen, counted, figure, ratio
from tables import label

OURS = {"larder", "larder, system's SQLite", "floor"}
TESTED = "held by a test"

# `value` is text; `is_met` True, False, None where it was not measured, or TESTED; `remark` says against whom, or where to look.
Bound = collections.namedtuple("Bound", "what limit value is_met remark")


def verdict(bound):
    return {True: "met", False: "MISSED", None: "not measured"}.get(bound.is_met, bound.is_met)


def at_most(what, limit, value, remark="", unit="", digits=2):
    """A bound on a number; a value of None was not measured."""
    if value is None:
        return Bound(what, "at most %g%s" % (limit, unit), "", None, remark)
    return Bound(what, "at most %g%s" % (limit, unit), "%.*f%s" % (digits, value, unit), value <= limit, remark)


def peers(rows, **where):
    return [row for row in chosen(rows, **where) if row["server"] not in OURS]


def against_best(what, limit, rows, figure_name, load, sync, fronts):
    """Larder's figure over the best peer's, among those with one of the fronts."""
    ours = figure(chosen(rows, server="larder", front="nginx", load=load, sync=sync), figure_name)
    found = best(peers(rows, load=load, sync=sync, front=fronts), figure_name, "server", "front")
    if ours is None or found is None:
        return at_most(what, limit, None)
    value, (name, front) = found
    remark = "%.4g against %.4g of %s" % (ours.median, value, label(name, front))
    return at_most(what, limit, ours.median / value, remark)


def of_load(rows):
    """`rows` are those of the section main."""
    ours = dict(server="larder", front="nginx")
    full, normal = chosen(rows, **ours, load="mix", sync="full"), chosen(rows, **ours, load="mix", sync="normal")
    floor = chosen(rows, server="floor", load="mix", sync="full")
    nginx, direct, any_front = {"nginx"}, {"direct"}, {"nginx", "direct"}
    return [
        against_best("CPU a request against the best peer behind the same nginx, GET", 0.5, rows, "cpu_us", "GET", "full",
                     nginx),
        against_best("the same, the mix, FULL", 0.5, rows, "cpu_us", "mix", "full", nginx),
        against_best("the same, the mix, NORMAL", 0.5, rows, "cpu_us", "mix", "normal", nginx),
        against_best("the mix through nginx against the best peer without a proxy, FULL", 0.8, rows, "cpu_us", "mix", "full",
                     direct),
        against_best("the same, NORMAL", 0.8, rows, "cpu_us", "mix", "normal", direct),
        against_best("GET through nginx against the best peer without a proxy", 1.2, rows, "cpu_us", "GET", "full", direct),
        at_most("the mix over nginx with a trivial FastCGI answer", 1.4, ratio(full, floor, "cpu_us")),
        against_best("p99 of the mix against the best peer's, FULL", 0.5, rows, "p99_ms", "mix", "full", any_front),
        against_best("the same, NORMAL", 0.5, rows, "p99_ms", "mix", "normal", any_front),
        at_most("CPU a request of the mix, FULL over NORMAL", 1.15, ratio(full, normal, "cpu_us")),
    ]


def of_memory(rows):
    ours = dict(server="larder", front="nginx")
    idle = chosen(rows, **ours, load="idle")
    all_idle, own = figure(idle, "idle_mib"), figure(idle, "idle_app_mib")
    peak = figure(chosen(rows, **ours, load={"GET", "mix"}), "peak_mib")
    return [
        at_most("idle memory, nginx and all of Larder's processes", 6, all_idle and all_idle.median, "PSS", " MiB"),
        at_most("idle memory, Larder alone", 2.5, own and own.median, "PSS", " MiB"),
        at_most("peak under GET and mix, all", 20, peak and peak.most, "PSS, looked at each second; the most of all rounds", " MiB"),
    ]


def of_start(rows):
    whole = figure(chosen(rows, server="larder", front="nginx", load="start"), "start_ms")
    own = figure(chosen(rows, server="larder", front="direct", load="start"), "start_ms")
    return [at_most("start to the first 200 on /health, nginx and Larder", 10, whole and whole.median, "", " ms", 1),
            at_most("the same, Larder alone, at its socket", 10, own and own.median, "", " ms", 1)]


def of_wait(rows):
    ours = dict(server="larder", front="nginx")
    few, many = chosen(rows, **ours, load="wait, 100"), chosen(rows, **ours, load="wait, 10000")
    answers = figure(few, "answers")
    result = [Bound("/wait?ms=1000, 100 connections for 10 s", "990 answers", "%d" % answers.median if answers else "",
                    answers.median >= 990 if answers else None, "")]
    in_time, latest = figure(many, "in_time"), figure(many, "latest_s")
    result.append(Bound("10,000 waiting at once", "all within 1.1 s of their due time",
                        "%d" % in_time.median if in_time else "", in_time.median >= 10000 if in_time else None,
                        "the latest after %.2f s" % latest.median if latest else ""))
    for what, limit, name in ("Larder", 64, "peak_app_mib"), ("all", 256, "peak_mib"):
        peak = figure(many, name)
        result.append(at_most("memory meanwhile, %s" % what, limit, peak and peak.most, "PSS", " MiB", 1))
    return result


def of_image(rows):
    size, compressed = (figure(rows, name) for name in ("disk_mb", "compressed_mb"))
    return [at_most("image of the service, on disk", 2, size and size.median, "", " MB"),
            at_most("the same, compressed", 1, compressed and compressed.median, "", " MB")]


def of_sqlite(rate):
    return [Bound("the statement cache's interface against a bare prepared loop", "at least 0.95 of its rate",
                  "%.3f" % rate if rate else "", rate >= 0.95 if rate else None, "by instructions; reads that share a transaction")]


HELD_BY_TESTS = [Bound("reload under full load", "0 failed requests", "", TESTED, "`make faults`"),
                 Bound("kill -9 of any worker or of all, under load", "0 acknowledged writes lost", "", TESTED, "`make faults`")]


def all_bounds(results):
    def rows(section):
        return counted(results["sections"].get(section, {}).get("rows", []))
    rate = next((row["told"]["rate_of_db_h"] for row in rows("sqlite") if row["counted"]), None)
    return [*of_load(rows("main")), *of_memory(rows("main")), *of_image(rows("image")),
            *of_start(rows("start")), *of_wait(rows("wait")), *of_sqlite(rate), *HELD_BY_TESTS]
