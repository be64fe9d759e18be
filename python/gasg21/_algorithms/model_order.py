"""How many clusters there are, and of which dimensions: from the data alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gasg21 import _core
from gasg21._algorithms.clusters import UnionPlan, assign, is_near
from gasg21._algorithms.consensus import find_consensus, mean_residual
from gasg21._algorithms.ensemble import some_of
from gasg21._algorithms.principal import PrincipalCoordinates, rotated, unit_rows
from gasg21._algorithms.screening import Screening
from gasg21._data.parameters import one_blas_thread
from gasg21._data.samples import Array, Samples
from gasg21._support.trees import stored

_MOST_CLUSTERS, _MOST_DIMENSIONS = 20, 10  # that are tried
_CANDIDATES = 3  # per cluster that is tried
_EXAMINED = 3000  # samples that the choice is made from
_LEAST_DROP = 0.01  # drops below this share of the largest are alike
_TYPICAL = 3.0  # members with residuals up to this multiple of the median decide about their dimension
_NOTHING = 1e-6  # residuals at this level are rounding
_LEAST_FALL = 1.5  # of singular values, from one to the next
# Where one subspace explains nearly all, the largest number of clusters is taken on which the representations agree
# by at least the first value, and which gains the second one: merged clusters agree, too, and halved ones gain
# little. Else the best agreement decides, if it reaches the third.
_SURE, _GAIN, _LEAST = 0.95, 0.3, 0.8
_ASKED, _ASKED_AT_MOST = 4, 9  # numbers of clusters, from 2 on; more than four while they are sure
_WIDE = 6  # coordinates in which the gain is measured, per dimension of a cluster
_STRUCTURED = 1.1  # times what noise could explain by so many directions: there are clusters inside one subspace

RowsOf = Callable[[Samples, Array], Array]


@stored(n_clusters=int | np.integer, n_components=tuple, drop_ratios=dict, agreement=dict, rule=str, gain=dict | None)
class Selection(NamedTuple):
    """What was chosen, and why."""

    n_clusters: int
    n_components: tuple[int, ...]
    drop_ratios: dict[int, Array]  # for each dimension tried: drop of the cost at k over that at k + 1, k = 1, 2, ...
    agreement: dict[int, float]  # for each number of clusters asked: agreement of the representations
    rule: str  # "drop", "agreement" or "given": what decided n_clusters
    gain: dict[int, float] | None = None  # by how much the last cluster lowers the residuals of its members


def drop_ratios(samples: Samples, d: int, seed: int, n_threads: int) -> Array:
    """Return by how much each of the best 1, 2, ... candidates of dimension d lowers the cost, relative to the next.

    The cost is the sum of distances to the nearest candidate, selected greedily. It falls much with every cluster
    that is found, and little afterwards: the ratio of one drop to the next is largest at the number of clusters.
    """
    batch = samples.whole()
    maker = _core.Seeder32 if samples.dtype == np.float32 else _core.Seeder64
    seeder = maker(batch.payload, batch.mask, samples.n_features, _EXAMINED, seed, n_threads)
    most = min(_MOST_CLUSTERS, max(2, seeder.n_samples // (d + 1)))
    seeder.density([d] * most, _CANDIDATES * most, 0)
    chosen = [seeder.candidates()[q] for q in seeder.select([d] * most, 0)]
    distances = np.stack([seeder.distances([U]) for U in chosen]).astype(np.float64)
    costs = np.r_[distances.shape[1], np.minimum.accumulate(distances, axis=0).sum(axis=1)]
    drops = np.maximum(-np.diff(costs), 0)
    floor = _LEAST_DROP * drops.max(initial=0) + _NOTHING * len(distances[0])
    return np.asarray((drops[:-1] + floor) / (drops[1:] + floor))


def choose_n_clusters(samples: Samples, d: int, plan: UnionPlan, rows_of: RowsOf) -> Selection:
    """Choose the number of clusters of a given dimension."""
    ratios = drop_ratios(samples, d, plan.seed, plan.n_threads)
    best = 1 + int(np.argmax(ratios))
    agreement: dict[int, float] = {}
    gain: dict[int, float] = {}
    rule = "drop"
    if best == 1:  # one subspace holds nearly all samples: are there clusters inside it?
        agreement, gain = _ask(samples, d, plan, rows_of)
        sure = [k for k in agreement if _is_sure(agreement[k], gain[k], k)]
        if sure or max(agreement.values(), default=0) >= _LEAST:
            best, rule = max(sure) if sure else max(agreement, key=lambda k: agreement[k]), "agreement"
    return Selection(best, (d,) * best, {d: ratios}, agreement, rule, gain)


def _is_sure(agreement: float, gain: float, n_clusters: int) -> bool:
    """Whether there are at least so many clusters; what one subspace leaves over has shown that there are two."""
    return agreement >= _SURE and (gain >= _GAIN or n_clusters == 2)


def choose_order(samples: Samples, n_clusters: int | None, plan: UnionPlan, rows_of: RowsOf) -> Selection:
    """Choose the dimension, one for all clusters, and the number of clusters unless it is given."""
    most = min(_MOST_DIMENSIONS, samples.n_features - 1)
    ratios = {d: drop_ratios(samples, d, plan.seed, plan.n_threads) for d in range(1, most + 1)}
    if n_clusters is None:
        d = _smallest_of_the_best({d: float(each.max()) for d, each in ratios.items()})
        chosen = choose_n_clusters(samples, d, plan, rows_of)
        return chosen._replace(drop_ratios=ratios)
    d = _smallest_of_the_best({d: float(each[min(n_clusters, len(each)) - 1]) for d, each in ratios.items()})
    return Selection(n_clusters, (d,) * n_clusters, ratios, {}, "given", {})


def _smallest_of_the_best(ratios: dict[int, float]) -> int:
    """Return the smallest dimension whose ratio is about the largest: larger subspaces hold the clusters, too."""
    return min(d for d, ratio in ratios.items() if ratio >= 0.5 * max(ratios.values()))


def dimensions_of(subspaces: list[Array], samples: Samples, plan: UnionPlan) -> tuple[int, ...]:
    """Return the dimension of each cluster: where the singular values of its typical members fall most."""
    labels, residuals = assign(subspaces, samples, plan.n_threads)
    good = is_near(subspaces, labels, residuals, samples)
    found = []
    for k, U in enumerate(subspaces):
        own = np.flatnonzero(good & (labels == k))
        if len(own):
            own = own[residuals[own] <= _TYPICAL * np.median(residuals[own]) + _NOTHING]
        X = np.ascontiguousarray(samples.dense(some_of(own, _EXAMINED, plan.seed)))
        if len(X) <= len(U) + 1:
            found.append(len(U))
            continue
        _core.fill_missing(U, X.copy(), None, X, n_threads=plan.n_threads)
        s = np.linalg.svd(unit_rows(X), compute_uv=False) + _NOTHING * np.sqrt(len(X))
        falls = s[: min(_MOST_DIMENSIONS, len(s) - 1)] / s[1 : _MOST_DIMENSIONS + 1]
        found.append(1 + int(np.argmax(falls)) if falls.max() >= _LEAST_FALL else len(U))
    return tuple(found)


def _ask(samples: Samples, d: int, plan: UnionPlan, rows_of: RowsOf) -> tuple[dict[int, float], dict[int, float]]:
    """Return how far different representations agree, and what is gained, for several numbers of clusters."""
    X = rows_of(samples, some_of(np.arange(samples.n_samples), _EXAMINED, plan.seed))
    agreement: dict[int, float] = {}
    gain: dict[int, float] = {}
    one = Screening.of(X, (d,), plan.seed, plan.n_threads)
    inside = _inside(X, one)
    if not _is_structured(inside, one.overall.components):
        return agreement, gain
    before = _left_over(inside, np.zeros(len(inside), np.intp), (d,))
    for K in range(2, 2 + _ASKED_AT_MOST):
        dimensions = (d,) * K
        complete = _inside(X, Screening.of(X, dimensions, plan.seed, plan.n_threads))
        if not Screening.applies(dimensions, samples.n_features) or len(complete) < 4 * sum(dimensions):
            break
        trial = dataclasses.replace(plan, dimensions=dimensions, init="farthest", n_candidates=0, n_neighbors=2 * d + 2)
        with one_blas_thread():
            consensus = find_consensus(rotated(complete)[0], trial)
        if consensus is None:
            break
        now = _left_over(complete, consensus.labels, dimensions)
        agreement[K] = consensus.agreement
        gain[K] = (1 - now / max(before, np.finfo(np.float64).tiny)) * K / 2  # two of K clusters were one before
        before = now
        if K > _ASKED and not any(_is_sure(agreement[k], gain[k], k) for k in (K - 1, K)):
            break
    return agreement, gain


def _left_over(X: Array, labels: Array, dimensions: tuple[int, ...]) -> float:
    """Return the mean residual of the clusters in whitened coordinates, the same for all numbers of clusters."""
    wide = _WIDE * dimensions[0]
    principal = PrincipalCoordinates.of(unit_rows(X), dimensions, at_least=wide)
    return mean_residual(principal.whitened(wide), labels, dimensions)


def _inside(X: Array, screening: Screening) -> Array:
    """Return the samples in the span of all clusters, complete."""
    complete = screening.complete(X[screening.keeps(X)])
    return np.asarray(complete[np.isfinite(complete).all(axis=1)])


def _is_structured(X: Array, subspace: Array) -> bool:
    """Whether what complete samples leave over in one subspace points in few directions, as that of clusters does.

    Noise points everywhere: of m random directions in n dimensions no principal one explains more than a share of
    about (1 + sqrt(n / m))^2 / n (Marchenko and Pastur 1967).
    """
    d, n = len(subspace), X.shape[1] - len(subspace)
    A = unit_rows(X)
    left = A - (A @ subspace.T) @ subspace
    left = unit_rows(left[np.linalg.norm(left, axis=1) > _NOTHING])
    if len(left) <= 2 * d:
        return False
    s = np.linalg.svd(rotated(left)[0], compute_uv=False)
    return bool(np.sum(s[:d] ** 2) > _STRUCTURED * len(left) * d * (1 + np.sqrt(n / len(left))) ** 2 / n)


def as_record(selection: Selection) -> dict[str, Any]:
    """Return what was chosen as a dictionary, for a user."""
    record = selection._asdict()
    record["drop_ratios"] = {d: ratios.tolist() for d, ratios in selection.drop_ratios.items()}
    return record
