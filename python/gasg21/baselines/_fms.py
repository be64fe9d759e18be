"""FMS: the least-absolute-deviations subspace itself, without relaxation."""

from __future__ import annotations

from typing import Any

import numpy as np

from gasg21._validation import Array, check_choice, check_number, seed_of
from gasg21.baselines._base_subspace import IterativeSubspace, Solution
from gasg21.baselines._linear_algebra import largest_angle, principal_directions, unit_rows


class FMS(IterativeSubspace):
    """Fast median subspace (Lerman and Maunu).

    Minimises ``sum_j |x_j - P x_j|^power`` over orthoprojectors P of rank n_components, on samples scaled to
    unit length, by iteratively reweighted least squares: each iteration is the PCA of the samples weighed
    by ``|x_j - P x_j|^(power - 2)``.

    An iteration costs O(n_samples * n_features * n_components) and as much memory as the data.

    Prefer it where REAPER would do but the data is large: the objective is the one that REAPER relaxes, and
    no n_features x n_features matrix is formed. It is not convex: the answer is a stationary point, for
    power = 1 in practice the right one.

    Parameters
    ----------
    n_components : int
        Dimension of the subspace, in [1, n_features - 1].
    power : float in (0, 2]
        Smaller ones tolerate more outliers and worse conditions, but have more stationary points. 2 is
        `SphericalPCA`.
    delta : float
        The inverse weights are at least ``power * delta``.
    init : {"pca", "random"}
        Where to start: the spherical PCA of the samples, or a random subspace.
    tol : float
        Ends when an iteration turns the subspace by no more than this, in radians.
    max_iter : int
        Iterations at most. (delta, tol and max_iter are the authors'.)
    contamination : "auto" or float in (0, 0.99]
        How `predict` decides; see `gasg21.GASG21`.
    random_state : int, RandomState, Generator or None
        Seed of ``init="random"``.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal basis of the subspace.
    n_iter_, converged_, status_, n_components_, offset_
        Iterations made, whether to `tol`, and how it ended ("converged", "max_iter", "rank_deficient").
    history_ : list of dict
        One record per iteration: "cost", the smoothed objective of its start, which never rises, and
        "moved", the angle by which it turned the subspace.

    References
    ----------
    G. Lerman and T. Maunu, "Fast, robust and non-convex subspace recovery", Information and Inference 7, 2018
    (Algorithm 1).
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        power: float = 1.0,
        delta: float = 1e-10,
        init: str = "pca",
        tol: float = 1e-9,
        max_iter: int = 100,
        contamination: str | float = "auto",
        random_state: Any = None,
    ) -> None:
        super().__init__(n_components, tol=tol, max_iter=max_iter, contamination=contamination)
        self.power = power
        self.delta = delta
        self.init = init
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("power", self.power, 0, 2, open_low=True)
        check_number("delta", self.delta, 0, open_low=True)
        check_choice("init", self.init, ("pca", "random"))

    def _solve(self, X: Array, d: int) -> Solution:
        X = unit_rows(X)
        start = principal_directions(X, d)
        if len(start) < d:
            return Solution(start)  # the samples span no more
        if self.init == "random":
            normal = np.random.default_rng(seed_of(self.random_state)).standard_normal((X.shape[1], d))
            start = np.linalg.qr(normal)[0].T
        return fms(X, start, self.power, self.delta, self.tol, self.max_iter)


def fms(X: Array, start: Array, power: float, delta: float, tol: float, max_iter: int) -> Solution:
    """Iterate from a start (d, n) with orthonormal rows."""
    V = start
    history: list[dict[str, Any]] = []
    for _ in range(max_iter):
        squared = np.sum((X - (X @ V.T) @ V) ** 2, axis=1)
        inverse_weights = np.maximum(squared ** (1 - power / 2), power * delta)
        before, V = V, principal_directions(X / np.sqrt(inverse_weights)[:, None], len(start))
        if len(V) < len(start):
            V = before  # the weights have left too few samples to span it: they lie in it
        moved = largest_angle(before, V)
        history.append({"cost": smoothed_cost(squared, power, delta), "moved": moved})
        if moved <= tol:
            return Solution(V, len(history), True, history)
    return Solution(V, len(history), False, history)


def smoothed_cost(squared: Array, power: float, delta: float) -> float:
    """Sum of the distances to that power, quadratic where the weights are capped; from squared distances."""
    if power == 2:
        return float(squared.sum())
    cap = (power * delta) ** (2 / (2 - power))  # squared distance at which the weight is capped
    inner = squared / (2 * delta) + (1 - power / 2) * cap ** (power / 2)
    return float(np.sum(np.where(squared > cap, squared ** (power / 2), inner)))
