"""Sparse subspace clustering: write each sample as a sparse combination of the others, then cluster spectrally."""

from __future__ import annotations

import numpy as np
from scipy.linalg import svd

from gasg21._data.constructor import parameter, with_parameters
from gasg21._data.parameters import check_flag, check_integer, check_number
from gasg21._support.arrays import Array
from gasg21._support.progress import History
from gasg21.baselines._base_clusterer import SubspaceClusterer
from gasg21.baselines._spectral import spectral_labels
from gasg21.exceptions import InvalidInputError


@with_parameters
class SSC(SubspaceClusterer):
    """Sparse subspace clustering (Elhamifar and Vidal).

    Writes each sample, a row of X, as a sparse combination of the others. The nonzero coefficients then belong to
    samples of its own subspace::

        min over C of |C|_1 + alpha / (2 mu) |X - C X|^2    subject to    diag(C) = 0 (and C 1 = 1 if affine),

    with ``mu = min_i max_{j != i} |x_i . x_j|``. For alpha > 1 every sample has nonzero coefficients, unless it is zero
    or orthogonal to all others. The solver is ADMM. The post-processing follows the authors' code: in each row,
    keep the largest coefficients that make up a fraction `keep` of the sum, and divide the row by its largest one.
    The affinity ``|C| + |C|'`` is clustered spectrally.

    With `alpha_e` single entries may be corrupted, as shadows corrupt photographs of faces:

        min over C, E of |C|_1 + alpha_e / mu_e |E|_1    subject to    X = C X + E, diag(C) = 0 (and C 1 = 1),

    with mu_e = min_i max_{j != i} |x_j|_1.

    Use it for up to a few thousand complete samples, also if the subspaces are dependent, affine or of different
    dimensions; it needs no dimensions. It forms n_samples x n_samples matrices and does not accept missing entries.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample.
    coefficients_ : ndarray of shape (n_samples, n_samples)
        The matrix C before small coefficients are dropped: sample i is approximately ``coefficients_[i] @ X``.
    errors_ : ndarray of shape (n_samples, n_features)
        The matrix E with `alpha_e`; without it X - C X. With `n_components`, in the principal directions.
    weight_ : float
        Weight alpha / mu of the squared error, or alpha_e / mu_e of the sum of corruptions.
    affinity_ : ndarray of shape (n_samples, n_samples)
        Affinity that the spectral clustering uses.
    n_features_in_ : int
        Number of features.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the fit reached `tol`.
    status_ : {"converged", "max_iter", "interrupted"}
        How the fit ended.
    history_ : list of dict
        One record per iteration. "gap" is what `tol` bounds.

    Notes
    -----
    Let r be the rank of X, at most min(n_samples, n_features). An iteration is two products with an n_samples x r
    matrix: O(r n_samples^2) time and O(n_samples^2) memory; with `alpha_e` it is four products with an n_samples x
    n_features matrix. The eigenvectors at the end take at worst O(n_samples^3)
    time. The authors' code also sets the diagonal of the split variable A to zero; their paper does not. This class
    follows the paper, whose iteration converges to the minimum.

    References
    ----------
    E. Elhamifar and R. Vidal, "Sparse subspace clustering: algorithm, theory, and applications", IEEE Transactions on
    Pattern Analysis and Machine Intelligence 35(11), 2013.

    Examples
    --------
    >>> from gasg21.baselines import SSC
    >>> from gasg21.datasets import make_union_of_subspaces
    >>> from gasg21.metrics import clustering_error
    >>> union = make_union_of_subspaces(90, 30, 3, 3, random_state=0)
    >>> labels = SSC(n_clusters=3, random_state=0).fit_predict(union.data)
    >>> clustering_error(union.labels, labels)
    0.0
    """

    weight_: float

    n_components: int | None = parameter(
        default=None,
        kind="int or None",
        text="""If given, project the samples onto this many principal directions first, without centering. The authors
        report motion segmentation without projection and with 4 n_clusters.""",
    )
    alpha: float = parameter(
        default=800.0,
        kind="float",
        text="""Weight of the squared error and penalty of ADMM; it must exceed 1. The authors use 800 for motion
        segmentation and 20 for faces. With `alpha_e` there is no squared error, and it is the penalty alone.""",
    )
    alpha_e: float | None = parameter(
        default=None,
        kind="float or None",
        text="""Weight of the sum of corruptions; it must exceed 1. None: no entry is corrupted. The authors use 20 for
        faces.""",
    )
    affine: bool = parameter(
        default=False,
        kind="bool",
        text="""If True, the subspaces are affine: the coefficients of a sample sum to 1. The authors use it for motion
        segmentation.""",
    )
    keep: float = parameter(
        default=1.0,
        kind="float",
        text="""Fraction of the coefficients to keep, in (0, 1]. The authors' code uses 0.7 for motion segmentation.""",
    )
    tol: float = parameter(
        default=2e-4,
        kind="float",
        text="""Stop if no entry of the split A - C, nor of A 1 - 1 if affine, exceeds this value. With `alpha_e`: nor
        an entry of the split of the errors, nor of X - C X - E, relative to the longest sample.""",
    )
    max_iter: int = parameter(
        default=200,
        kind="int",
        text="Maximum number of iterations.",
    )

    def _cluster(self, X: Array, n_clusters: int, history: History) -> tuple[Array, int, bool]:
        alpha = check_number("alpha", self.alpha, 1, open_low=True)
        affine = check_flag("affine", self.affine)
        keep = check_number("keep", self.keep, 0, 1, open_low=True)
        tol = check_number("tol", self.tol, 0, open_low=True)
        max_iter = check_integer("max_iter", self.max_iter, 1)
        if self.n_components is not None:
            d = check_integer("n_components", self.n_components, 1, min(X.shape), "min(n_samples, n_features) = ")
            U, s, _ = svd(X, full_matrices=False)
            X = U[:, :d] * s[:d]

        largest = _largest_useful_penalty(X)
        if self.alpha_e is None:
            self.weight_ = alpha / largest
            C, n_iter, converged = _represent(X, self.weight_, alpha, affine, tol, max_iter, history)
            E = X - C @ X
        else:
            alpha_e = check_number("alpha_e", self.alpha_e, 1, open_low=True)
            self.weight_ = alpha_e / np.partition(np.abs(X).sum(axis=1), -2)[-2]
            penalties = (alpha / largest, alpha)
            C, E, n_iter, converged = _represent_corrupted(X, self.weight_, penalties, affine, tol, max_iter, history)
        self.coefficients_, self.errors_ = C, E
        self.affinity_ = _affinity(C, keep)
        labels = spectral_labels(self.affinity_, n_clusters, self.random_state)
        return labels, n_iter, converged


def _largest_useful_penalty(X: Array) -> float:
    """Return mu = min_i max_{j != i} |x_i . x_j| over the samples that are not orthogonal to all others."""
    products = np.abs(X @ X.T)
    np.fill_diagonal(products, 0)
    largest = products.max(axis=1)
    if not largest.any():
        msg = f"the samples of X, shape {X.shape}, are zero or orthogonal to each other; SSC needs samples that are not"
        raise InvalidInputError(msg)
    return float(largest[largest > 0].min())


def _represent(
    X: Array, weight: float, rho: float, affine: bool, tol: float, max_iter: int, history: History
) -> tuple[Array, int, bool]:
    """Solve min |C|_1 + weight/2 |X - C X|^2 with diag(C) = 0, by the ADMM of the paper, transposed.

    The step A = argmin of weight/2 |X - A X|^2 + rho/2 |A - C + D/rho|^2 + rho/2 |A 1 - 1 + e/rho|^2 needs the
    inverse of weight X X' + rho (1 1') + rho I. The first two terms have low rank.

    Returns
    -------
    C : ndarray of shape (n_samples, n_samples)
        Coefficients.
    n_iter : int
        Number of iterations.
    converged : bool
        Whether the iteration reached `tol`.
    """
    m = len(X)
    low_rank = np.sqrt(weight) * X
    if affine:
        low_rank = np.column_stack([low_rank, np.full(m, np.sqrt(rho))])
    V, s, _ = svd(low_rank, full_matrices=False)
    damping = s**2 / (rho + s**2)  # the inverse is (I - V diag(damping) V') / rho
    gram = weight * (X @ X.T)
    C, D, e = np.zeros((m, m)), np.zeros((m, m)), np.zeros((m, 1))
    for iteration in range(1, max_iter + 1):
        right = gram + rho * C - D
        if affine:
            right += rho - e
        A = (right - ((right @ V) * damping) @ V.T) / rho
        D += rho * A
        C = shrink(D / rho, 1 / rho)
        np.fill_diagonal(C, 0)
        D -= rho * C
        gap = np.abs(A - C).max()
        if affine:
            surplus = A.sum(axis=1, keepdims=True) - 1
            e += rho * surplus
            gap = max(gap, np.abs(surplus).max())
        history.append({"gap": float(gap)})
        if gap <= tol or history.ended:
            return C, iteration, bool(gap <= tol)
    return C, max_iter, False


def _represent_corrupted(
    X: Array, weight: float, penalties: tuple[float, float], affine: bool, tol: float, max_iter: int, history: History
) -> tuple[Array, Array, int, bool]:
    """Solve min |C|_1 + weight |E|_1 with X = C X + E and diag(C) = 0, by the ADMM of the authors, transposed.

    With F = weight E the unknowns are B = [C F] and the samples are B P, where P = [X; I / weight]. ADMM splits A from
    B. The step A = argmin of mu/2 |X - A P + M/mu|^2 + rho/2 |A - B + D/rho|^2 + rho/2 |A [1; 0] - 1 + e/rho|^2
    needs the inverse of mu P P' + rho I + rho [1; 0] [1; 0]': by the formula of Woodbury it comes from the inverse of
    P'P + (rho / mu) I, where X'X has low rank, and for the last term, of rank one, from the inverse of a number.
    """
    m, n = X.shape
    mu, rho = penalties
    _, s, W = svd(X, full_matrices=False)
    ridge = rho / mu + 1 / weight**2
    damping = s**2 / (ridge * (ridge + s**2))  # (X'X + ridge I)^-1 = I / ridge - W' diag(damping) W

    def solved(C: Array, F: Array) -> tuple[Array, Array]:  # [C F] (mu P P' + rho I)^-1
        through = C @ X + F / weight
        through = through / ridge - ((through @ W.T) * damping) @ W
        return (C - through @ X.T) / rho, (F - through / weight) / rho

    ones = solved(np.ones((1, m)), np.zeros((1, n))) if affine else None
    C, F, D, G = np.zeros((m, m)), np.zeros((m, n)), np.zeros((m, m)), np.zeros((m, n))
    M, e = np.zeros((m, n)), np.zeros((m, 1))
    for iteration in range(1, max_iter + 1):
        right = mu * X + M
        A, B = right @ X.T + rho * C - D, right / weight + rho * F - G
        if ones is not None:
            A += rho - e
        A, B = solved(A, B)
        if ones is not None:
            share = rho * A.sum(axis=1, keepdims=True) / (1 + rho * ones[0].sum())
            A, B = A - share * ones[0], B - share * ones[1]
        C, F = shrink(A + D / rho, 1 / rho), shrink(B + G / rho, 1 / rho)
        np.fill_diagonal(C, 0)
        miss = X - A @ X - B / weight
        M, D, G = M + mu * miss, D + rho * (A - C), G + rho * (B - F)
        gap = max(np.abs(A - C).max(), np.abs(B - F).max(), np.abs(miss).max() / np.linalg.norm(X, axis=1).max())
        if ones is not None:
            surplus = A.sum(axis=1, keepdims=True) - 1
            e += rho * surplus
            gap = max(gap, np.abs(surplus).max())
        history.append({"gap": float(gap)})
        if gap <= tol or history.ended:
            return C, F / weight, iteration, bool(gap <= tol)
    return C, F / weight, max_iter, False


def shrink(A: Array, threshold: float) -> Array:
    """Return argmin over C of threshold |C|_1 + |C - A|^2 / 2."""
    return np.asarray(A - np.clip(A, -threshold, threshold))


def _affinity(C: Array, keep: float) -> Array:
    """Return |C| + |C|' after dropping the small coefficients of each row and dividing it by the largest one."""
    size = np.abs(C)
    if keep < 1:
        order = np.argsort(-size, axis=1)
        descending = np.take_along_axis(size, order, axis=1)
        before = np.cumsum(descending, axis=1) - descending
        descending[before >= keep * descending.sum(axis=1, keepdims=True)] = 0
        np.put_along_axis(size, order, descending, axis=1)
    largest = size.max(axis=1, keepdims=True)
    size = np.divide(size, largest, out=np.zeros_like(size), where=largest > 0)
    return np.asarray(size + size.T)
