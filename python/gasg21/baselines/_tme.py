"""TME: the leading eigenvectors of Tyler's M-estimator of scatter."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from gasg21._data.constructor import integer, number, parameter, with_parameters
from gasg21._support.arrays import Array
from gasg21._support.progress import History
from gasg21.baselines._base_subspace import IterativeSubspace, Solution
from gasg21.baselines._linear_algebra import row_space, unit_rows
from gasg21.exceptions import InvalidInputError

# Added to the diagonal of S, which has trace 1, so that S stays regular when it shrinks to a subspace. The published
# code adds 1e-10. This code never forms the inverse of S, so a smaller value is enough.
_FLOOR = 1e-15


@with_parameters
class TME(IterativeSubspace):
    """Tyler's M-estimator for subspace recovery (Tyler; Zhang).

    For m samples that span k dimensions, finds the scatter matrix S of trace 1 that satisfies
    ``S = (k / m) sum_j x_j x_j^T / (x_j^T S^-1 x_j)``, by fixed-point iteration. S minimizes
    ``sum_j log(x_j^T S^-1 x_j) + (m / k) log det S``. The leading eigenvectors of S span the subspace. If more than
    m d / k samples lie on a d-dimensional subspace and the others are in general position, S shrinks to that
    subspace at a linear rate. The lengths of the samples have no effect.

    Use it if there are clearly more samples than features. It has nothing to tune, and ill-conditioned inliers,
    which defeat the methods that minimize a sum of distances, are no harder than others. The estimator exists only
    if there are more samples than dimensions that they span. Otherwise use `shrinkage`.

    Parameters
    ----------
    n_components : int, default=1
        Dimension of the subspace, in [1, n_features - 1].
    shrinkage : float, default=0
        Weight of the identity, in [0, 1). A positive value gives the regularized estimator of Chen, Wiesel and
        Hero: S is proportional to ``(1 - shrinkage) (n / m) sum_j x_j x_j^T / (x_j^T S^-1 x_j) + shrinkage / n I``
        with n = n_features.
    tol : float, default=1e-10
        Stop if an iteration changes S by at most this much in Frobenius norm.
    max_iter : int, default=1000
        Maximum number of iterations. The defaults of `tol` and `max_iter` come from the code that Lerman, Yu and
        Zhang compare with.
    contamination : "auto" or float, default="auto"
        How `predict` finds outliers; see `gasg21.GASG21`. A float must be in (0, 0.99].
    verbose : int, default=0
        1 shows a progress bar, 2 prints a line for each iteration.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal basis of the subspace.
    scatter_ : ndarray of shape (n_features, n_features)
        The scatter matrix S, with trace 1.
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
        One record per iteration. "moved" is the change of S in Frobenius norm.

    Notes
    -----
    An iteration takes O(n_samples * k^2) time. Memory holds the data and S.

    References
    ----------
    D. Tyler, "A distribution-free M-estimator of multivariate scatter", Annals of Statistics 15, 1987.

    T. Zhang, "Robust subspace recovery by Tyler's M-estimator", Information and Inference 5, 2016.

    Y. Chen, A. Wiesel and A. Hero, "Robust shrinkage estimation of high-dimensional covariance matrices", IEEE
    Transactions on Signal Processing 59, 2011.

    Examples
    --------
    >>> from gasg21.baselines import TME
    >>> from gasg21.datasets import make_low_rank
    >>> from gasg21.metrics import subspace_angle
    >>> data = make_low_rank(300, 20, 2, outlier_fraction=0.4, random_state=0)
    >>> model = TME(n_components=2).fit(data.data)
    >>> bool(subspace_angle(model.components_, data.basis) < 1e-6)
    True
    """

    shrinkage: float = parameter(
        default=0.0,
        kind="float",
        text="""Weight of the identity, in [0, 1). A positive value gives the regularized estimator of Chen, Wiesel and
        Hero: S is proportional to ``(1 - shrinkage) (n / m) sum_j x_j x_j^T / (x_j^T S^-1 x_j) + shrinkage / n I``
        with n = n_features.""",
        check=number(0, 1 - 1e-12),
    )
    tol: float = parameter(
        default=1e-10,
        kind="float",
        text="Stop if an iteration changes S by at most this much in Frobenius norm.",
        check=number(0),
    )
    max_iter: int = parameter(
        default=1000,
        kind="int",
        text="""Maximum number of iterations. The defaults of `tol` and `max_iter` are those of the code that Lerman,
        Yu and Zhang compare with.""",
        check=integer(1),
    )

    def _solve(self, X: Array, d: int) -> Solution:
        X = unit_rows(X)
        n = X.shape[1]
        U, s, B = row_space(X)
        Z, rank = U * s, len(s)
        if rank <= d:
            return Solution(B, extra={"scatter_": B.T @ B / rank})
        if self.shrinkage == 0 and len(Z) <= rank:
            msg = (
                f"X has {len(Z)} nonzero samples that span {rank} dimensions; TME needs more samples than dimensions, "
                f"or a positive shrinkage instead of shrinkage={self.shrinkage!r}"
            )
            raise InvalidInputError(msg)
        R, outside, converged, history = tyler(Z, n, self.shrinkage, self.tol, self.max_iter)
        scatter = B.T @ (R.T @ R) @ B + outside * (np.eye(n) - B.T @ B)
        vectors = scipy.linalg.svd(R, check_finite=False)[2]
        return Solution(vectors[:d] @ B, len(history), converged, history, {"scatter_": scatter})


def tyler(
    Z: Array, n: int, shrinkage: float, tol: float, max_iter: int
) -> tuple[Array, float, bool, list[dict[str, Any]]]:
    """Run the fixed-point iteration from the identity.

    S is never inverted, because it becomes singular when it finds a subspace. R comes from a QR factorization of the
    weighted samples.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, k)
        Samples in coordinates of their span.
    n : int
        Number of features.
    shrinkage, tol, max_iter
        As in `TME`.

    Returns
    -------
    R : ndarray of shape (k, k)
        Upper triangular matrix with S = R^T R within the span.
    outside : float
        Outside the span, S is this multiple of the identity; 0 without shrinkage. S has trace 1 over all n features.
    converged : bool
        Whether the iteration reached `tol`.
    history : list of dict
        One record per iteration.
    """
    m, k = Z.shape
    ridge, inside = (shrinkage / n, n) if shrinkage > 0 else (_FLOOR, k)
    R = np.eye(k) / np.sqrt(inside)
    S, outside = R.T @ R, ridge
    history = History()
    converged = False
    while not (converged or history.ended) and len(history) < max_iter:
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
