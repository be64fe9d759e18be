"""Base classes of the baselines that find one subspace.

They take complete, dense data and do not center it. They compute in float64 on data that is scaled so that the
longest sample has length 1. The scale does not change the subspace, and nothing overflows.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from gasg21._data.constructor import check_parameters, integer, number, or_auto, parameter, with_parameters
from gasg21._data.parameters import check_callback, check_components, null_offset
from gasg21._data.samples import Samples, check_samples
from gasg21._estimators.subspace import SubspaceMixin
from gasg21._support.arrays import Array
from gasg21._support.guarded import drafted
from gasg21._support.progress import History, PassCallback, watched_iterations
from gasg21.baselines._linear_algebra import completed_basis, scaled
from gasg21.exceptions import ConvergenceWarning, InvalidInputError

Self = TypeVar("Self", bound="SubspaceBaseline")


@dataclass
class Solution:
    """Result of a solver."""

    components: Array  # (d, n), orthonormal rows; fewer rows if the solver found fewer dimensions
    n_iter: int = 1
    converged: bool = True
    history: list[dict[str, Any]] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)  # further attributes of the estimator
    scaled_extra: dict[str, Array] = field(default_factory=dict)  # the same, to be multiplied by the scale of X


@with_parameters
class BaselineParameters:
    """Parameters of every method that finds one subspace."""

    n_components: int = parameter(
        default=1, kw_only=False, kind="int", text="Dimension of the subspace, in [1, n_features - 1]."
    )
    contamination: str | float = parameter(
        default="auto",
        kind='"auto" or float',
        text="How `predict` finds outliers; see `gasg21.GASG21`. A float must be in (0, 0.99].",
        check=or_auto(number(0, 0.99, open_low=True)),
    )


@with_parameters
class IterativeParameters:
    """Parameters of every method that iterates. A subclass declares `tol` and `max_iter` with its own defaults."""

    tol: float = parameter(default=0.0, kind="float", text="Stop below this change.", check=number(0))
    max_iter: int = parameter(default=100, kind="int", text="Maximum number of iterations.", check=integer(1))
    verbose: int = parameter(default=0, kind="int", text="1 shows a progress bar, 2 prints a line for each iteration.")


class SubspaceBaseline(BaselineParameters, SubspaceMixin):
    """A method that finds one subspace from complete, dense data.

    A subclass implements `_solve`.
    """

    # `check_samples` reads these two. GASG21 has them as parameters.
    on_bad: ClassVar[str] = "raise"
    absent: ClassVar[str] = "zero"
    verbose: int = 0  # methods that iterate have it as a parameter

    n_components_: int
    n_features_in_: int
    n_iter_: int
    converged_: bool
    status_: str
    history_: list[dict[str, Any]]

    def fit(self: Self, X: Any, y: None = None, mask: Any = None, *, callback: PassCallback | None = None) -> Self:
        """Find the subspace.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples. X must be dense and complete. It is not centered.
        y : None
            Ignored.
        mask : bool array of shape (n_samples, n_features), optional
            Part of the interface that all subspace estimators share. If given, every entry must be True.
        callback : callable, optional
            Called with the record of each iteration, a dict as in `history_`. If it returns something true, the fit
            ends there, with ``status_ = "interrupted"``.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        check_callback(callback)
        with drafted(self) as draft, watched_iterations(type(self).__name__, int(self.verbose), callback):
            rank = draft._fit(X, mask)
        if draft.status_ != "interrupted" and not draft.converged_ and (msg := draft._convergence_message(rank)):
            warnings.warn(msg, ConvergenceWarning, stacklevel=2)
        return self

    def _fit(self, X: Any, mask: Any) -> int:
        """Fit a draft. Returns how many dimensions the solver found."""
        self._check_parameters()
        samples = self._check_complete(X, mask, reset=True)
        d = check_components(self.n_components, samples.n_features)
        X, scale = scaled(np.asarray(samples.data))
        found = self._solve(X, d)
        rank = len(found.components)
        self._publish_components(completed_basis(found.components, d), samples)
        self.n_iter_, self.history_ = found.n_iter, list(found.history)
        self.converged_ = found.converged and rank == d
        ended = "interrupted" if isinstance(found.history, History) and found.history.ended else "max_iter"
        self.status_ = "rank_deficient" if rank < d else "converged" if found.converged else ended
        for name, value in found.extra.items():
            setattr(self, name, value)
        for name, value in found.scaled_extra.items():
            setattr(self, name, scale * value)
        return rank

    @abstractmethod
    def _solve(self, X: Array, d: int) -> Solution:
        """Find a d-dimensional subspace of complete float64 samples; the longest sample has length 1."""

    def _check_parameters(self) -> None:
        check_parameters(self)

    def _check_complete(self, X: Any, mask: Any, *, reset: bool, dtype: np.dtype[Any] | None = None) -> Samples:
        """Validate X; refuse sparse matrices and missing entries."""
        name = type(self).__name__
        if sp.issparse(X):
            msg = f"X is a sparse matrix; {name} accepts dense arrays only: use X.toarray()"
            raise InvalidInputError(msg)
        samples = check_samples(self, X, mask, reset=reset, dtype=dtype)
        masked = samples.mask is not None and not samples.mask.all()
        if masked or any(np.isnan(samples.dense(batch.rows)).any() for batch in samples.pieces()):
            msg = (
                f"Input X contains NaN or masked entries; {name} needs complete data. "
                "GASG21, GROUSE and GRASTA accept missing entries."
            )
            raise InvalidInputError(msg)
        return samples

    def _check_new(self, X: Any, mask: Any) -> Samples:
        check_is_fitted(self)
        return self._check_complete(X, mask, reset=False, dtype=self.components_.dtype)

    def _publish_components(self, components: Array, samples: Samples) -> None:
        """Set the subspace and the threshold of `predict`."""
        self.components_ = np.ascontiguousarray(components, samples.dtype)
        self.n_components_ = len(components)
        self.offset_ = null_offset(samples.n_features, self.n_components_)
        if self.contamination != "auto":
            scores = -self._residuals(samples, telling=True)
            scores = scores[~np.isnan(scores)]
            if len(scores):
                self.offset_ = float(np.percentile(scores, 100 * float(self.contamination)))

    def _convergence_message(self, rank: int) -> str:
        """Say why the fit did not converge, for the warning; an empty message means no warning."""
        name = type(self).__name__
        return (
            f"{name} found only {rank} of n_components={self.n_components_} dimensions; "
            "the other directions are arbitrary"
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        tags.input_tags.sparse = False
        return tags


class IterativeSubspace(IterativeParameters, SubspaceBaseline):
    """A method that iterates until a tolerance or a maximum number of iterations is reached."""

    def _convergence_message(self, rank: int) -> str:
        if self.status_ == "rank_deficient":
            return super()._convergence_message(rank)
        name = type(self).__name__
        return f"{name} stopped after max_iter={self.max_iter} iterations, before it reached tol={self.tol}"
