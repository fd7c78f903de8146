"""Prometheus's text format 0.0.4, read strictly: what a lenient reader would let pass is an error here.

    families = parse(text)
    families["larder_requests_total"].samples[(("method", "GET"), ("route", "/health"), ("status", "200"))]

The grammar: https://prometheus.io/docs/instrumenting/exposition_formats/. Stricter than it: every sample belongs to a
family with HELP and TYPE before it, families are not mixed, no sample is there twice, no timestamps, and histograms are
whole and consistent.
"""
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)')
SAMPLE = re.compile(r"(%s)(?:\{(.*)\})? (-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?|\+Inf|-Inf|NaN)" % NAME)
COMMENT = re.compile(r"# (HELP|TYPE) (%s) (.+)" % NAME)
TYPES = {"counter", "gauge", "histogram"}
SUFFIXES = ("_bucket", "_sum", "_count")


class Fault(ValueError):
    """The text is not in the format."""


class Family:
    def __init__(self, name, help_text):
        self.name, self.help, self.type, self.samples = name, help_text, None, {}

    def total(self, **labels):
        """The sum of the samples with these labels; of a histogram, name the part with its suffix in `part`."""
        part = labels.pop("part", None)
        wanted = {(name, value) for name, value in labels.items()} | ({("", part)} if part else set())
        return sum(value for key, value in self.samples.items() if wanted <= set(key))


def demand(condition, line, complaint):
    if not condition:
        raise Fault("%s: %r" % (complaint, line))


def parse_labels(text, line):
    pairs, rest = [], text
    while rest:
        found = LABEL.match(rest)
        demand(found, line, "labels are not well-formed")
        name, value, comma = found.groups()
        rest = rest[found.end():]
        demand(not comma or rest, line, "a comma ends the labels")
        pairs.append((name, re.sub(r"\\(.)", lambda m: "\n" if m.group(1) == "n" else m.group(1), value)))
    names = [name for name, _ in pairs]
    demand(len(names) == len(set(names)), line, "a label is there twice")
    return tuple(sorted(pairs))


def family_of(name, families, line):
    """The family of a sample, and which part of it the sample is."""
    for suffix in SUFFIXES:
        whole = families.get(name[:-len(suffix)]) if name.endswith(suffix) else None
        if whole is not None and whole.type == "histogram":
            return whole, suffix
    demand(name in families and families[name].type != "histogram", line, "a sample without a family")
    return families[name], ""


def parse(text):
    demand(text.endswith("\n"), text[-40:], "the last line does not end")
    families, current = {}, None
    for line in text[:-1].split("\n"):
        demand(line == line.strip() and line, line, "an empty line, or blanks around one")
        if line.startswith("#"):
            found = COMMENT.fullmatch(line)
            demand(found, line, "a comment that is neither HELP nor TYPE")
            kind, name, rest = found.groups()
            if kind == "HELP":
                demand(name not in families, line, "a family is there twice")
                demand(not re.search(r"\\(?![\\n])", rest), line, "HELP is not escaped")
                families[name] = current = Family(name, rest)
            else:
                demand(current and current.name == name and current.type is None, line, "TYPE does not follow HELP")
                demand(rest in TYPES, line, "an unknown type")
                demand((rest == "counter") == name.endswith("_total"), line, "counters, and they alone, end in _total")
                current.type = rest
            continue
        found = SAMPLE.fullmatch(line)
        demand(found, line, "no sample")
        name, labels, value = found.groups()
        family, part = family_of(name, families, line)
        demand(family is current and family.type, line, "a sample outside its family")
        key = parse_labels(labels or "", line) + ((("", part),) if part else ())
        demand(key not in family.samples, line, "a sample is there twice")
        demand("." in value or "e" in value or re.fullmatch(r"-?[0-9]+|[+-]Inf|NaN", value), line, "an odd number")
        family.samples[key] = float(value)
        demand(family.type == "gauge" or family.samples[key] >= 0, line, "a negative count")
    for family in families.values():
        demand(family.type, family.name, "a family without TYPE")
        if family.type == "histogram":
            check_histogram(family)
    return families


def check_histogram(family):
    """Each set of labels has buckets that rise to +Inf, a count that is the last bucket, and a sum."""
    groups = {}
    for key, value in family.samples.items():
        parts = dict(key)
        part, bound = parts.pop(""), parts.pop("le", None)
        demand((part == "_bucket") == (bound is not None), key, "le belongs to buckets, and to them alone")
        group = groups.setdefault(tuple(sorted(parts.items())), {"_bucket": []})
        if part == "_bucket":
            group[part].append((float(bound), value))
        else:
            group[part] = value
    for labels, group in groups.items():
        demand({"_sum", "_count"} <= set(group), (family.name, labels), "a histogram without sum or count")
        bounds = [bound for bound, _ in group["_bucket"]]
        counts = [count for _, count in group["_bucket"]]
        demand(bounds == sorted(set(bounds)), (family.name, labels), "the bounds do not rise")
        demand(bounds and bounds[-1] == float("inf"), (family.name, labels), "no bucket +Inf")
        demand(counts == sorted(counts), (family.name, labels), "the buckets are not cumulative")
        demand(counts[-1] == group["_count"], (family.name, labels), "the count is not that of the bucket +Inf")
        demand(group["_count"] > 0 or group["_sum"] == 0, (family.name, labels), "a sum of nothing")
