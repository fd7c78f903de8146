#!/usr/bin/env python3
"""The benchmark's own tests: its arithmetic, its report and charts, its files. Nothing is measured here."""
import json
import pathlib
import py_compile
import re
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
import xml.dom.minidom

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import bounds  # noqa: E402: found through the line above
import charts
import databases
import figures
import grow
import load
import nginx
import processes
import report
import results
import tables


def row(server, name, front="nginx", sync="full", number=1, **members):
    """A measurement: by default of 10 us for the app and 5 for nginx."""
    values = {"app_us": 10.0, "nginx_us": 5.0, "requests_s": 1000.0, "p50_ms": 1.0, "p99_ms": 2.0, "p999_ms": 3.0, "peak_mib": 10.0,
              "errors": 0, "5xx": 0, **members}
    values.setdefault("cpu_us", values["app_us"] + values["nginx_us"])
    return {"server": server, "front": front, "sync": sync, "load": name, "connections": 50, "round": number, "figures": values}


def idle(server, app, front):
    return {"server": server, "front": "nginx", "sync": "full", "load": "idle", "round": 1,
            "figures": {"idle_app_mib": app, "idle_nginx_mib": front, "idle_mib": app + front}}


def verdicts(found):
    return {bound.what: (bound.value, bounds.verdict(bound)) for bound in found}


class Arithmetic(unittest.TestCase):
    def test_a_spread_is_median_least_and_most(self):
        self.assertEqual(figures.spread([3, 1, 2]), (2, 1, 3))
        self.assertEqual(figures.spread([4, 1]), (2.5, 1, 4))

    def test_rows_are_chosen_by_value_and_by_any_of_several(self):
        rows = [row("a", "GET"), row("b", "GET", front="direct"), row("a", "mix")]
        self.assertEqual(figures.chosen(rows, load="GET"), rows[:2])
        self.assertEqual(figures.chosen(rows, front={"direct", "other"}), rows[1:2])
        self.assertEqual(figures.chosen(rows, products=5), [])

    def test_the_best_has_the_least_median_not_the_least_value(self):
        rows = [row("lucky once", "GET", cpu_us=value) for value in (1, 50, 60)] + [row("steady", "GET", cpu_us=20)]
        self.assertEqual(figures.best(rows, "cpu_us", "server"), (20, ("steady",)))
        self.assertIsNone(figures.best([], "cpu_us", "server"))

    def test_a_ratio_is_of_medians(self):
        over, under = [row("a", "GET", cpu_us=value) for value in (10, 30, 100)], [row("b", "GET", cpu_us=20)]
        self.assertEqual(figures.ratio(over, under, "cpu_us"), 1.5)
        self.assertIsNone(figures.ratio(over, [], "cpu_us"))

    def test_processor_time_is_divided_by_answers_and_errors_are_counted(self):
        told = {"requests": 1000, "microseconds": 2000000, "p50": 1500, "p99": 2500, "p999": 9000, "broken": 2, "late": 1,
                "statuses": {"200": 790, "404": 200, "503": 7, "409": 3}}
        found = load.figures_of(told, ("200", "404"), [8_000_000, 1_500_000, 500_000], 0.003, [1024, 512, 512], 1536)
        self.assertEqual((found["app_us"], found["nginx_us"], found["cpu_us"], found["wrk_us"]), (8, 2, 10, 3))
        self.assertEqual((found["requests_s"], found["p50_ms"], found["p999_ms"]), (500, 1.5, 9))
        self.assertEqual((found["5xx"], found["errors"]), (7, 13))
        self.assertEqual((found["peak_app_mib"], found["peak_nginx_mib"], found["peak_mib"]), (1, 1, 1.5))


class Bounds(unittest.TestCase):
    def test_the_ratio_is_to_the_best_peer_of_the_right_kind(self):
        rows = [row("larder", "GET"), row("go", "GET", app_us=40.0), row("rust", "GET", app_us=25.0), row("floor", "GET", app_us=1.0),
                row("rust", "GET", front="direct", app_us=12.0, nginx_us=0.0), row("larder, system's SQLite", "GET", app_us=2.0)]
        found = verdicts(bounds.of_load(rows))
        self.assertEqual(found["CPU a request against the best peer behind the same nginx, GET"], ("0.50", "met"))
        self.assertEqual(found["GET through nginx against the best peer without a proxy"], ("1.25", "MISSED"))
        self.assertEqual(found["the same, the mix, FULL"], ("", "not measured"))

    def test_the_mix_is_held_against_the_floor_and_full_against_normal(self):
        rows = [row("larder", "mix"), row("floor", "mix", app_us=5.0), row("larder", "mix", sync="normal", app_us=5.0)]
        found = verdicts(bounds.of_load(rows))
        self.assertEqual(found["the mix over nginx with a trivial FastCGI answer"], ("1.50", "MISSED"))
        self.assertEqual(found["CPU a request of the mix, FULL over NORMAL"], ("1.50", "MISSED"))

    def test_memory_counts_the_median_when_idle_and_the_most_at_the_peak(self):
        rows = [idle("larder", 2.0, 3.5), idle("larder", 9.0, 3.5), idle("larder", 2.2, 3.5), row("larder", "GET", peak_mib=12.0),
                row("larder", "mix", peak_mib=21.0)]
        found = verdicts(bounds.of_memory(rows))
        self.assertEqual(found["idle memory, Larder alone"], ("2.20 MiB", "met"))
        self.assertEqual(found["peak under GET and mix, all"], ("21.00 MiB", "MISSED"))

    def test_the_repetition_that_tells_of_drift_does_not_count(self):
        rows = [row("larder", "mix"), row("larder", "mix", number="again", app_us=500.0), row("floor", "mix")]
        found = verdicts(bounds.all_bounds({"sections": {"main": {"rows": rows}}, "servers": {}}))
        self.assertEqual(found["the mix over nginx with a trivial FastCGI answer"], ("1.00", "met"))

    def test_nothing_measured_is_neither_met_nor_missed(self):
        found = bounds.all_bounds({"sections": {}, "servers": {}})
        self.assertEqual({bounds.verdict(bound) for bound in found}, {"not measured", "held by a test"})

    def test_all_ten_thousand_have_to_be_in_time(self):
        def waited(in_time):
            many = {"answered": 10000, "in_time": in_time, "latest_s": 0.1, "peak_app_mib": 60.0, "peak_mib": 300.0}
            rows = [{"server": "larder", "front": "nginx", "load": "wait, 10000", "figures": many}]
            return verdicts(bounds.of_wait(rows))
        self.assertEqual(waited(10000)["10,000 waiting at once"], ("10000", "met"))
        self.assertEqual(waited(9999)["10,000 waiting at once"], ("9999", "MISSED"))
        self.assertEqual(waited(10000)["memory meanwhile, all"], ("300.0 MiB", "MISSED"))


class Report(unittest.TestCase):
    def test_tables_begin_with_the_least_and_leave_the_repetition_out(self):
        rows = [row("slow", "GET", app_us=100.0), row("fast", "GET", front="direct"), row("fast", "GET", front="direct", number=2, app_us=12.0),
                row("slow", "GET", number="again", app_us=1.0)]
        lines = tables.load_tables(rows)[0].splitlines()
        self.assertEqual(lines[0], "GET, SYNC FULL, 50 connections")
        self.assertTrue(lines[4].startswith("| fast | 16.0 (15.0 to 17.0) |"), lines[4])
        self.assertTrue(lines[5].startswith("| slow, behind nginx | 105.0 |"), lines[5])

    def test_what_drifted_is_told(self):
        rows = [row("larder", "GET"), row("larder", "GET", number="again", cpu_us=16.5)]
        self.assertIn("GET 1.10", report.drift_text(rows))
        self.assertEqual(report.drift_text(rows[:1]), "")

    def test_errors_are_told(self):
        self.assertEqual(tables.errors([row("a", "GET", errors=2), row("a", "GET", errors=3, **{"5xx": 1})]), "5 (1 of 5xx)")

    def test_only_what_is_between_the_marks_changes(self):
        page = "before\n%s\nold\n%s\nafter\n" % (report.BEGIN, report.END)
        changed = report.put_between(page, "new")
        self.assertEqual(changed, "before\n%s\n\nnew\n\n%s\nafter\n" % (report.BEGIN, report.END))
        self.assertEqual(report.put_between(changed, "new"), changed)
        self.assertRaises(AssertionError, report.put_between, "no marks", "new")

    def test_the_page_has_its_marks(self):
        self.assertIn("old", report.put_between(report.PAGE.read_text(), "old"))

    def test_every_section_has_a_text(self):
        bench = subprocess.run([sys.executable, ROOT / "bench" / "bench.py", "--help"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(re.search(r"of: ([a-z ]+)", " ".join(bench.split())).group(1).split()[:len(report.TEXTS)], list(report.TEXTS))

    def test_results_are_kept(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "sub", "results.json")
            self.assertEqual(results.read(path), {"sections": {}, "servers": {}})
            results.write({"sections": {"main": {"rows": []}}, "servers": {}}, path)
            self.assertEqual(json.loads(path.read_text())["sections"], {"main": {"rows": []}})

    def test_the_machine_is_told_without_its_name(self):
        told = results.machine()
        self.assertNotIn(socket.gethostname(), map(str, told.values()))
        self.assertRegex("%(date)s %(kernel)s %(nginx)s %(wrk)s" % told, r"^\d+-\d\d-\d\d \d+\.[\d.]+ \d+\.[\d.]+ [\w.-]+$")


class Charts(unittest.TestCase):
    def test_bars_are_well_formed_and_name_every_server(self):
        rows = [row("larder", "GET"), row("a <peer> & co", "GET", front="direct", nginx_us=0.0), row("larder", "mix")]
        svg = charts.bars(rows)
        found = [node.firstChild.data for node in xml.dom.minidom.parseString(svg).getElementsByTagName("text")]
        self.assertIn("a <peer> & co, direct", found)
        self.assertEqual(found.count("larder, behind nginx"), 2)

    def test_curves_are_well_formed_with_one_size_and_with_three(self):
        for counts in [10000], [10000, 1000000, 10000000]:
            rows = [{**row("larder", name), "products": count} for count in counts for name in ("GET", "mix")]
            xml.dom.minidom.parseString(charts.curves(rows))

    def test_ticks_go_from_below_the_least_to_above_the_most(self):
        self.assertEqual(charts.ticks([17, 45, 1163]), [10, 20, 50, 100, 200, 500, 1000, 2000])
        self.assertEqual(charts.ticks([20]), [20, 50])


class Databases(unittest.TestCase):
    """Made with the binary under test."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.demo = databases.demo_database(pathlib.Path(directory.name, "demo.db"))
        self.peers = databases.peer_database(self.demo, pathlib.Path(directory.name, "peers.db"))

    @staticmethod
    def change(path):
        database = sqlite3.connect(path)
        database.execute("DELETE FROM products WHERE id = 7")
        database.execute("UPDATE products SET name = 'Another' WHERE id = 8")
        database.commit()
        database.close()

    def test_the_search_index_is_right_at_first(self):
        for path in self.demo, self.peers:
            self.assertIsNone(databases.search_index_complaint(path))

    def test_the_peers_triggers_keep_the_search_index(self):
        self.change(self.peers)
        self.assertIsNone(databases.search_index_complaint(self.peers))

    def test_a_search_index_that_was_not_fed_is_found(self):
        self.change(self.demo)  # nobody serves it, so nobody feeds the index
        self.assertIsNotNone(databases.search_index_complaint(self.demo))

    def test_more_products_have_their_search_index(self):
        path = self.demo.with_name("grown.db")
        grow.grow(self.demo, path, 4000)
        self.assertIsNone(databases.search_index_complaint(path))
        database = sqlite3.connect(path)
        self.assertEqual(database.execute("SELECT count(*), max(id) FROM products").fetchone(), (4000, 4999))
        found = database.execute("SELECT count(*) FROM products_search WHERE products_search MATCH 'table'").fetchone()[0]
        database.close()
        self.assertGreater(found, 100)


class Parts(unittest.TestCase):
    def test_every_file_compiles(self):
        with tempfile.TemporaryDirectory() as directory:
            for path in (ROOT / "bench").rglob("*.py"):
                py_compile.compile(str(path), cfile="%s/compiled" % directory, doraise=True)

    def test_processor_time_counts_a_child_that_has_ended(self):
        command = "import subprocess, sys, time; subprocess.run([sys.executable, '-c', 'x = 0\\nfor i in range(3000000): x += i']); time.sleep(60)"
        with subprocess.Popen([sys.executable, "-c", command]) as process:
            try:
                deadline = time.monotonic() + 30
                while processes.cpu_ns(process.pid) < 0.08e9 or len(processes.tree(process.pid)) > 1:
                    self.assertLess(time.monotonic(), deadline, "the child's time is not counted")
                    time.sleep(0.05)
                self.assertGreater(processes.pss_kib(process.pid), 1000)
            finally:
                process.kill()

    def test_the_peak_is_the_largest_of_each_and_of_the_sum(self):
        sizes = {1: iter([5, 9, 1]), 2: iter([7, 2, 1])}
        peak = processes.Peak([1, 2], sample=lambda root: next(sizes[root]))
        for _ in range(3):
            peak.look()
        self.assertEqual((peak.kib, peak.all_kib), ([9, 7], 12))

    def test_a_peers_nginx_has_the_settings_that_ship_and_no_location_of_larder(self):
        settings = nginx.peer_settings((ROOT / "nginx" / "larder.conf").read_text())
        self.assertIn("keepalive_requests", settings)
        self.assertNotIn("fastcgi_pass", settings)

    def test_searches_are_of_words_that_names_have(self):
        known = {word for words in grow.words().values() for word in words}
        found = grow.searches()
        self.assertTrue(all(set(text.split("%20")) <= known for text in found))
        self.assertGreater(len(set(found)), grow.SEARCHES / 4)


def main():
    outcome = unittest.TextTestRunner(verbosity=1).run(unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__]))
    failed = len(outcome.failures) + len(outcome.errors)
    print("%d passed, %d failed" % (outcome.testsRun - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
