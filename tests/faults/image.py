"""What the service's image is built from."""
import shutil
import subprocess
import tempfile

from harness import ROOT, environment, expect, expect_equal
from runner import test


@test("what .dockerignore lets through is enough to build the program and to train the static one")
def _():
    names = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    expect(names, "no names in .dockerignore")
    with tempfile.TemporaryDirectory() as directory:
        for name in names:
            source, target = ROOT / name, "%s/%s" % (directory, name)
            subprocess.run(["mkdir", "-p", target.rsplit("/", 1)[0]], check=True)
            (shutil.copytree if source.is_dir() else shutil.copy2)(source, target)
        # unoptimised: what matters is that every file is there
        for command in ["make", "-s", "build", "RELEASE=-O0 -fPIE"], ["tools/train.py", "build/larder"]:
            done = subprocess.run(command, cwd=directory, env=environment(), capture_output=True, text=True)
            expect_equal(done.returncode, 0, "exit status of %s: %s" % (command[0], done.stderr[-1000:]))
