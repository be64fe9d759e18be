"""A consensus over different representations of the samples, joined without labels.

Streams in square-root whitened coordinates separate motions and digits; shape interaction separates faces; raw and
unit-length rows err in different places. Each representation clusters by itself. Those that agree with each other and
leave small residuals are then joined by their co-associations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gasg21 import _core
from gasg21._algorithms.clusters import UnionPlan
from gasg21._algorithms.ensemble import co_association, match_dimensions, run_all
from gasg21._algorithms.principal import PrincipalCoordinates, principal_axes, shape_interaction, unit_rows
from gasg21._algorithms.spectral import Factored, spectral_labels
from gasg21._data.samples import Array, Samples


@dataclass(frozen=True)
class Constants:
    """What decides in the consensus. docs/unions.md shows that no result hangs on one of them."""

    n_runs: int = 12  # of each stream; the better half is joined
    n_narrow: float = 2 / 3  # share of sum d_k coordinates for shape interaction with equal weights
    exponents: tuple[float, ...] = (4.0, 6.0, 8.0)  # of the cosines
    cost: float = 0.003  # a mean residual this much above the least counts 1/e
    agreement: float = 2.0  # power of the agreement of two representations
    power: float = 4.0  # of the votes
    negligible: float = 0.01  # votes below this share of the largest do not count


CONSTANTS = Constants()


class Representation(NamedTuple):
    """What one representation says."""

    name: str
    affinity: Factored  # rows of mean sum 1
    labels: Array
    stability: float  # mean agreement of its members


class Consensus(NamedTuple):
    """The labels that the representations agree on."""

    labels: Array
    agreement: float  # of the representations, by their weights; 1 = all say the same
    representations: list[Representation]
    weights: Array
    affinity: Factored  # what the labels are cut from


def find_consensus(X: Array, plan: UnionPlan) -> Consensus | None:
    """Cluster complete samples; None if their rank is too low for different representations."""
    coordinates = {"raw": X, "unit": unit_rows(X)}
    found: list[Representation] = []
    judges: list[Array] = []
    for rows, Y in coordinates.items():
        principal = PrincipalCoordinates.of(Y, plan.dimensions)
        if principal.rank <= max(plan.dimensions) + 1:
            return None
        wide = [principal.whitened(count) for count in _stream_sizes(principal, plan)]
        judges += wide
        found += [_stream(f"{rows} stream {A.shape[1]}", A, plan, CONSTANTS.n_runs) for A in wide]
        found += [_interaction(f"{rows} {name}", points, plan) for name, points in _spans(principal)]
    weights, agreement = _votes(found, judges, plan)
    factors = [np.sqrt(w) * each.affinity.factor for w, each in zip(weights, found, strict=True) if w > 0]
    affinity = Factored(np.hstack(factors))
    labels = spectral_labels(affinity, len(plan.dimensions), plan.seed, n_init=15, exact=False)
    return Consensus(labels, agreement, found, weights, affinity)


def quick_labels(X: Array, plan: UnionPlan) -> Iterator[Array]:
    """Yield the labels of shape interaction of unit rows: of the span of all clusters, then of a narrower one.

    Nothing is yielded if the rank is too low.
    """
    principal = PrincipalCoordinates.of(unit_rows(X), plan.dimensions)
    if principal.rank > max(plan.dimensions) + 1:
        for points in (principal.whitened(principal.n_span, 0.0), _spans(principal)[0][1]):
            yield _cut_cosines(points, CONSTANTS.exponents[0], plan)


def agreement_of(a: Array, b: Array) -> float:
    """Return the adjusted Rand index of two labellings: 1 if they are the same, near 0 by chance.

    Hubert and Arabie, Comparing partitions, Journal of Classification 2 (1985).
    """
    counts = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(counts, (a, b), 1)
    pairs, rows, columns = (float(np.sum(c * (c - 1))) / 2 for c in (counts, counts.sum(1), counts.sum(0)))
    expected = rows * columns / max(len(a) * (len(a) - 1) / 2, 1)
    most = (rows + columns) / 2
    return 1.0 if most == expected else (pairs - expected) / (most - expected)


def _stream_sizes(principal: PrincipalCoordinates, plan: UnionPlan) -> list[int]:
    smallest = max(plan.dimensions) + 1
    return sorted({max(principal.n_wide, smallest), max(principal.n_wide // 2, smallest)}, reverse=True)


def _spans(principal: PrincipalCoordinates) -> list[tuple[str, Array]]:
    narrow = max(2, round(CONSTANTS.n_narrow * principal.n_span))
    return [
        ("narrow span", principal.whitened(narrow, 0.0)),
        ("weighted span", principal.whitened(principal.n_span, 0.25)),
    ]


def _stream(name: str, A: Array, plan: UnionPlan, n_runs: int) -> Representation:
    """Run the stream several times and join the better half."""
    samples = Samples(A, None, A.dtype)
    runs = run_all(plan, samples, n_runs)
    residuals = [_core.residuals(run["subspaces"], A, None, plan.n_threads) for run in runs]
    affinity, best = co_association(residuals)
    labels = [residuals[b].argmin(axis=1) for b in best]
    return _represent(name, affinity, _cut(affinity, plan), _pairwise(labels, agreement_of))


def _interaction(name: str, points: Array, plan: UnionPlan) -> Representation:
    """Cut the shape interaction with several exponents, and join the cuts.

    If the cuts with the least and the largest exponent are the same, so are those between.
    """
    least, *between, largest = CONSTANTS.exponents
    cuts = [_cut_cosines(points, p, plan) for p in (least, largest)]
    if agreement_of(*cuts) < 1:
        cuts += [_cut_cosines(points, p, plan) for p in between]
    together = Factored(np.hstack([np.eye(cut.max() + 1)[cut] for cut in cuts]))
    medoid = max(cuts, key=lambda cut: sum(agreement_of(cut, other) for other in cuts))
    return _represent(name, together, medoid, _pairwise(cuts, agreement_of))


def _represent(name: str, affinity: Factored, labels: Array, stability: float) -> Representation:
    return Representation(name, Factored(affinity.factor / np.sqrt(affinity.degrees().mean())), labels, stability)


def _cut_cosines(points: Array, exponent: float, plan: UnionPlan) -> Array:
    """Cut the shape interaction. Single precision is enough, and takes half of the time."""
    return _cut(shape_interaction(points.astype(np.float32), exponent), plan)


def _cut(affinity: Array | Factored, plan: UnionPlan) -> Array:
    return spectral_labels(affinity, len(plan.dimensions), plan.seed, n_init=5, exact=False)


def _pairwise(values: list[Array], compare: Callable[[Array, Array], float]) -> float:
    pairs = [compare(a, b) for i, a in enumerate(values) for b in values[:i]]
    return float(np.mean(pairs)) if pairs else 1.0


def _votes(found: list[Representation], judges: list[Array], plan: UnionPlan) -> tuple[Array, float]:
    """Return the weights of the representations, and how far they agree.

    The votes are the leading eigenvector of the agreement of each pair. The pairs whose subspaces leave larger
    residuals than others count less: of two camps the one with the smaller residuals wins.
    """
    M = np.array([[max(agreement_of(a.labels, b.labels), 1e-3) for b in found] for a in found])
    np.fill_diagonal(M, [max(each.stability, 1e-3) for each in found])
    costs = np.array([[mean_residual(A, each.labels, plan.dimensions) for A in judges] for each in found])
    excess = (costs - costs.min(axis=0)).mean(axis=1)
    trust = np.exp(-(excess - excess.min()) / (2 * CONSTANTS.cost))
    votes = np.abs(np.linalg.eigh(M**CONSTANTS.agreement * np.outer(trust, trust))[1][:, -1])
    weights = (votes / votes.max()) ** CONSTANTS.power
    weights[weights < CONSTANTS.negligible] = 0
    return weights, min(float(weights @ M @ weights / weights.sum() ** 2), 1.0)  # rounding may exceed 1


def mean_residual(A: Array, labels: Array, dimensions: tuple[int, ...]) -> float:
    """Return the mean residual of unit rows in the principal subspaces of their clusters."""
    members = [A[labels == k] for k in range(len(dimensions))]
    order = match_dimensions(members, dimensions)
    total = 0.0
    for k, d in enumerate(dimensions):
        some = members[order[k]]
        if len(some) > d:
            total += float(np.sum(np.sqrt(np.maximum(0, 1 - np.sum((some @ principal_axes(some, d).T) ** 2, axis=1)))))
    return total / len(A)
