"""Principal coordinates in which no direction dominates, for clusters of real, ill-conditioned data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gasg21._algorithms.one_subspace import OneSubspace
from gasg21._data.samples import Array
from gasg21.exceptions import InvalidInputError


@dataclass(frozen=True)
class Whitening:
    """The leading principal coordinates, divided by the square root of their singular values."""

    overall: OneSubspace  # of all clusters together: tells outliers, and fills in missing entries
    directions: Array  # (r, n), orthonormal
    spread: Array  # (r,), singular values, falling

    @classmethod
    def of(cls, X: Array, dimensions: tuple[int, ...], seed: int, n_threads: int) -> Whitening:
        """Fit to the inliers among the rows of a float64 array with NaN for missing entries."""
        total, n = sum(dimensions), X.shape[1]
        overall = OneSubspace.fit(X, max(1, min(total, n // 2)), seed=seed, n_threads=n_threads)
        inlier = ~overall.is_outlier(X)
        good = _completed(overall, X[inlier] if inlier.sum() > total else X)
        _, s, V = np.linalg.svd(good / np.abs(good).max(), full_matrices=False)
        rank = int(np.sum(s > len(X) * np.finfo(np.float64).eps * s[0]))
        r = min(2 * total, rank)
        if r <= max(dimensions):
            msg = (
                f"whiten=True needs data of a rank above n_components={max(dimensions)}; without outliers that of X "
                f"is {rank}"
            )
            raise InvalidInputError(msg)
        return cls(overall, np.ascontiguousarray(V[:r]), s[:r])

    def apply(self, X: Array) -> Array:
        """Return the coordinates (m, r) of the samples, up to their lengths; NaN where they are not determined."""
        completed, _ = _unit_completed(self.overall, X)
        return np.ascontiguousarray(completed @ self.directions.T / np.sqrt(self.spread))

    def is_outlier(self, X: Array) -> Array:
        """Whether each sample lies outside the span of all clusters."""
        return self.overall.is_outlier(X)

    def original(self, subspace: Array) -> Array:
        """Return a subspace (d, r) of the coordinates as one of the data's own space, (d, n)."""
        return np.ascontiguousarray(np.linalg.qr(((subspace * np.sqrt(self.spread)) @ self.directions).T)[0].T)


def _unit_completed(overall: OneSubspace, X: Array) -> tuple[Array, Array]:
    """Return the samples in units of their largest entries, completed, and these entries (m, 1)."""
    largest = np.nanmax(np.abs(X), axis=1, keepdims=True, initial=0.0)
    return overall.complete(X / np.where(largest > 0, largest, 1)), largest


def _completed(overall: OneSubspace, X: Array) -> Array:
    """Return the samples that can be completed, completed."""
    completed, largest = _unit_completed(overall, X)
    completed = completed * largest
    return completed[~np.isnan(completed).any(axis=1)]
