"""What every fitted union of subspaces can do: labels, residuals, completion, and decisions about outliers."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gasg21 import _core
from gasg21._algorithms import held_out
from gasg21._algorithms.clusters import assign, assign_labels, is_near
from gasg21._algorithms.residual_split import ResidualSplit
from gasg21._algorithms.union_lift import UnionLift
from gasg21._algorithms.whitening import Whitening
from gasg21._data.frames import tabled
from gasg21._data.parameters import n_threads
from gasg21._data.samples import Array, Samples, TakesSamples, check_samples
from gasg21._estimators.in_blocks import by_parts
from gasg21._estimators.published import PublishedAttributes
from gasg21._estimators.saving import Savable
from gasg21._support.guarded import reads
from gasg21._support.trees import stored

T = TypeVar("T")

# Samples whose relative residual is below this lie on a subspace, whatever the residuals of others are.
_SMALL = 0.1


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


@stored(lift=UnionLift | None, whitening=Whitening | None)
class Coordinates(NamedTuple):
    """From the data's own coordinates to those in which the clusters are found."""

    lift: UnionLift | None = None
    whitening: Whitening | None = None

    def n_columns(self, n_features: int) -> int:
        """Return the number of columns of the subspaces: those of the data, and one more if they are lifted."""
        return n_features + int(self.lift is not None)

    def lead(self, n_features: int, r: int) -> bool:
        """Whether they lead from data with so many features to r coordinates."""
        n = self.n_columns(n_features)
        if self.lift is not None and self.lift.centre.shape != (n_features,):
            return False
        if self.whitening is None:
            return r == n
        return self.whitening.directions.shape == (r, n) and self.whitening.spread.shape == (r,)

    def lifted(self, samples: Samples) -> Samples:
        """Return the samples in the coordinates of the subspaces: those of the data, or lifted ones."""
        return samples if self.lift is None else self.lift.apply(samples)

    def working(self, lifted: Samples) -> Samples:
        """Return lifted samples in the coordinates in which the clusters are found."""
        if self.whitening is None:
            return lifted
        return Samples(self.whitening.apply(finite_rows(lifted)), None, np.dtype(np.float64))


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
    subspaces=list,
    bases=list,
    coordinates=Coordinates,
    counters=dict,
    dtype=np.dtype,
    split=ResidualSplit,
    labels=np.ndarray | None,
    residuals=np.ndarray | None,
    report=UnionReport | None,
    stream=UnionStreamReport | None,
)
class PublishedUnion(NamedTuple):
    """What a union of subspaces publishes, all of the same moment."""

    subspaces: list[Array]  # in the data's coordinates, or lifted
    bases: list[Array]  # in the coordinates in which the clusters are found
    coordinates: Coordinates
    counters: dict[str, int]  # how many samples the stream has seen and used, and why others were not
    dtype: np.dtype[Any]  # of the data
    split: ResidualSplit = ResidualSplit()
    labels: Array | None = None
    residuals: Array | None = None  # after `partial_fit`
    report: UnionReport | None = None  # None: no `fit` yet
    stream: UnionStreamReport | None = None  # None: `fit` came last


class UnionMixin(
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
    reject_outliers: bool
    n_jobs: int | None
    _published: PublishedUnion | None = None

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
        lifted, working, published = self._located(X, mask)
        if not self.reject_outliers:
            return self._nearest_labels(working, published)
        return self._rejected(*self._assign(working, published), lifted, working, published)

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
        _, working, published = self._located(X, mask)
        return self._residuals(published.bases, working)

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
        _, working, published = self._located(X, mask)
        return -self._assign(working, published)[1]

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
        lifted, working, published = self._located(X, mask)
        labels = self._nearest_labels(working, published)
        return held_out.union_score(published.subspaces, lifted, labels, n_threads(self.n_jobs))

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
        samples, published = self._check_new(X, mask), self._current()
        lifted = published.coordinates.lifted(samples)
        labels, residuals = self._assign(published.coordinates.working(lifted), published)
        labels[residuals == 0] = np.maximum(labels[residuals == 0], 0)  # zeros lie in every subspace
        out = np.empty(samples.data.shape, np.result_type(samples.data.dtype, samples.dtype))
        for batch in samples.pieces():
            observed, kept = samples.observed(batch.rows)
            places = np.arange(samples.n_samples)[batch.rows]
            filled = self._filled(lifted, places, labels, published.subspaces)
            lift = published.coordinates.lift
            out[batch.rows] = np.where(observed, kept, filled if lift is None else lift.lower(filled))
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
        return check_samples(self, X, mask, reset=False, dtype=self._current().dtype)

    def _located(self, X: Any, mask: Any) -> tuple[Samples, Samples, PublishedUnion]:
        """Return new samples, lifted, those in the working coordinates, and what is published."""
        samples, published = self._check_new(X, mask), self._current()
        lifted = published.coordinates.lifted(samples)
        return lifted, published.coordinates.working(lifted), published

    def _assign(self, working: Samples, published: PublishedUnion) -> tuple[Array, Array]:
        return assign(published.bases, working, n_threads(self.n_jobs))

    def _nearest_labels(self, working: Samples, published: PublishedUnion) -> Array:
        return assign_labels(published.bases, working, n_threads(self.n_jobs))

    def _residuals(self, subspaces: list[Array], samples: Samples) -> Array:
        threads = n_threads(self.n_jobs)
        parts = [_core.residuals(subspaces, b.payload, b.mask, threads) for b in samples.batches()]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _rejected(
        self, labels: Array, residuals: Array, lifted: Samples, working: Samples, published: PublishedUnion
    ) -> Array:
        """Return the labels, -1 for outliers if they are to be rejected."""
        if not self.reject_outliers:
            return labels
        good = is_near(published.bases, labels, residuals, working)
        if published.coordinates.whitening is not None:
            good &= ~published.coordinates.whitening.is_outlier(finite_rows(lifted))
        if np.isfinite(published.split.cut):
            relative, absolute = self._own_residuals(published.subspaces, labels, lifted)
            good &= ~(published.split.is_above(absolute) & (relative > _SMALL))
        return np.where(good, labels, -1)

    def _own_residuals(self, subspaces: list[Array], labels: Array, lifted: Samples) -> tuple[Array, Array]:
        """Return the residuals of samples in the subspaces of their labels: of unit samples, and in data units."""
        every = self._residuals(subspaces, lifted).astype(np.float64)
        relative = every[np.arange(len(labels)), np.maximum(labels, 0)]
        lengths = [_lengths(*lifted.observed(piece.rows)) for piece in lifted.pieces()]
        return relative, relative * np.concatenate(lengths)

    # ---- fitted attributes

    @property
    def subspaces_(self) -> list[Array]:
        """Orthonormal bases of the subspaces, (d_i, n_features) each."""
        published = self._current()
        lift = published.coordinates.lift
        if lift is None:
            return list(published.subspaces)
        return [lift.flat(U)[0].astype(published.dtype) for U in published.subspaces]

    @property
    def means_(self) -> Array:
        """A point of each subspace, (n_clusters, n_features): 0 unless ``center=True``."""
        published = self._current()
        lift = published.coordinates.lift
        if lift is None:
            return np.zeros((len(published.subspaces), self.n_features_in_))
        return np.array([lift.flat(U)[1] for U in published.subspaces])

    @property
    def n_clusters_(self) -> int:
        """Number of clusters."""
        return len(self._current().subspaces)

    @property
    def n_components_(self) -> list[int]:
        """Dimension of each subspace."""
        published = self._current()
        return [len(U) - (published.coordinates.lift is not None) for U in published.subspaces]

    @property
    def whitened_(self) -> bool:
        """Whether the clusters were found in whitened coordinates."""
        return self._current().coordinates.whitening is not None

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
        return len(self._current().subspaces)

    def __sklearn_is_fitted__(self) -> bool:
        return self._published is not None


def _known(value: T | None, name: str) -> T:
    if value is None:
        msg = f"there is no {name} yet"
        raise AttributeError(msg)
    return value


def _lengths(observed: Array, values: Array) -> Array:
    """Return the lengths of samples on their observed entries."""
    X = np.where(observed, values, 0).astype(np.float64)
    largest = np.abs(X).max(axis=1, keepdims=True, initial=0.0)
    largest[~(largest > 0) | np.isinf(largest)] = 1
    return np.asarray(np.linalg.norm(X / largest, axis=1) * largest[:, 0])


def finite_rows(samples: Samples, rows: Array | slice = slice(None)) -> Array:
    """Return samples as a float64 array with NaN for missing entries; rows with infinities are all NaN."""
    X = samples.dense(rows).astype(np.float64)
    X[np.isinf(X).any(axis=1)] = np.nan
    return X
