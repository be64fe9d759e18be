"""Instructions of a fixed run, counted by callgrind: the same on a busy machine. See benchmarks/README.md.

Printed beside the figures of instructions.json, so that a regression shows; `--record` writes them anew. (The counts
depend on the compiler too: compare on one machine. Valgrind knows no AVX-512, so that one is not counted.)
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import program

RECORD = Path(__file__).with_name("instructions.json")
UPDATES = 500
CASES = [(n, d, observed) for n, d in ((2000, 5), (200, 5), (2000, 10)) for observed in (1.0, 0.7, 0.1)]
MOST = 2  # per cent; a larger rise is a regression


def count(n: int, d: int, observed: float, variant: str) -> float | None:
    """Return the instructions an update, or None when this build has no such variant."""
    with tempfile.TemporaryDirectory() as directory:
        words = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={directory}/out", "--collect-atstart=no"]
        words += ["--toggle-collect=*counted_run*", str(program.PROGRAM), "count", f"n={n}", f"d={d}", "samples=500"]
        words += [f"observed={observed}", f"updates={UPDATES}", f"variants={variant}"]
        done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    collected = int(re.search(r"Collected : (\d+)", done.stderr)[1])
    return collected / UPDATES if collected else None


def main() -> None:
    """Count and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three cases")
    parser.add_argument("--record", action="store_true", help="write what was counted to instructions.json")
    options = parser.parse_args()
    program.build()
    compiler = program.run("about")[0]["compiler"]
    recorded = json.loads(RECORD.read_text()) if RECORD.exists() else {"compiler": compiler, "counts": {}}
    print(f"instructions an update over {UPDATES} updates of a fixed run, paper mode, double; {compiler}")
    if recorded["compiler"] != compiler:
        print(f"  the recorded figures are of another compiler, {recorded['compiler']}: a few per cent mean nothing")
    counted: dict[str, int] = {}
    goals = program.Goals()
    for n, d, observed in CASES[1::3] if options.quick else CASES:
        for variant in ("paper-baseline", "paper-avx2"):
            name = f"({n}, {d}) {observed:.0%} {variant}"
            found = count(n, d, observed, variant)
            before = recorded["counts"].get(name)
            if found is None:
                print(f"  {name}: not in this build")
                continue
            counted[name] = round(found)
            if before is None:
                print(f"  {name}: {found:.0f}, nothing recorded")
            else:
                goals.at_most(f"{name}: {found:.0f}, recorded {before}: change", 100 * (found / before - 1), MOST, " %")
    goals.summary()
    if options.record:
        RECORD.write_text(json.dumps({"compiler": compiler, "counts": recorded["counts"] | counted}, indent=1) + "\n")
        print(f"written: {RECORD}")


if __name__ == "__main__":
    main()
