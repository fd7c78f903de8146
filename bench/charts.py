"""The charts of the report, as SVG. Each draws its own background, so that it can be read on a light page and on a dark one."""
import math
from xml.sax.saxutils import escape

from figures import chosen, counted, figure, grouped

STYLE = """<style>
text { font: 13px system-ui, sans-serif; fill: #1f2328 } .title { font-weight: 600 } .ours { font-weight: 600 }
.ground { fill: #ffffff } .app { fill: #8b949e } .ours-app { fill: #1a7f5a } .nginx { fill: #d0d7de } .axis { stroke: #8b949e }
.line { fill: none; stroke-width: 2 } .c0 { stroke: #1a7f5a } .c1 { stroke: #bc4c00 } .c2 { stroke: #0969da } .c3 { stroke: #8250df }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .ground { fill: #0d1117 } .app { fill: #7d8590 } .ours-app { fill: #3fb68b } .nginx { fill: #3d444d }
.c0 { stroke: #3fb68b } .c1 { stroke: #f0883e } .c2 { stroke: #58a6ff } .c3 { stroke: #bc8cff } }
</style>"""
WIDTH, MARGIN, LABEL, BAR, STEP = 860, 16, 300, 14, 20


def text(x, y, content, kind="", anchor="start"):
    return '<text x="%.1f" y="%.1f" class="%s" text-anchor="%s">%s</text>' % (x, y, kind, anchor, escape(content))


def box(x, y, width, height, kind):
    return '<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" class="%s"/>' % (x, y, width, height, kind)


def page(height, title, parts):
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">' % (
        WIDTH, height, WIDTH, height)
    return "\n".join([head, "<title>%s</title>" % escape(title), STYLE, box(0, 0, WIDTH, height, "ground"), *parts, "</svg>", ""])


# ------------------------------------------------------------------------------------------------- bars

def bars(rows):
    """CPU time a request by server, GET and the mix, least first: the app's part and nginx's."""
    parts, y = [], MARGIN
    for name, title in ("GET", "GET /products/{id}"), ("mix", "Mix: 75 % reads, 20 % creates, 5 % deletes, SYNC FULL"):
        lines = bar_lines(rows, name)
        if lines:
            parts.append(text(MARGIN, y + 14, title + ": CPU time a request, microseconds", "title"))
            y += 26
            scale = (WIDTH - LABEL - 2 * MARGIN - 60) / max(app + front for _, _, app, front in lines)
            for server, front_name, app, front in lines:
                parts += bar(y, server, front_name, app * scale, front * scale, app + front)
                y += STEP
            y += MARGIN
    return page(y + 2 * MARGIN, "CPU time a request by server", parts + legend(y))


def bar_lines(rows, name):
    """(server, front, microseconds of the app, of nginx), the least sum first."""
    lines = []
    for (server, front), group in grouped(chosen(counted(rows), load=name, sync="full"), "server", "front").items():
        lines.append((server, front, figure(group, "app_us").median, figure(group, "nginx_us").median))
    return sorted(lines, key=lambda line: line[2] + line[3])


def bar(y, server, front_name, app, front, value):
    ours = server.startswith("larder")
    label = server + (", behind nginx" if front_name == "nginx" else ", direct")
    return [text(LABEL, y + 11, label, "ours" if ours else "", "end"),
            box(LABEL + 8, y, app, BAR, "ours-app" if ours else "app"), box(LABEL + 8 + app, y, front, BAR, "nginx"),
            text(LABEL + 14 + app + front, y + 11, "%.0f" % value)]


def legend(y):
    return [box(LABEL + 8, y, BAR, BAR, "ours-app"), text(LABEL + 28, y + 11, "Larder"),
            box(LABEL + 108, y, BAR, BAR, "app"), text(LABEL + 128, y + 11, "the other servers"),
            box(LABEL + 268, y, BAR, BAR, "nginx"), text(LABEL + 288, y + 11, "nginx in front")]


# ----------------------------------------------------------------------------------------------- curves

def curves(rows):
    """CPU time a request by the number of products, a line for each load; both axes are logarithmic."""
    lines = {name: sorted((count, figure(group, "cpu_us").median) for (count,), group in grouped(of_load, "products").items())
             for (name,), of_load in grouped([row for row in rows if "cpu_us" in row["figures"]], "load").items()}
    counts = sorted({count for points in lines.values() for count, _ in points})
    marks = ticks([value for points in lines.values() for _, value in points])
    left, right, upper, lower = 60, WIDTH - 90, 50, 300

    def share(value, least, most):
        return math.log(value / least) / (math.log(most / least) or 1)

    def place(count, value):
        return (left + (right - left) * share(count, counts[0], counts[-1]),
                lower - (lower - upper) * share(value, marks[0], marks[-1]))
    parts = [text(MARGIN, MARGIN + 14, "CPU time a request by the number of products, microseconds", "title"),
             '<path d="M%d %dV%dH%d" class="axis line"/>' % (left, upper, lower, right)]
    parts += [text(place(count, marks[0])[0], lower + 20, "{:,}".format(count), "", "middle") for count in counts]
    for value in marks:
        parts.append(text(left - 8, place(counts[0], value)[1] + 4, "%g" % value, "", "end"))
    ends = []
    for number, (name, points) in enumerate(lines.items()):
        at = [place(*point) for point in points]
        parts.append('<path d="M%s" class="line c%d"/>' % (" L".join("%.1f %.1f" % point for point in at), number % 4))
        parts += ['<circle cx="%.1f" cy="%.1f" r="3" class="ground c%d"/>' % (*point, number % 4) for point in at]
        ends.append((at[-1][1], name))
    below = 0
    for y, name in sorted(ends):  # names that would lie on each other move down
        below = max(y + 4, below + 15)
        parts.append(text(right + 8, below, name))
    return page(lower + 20 + 2 * MARGIN, "CPU time a request by the number of products", parts)


def ticks(values):
    """1, 2, 5, 10, 20 and so on: from the last that is not above the values to the first that is not below."""
    steps = [factor * 10 ** power for power in range(-3, 9) for factor in (1, 2, 5)]
    first = max(step for step in steps if step <= min(values))
    last = min(step for step in steps if step >= max(values) and step > first)
    return [step for step in steps if first <= step <= last]
