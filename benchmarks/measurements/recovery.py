"""What GASG21 recovers in the paper's settings, beside what it must reach. See benchmarks/README.md."""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from gasg21 import GASG21, GROUSE, _core
from gasg21.datasets import make_low_rank
from gasg21.exceptions import ConvergenceWarning
from gasg21.metrics import subspace_angle

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import reference

SEEDS = range(1000, 1005)


def paper(n_components: int, **parameters: Any) -> GASG21:
    """Return GASG21 as in the paper."""
    return GASG21(n_components, scaling=False, polish=False, **parameters)


def verdict(value: float, bound: float) -> str:
    """Return the bound and whether the value keeps it."""
    return f"{value:9.1e}   bound {bound:.0e}   {'ok' if value <= bound else 'MISSED'}"


def two_passes() -> None:
    """Angles after two passes, medians of five seeds."""
    print("2000 x 2000, d = 5, singular values 2000 to 10000, 70 % observed, two passes: median angle of 5 seeds")
    for outliers, bound in ((0.5, 1e-9), (0.6, 1e-6), (0.7, 1e-3)):
        angles = []
        for seed in SEEDS:
            problem = make_low_rank(
                *(2000, 2000, 5),
                outlier_fraction=outliers,
                observed_fraction=0.7,
                singular_values=(2000, 10000),
                random_state=seed,
            )
            model = paper(5, max_passes=2, tol=0, random_state=seed).fit(problem.data)
            angles.append(subspace_angle(model.components_, problem.basis))
        print(f"  {outliers:.0%} outliers  {verdict(float(np.median(angles)), bound)}")


def convergence() -> None:
    """Angles along 10 000 vectors: linear for GASG21, sublinear for GASG21-DM, GROUSE stalls."""
    for values in ((9000, 10000), (2000, 10000)):
        print(f"\n2000 x 2000, d = 10, singular values {values}, 65 % outliers, 70 % observed; every 1000 vectors:")
        problem = make_low_rank(
            *(2000, 2000, 10),
            outlier_fraction=0.65,
            observed_fraction=0.7,
            singular_values=values,
            random_state=SEEDS[0],
        )
        models = {
            "GASG21": paper(10, random_state=0),
            "GASG21-DM": paper(10, step_size="diminishing", random_state=0),
            "GROUSE": GROUSE(10, random_state=0),
        }
        for name, model in models.items():
            rng, angles = np.random.default_rng(0), []
            for _ in range(5):
                for rows in np.split(rng.permutation(2000), 2):
                    angles.append(subspace_angle(model.partial_fit(problem.data[rows]).components_, problem.basis))
            print(f"  {name:10}", " ".join(f"{angle:.0e}" for angle in angles), end="")
            print(f"   {verdict(angles[-1], 1e-6)}" if name == "GASG21" else "")


def a_million_updates() -> None:
    """Worst orthonormality and the angle floor over a million updates."""
    problem = make_low_rank(2000, 200, 5, outlier_fraction=0.3, observed_fraction=0.8, random_state=SEEDS[1])
    tracker = _core.Tracker64(200, 5, _core.AdaptiveStep(), 0)
    drift = floor = 0.0
    for repeat in range(500):
        tracker.consume(problem.data, None, tracker.permutation(2000))
        components = tracker.components()
        drift = max(drift, _core.orthonormality_error(components))
        if repeat >= 10:
            floor = max(floor, subspace_angle(components, problem.basis))
    print("\na million updates, n = 200, d = 5")
    print(f"  worst orthonormality error  {verdict(drift, 1e-12)}")
    print(f"  largest angle after 20 000  {verdict(floor, 1e-13)}")


def against_the_oracle() -> None:
    """Worst difference to the NumPy oracle after 1000 updates."""
    print("\nangle to the NumPy oracle after 1000 updates, n = 500: worst over d in {1, 5, 10}")
    for eta0, shares in ((0.1, (0.3, 0.7, 1.0)), (0.5, (0.3, 0.7, 1.0)), (1.0, (0.3, 0.7))):
        worst = 0.0
        for observed in shares:
            for d in (1, 5, 10):
                X = make_low_rank(
                    *(1000, 500, d), outlier_fraction=0.5, observed_fraction=observed, random_state=SEEDS[2]
                ).data
                tracker = _core.Tracker64(500, d, _core.AdaptiveStep(eta0=eta0), 1)
                U = reference.gasg21(tracker.components().T, X, reference.AdaptiveStepReference(eta0=eta0))
                tracker.consume(X)
                worst = max(worst, float(reference.largest_angle(U, tracker.components().T)))
        print(f"  eta_0 = {eta0}, observed {shares}  {verdict(worst, 1e-10)}")


def time_an_update() -> None:
    """Microseconds an update: the core beside NumPy, interleaved, the least of five."""
    print("\ntime an update in microseconds, 70 % observed: core, NumPy oracle, ratio")
    for n, d in ((200, 5), (2000, 5), (2000, 10)):
        X = make_low_rank(300, n, d, outlier_fraction=0.5, observed_fraction=0.7, random_state=SEEDS[3]).data
        core, oracle = np.inf, np.inf
        for _ in range(5):
            tracker = _core.Tracker64(n, d, _core.AdaptiveStep(), 1)
            U = tracker.components().T
            start = time.perf_counter()
            tracker.consume(X)
            core = min(core, time.perf_counter() - start)
            start = time.perf_counter()
            reference.gasg21(U, X, reference.AdaptiveStepReference())
            oracle = min(oracle, time.perf_counter() - start)
        print(f"  n = {n}, d = {d}: {core / 300e-6:.1f}, {oracle / 300e-6:.0f}, {oracle / core:.0f} x")


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    two_passes()
    convergence()
    a_million_updates()
    against_the_oracle()
    time_an_update()
