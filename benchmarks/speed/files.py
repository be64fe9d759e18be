"""How long `gasg21 fit` takes on a csv file with gaps and outliers, and what an import costs."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import gasg21
from benchmarks.framework.measurement import Run, parts
from gasg21.datasets import make_low_rank
from gasg21.metrics import subspace_angle

TIME = "1 minute"
N_FEATURES, D, BYTES_PER_ENTRY = 50, 5, 19


_WITH_PANDAS = """
import sys, time
import pandas as pd
from gasg21 import GASG21
began = time.perf_counter()
X = pd.read_csv(sys.argv[1]).to_numpy()
read = time.perf_counter()
GASG21(int(sys.argv[2]), random_state=0).fit(X)
print(read - began, time.perf_counter() - read)
"""


def csv(run: Run) -> None:
    """Time `gasg21 fit` on 100 MB of text beside a program that reads it with pandas and fits."""
    import pandas as pd

    rows = int((20e6 if run.quick else 100e6) / (N_FEATURES * BYTES_PER_ENTRY))
    p = make_low_rank(rows, N_FEATURES, D, outlier_fraction=0.2, observed_fraction=0.9, noise=0.05, random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        path, model = Path(folder) / "data.csv", Path(folder) / "model.gasg21"
        pd.DataFrame(p.data, columns=[f"sensor {i}" for i in range(N_FEATURES)]).to_csv(path, index=False)
        print(f"\n{path.stat().st_size / 1e6:.0f} MB, {rows} rows of {N_FEATURES}")
        ratios, to_work = [], []
        for _ in run.seeds(3, quick=1):
            there, (read, fit) = _timed(["-c", _WITH_PANDAS, str(path), str(D)])
            command = ["-m", "gasg21", "fit", str(path), "-d", str(D), "-o", str(model), "--json"]
            here, said = _timed(command, json.loads)
            seconds = said["seconds"]
            run.goals.value(f"with pandas {there:.2f} s: read {read:.2f}, fit {fit:.2f}")
            run.goals.value(f"gasg21 fit  {here:.2f} s: read {seconds['read']:.2f}, fit {seconds['fit']:.2f}")
            ratios.append(here / there)
            to_work.append(here / (read + fit))
        angle = subspace_angle(gasg21.load(model).components_, p.basis)
    run.goals.at_most("time over that of the program with pandas, median", float(np.median(ratios)), 2)
    # scikit-learn's base class alone imports SciPy and pandas, which takes longer than reading and fitting.
    run.goals.at_most(
        "time over that of pandas' read and the fit, without any import, median", float(np.median(to_work)), 2
    )
    run.goals.at_most("angle to the truth over the estimated one", angle / said["estimated_angle"], 3)
    wrong = abs(said["outliers"] - int(np.sum(~p.inlier))) / rows
    run.goals.at_most("outliers too many or too few, as a share of the rows", wrong, 0.005)


def _timed(arguments: list[str], understood: Any = lambda text: map(float, text.split())) -> tuple[float, Any]:
    """Run a program; return its seconds, imports included, and what it prints."""
    began = time.perf_counter()
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)
    return time.perf_counter() - began, understood(done.stdout)


def imports(run: Run) -> None:
    """Time `import gasg21` in a new process."""
    code = "import time; began = time.perf_counter(); import gasg21; print(time.perf_counter() - began)"
    times = []
    for _ in run.seeds(7, quick=3):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        times.append(float(done.stdout))
    run.goals.at_most("seconds of import gasg21, median", float(np.median(times)), 0.6)


PARTS = parts(csv, imports)
