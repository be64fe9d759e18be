"""Low-rank representation: write the samples as low-rank combinations of each other, then cluster spectrally."""

from __future__ import annotations

import numpy as np
from scipy.linalg import svd

from gasg21._data.constructor import parameter, with_parameters
from gasg21._data.parameters import check_flag, check_integer, check_number
from gasg21._support.arrays import Array
from gasg21._support.progress import History
from gasg21.baselines._base_clusterer import SubspaceClusterer
from gasg21.baselines._linear_algebra import row_space, shrink_singular_values
from gasg21.baselines._spectral import spectral_labels
from gasg21.exceptions import InvalidInputError

_MU_START, _MU_MAX = 1e-6, 1e10  # initial and largest penalty in the authors' code
_RANK = 1e-4  # the authors' code drops singular values of Z below this fraction of the largest


@with_parameters
class LRR(SubspaceClusterer):
    """Subspace clustering by low-rank representation (Liu, Lin, Yan, Sun, Yu and Ma).

    Writes the samples, the rows of X, as combinations of each other. The coefficients Z have low rank, and the
    errors E are nonzero in few rows, the corrupted samples::

        min over Z, E of |Z|_* + lam |E|_{2,1}    subject to    X = Z X + E.

    The solver is the inexact augmented Lagrangian method. The post-processing is the authors': scale the rows
    of U S^1/2 (where Z' = U S V') to unit length, take a power of their inner products as the affinity, and cluster
    by normalized cuts.

    Use it for up to a few thousand complete samples of independent subspaces, some of them corrupted, if accuracy
    matters more than time. It needs no dimensions of the subspaces. It forms n_samples x n_samples matrices and
    does not accept missing entries.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample.
    coefficients_ : ndarray of shape (n_samples, n_samples)
        The matrix Z: sample i is approximately ``coefficients_[i] @ X``.
    errors_ : ndarray of shape (n_samples, n_features)
        The matrix E. Nonzero rows belong to corrupted samples. The feature that ``affine=True`` adds is left out.
    affinity_ : ndarray of shape (n_samples, n_samples)
        Affinity that the spectral clustering uses.
    duality_gap_ : float
        Upper bound of the relative distance of the objective to its minimum.
    n_features_in_ : int
        Number of features.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the fit reached `tol`.
    status_ : {"converged", "max_iter", "interrupted"}
        How the fit ended.
    history_ : list of dict
        One record per iteration. "miss" and "split" are the largest entries of X - Z X - E and of Z - J.

    Notes
    -----
    Let r be the rank of X, at most min(n_samples, n_features). The problem is rotated into the row space of X, where
    an iteration is one SVD of an r x n_samples matrix: O(r^2 n_samples) time and O(r n_samples) memory. The
    clustering takes O(n_samples^2) memory and at worst O(n_samples^3) time.

    References
    ----------
    G. Liu, Z. Lin, S. Yan, J. Sun, Y. Yu and Y. Ma, "Robust recovery of subspace structures by low-rank
    representation", IEEE Transactions on Pattern Analysis and Machine Intelligence 35(1), 2013.

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

    lam: float = parameter(
        default=4.0,
        kind="float",
        text="""Weight of the errors, relative to the scale of X. With a larger weight fewer samples count as
        corrupted. 4 is the authors' choice for motion segmentation, with coordinates within about [-1, 1].""",
    )
    affine: bool = parameter(
        default=False,
        kind="bool",
        text="""If True, the subspaces are affine. A constant feature 1 is added to the samples, as the authors do for
        motion segmentation.""",
    )
    power: float = parameter(
        default=4,
        kind="float",
        text="""Power of the inner products in the affinity. The authors use 4 in their code and 2 in their paper.""",
    )
    growth: float = parameter(
        default=1.1,
        kind="float",
        text="""Factor by which the penalty grows in each iteration; it must exceed 1. The authors' 1.1 is fast, but
        may stop well above the minimum (see `duality_gap_`). A factor nearer to 1 reaches the minimum: 1.01 takes ten
        times as long.""",
    )
    tol: float = parameter(
        default=1e-8,
        kind="float",
        text="""Stop if all entries of X - Z X - E and of the split Z - J are below this value, relative to the largest
        entry of X if that exceeds 1.""",
    )
    max_iter: int = parameter(
        default=1_000_000,
        kind="int",
        text="Maximum number of iterations. A few hundred are usual.",
    )

    def _cluster(self, X: Array, n_clusters: int, history: History) -> tuple[Array, int, bool]:
        lam = check_number("lam", self.lam, 0, open_low=True)
        power = check_number("power", self.power, 0, open_low=True)
        growth = check_number("growth", self.growth, 1, open_low=True)
        tol = check_number("tol", self.tol, 0, open_low=True)
        max_iter = check_integer("max_iter", self.max_iter, 1)
        check_flag("affine", self.affine)
        data = np.column_stack([X, np.ones(len(X))]) if self.affine else X

        Q, s, W = row_space(data)
        if not len(s):
            msg = f"X of shape {X.shape} is zero everywhere; at least one entry must be nonzero"
            raise InvalidInputError(msg)
        Z, E, Y, n_iter, converged = _represent(s, Q, lam, growth, tol, max_iter, history)
        self.coefficients_ = Z.T @ Q.T
        self.errors_ = (E.T @ W)[:, : X.shape[1]]
        self.duality_gap_ = _duality_gap(s, Q, Z, E, Y, lam)
        self.affinity_ = _affinity(Q, Z, power)
        labels = spectral_labels(self.affinity_, n_clusters, self.random_state, embedding="ncut")
        return labels, n_iter, converged


def _represent(
    s: Array, Q: Array, lam: float, growth: float, tol: float, max_iter: int, history: History
) -> tuple[Array, Array, Array, int, bool]:
    """Solve min |Z|_* + lam |E|_21 subject to S Q' = S Z + E, with S = diag(s), by inexact ALM.

    This is the authors' problem with the reduced dictionary A = X Q, in coordinates of the row space of X, where
    (A'A + I)^-1 is diagonal.

    Returns
    -------
    Z, E : ndarray of shape (r, n_samples)
        Coefficients and errors.
    Y : ndarray of shape (r, n_samples)
        Multipliers of the constraint, for `_duality_gap`.
    n_iter : int
        Number of iterations.
    converged : bool
        Whether the iteration reached `tol`.
    """
    X, column = s[:, None] * Q.T, s[:, None]
    Z, E = np.zeros_like(X), np.zeros_like(X)
    Y1, Y2 = np.zeros_like(X), np.zeros_like(X)
    mu, bound = _MU_START, tol * max(1.0, np.abs(X).max())
    for iteration in range(1, max_iter + 1):
        J, _ = shrink_singular_values(Z + Y2 / mu, 1 / mu)
        Z = (column * (X - E + Y1 / mu) + J - Y2 / mu) / (1 + column**2)
        E = shrink_columns(X - column * Z + Y1 / mu, lam / mu)
        miss, split = X - column * Z - E, Z - J
        history.append({"miss": float(np.abs(miss).max()), "split": float(np.abs(split).max())})
        reached = max(history[-1].values()) < bound
        if reached or history.ended:
            return Z, E, Y1, iteration, reached
        Y1 += mu * miss
        Y2 += mu * split
        mu = min(growth * mu, _MU_MAX)
    return Z, E, Y1, max_iter, False


def _duality_gap(s: Array, Q: Array, Z: Array, E: Array, Y: Array, lam: float) -> float:
    """Return (primal - dual) / primal, after scaling Y to be feasible.

    The dual problem is to maximize <Y, X> subject to |A'Y|_2 <= 1 and columns of Y of length at most lam.
    """
    primal = svd(Z, compute_uv=False).sum() + lam * np.linalg.norm(E, axis=0).sum()
    column = s[:, None]
    outside = max(1.0, np.linalg.norm(column * Y, 2), np.linalg.norm(Y, axis=0).max() / lam)
    return float(1 - (Y * (column * Q.T)).sum() / outside / primal)


def shrink_columns(A: Array, threshold: float) -> Array:
    """Return argmin over E of threshold |E|_{2,1} + |E - A|^2 / 2, with |E|_{2,1} the sum of the column lengths."""
    length = np.linalg.norm(A, axis=0)
    keep = np.divide(length - threshold, length, out=np.zeros_like(length), where=length > threshold)
    return np.asarray(A * keep)


def _affinity(Q: Array, Z: Array, power: float) -> Array:
    """Return a power of the absolute inner products of the unit rows of U S^1/2, where Q Z = U S V'."""
    U, s, _ = svd(Z, full_matrices=False)
    rank = int(np.count_nonzero(s > _RANK * s[0]))
    rows = Q @ (U[:, :rank] * np.sqrt(s[:rank]))
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = np.divide(rows, length, out=np.zeros_like(rows), where=length > 0)
    return np.asarray(np.abs(rows @ rows.T) ** power)
