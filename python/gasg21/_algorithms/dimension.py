"""How many dimensions the subspace has, when the user does not say."""

from __future__ import annotations

import numpy as np

from gasg21 import _core
from gasg21._algorithms.two_stage import consume, count_observed, polish_residuals
from gasg21._data.samples import Samples, check_components

_SAMPLES, _PASSES, _POLISHES = 1500, 2, 4
_MOST, _PATIENCE = 50, 4  # dimensions to try, and how many without success before giving up
_DROP = 0.05  # a dimension counts when it brings this share of the whole drop
_FLOOR = 1e-6  # residuals below this are all alike


def choose_components(samples: Samples, seed: int, n_threads: int) -> int:
    """Return the last dimension that lowers the mean log residual by more than a twentieth of the whole.

    The residual is that of a robust fit with d dimensions, over what a random direction would leave; on a
    subset of the samples, for d = 1, 2, ... until several dimensions in a row bring nothing.
    """
    best = check_components(1, samples.n_features)
    levels = [0.0]  # mean log residual without a subspace
    observed = count_observed(samples) / samples.n_samples
    for d in range(1, int(min(samples.n_features, samples.n_samples, observed - 1, _MOST + 1))):
        level = _mean_log_residual(samples, d, seed, n_threads)
        if np.isnan(level):  # no sample can be used
            break
        levels.append(level)
        drops = -np.diff(np.minimum.accumulate(levels))
        best = int(np.flatnonzero(drops > _DROP * drops.sum()).max(initial=0)) + 1
        if d - best >= _PATIENCE:
            break
    return best


def _mean_log_residual(samples: Samples, d: int, seed: int, n_threads: int) -> float:
    some = samples.every(max(1, samples.n_samples // _SAMPLES))
    double = some.dtype == np.float64
    rule, metric = _core.AdaptiveStep(eta0=1.0, mu_max=6.0), _core.CovarianceScaling()
    tracker = (_core.Tracker64 if double else _core.Tracker32)(some.n_features, d, rule, seed, "l21", metric)
    for _ in range(_PASSES):
        consume(tracker, some, tracker.permutation(some.n_samples), None)
    if tracker.counters()["n_used"] == 0:
        return float("nan")
    polisher = (_core.Polisher64 if double else _core.Polisher32)(tracker.components(), some.n_samples, n_threads)
    residuals = polish_residuals(polisher, some, _POLISHES)
    observed = count_observed(some) / some.n_samples
    left = np.sqrt(1 - d / observed) if observed > d else 1.0
    return float(np.mean(np.log(np.clip(residuals[~np.isnan(residuals)] / left, _FLOOR, 1.0))))
