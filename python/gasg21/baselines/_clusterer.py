"""What the clustering methods share: `fit`, its door, and the warning of an unfinished iteration."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import validate_data

from gasg21._data.samples import Array, check_integer, unchanged_on_error
from gasg21.exceptions import ConvergenceWarning, InvalidInputError

_LARGEST = 1e100  # squares, and sums and products of a few, do not overflow
Self = TypeVar("Self", bound="SubspaceClusterer")


class SubspaceClusterer(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """A method that puts complete samples into n_clusters clusters, one for each subspace."""

    n_clusters: int
    labels_: Array
    n_iter_: int
    converged_: bool

    def fit(self: Self, X: Any, y: None = None) -> Self:
        """Find the cluster of each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Complete samples.
        y : None
            Not used.
        """
        with unchanged_on_error(self):
            X = self._check_data(X)
            n_clusters = check_integer("n_clusters", self.n_clusters, 1, len(X), "n_samples = ")
            self.labels_, self.n_iter_, self.converged_ = self._cluster(X, n_clusters)
        if not self.converged_:
            name = type(self).__name__
            msg = f"{name} stopped after max_iter={self.n_iter_} iterations, before it reached its tolerance"
            warnings.warn(msg, ConvergenceWarning, stacklevel=2)
        return self

    @abstractmethod
    def _cluster(self, X: Array, n_clusters: int) -> tuple[Array, int, bool]:
        """Check the other parameters; return the labels, the iterations, and whether they converged."""

    def _check_data(self, X: Any, *, reset: bool = True) -> Array:
        """Return X in float64; refuse what is not a complete, finite, dense matrix."""
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
        if (largest := float(np.abs(X).max())) > _LARGEST:
            msg = f"Input X has an entry of size {largest:g}; {name} squares them, and needs at most {_LARGEST:g}"
            raise InvalidInputError(msg)
        return np.asarray(X)

    def _refuse_missing(self, count: int, how: str) -> None:
        msg = (
            f"Input X has {count} missing entries ({how}); {type(self).__name__} needs complete samples: "
            "fill them in first, for instance by GASG21(...).fit(X).complete(X)"
        )
        raise InvalidInputError(msg)


def check_flag(name: str, value: Any) -> bool:
    """Refuse a value that is not True or False."""
    if not isinstance(value, bool | np.bool_):
        msg = f"{name}={value!r} must be True or False"
        raise InvalidInputError(msg)
    return bool(value)
