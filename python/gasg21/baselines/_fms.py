"""FMS: minimize the sum of distances to a subspace, without relaxation."""

from __future__ import annotations

from typing import Any

import numpy as np

from gasg21._data.constructor import choice, integer, number, parameter, with_parameters
from gasg21._data.parameters import seed_of
from gasg21._support.arrays import Array
from gasg21._support.progress import History
from gasg21.baselines._base_subspace import IterativeSubspace, Solution
from gasg21.baselines._linear_algebra import largest_angle, principal_directions, unit_rows


@with_parameters
class FMS(IterativeSubspace):
    """Fast median subspace (Lerman and Maunu).

    Minimizes ``sum_j |x_j - P x_j|^power`` over the orthogonal projectors P of rank n_components. The samples x_j
    are scaled to unit length first. The solver is iteratively reweighted least squares: each iteration is a PCA of
    the samples with the weights ``|x_j - P x_j|^(power - 2)``.

    Use it instead of `REAPER` for large data. It minimizes the objective that REAPER relaxes, and it forms no
    n_features x n_features matrix. The objective is not convex, so the result is a stationary point. For power = 1
    that point is the right subspace in practice.

    Parameters
    ----------
    n_components : int, default=1
        Dimension of the subspace, in [1, n_features - 1].
    power : float, default=1
        Power of the distances, in (0, 2]. A smaller power tolerates more outliers and worse conditioned inliers,
        but has more stationary points. 2 gives `SphericalPCA`.
    delta : float, default=1e-10
        Lower bound of the inverse weights, divided by `power`. It must be positive.
    init : {"pca", "random"}, default="pca"
        Initial subspace: the spherical PCA of the samples, or a random subspace.
    tol : float, default=1e-9
        Stop if an iteration rotates the subspace by at most this angle, in radians.
    max_iter : int, default=100
        Maximum number of iterations. The defaults of `delta`, `tol` and `max_iter` come from the authors.
    contamination : "auto" or float, default="auto"
        How `predict` finds outliers; see `gasg21.GASG21`. A float must be in (0, 0.99].
    random_state : int, RandomState, Generator or None, default=None
        Seed of ``init="random"``.
    verbose : int, default=0
        1 shows a progress bar, 2 prints a line for each iteration.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal basis of the subspace.
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
        One record per iteration. "cost" is the smoothed objective at the start of the iteration; it never
        increases. "moved" is the angle by which the iteration rotated the subspace.

    Notes
    -----
    An iteration takes O(n_samples * n_features * n_components) time and as much memory as the data.

    References
    ----------
    G. Lerman and T. Maunu, "Fast, robust and non-convex subspace recovery", Information and Inference 7, 2018
    (Algorithm 1).

    Examples
    --------
    >>> from gasg21.baselines import FMS
    >>> from gasg21.datasets import make_low_rank
    >>> from gasg21.metrics import subspace_angle
    >>> data = make_low_rank(300, 20, 2, outlier_fraction=0.4, random_state=0)
    >>> model = FMS(n_components=2).fit(data.data)
    >>> bool(subspace_angle(model.components_, data.basis) < 1e-6)
    True
    """

    power: float = parameter(
        default=1.0,
        kind="float",
        text="""Power of the distances, in (0, 2]. A smaller power tolerates more outliers and worse conditioned
        inliers, but has more stationary points. 2 gives `SphericalPCA`.""",
        check=number(0, 2, open_low=True),
    )
    delta: float = parameter(
        default=1e-10,
        kind="float",
        text="Lower bound of the inverse weights, divided by `power`. It must be positive.",
        check=number(0, open_low=True),
    )
    init: str = parameter(
        default="pca",
        kind='{"pca", "random"}',
        text="Initial subspace: the spherical PCA of the samples, or a random subspace.",
        check=choice("pca", "random"),
    )
    tol: float = parameter(
        default=1e-9,
        kind="float",
        text="Stop if an iteration rotates the subspace by at most this angle, in radians.",
        check=number(0),
    )
    max_iter: int = parameter(
        default=100,
        kind="int",
        text="Maximum number of iterations. The defaults of `delta`, `tol` and `max_iter` are of the authors.",
        check=integer(1),
    )
    random_state: Any = parameter(
        default=None,
        kind="int, RandomState, Generator or None",
        text='Seed of ``init="random"``.',
    )

    def _solve(self, X: Array, d: int) -> Solution:
        X = unit_rows(X)
        start = principal_directions(X, d)
        if len(start) < d:
            return Solution(start)  # the samples span fewer than d dimensions
        if self.init == "random":
            normal = np.random.default_rng(seed_of(self.random_state)).standard_normal((X.shape[1], d))
            start = np.linalg.qr(normal)[0].T
        return fms(X, start, self.power, self.delta, self.tol, self.max_iter)


def fms(X: Array, start: Array, power: float, delta: float, tol: float, max_iter: int) -> Solution:
    """Iterate from an initial basis.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Samples of unit length.
    start : ndarray of shape (d, n_features)
        Initial basis, with orthonormal rows.
    power, delta, tol, max_iter
        As in `FMS`.
    """
    V = start
    history = History()
    for _ in range(max_iter):
        squared = np.sum((X - (X @ V.T) @ V) ** 2, axis=1)
        inverse_weights = np.maximum(squared ** (1 - power / 2), power * delta)
        before, V = V, principal_directions(X / np.sqrt(inverse_weights)[:, None], len(start))
        if len(V) < len(start):
            V = before  # the few samples with large weights lie in the subspace: keep it
        moved = largest_angle(before, V)
        history.append({"cost": smoothed_cost(squared, power, delta), "moved": moved})
        if moved <= tol:
            return Solution(V, len(history), True, history)
        if history.ended:
            break
    return Solution(V, len(history), False, history)


def smoothed_cost(squared: Array, power: float, delta: float) -> float:
    """Return the objective for squared distances; it is quadratic where `delta` bounds the weights."""
    if power == 2:
        return float(squared.sum())
    cap = (power * delta) ** (2 / (2 - power))  # squared distance below which the weight is bounded
    inner = squared / (2 * delta) + (1 - power / 2) * cap ** (power / 2)
    return float(np.sum(np.where(squared > cap, squared ** (power / 2), inner)))
