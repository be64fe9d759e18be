"""Outlier Pursuit: split the data into a low-rank matrix and a few nonzero rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gasg21._data.constructor import integer, number, parameter, with_parameters
from gasg21._data.parameters import check_choice, check_number
from gasg21._support.arrays import Array
from gasg21._support.progress import History
from gasg21.baselines._base_subspace import IterativeSubspace, Solution
from gasg21.baselines._linear_algebra import coordinates, partial_svd, shrink_singular_values, to_features

# Usual constants of ADMM. On seven problems they needed between a third and a half of the iterations that 1, 1 and 10
# needed.
_RELAXATION = 1.6  # over-relaxation
_PENALTY_PERIOD = 10  # iterations between two changes of the penalty
_RESIDUAL_RATIO = 3.0  # the penalty changes if the primal and dual residuals differ by more than this factor


def _check_regularization(name: str, value: Any) -> None:
    if isinstance(value, str):
        check_choice(name, value, ("published", "log"))
    else:
        check_number(name, value, 0, open_low=True)


@with_parameters
class OutlierPursuit(IterativeSubspace):
    """Robust PCA via Outlier Pursuit (Xu, Caramanis and Sanghavi).

    Minimizes ``|L|_* + regularization * sum_j |x_j - l_j|`` over the matrices L of the shape of X. The problem is
    convex. The nuclear norm makes L low-rank, and the sum of lengths makes whole rows of S = X - L zero. The leading
    right singular vectors of L span the subspace. The solver is the alternating direction method of multipliers
    (ADMM) with an adaptive penalty and partial singular value decompositions.

    Use it if you do not know the dimension and the outliers are few; `rank_` is the dimension that it found. The
    optimization does not use n_components. It needs tens to hundreds of singular value decompositions.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal basis of the subspace. If the rank of L is smaller, the principal directions of S complete it.
    rank_ : int
        Rank of L.
    low_rank_ : ndarray of shape (n_samples, n_features)
        The matrix L. Up to `tol`, ``X - low_rank_`` is zero in the rows of inliers.
    regularization_ : float
        The weight that was used.
    n_components_, n_features_in_ : int
        Dimension of the subspace and number of features.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        True if the fit reached `tol` and found n_components dimensions.
    status_ : {"converged", "max_iter", "rank_deficient", "interrupted"}
        How the fit ended.
    offset_ : float
        Threshold of `predict`: ``decision_function(X) = score_samples(X) - offset_``.
    history_ : list of dict
        One record per iteration: the "primal" and "dual" residuals, the "rank" of L and the "penalty" of ADMM.

    Notes
    -----
    An iteration takes O(n_samples * n_features * (rank + 1)) time if the data is large and L has low rank,
    O(n_samples * n_features * min(n_samples, n_features)) otherwise. Memory is a few matrices of the size of the
    data.

    References
    ----------
    H. Xu, C. Caramanis and S. Sanghavi, "Robust PCA via outlier pursuit", IEEE Transactions on Information Theory
    58, 2012.

    H. Zhang, Z. Lin, C. Zhang and E. Chang, "Exact recoverability of robust PCA via outlier pursuit with tight
    recovery bounds", AAAI 2015.

    Examples
    --------
    >>> from gasg21.baselines import OutlierPursuit
    >>> from gasg21.datasets import make_low_rank
    >>> from gasg21.metrics import subspace_angle
    >>> data = make_low_rank(300, 20, 2, outlier_fraction=0.1, random_state=0)
    >>> model = OutlierPursuit(n_components=2).fit(data.data)
    >>> bool(subspace_angle(model.components_, data.basis) < 1e-4)
    True
    """

    n_components: int = parameter(
        default=1,
        kw_only=False,
        kind="int",
        text="Dimension of the subspace to return, in [1, n_features - 1].",
    )
    regularization: str | float = parameter(
        default="published",
        kind='{"published", "log"} or float',
        text="""Weight of the outliers. A float must be positive. "published" is the authors' value, 3 / (7 sqrt(gamma
        n_samples)), where gamma is the fraction of outliers. Here gamma is the largest fraction that their theorem
        allows for incoherent inliers, 9 / (9 + 121 n_components), because the guarantee holds for all smaller
        fractions. (A larger gamma, such as the true fraction, gives L = 0.) "log" is 1 / sqrt(log n_samples), the
        parameter-free value of Zhang, Lin, Zhang and Chang, which tolerates more outliers.""",
        check=_check_regularization,
    )
    tol: float = parameter(
        default=1e-7,
        kind="float",
        text="""Stop if the primal residual, relative to the norm of X, and the dual residual, relative to the norm of
        the multipliers, are at most this large.""",
        check=number(0),
    )
    max_iter: int = parameter(
        default=500,
        kind="int",
        text="Maximum number of iterations.",
        check=integer(1),
    )

    def _solve(self, X: Array, d: int) -> Solution:
        regularization = self._regularization(len(X), d)
        Z, B = coordinates(X)
        found = outlier_pursuit(Z, regularization, self.tol, self.max_iter)
        rows = found.Vt[:d]
        if len(rows) < d:
            rest = Z - found.L
            rows = np.vstack([rows, partial_svd(rest - (rest @ rows.T) @ rows, d - len(rows))[2]])
            rows = np.linalg.qr(rows.T)[0].T
        return Solution(
            to_features(rows, B),
            len(found.history),
            found.converged,
            found.history,
            extra={"rank_": len(found.Vt), "regularization_": regularization},
            scaled_extra={"low_rank_": to_features(found.L, B)},
        )

    def _regularization(self, n_samples: int, d: int) -> float:
        if not isinstance(self.regularization, str):
            return float(self.regularization)
        if self.regularization == "log":
            return float(1 / np.sqrt(np.log(max(n_samples, 3))))
        gamma = 9 / (9 + 121 * d)  # gamma / (1 - gamma) = 9 / (121 mu d) with incoherence mu = 1
        return float(3 / (7 * np.sqrt(gamma * n_samples)))


@dataclass
class Pursuit:
    """Split X = L + S with the multiplier Y; after convergence Y is a subgradient of both terms."""

    L: Array
    S: Array
    Y: Array
    Vt: Array  # right singular vectors of L
    converged: bool
    history: list[dict[str, Any]]


def outlier_pursuit(X: Array, regularization: float, tol: float, max_iter: int) -> Pursuit:
    """Minimize ``|L|_* + regularization * sum_j |s_j|`` subject to X = L + S, by ADMM."""
    size = float(np.linalg.norm(X))
    S, Y = np.zeros_like(X), np.zeros_like(X)
    # The first threshold is a tenth of the largest singular value. Later the residuals determine the penalty.
    penalty = 10 / float(partial_svd(X, 1)[1][0])
    history = History()
    rank, converged = 0, False
    while not (converged or history.ended) and len(history) < max_iter:
        L, Vt = shrink_singular_values(X - S + Y / penalty, 1 / penalty, rank + 5)
        rank = len(Vt)
        relaxed = _RELAXATION * L + (1 - _RELAXATION) * (X - S)
        before, S = S, shrink_rows(X - relaxed + Y / penalty, regularization / penalty)
        Y = Y + penalty * (X - relaxed - S)
        primal = float(np.linalg.norm(X - L - S)) / size
        dual = penalty * float(np.linalg.norm(S - before)) / max(float(np.linalg.norm(Y)), 1.0)
        history.append({"primal": primal, "dual": dual, "rank": rank, "penalty": penalty})
        converged = max(primal, dual) <= tol
        if len(history) % _PENALTY_PERIOD == 0:
            penalty *= 2.0 if primal > _RESIDUAL_RATIO * dual else 0.5 if dual > _RESIDUAL_RATIO * primal else 1.0
    return Pursuit(L, S, Y, Vt, converged, history)


def shrink_rows(M: Array, threshold: float) -> Array:
    """Subtract the threshold from the length of each row of M, down to 0."""
    lengths = np.linalg.norm(M, axis=1, keepdims=True)
    return np.asarray(M * np.maximum(1 - threshold / np.maximum(lengths, np.finfo(np.float64).tiny), 0))
