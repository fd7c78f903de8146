"""Where things are. Imported first, it lets the benchmark use the modules of tests/ too."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PEERS = ROOT / "bench" / "peers"
BUILT = ROOT / "build" / "bench"
sys.path.insert(0, str(ROOT / "tests"))
