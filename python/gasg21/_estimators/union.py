"""What every fitted union of subspaces can do: labels, residuals, completion, and decisions about outliers."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gasg21 import _core
from gasg21._algorithms.clusters import assign, is_near
from gasg21._algorithms.whitening import Whitening
from gasg21._data.parameters import n_threads
from gasg21._data.samples import Array, Samples, TakesSamples, check_samples


class UnionReport(NamedTuple):
    """How the last `fit` went."""

    history: list[dict[str, Any]]
    status: str
    estimated_angles: Array
    timings: dict[str, float]


class UnionStreamReport(NamedTuple):
    """How a stream fares, and each of its subspaces."""

    status: str
    statuses: list[str]
    cluster_changes: list[list[int]]

    @property
    def changes(self) -> list[int]:
        """The changes of all subspaces."""
        return sorted(itertools.chain.from_iterable(self.cluster_changes))


class PublishedUnion(NamedTuple):
    """What a union of subspaces publishes, all of the same moment."""

    subspaces: list[Array]  # (d_i, n) in the data's coordinates
    bases: list[Array]  # in the coordinates in which the clusters are found
    whitening: Whitening | None  # which leads from the ones to the others; None: they are the same
    counters: dict[str, int]  # how many samples the stream has seen and used, and why others were not
    labels: Array | None = None
    residuals: Array | None = None  # after `partial_fit`
    report: UnionReport | None = None  # None: no `fit` yet
    stream: UnionStreamReport | None = None  # None: `fit` came last


class UnionMixin(
    TakesSamples,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    ClusterMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Methods that need only the subspaces, and the coordinates in which they were found."""

    reject_outliers: bool
    n_jobs: int | None
    _published: PublishedUnion | None = None

    def predict(self, X: Any, mask: Any = None) -> Array:
        """Label of the nearest subspace; -1 where too few entries are observed, or for rejected outliers."""
        samples = self._check_new(X, mask)
        published = self._current()
        working = self._working(samples, published.whitening)
        return self._rejected(*self._assign(working), samples, working, published)

    def transform(self, X: Any, mask: Any = None) -> Array:
        """Residual of each unit-norm sample in each subspace, (n_samples, n_clusters), in [0, 1].

        0 for a sample of zeros, NaN where too few entries are observed. With ``whiten=True`` in the whitened
        coordinates.
        """
        samples, published = self._check_new(X, mask), self._current()
        working, threads = self._working(samples, published.whitening), n_threads(self.n_jobs)
        parts = [_core.residuals(published.bases, b.payload, b.mask, threads) for b in working.batches()]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def score_samples(self, X: Any, mask: Any = None) -> Array:
        """Minus the residual of each unit-norm sample in the nearest subspace: 0 is perfect, -1 is orthogonal."""
        samples = self._check_new(X, mask)
        return -self._assign(self._working(samples, self._current().whitening))[1]

    def complete(self, X: Any, mask: Any = None) -> Array:
        """Return X with its missing entries filled in from the nearest subspace; observed entries are kept.

        Missing entries of a row with too few observed ones stay NaN.
        """
        samples, published = self._check_new(X, mask), self._current()
        labels, residuals = self._assign(self._working(samples, published.whitening))
        labels[residuals == 0] = np.maximum(labels[residuals == 0], 0)  # zeros lie in every subspace
        out = np.empty(samples.data.shape, np.result_type(samples.data.dtype, samples.dtype))
        for batch in samples.pieces():
            observed, kept = samples.observed(batch.rows)
            places = np.arange(samples.n_samples)[batch.rows]
            out[batch.rows] = np.where(observed, kept, self._filled(samples, places, labels, published.subspaces))
        return out

    def _filled(self, samples: Samples, places: Array, labels: Array, subspaces: list[Array]) -> Array:
        """Return what the nearest subspaces say about some samples; NaN where that is not determined."""
        filled = np.full((len(places), samples.n_features), np.nan, samples.dtype)
        for k in np.unique(labels[places]):
            if k < 0:
                continue
            members = np.flatnonzero(labels[places] == k)
            some = samples.take(places[members])
            part = np.zeros((len(members), samples.n_features), samples.dtype)
            _core.fill_missing(subspaces[k], some.payload, some.mask, part, n_threads=n_threads(self.n_jobs))
            filled[members] = part
        return filled

    def _current(self) -> PublishedUnion:
        if self._published is None:
            msg = f"this {type(self).__name__} has not been fitted"
            raise AttributeError(msg)
        return self._published

    def _check_new(self, X: Any, mask: Any) -> Samples:
        check_is_fitted(self)
        return check_samples(self, X, mask, reset=False, dtype=self._current().subspaces[0].dtype)

    @staticmethod
    def _working(samples: Samples, whitening: Whitening | None) -> Samples:
        """Return the samples in the coordinates in which the clusters are found."""
        if whitening is None:
            return samples
        return Samples(whitening.apply(finite_rows(samples)), None, np.dtype(np.float64))

    def _assign(self, working: Samples) -> tuple[Array, Array]:
        return assign(self._current().bases, working, n_threads(self.n_jobs))

    def _rejected(
        self, labels: Array, residuals: Array, samples: Samples, working: Samples, published: PublishedUnion
    ) -> Array:
        """Return the labels, -1 for outliers if they are to be rejected."""
        if not self.reject_outliers:
            return labels
        good = is_near(published.bases, labels, residuals, working)
        if published.whitening is not None:
            good &= ~published.whitening.is_outlier(finite_rows(samples))
        return np.where(good, labels, -1)

    @property
    def _n_features_out(self) -> int:
        return len(self._current().subspaces)

    def __sklearn_is_fitted__(self) -> bool:
        return self._published is not None


def finite_rows(samples: Samples) -> Array:
    """Return the samples as a float64 array with NaN for missing entries; rows with infinities are all NaN."""
    X = samples.dense().astype(np.float64)
    X[np.isinf(X).any(axis=1)] = np.nan
    return X
