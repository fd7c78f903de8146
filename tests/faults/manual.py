"""The man page and the guide tell what the program knows, and nothing else."""
import re
import shutil
import subprocess

from harness import ROOT, expect, expect_equal, run_larder
from runner import Skip, test

PAGE = ROOT / "man" / "larder.1"


def told_by_the_page():
    """(commands, options with their variables, switches), as the page lists them."""
    text = PAGE.read_text()
    commands = {line.replace(" Ar ", " ").upper() if " Ar " in line else line
                for line in re.findall(r"^\.It Cm (.+)$", text, re.M)}
    options = {}
    for name, rest in re.findall(r"^\.It Fl -(\S+)(.*)$", text, re.M):
        variable = re.search(r"\.?Ev (\S+)", rest)
        options["--" + name] = variable[1] if variable else ""
    switches = {"--" + name for name in re.findall(r"^\.Fl -(\S+)", text, re.M)} - set(options)
    return {command.split()[0].lower() if command.isupper() else command for command in commands}, options, switches


def told_by_help():
    text = run_larder("help").stdout
    commands_text, options_text = text.split("\noptions")
    rows = re.findall(r"^  (\S.*?)  +(\S.*)$", commands_text, re.M)
    options = {}
    for left, rest in re.findall(r"^  (--\S+) \S+ +(.*)$", options_text, re.M):
        variable = re.match(r"LARDER_\w+", rest)
        options[left] = variable[0] if variable else ""
    switches = set(re.findall(r"--[a-z-]+", " ".join(help for _, help in rows))) - set(options)
    return {name.replace(" FILE", "") for name, _ in rows}, options, switches


@test("the man page has every command, option, variable and switch of larder help, and no other")
def _():
    for name, page, program in zip(("commands", "options", "switches"), told_by_the_page(), told_by_help()):
        expect(program, "help lists no " + name)
        expect_equal(page, program, name + " of the man page")


@test("the man page is free of faults")
def _():
    program = shutil.which("mandoc")
    if not program:
        raise Skip("mandoc is not installed")
    done = subprocess.run([program, "-T", "lint", str(PAGE)], capture_output=True, text=True)
    faults = [line for line in done.stdout.splitlines() if str(PAGE) in line and "referenced manual not found" not in line]
    expect_equal(faults, [], "what mandoc finds")


@test("each code of the log stands in the source once, and the operations guide lists all of them and no other")
def _():
    text = "".join(path.read_text("utf-8") for path in sorted((ROOT / "app").rglob("*.c")))
    codes = re.findall(r'log_event\(\s*"(\w+)"', text)
    rows = re.findall(r"^\| ((?:[A-Z]\d\d(?:, )?)+) \|", (ROOT / "docs" / "operations.md").read_text("utf-8"), re.M)
    expect(len(codes) > 30, "only %d codes are found" % len(codes))
    expect_equal(sorted(codes), sorted(set(codes)), "codes of the source")
    expect_equal(sorted(", ".join(rows).split(", ")), sorted(codes), "codes of the guide")
