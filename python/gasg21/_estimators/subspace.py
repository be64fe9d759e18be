"""The methods of every fitted subspace: weights, residuals, completion, and decisions about outliers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, OutlierMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from gasg21 import _core
from gasg21._data.frames import tabled
from gasg21._data.samples import Batch, Samples, TakesSamples, check_samples
from gasg21._estimators import one_row
from gasg21._estimators.answers import answers
from gasg21._estimators.saving import Savable
from gasg21._support.arrays import Array
from gasg21._support.guarded import reads
from gasg21.exceptions import InvalidInputError


class SubspaceMixin(
    Savable,
    TakesSamples,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    OutlierMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Methods that need only `components_` (d, n), orthonormal rows, and `offset_`."""

    n_jobs: int | None = None  # estimators that fit on several threads have it as a parameter

    components_: Array
    offset_: float

    @abstractmethod
    def fit(self, X: Any, y: None = None, mask: Any = None) -> SubspaceMixin:
        """Fit the subspace."""

    @answers(row=one_row.weights)
    def transform(self, X: Any, mask: Any = None) -> Array:
        """Weights of each sample in the basis, by least squares on its observed entries.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            NaN is missing. The stored entries of a sparse matrix are the observed ones.
        mask : bool array of the shape of X, optional
            True = observed.

        Returns
        -------
        W : ndarray of shape (n_samples, n_components)
            A row is NaN where the weights are not determined (fewer than n_components + 1 entries observed).
        """
        return self._weights(self._check_new(X, mask))

    def fit_transform(self, X: Any, y: None = None, mask: Any = None) -> Array:
        """Fit the subspace and return the weights of the samples."""
        return self.fit(X, y, mask=mask).transform(X, mask=mask)

    @reads
    @tabled()
    def inverse_transform(self, W: Any) -> Array:
        """Return the samples with the given weights, ``W @ components_ + mean_``.

        Parameters
        ----------
        W : array-like of shape (n_samples, n_components)
            Weights, as `transform` returns them.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Samples in the subspace.
        """
        check_is_fitted(self)
        components = self.components_
        W = check_array(W, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan", input_name="W")
        if W.shape[1] != len(components):
            msg = f"W has {W.shape[1]} columns; it must have n_components = {len(components)}"
            raise InvalidInputError(msg)
        return np.asarray(W @ components + self._mean())

    @answers(columns=())
    def complete(self, X: Any, mask: Any = None) -> Array:
        """Return X with its missing entries filled in from the subspace; observed entries are kept.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            NaN is missing. The stored entries of a sparse matrix are the observed ones.
        mask : bool array of the shape of X, optional
            True = observed.

        Returns
        -------
        X_completed : ndarray of shape (n_samples, n_features)
            Dense. Entries that are not determined (see `transform`) stay NaN.
        """
        samples = self._check_new(X, mask)
        threads = samples.n_threads(self.n_jobs)
        components, loss = self.components_, self._weights_loss()
        out = np.empty(samples.data.shape, np.result_type(samples.data.dtype, components.dtype))
        if not samples.is_sparse and out.dtype == samples.dtype:
            out[...] = samples.data
            for batch in samples.batches():
                _core.fill_missing(components, batch.payload, batch.mask, out[batch.rows], loss, threads)
            return out
        for batch in samples.pieces():
            observed, kept = samples.observed(batch.rows)
            filled = np.zeros(kept.shape, samples.dtype)
            _core.fill_missing(components, batch.payload, batch.mask, filled, loss, threads)
            out[batch.rows] = np.where(observed, kept, filled)
        return out

    @answers(row=one_row.score)
    def score_samples(self, X: Any, mask: Any = None) -> Array:
        """Minus the residual of each unit-norm sample: 0 lies in the subspace, -1 is orthogonal to it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            NaN is missing. The stored entries of a sparse matrix are the observed ones.
        mask : bool array of the shape of X, optional
            True = observed.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            NaN where too few entries are observed; 0 for a sample of zeros.
        """
        return -self._residuals(self._check_new(X, mask), telling=False)

    @answers()
    def decision_function(self, X: Any, mask: Any = None) -> Array:
        """``score_samples(X) - offset_``: below 0 is an outlier.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            NaN is missing. The stored entries of a sparse matrix are the observed ones.
        mask : bool array of the shape of X, optional
            True = observed.

        Returns
        -------
        margins : ndarray of shape (n_samples,)
            NaN for a sample that says nothing (all zero, or too few entries observed).
        """
        return self._margins(self._check_new(X, mask))

    @answers()
    def predict(self, X: Any, mask: Any = None) -> Array:
        """Say which samples are outliers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            NaN is missing. The stored entries of a sparse matrix are the observed ones.
        mask : bool array of the shape of X, optional
            True = observed.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            +1 for inliers; -1 for outliers and for samples that say nothing (all zero, too few entries observed).
        """
        return labels_of(self._margins(self._check_new(X, mask)))

    def fit_predict(self, X: Any, y: None = None, mask: Any = None) -> Array:
        """Fit the subspace and say which of its samples are outliers.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            As for `fit`.
        y : ignored
        mask : bool array of the shape of X, optional
            True = observed.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            +1 for inliers, -1 for outliers, as in `predict`.
        """
        return self.fit(X, y, mask=mask).predict(X, mask=mask)

    def _plain_row(self, X: Any) -> Array | None:
        """Return X as one row that `by_row` can answer; None here, where nothing is published."""
        return None

    def _check_new(self, X: Any, mask: Any) -> Samples:
        check_is_fitted(self)
        return check_samples(self, X, mask, reset=False, dtype=self.components_.dtype)

    def _margins(self, samples: Samples) -> Array:
        """Return how far each sample is from being an outlier (m,): `decision_function`."""
        return -self._residuals(samples, telling=True) - self.offset_

    def _weights_loss(self) -> _core.Loss:
        """Return what `transform` and `complete` minimise; "l21" means least squares."""
        return "l21"

    def _mean(self) -> Array:
        """Return the point that weights are measured from."""
        return np.zeros(1, self.components_.dtype)

    def _weights(self, samples: Samples) -> Array:
        """Weights (m, d) by the loss of the estimator."""
        threads = samples.n_threads(self.n_jobs)
        return each_batch(samples, lambda batch: self._project(batch, self._weights_loss(), threads)[0])

    def _residuals(self, samples: Samples, *, telling: bool) -> Array:
        """Residuals (m,) of least squares; with `telling` NaN also for samples of zeros, which say nothing."""
        threads = samples.n_threads(self.n_jobs)

        def residuals(batch: Batch) -> Array:
            weights, residuals = self._project(batch, "l21", threads)
            silent = (residuals == 0) & ~weights.any(axis=1)
            return np.where(silent, np.nan, residuals).astype(residuals.dtype) if telling else residuals

        return each_batch(samples, residuals)

    def _project(self, batch: Batch, loss: _core.Loss, threads: int) -> tuple[Array, Array]:
        return _core.project(self.components_, batch.payload, batch.mask, loss, threads)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the columns of `transform`: component_0, component_1, ...

        Parameters
        ----------
        input_features : array-like of str, optional
            Ignored, except that it must agree with the names seen in `fit`.

        Returns
        -------
        names : ndarray of shape (n_components,)
        """
        names = super().get_feature_names_out(input_features)
        return np.asarray([f"component_{i}" for i in range(len(names))], object)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)


def each_batch(samples: Samples, work: Callable[[Batch], Array]) -> Array:
    """Return what a function gives for all samples, whose batches are converted one at a time."""
    if samples.can_be_borrowed:
        return work(samples.whole())
    return np.concatenate([work(batch) for batch in samples.batches()])


def labels_of(margins: Array) -> Array:
    """Return +1 for inliers and -1 for outliers, whose margin is below 0 or NaN."""
    with np.errstate(invalid="ignore"):
        return np.asarray(2 * (margins >= 0) - 1)
