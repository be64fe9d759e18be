"""Fits of GASG21 to the first m samples of a memory-mapped file, each in a process of its own.

``python -m benchmarks.speed.large_fits FILE m`` prints one JSON object: CPU seconds of the fit, angle to the truth, and how many
bytes the process had beyond the file's pages at most, and before the fit.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from gasg21 import GASG21
from gasg21.metrics import subspace_angle

N, D, OBSERVED = 50, 5, 0.7
PART = 200_000  # samples written at once
SEED = 71_000  # no setting was chosen on this seed


def write(folder: Path, m: int) -> Path:
    """Write m samples in float32: half of them outliers, noise 1e-2, some entries missing. Returns the file."""
    rng = np.random.default_rng(SEED)
    basis = np.linalg.qr(rng.standard_normal((N, D)))[0].T.astype(np.float32)
    np.save(folder / "basis.npy", basis)
    file = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float32, (m, N))
    for start in range(0, m, PART):
        count = min(PART, m - start)
        inside = rng.standard_normal((count, D), np.float32) @ basis
        noise = rng.standard_normal((count, N), np.float32) * np.float32(np.sqrt(D / N))
        part = np.where(rng.random((count, 1)) < 0.5, noise, inside + 1e-2 * noise)
        part[rng.random((count, N), np.float32) >= OBSERVED] = np.nan
        file[start : start + count] = part
    file.flush()
    return folder / "X.npy"


def run(path: Path, m: int) -> dict[str, Any]:
    """Fit the first m samples in a new process."""
    command = [sys.executable, "-m", "benchmarks.speed.large_fits", str(path), str(m)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def private_bytes() -> int:
    """Return the memory of this process that is not that of a file (on Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


class Peak:
    """Watches the memory of this process from another thread, every two milliseconds."""

    def __enter__(self) -> Peak:
        self.before = self.most = private_bytes()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._end.wait(0.002):
            self.most = max(self.most, private_bytes())

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()


def fit(path: Path, m: int) -> dict[str, Any]:
    """Fit the first m samples of a file, several times if that is quick."""
    X, basis = np.load(path, mmap_mode="r")[:m], np.load(path.parent / "basis.npy")
    seconds, most = [], 0
    GASG21(D, random_state=0, n_jobs=1).fit(X[:1000])  # loads all code
    for _ in range(max(1, min(5, 1_000_000 // m))):
        with Peak() as peak:
            start = time.process_time()
            model = GASG21(D, random_state=0, n_jobs=1).fit(X)
            seconds.append(time.process_time() - start)
        most = max(most, peak.most - peak.before)
    return {
        "seconds": min(seconds),
        "bytes": most,
        "angle": subspace_angle(model.components_, basis),
        "estimated": model.estimated_angle_,
        "status": model.status_,
        "polish": [r["n_samples"] for r in model.history_ if r["stage"] == "polish"],
    }


if __name__ == "__main__":
    print(json.dumps(fit(Path(sys.argv[1]), int(sys.argv[2]))))
