"""Several runs joined into one: what most of them put together belongs together."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy.optimize import linear_sum_assignment

from gasg21 import _core
from gasg21._estimators.gasg21 import GASG21
from gasg21._algorithms.self_check import LOST, dense_rows
from gasg21._algorithms.union import UnionPlan, UnionRecovery
from gasg21._data.samples import Array, Samples
from gasg21.baselines._spectral import spectral_labels
from gasg21.exceptions import ConvergenceWarning, InvalidInputError

_AT_MOST = 20_000  # samples: the runs are joined by a matrix of this squared
# A run counts 1/e when its cost is this share above the least: it has missed something.
_WORSE = 0.05
# Passes of each run. They are neither scaled nor polished, which would make them alike: an ensemble lives on
# differences.
_PASSES = 10


def join_runs(plan: UnionPlan, samples: Samples, n_runs: int, inliers: Callable[[list[Array]], Array]) -> UnionRecovery:
    """Run n_runs times from different seeds, join the better half, and refit each cluster.

    ``inliers(subspaces)`` says which samples lie on one of the subspaces; the others are not joined.
    """
    if samples.n_samples > _AT_MOST:
        msg = (
            f"n_ensemble={n_runs} joins the runs by a matrix of n_samples x n_samples, so that X may have at most "
            f"{_AT_MOST} samples, not {samples.n_samples}; use n_ensemble=1"
        )
        raise InvalidInputError(msg)
    plan.rule(np.ones(1))  # what is refused is refused before the work
    runs = _run_all(plan, samples, n_runs)
    block = samples.whole()
    measure = _core.residuals64 if samples.dtype == np.float64 else _core.residuals32
    residuals = [measure(run.subspaces, block.payload, block.mask, plan.n_threads).astype(np.float64) for run in runs]
    with np.errstate(invalid="ignore"):
        nearest = [np.min(r, axis=1) for r in residuals]
    costs = np.array([np.nansum(r) for r in nearest])
    best = np.argsort(costs, kind="stable")[: max(1, n_runs // 2)]
    recovery = runs[int(best[0])]
    recovery.go_on_as(plan)
    joined = np.flatnonzero(inliers(recovery.subspaces) & ~np.isnan(nearest[best[0]]))
    if len(joined) <= 2 * len(plan.dimensions):  # too few to be joined
        return recovery
    weights = np.exp(-(costs[best] / max(costs[best[0]], np.finfo(np.float64).tiny) - 1) / _WORSE)
    affinity = _co_association([residuals[b][joined] for b in best], weights)
    labels = spectral_labels(affinity, len(plan.dimensions), plan.seed, n_init=15)
    members = [joined[labels == k] for k in range(len(plan.dimensions))]
    _refit(recovery, plan, [dense_rows(samples, rows) for rows in members])
    return recovery


def _run_all(plan: UnionPlan, samples: Samples, n_runs: int) -> list[UnionRecovery]:
    seeds = np.random.SeedSequence(plan.seed).generate_state(n_runs, np.uint64)
    passes = min(plan.max_passes, _PASSES)
    run = dataclasses.replace(plan, n_threads=1, scaling=False, polish=False, max_passes=passes)
    plans = [dataclasses.replace(run, seed=int(seed)) for seed in seeds]
    runs = [UnionRecovery(each, samples) for each in plans]
    pool = ThreadPoolExecutor(plan.n_threads)
    try:
        list(pool.map(lambda run: run.run(None), runs))
    finally:
        pool.shutdown(cancel_futures=True)
    return runs


def _co_association(residuals: list[Array], weights: Array) -> Array:
    """Weighted sum over the runs of how likely two samples belong to the same subspace."""
    m = len(residuals[0])
    total = np.zeros((m, m))
    for each, weight in zip(residuals, weights, strict=True):
        nearest = each.min(axis=1, keepdims=True)
        scale = max(float(np.median(nearest)), float(np.finfo(np.float64).tiny))
        with np.errstate(invalid="ignore"):
            belongs = np.exp(-np.nan_to_num((each - nearest) / scale, nan=np.inf))
        belongs /= belongs.sum(axis=1, keepdims=True)
        total += weight * (belongs @ belongs.T)
    np.fill_diagonal(total, 0)
    return total


def _refit(recovery: UnionRecovery, plan: UnionPlan, members: list[Array]) -> None:
    """Fit each cluster by itself, so that labels and subspaces agree."""
    order = _match_dimensions(members, plan.dimensions)
    recovery.status, recovery.left_stream = "noise_floor", True
    for k, d in enumerate(plan.dimensions):
        one = fit_members(members[order[k]], d, plan)
        recovery.estimated_angles[k] = np.pi / 2 if one is None else one.estimated_angle_
        if one is not None:
            recovery.subspaces[k] = one.components_
    worst = recovery.estimated_angles.max()
    if worst > LOST:
        recovery.status = "undetermined"
    elif worst <= 10 * plan.tol:
        recovery.status = "converged"


def fit_members(X: Array, d: int, plan: UnionPlan) -> GASG21 | None:
    """Fit one cluster by itself; None if it has so few members that any subspace can be put through them."""
    if len(X) <= d + 1:
        return None
    one = GASG21(
        d,
        scaling=plan.scaling,
        init="spherical_pca",
        tol=plan.tol,
        random_state=plan.seed,
        n_jobs=plan.n_threads,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        one.fit(X)
    return one


def _match_dimensions(members: list[Array], dimensions: tuple[int, ...]) -> Array:
    """Return which cluster gets which dimension: the larger ones go where they help most."""
    if len(set(dimensions)) == 1:
        return np.arange(len(dimensions))
    spread = [np.linalg.svd(_unit_rows(X), compute_uv=False) ** 2 for X in members]
    return np.asarray(linear_sum_assignment([[s[d:].sum() for s in spread] for d in dimensions])[1])


def _unit_rows(X: Array) -> Array:
    """Return the samples at unit length, missing entries 0."""
    X = np.nan_to_num(X)
    X = X / np.maximum(np.abs(X).max(axis=1, keepdims=True), np.finfo(X.dtype).tiny)  # so that no square overflows
    return np.asarray(X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), np.finfo(X.dtype).tiny))
