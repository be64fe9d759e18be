"""What `KGASG21.fit` does by default: one run, and a consensus where other representations contradict it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gasg21 import _core
from gasg21._algorithms.clusters import UnionPlan, assign, fewest_members, is_near, near_subspaces
from gasg21._algorithms.consensus import Consensus, agreement_of, find_consensus, quick_labels
from gasg21._algorithms.ensemble import match_dimensions, some_of
from gasg21._algorithms.principal import principal_axes, rotated, unit_rows
from gasg21._algorithms.screening import Screening, has_neighbours
from gasg21._algorithms.whitening import Whitening
from gasg21._data.parameters import one_blas_thread
from gasg21._data.samples import Array, Samples
from gasg21._support.progress import Progress
from gasg21.exceptions import InvalidInputError

RowsOf = Callable[[Samples, Array], Array]  # some samples as float64, NaN where they are missing

_EXAMINED = 3000  # samples that the run is checked on, and that a consensus is sought among
_AGREE = 0.97  # agreement with another representation above which one run suffices
_MOSTLY = 0.9  # share of the samples that take part that the run must explain to be compared on these alone
_CONFUSED = 0.05  # share of members near to a second subspace up to which clusters are told apart at sight
_SCREENED_AGAIN = 3
_FEWEST = 4  # samples per cluster and dimension for a consensus


@dataclass(frozen=True)
class DefaultUnion:
    """A fit, and how it came about."""

    found: dict[str, Any]  # as from `UnionPlan.run`
    whitening: Whitening | None  # the coordinates of its subspaces; None: those of the data
    consensus: Consensus | None  # None: one run stands
    agreement: float | None  # of the run with shape interaction, or of the representations; None: not asked
    left_out: Array | None = None  # samples that took no part in the consensus


def recover_default(
    plan: UnionPlan, samples: Samples, rows_of: RowsOf, screen: bool | str, progress: Progress | None
) -> DefaultUnion:
    """Run once. If another representation contradicts the result, seek a consensus."""
    one = plan.run(samples, progress)
    stands = DefaultUnion(one, None, None, None)
    if one["status"] == "interrupted" or len(plan.dimensions) == 1:
        return stands
    screened = screen is True or (screen == "auto" and Screening.applies(plan.dimensions, samples.n_features))
    if not screened and _is_clear(one["subspaces"], samples, plan):
        return stands
    if progress is not None:
        progress.stage("compare representations")
    with one_blas_thread():
        return _examine(plan, one, samples, rows_of, screen, screened)


def _examine(
    plan: UnionPlan, one: dict[str, Any], samples: Samples, rows_of: RowsOf, screen: bool | str, screened: bool
) -> DefaultUnion:
    """Compare the run with another representation, on some of the samples; seek a consensus if they disagree."""
    stands = DefaultUnion(one, None, None, None)
    rows = some_of(np.arange(samples.n_samples), _EXAMINED, plan.seed)
    X = rows_of(samples, rows)
    some = Samples(X, None, X.dtype)
    subspaces = [np.ascontiguousarray(U, X.dtype) for U in one["subspaces"]]
    screening = Screening.of(X, plan.dimensions, plan.seed, plan.n_threads) if screened else None
    kept, complete = _kept(X, some, subspaces, screening, plan)
    if len(kept) < _FEWEST * sum(plan.dimensions):
        return stands
    turned = rotated(complete)[0]
    agreement = 0.0
    for labels in quick_labels(turned, plan):
        agreement = max(agreement, _agreement(subspaces, some.subset(kept), labels, plan))
        if agreement >= _AGREE:
            return dataclasses.replace(stands, agreement=agreement)
    for _ in range(_SCREENED_AGAIN if screen else 0):  # without some outliers others stand out
        neighbours = has_neighbours(turned, plan.dimensions)
        if neighbours.all():
            break
        kept, complete, turned = kept[neighbours], complete[neighbours], turned[neighbours]
    left_out = np.zeros(samples.n_samples, bool)
    left_out[np.delete(rows, kept)] = True
    union = _by_consensus(plan, one, complete, turned, screening) or dataclasses.replace(stands, agreement=agreement)
    return dataclasses.replace(union, left_out=left_out)


def spectral_start(plan: UnionPlan, samples: Samples, rows_of: RowsOf, screen: bool | str) -> list[Array]:
    """Return the subspaces of the clusters that shape interaction finds among at most a few thousand samples."""
    rows = some_of(np.arange(samples.n_samples), _EXAMINED, plan.seed)
    X = rows_of(samples, rows)
    screening = Screening.of(X, plan.dimensions, plan.seed, plan.n_threads)
    applies = screen is True or (screen == "auto" and Screening.applies(plan.dimensions, samples.n_features))
    good = screening.keeps(X) if applies else np.ones(len(X), bool)
    complete = screening.complete(X)
    complete = complete[good & np.isfinite(complete).all(axis=1)]
    labels = None
    if len(complete) > sum(plan.dimensions):
        with one_blas_thread():
            labels = next(quick_labels(rotated(complete)[0], plan), None)
    members = [] if labels is None else [unit_rows(complete[labels == k]) for k in range(len(plan.dimensions))]
    order: Array = match_dimensions(members, plan.dimensions) if members else np.zeros(0, np.intp)
    if labels is None or any(len(members[k]) < d for k, d in zip(order, plan.dimensions, strict=False)):
        msg = (
            f"init='spectral' needs samples of a rank above n_components={max(plan.dimensions)} in each of "
            f"n_clusters={len(plan.dimensions)} clusters; use init='density'"
        )
        raise InvalidInputError(msg)
    return [principal_axes(members[k], d).astype(samples.dtype) for k, d in zip(order, plan.dimensions, strict=True)]


def _by_consensus(
    plan: UnionPlan, one: dict[str, Any], complete: Array, turned: Array, screening: Screening | None
) -> DefaultUnion | None:
    """Cluster complete samples by consensus, and fit each cluster in whitened coordinates.

    ``turned`` are the same samples in fewer coordinates.
    """
    runs = dataclasses.replace(plan, init="farthest", n_candidates=0, n_neighbors=2 * max(plan.dimensions) + 2)
    consensus = find_consensus(turned, runs)
    if consensus is None or len(np.unique(consensus.labels)) < len(plan.dimensions):
        return None
    whitening = Whitening.of_complete(complete, plan.dimensions, screening)
    A = unit_rows(whitening.apply(complete))
    members = [A[consensus.labels == k] for k in range(len(plan.dimensions))]
    order = match_dimensions(members, plan.dimensions)
    if any(len(members[k]) <= d for k, d in zip(order, plan.dimensions, strict=True)):
        return None
    # Principal axes, not robust ones: a robust fit of few samples in many coordinates fits some of them exactly.
    bases = [principal_axes(members[k], d) for k, d in zip(order, plan.dimensions, strict=True)]
    begun = dataclasses.replace(plan, init=bases).run(Samples(A, None, A.dtype), goal="start_of_stream")
    found = {**one, **{name: begun[name] for name in ("stream", "stream_rule", "subspaces")}}
    found["counters"] = one["stream"].counters()
    return DefaultUnion(found, whitening, consensus, consensus.agreement)


def _kept(
    X: Array, some: Samples, subspaces: list[Array], screening: Screening | None, plan: UnionPlan
) -> tuple[Array, Array]:
    """Return the places of the samples that take part, and these samples, complete."""
    if screening is not None:
        complete = screening.complete(X)
        good = screening.keeps(X)
    else:
        labels, residuals = assign(subspaces, some, plan.n_threads)
        good = is_near(subspaces, labels, residuals, some)
        complete = _filled(X, labels, subspaces, plan)
    good &= np.isfinite(complete).all(axis=1) & (np.abs(complete).max(axis=1) > 0)
    kept = np.flatnonzero(good)
    return kept, np.ascontiguousarray(complete[kept])


def _filled(X: Array, labels: Array, subspaces: list[Array], plan: UnionPlan) -> Array:
    """Return the samples with their missing entries filled in from their subspaces."""
    out: Array = X.copy()
    if np.isnan(X).any():
        for k, subspace in enumerate(subspaces):
            part = np.ascontiguousarray(X[labels == k])
            if len(part):
                _core.fill_missing(subspace, part, None, part, n_threads=plan.n_threads)
                out[labels == k] = part
    return out


def _agreement(subspaces: list[Array], samples: Samples, labels: Array, plan: UnionPlan) -> float:
    """Return how far the nearest subspaces agree with labels, on the samples near a subspace if these are most."""
    nearest, residuals = assign(subspaces, samples, plan.n_threads)
    near = is_near(subspaces, nearest, residuals, samples)
    nearest = np.where(nearest < 0, len(subspaces), nearest)
    if near.mean() >= _MOSTLY:
        nearest, labels = nearest[near], labels[near]
    return agreement_of(nearest, labels)


def _is_clear(subspaces: list[Array], samples: Samples, plan: UnionPlan) -> bool:
    """Whether nearly all samples that lie near a subspace are as far from all others as a random direction."""
    some = samples.subset(some_of(np.arange(samples.n_samples), _EXAMINED, plan.seed))
    near = near_subspaces(subspaces, some, plan)[1]
    enough = near.sum(axis=0) >= fewest_members(plan.dimensions)
    return bool(enough.all() and (near.sum(axis=1) > 1).sum() <= _CONFUSED * near.sum())
