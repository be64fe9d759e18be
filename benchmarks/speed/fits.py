"""Whole fits to the same accuracy, and what Python adds to the kernels. See benchmarks/README.md.

python benchmarks/speed/fits.py [PART ...] [--quick]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA, IncrementalPCA

from gasg21 import GASG21, KGASG21, _core
from gasg21.baselines import FMS, REAPER, TME, OutlierPursuit, RobustMD
from gasg21.datasets import make_low_rank, make_union_of_subspaces
from gasg21.exceptions import ConvergenceWarning
from gasg21.metrics import subspace_angle

sys.path.insert(0, str(Path(__file__).parent))
import program

SEED = 70_000  # that no setting was chosen on


def paper(d: int, **parameters: Any) -> GASG21:
    """Return GASG21 as in the paper."""
    return GASG21(d, scaling=False, polish=False, random_state=0, **parameters)


def least(work: Callable[[], Any], repeats: int, clock: Callable[[], float] = time.process_time) -> tuple[float, Any]:
    """Return the least time of several, and what the work gave."""
    best, result = np.inf, None
    for _ in range(repeats):
        start = clock()
        result = work()
        best = min(best, clock() - start)
    return best, result


def compare(title: str, problem: Any, methods: dict[str, Callable[[], Any]], target: float, repeats: int) -> None:
    """Fit with each method, interleaved, and print times, angles and who reaches the target."""
    print(f"\n{title}")
    print(f"  {'method':34} {'CPU seconds':>12} {'angle':>9}   to {target:.0e}?")
    times, angles = dict.fromkeys(methods, np.inf), {}
    for _ in range(repeats):
        for name, make in methods.items():
            seconds, model = least(lambda make=make: make().fit(problem.data), 1)
            times[name] = min(times[name], seconds)
            angles[name] = subspace_angle(model.components_, problem.basis)
    for name in methods:
        reached = angles[name] <= target
        ratio = f"{times[name] / times['GASG21']:6.1f} x the time of GASG21" if reached else "   never reaches it"
        print(f"  {name:34} {times[name]:12.4f} {angles[name]:9.1e}   {ratio}")


def clean(options: argparse.Namespace) -> None:
    """Without outliers PCA is the right answer: the same accuracy, and what it costs."""
    m, n = (2000, 500) if options.quick else (2000, 2000)
    problem = make_low_rank(m, n, 5, noise=1e-3, random_state=SEED)
    methods = {
        "GASG21": lambda: GASG21(5, random_state=0),
        "GASG21, as in the paper": lambda: paper(5, max_passes=3, tol=0),
        "PCA, randomized": lambda: PCA(5, svd_solver="randomized", random_state=0),
        "PCA, covariance_eigh": lambda: PCA(5, svd_solver="covariance_eigh"),
        "PCA, arpack": lambda: PCA(5, svd_solver="arpack", random_state=0),
        "IncrementalPCA, batches of 200": lambda: IncrementalPCA(5, batch_size=200),
        "IncrementalPCA, batches of 50": lambda: IncrementalPCA(5, batch_size=50),
    }
    truth = PCA(5, svd_solver="full").fit(problem.data)
    target = 1.5 * subspace_angle(truth.components_, problem.basis)
    title = f"{m} x {n}, d = 5, clean, noise 1e-3; the target is 1.5 times the angle of an exact PCA"
    compare(title, problem, methods, target, 1 if options.quick else 3)


def outliers(options: argparse.Namespace) -> None:
    """With outliers: PCA and IncrementalPCA never get there, the robust batch methods do."""
    for m, n, slow in ((600, 200, True),) if options.quick else ((1000, 200, True), (2000, 2000, False)):
        problem = make_low_rank(m, n, 5, outlier_fraction=0.5, singular_values=(2000, 10000), random_state=SEED + 1)
        methods: dict[str, Callable[[], Any]] = {
            "GASG21": lambda: GASG21(5, random_state=0),
            "GASG21, as in the paper": lambda: paper(5),
            "PCA, randomized": lambda: PCA(5, svd_solver="randomized", random_state=0),
            "IncrementalPCA, batches of 200": lambda: IncrementalPCA(5, batch_size=200),
            "FMS": lambda: FMS(5),
        }
        if slow:
            methods |= {
                "REAPER": lambda: REAPER(5),
                "TME": lambda: TME(5),
                "OutlierPursuit": lambda: OutlierPursuit(5),
                "RobustMD": lambda: RobustMD(5, random_state=0),
            }
        title = f"{m} x {n}, d = 5, 50 % outliers, no noise, complete (what the batch methods need)"
        if not slow:
            title += "; REAPER, TME, OutlierPursuit and RobustMD take minutes at this size and are left out"
        compare(title, problem, methods, 1e-6, 1 if options.quick else 2)


def paper_time(options: argparse.Namespace) -> None:
    """4000 updates, which took the paper about two seconds."""
    problem = make_low_rank(2000, 2000, 5, outlier_fraction=0.5, observed_fraction=0.7, random_state=SEED + 2)
    seconds, model = least(lambda: paper(5, max_passes=2, tol=0).fit(problem.data), 2 if options.quick else 5)
    tracker = _core.Tracker64(2000, 5, _core.AdaptiveStep(), 0)
    order = np.concatenate([tracker.permutation(2000) for _ in range(2)])
    core, _ = least(lambda: tracker.consume(problem.data, None, order), 2 if options.quick else 5)
    print("\n4000 updates, 2000 x 2000, d = 5, 70 % observed, 50 % outliers, from Python; the paper: about 2 s")
    print(f"  GASG21.fit, two passes: {1e3 * seconds:.1f} ms, {2 / seconds:.0f} x the paper, ", end="")
    print(f"angle {subspace_angle(model.components_, problem.basis):.1e}")
    print(f"  the updates alone: {1e3 * core:.1f} ms, {2 / core:.0f} x the paper, {core / 4e-3:.2f} us an update")


def one_vector(options: argparse.Namespace) -> None:
    """Time calls with one vector: what they cost beyond the kernel."""
    goals = program.Goals()
    print(
        "\nmicroseconds a vector: a call with one, and the kernel (the compiled tracker with all); the least of the means"
    )
    for n, d in ((2000, 5), (200, 5), (100, 3)):
        X = make_low_rank(500, n, d, outlier_fraction=0.5, observed_fraction=0.7, random_state=SEED + 3).data
        tracker = _core.Tracker64(n, d, _core.AdaptiveStep(), 0)
        calls = {
            "GASG21.partial_fit": paper(d).partial_fit(X).partial_fit,
            "tracker.consume": tracker.consume,
            "tracker.consume_row": tracker.consume_row,
        }
        kernel, singles = one_and_block(calls, tracker.consume, X, 3 if options.quick else 10)
        for name, single in singles.items():
            text = f"({n}, {d}) {name} {1e6 * single:.2f}, kernel {1e6 * kernel:.2f}: above it"
            goals.at_most(text, 1e6 * (single - kernel), 2, " us")


def one_and_block(
    calls: dict[str, Callable[[np.ndarray], Any]], block: Callable[[np.ndarray], Any], X: np.ndarray, repeats: int
) -> tuple[float, dict[str, float]]:
    """Return the seconds a vector when `block` gets all rows, and when each call gets one; interleaved."""
    rows = [X[i : i + 1] for i in range(len(X))]
    together, singles = np.inf, dict.fromkeys(calls, np.inf)
    for _ in range(repeats):
        together = min(together, least(lambda: block(X), 1)[0])
        for name, call in calls.items():
            singles[name] = min(singles[name], least(lambda call=call: [call(row) for row in rows], 1)[0])
    return together / len(X), {name: single / len(X) for name, single in singles.items()}


def precision(options: argparse.Namespace) -> None:
    """float32 against float64, from Python."""
    goals = program.Goals()
    print("\nfloat32 against float64, microseconds an update over three passes, and the angle to the truth")
    for d in (5, 10):
        for observed in (1.0, 0.7, 0.1):
            problem = make_low_rank(
                *(1000, 2000, d), outlier_fraction=0.5, observed_fraction=observed, noise=1e-3, random_state=SEED + 4
            )
            data = {"64": problem.data, "32": problem.data.astype(np.float32)}
            times, angles = dict.fromkeys(data, np.inf), {}
            for _ in range(3 if options.quick else 8):
                for bits, X in data.items():
                    tracker = getattr(_core, f"Tracker{bits}")(2000, d, _core.AdaptiveStep(), 0)
                    orders = np.concatenate([tracker.permutation(1000) for _ in range(3)])
                    seconds, _ = least(lambda t=tracker, X=X, o=orders: t.consume(X, None, o), 1)
                    times[bits] = min(times[bits], seconds / 3000)
                    angles[bits] = subspace_angle(tracker.components().astype(float), problem.basis)
            shown = f"{1e6 * times['64']:.2f} and {1e6 * times['32']:.2f} us, angles {angles['64']:.1e} and {angles['32']:.1e}"
            goals.at_least(f"(2000, {d}) {observed:.0%} {shown}", times["64"] / times["32"], 1.4)


def with_threads(model: Any, count: int) -> Any:
    """Return the model, told how many threads it may use."""
    os.environ["OMP_NUM_THREADS"] = str(count)
    return model.set_params(n_jobs=count) if "n_jobs" in model.get_params() else model


def threads(options: argparse.Namespace) -> None:
    """Wall time with one and two threads; the same result."""
    m = 2000 if options.quick else 6000
    problem = make_low_rank(m, 1000, 10, outlier_fraction=0.5, observed_fraction=0.7, noise=1e-3, random_state=SEED + 5)
    union = make_union_of_subspaces(m // 2, 100, 3, 10, outlier_fraction=0.3, observed_fraction=0.7, random_state=SEED)
    fitted = GASG21(10, max_passes=2, polish=False, random_state=0).fit(problem.data)
    works: dict[str, Callable[[int], Any]] = {
        "transform": lambda k: with_threads(fitted, k).transform(problem.data),
        "score_samples": lambda k: with_threads(fitted, k).score_samples(problem.data),
        "fit with polish": lambda k: with_threads(GASG21(10, random_state=0), k).fit(problem.data).components_,
        "KGASG21.fit": lambda k: with_threads(KGASG21(10, 3, random_state=0), k).fit(union.data).labels_,
    }
    print(f"\nwall seconds with one and with two threads ({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})")
    for name, work in works.items():
        times, results = {1: np.inf, 2: np.inf}, {}
        for _ in range(2 if options.quick else 4):
            for k in times:
                seconds, results[k] = least(lambda k=k, work=work: work(k), 1, time.perf_counter)
                times[k] = min(times[k], seconds)
        same = np.array_equal(results[1], results[2], equal_nan=True)
        print(f"  {name:16} {times[1]:8.4f} {times[2]:8.4f}  {times[1] / times[2]:.2f} x, ", end="")
        print("the same bits" if same else "NOT THE SAME BITS")
    os.environ["OMP_NUM_THREADS"] = "1"


PARTS = {f.__name__: f for f in (clean, outliers, paper_time, one_vector, precision, threads)}


def main() -> None:
    """Run the parts named on the command line, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"any of {', '.join(PARTS)}; all by default")
    parser.add_argument("--quick", action="store_true", help="smaller problems, fewer repeats")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(unknown)}")
    warnings.simplefilter("ignore", ConvergenceWarning)
    set_used = getattr(_core, "instruction_set", lambda: "whatever the compiler used")()
    print(f"one thread unless said otherwise; instruction set: {set_used}")
    for name in options.parts or PARTS:
        PARTS[name](options)


if __name__ == "__main__":
    main()
