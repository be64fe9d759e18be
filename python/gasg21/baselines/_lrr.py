"""Low-rank representation: min |Z|_* + lam |E|_21 subject to X = Z X + E, then spectral clustering."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import svd

from gasg21._validation import Array, check_integer, check_number
from gasg21.baselines._base_clusterer import SubspaceClusterer
from gasg21.baselines._linear_algebra import row_space
from gasg21.baselines._parameters import check_flag
from gasg21.baselines._spectral import spectral_labels
from gasg21.exceptions import InvalidInputError

_MU_START, _MU_MAX = 1e-6, 1e10  # the penalty of the authors' code, before it grows and at most
_RANK = 1e-4  # singular values of Z below this share of the largest are noise, as in the authors' code


class LRR(SubspaceClusterer):
    """Subspace clustering by low-rank representation.

    G. Liu, Z. Lin, S. Yan, J. Sun, Y. Yu and Y. Ma, "Robust recovery of subspace structures by low-rank
    representation", IEEE TPAMI 35(1), 2013. Each sample is written as a combination of all samples, by
    coefficients of least rank that leave whole samples out of account where they do not fit:

        min over Z, E of |Z|_* + lam |E|_{2,1}    subject to    X = Z X + E,

    with one sample per row of X, solved by the inexact augmented Lagrangian method. Then the authors'
    post-processing: rows of U S^1/2 (Z' = U S V') at unit length, their inner products to a power as
    affinity, and normalised cuts.

    Prefer it for a few thousand complete samples of independent subspaces with some corrupted samples,
    when accuracy matters more than time. It finds the subspaces' dimensions by itself. Nothing in it
    scales beyond an n_samples x n_samples matrix, and it cannot take missing entries.

    Parameters
    ----------
    n_clusters : int, default 2
        How many subspaces.
    lam : float, default 4
        Weight of the errors: the larger, the less is taken for corruption. It is relative to the scale
        of X. 4 is the authors' choice for motion segmentation (coordinates within about [-1, 1]).
    affine : bool, default False
        True = the subspaces are affine: samples get one more coordinate, 1, as the authors do for
        motion segmentation.
    power : float, default 4
        The affinity is the size of the inner products to this power: 4 in the authors' code, 2 in their
        paper.
    growth : float, default 1.1
        The penalty grows by this factor in every iteration. The authors' 1.1 is fast and may end well
        above the minimum (see `duality_gap_`); nearer to 1 it gets there: 1.01 takes ten times as long.
    tol : float, default 1e-8
        Stop when no entry of X - Z X - E, nor of the split Z - J, is larger, relative to the largest
        entry of X if that is above 1.
    max_iter : int, default 1000000
        Iterations at most; a few hundred are usual.
    random_state : int, RandomState, Generator or None
        For k-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    coefficients_ : ndarray of shape (n_samples, n_samples)
        Z: sample i is about ``coefficients_[i] @ X``.
    errors_ : ndarray of shape (n_samples, n_features)
        E: rows that are not zero belong to corrupted samples. (For affine subspaces without the
        coordinate that was added.)
    affinity_ : ndarray of shape (n_samples, n_samples)
    duality_gap_ : float
        By this share of it, at most, the objective is above its minimum.
    n_iter_, converged_ : int, bool

    Notes
    -----
    With r the rank of X, at most min(n_samples, n_features): everything is rotated into the row space
    of X, where an iteration is one SVD of an r x n_samples matrix, O(r^2 n_samples), in O(r n_samples)
    memory. The clustering takes O(n_samples^2) memory and O(n_samples^3) time at worst.

    Examples
    --------
    >>> from gasg21.baselines import LRR
    >>> from gasg21.datasets import make_union_of_subspaces
    >>> from gasg21.metrics import clustering_error
    >>> union = make_union_of_subspaces(90, 30, 3, 3, random_state=0)
    >>> labels = LRR(n_clusters=3, random_state=0).fit_predict(union.data)
    >>> clustering_error(union.labels, labels)
    0.0
    """

    coefficients_: Array
    errors_: Array
    affinity_: Array
    duality_gap_: float

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        lam: float = 4.0,
        affine: bool = False,
        power: float = 4,
        growth: float = 1.1,
        tol: float = 1e-8,
        max_iter: int = 1_000_000,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_clusters, affine=affine, tol=tol, max_iter=max_iter, random_state=random_state)
        self.lam = lam
        self.power = power
        self.growth = growth

    def _cluster(self, X: Array, n_clusters: int) -> tuple[Array, int, bool]:
        lam = check_number("lam", self.lam, 0, open_low=True)
        power = check_number("power", self.power, 0, open_low=True)
        growth = check_number("growth", self.growth, 1, open_low=True)
        tol = check_number("tol", self.tol, 0, open_low=True)
        max_iter = check_integer("max_iter", self.max_iter, 1)
        check_flag("affine", self.affine)
        data = np.column_stack([X, np.ones(len(X))]) if self.affine else X

        Q, s, W = row_space(data)
        if not len(s):
            msg = f"X of shape {X.shape} is zero everywhere; there must be something to cluster"
            raise InvalidInputError(msg)
        Z, E, Y, n_iter, converged = _represent(s, Q, lam, growth, tol, max_iter)
        self.coefficients_ = Z.T @ Q.T
        self.errors_ = (E.T @ W)[:, : X.shape[1]]
        self.duality_gap_ = _duality_gap(s, Q, Z, E, Y, lam)
        self.affinity_ = _affinity(Q, Z, power)
        labels = spectral_labels(self.affinity_, n_clusters, self.random_state, embedding="ncut")
        return labels, n_iter, converged


def _represent(
    s: Array, Q: Array, lam: float, growth: float, tol: float, max_iter: int
) -> tuple[Array, Array, Array, int, bool]:
    """Solve min |Z|_* + lam |E|_21, S Q' = S Z + E, S = diag(s), by inexact ALM.

    Returns Z and E, (r, m), and the multipliers of the constraint, which prove how near the minimum is.

    In the coordinates of the row space this is the authors' problem with the reduced dictionary
    A = X Q, whose inverse (A'A + I)^-1 is diagonal there.
    """
    X, column = s[:, None] * Q.T, s[:, None]
    Z, E = np.zeros_like(X), np.zeros_like(X)
    Y1, Y2 = np.zeros_like(X), np.zeros_like(X)
    mu, bound = _MU_START, tol * max(1.0, np.abs(X).max())
    for iteration in range(1, max_iter + 1):
        J = shrink_singular_values(Z + Y2 / mu, 1 / mu)
        Z = (column * (X - E + Y1 / mu) + J - Y2 / mu) / (1 + column**2)
        E = shrink_columns(X - column * Z + Y1 / mu, lam / mu)
        miss, split = X - column * Z - E, Z - J
        if max(np.abs(miss).max(), np.abs(split).max()) < bound:
            return Z, E, Y1, iteration, True
        Y1 += mu * miss
        Y2 += mu * split
        mu = min(growth * mu, _MU_MAX)
    return Z, E, Y1, max_iter, False


def _duality_gap(s: Array, Q: Array, Z: Array, E: Array, Y: Array, lam: float) -> float:
    """Return (primal - dual) / primal; the dual is max <Y, X>, |A'Y|_2 <= 1, columns of Y within lam."""
    primal = svd(Z, compute_uv=False).sum() + lam * np.linalg.norm(E, axis=0).sum()
    column = s[:, None]
    outside = max(1.0, np.linalg.norm(column * Y, 2), np.linalg.norm(Y, axis=0).max() / lam)
    return float(1 - (Y * (column * Q.T)).sum() / outside / primal)


def shrink_singular_values(A: Array, threshold: float) -> Array:
    """Return argmin over J of threshold |J|_* + |J - A|^2 / 2."""
    U, s, V = svd(A, full_matrices=False)
    rank = int(np.count_nonzero(s > threshold))
    return np.asarray((U[:, :rank] * (s[:rank] - threshold)) @ V[:rank])


def shrink_columns(A: Array, threshold: float) -> Array:
    """Return argmin over E of threshold (sum of the lengths of the columns) + |E - A|^2 / 2."""
    length = np.linalg.norm(A, axis=0)
    keep = np.divide(length - threshold, length, out=np.zeros_like(length), where=length > threshold)
    return np.asarray(A * keep)


def _affinity(Q: Array, Z: Array, power: float) -> Array:
    """Return |inner products| of the unit rows of U S^1/2 to the power; Q Z = U S V'."""
    U, s, _ = svd(Z, full_matrices=False)
    rank = int(np.count_nonzero(s > _RANK * s[0]))
    rows = Q @ (U[:, :rank] * np.sqrt(s[:rank]))
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = np.divide(rows, length, out=np.zeros_like(rows), where=length > 0)
    return np.asarray(np.abs(rows @ rows.T) ** power)
