"""The shell that the batch baselines share, and the linear algebra that several of them need.

All of them take complete, dense data and work on it uncentred, as GASG21 does. They compute in float64
on data scaled so that its longest sample has length 1, which changes no answer and lets nothing overflow.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import svds
from sklearn.utils.validation import check_is_fitted

from gasg21._estimators.subspace import SubspaceMixin, null_offset
from gasg21._data.samples import (
    Array,
    Samples,
    check_components,
    check_number,
    check_samples,
    unchanged_on_error,
)
from gasg21.exceptions import ConvergenceWarning, InvalidInputError

_DENSE = 400  # up to this size a whole SVD is as quick as a partial one


@dataclass
class Solution:
    """What a solver found.

    ``extra`` is published as further attributes, ``lengths`` too, but in units of the data.
    """

    components: Array  # (d or fewer, n), orthonormal
    n_iter: int = 1
    converged: bool = True
    history: list[dict[str, Any]] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)
    lengths: dict[str, Array] = field(default_factory=dict)


class CompleteDataSubspace(SubspaceMixin):
    """A subspace from data without missing entries: validation, labels, tags."""

    # What GASG21 has as parameters: infinities are refused, and there are no absent entries.
    on_bad: ClassVar[str] = "raise"
    absent: ClassVar[str] = "zero"

    contamination: str | float
    n_components: int
    n_components_: int
    n_features_in_: int

    def _check_complete(self, X: Any, mask: Any, *, reset: bool, dtype: np.dtype[Any] | None = None) -> Samples:
        """Validate dense data in which nothing is missing."""
        name = type(self).__name__
        if sp.issparse(X):
            msg = f"X is a sparse matrix; {name} takes dense arrays only (X.toarray())"
            raise InvalidInputError(msg)
        samples = check_samples(self, X, mask, reset=reset, dtype=dtype)
        masked = samples.mask is not None and not samples.mask.all()
        if masked or any(np.isnan(block.payload).any() for block in samples.chunks()):
            msg = f"Input X contains NaN or masked entries; {name} needs complete data (GASG21 and GROUSE do not)"
            raise InvalidInputError(msg)
        return samples

    def _check_new(self, X: Any, mask: Any) -> Samples:
        check_is_fitted(self)
        return self._check_complete(X, mask, reset=False, dtype=self.components_.dtype)

    def _check_contamination(self) -> None:
        if not isinstance(self.contamination, str) or self.contamination != "auto":
            check_number("contamination", self.contamination, 0, 0.99, open_low=True)

    def _publish_components(self, components: Array, samples: Samples) -> None:
        self.components_ = np.ascontiguousarray(components, samples.dtype)
        self.n_components_ = len(components)
        self.offset_ = null_offset(samples.n_features, self.n_components_)
        if self.contamination != "auto":
            scores = self._telling_scores(samples)
            scores = scores[~np.isnan(scores)]
            if len(scores):
                self.offset_ = float(np.percentile(scores, 100 * float(self.contamination)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        tags.input_tags.sparse = False
        return tags


class BatchSubspace(CompleteDataSubspace):
    """A subspace that a solver finds from the whole matrix of samples."""

    n_iter_: int
    converged_: bool
    status_: str
    history_: list[dict[str, Any]]

    def fit(self, X: Any, y: None = None, mask: Any = None) -> BatchSubspace:
        """Find the subspace.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            One sample per row; dense and complete. Data is not centred.
        y : ignored
        mask : bool array of the shape of X, optional
            There for the common interface; True everywhere.

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            self._check_contamination()
            self._check_parameters()
            samples = self._check_complete(X, mask, reset=True)
            d = check_components(self.n_components, samples.n_features)
            X, unit = scaled(np.asarray(samples.data))
            found = self._solve(X, d)
            rank = len(found.components)
            self._publish_components(completed_basis(found.components, d), samples)
            self.n_iter_, self.history_ = found.n_iter, found.history
            self.converged_ = found.converged and rank == d
            self.status_ = "rank_deficient" if rank < d else "converged" if found.converged else "max_iter"
            for name, value in found.extra.items():
                setattr(self, name, value)
            for name, value in found.lengths.items():
                setattr(self, name, unit * value)
        self._warn_unless_converged(rank)
        return self

    def _check_parameters(self) -> None:
        """Refuse parameters of the method that are out of range."""

    @abstractmethod
    def _solve(self, X: Array, d: int) -> Solution:
        """Find the subspace of complete float64 samples, the longest of length 1."""

    def _warn_unless_converged(self, rank: int) -> None:
        if self.converged_:
            return
        msg = f"max_iter={getattr(self, 'max_iter', 1)} iterations were not enough for tol={getattr(self, 'tol', 0)}."
        if self.status_ == "rank_deficient":
            msg = f"only {rank} of n_components={self.n_components_} dimensions were found; the others are arbitrary."
        warnings.warn(msg, ConvergenceWarning, stacklevel=3)


def scaled(X: Array) -> tuple[Array, float]:
    """Return the samples in float64, scaled so that the longest has length 1, and its length."""
    X = np.array(X, np.float64, order="C")
    largest = np.abs(X).max()
    if largest == 0:
        msg = "X is zero everywhere; it must span a subspace"
        raise InvalidInputError(msg)
    X /= largest
    longest = np.linalg.norm(X, axis=1).max()
    X /= longest
    return X, float(largest * longest)


def unit_rows(X: Array) -> Array:
    """Return each sample scaled to unit length ("spherized"), without samples of zeros."""
    largest = np.abs(X).max(axis=1)
    X = X[largest > 0] / largest[largest > 0, None]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X


def coordinates(X: Array) -> tuple[Array, Array | None]:
    """Return (Z, B) with X = Z B, orthonormal rows of B, and no more columns in Z than samples.

    B is None, for the identity, where there are no more features than samples. What is invariant under
    rotation may be computed on Z instead of X.
    """
    if X.shape[1] <= len(X):
        return X, None
    q, r = scipy.linalg.qr(X.T, mode="economic", check_finite=False)
    return np.ascontiguousarray(r.T), q.T


def in_features(rows: Array, B: Array | None) -> Array:
    """Turn rows in the coordinates of `coordinates` back into rows of features."""
    return rows if B is None else rows @ B


def partial_svd(X: Array, count: int) -> tuple[Array, Array, Array]:
    """Return the leading singular triplets U, s, V^T, largest first."""
    count = min(count, *X.shape)
    if min(X.shape) <= _DENSE or 5 * count > min(X.shape):
        U, s, Vt = scipy.linalg.svd(X, full_matrices=False, check_finite=False)
        return U[:, :count], s[:count], Vt[:count]
    start = np.random.default_rng(0).standard_normal(min(X.shape))  # the same bits every time
    U, s, Vt = svds(X, count, v0=start)
    order = np.argsort(s)[::-1]
    return U[:, order], s[order], Vt[order]


def principal_rows(X: Array, d: int) -> Array:
    """Return the d leading right singular vectors, fewer if X has a smaller rank."""
    _, s, Vt = partial_svd(X, d)
    kept: Array = Vt[s > max(X.shape) * np.finfo(np.float64).eps * s[0]]
    return kept


def completed_basis(rows: Array, d: int) -> Array:
    """Return d orthonormal rows: the given ones, then arbitrary ones."""
    if len(rows) == d:
        return rows
    others = np.random.default_rng(0).standard_normal((d - len(rows), rows.shape[1]))
    basis: Array = np.linalg.qr(np.vstack([rows, others]).T)[0].T
    basis[: len(rows)] = rows
    return basis


def largest_angle(A: Array, B: Array) -> float:
    """Return the largest angle between subspaces of one dimension, from orthonormal rows, by its sine."""
    return float(np.arcsin(min(1.0, float(np.linalg.norm(B - (B @ A.T) @ A, 2)))))
