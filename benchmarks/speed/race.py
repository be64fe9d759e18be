"""`GASG21.fit` beside other methods, to the same accuracy, over the numbers of features and of samples.

Each fit runs in a process of its own, with a limit of CPU time and of memory. A method that exceeds one of them is
left out where there is more data. The results are written to race.json.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.covariance import EllipticEnvelope
from sklearn.decomposition import PCA, IncrementalPCA

from benchmarks.framework.measurement import Run, parts
from benchmarks.speed import program
from gasg21 import GASG21
from gasg21.baselines import FMS, REAPER, TME, OutlierPursuit, RobustMD
from gasg21.metrics import subspace_angle

TIME = "20 minutes"
ONE_THREAD = True
OPTIONS = {
    "--out": {"type": Path, "default": program.BUILD, "help": "directory for race.json; default %(default)s"},
    "--limit": {"type": float, "default": 10.0, "help": "CPU seconds of a fit; default %(default)g"},
    "--at": {"default": None, "metavar": "N,M", "help": "only so many features and samples"},
}
SEED = 120_000  # no setting was chosen on this seed
D, NOISE, OUTLIERS = 5, 1e-3, 0.3
MOST_ENTRIES = 500_000_000  # 4 GB
MOST_MEMORY = 6 << 30  # bytes that a fit may add to those of the data
ENOUGH = 1.5  # times the angle of an exact PCA of the inliers


class Elliptic(EllipticEnvelope):
    """The leading directions of scikit-learn's robust covariance (MCD)."""

    def fit(self, X: np.ndarray, y: None = None) -> Elliptic:
        """Find them."""
        super().fit(X)
        self.components_ = np.linalg.eigh(self.covariance_)[1][:, -D:].T
        return self


Make = Callable[[], Any]
OURS: dict[str, Make] = {"GASG21": lambda: GASG21(D, random_state=0)}
CLASSICAL: dict[str, Make] = {
    "PCA": lambda: PCA(D, svd_solver="randomized", random_state=0),
    "IncrementalPCA": lambda: IncrementalPCA(D),
}
ROBUST: dict[str, Make] = {
    "FMS": lambda: FMS(D),
    "REAPER": lambda: REAPER(D),
    "TME": lambda: TME(D),
    "OutlierPursuit": lambda: OutlierPursuit(D),
    "RobustMD": lambda: RobustMD(D, random_state=0),
    "EllipticEnvelope": lambda: Elliptic(contamination=OUTLIERS, random_state=0),
}


class Problem(NamedTuple):
    """Samples near a subspace, and how close to it a fit must come."""

    data: np.ndarray
    basis: np.ndarray
    target: float


class Record(NamedTuple):
    """One fit. The seconds are None where it was left out."""

    n: int
    m: int
    kind: str
    method: str
    seconds: float | None = None
    angle: float | None = None
    reached: bool | None = None


def make_problem(n: int, m: int, outliers: float) -> Problem:
    """Draw the samples block by block, since they may take much of the memory; every row is one at random."""
    rng = np.random.default_rng((SEED, n, m))
    basis = np.linalg.qr(rng.standard_normal((n, D)))[0].T
    data, is_outlier = np.empty((m, n)), rng.random(m) < outliers
    step = max(1, 4_000_000 // n)
    for start in range(0, m, step):
        block, bad = data[start : start + step], is_outlier[start : start + step]
        rng.standard_normal(out=block)
        block[~bad] *= NOISE  # each entry of W @ basis has the mean square D / n
        block[~bad] *= np.sqrt(D / n)
        block[bad] *= np.sqrt(D / n)
        block[~bad] += rng.standard_normal(((~bad).sum(), D)) @ basis
    return Problem(data, basis, ENOUGH * exact_angle(data, ~is_outlier, basis))


def exact_angle(data: np.ndarray, inlier: np.ndarray, basis: np.ndarray) -> float:
    """Return the angle between the subspace and an exact PCA of the inliers."""
    axes, step = basis, max(1, 4_000_000 // data.shape[1])
    for _ in range(3):  # from the truth, orthogonal iteration gains a factor of at least 1000 each time
        image = np.zeros_like(axes)
        for start in range(0, len(data), step):
            block = data[start : start + step][inlier[start : start + step]]
            image += (block @ axes.T).T @ block
        axes = np.linalg.qr(image.T)[0].T
    return float(subspace_angle(axes, basis))


def fit_alone(make: Make, problem: Problem, limit: float) -> tuple[float, float] | None:
    """Return the least CPU seconds of some fits in a process of their own, and the angle; None beyond a limit."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_fit, args=(make, problem, limit, there))
    child.start()
    there.close()
    try:
        return here.recv()
    except EOFError:  # ended by a limit
        return None
    finally:
        child.join()


def _fit(make: Make, problem: Problem, limit: float, answer: Any) -> None:
    seconds = int(np.ceil(limit))
    with open("/proc/self/statm", encoding="ascii") as sizes:
        memory = int(sizes.read().split()[0]) * resource.getpagesize() + MOST_MEMORY
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    warnings.simplefilter("ignore")
    best, spent = np.inf, 0.0
    try:
        for _ in range(5):
            begun = time.thread_time()  # the limit makes that of the process coarse
            model = make().fit(problem.data)
            used = time.thread_time() - begun
            best, spent = min(best, used), spent + used
            if spent > limit / 4:
                break
    except (MemoryError, ValueError):  # EllipticEnvelope needs more samples than features
        return
    answer.send((best, float(subspace_angle(model.components_, problem.basis))))


def race(run: Run, kind: str, methods: dict[str, Make], outliers: float) -> list[Record]:
    """Fit with each method at each size; print a line for each size, and return all results."""
    limit = 1.0 if run.quick else run.options.limit
    print(f"\n{kind}, d = {D}, noise {NOISE:g}: milliseconds of GASG21, and how many times that the others take")
    print(f"of CPU time; the target is {ENOUGH} times the angle of an exact PCA of the inliers, the limit {limit:g} s")
    print(f"{'n':>6} {'m':>8} {'target':>8}" + "".join(f"{name:>17}" for name in methods))
    found: list[Record] = []
    beyond: dict[str, list[tuple[int, int]]] = {name: [] for name in methods}
    for n, m in sizes(run):
        problem = make_problem(n, m, outliers)
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in methods}
        for _ in range(2 if run.quick else 3):
            for name, make in methods.items():
                if any(n >= less and m >= fewer for less, fewer in beyond[name]):
                    continue
                if times[name] and times[name][-1][0] > limit / 10:
                    continue  # once is enough
                result = fit_alone(make, problem, 60 * limit if name in OURS else limit)
                if result is None:
                    beyond[name].append((n, m))
                else:
                    times[name].append(result)
        here = [record_of(n, m, kind, name, times[name], problem.target) for name in methods]
        found += here
        print(f"{n:6} {m:8} {problem.target:8.1e}" + "".join(f"{cell_of(each, here[0]):>17}" for each in here))
        del problem
    print("'misses': does not reach the target; '-': beyond the limit of time or memory, here or with less data")
    write(run, kind, found)
    return found


def sizes(run: Run) -> list[tuple[int, int]]:
    """Return the numbers of features and samples."""
    if run.options.at:
        n, m = map(int, run.options.at.split(","))
        return [(n, m)]
    if run.quick:
        return [(n, m) for n in (20, 200, 2000) for m in (200, 2000)]
    samples = (200, 2000, 20_000, 200_000, 1_000_000)
    return [(n, m) for n in (20, 200, 2000, 20_000) for m in samples if n * m <= MOST_ENTRIES]


def record_of(n: int, m: int, kind: str, name: str, times: list[tuple[float, float]], target: float) -> Record:
    """Return the record of some fits with one method."""
    if not times:
        return Record(n, m, kind, name)
    seconds, angle = min(seconds for seconds, _ in times), times[-1][1]
    return Record(n, m, kind, name, seconds, angle, bool(angle <= target))


def cell_of(record: Record, ours: Record) -> str:
    """Return what the table says of a fit."""
    if record.seconds is None or ours.seconds is None:
        return "-"
    text = f"{1e3 * record.seconds:.3g} ms" if record is ours else f"{record.seconds / ours.seconds:.3g} x"
    return text if record.reached else f"{text} misses"


def write(run: Run, kind: str, found: list[Record]) -> None:
    """Write the results, beside those of the other kind of data."""
    path = run.options.out / "race.json"
    kept = [each for each in json.loads(path.read_text()) if each["kind"] != kind] if path.exists() else []
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(kept + [each._asdict() for each in found], indent=1) + "\n")
    print(f"written: {path} (load {os.getloadavg()[0]:.1f})")


def state_goals(run: Run, found: list[Record], most: float, peers: dict[str, Make]) -> None:
    """State how much of the time of the fastest of these peers, of those that reach the target, GASG21 may take."""
    for ours in (each for each in found if each.method in OURS):
        text = f"n = {ours.n}, m = {ours.m}, {ours.kind}"
        run.goals.met(f"{text}: GASG21 reaches the target", bool(ours.reached), "yes")
        rivals = [
            each
            for each in found
            if (each.n, each.m) == (ours.n, ours.m) and each.method in peers and each.reached and each.seconds
        ]
        if rivals and ours.seconds:
            fastest = min(rivals, key=lambda each: each.seconds or np.inf)
            run.goals.at_most(f"{text}: over {fastest.method}", ours.seconds / (fastest.seconds or 1), most, " x")


def clean(run: Run) -> None:
    """Race the PCAs of scikit-learn on data with noise alone."""
    found = race(run, "clean", OURS | CLASSICAL, 0)
    state_goals(run, found, 2, {"PCA": CLASSICAL["PCA"]})


def outliers(run: Run) -> None:
    """Race the robust methods on data with 30 % outliers."""
    found = race(run, "outliers", OURS | ROBUST | CLASSICAL, OUTLIERS)
    state_goals(run, found, 1, ROBUST)


PARTS = parts(clean, outliers)
