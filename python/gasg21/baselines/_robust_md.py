"""RobustMD: solve the problem of REAPER one sample at a time, by mirror descent."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from gasg21._data.constructor import integer, number, or_auto, parameter, with_parameters
from gasg21._data.parameters import check_components, seed_of
from gasg21._support.arrays import Array
from gasg21._support.guarded import drafted
from gasg21._support.progress import History
from gasg21._support.trees import store
from gasg21.baselines._base_subspace import IterativeSubspace, Solution
from gasg21.baselines._linear_algebra import largest_angle, unit_rows
from gasg21.exceptions import InvalidInputError, ModelFormatError

_ORTHONORMALIZE_EVERY = 1000  # samples between two orthonormalizations of the eigenvectors


@with_parameters
class RobustMD(IterativeSubspace):
    """Robust stochastic PCA by mirror descent (Goes, Zhang, Arora and Lerman).

    Minimizes ``E |Q x|`` over the symmetric matrices Q with ``0 <= Q <= I / (n - d)`` and trace 1. This is the problem
    of `REAPER` for the orthogonal complement: Q = (I - P) / (n - d). Each sample, scaled to unit length, makes one
    step of mirror descent in the quantum relative entropy,
    ``log Q <- log Q - step (x x^T Q + Q x x^T) / (2 |Q x|)``, followed by a projection that bounds the eigenvalues.
    The step of sample t is ``1 / sqrt(t)``, as in the paper. The eigenvectors of the n_components smallest
    eigenvalues span the subspace.

    Use it for a stream with few features, if an accuracy of two digits is enough and you want the convex problem of
    REAPER.

    Parameters
    ----------
    n_components : int, default=1
        Dimension of the subspace, in [1, n_features - 1].
    step_size : float, default=1
        Factor of the authors' step 1 / sqrt(t). It must be positive.
    tol : float, default=0
        `fit` stops if a pass over the data rotates the subspace by at most this angle, in radians. With 0 it uses
        max_iter samples, as the authors do.
    max_iter : int, default=3000
        Maximum number of samples that `fit` uses, in shuffled passes. The default is the one of the
        authors' experiments.
    contamination : "auto" or float, default="auto"
        How `predict` finds outliers; see `gasg21.GASG21`. A float must be in (0, 0.99].
        `partial_fit` applies it to its last batch.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the order in which `fit` uses the samples.
    verbose : int, default=0
        1 shows a progress bar, 2 prints a line for each iteration.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal basis of the subspace.
    n_components_, n_features_in_ : int
        Dimension of the subspace and number of features.
    n_iter_ : int
        Number of samples used.
    converged_ : bool
        True if `fit` reached `tol`.
    status_ : {"converged", "max_iter", "interrupted"}
        How `fit` ended.
    offset_ : float
        Threshold of `predict`: ``decision_function(X) = score_samples(X) - offset_``.
    history_ : list of dict
        One record per pass of `fit`. "n_iter" is the number of samples used so far, "moved" the angle by which the
        pass rotated the subspace.

    Notes
    -----
    If k eigenvalues are below their bound, a sample takes O(n_features^2 + n_features * k^2) time. Usually k is a
    few times n_components; at worst it is n_features. The published code decomposes an n_features x n_features
    matrix for each sample. Memory is O(n_features^2), whatever the number of samples. Convergence is sublinear: the
    angle decreases like a power of the number of samples.

    References
    ----------
    J. Goes, T. Zhang, R. Arora and G. Lerman, "Robust stochastic principal component analysis", AISTATS 2014.

    Examples
    --------
    >>> from gasg21.baselines import RobustMD
    >>> from gasg21.datasets import make_low_rank
    >>> from gasg21.metrics import subspace_angle
    >>> data = make_low_rank(2000, 10, 2, outlier_fraction=0.2, random_state=0)
    >>> model = RobustMD(n_components=2, random_state=0).partial_fit(data.data)
    >>> bool(subspace_angle(model.components_, data.basis) < 0.1)
    True
    """

    _descent: MirrorDescent

    step_size: float = parameter(
        default=1.0,
        kind="float",
        text="Factor of the authors' step 1 / sqrt(t). It must be positive.",
        check=number(0, open_low=True),
    )
    tol: float = parameter(
        default=0.0,
        kind="float",
        text="""`fit` stops if a pass over the data rotates the subspace by at most this angle, in radians. With 0 it
        uses max_iter samples, as the authors do.""",
        check=number(0),
    )
    max_iter: int = parameter(
        default=3000,
        kind="int",
        text="""Maximum number of samples that `fit` uses, in shuffled passes. The default is that of the authors'
        experiments.""",
        check=integer(1),
    )
    contamination: str | float = parameter(
        default="auto",
        kind='"auto" or float',
        text="""How `predict` finds outliers; see `gasg21.GASG21`. A float must be in (0, 0.99]. `partial_fit` applies
        it to its last batch.""",
        check=or_auto(number(0, 0.99, open_low=True)),
    )
    random_state: Any = parameter(
        default=None,
        kind="int, RandomState, Generator or None",
        text="Seed of the order in which `fit` uses the samples.",
    )

    def _solve(self, X: Array, d: int) -> Solution:
        rows = unit_rows(X)
        descent = MirrorDescent(X.shape[1], d)
        rng = np.random.default_rng(seed_of(self.random_state))
        history = History()
        converged = False
        while not (converged or history.ended) and descent.n_seen < self.max_iter:
            before = descent.components()
            for j in rng.permutation(len(rows))[: self.max_iter - descent.n_seen]:
                descent.update(rows[j], self.step_size)
            moved = largest_angle(before, descent.components())
            history.append({"n_iter": descent.n_seen, "moved": moved})
            converged = self.tol > 0 and moved <= self.tol
        return Solution(descent.components(), descent.n_seen, converged, history, {"_descent": descent})

    def partial_fit(self, X: Any, y: None = None, mask: Any = None) -> RobustMD:
        """Update the subspace with each sample, in the given order, and continue from earlier calls.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples. X must be dense and complete.
        y : None
            Ignored.
        mask : bool array of shape (n_samples, n_features), optional
            If given, every entry must be True.

        Returns
        -------
        self : object
            The updated estimator.
        """
        with drafted(self) as draft:
            draft._partial_fit(X, mask)
        return self

    def _partial_fit(self, X: Any, mask: Any) -> None:
        """Update a draft."""
        self._check_parameters()
        first = not hasattr(self, "_descent")
        dtype = None if first else self.components_.dtype
        samples = self._check_complete(X, mask, reset=first, dtype=dtype)
        d = check_components(self.n_components, samples.n_features)
        if not first and d != self.n_components_:
            msg = (
                f"n_components={d} must be {self.n_components_}, as in the first call of partial_fit; "
                "call fit to start again"
            )
            raise InvalidInputError(msg)
        descent = MirrorDescent(samples.n_features, d) if first else self._descent.copy()
        for row in unit_rows(np.asarray(samples.data, np.float64)):
            descent.update(row, self.step_size)
        self._descent = descent
        self.n_iter_ = descent.n_seen
        self._publish_components(descent.components(), samples)

    def _convergence_message(self, rank: int) -> str:
        return super()._convergence_message(rank) if self.tol > 0 else ""


class MirrorDescent:
    """The state of mirror descent: the eigendecomposition of Q.

    The eigenvalues are stored as logarithms, so that they do not underflow.

    Parameters
    ----------
    n : int
        Number of features.
    d : int
        Dimension of the subspace.

    Attributes
    ----------
    n_seen : int
        Number of samples used.
    vectors : ndarray of shape (n, n)
        Eigenvectors of Q, as columns.
    log_values : ndarray of shape (n,)
        Logarithms of the eigenvalues, in descending order.
    """

    def __init__(self, n: int, d: int) -> None:
        self.d = d
        self.n_seen = 0
        self.vectors = np.eye(n, order="F")
        self.log_values = np.full(n, -np.log(n))

    def copy(self) -> MirrorDescent:
        """Return an independent copy."""
        other = MirrorDescent(len(self.log_values), self.d)
        other.n_seen, other.vectors, other.log_values = self.n_seen, self.vectors.copy("F"), self.log_values
        return other

    def components(self) -> Array:
        """Return the eigenvectors of the d smallest eigenvalues as rows, smallest eigenvalue first."""
        return np.array(self.vectors[:, : -self.d - 1 : -1].T)

    def update(self, x: Array, step_size: float) -> None:
        """Make one step for a sample of length 1."""
        self.n_seen += 1
        # The largest eigenvalues are all equal to their bound. Rotate their eigenvectors so that only the last of them
        # has a product with x. The step then changes only the eigenvectors from that one on.
        first = np.count_nonzero(self.log_values == self.log_values[0]) - 1
        y = self._align(x, first)  # x in the eigenbasis of Q
        Qy = np.exp(self.log_values[first:]) * y
        length = np.linalg.norm(Qy)
        if length == 0:
            return  # x lies in the subspace up to rounding
        cross = np.outer(y, Qy * (step_size / np.sqrt(self.n_seen) / (2 * length)))
        log_Q = np.diag(self.log_values[first:]) - cross - cross.T
        changed, rotation = scipy.linalg.eigh(log_Q, overwrite_a=True, check_finite=False)
        self.vectors[:, first:] = self.vectors[:, first:] @ rotation[:, ::-1]
        log_values = np.append(self.log_values[:first], changed[::-1])
        if log_values[first] > log_values[0]:  # at most one eigenvalue can exceed the bounded ones
            log_values[[0, first]] = log_values[[first, 0]]
            self.vectors[:, [0, first]] = self.vectors[:, [first, 0]]
        self.log_values = capped(log_values, len(x) - self.d)
        if self.n_seen % _ORTHONORMALIZE_EVERY == 0:
            self.vectors = np.asfortranarray(np.linalg.qr(self.vectors)[0])

    def _align(self, x: Array, last: int) -> Array:
        """Reflect the eigenvectors 0 to `last`, which share an eigenvalue, so that x is orthogonal to all but the last.

        Returns
        -------
        y : ndarray of shape (n - last,)
            Coordinates of x in the eigenvectors from `last` on.
        """
        y: Array = self.vectors.T @ x
        mirror = y[: last + 1].copy()
        length = np.linalg.norm(mirror)
        mirror[last] += np.copysign(length, mirror[last])
        if last > 0 and length > 0:
            group = self.vectors[:, : last + 1]
            group -= np.outer(group @ mirror, mirror * (2 / (mirror @ mirror)))
            y[last] = -np.copysign(length, y[last])
        return y[last:]


def capped(log_values: Array, most: int) -> Array:
    """Project eigenvalues onto the vectors with sum 1 and entries of at most ``1 / most``, in relative entropy.

    The projection is ``min(c * value, 1 / most)`` with the factor c that makes the sum 1. Fewer than `most` values
    reach the bound, because the others are positive.

    Parameters
    ----------
    log_values : ndarray of shape (n,)
        Logarithms of the eigenvalues, in descending order.
    most : int
        Inverse of the upper bound.

    Returns
    -------
    log_projected : ndarray of shape (n,)
        Logarithms of the projected eigenvalues.
    """
    log_rest = np.logaddexp.accumulate(log_values[::-1])[::-1][:most]  # of the sum of each value and all smaller ones
    log_c = np.log(1 - np.arange(most) / most) - log_rest  # for 0, 1, ... values at the bound
    fits = log_values[:most] + log_c <= -np.log(most)
    first = int(np.argmax(fits)) if fits.any() else most - 1  # by rounding none may fit
    return np.asarray(np.minimum(log_values + log_c[first], -np.log(most)))


def _from_stored(state: Any) -> MirrorDescent:
    vectors, log_values = np.asarray(state["vectors"], np.float64), np.asarray(state["log_values"], np.float64)
    made = MirrorDescent(len(log_values), int(state["d"]))
    if vectors.shape != made.vectors.shape or not 0 < made.d < len(log_values):
        msg = f"the eigenvectors have the shape {vectors.shape}"
        raise ModelFormatError(msg)
    made.n_seen, made.vectors, made.log_values = int(state["n_seen"]), np.asfortranarray(vectors), log_values
    return made


store(MirrorDescent, "MirrorDescent", lambda descent: dict(vars(descent)), _from_stored)
