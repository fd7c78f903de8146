"""docs/ops: every alert and every panel asks for metrics, labels and values that /metrics really gives."""
import json
import re
import shutil
import subprocess

from checks.exposition import parse
from harness import ROOT, Service, expect, expect_equal, new_secret, product
from runner import Skip, test

OPS = ROOT / "docs" / "ops"
RULES = OPS / "larder.rules.yml"
SCRAPED = {"job", "instance"}  # Prometheus's own labels
KEYWORDS = {"sum", "by", "rate", "increase", "changes", "histogram_quantile", "offset", "or", "and", "unless", "max", "min",
            "label_values"}
METRIC = re.compile(r"\b(larder_\w+|up)\b(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)(=~|!=|!~|=)"((?:[^"\\]|\\.)*)"')


def scraped():
    """What /metrics gives after requests of many kinds: {sample name: [labels, …]}."""
    with Service("--probes", "on", readers=1, secrets=[new_secret()]) as service:
        client = service.client()
        client.post("/products", product("ops"))
        client.post("/api/login", {"email": "nobody@example.org", "password": "nothing"})
        text = client.get("/metrics").body.decode()
        answer = client.get("/metrics")
        expect_equal(answer.status, 200, "status of /metrics")
    samples = {}
    for name, family in parse(text).items():
        for key in family.samples:
            labels = dict(key)
            samples.setdefault(name + labels.pop("", ""), []).append(labels)
    samples["up"] = [{"job": "larder"}]
    return samples


def expect_known(where, expression, samples):
    """Holds one expression to name only what is there."""
    expression = expression.replace("$__rate_interval", "5m")
    found = METRIC.findall(expression)
    expect(found, "%s names no metric: %s" % (where, expression))
    known = set()
    for name, matchers in found:
        expect(name in samples, "%s: there is no metric %s" % (where, name))
        labels = set().union(*samples[name])
        known |= labels
        pairs = MATCHER.findall(matchers)
        expect_equal(",".join("%s%s\"%s\"" % pair for pair in pairs), matchers.replace(", ", ","), "%s: matchers" % where)
        for label, how, value in pairs:
            expect(label in labels | SCRAPED, "%s: %s has no label %s" % (where, name, label))
            if how == "=" and label not in SCRAPED and label != "status":
                expect(any(sample.get(label) == value for sample in samples[name]), "%s: no %s has %s=%s" % (where, name, label, value))
    for group in re.findall(r"\bby \(([^)]*)\)", expression):
        for label in group.split(","):
            expect(label.strip() in known | SCRAPED, "%s: nothing has the label %s" % (where, label))
    bare = MATCHER.sub("", METRIC.sub("", re.sub(r"\bby \([^)]*\)|\[[^]]*\]|offset \w+", "", expression)))
    words = set(re.findall(r"\b[a-z_]\w*\b", bare)) - KEYWORDS
    expect_equal(words, set(), "%s: words that these tests do not know" % where)


def rules():
    """(alert, expression, its other lines) of the rule file, which is simple enough to be read by its lines."""
    blocks = re.split(r"^      - alert: ", RULES.read_text("utf-8"), flags=re.M)[1:]
    for block in blocks:
        name, _, rest = block.partition("\n")
        found = re.search(r"^        expr: (?:>-\n((?:          .*\n)+)|(.*)\n)", rest, re.M)
        expect(found, "%s has no expression" % name)
        yield name, " ".join((found.group(1) or found.group(2)).split()), rest


@test("every alert names metrics, labels and values that /metrics gives, and says what is the matter")
def _():
    samples = scraped()
    names = []
    for name, expression, rest in rules():
        names.append(name)
        expect_known(name, expression, samples)
        expect(re.search(r"^        labels: \{severity: (page|warn)\}$", rest, re.M), "%s has no severity" % name)
        summary = re.search(r'^          summary: "(.+)"$', rest, re.M)
        expect(summary, "%s has no summary" % name)
        expect_equal(expression.count("("), expression.count(")"), "parentheses of " + name)
    expect_equal(len(names), len(set(names)), "names of alerts")
    expect(len(names) >= 9, "only %d alerts" % len(names))
    guide = (ROOT / "docs" / "operations.md").read_text("utf-8")
    expect_equal([name for name in names if name not in guide], [], "alerts that docs/operations.md does not tell of")


@test("every panel of the dashboard names metrics and labels that /metrics gives")
def _():
    samples = scraped()
    dashboard = json.loads((OPS / "larder.dashboard.json").read_text("utf-8"))
    panels = dashboard["panels"]
    expect_equal([panel["id"] for panel in panels], list(range(1, len(panels) + 1)), "ids of panels")
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels]
    expect_equal(len(places), len(set(places)), "places of panels")
    variables = {one["name"] for one in dashboard["templating"]["list"]}
    for panel in panels:
        where = "panel %r" % panel["title"]
        expect(panel["description"] and panel["fieldConfig"]["defaults"]["unit"] and panel["targets"], where + " lacks something")
        for target in panel["targets"]:
            expect_known(where, target["expr"], samples)
            expect_equal(target["datasource"]["uid"], "${datasource}", where + ": its data source")
            for label in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]):
                expect(re.search(r"\b%s\b" % label, target["expr"]) or any(
                    label in labels for name, _ in METRIC.findall(target["expr"]) for labels in samples[name]),
                    "%s: no label %s for its legend" % (where, label))
    for annotation in dashboard["annotations"]["list"]:
        expect_known("annotation", annotation["expr"].replace(" > 0", ""), samples)
    used = set(re.findall(r"\$\{?([a-z]\w*)", json.dumps(dashboard)))
    expect_equal(used, variables, "variables")


@test("every metric is in the operations guide, and every metric that the guide names is there")
def _():
    guide = (ROOT / "docs" / "operations.md").read_text("utf-8")
    names = {re.sub(r"_(bucket|sum|count)$", "", name) if name.endswith(("_bucket", "_sum", "_count")) else name
             for name in scraped() if name != "up"}
    expect_equal(set(re.findall(r"^\| `(larder_\w+)` ", guide, re.M)), names, "metrics that the guide names")


@test("promtool, where it is installed, has nothing to object to rules, configuration and metrics")
def _():
    promtool = shutil.which("promtool")
    if promtool is None:
        raise Skip("there is no promtool (Debian's package prometheus)")
    with Service(readers=1, secrets=[new_secret()]) as service:
        text = service.client().get("/metrics").body.decode()
    for arguments, typed in ((["check", "rules", str(RULES)], ""), (["check", "config", str(OPS / "prometheus.yml")], ""),
                             (["check", "metrics"], text)):
        done = subprocess.run([promtool, *arguments], input=typed, capture_output=True, text=True, timeout=60)
        expect_equal(done.returncode, 0, "promtool %s: %s%s" % (arguments, done.stdout, done.stderr))
