"""What GASG21 recovers in the paper's settings, with the paper's algorithm, and how it agrees with the NumPy oracle."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.framework import core
from benchmarks.framework.measurement import Run, parts
from gasg21 import GASG21, GROUSE
from gasg21.datasets import make_low_rank
from gasg21.metrics import subspace_angle
from gasg21.step_size import AdaptiveStep
from tests import reference

TIME = "1 minute"
FIRST_SEED = 1000


def paper(n_components: int, **parameters: Any) -> GASG21:
    """Return GASG21 as in the paper."""
    return GASG21(n_components, metric="canonical", polish=False, **parameters)


def square(d: int, outliers: float, values: tuple[float, float], seed: int) -> Any:
    """Return one of the paper's 2000 x 2000 matrices, 70 % observed."""
    return make_low_rank(
        *(2000, 2000, d),
        outlier_fraction=outliers,
        observed_fraction=0.7,
        singular_values=values,
        random_state=seed,
    )


def two_passes(run: Run) -> None:
    """Show the angles after two passes."""
    seeds = [FIRST_SEED + s for s in run.seeds(5, quick=2)]
    print(
        "2000 x 2000, d = 5, singular values 2000 to 10000, 70 % observed, two passes: median angle of "
        f"{len(seeds)} seeds"
    )
    for outliers, bound in ((0.5, 1e-9), (0.6, 1e-6), (0.7, 1e-3)):
        angles = []
        for seed in seeds:
            problem = square(5, outliers, (2000, 10000), seed)
            model = paper(5, max_passes=2, tol=0, random_state=seed).fit(problem.data)
            angles.append(subspace_angle(model.components_, problem.basis))
        run.goals.at_most(f"{outliers:.0%} outliers", float(np.median(angles)), bound)


def convergence(run: Run) -> None:
    """Show the angles along 10 000 vectors: linear for GASG21, sublinear for GASG21-DM; GROUSE stalls."""
    for values in ((9000, 10000), (2000, 10000)):
        print(f"\n2000 x 2000, d = 10, singular values {values}, 65 % outliers, 70 % observed; every 1000 vectors:")
        problem = square(10, 0.65, values, FIRST_SEED)
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
            shown = f"{name:10} " + " ".join(f"{angle:.0e}" for angle in angles)
            if name == "GASG21":
                run.goals.at_most(f"{shown}; the last", angles[-1], 1e-6)
            else:
                run.goals.value(shown)


def a_million_updates(run: Run) -> None:
    """Show the worst orthonormality error and the largest angle over a million updates; 100 000 in a quick run."""
    problem = make_low_rank(2000, 200, 5, outlier_fraction=0.3, observed_fraction=0.8, random_state=FIRST_SEED + 1)
    stream = core.stream(200, 5, 0)
    drift = floor = 0.0
    passes = 50 if run.quick else 500
    for repeat in range(passes):
        stream.update(problem.data, stream.permutation(2000))
        components = stream.components()
        drift = max(drift, core.orthonormality_error(components))
        if repeat >= 10:
            floor = max(floor, subspace_angle(components, problem.basis))
    print(f"\n{2000 * passes} updates, n = 200, d = 5")
    run.goals.at_most("worst orthonormality error", drift, 1e-12)
    run.goals.at_most("largest angle after 20 000 updates", floor, 1e-13)


def against_the_oracle(run: Run) -> None:
    """Show the largest angle to the NumPy oracle after 1000 updates."""
    print("\nangle to the NumPy oracle after 1000 updates, n = 500: worst over d = 1, 5, 10")
    for eta0, shares in ((0.1, (0.3, 0.7, 1.0)), (0.5, (0.3, 0.7, 1.0)), (1.0, (0.3, 0.7))):
        worst = 0.0
        for observed in shares:
            for d in (1, 5, 10):
                X = make_low_rank(
                    *(1000, 500, d), outlier_fraction=0.5, observed_fraction=observed, random_state=FIRST_SEED + 2
                ).data
                stream = core.stream(500, d, 1, AdaptiveStep(eta0=eta0))
                U = reference.gasg21(stream.components().T, X, reference.AdaptiveStepReference(eta0=eta0))
                stream.update(X)
                worst = max(worst, float(reference.largest_angle(U, stream.components().T)))
        run.goals.at_most(f"eta_0 = {eta0}, observed {shares}", worst, 1e-10)


def time_of_an_update(run: Run) -> None:
    """Compare the time of an update in the core and in NumPy: interleaved, the least of five."""
    print("\nmicroseconds per update, 70 % observed: core, NumPy oracle, ratio")
    for n, d in ((200, 5), (2000, 5), (2000, 10)):
        X = make_low_rank(300, n, d, outlier_fraction=0.5, observed_fraction=0.7, random_state=FIRST_SEED + 3).data
        ours, oracle = np.inf, np.inf
        for _ in run.seeds(5, quick=2):
            stream = core.stream(n, d, 1)
            U = stream.components().T
            start = time.perf_counter()
            stream.update(X)
            ours = min(ours, time.perf_counter() - start)
            start = time.perf_counter()
            reference.gasg21(U, X, reference.AdaptiveStepReference())
            oracle = min(oracle, time.perf_counter() - start)
        run.goals.value(f"n = {n}, d = {d}: {ours / 300e-6:.1f}, {oracle / 300e-6:.0f}, {oracle / ours:.0f} x")


PARTS = parts(two_passes, convergence, a_million_updates, against_the_oracle, time_of_an_update)
