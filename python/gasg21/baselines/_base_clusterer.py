"""Base class of the baselines that cluster samples by subspace."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import validate_data

from gasg21._data.constructor import parameter, with_parameters
from gasg21._data.parameters import check_callback, check_integer
from gasg21._estimators.saving import Savable
from gasg21._support.arrays import Array
from gasg21._support.guarded import drafted
from gasg21._support.progress import History, PassCallback, watched_iterations
from gasg21.exceptions import ConvergenceWarning, InvalidInputError

_LARGEST_ENTRY = 1e100  # sums of products of two squares do not overflow
Self = TypeVar("Self", bound="SubspaceClusterer")


@with_parameters
class ClustererParameters:
    """Parameters of every method that finds clusters. Each checks its own beside the data."""

    n_clusters: int = parameter(default=2, kw_only=False, kind="int", text="Number of subspaces.")
    random_state: Any = parameter(default=None, kind="int, RandomState, Generator or None", text="Seed of k-means.")
    verbose: int = parameter(default=0, kind="int", text="1 shows a progress bar, 2 prints a line for each iteration.")


class SubspaceClusterer(ClustererParameters, Savable, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """A method that divides complete samples into n_clusters clusters, one for each subspace.

    A subclass implements `_cluster`.
    """

    tol: float  # of those that iterate
    max_iter: int
    n_features_in_: int
    labels_: Array
    n_iter_: int
    converged_: bool
    status_: str
    history_: list[dict[str, Any]]

    def fit(self: Self, X: Any, y: None = None, *, callback: PassCallback | None = None) -> Self:
        """Find the cluster of each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples. X must be dense, complete and finite.
        y : None
            Ignored.
        callback : callable, optional
            Called with the record of each iteration, a dict as in `history_`. If it returns something true, the
            iteration ends there, the samples are clustered by what it reached, and ``status_ = "interrupted"``.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        check_callback(callback)
        with drafted(self) as draft, watched_iterations(type(self).__name__, int(self.verbose), callback):
            X = draft._check_data(X)
            n_clusters = check_integer("n_clusters", draft.n_clusters, 1, len(X), "n_samples = ")
            history = History()
            draft.labels_, draft.n_iter_, draft.converged_ = draft._cluster(X, n_clusters, history)
            draft.history_ = list(history)
            ended = "interrupted" if history.ended else "max_iter"
            draft.status_ = "converged" if draft.converged_ else ended
        if draft.status_ == "max_iter":
            name = type(self).__name__
            msg = f"{name} stopped after max_iter={self.max_iter} iterations, before it reached tol={self.tol}"
            warnings.warn(msg, ConvergenceWarning, stacklevel=2)
        return self

    @abstractmethod
    def _cluster(self, X: Array, n_clusters: int, history: History) -> tuple[Array, int, bool]:
        """Check the remaining parameters and cluster the samples.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Complete float64 samples.
        n_clusters : int
            Number of clusters.
        history : History
            Takes a record of each iteration. The iteration ends if ``history.ended`` says so.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        n_iter : int
            Number of iterations.
        converged : bool
            Whether the iteration reached `tol`.
        """

    def _check_data(self, X: Any, *, reset: bool = True) -> Array:
        """Return X as float64; refuse data that is not complete, finite and dense."""
        name = type(self).__name__
        if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
            self._refuse_missing(int(np.ma.getmaskarray(X).sum()), "masked")
        X = validate_data(
            self, X, reset=reset, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=2 if reset else 1
        )
        if missing := int(np.isnan(X).sum()):
            self._refuse_missing(missing, "NaN")
        if not np.isfinite(X).all():
            row, column = np.argwhere(~np.isfinite(X))[0]
            msg = f"Input X contains infinity at row {row}, column {column}; {name} needs finite entries"
            raise InvalidInputError(msg)
        if (largest := float(np.abs(X).max())) > _LARGEST_ENTRY:
            msg = (
                f"Input X contains an entry of absolute value {largest:g}; {name} squares the entries and accepts "
                f"absolute values of at most {_LARGEST_ENTRY:g}"
            )
            raise InvalidInputError(msg)
        return np.asarray(X)

    def _refuse_missing(self, count: int, kind: str) -> None:
        msg = (
            f"Input X contains {count} missing entries ({kind}); {type(self).__name__} needs complete samples. "
            "Fill them in first, for example with GASG21(...).fit(X).complete(X)."
        )
        raise InvalidInputError(msg)
