"""The methods of every fitted union of subspaces: labels, residuals, completion, and decisions about outliers."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gasg21 import _core
from gasg21._data.frames import tabled
from gasg21._data.parameters import n_threads
from gasg21._data.samples import Array, Samples, TakesSamples, check_samples
from gasg21._estimators.in_blocks import by_parts
from gasg21._estimators.parameter_tables import UnionTable
from gasg21._estimators.published import PublishedAttributes
from gasg21._estimators.saving import Savable
from gasg21._support.guarded import reads
from gasg21._support.trees import stored

T = TypeVar("T")


@stored(
    history=list,
    status=str,
    estimated_angles=np.ndarray,
    timings=dict,
    agreement=float | None,
    selection=dict | None,
)
class UnionReport(NamedTuple):
    """How the last `fit` went."""

    history: list[dict[str, Any]]
    status: str
    estimated_angles: Array
    timings: dict[str, float]
    agreement: float | None = None  # of different representations; None: not asked
    selection: dict[str, Any] | None = None  # how n_clusters and n_components were chosen


@stored(status=str, statuses=list, cluster_changes=list)
class UnionStreamReport(NamedTuple):
    """How a stream fares, and each of its subspaces."""

    status: str
    statuses: list[str]
    cluster_changes: list[list[int]]

    @property
    def changes(self) -> list[int]:
        """The changes of all subspaces."""
        return sorted(itertools.chain.from_iterable(self.cluster_changes))


@stored(
    union=_core.Union64 | _core.Union32,
    counters=dict,
    labels=np.ndarray | None,
    residuals=np.ndarray | None,
    report=UnionReport | None,
    stream=UnionStreamReport | None,
)
class PublishedUnion(NamedTuple):
    """A fitted union of subspaces as it is published: all of the same moment."""

    union: _core.Union64 | _core.Union32
    counters: dict[str, int]  # how many samples the stream has seen and used, and why others were not
    labels: Array | None = None
    residuals: Array | None = None  # after `partial_fit`
    report: UnionReport | None = None  # None: no `fit` yet
    stream: UnionStreamReport | None = None  # None: `fit` came last

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the data."""
        return np.dtype(np.float32 if isinstance(self.union, _core.Union32) else np.float64)


class FittedUnion(
    UnionTable,
    Savable,
    PublishedAttributes,
    TakesSamples,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    ClusterMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Methods that need only the subspaces, and the coordinates in which they were found."""

    n_features_in_: int
    _published: PublishedUnion | None = None
    _stream: _core.KSubspaces | None = None

    @by_parts
    @reads
    def predict(self, X: Any, mask: Any = None) -> Array:
        """Say which subspace is nearest to each sample.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            NaN is missing. The stored entries of a sparse matrix are the observed ones.
        mask : bool array of the shape of X, optional
            True = observed.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            -1 where too few entries are observed, and for outliers with ``reject_outliers=True``.
        """
        return labels_of(self, self._check_new(X, mask))

    @by_parts
    @reads
    def transform(self, X: Any, mask: Any = None) -> Array:
        """Residual of each unit-norm sample in each subspace.

        They are measured in the coordinates in which the clusters were found: lifted with ``center=True``, whitened if
        ``whitened_`` is True.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            NaN is missing. The stored entries of a sparse matrix are the observed ones.
        mask : bool array of the shape of X, optional
            True = observed.

        Returns
        -------
        residuals : ndarray of shape (n_samples, n_clusters)
            In [0, 1]. 0 for a sample of zeros, NaN where too few entries are observed.
        """
        return self._each_batch(self._current().union.residuals, X, mask)

    @by_parts
    @reads
    def score_samples(self, X: Any, mask: Any = None) -> Array:
        """Minus the residual of each unit-norm sample in the nearest subspace: 0 is perfect, -1 is orthogonal.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            NaN is missing. The stored entries of a sparse matrix are the observed ones.
        mask : bool array of the shape of X, optional
            True = observed.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            NaN where too few entries are observed.
        """
        union = self._current().union
        return -self._each_batch(lambda *batch: union.assign(*batch)[1], X, mask)

    @reads
    def score(self, X: Any, y: None = None, mask: Any = None) -> float:
        """Return how well entries are predicted from the others of their samples; larger is better, 1 is perfect.

        Each observed entry is predicted once, from the nearest subspace of its sample. As `GASG21.score`, it is 1 minus
        a robust mean of the relative errors. Samples with too few entries do not count.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            NaN is missing. The stored entries of a sparse matrix are the observed ones.
        y : ignored
        mask : bool array of the shape of X, optional
            True = observed.

        Returns
        -------
        score : float
            At most 1; larger is better.
        """
        batch = self._check_new(X, mask).whole()
        return float(self._current().union.score(batch.payload, batch.mask, n_threads(self.n_jobs)))

    @by_parts
    @reads
    @tabled()
    def complete(self, X: Any, mask: Any = None) -> Array:
        """Return X with its missing entries filled in from the nearest subspace; observed entries are kept.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            NaN is missing. The stored entries of a sparse matrix are the observed ones.
        mask : bool array of the shape of X, optional
            True = observed.

        Returns
        -------
        X_completed : ndarray of shape (n_samples, n_features)
            Dense. Missing entries of a row with too few observed ones stay NaN.
        """
        samples, union = self._check_new(X, mask), self._current().union
        out = np.empty(samples.data.shape, np.result_type(samples.data.dtype, samples.dtype))
        for batch in samples.pieces():
            observed, kept = samples.observed(batch.rows)
            filled = np.full(kept.shape, np.nan, samples.dtype)
            union.complete(batch.payload, batch.mask, filled, n_threads(self.n_jobs))
            out[batch.rows] = np.where(observed, kept, filled)
        return out

    def _current(self) -> PublishedUnion:
        if self._published is None:
            msg = f"this {type(self).__name__} has not been fitted"
            raise AttributeError(msg)
        return self._published

    def _check_new(self, X: Any, mask: Any) -> Samples:
        check_is_fitted(self)
        return check_samples(self, X, mask, reset=False, dtype=self._current().dtype)

    def _each_batch(self, work: Any, X: Any, mask: Any) -> Array:
        """Return what the core says of all samples."""
        samples, threads = self._check_new(X, mask), n_threads(self.n_jobs)
        return joined([work(batch.payload, batch.mask, threads) for batch in samples.batches()])

    # ---- fitted attributes

    @property
    def subspaces_(self) -> list[Array]:
        """Orthonormal bases of the subspaces, (d_i, n_features) each."""
        return list(self._current().union.directions)

    @property
    def means_(self) -> Array:
        """A point of each subspace, (n_clusters, n_features): 0 unless ``center=True``."""
        return np.asarray(self._current().union.points)

    @property
    def n_clusters_(self) -> int:
        """Number of clusters."""
        return int(self._current().union.n_clusters)

    @property
    def n_components_(self) -> list[int]:
        """Dimension of each subspace."""
        return list(self._current().union.dimensions)

    @property
    def whitened_(self) -> bool:
        """Whether the clusters were found in whitened coordinates."""
        return bool(self._current().union.is_whitened)

    @property
    def agreement_(self) -> float | None:
        """How far different representations agree, at most 1; None where they were not asked."""
        agreement = self._fit_report().agreement
        return None if agreement is None else float(agreement)

    @property
    def selection_(self) -> dict[str, Any] | None:
        """How ``n_clusters="auto"`` and ``n_components="auto"`` were chosen; None if both were given."""
        selection: dict[str, Any] | None = self._fit_report().selection
        return selection

    @property
    def labels_(self) -> Array:
        """Cluster of each training sample."""
        return _known(self._current().labels, "labels_")

    @property
    def residuals_(self) -> Array:
        """Distance of each sample of the last `partial_fit` to its subspace."""
        return _known(self._current().residuals, "residuals_")

    @property
    def cluster_status_(self) -> list[str]:
        """How the stream of each subspace fares, after `partial_fit`."""
        return list(_known(self._current().stream, "cluster_status_").statuses)

    @property
    def cluster_changes_(self) -> list[list[int]]:
        """After how many vectors of the stream each subspace was seen to change, after `partial_fit`."""
        return list(_known(self._current().stream, "cluster_changes_").cluster_changes)

    @property
    def estimated_angles_(self) -> Array:
        """Standard error of the largest angle between each subspace and the true one."""
        return np.asarray(self._fit_report().estimated_angles)

    @property
    def timings_(self) -> dict[str, float]:
        """Seconds that the last `fit` spent in "seed", "select" and "refine"."""
        return dict(self._fit_report().timings)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the columns of `transform`: residual_0, residual_1, ..., one per subspace.

        Parameters
        ----------
        input_features : array-like of str, optional
            Ignored, except that it must agree with the names seen in `fit`.

        Returns
        -------
        names : ndarray of shape (n_clusters,)
        """
        names = super().get_feature_names_out(input_features)
        return np.asarray([f"residual_{k}" for k in range(len(names))], object)

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters_

    def __sklearn_is_fitted__(self) -> bool:
        return self._published is not None


def _known(value: T | None, name: str) -> T:
    if value is None:
        msg = f"there is no {name} yet"
        raise AttributeError(msg)
    return value


def labels_of(model: FittedUnion, samples: Samples) -> Array:
    """Return the nearest subspace of each sample; -1 if it is not determined, and for outliers that are rejected."""
    union, threads = model._current().union, n_threads(model.n_jobs)

    def find(X: _core.Payload, mask: Array | None) -> Array:
        if not model.reject_outliers:
            return union.labels(X, mask, threads)
        labels, residuals = union.assign(X, mask, threads)
        return union.reject(X, mask, labels, residuals, threads)

    return joined([find(batch.payload, batch.mask) for batch in samples.batches()])


def joined(parts: list[Array]) -> Array:
    """Return arrays one after the other, without a copy of a single one."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
