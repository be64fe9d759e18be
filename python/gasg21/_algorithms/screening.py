"""Which samples take part in the search for clusters: not those that lie outside the span of all of them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from gasg21._algorithms.one_subspace import OneSubspace
from gasg21._algorithms.principal import rotated, unit_rows
from gasg21._algorithms.residual_split import split_residuals
from gasg21._data.samples import Array
from gasg21._support.trees import stored

_PASSES = 4  # of the overall fit: outliers are far from any span, and it need not be exact


@stored(overall=OneSubspace)
@dataclass(frozen=True)
class Screening:
    """A subspace that holds all clusters. It tells outliers, and fills in missing entries."""

    overall: OneSubspace

    @classmethod
    def of(cls, X: Array, dimensions: tuple[int, ...], seed: int, n_threads: int) -> Screening:
        """Fit to the rows of a float64 array with NaN for missing entries."""
        Y, basis = rotated(X)
        d = max(1, min(sum(dimensions), Y.shape[1] // 2))
        overall = OneSubspace.fit(Y, d, seed=seed, n_threads=n_threads, init="spherical_pca", max_passes=_PASSES)
        if basis is not None:
            overall = dataclasses.replace(overall, components=np.ascontiguousarray(overall.components @ basis.T))
        return cls(overall)

    @staticmethod
    def applies(dimensions: tuple[int, ...], n_features: int) -> bool:
        """Whether all clusters together span so little that a random direction is far from them."""
        return 2 * sum(dimensions) <= n_features

    def keeps(self, X: Array) -> Array:
        """Whether each sample lies near the span of all clusters."""
        return ~self.overall.is_outlier(X)

    def complete(self, X: Array) -> Array:
        """Return the samples with their missing entries filled in; NaN where they are not determined."""
        if not np.isnan(X).any():
            return X
        largest = np.nanmax(np.abs(X), axis=1, keepdims=True, initial=0.0)
        largest[largest == 0] = 1
        return np.asarray(self.overall.complete(X / largest) * largest)


def has_neighbours(X: Array, dimensions: tuple[int, ...]) -> Array:
    """Whether each of these complete samples is as close to its neighbours as most of them are.

    A member of a cluster lies near the subspace of the 2 d samples that point in the most similar directions. A
    sample that does not, by far, belongs to no cluster, although it may lie in the span of all.
    """
    d = max(dimensions)
    lengths = np.linalg.norm(X, axis=1)
    A = unit_rows(X)
    U = np.linalg.svd(A, full_matrices=False)[0]
    points = unit_rows(U[:, : max(d + 1, sum(dimensions))])
    relative = _residuals_among_neighbours(A, points, d)
    return ~(split_residuals(relative * lengths).is_above(relative * lengths) & (relative > _SMALL))


# Samples whose relative residual is below this lie on a subspace, whatever the residuals of others are.
_SMALL = 0.1
_TOGETHER = 2**20  # entries of the small matrices that are decomposed at the same time


def _residuals_among_neighbours(A: Array, points: Array, d: int) -> Array:
    """Return the residuals of unit rows A in the d-dimensional subspaces of their 2 d nearest neighbours."""
    closeness = np.abs(points @ points.T)
    np.fill_diagonal(closeness, -1)
    count = min(2 * d, len(A) - 1)
    near = np.argpartition(-closeness, count - 1, axis=1)[:, :count]
    gram = A @ A.T
    explained = np.zeros(len(A))
    for rows in np.array_split(np.arange(len(A)), 1 + len(A) * count**2 // _TOGETHER):
        own = near[rows]
        values, vectors = np.linalg.eigh(gram[own[:, :, None], own[:, None, :]])
        values, vectors = values[:, -d:], vectors[:, :, -d:]
        weights = np.einsum("ja,jab->jb", gram[rows[:, None], own], vectors)
        kept = values > 1e-12 * values[:, -1:]
        explained[rows] = np.sum(np.divide(weights**2, values, out=np.zeros_like(values), where=kept), axis=1)
    return np.sqrt(np.maximum(0, 1 - explained))
