"""REAPER: the convex relaxation of the least-absolute-deviations subspace."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from gasg21._validation import Array, check_number
from gasg21.baselines._base_subspace import IterativeSubspace, Solution
from gasg21.baselines._linear_algebra import coordinates, to_features, unit_rows
from gasg21.baselines._parameters import check_flag


class REAPER(IterativeSubspace):
    """Robust subspace by convex relaxation of the sum of distances (Lerman, McCoy, Tropp and Zhang).

    Minimises ``sum_j |x_j - P x_j|`` over the symmetric P with ``0 <= P <= I`` and ``trace P = n_components``
    (the convex hull of the orthoprojectors), by iteratively reweighted least squares: each iteration weighs
    the samples by the inverse of their distances and solves the least squares problem exactly, by an
    eigendecomposition and water-filling. The subspace is spanned by the leading eigenvectors of P.

    An iteration costs O(n_samples * k^2), k = min(n_samples, n_features), plus the leading eigenvectors of a
    k x k matrix, and O(k^2) memory beside the data.

    Prefer it where the data fits in memory, is complete and not too wide, and a convex problem with a unique
    answer and a recovery guarantee is wanted. For ill-conditioned inliers among many outliers its answer is
    not the inliers' subspace any more.

    Parameters
    ----------
    n_components : int
        Dimension of the subspace, in [1, n_features - 1].
    spherize : bool
        True scales the samples to unit length first (the authors' S-REAPER, for outliers of any length).
    delta : float
        Distances are taken to be at least this, relative to the longest sample.
    tol : float
        Ends when an iteration lowers the cost by no more than this, relative to the cost.
    max_iter : int
        Iterations at most. (delta and tol are the authors'; they state no limit.)
    contamination : "auto" or float in (0, 0.99]
        How `predict` decides; see `gasg21.GASG21`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal basis of the subspace.
    eigenvalues_, eigenvectors_ : ndarray of shapes (rank,) and (rank, n_features)
        Those of P that are not zero, decreasing: ``P = eigenvectors_.T * eigenvalues_ @ eigenvectors_``.
        Where there are n_components of them, all 1, the relaxation is tight.
    n_iter_, converged_, status_, n_components_, offset_
        Iterations made, whether to `tol`, and how it ended ("converged", "max_iter", "rank_deficient").
    history_ : list of dict
        One record per iteration: "cost", the objective (with lengths in units of the longest sample) smoothed
        below delta, which never rises.

    References
    ----------
    G. Lerman, M. McCoy, J. Tropp and T. Zhang, "Robust computation of linear models by convex relaxation",
    Foundations of Computational Mathematics 15, 2015 (Algorithms 4.1 and 4.2).
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        spherize: bool = False,
        delta: float = 1e-10,
        tol: float = 1e-15,
        max_iter: int = 500,
        contamination: str | float = "auto",
    ) -> None:
        super().__init__(n_components, tol=tol, max_iter=max_iter, contamination=contamination)
        self.spherize = spherize
        self.delta = delta

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_flag("spherize", self.spherize)
        check_number("delta", self.delta, 0, open_low=True)

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
    """Solve the problem; P = vectors diag(values) vectors^T, values decreasing (Algorithm 4.2)."""
    weights = np.ones(len(X))
    history: list[dict[str, Any]] = []
    converged = False
    while not converged and len(history) < max_iter:
        values, vectors = weighted_least_squares(X, weights, d)
        used = vectors[:, values > 0]  # few: P is nearly an orthoprojector
        distances = np.linalg.norm(X - (X @ used * values[values > 0]) @ used.T, axis=1)
        weights = 1 / np.maximum(distances, delta)
        # quadratic below delta: the function that these weights majorise, so that it cannot rise
        cost = float(np.sum(np.where(distances > delta, distances, (distances**2 / delta + delta) / 2)))
        converged = bool(history) and history[-1]["cost"] - cost <= tol * cost
        history.append({"cost": cost})
    return values, vectors, converged, history


def weighted_least_squares(X: Array, weights: Array, d: int) -> tuple[Array, Array]:
    """Minimise ``sum_j weights_j |x_j - P x_j|^2`` over the same P: eigenvalues and eigenvectors (Algorithm 4.1).

    Of a large problem only the leading ones, as many as it takes: the others of P are 0.
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
    """Minimise ``sum_i spread_i (1 - v_i)^2`` over 0 <= v <= 1 with sum d; spread decreases.

    None when `spread` holds only the first of n, and the water rises above more than these.
    """
    n = n or len(spread)
    values = np.zeros(len(spread))
    positive = spread[spread > n * np.finfo(np.float64).eps * spread[0]]
    if len(positive) <= d:
        values[: len(positive)] = 1
        return values
    count = np.arange(1, len(positive) + 1)
    level = (count - d) / np.cumsum(1 / positive)  # the water level if only the first `count` are above it
    unknown = np.inf if len(positive) == len(spread) < n else 0
    fits = level >= np.append(positive[1:], unknown)
    fits[:d] = False
    if not fits.any():
        return None
    last = int(np.argmax(fits))
    values[: last + 1] = np.maximum(1 - level[last] / positive[: last + 1], 0)
    return values
