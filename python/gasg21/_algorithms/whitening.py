"""Principal coordinates in which no direction dominates, for clusters of real, ill-conditioned data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gasg21._algorithms.screening import Screening
from gasg21._data.samples import Array
from gasg21._support.trees import stored
from gasg21.exceptions import InvalidInputError


@stored(screening=Screening | None, directions=np.ndarray, spread=np.ndarray)
@dataclass(frozen=True)
class Whitening:
    """The leading principal coordinates, divided by the square root of their singular values."""

    screening: Screening | None  # what tells outliers, and fills in missing entries; None: nobody does
    directions: Array  # (r, n), orthonormal
    spread: Array  # (r,), singular values, falling

    @classmethod
    def of(cls, X: Array, dimensions: tuple[int, ...], seed: int, n_threads: int) -> Whitening:
        """Fit to the inliers among the rows of a float64 array with NaN for missing entries."""
        screening = Screening.of(X, dimensions, seed, n_threads)
        kept = screening.keeps(X)
        good = screening.complete(X[kept] if kept.sum() > sum(dimensions) else X)
        return cls.of_complete(good[~np.isnan(good).any(axis=1)], dimensions, screening)

    @classmethod
    def of_complete(cls, good: Array, dimensions: tuple[int, ...], screening: Screening | None) -> Whitening:
        """Fit to complete samples."""
        _, s, V = np.linalg.svd(good / np.abs(good).max(), full_matrices=False)
        rank = int(np.sum(s > len(good) * np.finfo(np.float64).eps * s[0]))
        r = min(2 * sum(dimensions), rank)
        if r <= max(dimensions):
            msg = (
                f"whiten=True needs data of a rank above n_components={max(dimensions)}; without outliers that of X "
                f"is {rank}"
            )
            raise InvalidInputError(msg)
        return cls(screening, np.ascontiguousarray(V[:r]), s[:r])

    def apply(self, X: Array) -> Array:
        """Return the coordinates (m, r) of the samples, up to their lengths; NaN where they are not determined."""
        largest = np.nanmax(np.abs(X), axis=1, keepdims=True, initial=0.0)
        scaled = X / np.where(largest > 0, largest, 1)
        completed = scaled if self.screening is None else self.screening.complete(scaled)
        return np.ascontiguousarray(completed @ self.directions.T / np.sqrt(self.spread))

    def is_outlier(self, X: Array) -> Array:
        """Whether each sample lies outside the span of all clusters."""
        return np.zeros(len(X), bool) if self.screening is None else ~self.screening.keeps(X)

    def original(self, subspace: Array) -> Array:
        """Return a subspace (d, r) of the coordinates as one of the data's own space, (d, n)."""
        return np.ascontiguousarray(np.linalg.qr(((subspace * np.sqrt(self.spread)) @ self.directions).T)[0].T)
