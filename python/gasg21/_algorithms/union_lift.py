"""Affine unions: samples are lifted, so that flats of dimension d become linear subspaces of dimension d + 1."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from gasg21._data.samples import Array, Samples
from gasg21._support.trees import stored

_EXAMINED = 20_000  # samples that the centre is taken from


@stored(centre=np.ndarray, constant=float)
@dataclass(frozen=True)
class UnionLift:
    """A sample x becomes (x - centre, constant)."""

    centre: Array  # (n,), medians of the features
    constant: float  # typical length of x - centre

    @classmethod
    def of(cls, samples: Samples) -> UnionLift:
        """Choose the lift of a data set, as `GASG21` does."""
        step = max(1, samples.n_samples // _EXAMINED)
        X = samples.dense(slice(None, None, step)).astype(np.float64)
        X[np.isinf(X).any(axis=1)] = np.nan
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a feature that is never observed
            centre = np.nan_to_num(np.nanmedian(X, axis=0))
        away = X - centre
        scale = float(np.nanmax(np.abs(away), initial=0.0)) or 1.0
        count = np.maximum((~np.isnan(X)).sum(axis=1), 1)
        lengths = np.sqrt(np.nansum((away / scale) ** 2, axis=1) * X.shape[1] / count)
        constant = float(np.median(lengths)) * scale
        return cls(centre, constant if constant > 0 else 1.0)

    def apply(self, samples: Samples) -> Samples:
        """Return the lifted samples, dense, in the dtype of the core."""
        X = samples.dense() - self.centre
        ones = np.full((len(X), 1), self.constant)
        ones[np.isnan(X).all(axis=1)] = np.nan  # a sample without an entry tells nothing
        return Samples(np.ascontiguousarray(np.hstack([X, ones]), samples.dtype), None, samples.dtype)

    def lower(self, X: Array) -> Array:
        """Return lifted samples as samples."""
        return np.asarray(X[:, :-1] + self.centre)

    def flat(self, basis: Array) -> tuple[Array, Array]:
        """Return directions (d, n), orthonormal, and a point (n,) of the flat behind a lifted basis (d + 1, n + 1)."""
        heights = basis[:, -1]
        axes = np.linalg.svd(heights[None, :])[2]  # the first one rises, the others are level
        directions = np.linalg.qr((axes[1:] @ basis[:, :-1]).T)[0].T
        height = np.linalg.norm(heights)
        rising = axes[0] @ basis
        point = rising[:-1] * (self.constant / rising[-1]) if height > 0 else np.zeros(len(self.centre))
        return np.ascontiguousarray(directions), np.asarray(point + self.centre)

    def basis(self, directions: Array, point: Array) -> Array:
        """Return the lifted basis (d + 1, n + 1) of a flat."""
        level = np.hstack([directions, np.zeros((len(directions), 1))])
        rising = np.r_[point - self.centre, self.constant]
        return np.ascontiguousarray(np.linalg.qr(np.vstack([level, rising]).T)[0].T)
