"""Errors of LBF, LRR and SSC on Hopkins 155, in their authors' settings, beside the published errors."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.framework import data
from benchmarks.framework.measurement import Run
from gasg21.baselines import LBF, LRR, SSC
from gasg21.metrics import clustering_error

TIME = "4 minutes"


class Method(NamedTuple):
    """How a method is run, with the settings that its authors published for this data set."""

    make: Callable[[int, int], Any]  # from the number of motions and a seed
    published: tuple[float, float]  # mean error on all 155 sequences, of two and of three motions
    bound: float  # largest difference to the published error, in points
    n_seeds: int


METHODS = {
    # In the comparison that published these errors all subspaces are linear, of dimension 4 ...
    "LBF": Method(lambda K, seed: LBF(K, 4, affine=False, random_state=seed), (4.62, 11.44), 2.0, 5),
    # ... but the trajectories of a rigid motion lie in an affine flat of dimension 3, which LBF can fit, too.
    "LBF-affine": Method(lambda K, seed: LBF(K, 3, random_state=seed), (4.62, 11.44), 2.0, 5),
    "LRR": Method(lambda K, seed: LRR(K, lam=4, affine=True, random_state=seed), (1.33, 2.51), 1.5, 1),
    "SSC": Method(lambda K, seed: SSC(K, alpha=800, affine=True, keep=0.7, random_state=seed), (1.52, 4.40), 1.5, 1),
    "SSC-4K": Method(
        lambda K, seed: SSC(K, n_components=4 * K, alpha=800, affine=True, keep=0.7, random_state=seed),
        (1.83, 4.40),
        1.5,
        1,
    ),
}


def errors(method: Method, sequences: Iterable[Any], n_seeds: int) -> tuple[np.ndarray, dict[str, float]]:
    """Return the error of each sequence in per cent, the mean over the seeds, and statistics of the runs."""
    rows, models = [], []
    start = time.process_time()
    for sequence in sequences:
        runs = []
        for seed in range(n_seeds):
            models.append(method.make(sequence.n_motions, seed).fit(sequence.data))
            runs.append(100 * clustering_error(sequence.labels, models[-1].labels_))
        rows.append(np.mean(runs))
    statistics = {
        "CPU seconds per run": (time.process_time() - start) / len(models),
        "iterations": float(np.mean([model.n_iter_ for model in models])),
        "share converged": float(np.mean([model.converged_ for model in models])),
    }
    if hasattr(models[0], "duality_gap_"):
        statistics["duality gap, median"] = float(np.median([model.duality_gap_ for model in models]))
    return np.array(rows), statistics


def measure(name: str, run: Run) -> None:
    """Run one method on all sequences, in one setting; a quick run takes every fifth sequence and one seed."""
    method, n_seeds = METHODS[name], 1 if run.quick else METHODS[name].n_seeds
    sequences = data.motions(run.data)[:: 5 if run.quick else 1]
    error, statistics = errors(method, sequences, n_seeds)
    print(
        f"\n{name}: {method.make(2, 0)!r} for two motions; {len(sequences)} sequences, "
        f"{n_seeds} run{'s' * (n_seeds > 1)} of each"
    )
    motions = np.array([sequence.n_motions for sequence in sequences])
    category = np.array([sequence.category for sequence in sequences])
    for K, published in zip((2, 3), method.published, strict=True):
        part = error[motions == K]
        if not len(part):
            continue
        spread = part.std(ddof=1) / np.sqrt(len(part)) if len(part) > 1 else np.nan
        run.goals.at_most(
            f"{name}, {K} motions, {len(part)} sequences: mean error {part.mean():.2f} %, published for all 155: {published:.2f} %, "
            "difference",
            abs(part.mean() - published),
            method.bound,
            " points",
            f"median {np.median(part):.2f} %, standard error of the mean over the sequences {spread:.2f}",
        )
        each = {c: f"{error[(motions == K) & (category == c)].mean():.2f}" for c in sorted(set(category[motions == K]))}
        run.goals.value("  " + ", ".join(f"{c} {mean}" for c, mean in each.items()))
    worst = np.argsort(-error)[:5]
    run.goals.value("worst: " + ", ".join(f"{sequences[i].name} {error[i]:.1f}" for i in worst))
    run.goals.value(", ".join(f"{key} {value:.2g}" for key, value in statistics.items()))


PARTS = {name: partial(measure, name) for name in METHODS}
