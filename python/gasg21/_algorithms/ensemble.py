"""Several runs joined into one: samples that most runs put together belong together."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from gasg21 import _core
from gasg21._algorithms.clusters import UnionPlan
from gasg21._algorithms.one_subspace import OneSubspace
from gasg21._algorithms.principal import principal_axes, unit_rows
from gasg21._algorithms.spectral import Factored, spectral_labels
from gasg21._data.samples import Array, Samples
from gasg21._support.progress import Progress

_JOINED = 5000  # at most so many samples are joined, at worst by a matrix of this size squared; the others follow
# A run whose cost is this share above the least counts 1/e: it has missed something.
_WORSE = 0.05
# Passes of each run. The runs are neither scaled nor polished, which would make them alike: an ensemble needs
# differences.
_PASSES = 10
# A robust fit of fewer samples per dimension, in more coordinates than samples, fits some of them exactly.
_FEW = 8


class _StoppedRun(Exception):
    """Ends a run whose result nobody wants any more."""


def join_runs(
    plan: UnionPlan,
    samples: Samples,
    n_runs: int,
    inliers: Callable[[list[Array]], Array],
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Run n_runs times from different seeds, join the better half, and refit each cluster.

    ``inliers(subspaces)`` returns which samples lie on one of the subspaces; the others are not joined. The result
    is that of `UnionPlan.run`.
    """
    plan.check()
    runs = run_all(plan, samples, n_runs, progress)
    if progress is not None:
        progress.stage("join the runs")
    batch = samples.whole()
    residuals = [
        _core.residuals(run["subspaces"], batch.payload, batch.mask, plan.n_threads).astype(np.float64) for run in runs
    ]
    best = better_half(residuals)[0]
    found = continued(runs[int(best[0])], plan, samples)
    joined = np.flatnonzero(inliers(found["subspaces"]) & ~np.isnan(residuals[best[0]]).any(axis=1))
    if len(joined) <= 2 * len(plan.dimensions):  # too few to be joined
        return found
    joined = some_of(joined, _JOINED, plan.seed)
    affinity, _ = co_association([each[joined] for each in residuals], better_half(residuals))
    labels = spectral_labels(affinity, len(plan.dimensions), plan.seed, n_init=15, exact=False)
    members = [joined[labels == k] for k in range(len(plan.dimensions))]
    refit(found, plan, [samples.dense(rows) for rows in members])
    return found


def some_of(rows: Array, at_most: int, seed: int) -> Array:
    """Return at most so many of the rows, drawn at random, in their order."""
    if len(rows) <= at_most:
        return rows
    return np.sort(np.random.default_rng(seed).choice(rows, at_most, replace=False))


def run_all(plan: UnionPlan, samples: Samples, n_runs: int, progress: Progress | None = None) -> list[dict[str, Any]]:
    """Run the plan from different seeds, several at the same time; the bar counts the vectors of all of them."""
    seeds = np.random.SeedSequence(plan.seed).generate_state(n_runs, np.uint64)
    passes = min(plan.max_passes, _PASSES)
    run = dataclasses.replace(plan, n_threads=1, scaling=False, polish=False, max_passes=passes)
    plans = [dataclasses.replace(run, seed=int(seed)) for seed in seeds]
    stop, drawing = threading.Event(), threading.Lock()

    if progress is not None:
        progress.stage(f"{n_runs} runs")

    def go_on(done: int, level: int, step: float) -> None:  # signals reach the main thread only; each run calls this
        if stop.is_set():
            raise _StoppedRun
        if progress is not None:
            with drawing:
                progress(done, level, step)

    pool = ThreadPoolExecutor(plan.n_threads)
    try:
        runs = list(pool.map(lambda each: each.run(samples, go_on), plans))
    except BaseException:
        stop.set()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
    for run_found in runs:
        if run_found["interrupt"] is not None:
            raise run_found["interrupt"]
    return runs


def continued(run: dict[str, Any], plan: UnionPlan, samples: Samples) -> dict[str, Any]:
    """Return the run with a stream that goes on as the plan says."""
    start = dataclasses.replace(plan, init=run["subspaces"]).run(samples, goal="start_of_fit")
    kept = {name: start[name] for name in ("stream", "stream_rule", "subspaces")}
    return {**run, **kept, "counters": run["stream"].counters()}


def better_half(residuals: list[Array]) -> tuple[Array, Array]:
    """Return the half of the runs with the smaller sums of residuals, best first, and the weight of each."""
    with np.errstate(invalid="ignore"):
        costs = np.array([np.nansum(np.min(r, axis=1)) for r in residuals])
    best = np.argsort(costs, kind="stable")[: max(1, len(residuals) // 2)]
    return best, np.exp(-(costs[best] / max(costs[best[0]], np.finfo(np.float64).tiny) - 1) / _WORSE)


def co_association(residuals: list[Array], half: tuple[Array, Array] | None = None) -> tuple[Factored, Array]:
    """Return how likely two samples belong to the same subspace, over the better half of the runs, and that half."""
    factors = []
    best, weights = half or better_half(residuals)
    for b, weight in zip(best, weights, strict=True):
        each = residuals[b]
        nearest = each.min(axis=1, keepdims=True)
        scale = max(float(np.median(nearest)), float(np.finfo(np.float64).tiny))
        with np.errstate(invalid="ignore"):
            belongs = np.exp(-np.nan_to_num((each - nearest) / scale, nan=np.inf))
        factors.append(np.sqrt(weight) * belongs / belongs.sum(axis=1, keepdims=True))
    return Factored(np.hstack(factors)), best


def refit(found: dict[str, Any], plan: UnionPlan, members: list[Array]) -> None:
    """Fit each cluster by itself, so that labels and subspaces agree."""
    order = match_dimensions(members, plan.dimensions)
    angles = found["estimated_angles"] = np.full(len(plan.dimensions), np.pi / 2)
    for k, d in enumerate(plan.dimensions):
        one = fit_members(members[order[k]], d, plan)
        if one is not None:
            angles[k] = one.estimated_angle
            found["subspaces"][k] = one.components
    found["status"] = _core.verdict(angles, plan.tol)
    found["stream"].continue_from(found["subspaces"], angles, found["stream_rule"])


def fit_members(X: Array, d: int, plan: UnionPlan, *, center: bool = False) -> OneSubspace | None:
    """Fit one cluster by itself; None if any subspace could be put through its few members."""
    if len(X) <= d + 1 + int(center):
        return None
    if not center and len(X) < _FEW * d and X.shape[1] > len(X) and not np.isnan(X).any():
        A = unit_rows(X)
        return OneSubspace(principal_axes(A, d), np.zeros(0), np.nan, 0.0, plan.n_threads)
    return OneSubspace.fit(
        X,
        d,
        seed=plan.seed,
        n_threads=plan.n_threads,
        scaling=plan.scaling,
        tol=plan.tol,
        init="random" if center else "spherical_pca",
        center=center,
    )


def match_dimensions(members: list[Array], dimensions: tuple[int, ...]) -> Array:
    """Return which cluster gets which dimension: the larger ones go where they help most."""
    if len(set(dimensions)) == 1:
        return np.arange(len(dimensions))
    spread = [np.linalg.svd(unit_rows(X), compute_uv=False) ** 2 for X in members]
    return np.asarray(linear_sum_assignment([[s[d:].sum() for s in spread] for d in dimensions])[1])
