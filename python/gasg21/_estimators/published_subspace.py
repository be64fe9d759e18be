"""A subspace on the compiled core, whose fitted attributes are read from one immutable object."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, cast

import numpy as np
from sklearn import get_config
from sklearn.utils.validation import check_is_fitted

from gasg21 import _core
from gasg21._algorithms import held_out
from gasg21._data.parameters import check_n_jobs, check_reading
from gasg21._data.samples import Samples, check_samples, known_values
from gasg21._estimators import one_row
from gasg21._estimators.answers import STACKLEVEL, answers
from gasg21._estimators.fit_warnings import warn_of_unseen
from gasg21._estimators.published import FitReport, Published, PublishedAttributes
from gasg21._estimators.subspace import SubspaceMixin, each_batch, labels_of
from gasg21._support.arrays import Array
from gasg21._support.guarded import reads
from gasg21.exceptions import DataQualityWarning


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
            check_reading(self)
            check_n_jobs(self.n_jobs)
            self._checked = parameters
        # A table as output is made by the long way.
        return row if parameters[-1] is None and get_config()["transform_output"] == "default" else None

    def _check_new(self, X: Any, mask: Any) -> Samples:
        if self._tracker is None:
            check_is_fitted(self)
        return check_samples(self, X, mask, reset=False, dtype=self._model_dtype())

    @answers(row=one_row.decision)
    def decision_function(self, X: Any, mask: Any = None) -> Array:
        """How far each sample is from being an outlier: below 0 is an outlier. `predict` is its sign.

        With ``contamination="auto"``, the logarithm of the largest squared residual of an inlier over the squared
        residual of the sample, in the data's units. Where the outliers look like random directions, a sample is also an
        outlier if it looks like one. With ``center=True``, samples are ranked by both `distances`:
        ``1 / (1 + mean square)``, less 1 for outliers. With a numeric contamination, ``score_samples(X) - offset_``.

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

    @answers(row=one_row.label)
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
        labels = labels_of(self._margins(self._check_new(X, mask)))
        doubt = self._current().doubt_about_decisions
        if doubt is not None:
            warnings.warn(doubt, DataQualityWarning, stacklevel=STACKLEVEL)
        return labels

    @answers(row=one_row.distances, columns=("distance_within", "distance_to"))
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
            the length of the noise. Both are root mean squares per degree of freedom, about 1 for inliers, so they can
            be compared and combined: ``(distances ** 2).sum(axis=1)`` ranks samples by both. NaN for a sample that says
            nothing.
        """
        samples, subspace = self._check_new(X, mask), self._current().subspace
        threads = samples.n_threads(self.n_jobs)
        return each_batch(samples, lambda batch: subspace.distances(batch.payload, batch.mask, threads))

    @answers(row=one_row.completed, columns=())
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
        warn_of_unseen(self, now.subspace, stacklevel=1 + STACKLEVEL)
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

    def _margins(self, samples: Samples) -> Array:
        now = self._current()
        if now.offset is not None:
            return -self._residuals(samples, telling=True) - now.offset
        threads = samples.n_threads(self.n_jobs)
        return each_batch(samples, lambda batch: now.subspace.decision_function(batch.payload, batch.mask, threads))

    def _mean(self) -> Array:
        return self.mean_

    def _weights(self, samples: Samples, subspace: _core.Subspace | None = None) -> Array:
        subspace, loss = subspace or self._current().subspace, self._weights_loss()
        threads = samples.n_threads(self.n_jobs)
        return each_batch(samples, lambda batch: subspace.transform(batch.payload, batch.mask, loss, threads))

    def _residuals(self, samples: Samples, *, telling: bool, subspace: _core.Subspace | None = None) -> Array:
        subspace, threads = subspace or self._current().subspace, samples.n_threads(self.n_jobs)
        return each_batch(samples, lambda batch: subspace.residuals(batch.payload, batch.mask, telling, threads))

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
