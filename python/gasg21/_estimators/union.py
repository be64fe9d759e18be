"""What every fitted union of subspaces can do: labels, residuals, completion, and who is an outlier."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gasg21 import _core
from gasg21._algorithms.self_check import dense_rows
from gasg21._estimators.subspace import null_residual, observed_entries
from gasg21._data.parameters import n_threads
from gasg21._data.samples import Array, Samples, check_samples
from gasg21._algorithms.whitening import Whitening


class UnionMixin(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    ClusterMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Everything that needs only the subspaces, and the coordinates that they were found in."""

    reject_outliers: bool
    n_jobs: int | None
    subspaces_: list[Array]
    _bases: list[Array]  # in the coordinates that it works in
    _whitening: Whitening | None

    def predict(self, X: Any, mask: Any = None) -> Array:
        """Label of the nearest subspace; -1 where too little is observed to tell, or for rejected outliers."""
        samples = self._check_new(X, mask)
        return self._label(samples, self._working(samples))

    def transform(self, X: Any, mask: Any = None) -> Array:
        """Residual of each unit-norm sample in each subspace, (n_samples, n_clusters), in [0, 1].

        0 for a sample of zeros, NaN where too little is observed. With ``whiten=True`` in the whitened
        coordinates.
        """
        working = self._working(self._check_new(X, mask))
        measure = _core.residuals64 if working.dtype == np.float64 else _core.residuals32
        threads = n_threads(self.n_jobs)
        parts = [measure(self._bases, b.payload, b.mask, threads) for b in working.blocks()]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def score_samples(self, X: Any, mask: Any = None) -> Array:
        """Minus the residual of each unit-norm sample in the nearest subspace: 0 is perfect, -1 is orthogonal."""
        return -self._assign(self._working(self._check_new(X, mask)))[1]

    def complete(self, X: Any, mask: Any = None) -> Array:
        """Return X with its missing entries filled in from the nearest subspace; observed ones are kept.

        A row stays NaN where it was missing if too little of it is observed.
        """
        samples = self._check_new(X, mask)
        labels, residuals = self._assign(self._working(samples))
        labels[residuals == 0] = np.maximum(labels[residuals == 0], 0)  # zeros lie in every subspace
        out = np.empty(samples.data.shape, np.result_type(samples.data.dtype, samples.dtype))
        fill = _core.fill_missing64 if samples.dtype == np.float64 else _core.fill_missing32
        threads = n_threads(self.n_jobs)
        for block in samples.chunks():
            observed, kept = observed_entries(samples, block.rows)
            filled = np.full(kept.shape, np.nan, samples.dtype)
            for k, places in _places_by_label(labels[block.rows], len(self.subspaces_)):
                some = samples.take(np.arange(samples.n_samples)[block.rows][places])
                part = np.zeros((len(places), samples.n_features), samples.dtype)
                fill(self.subspaces_[k], some.payload, some.mask, part, n_threads=threads)
                filled[places] = part
            out[block.rows] = np.where(observed, kept, filled)
        return out

    def _check_new(self, X: Any, mask: Any) -> Samples:
        check_is_fitted(self)
        return check_samples(self, X, mask, reset=False, dtype=self.subspaces_[0].dtype)

    def _working(self, samples: Samples) -> Samples:
        """Return the samples in the coordinates that the clusters are looked for in."""
        if self._whitening is None:
            return samples
        return Samples(self._whitening.apply(dense(samples)), None, np.dtype(np.float64))

    def _assign(self, working: Samples) -> tuple[Array, Array]:
        return assign(self._bases, working, n_threads(self.n_jobs))

    def _label(self, samples: Samples, working: Samples) -> Array:
        return self._rejected(*self._assign(working), samples, working)

    def _rejected(self, labels: Array, residuals: Array, samples: Samples, working: Samples) -> Array:
        """Return the labels, -1 for outliers if they are to be rejected."""
        if not self.reject_outliers:
            return labels
        good = is_near(self._bases, labels, residuals, working)
        if self._whitening is not None:
            good &= ~self._whitening.is_outlier(dense(samples))
        return np.where(good, labels, -1)

    @property
    def _n_features_out(self) -> int:
        return len(self.subspaces_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def assign(subspaces: list[Array], samples: Samples, threads: int) -> tuple[Array, Array]:
    """Labels of the nearest subspaces, -1 where nothing can be told, and residuals."""
    nearest = _core.assign64 if samples.dtype == np.float64 else _core.assign32
    parts = [nearest(subspaces, b.payload, b.mask, threads) for b in samples.blocks()]
    if len(parts) == 1:
        return parts[0]
    return np.concatenate([labels for labels, _ in parts]), np.concatenate([r for _, r in parts])


def is_near(subspaces: list[Array], labels: Array, residuals: Array, working: Samples) -> Array:
    """Whether each sample is nearer to its subspace than a random direction would be to any of them."""
    n_observed = np.concatenate([_count_observed(working, block.rows) for block in working.chunks()])
    dimensions = np.array([len(subspace) for subspace in subspaces])
    bound = null_residual(n_observed, dimensions[labels], len(subspaces))
    return np.asarray((labels >= 0) & (residuals <= bound))


def dense(samples: Samples) -> Array:
    """Return the samples as a float64 array with NaN for what is missing; rows with infinities all NaN."""
    X = dense_rows(samples, np.arange(samples.n_samples)).astype(np.float64)
    X[np.isinf(X).any(axis=1)] = np.nan
    return X


def _count_observed(samples: Samples, rows: Any) -> Array:
    return np.asarray(observed_entries(samples, rows)[0].sum(axis=1))


def _places_by_label(labels: Array, n_clusters: int) -> Iterator[tuple[int, Array]]:
    """Yield each label that occurs, and where."""
    for k in range(n_clusters):
        places = np.flatnonzero(labels == k)
        if len(places):
            yield k, places
