"""The arithmetic between what was measured and what is told."""
import collections
import statistics

Spread = collections.namedtuple("Spread", "median least most")


def spread(values):
    return Spread(statistics.median(values), min(values), max(values))


def chosen(rows, **where):
    """The rows whose members are as given; a set or tuple means any of it."""
    def fits(row):
        return all(row.get(name) in value if isinstance(value, (set, tuple)) else row.get(name) == value
                   for name, value in where.items())
    return [row for row in rows if fits(row)]


def counted(rows):
    """Without the repetition that tells of drift."""
    return [row for row in rows if row.get("round") != "again"]


def grouped(rows, *names):
    """{(value of each name…): rows}, in the order in which they came."""
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row.get(name) for name in names), []).append(row)
    return groups


def figure(rows, name):
    """The spread of a figure over rows, None where none has it."""
    values = [row["figures"][name] for row in rows if name in row["figures"]]
    return spread(values) if values else None


def best(rows, name, *keys):
    """(least median of the figure, key) over the groups that have it; None without one."""
    found = []
    for key, group in grouped(rows, *keys).items():
        value = figure(group, name)
        if value is not None:
            found.append((value.median, key))
    return min(found) if found else None


def ratio(rows, others, name):
    """Of two medians; None where one is missing."""
    upper, lower = figure(rows, name), figure(others, name)
    return upper.median / lower.median if upper and lower and lower.median else None
