"""SubspaceImputer: missing entries from a robust subspace, as a step of a pipeline."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gasg21._algorithms import held_out
from gasg21._data.constructor import parameter, with_parameters
from gasg21._data.parameters import check_flag, n_threads, progress_bar, seed_of
from gasg21._data.samples import Samples, TakesSamples, check_samples
from gasg21._estimators.fit_warnings import warn_of_unseen
from gasg21._estimators.gasg21 import GASG21
from gasg21._estimators.parameter_tables import FitParameters
from gasg21._estimators.saving import Savable
from gasg21._support.arrays import Array
from gasg21._support.guarded import drafted, reads
from gasg21._support.progress import PassCallback, Progress
from gasg21.exceptions import ConvergenceWarning, InvalidInputError

_CANDIDATES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 17, 20, 24, 29, 35, 42, 50)  # dimensions that "auto" tries
_GAIN = 0.99  # a larger dimension must lower the error to this share of it
_PATIENCE = 2  # candidates without a better score before it gives up
_FEWEST = 20  # samples from which "auto" can hold some out


@with_parameters
class SubspaceImputer(
    FitParameters,
    Savable,
    TakesSamples,
    OneToOneFeatureMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Fill in missing entries from the subspace of the good samples, however bad the others are.

    Fits a `GASG21`, and learns how its inliers scatter in the subspace and how large their noise is, feature by
    feature. A missing entry becomes its expectation given the observed entries of its sample. So a sample with a
    single observed entry has an answer, too, and a filled entry goes at most a quarter of the feature's range beyond
    the values that the fit has seen, unless the data is free of noise or the sample is larger than all of the fit.
    Observed entries are kept, also in outlying samples.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Principal axes of the subspace, strongest first.
    mean_ : ndarray of shape (n_features,)
        Mean of the inliers; zeros with ``center=False``.
    n_components_ : int
        Its dimension.
    scores_ : dict
        The score of each dimension that "auto" has tried: 1 is perfect, 0 as good as the medians of the features.
    history_ : list of dict
        First a record of each dimension that "auto" has tried, with "stage", "n_components" and "score"; then the
        records of the passes of the fit, as in `GASG21`.
    status_ : str
        How the fit ended, as in `GASG21`.
    n_features_in_ : int
        Number of features.

    Examples
    --------
    >>> import numpy as np
    >>> from gasg21 import SubspaceImputer
    >>> from gasg21.datasets import make_low_rank
    >>> data = make_low_rank(600, 50, 4, outlier_fraction=0.3, random_state=0)
    >>> rng = np.random.default_rng(0)
    >>> X = np.where(rng.random(data.data.shape) < 0.3, np.nan, data.data)
    >>> filled = SubspaceImputer(random_state=0).fit_transform(X)
    >>> bool(np.abs(filled - data.data)[data.inlier].max() < 1e-6)
    True
    """

    n_components: int | float | str = parameter(
        default="auto",
        kw_only=False,
        kind='int, float or "auto"',
        text="""Dimension of the subspace. "auto" tries some up to 50 on three quarters of the samples, and takes the
        one that best predicts entries of the others. This is usually more than ``GASG21(n_components="auto")`` chooses,
        since shrinkage makes superfluous dimensions harmless. A float is a share of the variance, as in `GASG21`.""",
    )
    center: bool = parameter(
        default=True, kind="bool", text="True fits an affine subspace, False one through the origin.", check=check_flag
    )
    verbose: int = parameter(
        default=0,
        kind="int",
        text="""1 shows a progress bar. 2 prints a line for each dimension that "auto" tries, and for each pass of the
        fit.""",
    )

    def fit(self, X: Any, y: None = None, mask: Any = None, *, callback: PassCallback | None = None) -> SubspaceImputer:
        """Fit the subspace, and learn what to expect of its samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            NaN is missing. The stored entries of a sparse matrix are the observed ones.
        y : ignored
        mask : bool array of the shape of X, optional
            True = observed.
        callback : callable, optional
            Called with each record of `history_`, as soon as there is one. If it returns something true, the fit ends
            there with ``status_ = "interrupted"``: with the best dimension so far, or with the subspace reached so far.

        Returns
        -------
        self
        """
        with drafted(self) as draft:
            draft._fit(X, mask, callback)
        return self

    def _fit(self, X: Any, mask: Any, callback: PassCallback | None) -> None:
        """Fit a draft."""
        samples = check_samples(self, X, mask, reset=True)
        seed = seed_of(self.random_state)
        self.scores_: dict[int, float] = {}
        self.history_: list[dict[str, Any]] = []
        searching = isinstance(self.n_components, str) and self.n_components == "auto" and samples.n_samples >= _FEWEST
        with progress_bar(self, samples.n_samples, None, callback) as progress:
            chosen, best = self._choose(samples, seed, progress) if searching else (self.n_components, None)
            self._model = best if best is not None else self._fit_subspace(samples, chosen, seed, progress)
        self.status_ = "interrupted" if best is not None else self._model.status_
        if best is None:
            self.history_ += self._model.history_
        self.components_, self.mean_ = self._model.components_, self._model.mean_
        self.n_components_ = len(self.components_)

    @reads
    def transform(self, X: Any, mask: Any = None) -> Array:
        """Return X with its missing entries filled in: see `GASG21.complete`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            NaN is missing. The stored entries of a sparse matrix are the observed ones.
        mask : bool array of the shape of X, optional
            True = observed.

        Returns
        -------
        X_completed : ndarray of shape (n_samples, n_features)
            Dense. Entries of features that the fit has never observed stay NaN, with a warning. A sample without an
            observed entry becomes `mean_`, or stays NaN with ``center=False``.
        """
        check_is_fitted(self)
        samples = check_samples(self, X, mask, reset=False, dtype=self.components_.dtype)
        out = held_out.complete(self._model._current().subspace, samples, n_threads(self.n_jobs))
        # The caller's line is behind two decorators, of which one is scikit-learn's.
        warn_of_unseen(self, self._model._current().subspace, stacklevel=5)
        return out

    def fit_transform(self, X: Any, y: None = None, mask: Any = None) -> Array:
        """Fit, and fill in the missing entries of the same samples."""
        return self.fit(X, y, mask=mask).transform(X, mask=mask)

    def _fit_subspace(self, samples: Samples, d: int | float | str, seed: int, progress: Progress | None) -> GASG21:
        model = GASG21(
            d,
            center=self.center,
            max_passes=self.max_passes,
            tol=self.tol,
            on_bad=self.on_bad,
            absent=self.absent,
            random_state=seed,
            n_jobs=self.n_jobs,
        )
        with warnings.catch_warnings():
            # Shrinkage makes directions harmless that the data does not determine.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(samples.data, mask=samples.mask, callback=progress)  # type: ignore[arg-type]
        return model

    def _choose(self, samples: Samples, seed: int, progress: Progress | None) -> tuple[int, GASG21 | None]:
        """Return the dimension that best predicts entries of samples that were not fitted.

        If a callback ends the search, its best fit comes with it.
        """
        held = np.random.default_rng(seed).permutation(samples.n_samples) < samples.n_samples // 4
        fitted, rest = _some(samples, ~held), _some(samples, held)
        best, model_of_best = 1, None
        for tried, d in enumerate(d for d in _CANDIDATES if d < samples.n_features):
            try:
                model = self._fit_subspace(fitted, d, seed, None if progress is None else progress.silent())
            except InvalidInputError:  # no sample observes more than d entries
                if d == 1:
                    raise
                break
            self.scores_[d] = held_out.score(model._current().subspace, rest, n_threads(self.n_jobs))
            if d == 1 or 1 - self.scores_[d] < _GAIN * (1 - self.scores_[best]):
                best, model_of_best = d, model
            self.history_.append({"stage": "search", "n_components": d, "score": self.scores_[d]})
            if progress is not None and progress.on_pass(self.history_[-1]):
                return best, model_of_best
            if tried - _CANDIDATES.index(best) >= _PATIENCE:
                break
        return best, None


def _some(samples: Samples, rows: Array) -> Samples:
    return replace(samples, data=samples.data[rows], mask=None if samples.mask is None else samples.mask[rows])
