"""Principal coordinates in which no direction dominates, for clusters of real, ill-conditioned data."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from gasg21._estimators.gasg21 import GASG21
from gasg21._data.samples import Array
from gasg21.exceptions import ConvergenceWarning, InvalidInputError


@dataclass(frozen=True)
class Whitening:
    """The leading principal coordinates, divided by the square root of their singular values."""

    overall: GASG21  # of all clusters together: says who is an outlier, and fills in what is missing
    directions: Array  # (r, n), orthonormal
    spread: Array  # (r,), singular values, falling

    @classmethod
    def of(cls, X: Array, dimensions: tuple[int, ...], seed: int, n_jobs: int | None) -> Whitening:
        """Fit to the samples, rows of an array with NaN for missing entries, outliers left out."""
        total, n = sum(dimensions), X.shape[1]
        overall = GASG21(max(1, min(total, n // 2)), random_state=seed, n_jobs=n_jobs)
        with warnings.catch_warnings():  # only the clusters need to be determined
            warnings.simplefilter("ignore", ConvergenceWarning)
            labels = overall.fit(X).predict(X)
        good = X[labels > 0] if (labels > 0).sum() > total else X
        good = _filled(overall, good)
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
        """Return the coordinates (m, r) of the samples, up to their lengths; NaN where too little is observed."""
        full = _filled(self.overall, X, drop=False)
        return np.ascontiguousarray(full @ self.directions.T / np.sqrt(self.spread))

    def is_outlier(self, X: Array) -> Array:
        """Whether each sample lies outside the span of all clusters."""
        return np.asarray(self.overall.predict(X) < 0)

    def original(self, subspace: Array) -> Array:
        """Return a subspace (d, r) of the coordinates as one of the data's own space, (d, n)."""
        return np.ascontiguousarray(np.linalg.qr(((subspace * np.sqrt(self.spread)) @ self.directions).T)[0].T)


def _filled(overall: GASG21, X: Array, *, drop: bool = True) -> Array:
    """Return the samples in units of their largest entries, completed; those that cannot be are dropped or NaN."""
    largest = np.nanmax(np.abs(X), axis=1, keepdims=True, initial=0.0)
    full = overall.complete(X / np.where(largest > 0, largest, 1))
    full = full * (largest if drop else 1)
    return full[~np.isnan(full).any(axis=1)] if drop else full
