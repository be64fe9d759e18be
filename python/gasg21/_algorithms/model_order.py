"""How many clusters there are, and of which dimensions: from the data alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gasg21 import _core
from gasg21._algorithms.clusters import UnionPlan, assign, is_near
from gasg21._algorithms.consensus import agreement_of, cheap_representations
from gasg21._algorithms.ensemble import some_of
from gasg21._algorithms.principal import rotated, unit_rows
from gasg21._algorithms.screening import Screening
from gasg21._data.samples import Array, Samples
from gasg21._support.trees import stored

_MOST_CLUSTERS, _MOST_DIMENSIONS = 20, 10  # that are tried
_CANDIDATES = 3  # per cluster that is tried
_EXAMINED = 3000  # samples that the choice is made from
# A drop of the cost is that of a true cluster if it is this many times the next one.
_CLEAR_DROP = 3.0
# Numbers of clusters whose agreement is asked where one subspace explains nearly all. The largest number with at
# least the first agreement is taken, for merged clusters agree, too; else the best one, if it reaches the second.
_TYPICAL = 3.0  # members with residuals up to this multiple of the median decide about their dimension
_NOTHING = 1e-6  # residuals at this level are rounding
_LEAST_FALL = 1.5  # of singular values, from one to the next
_ASKED, _SURE, _LEAST = 4, 0.96, 0.8
# One subspace with noise has singular values beyond its dimension that hardly fall. Those of clusters inside it fall.
_STRUCTURED = 2.0

RowsOf = Callable[[Samples, Array], Array]


@stored(n_clusters=int | np.integer, n_components=tuple, drop_ratios=dict, agreement=dict, rule=str)
class Selection(NamedTuple):
    """What was chosen, and why."""

    n_clusters: int
    n_components: tuple[int, ...]
    drop_ratios: dict[int, Array]  # for each dimension tried: drop of the cost at k over that at k + 1, k = 1, 2, ...
    agreement: dict[int, float]  # for each number of clusters asked: agreement of three representations
    rule: str  # "drop", "agreement" or "given": what decided n_clusters


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
    floor = _NOTHING * len(distances[0])
    return np.asarray((drops[:-1] + floor) / (drops[1:] + floor))


def choose_n_clusters(samples: Samples, d: int, plan: UnionPlan, rows_of: RowsOf) -> Selection:
    """Choose the number of clusters of a given dimension."""
    ratios = drop_ratios(samples, d, plan.seed, plan.n_threads)
    best = 1 + int(np.argmax(ratios))
    agreement: dict[int, float] = {}
    rule = "drop"
    if best == 1:  # one subspace holds nearly all samples: are there clusters inside it?
        agreement = _agreements(samples, d, plan, rows_of)
        sure = [k for k, value in agreement.items() if value >= _SURE]
        if sure or max(agreement.values(), default=0) >= _LEAST:
            best, rule = max(sure) if sure else max(agreement, key=lambda k: agreement[k]), "agreement"
    return Selection(best, (d,) * best, {d: ratios}, agreement, rule)


def choose_order(samples: Samples, n_clusters: int | None, plan: UnionPlan, rows_of: RowsOf) -> Selection:
    """Choose the dimension, one for all clusters, and the number of clusters unless it is given."""
    most = min(_MOST_DIMENSIONS, samples.n_features - 1)
    ratios = {d: drop_ratios(samples, d, plan.seed, plan.n_threads) for d in range(1, most + 1)}
    if n_clusters is None:
        d = _smallest_of_the_best({d: float(each.max()) for d, each in ratios.items()})
        chosen = choose_n_clusters(samples, d, plan, rows_of)
        return chosen._replace(drop_ratios=ratios)
    d = _smallest_of_the_best({d: float(each[min(n_clusters, len(each)) - 1]) for d, each in ratios.items()})
    return Selection(n_clusters, (d,) * n_clusters, ratios, {}, "given")


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


def _agreements(samples: Samples, d: int, plan: UnionPlan, rows_of: RowsOf) -> dict[int, float]:
    """Return how far different representations agree, for several numbers of clusters."""
    rows = some_of(np.arange(samples.n_samples), _EXAMINED, plan.seed)
    X = rows_of(samples, rows)
    found: dict[int, float] = {}
    for K in range(2, 2 + _ASKED):
        dimensions = (d,) * K
        if not Screening.applies(dimensions, samples.n_features):
            break
        screening = Screening.of(X, dimensions, plan.seed, plan.n_threads)
        complete = screening.complete(X[screening.keeps(X)])
        complete = complete[np.isfinite(complete).all(axis=1)]
        if len(complete) < 4 * sum(dimensions):
            break
        turned = rotated(complete)[0]
        if K == 2 and not _is_structured(turned, d):
            break
        trial = dataclasses.replace(plan, dimensions=dimensions, init="farthest", n_candidates=0, n_neighbors=2 * d + 2)
        said = cheap_representations(turned, trial)
        if said is None:
            break
        labels, stability = said
        pairs = [agreement_of(a, b) for i, a in enumerate(labels) for b in labels[:i]]
        found[K] = float(np.mean([*pairs, stability]))
    return found


def _is_structured(X: Array, d: int) -> bool:
    """Whether samples near one subspace of dimension d have more in them than that subspace and noise."""
    s = np.linalg.svd(unit_rows(X), compute_uv=False)
    return bool(len(s) > 2 * d and s[d] > _STRUCTURED * s[2 * d])


def as_record(selection: Selection) -> dict[str, Any]:
    """Return what was chosen as a dictionary, for a user."""
    record = selection._asdict()
    record["drop_ratios"] = {d: ratios.tolist() for d, ratios in selection.drop_ratios.items()}
    return record
