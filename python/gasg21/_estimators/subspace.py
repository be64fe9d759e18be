"""What every fitted subspace can do: weights, residuals, completion, and who is an outlier."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import betaincinv
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, OutlierMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from gasg21 import _core
from gasg21._data.parameters import n_threads
from gasg21._data.samples import Array, Samples, check_samples
from gasg21.exceptions import InvalidInputError

# A sample in a random direction passes for an inlier with the first probability; in a space of so few
# dimensions that this would leave only a sliver round the subspace, a residual of up to _NEAR may pass
# too, with at most the second.
_MISSED, _MISSED_AT_MOST, _NEAR = 1e-3, 0.05, 0.1


class SubspaceMixin(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    OutlierMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Everything that needs only `components_` (d, n), orthonormal rows, and `offset_`."""

    n_jobs: int | None = None  # a parameter of those that also fit on several threads

    components_: Array
    offset_: float

    @abstractmethod
    def fit(self, X: Any, y: None = None, mask: Any = None) -> SubspaceMixin:
        """Fit the subspace; each estimator has its own way."""

    def transform(self, X: Any, mask: Any = None) -> Array:
        """Weights of each sample in the basis, by least squares on its observed entries.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            NaN is missing; of a sparse matrix the stored entries are the observed ones.
        mask : bool array of the shape of X, optional
            True = observed.

        Returns
        -------
        W : ndarray of shape (n_samples, n_components)
            A row is NaN where the weights are not determined (fewer than n_components + 1 entries
            observed).
        """
        return self._project(self._check_new(X, mask), self._weights_loss())[0]

    def fit_transform(self, X: Any, y: None = None, mask: Any = None) -> Array:
        """Fit the subspace and return the weights of the samples."""
        return self.fit(X, y, mask=mask).transform(X, mask=mask)

    def inverse_transform(self, W: Any) -> Array:
        """Return samples with the given weights: ``W @ components_``, shape (n_samples, n_features)."""
        check_is_fitted(self)
        W = check_array(W, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan", input_name="W")
        if W.shape[1] != len(self.components_):
            msg = f"W has {W.shape[1]} columns; it must have n_components = {len(self.components_)}"
            raise InvalidInputError(msg)
        return np.asarray(W @ self.components_)

    def complete(self, X: Any, mask: Any = None) -> Array:
        """X with its missing entries filled in from the subspace; observed ones are kept as they are.

        Returns
        -------
        X_completed : ndarray of shape (n_samples, n_features)
            Dense. What is not determined (see `transform`) stays NaN.
        """
        samples, threads = self._check_new(X, mask), n_threads(self.n_jobs)
        out = np.empty(samples.data.shape, np.result_type(samples.data.dtype, self.components_.dtype))
        fill = _core.fill_missing64 if samples.dtype == np.float64 else _core.fill_missing32
        if not sp.issparse(samples.data) and out.dtype == samples.dtype:
            out[...] = samples.data
            for block in samples.blocks():
                fill(self.components_, block.payload, block.mask, out[block.rows], self._weights_loss(), threads)
            return out
        for block in samples.chunks():
            observed, kept = observed_entries(samples, block.rows)
            filled = np.zeros(kept.shape, samples.dtype)
            fill(self.components_, block.payload, block.mask, filled, self._weights_loss(), threads)
            out[block.rows] = np.where(observed, kept, filled)
        return out

    def score_samples(self, X: Any, mask: Any = None) -> Array:
        """Minus the residual of each unit-norm sample: 0 lies in the subspace, -1 is orthogonal to it.

        NaN where too little is observed to tell; 0 for a sample of zeros.
        """
        return -self._project(self._check_new(X, mask))[1]

    def decision_function(self, X: Any, mask: Any = None) -> Array:
        """``score_samples(X) - offset_``: below 0 is an outlier.

        NaN for a sample that tells nothing (all zero, or too little observed).
        """
        return self._telling_scores(self._check_new(X, mask)) - self.offset_

    def predict(self, X: Any, mask: Any = None) -> Array:
        """+1 for inliers; -1 for outliers and for samples that tell nothing (all zero, too little observed)."""
        with np.errstate(invalid="ignore"):
            return np.where(self.decision_function(X, mask) >= 0, 1, -1)

    def fit_predict(self, X: Any, y: None = None, mask: Any = None) -> Array:
        """Fit the subspace and label the samples."""
        return self.fit(X, y, mask=mask).predict(X, mask=mask)

    def _check_new(self, X: Any, mask: Any) -> Samples:
        check_is_fitted(self)
        return check_samples(self, X, mask, reset=False, dtype=self.components_.dtype)

    def _weights_loss(self) -> _core.Loss:
        """Return what `transform` and `complete` minimise; "l21" means least squares."""
        return "l21"

    def _project(self, samples: Samples, loss: _core.Loss = "l21") -> tuple[Array, Array]:
        """Weights (m, d) by the loss, and residuals (m,) of least squares."""
        project = _core.project64 if samples.dtype == np.float64 else _core.project32
        threads = n_threads(self.n_jobs)
        parts = [project(self.components_, b.payload, b.mask, loss, threads) for b in samples.blocks()]
        if len(parts) == 1:
            return parts[0]
        return np.concatenate([w for w, _ in parts]), np.concatenate([r for _, r in parts])

    def _telling_scores(self, samples: Samples) -> Array:
        """Scores, NaN also for samples of zeros, which tell nothing."""
        weights, residuals = self._project(samples)
        return np.where((residuals == 0) & ~weights.any(axis=1), np.nan, -residuals).astype(residuals.dtype)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def null_offset(n_observed: float, n_components: int) -> float:
    """Score below which a sample is as far from the subspace as a random direction would be."""
    return -float(null_residual(np.array([n_observed]), np.array([n_components]))[0])


def null_residual(n_observed: Array, n_components: Array, n_subspaces: int = 1) -> Array:
    """Residual above which a sample is as far from the nearest subspace as a random direction would be.

    The squared residual of a random direction follows the Beta((N - d) / 2, d / 2) law for N observed
    entries; one in a thousand of such samples passes (a few more in a space of very few dimensions). The
    nearest of several subspaces has as many chances, for which the level is corrected (Sidak).
    """
    levels = 1 - (1 - np.array([_MISSED, _MISSED_AT_MOST])) ** (1 / n_subspaces)
    N, d = np.maximum(n_observed, n_components + 1), n_components
    strict, lax = np.sqrt(betaincinv((N - d) / 2, d / 2, levels[:, None]))
    return np.where(n_observed > n_components, np.maximum(strict, np.minimum(lax, _NEAR)), 0.0)


def observed_entries(samples: Samples, rows: Any) -> tuple[Array, Array]:
    """Which entries of these rows are observed, and the rows, dense, in their own dtype."""
    if not sp.issparse(samples.data):
        kept = samples.data[rows]
        observed = ~np.isnan(kept)
        return (observed if samples.mask is None else observed & samples.mask[rows]), kept
    kept = samples.data[rows]
    if samples.absent_is_zero:
        kept = kept.toarray()
        return ~np.isnan(kept), kept
    stored = sp.csr_matrix((np.ones(kept.nnz, bool), kept.indices, kept.indptr), shape=kept.shape).toarray()
    kept = kept.toarray()
    return stored & ~np.isnan(kept), kept
