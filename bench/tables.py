"""Rows of measurements as tables in Markdown."""
from figures import chosen, counted, figure, grouped

SYNC = {"full": "FULL", "normal": "NORMAL"}


def table(heads, lines):
    return "\n".join("| %s |" % " | ".join(cells) for cells in [heads, ["---"] * len(heads), *lines])


def told(spread, digits=1):
    """The median, with least and most where there are several."""
    if spread is None:
        return ""
    form = "{:,.%df}" % digits
    if spread.least == spread.most:
        return form.format(spread.median)
    return "%s (%s to %s)" % tuple(form.format(value) for value in spread)


def by_median(rows, name, *keys):
    """Groups of rows, the least median of a figure first; those without the figure last."""
    groups = grouped(rows, *keys).items()
    return sorted(groups, key=lambda item: figure(item[1], name).median if figure(item[1], name) else float("inf"))


def label(server, front):
    return server if front == "direct" else server + ", behind nginx"


def errors(rows):
    count, of_5xx = (sum(row["figures"][name] for row in rows) for name in ("errors", "5xx"))
    return "%d" % count + (" (%d of 5xx)" % of_5xx if of_5xx else "")


def load_table(rows):
    lines = []
    for (server, front), group in by_median(rows, "cpu_us", "server", "front"):
        lines.append([label(server, front), told(figure(group, "cpu_us")),
                      told(figure(group, "nginx_us")) if front == "nginx" else "", told(figure(group, "requests_s"), 0),
                      *(told(figure(group, name), 2) for name in ("p50_ms", "p99_ms", "p999_ms")),
                      told(figure(group, "peak_mib")), errors(group)])
    return table(["served by", "CPU us a request", "of it nginx", "requests/s", "p50 ms", "p99 ms", "p99.9 ms", "peak MiB",
                  "errors"], lines)


def load_tables(rows):
    """One for each load, setting of SYNC and number of connections."""
    rows = [row for row in counted(rows) if "cpu_us" in row["figures"]]
    return ["%s, SYNC %s, %d connections\n\n%s" % (name, SYNC[sync], connections, load_table(group))
            for (name, sync, connections), group in grouped(rows, "load", "sync", "connections").items()]


def idle_table(rows):
    idle = chosen(rows, load="idle", sync="full")
    return table(["served by", "idle memory without nginx, MiB", "with it"],
                 [[label(*key), told(figure(group, "idle_app_mib")), told(figure(group, "idle_mib"))]
                  for key, group in grouped(idle, "server", "front").items()])


def matrix(rows, name, digits=1):
    """Servers by loads, one figure; first who takes least processor time for the first load."""
    rows = [row for row in rows if name in row["figures"]]
    loads = list(dict.fromkeys(row["load"] for row in rows))
    lines = []
    for (server, front), _ in by_median(chosen(rows, load=loads[0]), "cpu_us", "server", "front"):
        group = chosen(rows, server=server, front=front)
        lines.append([label(server, front), *(told(figure(chosen(group, load=load), name), digits) for load in loads)])
    return table(["served by", *loads], lines)
