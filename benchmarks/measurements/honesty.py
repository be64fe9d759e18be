"""Whether a fit says so when the data does not determine the subspace, and only then."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn import datasets as tables

from benchmarks.framework import core
from benchmarks.framework.measurement import Run, parts
from gasg21 import GASG21
from gasg21.exceptions import ConvergenceWarning
from gasg21.metrics import subspace_angle

TIME = "5 minutes"
FIRST_SEED = 70_000  # no setting was chosen on these seeds
WRONG = 0.3  # radians

Array = Any


class Made(NamedTuple):
    """A problem with a known answer."""

    X: Array
    mask: Array
    basis: Array  # (d, n)
    inlier: Array


def orthonormal(rng: np.random.Generator, n: int, d: int) -> Array:
    """Return a random basis, (d, n)."""
    return np.linalg.qr(rng.normal(size=(n, d)))[0].T


def made(
    rng: np.random.Generator,
    m: int,
    n: int,
    d: int,
    *,
    condition: float = 1,
    noise: float = 0,
    share: float = 0.3,
    observed: float = 0.8,
    outliers: Callable[[int, float], Array] | None = None,
) -> Made:
    """Draw samples of a subspace, a share of which is replaced by outliers of the same size."""
    basis = orthonormal(rng, n, d)
    weights = rng.normal(size=(m, d)) * np.geomspace(1, condition, d)
    X = weights @ basis
    size = np.sqrt(np.mean(X**2))
    out = rng.permutation(m)[: round(share * m)]
    X[out] = rng.normal(size=(len(out), n)) * size if outliers is None else outliers(len(out), size)
    X += noise * size * rng.normal(size=X.shape)
    inlier = np.ones(m, bool)
    inlier[out] = False
    return Made(X, rng.random(X.shape) < observed, basis, inlier)


def drawn(rng: np.random.Generator) -> tuple[int, int, int, dict[str, float]]:
    """Draw a size and the difficulty of a problem with d = 4."""
    size = int(rng.choice([300, 600, 1500])), int(rng.choice([30, 50, 100])), 4
    choices = {"condition": [1, 5], "noise": [0, 0.01], "share": [0, 0.2, 0.4], "observed": [0.7, 0.9, 1]}
    return *size, {name: float(rng.choice(values)) for name, values in choices.items()}


def two_blocks(rng: np.random.Generator, shared: int) -> Made:
    """Let each sample observe one of two blocks of features, which share some."""
    m, n, d, how = drawn(rng)
    problem = made(rng, m, n, d, **how)
    first = rng.random(m) < 0.5
    problem.mask[np.ix_(first, np.arange(n) < n // 2 - shared // 2)] = False
    problem.mask[np.ix_(~first, np.arange(n) >= n // 2 + shared - shared // 2)] = False
    return problem


def rare_features(rng: np.random.Generator, seen_by: str) -> Made:
    """Hide some features from all samples, from all inliers, or from all but three inliers."""
    m, n, d, how = drawn(rng)
    problem = made(rng, m, n, d, **{**how, "share": max(how["share"], 0.2)})
    features = rng.permutation(n)[: int(rng.integers(1, 4))]
    hidden = problem.inlier.copy() if seen_by != "no sample" else np.ones(m, bool)
    if seen_by == "three inliers":
        hidden[:] = True
        hidden[rng.permutation(np.flatnonzero(problem.inlier))[:3]] = False
    problem.mask[np.ix_(hidden, features)] = False
    return problem


def few_inliers(rng: np.random.Generator) -> Made:
    """Draw d + 1 inliers."""
    m, n, d, how = drawn(rng)
    m = int(rng.choice([d + 1, 2 * d, 20, m]))
    return made(rng, m, n, d, **{**how, "share": 1 - (d + 1) / m})


def nearly_all_dimensions(rng: np.random.Generator) -> Made:
    """Draw a subspace of n - 1 or n - 2 dimensions."""
    m, _, _, how = drawn(rng)
    n = int(rng.choice([6, 8, 10, 20]))
    share = float(rng.choice([0.2, 0.4, 0.6]))
    return made(rng, m, n, n - int(rng.choice([1, 2])), **{**how, "share": share, "observed": 1})


def structured(rng: np.random.Generator, kind: str, share: float) -> Made:
    """Draw outliers on two dimensions, in a cluster, or on a second subspace."""
    m, n, d, how = drawn(rng)
    dimensions = {"plane": 2, "subspace": d, "cluster": 1}[kind]
    other, spread = orthonormal(rng, n, dimensions), 0.1

    def outliers(count: int, size: float) -> Array:
        if kind == "cluster":
            return size * (np.sqrt(n) * other + spread * rng.normal(size=(count, n)))
        return size * np.sqrt(n / dimensions) * rng.normal(size=(count, dimensions)) @ other

    return made(rng, m, n, d, **{**how, "share": share}, outliers=outliers)


def fitted(X: Array, d: int, mask: Array, seed: int) -> tuple[GASG21, bool]:
    """Return a fit, and whether the checks after the fit doubt it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = GASG21(d, random_state=seed).fit(X, mask=mask)
    held_out = any("held out" in str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning))
    return model, model.status_ == "ambiguous" or (model.status_ == "undetermined" and not held_out)


def confident_and_wrong(run: Run, name: str, make: Callable[[np.random.Generator], Made], bound: int) -> None:
    """Count the fits of a kind that converged to a wrong subspace."""
    seeds, lies, statuses = run.seeds(20, quick=5), 0, dict[str, int]()
    for seed in seeds:
        problem = make(np.random.default_rng(FIRST_SEED + seed))
        model, _ = fitted(problem.X, len(problem.basis), problem.mask, seed)
        lies += model.converged_ and subspace_angle(model.components_, problem.basis) > WRONG
        statuses[model.status_] = statuses.get(model.status_, 0) + 1
    told = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
    run.goals.at_most(f"{name}: of {len(seeds)}", lies, bound, note=told)


def missing(run: Run) -> None:
    """Count the confident wrong answers where the mask or the inliers do not determine the subspace."""
    print(f"converged with an angle above {WRONG}: masks and inliers that determine too little")
    kinds: dict[str, Callable[[np.random.Generator], Made]] = {
        "disjoint blocks of features": lambda rng: two_blocks(rng, 0),
        "blocks that share 2 features, d = 4": lambda rng: two_blocks(rng, 2),
        "features that no sample observes": lambda rng: rare_features(rng, "no sample"),
        "features that outliers alone observe": lambda rng: rare_features(rng, "outliers"),
        "features that three inliers observe": lambda rng: rare_features(rng, "three inliers"),
        "d + 1 inliers": few_inliers,
        "d near n": nearly_all_dimensions,
    }
    for name, make in kinds.items():
        confident_and_wrong(run, name, make, 0)


def outliers(run: Run) -> None:
    """Count the confident wrong answers among structured outliers."""
    print(f"\nconverged with an angle above {WRONG}: structured outliers")
    for kind, shares in {"plane": (0.3, 0.4, 0.5), "cluster": (0.3, 0.4, 0.5), "subspace": (0.5,)}.items():
        for share in shares:
            confident_and_wrong(
                run, f"{kind}, {share:.0%}", lambda rng, kind=kind, share=share: structured(rng, kind, share), 2
            )


def solvable(run: Run) -> None:
    """Count the right fits that are doubted."""
    doubted = right = 0
    seeds = run.seeds(500, quick=50)
    for seed in seeds:
        rng = np.random.default_rng(FIRST_SEED + 1000 + seed)
        m, n, d = int(rng.choice([500, 1000, 3000])), int(rng.choice([50, 100, 200, 500])), int(rng.choice([2, 4, 6]))
        observed = max(float(rng.choice([0.05, 0.1, 0.2, 0.5, 0.8, 1])), min(1, 4 * d / n))
        problem = made(
            *(rng, m, n, d),
            condition=float(rng.choice([1, 10, 100, 1000])),
            noise=float(rng.choice([0, 0, 0.01, 0.1])),
            share=float(rng.choice([0, 0.2, 0.5, 0.7])),
            observed=observed,
        )
        model, doubt = fitted(problem.X, d, problem.mask, seed)
        is_right = subspace_angle(model.components_, problem.basis) <= WRONG
        right += is_right
        doubted += is_right and doubt
    print(f"\nsolvable problems, conditions 1 to 1000, 5 to 100 % observed: {right} of {len(seeds)} fits are right")
    run.goals.at_most("right fits that are doubted, %", 100 * doubted / max(right, 1), 1)


def real_tables() -> Iterator[tuple[str, Array]]:
    """Yield tables of scikit-learn, raw and standardised."""
    for name in ("iris", "wine", "digits", "breast_cancer"):
        X = getattr(tables, f"load_{name}")().data
        yield name, X
        yield f"{name}, standardised", (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)


def real(run: Run) -> None:
    """Show how many fits to real tables are doubted: there is no truth, but residuals fall steadily."""
    print("\nreal data, d = 1, 2, 3, 5, complete and 80 % observed")
    fits = doubted = 0
    for _, X in real_tables():
        for d in (1, 2, 3, 5):
            for observed in (1.0, 0.8):
                if d + 1 >= X.shape[1]:
                    continue
                mask = np.random.default_rng(FIRST_SEED).random(X.shape) < observed
                fits += 1
                doubted += fitted(X, d, mask, 0)[1]
    run.goals.at_most(f"doubted of {fits} fits", doubted, round(0.02 * fits))


def cost(run: Run) -> None:
    """Compare the time of the checks with that of a fit."""
    print("\nCPU time that the checks add to a fit, least of some runs")
    for m, n, d, observed in ((20_000, 200, 5, 0.7), (20_000, 200, 5, 0.1), (2000, 200, 5, 0.7), (500, 2000, 5, 0.7)):
        problem = made(np.random.default_rng(FIRST_SEED), m, n, d, noise=0.05, observed=observed)
        times = {doubt: least_time(problem, d, doubt, run.quick) for doubt in (False, True)}
        text = f"{m} x {n}, d = {d}, {observed:.0%} observed: fit {1e3 * times[False]:.0f} ms, share of the checks, %"
        share = 100 * (times[True] / times[False] - 1)
        if m == 20_000:
            run.goals.at_most(text, share, 20)
        else:
            run.goals.value(f"{text}: {share:.0f}")


def least_time(problem: Made, d: int, doubt: bool, quick: bool) -> float:
    """Return the CPU time of a fit with or without the checks."""
    X = np.where(problem.mask, problem.X, np.nan)
    best = np.inf
    for _ in range(3 if quick else 9):
        start = time.process_time()
        core.fit(X, d, doubt=doubt)
        best = min(best, time.process_time() - start)
    return best


PARTS = parts(missing, outliers, solvable, real, cost)
