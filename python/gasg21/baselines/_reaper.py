"""REAPER: minimize the sum of distances to a subspace, by convex relaxation."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from gasg21._data.constructor import integer, number, parameter, with_parameters
from gasg21._data.parameters import check_flag
from gasg21._support.arrays import Array
from gasg21._support.progress import History
from gasg21.baselines._base_subspace import IterativeSubspace, Solution
from gasg21.baselines._linear_algebra import coordinates, to_features, unit_rows


@with_parameters
class REAPER(IterativeSubspace):
    """Robust subspace by convex relaxation of the sum of distances (Lerman, McCoy, Tropp and Zhang).

    Minimizes ``sum_j |x_j - P x_j|`` over the symmetric matrices P with ``0 <= P <= I`` and
    ``trace P = n_components``. This set is the convex hull of the orthogonal projectors of rank n_components. The
    solver is iteratively reweighted least squares: each iteration weights the samples by their inverse distances
    and solves the least-squares problem exactly, by an eigendecomposition and water-filling. The leading
    eigenvectors of P span the subspace.

    Use it if the data is complete, fits in memory, has not too many features, and you want a convex problem with a
    unique solution and a recovery guarantee. For ill-conditioned inliers among many outliers the solution is no
    longer the subspace of the inliers.

    Parameters
    ----------
    n_components : int, default=1
        Dimension of the subspace, in [1, n_features - 1].
    spherize : bool, default=False
        If True, scale the samples to unit length first. This is the authors' S-REAPER, for outliers of any length.
    delta : float, default=1e-10
        Lower bound of the distances in the weights, relative to the longest sample. It must be positive.
    tol : float, default=1e-15
        Stop if an iteration lowers the cost by at most this fraction of the cost.
    max_iter : int, default=500
        Maximum number of iterations. The defaults of `delta` and `tol` come from the authors, who give no
        maximum.
    contamination : "auto" or float, default="auto"
        How `predict` finds outliers; see `gasg21.GASG21`. A float must be in (0, 0.99].
    verbose : int, default=0
        1 shows a progress bar, 2 prints a line for each iteration.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal basis of the subspace.
    eigenvalues_ : ndarray of shape (rank,)
        Nonzero eigenvalues of P, in descending order. If there are n_components of them and all are 1, the
        relaxation is tight.
    eigenvectors_ : ndarray of shape (rank, n_features)
        Their eigenvectors, as rows: ``P = eigenvectors_.T * eigenvalues_ @ eigenvectors_``.
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
        One record per iteration. "cost" is the objective, smoothed for distances below `delta`, in units of the
        longest sample. It never increases.

    Notes
    -----
    With k = min(n_samples, n_features), an iteration takes O(n_samples * k^2) time, plus the time for the leading
    eigenvectors of a k x k matrix. It needs O(k^2) memory beside the data.

    References
    ----------
    G. Lerman, M. McCoy, J. Tropp and T. Zhang, "Robust computation of linear models by convex relaxation",
    Foundations of Computational Mathematics 15, 2015 (Algorithms 4.1 and 4.2).

    Examples
    --------
    >>> from gasg21.baselines import REAPER
    >>> from gasg21.datasets import make_low_rank
    >>> from gasg21.metrics import subspace_angle
    >>> data = make_low_rank(300, 20, 2, outlier_fraction=0.4, random_state=0)
    >>> model = REAPER(n_components=2).fit(data.data)
    >>> bool(subspace_angle(model.components_, data.basis) < 1e-6)
    True
    """

    spherize: bool = parameter(
        default=False,
        kind="bool",
        text="""If True, scale the samples to unit length first. This is the authors' S-REAPER, for outliers of any
        length.""",
        check=check_flag,
    )
    delta: float = parameter(
        default=1e-10,
        kind="float",
        text="""Lower bound of the distances in the weights, relative to the longest sample. It must be positive.""",
        check=number(0, open_low=True),
    )
    tol: float = parameter(
        default=1e-15,
        kind="float",
        text="Stop if an iteration lowers the cost by at most this fraction of the cost.",
        check=number(0),
    )
    max_iter: int = parameter(
        default=500,
        kind="int",
        text="""Maximum number of iterations. The defaults of `delta` and `tol` are those of the authors, who give no
        maximum.""",
        check=integer(1),
    )

    def _solve(self, X: Array, d: int) -> Solution:
        Z, B = coordinates(unit_rows(X) if self.spherize else X)
        values, vectors, converged, history = reaper(Z, d, self.delta, self.tol, self.max_iter)
        kept = values > 0
        rows = to_features(vectors.T[kept], B)
        extra = {"eigenvalues_": values[kept], "eigenvectors_": rows}
        return Solution(rows[:d], len(history), converged, history, extra)


def reaper(
    X: Array, d: int, delta: float, tol: float, max_iter: int
) -> tuple[Array, Array, bool, list[dict[str, Any]]]:
    """Solve the problem by iteratively reweighted least squares (Algorithm 4.2).

    Returns
    -------
    values : ndarray of shape (k,)
        Eigenvalues of P, in descending order.
    vectors : ndarray of shape (n_features, k)
        Their eigenvectors: ``P = vectors diag(values) vectors^T``.
    converged : bool
        Whether the iteration reached `tol`.
    history : list of dict
        One record per iteration.
    """
    weights = np.ones(len(X))
    history = History()
    converged = False
    while not (converged or history.ended) and len(history) < max_iter:
        values, vectors = weighted_least_squares(X, weights, d)
        used = vectors[:, values > 0]  # only a few columns: P is nearly an orthogonal projector
        distances = np.linalg.norm(X - (X @ used * values[values > 0]) @ used.T, axis=1)
        weights = 1 / np.maximum(distances, delta)
        # Quadratic below delta. The weighted least-squares problem majorizes this cost, so it cannot increase.
        cost = float(np.sum(np.where(distances > delta, distances, (distances**2 / delta + delta) / 2)))
        converged = bool(history) and history[-1]["cost"] - cost <= tol * cost
        history.append({"cost": cost})
    return values, vectors, converged, history


def weighted_least_squares(X: Array, weights: Array, d: int) -> tuple[Array, Array]:
    """Minimize ``sum_j weights_j |x_j - P x_j|^2`` over the matrices P of REAPER (Algorithm 4.1).

    A large problem needs only the leading eigenvectors. Their number doubles until the other eigenvalues of P are
    known to be 0.

    Returns
    -------
    values : ndarray of shape (k,)
        Eigenvalues of P, in descending order; the others are 0.
    vectors : ndarray of shape (n_features, k)
        Their eigenvectors.
    """
    root = np.sqrt(weights)[:, None] * X
    gram = root.T @ root
    n = len(gram)
    leading = 2 * d + 10
    start = np.random.default_rng(0).standard_normal(n)
    while n >= 400 and 8 * leading <= n:
        spread, vectors = scipy.sparse.linalg.eigsh(gram, leading, v0=start)
        values = water_filling(spread[::-1], d, n)
        if values is not None:
            return values, vectors[:, ::-1]
        leading *= 2
    spread, vectors = scipy.linalg.eigh(gram, check_finite=False)
    return water_filling(spread[::-1], d, n), vectors[:, ::-1]  # type: ignore[return-value]


def water_filling(spread: Array, d: int, n: int | None = None) -> Array | None:
    """Minimize ``sum_i spread_i (1 - v_i)^2`` over the vectors ``0 <= v <= 1`` with sum d.

    Parameters
    ----------
    spread : ndarray of shape (k,)
        The k largest of n values, in descending order.
    d : int
        Sum of v.
    n : int, optional
        Number of all values; k if not given.

    Returns
    -------
    v : ndarray of shape (k,) or None
        None if more than k values of v are nonzero.
    """
    n = n or len(spread)
    values = np.zeros(len(spread))
    positive = spread[spread > n * np.finfo(np.float64).eps * spread[0]]
    if len(positive) <= d:
        values[: len(positive)] = 1
        return values
    count = np.arange(1, len(positive) + 1)
    level = (count - d) / np.cumsum(1 / positive)  # water level if exactly the first `count` values exceed it
    unknown = np.inf if len(positive) == len(spread) < n else 0
    fits = level >= np.append(positive[1:], unknown)
    fits[:d] = False
    if not fits.any():
        return None
    last = int(np.argmax(fits))
    values[: last + 1] = np.maximum(1 - level[last] / positive[: last + 1], 0)
    return values
