"""Outlier Pursuit: the data as a low-rank matrix plus a few whole samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gasg21._validation import Array, check_choice, check_number
from gasg21.baselines._base_subspace import IterativeSubspace, Solution
from gasg21.baselines._linear_algebra import coordinates, partial_svd, to_features

# Over-relaxation, and how often the penalty is adapted and to keep the residuals within which ratio. (Usual
# values; on seven problems they took a third to a half of the iterations of none, 1 and 10.)
_RELAXATION, _PATIENCE, _RATIO = 1.6, 10, 3.0


class OutlierPursuit(IterativeSubspace):
    """Robust PCA via Outlier Pursuit (Xu, Caramanis and Sanghavi).

    Minimises ``|L|_* + regularization * sum_j |x_j - l_j|`` over matrices L of the shape of X, a convex problem:
    the nuclear norm makes L low-rank, the sum of lengths makes whole rows of S = X - L vanish. The subspace is
    spanned by the leading right singular vectors of L. Solved by the alternating direction method of
    multipliers with an adapted penalty and partial singular value decompositions.

    An iteration costs O(n_samples * n_features * (rank + 1)) on large data of low rank,
    O(n_samples * n_features * min(n_samples, n_features)) else, and a few matrices of the size of the data.

    Prefer it where the dimension is not known (`rank_` says what it found) and outliers are few. It does not
    use n_components in the optimisation, and needs tens to hundreds of singular value decompositions.

    Parameters
    ----------
    n_components : int
        Dimension of the subspace to return, in [1, n_features - 1].
    regularization : {"published", "log"} or float
        "published" is the authors' 3 / (7 sqrt(gamma n_samples)). Their gamma is the share of outliers; the
        value here is the largest one that their theorem admits, 9 / (9 + 121 n_components) for perfectly
        incoherent inliers, because their guarantee holds for all shares below. (The true share instead, above
        that, gives L = 0.) "log" is 1 / sqrt(log n_samples), the parameter-free value of Zhang, Lin, Zhang and
        Chang, which tolerates more outliers.
    tol : float
        Ends when the constraint and the optimality condition hold to this, relative to the size of X and of
        the multipliers.
    max_iter : int
        Iterations at most.
    contamination : "auto" or float in (0, 0.99]
        How `predict` decides; see `gasg21.GASG21`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal basis of the subspace; where L has a smaller rank, the principal directions of S
        complete it.
    rank_ : int
        Rank of L.
    low_rank_ : ndarray of shape (n_samples, n_features)
        L; what is left of a sample, X - L, is zero, up to `tol`, where it counts as an inlier.
    regularization_ : float
        The value used.
    n_iter_, converged_, status_, n_components_, offset_
        Iterations made, whether to `tol`, and how it ended ("converged", "max_iter", "rank_deficient").
    history_ : list of dict
        One record per iteration: "primal" and "dual" residuals, "rank", "penalty".

    References
    ----------
    H. Xu, C. Caramanis and S. Sanghavi, "Robust PCA via outlier pursuit", IEEE Trans. Information Theory 58, 2012.
    H. Zhang, Z. Lin, C. Zhang and E. Chang, "Exact recoverability of robust PCA via outlier pursuit with tight
    recovery bounds", AAAI 2015.
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        regularization: str | float = "published",
        tol: float = 1e-7,
        max_iter: int = 500,
        contamination: str | float = "auto",
    ) -> None:
        super().__init__(n_components, tol=tol, max_iter=max_iter, contamination=contamination)
        self.regularization = regularization

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.regularization, str):
            check_choice("regularization", self.regularization, ("published", "log"))
        else:
            check_number("regularization", self.regularization, 0, open_low=True)

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
        gamma = 9 / (9 + 121 * d)  # gamma / (1 - gamma) = 9 / (121 mu d), mu = 1
        return float(3 / (7 * np.sqrt(gamma * n_samples)))


@dataclass
class Pursuit:
    """X = L + S with the multiplier Y, which is a subgradient of both terms where it has converged."""

    L: Array
    S: Array
    Y: Array
    Vt: Array  # right singular vectors of L
    converged: bool
    history: list[dict[str, Any]]


def outlier_pursuit(X: Array, regularization: float, tol: float, max_iter: int) -> Pursuit:
    """Minimise ``|L|_* + regularization * sum_j |s_j|`` subject to X = L + S."""
    size = float(np.linalg.norm(X))
    S, Y = np.zeros_like(X), np.zeros_like(X)
    # the first threshold is a tenth of the largest singular value; from then on the residuals decide
    penalty = 10 / float(partial_svd(X, 1)[1][0])
    history: list[dict[str, Any]] = []
    rank, converged = 0, False
    while not converged and len(history) < max_iter:
        L, Vt = singular_value_threshold(X - S + Y / penalty, 1 / penalty, rank + 5)
        rank = len(Vt)
        relaxed = _RELAXATION * L + (1 - _RELAXATION) * (X - S)
        before, S = S, row_threshold(X - relaxed + Y / penalty, regularization / penalty)
        Y = Y + penalty * (X - relaxed - S)
        primal = float(np.linalg.norm(X - L - S)) / size
        dual = penalty * float(np.linalg.norm(S - before)) / max(float(np.linalg.norm(Y)), 1.0)
        history.append({"primal": primal, "dual": dual, "rank": rank, "penalty": penalty})
        converged = max(primal, dual) <= tol
        if len(history) % _PATIENCE == 0:
            penalty *= 2.0 if primal > _RATIO * dual else 0.5 if dual > _RATIO * primal else 1.0
    return Pursuit(L, S, Y, Vt, converged, history)


def singular_value_threshold(M: Array, threshold: float, guess: int) -> tuple[Array, Array]:
    """Return the matrix with singular values lowered by the threshold, and its right singular vectors.

    ``guess`` singular values are computed first, more only if they all exceed the threshold.
    """
    while True:
        U, s, Vt = partial_svd(M, guess)
        if len(s) == min(M.shape) or s[-1] <= threshold:
            break
        guess *= 2
    kept = s > threshold
    return (U[:, kept] * (s[kept] - threshold)) @ Vt[kept], Vt[kept]


def row_threshold(M: Array, threshold: float) -> Array:
    """Return the matrix with the length of each row lowered by the threshold."""
    lengths = np.linalg.norm(M, axis=1, keepdims=True)
    return np.asarray(M * np.maximum(1 - threshold / np.maximum(lengths, np.finfo(np.float64).tiny), 0))
