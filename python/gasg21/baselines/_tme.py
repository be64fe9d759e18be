"""TME: the leading eigenvectors of Tyler's M-estimator of scatter."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from gasg21._validation import Array, check_number
from gasg21.baselines._base_subspace import IterativeSubspace, Solution
from gasg21.baselines._linear_algebra import row_space, unit_rows
from gasg21.exceptions import InvalidInputError

# Added to S, of trace 1, so that it stays regular where it shrinks to a subspace. (The published code adds
# 1e-10; without forming S^-1 less is enough.)
_FLOOR = 1e-15


class TME(IterativeSubspace):
    """Tyler's M-estimator for subspace recovery (Tyler; Zhang).

    The scatter matrix S that solves ``S = (k / m) sum_j x_j x_j^T / (x_j^T S^-1 x_j)``, trace 1, for m samples in
    k dimensions, the minimiser of ``sum_j log(x_j^T S^-1 x_j) + (m / k) log det S``, by fixed-point iteration.
    The subspace is spanned by its leading eigenvectors: with more than m d / k inliers on a d-dimensional
    subspace and outliers in general position, S shrinks to it at a linear rate. The length of the samples
    does not matter.

    An iteration costs O(n_samples * k^2), k the dimension that the samples span; memory is that of the data
    and of S.

    Prefer it where there are clearly more samples than features: no tuning, and ill-conditioned inliers,
    which defeat the sum of distances, are no harder than others. With no more samples than dimensions
    that they span it does not exist; `shrinkage` then gives the regularized one.

    Parameters
    ----------
    n_components : int
        Dimension of the subspace, in [1, n_features - 1].
    shrinkage : float in [0, 1)
        The regularized estimator of Chen, Wiesel and Hero: S is proportional to ``(1 - shrinkage) (n / m)
        sum_j x_j x_j^T / (x_j^T S^-1 x_j) + shrinkage / n I``, n the number of features.
    tol : float
        Ends when an iteration changes S, at trace 1, by no more than this in Frobenius norm.
    max_iter : int
        Iterations at most. (Both as in the code of Lerman, Yu and Zhang's comparison.)
    contamination : "auto" or float in (0, 0.99]
        How `predict` decides; see `gasg21.GASG21`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal basis of the subspace.
    scatter_ : ndarray of shape (n_features, n_features)
        S, trace 1.
    n_iter_, converged_, status_, n_components_, offset_
        Iterations made, whether to `tol`, and how it ended ("converged", "max_iter", "rank_deficient").
    history_ : list of dict
        One record per iteration: "moved", the change of S.

    References
    ----------
    D. Tyler, "A distribution-free M-estimator of multivariate scatter", Annals of Statistics 15, 1987.
    T. Zhang, "Robust subspace recovery by Tyler's M-estimator", Information and Inference 5, 2016.
    Y. Chen, A. Wiesel and A. Hero, "Robust shrinkage estimation of high-dimensional covariance matrices", IEEE
    Trans. Signal Processing 59, 2011.
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        shrinkage: float = 0.0,
        tol: float = 1e-10,
        max_iter: int = 1000,
        contamination: str | float = "auto",
    ) -> None:
        super().__init__(n_components, tol=tol, max_iter=max_iter, contamination=contamination)
        self.shrinkage = shrinkage

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("shrinkage", self.shrinkage, 0, 1 - 1e-12)

    def _solve(self, X: Array, d: int) -> Solution:
        X = unit_rows(X)
        n = X.shape[1]
        U, s, B = row_space(X)
        Z, rank = U * s, len(s)
        if rank <= d:
            return Solution(B, extra={"scatter_": B.T @ B / rank})
        if self.shrinkage == 0 and len(Z) <= rank:
            msg = (
                f"X has {len(Z)} samples that span {rank} dimensions: Tyler's estimator needs more samples than "
                f"dimensions; shrinkage={self.shrinkage!r} must be positive"
            )
            raise InvalidInputError(msg)
        R, outside, converged, history = tyler(Z, n, self.shrinkage, self.tol, self.max_iter)
        scatter = B.T @ (R.T @ R) @ B + outside * (np.eye(n) - B.T @ B)
        vectors = scipy.linalg.svd(R, check_finite=False)[2]
        return Solution(vectors[:d] @ B, len(history), converged, history, {"scatter_": scatter})


def tyler(
    Z: Array, n: int, shrinkage: float, tol: float, max_iter: int
) -> tuple[Array, float, bool, list[dict[str, Any]]]:
    """Iterate from the identity; return an upper triangular R with S = R^T R in the coordinates of Z.

    S has trace 1 over all n dimensions; in those outside of the coordinates it is the second value returned
    times the identity (zero without shrinkage). S is never inverted, and R comes from a QR factorization of
    the weighted samples, because S becomes singular where it finds a subspace.
    """
    m, k = Z.shape
    ridge, inside = (shrinkage / n, n) if shrinkage > 0 else (_FLOOR, k)
    R = np.eye(k) / np.sqrt(inside)
    S, outside = R.T @ R, ridge
    history: list[dict[str, Any]] = []
    converged = False
    while not converged and len(history) < max_iter:
        whitened = scipy.linalg.solve_triangular(R, Z.T, trans="T", check_finite=False)
        weighted = np.sqrt((1 - shrinkage) * inside / m) * Z / np.linalg.norm(whitened, axis=0)[:, None]
        stacked = np.vstack([weighted, np.sqrt(ridge) * np.eye(k)])
        R = scipy.linalg.qr(stacked, mode="r", check_finite=False)[0][:k]
        trace = float(np.sum(R**2) + (inside - k) * ridge)
        R, outside = R / np.sqrt(trace), ridge / trace
        before, S = S, R.T @ R
        moved = float(np.linalg.norm(S - before))
        converged = moved <= tol
        history.append({"moved": moved})
    return R, outside if shrinkage > 0 else 0.0, converged, history
