"""Instructions of fixed runs, counted by callgrind and compared with the recorded counts, also on a busy machine.

Counted are the updates of the second pass over the samples: the first one pays for what is computed once, such as the
null law of each number of observed entries. The recorded counts are in instructions.json; `--record` writes new ones.
Counts depend on the compiler, so compare on one machine. Valgrind does not support AVX-512, so its kernels are not
counted.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from pathlib import Path

from benchmarks.framework.measurement import Run, parts
from benchmarks.speed import program

TIME = "3 minutes"
ONE_THREAD = True
OPTIONS = {"--record": {"action": "store_true", "help": "write the counts to instructions.json"}}
RECORD = Path(__file__).with_name("instructions.json")
SAMPLES = 500
CASES = [(n, d, observed) for n, d in ((2000, 5), (200, 5), (2000, 10)) for observed in (1.0, 0.7, 0.1)]
MOST = 2  # per cent; a larger rise is a regression


def collected(updates: int, n: int, d: int, observed: float, variant: str) -> int:
    """Return the instructions of a run; 0 if this build has no such variant."""
    with tempfile.TemporaryDirectory() as directory:
        words = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={directory}/out", "--collect-atstart=no"]
        words += ["--toggle-collect=*counted_run*", str(program.PROGRAM), "count", f"n={n}", f"d={d}"]
        words += [f"samples={SAMPLES}", f"observed={observed}", f"updates={updates}", f"variants={variant}"]
        done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return int(re.search(r"Collected : (\d+)", done.stderr)[1])


def count(n: int, d: int, observed: float, variant: str) -> float | None:
    """Return the instructions per update, or None if this build has no such variant."""
    first = collected(SAMPLES, n, d, observed, variant)
    return (collected(2 * SAMPLES, n, d, observed, variant) - first) / SAMPLES if first else None


def prepare(run: Run) -> None:
    """Build the program."""
    program.build()


def counts(run: Run) -> None:
    """Count the instructions per update and compare; a quick run has three cases."""
    compiler = program.run("about")[0]["compiler"]
    recorded = json.loads(RECORD.read_text()) if RECORD.exists() else {"compiler": compiler, "counts": {}}
    print(f"instructions per update in the second pass over {SAMPLES} samples, paper mode, double; {compiler}")
    if recorded["compiler"] != compiler:
        print(f"  recorded with another compiler, {recorded['compiler']}: ignore differences of a few per cent")
    counted: dict[str, int] = {}
    for n, d, observed in CASES[1::3] if run.quick else CASES:
        for variant in ("paper-baseline", "paper-avx2"):
            name = f"({n}, {d}) {observed:.0%} {variant}"
            found = count(n, d, observed, variant)
            before = recorded["counts"].get(name)
            if found is None:
                run.goals.value(f"{name}: not in this build")
                continue
            counted[name] = round(found)
            if before is None:
                run.goals.value(f"{name}: {found:.0f}, nothing recorded")
            else:
                change = 100 * (found / before - 1)
                run.goals.at_most(f"{name}: {found:.0f}, recorded {before}: change", change, MOST, " %")
    if run.options.record:
        RECORD.write_text(json.dumps({"compiler": compiler, "counts": recorded["counts"] | counted}, indent=1) + "\n")
        print(f"written: {RECORD}")


PARTS = parts(counts)
