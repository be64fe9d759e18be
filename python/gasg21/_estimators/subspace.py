"""What every fitted subspace can do: weights, residuals, completion, and decisions about outliers."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, OutlierMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from gasg21 import _core
from gasg21._algorithms import held_out
from gasg21._data.frames import tabled
from gasg21._data.parameters import check_n_jobs, null_offset
from gasg21._data.samples import Array, Batch, Samples, TakesSamples, check_samples, known_values
from gasg21._estimators import one_row
from gasg21._estimators.in_blocks import by_parts, reading_of
from gasg21._estimators.one_row import by_row
from gasg21._estimators.published import PublishedAttributes, StreamReport, listed
from gasg21._estimators.saving import Savable
from gasg21._support.guarded import reads
from gasg21._support.trees import stored
from gasg21.exceptions import DataQualityWarning, InvalidInputError


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

    @by_parts
    @by_row(one_row.weights)
    @reads
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

    @by_parts
    @reads
    @tabled()
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

    @by_parts
    @by_row(one_row.score)
    @reads
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

    @by_parts
    @reads
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
        return -self._residuals(self._check_new(X, mask), telling=True) - self.offset_

    @by_parts
    @reads
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
        with np.errstate(invalid="ignore"):
            return 2 * (self.decision_function(X, mask) >= 0) - 1

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

    def _weights_loss(self) -> _core.Loss:
        """Return what `transform` and `complete` minimise; "l21" means least squares."""
        return "l21"

    def _mean(self) -> Array:
        """Return the point that weights are measured from."""
        return np.zeros(1, self.components_.dtype)

    def _weights(self, samples: Samples) -> Array:
        """Weights (m, d) by the loss of the estimator."""
        threads = samples.n_threads(self.n_jobs)
        return _each_batch(samples, lambda batch: self._project(batch, self._weights_loss(), threads)[0])

    def _residuals(self, samples: Samples, *, telling: bool) -> Array:
        """Residuals (m,) of least squares; with `telling` NaN also for samples of zeros, which say nothing."""
        threads = samples.n_threads(self.n_jobs)

        def residuals(batch: Batch) -> Array:
            weights, residuals = self._project(batch, "l21", threads)
            silent = (residuals == 0) & ~weights.any(axis=1)
            return np.where(silent, np.nan, residuals).astype(residuals.dtype) if telling else residuals

        return _each_batch(samples, residuals)

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


def _each_batch(samples: Samples, work: Callable[[Batch], Array]) -> Array:
    if samples.can_be_borrowed:
        return work(samples.whole())
    return np.concatenate([work(batch) for batch in samples.batches()])


def warn_of_unseen(estimator: Any, subspace: _core.Subspace, decorators: int) -> None:
    """Warn of features that no sample of the fit observes, in a method with so many decorators."""
    unseen = held_out.unseen(subspace)
    if len(unseen):
        names = listed(unseen, getattr(estimator, "feature_names_in_", None))
        msg = f"no sample of the fit observes these features, so their missing entries stay NaN: {names}"
        warnings.warn(msg, DataQualityWarning, stacklevel=3 + decorators)


@stored(history=list, status=str, estimated_angle=float)
class FitReport(NamedTuple):
    """How the last `fit` went."""

    history: list[dict[str, Any]]
    status: str
    estimated_angle: float


@stored(subspace=(_core.Subspace64, _core.Subspace32), counters=dict, step_size=float, level=int)
@dataclass(frozen=True)
class Published:
    """What a subspace on the compiled core publishes, all of the same moment."""

    subspace: _core.Subspace
    counters: dict[str, int]  # how many samples were seen and used, and why others were not
    step_size: float
    level: int
    report: FitReport | None  # None: no `fit` yet
    stream: StreamReport | None = None  # None: `fit` came last
    contamination: float | None = None  # offset that a numeric contamination asks for; None: "auto"

    @cached_property
    def offset(self) -> float | None:
        """Offset of `score_samples`; None: the subspace decides about outliers.

        Where there is nothing to learn from, because few samples have come or the residual has one dimension, an
        outlier is what is as far from the subspace as a random direction.
        """
        if self.contamination is not None:
            return self.contamination
        subspace = self.subspace
        if subspace.n_features - subspace.n_components > 1 and subspace.decides:
            return None
        used = self.counters["n_used"]
        entries = self.counters["entries_used"] / used if used else subspace.n_features
        return null_offset(entries, len(subspace.basis))

    @cached_property
    def components(self) -> Array:
        return self.subspace.components

    @cached_property
    def mean(self) -> Array:
        return self.subspace.mean

    @cached_property
    def explained_variance(self) -> Array:
        return self.subspace.explained_variance

    @cached_property
    def doubt_about_decisions(self) -> str | None:
        """Say why decisions about outliers may mislead; None if nothing speaks against them."""
        subspace = self.subspace
        if self.offset is not None or self.report is None or subspace.is_exact:  # exact inliers leave no doubt
            return None
        if subspace.explains_too_little:
            advice = "Use more components, or center=True." if subspace.lift is None else "Use more components."
            return (
                "the subspace explains too little of the samples: a random vector of their length would pass for an "
                f"inlier. {advice}"
            )
        if subspace.flagged > 0.5:
            return (
                f"{subspace.flagged:.0%} of the samples are called outliers, more than half. The subspace may belong "
                "to a minority; contamination= sets the share."
            )
        if subspace.flagged == 0:
            return (
                "no sample is called an outlier: none stands out. If there are outliers, they look like inliers; "
                "contamination= sets the share."
            )
        return None


class PublishedSubspace(SubspaceMixin, PublishedAttributes):
    """A subspace whose fitted attributes are read from one immutable object, which is swapped at once."""

    _tracker: _core.Tracker | None = None  # None: not fitted
    _published: Published | None = None  # by `fit` or `partial_fit`; the stream may have gone on since
    _report: FitReport | None = None  # of the last `fit`; readers see the one in `_published`

    @abstractmethod
    def _publish(self) -> Published:
        """Publish the current state; raise AttributeError if there is none."""

    def _current(self) -> Published:
        state = vars(self)  # one object, which a commit replaces: tracker and publication belong together
        tracker: _core.Tracker | None = state.get("_tracker")
        published: Published | None = state.get("_published")
        if tracker is None:
            return self._publish()
        if published is not None and published.counters["n_seen"] == tracker.n_seen:
            return published
        keeper = self._origin or self
        if keeper._latest is not None:
            known, latest = keeper._latest
            if known is tracker and latest.counters["n_seen"] == tracker.n_seen:
                return cast(Published, latest)
        latest = self._publish()
        keeper._latest = tracker, latest
        return latest

    def __sklearn_is_fitted__(self) -> bool:
        return self._tracker is not None

    def _model_dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float32 if isinstance(self._tracker, _core.Tracker32) else np.float64)

    def _plain_row(self, X: Any) -> Array | None:
        state = vars(self)
        if state.get("_tracker") is None or self._origin is not None:
            return None
        row = known_values(self, X)
        if row is None or row.ndim != 2 or len(row) != 1:
            return None
        parameters = self.on_bad, self.absent, self.n_jobs, state.get("_sklearn_output_config")
        if self._checked != parameters:
            reading_of(self)
            check_n_jobs(self.n_jobs)
            self._checked = parameters
        # A table as output is made by the long way.
        return row if parameters[-1] is None and get_config()["transform_output"] == "default" else None

    def _check_new(self, X: Any, mask: Any) -> Samples:
        if self._tracker is None:
            check_is_fitted(self)
        return check_samples(self, X, mask, reset=False, dtype=self._model_dtype())

    @by_parts
    @by_row(one_row.decision)
    @reads
    def decision_function(self, X: Any, mask: Any = None) -> Array:
        """How far each sample is from being an outlier: below 0 is an outlier. `predict` is its sign.

        With ``contamination="auto"``, the logarithm of the largest squared residual of an inlier over that of the
        sample, in the data's units. Where the outliers look like random directions, a sample is also an outlier if it
        looks like one. With ``center=True``, samples are ranked by both `distances`: ``1 / (1 + mean square)``, less 1
        for outliers. With a numeric contamination, ``score_samples(X) - offset_``.

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
        samples, now = self._check_new(X, mask), self._current()
        if now.offset is not None:
            return -self._residuals(samples, telling=True) - now.offset
        threads = samples.n_threads(self.n_jobs)
        return _each_batch(samples, lambda batch: now.subspace.decision_function(batch.payload, batch.mask, threads))

    @by_parts
    @by_row(one_row.label)
    @reads
    def predict(self, X: Any, mask: Any = None) -> Array:
        """Say which samples are outliers.

        Warns (`DataQualityWarning`) if the fit explains too little of the samples for a decision, or calls none or more
        than half of them outliers.

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
        labels = super().predict(X, mask)
        doubt = self._current().doubt_about_decisions
        if doubt is not None:
            warnings.warn(doubt, DataQualityWarning, stacklevel=5)  # beside this method, three decorators
        return labels

    @by_parts
    @by_row(one_row.distances)
    @reads
    @tabled("distance_within", "distance_to")
    def distances(self, X: Any, mask: Any = None) -> Array:
        """Two robust distances of each sample: within the subspace, and to it. The axes of the outlier map.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            NaN is missing. The stored entries of a sparse matrix are the observed ones.
        mask : bool array of the shape of X, optional
            True = observed.

        Returns
        -------
        distances : ndarray of shape (n_samples, 2)
            The Mahalanobis distance of the weights from the centre of the inliers, and the length of the residual over
            that of the noise. Both are root mean squares per degree of freedom, about 1 for inliers, so they can be
            compared and combined: ``(distances ** 2).sum(axis=1)`` ranks samples by both. NaN for a sample that says
            nothing.
        """
        samples, subspace = self._check_new(X, mask), self._current().subspace
        threads = samples.n_threads(self.n_jobs)
        return _each_batch(samples, lambda batch: subspace.distances(batch.payload, batch.mask, threads))

    @by_parts
    @by_row(one_row.completed)
    @reads
    @tabled()
    def complete(self, X: Any, mask: Any = None) -> Array:
        """Return X with its missing entries filled in; observed entries are kept.

        A missing entry becomes its expectation, given the observed entries of its sample and how the inliers scatter
        in the subspace. So weights that few entries determine are shrunk, and a sample needs only one observed entry.
        On data without noise this is least squares.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            NaN is missing. The stored entries of a sparse matrix are the observed ones.
        mask : bool array of the shape of X, optional
            True = observed.

        Returns
        -------
        X_completed : ndarray of shape (n_samples, n_features)
            Dense. NaN in features that the fit has never observed; of these it warns (`DataQualityWarning`). A sample
            without an observed entry becomes `mean_` with ``center=True``, and stays NaN without.
        """
        samples, now = self._check_new(X, mask), self._current()
        loss = self._weights_loss()
        out = held_out.complete(now.subspace, samples, samples.n_threads(self.n_jobs))
        if loss != "l21":
            by_weights = self._weights(samples, now.subspace) @ now.components + now.mean
            held_out.replace_missing(out, samples, by_weights, now.subspace)
        warn_of_unseen(self, now.subspace, decorators=4)
        return out

    @reads
    def score(self, X: Any, y: None = None, mask: Any = None) -> float:
        """How well entries are predicted from the others: 1 is perfect, 0 as good as the medians of the features.

        Each observed entry is predicted once, from all other entries of its sample, as in `complete`. The score is 1
        minus a robust mean, over the samples, of the relative squared errors, so outlying samples count little. It
        chooses among models: ``GridSearchCV(GASG21(), {"n_components": range(1, 10)})``.

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
        samples, subspace = self._check_new(X, mask), self._current().subspace
        return held_out.score(subspace, samples, samples.n_threads(self.n_jobs))

    def _mean(self) -> Array:
        return self.mean_

    def _weights(self, samples: Samples, subspace: _core.Subspace | None = None) -> Array:
        subspace, loss = subspace or self._current().subspace, self._weights_loss()
        threads = samples.n_threads(self.n_jobs)
        return _each_batch(samples, lambda batch: subspace.transform(batch.payload, batch.mask, loss, threads))

    def _residuals(self, samples: Samples, *, telling: bool, subspace: _core.Subspace | None = None) -> Array:
        subspace, threads = subspace or self._current().subspace, samples.n_threads(self.n_jobs)
        return _each_batch(samples, lambda batch: subspace.residuals(batch.payload, batch.mask, telling, threads))

    @property
    def components_(self) -> Array:  # type: ignore[override]
        """Principal axes of the subspace, strongest first, (n_components, n_features); orthonormal."""
        return self._current().components

    @property
    def mean_(self) -> Array:
        """Mean of the inliers, (n_features,); zeros with ``center=False``."""
        return self._current().mean

    @property
    def explained_variance_(self) -> Array:
        """Variance of the inliers along each principal axis, (n_components,)."""
        return self._current().explained_variance

    @property
    def n_components_(self) -> int:
        """Dimension of the subspace."""
        return self._current().subspace.n_components

    @property
    def offset_(self) -> float:  # type: ignore[override]
        """``decision_function(X) = score_samples(X) - offset_``; NaN if no such number makes the decision."""
        offset = self._current().offset
        return np.nan if offset is None else offset

    @property
    def explained_variance_ratio_(self) -> Array:
        """Share of the inliers' variance that each principal axis explains, (n_components,)."""
        now = self._current()
        variance, rest = now.explained_variance, now.subspace.n_features - now.subspace.n_components
        total = variance.sum() + rest * now.subspace.noise_variance
        return np.asarray(variance / total) if total != 0 else np.zeros_like(variance)

    @property
    def noise_variance_(self) -> float:
        """Variance of one entry of an inlier about the subspace."""
        return self._current().subspace.noise_variance

    @property
    def step_size_(self) -> float:
        """The last step."""
        return self._current().step_size

    @property
    def level_(self) -> int:
        """How often the adaptive rule has halved its step."""
        return self._current().level

    @property
    def estimated_angle_(self) -> float:
        """Standard error of the largest angle to the true subspace at the end of the last `fit`."""
        return float(self._fit_report().estimated_angle)
