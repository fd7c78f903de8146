"""The report: tables of what was measured, put between two marks of docs/benchmarks.md, and the charts beside it."""
import bounds
import charts
from figures import chosen, counted, figure, grouped
from places import ROOT
from tables import errors, label, load_tables, matrix, table, told

PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- make bench: begin -->", "<!-- make bench: end -->"


# ---------------------------------------------------------------------------------------------- sections

def bounds_text(results):
    lines = [[bound.what, bound.limit, bound.value, bounds.verdict(bound), bound.remark] for bound in bounds.all_bounds(results)]
    return ("Each number that Larder is to hold; the value is computed from the tables below.\n\n"
            + table(["what", "bound", "value", "", ""], lines))


def drift_text(rows):
    lines = []
    for (name,), group in grouped(chosen(rows, round="again"), "load").items():
        first = chosen(rows, server=group[0]["server"], front=group[0]["front"], sync=group[0]["sync"], load=name)
        before, after = figure([row for row in first if row["round"] != "again"], "cpu_us"), figure(group, "cpu_us")
        if after:
            lines.append("%s %.2f" % (name, after.median / before.median))
    if not lines:
        return ""
    return "\n\nDrift: %s measured once more at the end, over its median before: %s." % (
        label(group[0]["server"], group[0]["front"]), ", ".join(lines))


def main_text(section, results):
    return "\n\n".join(load_tables(section["rows"])) + drift_text(section["rows"])


def start_text(section, results):
    """What each server is, in the order of its size."""
    idle = chosen(counted(results["sections"].get("main", {}).get("rows", [])), load="idle", sync="full")
    starts = section["rows"]
    lines = []
    for name, facts in sorted(results["servers"].items(), key=lambda item: item[1]["bytes"]):
        fronts = list(dict.fromkeys(row["front"] for row in chosen(idle, server=name))) or ["nginx"]
        for front in fronts:
            lines.append([label(name, front), facts["version"] if front == fronts[0] else "",
                          "%.2f" % (facts["bytes"] / 1e6), "%.1f" % facts["build_s"],
                          told(figure(chosen(idle, server=name, front=front), "idle_app_mib")),
                          told(figure(chosen(idle, server=name, front=front), "idle_mib")),
                          told(figure(chosen(starts, server=name, front=front), "start_ms"))])
    return "\n".join([
        "Shipped is what has to be there beside the system to run it, nginx not counted. Building starts from nothing, packages and",
        "SQLite's source at hand. The start is from nothing (nginx too, where it is used) to the first 200 on /health.", "",
        table(["served by", "what it is", "shipped MB", "build s", "idle MiB without nginx", "idle MiB, all", "start ms"], lines)])


def connections_text(section, results):
    return "\n\n".join(load_tables(section["rows"]))


def workloads_text(section, results):
    return ("CPU us a request, 50 connections, SYNC FULL:\n\n%s\n\nrequests/s:\n\n%s\n\nErrors in all of it: %s." % (
        matrix(section["rows"], "cpu_us"), matrix(section["rows"], "requests_s", 0),
        errors([row for row in section["rows"] if "errors" in row["figures"]])))


def wait_text(section, results):
    lines = []
    for (server, front), group in grouped(section["rows"], "server", "front").items():
        few, many = chosen(group, load="wait, 100"), chosen(group, load="wait, 10000")
        lines.append([label(server, front), told(figure(few, "answers"), 0), told(figure(few, "peak_mib")),
                      told(figure(many, "answered"), 0), told(figure(many, "in_time"), 0), told(figure(many, "latest_s"), 2),
                      told(figure(many, "peak_app_mib")), told(figure(many, "peak_mib"))])
    ours = next((row for row in section["rows"] if row["server"] == "larder"), None)
    remark = ""
    if ours:
        remark = ("\n\nLarder's nginx may hold %d connections in each of its workers here, of which there are %d (CONNECTIONS for "
                  "nginx/render.sh, worker_processes): a client that waits takes two." % (
                      ours["nginx_connections"], ours["nginx_workers"]))
    heads = ["served by", "answers of 1,000", "peak MiB", "answered of 10,000", "in time", "the latest, s",
             "peak MiB without nginx", "peak MiB, all"]
    return ("/wait?ms=1000 on 100 connections, each asking again when answered, for 10 s; then 10,000 connections that wait at "
            "once for 8 s each, opened as fast as they are taken. In time is within 1.1 s of the due time.\n\n"
            + table(heads, lines) + remark)


def defaults_text(section, results):
    rows = [row for row in section["rows"] if "cpu_us" in row["figures"]]
    lines = []
    for key, group in grouped(rows, "cpus", "workers", "readers").items():
        cells = [str(value) for value in key]
        for name in "GET", "mix":
            of_load = chosen(group, load=name)
            cells += [told(figure(of_load, "cpu_us")), told(figure(of_load, "requests_s"), 0), told(figure(of_load, "p99_ms"), 2)]
        idle = [row for row in section["rows"] if tuple(row.get(part) for part in ("cpus", "workers", "readers")) == key]
        lines.append(cells + [told(figure(idle, "idle_mib"))])
    heads = ["CPUs", "nginx workers", "readers", "GET: CPU us", "requests/s", "p99 ms", "mix: CPU us", "requests/s", "p99 ms",
             "idle MiB"]
    return ("Larder on one processor and on two (taskset), by nginx's workers and `--readers` (0: one process for both lanes). "
            "With one processor wrk has the other to itself.\n\n" + table(heads, lines))


def scale_text(section, results):
    rows, lines = section["rows"], []
    loads = [name for name in dict.fromkeys(row["load"] for row in rows) if name not in ("idle", "file")]
    for (count,), group in grouped(rows, "products").items():
        cells = ["{:,}".format(count), "{:,.0f}".format(figure(chosen(group, load="file"), "mib").median)]
        for name in loads:
            of_load = chosen(group, load=name)
            cells += [told(figure(of_load, "cpu_us")), told(figure(of_load, "p99_ms"), 2)]
        lines.append(cells)
    heads = ["products", "file MiB"]
    for name in loads:
        heads += [name + ": CPU us", "p99 ms"]
    left = "" if 10_000_000 in section["sizes"] else "\n\n10 million products were left out of this run."
    return ("Larder with more products; ids, pages and words are drawn from all of them, and the file is in the page cache. The "
            "list is a page of 20 from anywhere, the search a page of 20 that match two words.\n\n%s%s\n\n"
            "![CPU time a request by the number of products](benchmarks-scale.svg)" % (table(heads, lines), left))


def syscalls_text(section, results):
    found = section["rows"][0]["figures"]
    return ("The one reader under GET through nginx, 50 connections. Under strace a batch has %.1f requests; without it %.1f, with %d "
            "answers of 5xx.\n\n%s" % (found["batch_traced"], found["batch"], found["5xx"], table(
                ["system call", "a request", "a batch"],
                [[name, "%.3f" % a_request, "%.2f" % a_batch] for name, (a_request, a_batch) in found["calls"].items()])))


def instructions_text(section, results):
    names = list(section["rows"][0]["figures"])
    lines = [[row["load"], *("{:,}".format(row["figures"][name]) for name in names)] for row in section["rows"]]
    return "Counted by callgrind, with 8 requests or one in a batch; the kernel's own work is not in it.\n\n" + table(
        ["instructions a request", *names], lines)


def sqlite_text(section, results):
    parts = []
    for row in section["rows"]:
        operations = row["told"]["operations"]
        parts.append(("Counted by callgrind." if row["counted"] else "Timed, medians of 15 rounds; a figure moves with the machine.")
                     + " Of the leanest case, reads that share a transaction, db.h has %.3f of the bare loop's rate with the "
                     "bundled library.\n\n" % row["told"]["rate_of_db_h"]
                     + table(list(operations[0]), [["%g" % value if isinstance(value, float) else str(value)
                                                    for value in operation.values()] for operation in operations]))
    return "\n\n".join(parts)


def image_text(section, results):
    found = section["rows"][0]["figures"]
    return "%.2f MB on disk, %.2f MB compressed." % (found["disk_mb"], found["compressed_mb"])


# name: title and text
TEXTS = {
    "main": ("GET by id and the mix", main_text),
    "start": ("Size, build, memory and start", start_text),
    "connections": ("10 and 256 connections", connections_text),
    "workloads": ("Other routes", workloads_text),
    "wait": ("Requests that wait", wait_text),
    "defaults": ("Processes: how many", defaults_text),
    "scale": ("Scale", scale_text),
    "syscalls": ("System calls and batches", syscalls_text),
    "instructions": ("Instructions", instructions_text),
    "sqlite": ("SQLite without HTTP", sqlite_text),
    "image": ("Image", image_text),
}


def conditions(name, section):
    """How a section was measured, and how to do it again."""
    settings, machine = section["settings"], section["machine"]
    sizes = ' SIZES="%s"' % " ".join(map(str, section["sizes"])) if name == "scale" else ""
    command = 'make bench SECTIONS=%s WARMUP=%d SECONDS=%d ROUNDS=%d%s' % (
        name, settings["WARMUP"], settings["SECONDS"], settings["ROUNDS"], sizes)
    return "`%s`, %s, %.1f minutes." % (command, machine["date"], section["took_s"] / 60)


def machine_text(sections):
    told_of = ["%(cpu)s, %(cpus)d processors, %(memory_gib)d GiB, Linux %(kernel)s, nginx %(nginx)s, wrk %(wrk)s." % section["machine"]
               for section in sections.values()]
    return " ".join(dict.fromkeys(told_of))


def absent_text(sections):
    left, failed = {}, {}
    for section in sections.values():
        left.update(section["left_out"])
        failed.update(section["failed"])
    lines = ["- %s is left out: %s" % item for item in left.items()] + ["- %s failed: %s" % item for item in failed.items()]
    return "\n\nNot in the tables:\n\n" + "\n".join(lines) if lines else ""


def generated(results):
    sections = {name: results["sections"][name] for name in TEXTS if results["sections"].get(name, {}).get("rows")}
    parts = ["## Bounds\n\n" + bounds_text(results)]
    for name, section in sections.items():
        title, text = TEXTS[name]
        parts.append("## %s\n\n%s\n\n%s" % (title, conditions(name, section), text(section, results)))
    return "%s%s\n\n%s" % (machine_text(sections), absent_text(sections), "\n\n".join(parts))


def put_between(page, text):
    """The page with the text between its two marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise AssertionError("%s lacks the marks %s and %s" % (PAGE.name, BEGIN, END))
    return "%s%s\n\n%s\n\n%s%s" % (before, begin, text, end, after)


def write(results):
    if not results["sections"]:
        raise AssertionError("nothing has been measured yet: run make bench")
    PAGE.write_text(put_between(PAGE.read_text(), generated(results)))
    main, scale = (results["sections"].get(name, {}).get("rows", []) for name in ("main", "scale"))
    if main:
        (PAGE.parent / "benchmarks.svg").write_text(charts.bars(main))
    if scale:
        (PAGE.parent / "benchmarks-scale.svg").write_text(charts.curves(scale))
