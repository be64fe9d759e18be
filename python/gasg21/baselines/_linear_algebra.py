"""Linear algebra that several baselines share: scaling, singular value decompositions and bases."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import svds

from gasg21._support.arrays import Array
from gasg21.exceptions import InvalidInputError

_FULL_SVD_SIZE = 400  # up to this size a full SVD is as fast as a partial one


def scaled(X: Array) -> tuple[Array, float]:
    """Scale the samples so that the longest one has length 1.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Finite samples, not all zero.

    Returns
    -------
    X_scaled : ndarray of shape (n_samples, n_features)
        A float64 copy of X, divided by `scale`.
    scale : float
        Length of the longest sample. It is inf if the length exceeds the range of float64.
    """
    X = np.array(X, np.float64, order="C")
    largest = np.abs(X).max()
    if largest == 0:
        msg = f"X of shape {X.shape} is zero everywhere; at least one entry must be nonzero"
        raise InvalidInputError(msg)
    X /= largest
    longest = np.linalg.norm(X, axis=1).max()
    X /= longest
    return X, float(largest * longest)


def unit_rows(X: Array) -> Array:
    """Drop the samples that are zero and scale the others to unit length."""
    largest = np.abs(X).max(axis=1)
    X = X[largest > 0] / largest[largest > 0, None]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X


def coordinates(X: Array) -> tuple[Array, Array | None]:
    """Express the samples in an orthonormal basis with at most n_samples vectors.

    A quantity that does not change under rotation can be computed from Z instead of X.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)

    Returns
    -------
    Z : ndarray of shape (n_samples, k)
        Coordinates of the samples, with k = min(n_samples, n_features).
    B : ndarray of shape (k, n_features) or None
        Orthonormal rows with ``X = Z @ B``. None stands for the identity, if n_features <= n_samples.
    """
    if X.shape[1] <= len(X):
        return X, None
    q, r = scipy.linalg.qr(X.T, mode="economic", check_finite=False)
    return np.ascontiguousarray(r.T), q.T


def to_features(rows: Array, B: Array | None) -> Array:
    """Map rows from the coordinates that `coordinates` returns back to features."""
    return rows if B is None else rows @ B


def partial_svd(X: Array, count: int) -> tuple[Array, Array, Array]:
    """Return the `count` leading singular triplets U, s, Vt, largest singular value first."""
    count = min(count, *X.shape)
    if min(X.shape) <= _FULL_SVD_SIZE or 5 * count > min(X.shape):
        U, s, Vt = scipy.linalg.svd(X, full_matrices=False, check_finite=False)
        return U[:, :count], s[:count], Vt[:count]
    start = np.random.default_rng(0).standard_normal(min(X.shape))  # fixed, so that results are reproducible
    U, s, Vt = svds(X, count, v0=start)
    order = np.argsort(s)[::-1]
    return U[:, order], s[order], Vt[order]


def row_space(X: Array) -> tuple[Array, Array, Array]:
    """Return the thin SVD U, s, Vt of X without the singular values at rounding level."""
    U, s, Vt = scipy.linalg.svd(X, full_matrices=False, check_finite=False)
    rank = int(np.count_nonzero(_above_rounding(s, X)))
    return U[:, :rank], s[:rank], Vt[:rank]


def principal_directions(X: Array, d: int) -> Array:
    """Return the d leading right singular vectors of X as rows; fewer if X has a smaller rank."""
    _, s, Vt = partial_svd(X, d)
    kept: Array = Vt[_above_rounding(s, X)]
    return kept


def _above_rounding(s: Array, X: Array) -> Array:
    """Return which of the singular values s of X, in descending order, exceed rounding errors."""
    return np.asarray(s > max(X.shape) * np.finfo(np.float64).eps * s[0])


def shrink_singular_values(A: Array, threshold: float, guess: int | None = None) -> tuple[Array, Array]:
    """Subtract the threshold from the singular values of A, down to 0.

    This is the proximal map of the nuclear norm: argmin over J of threshold |J|_* + |J - A|^2 / 2.

    Parameters
    ----------
    A : ndarray of shape (m, n)
        Any matrix.
    threshold : float
        Value to subtract.
    guess : int, optional
        Number of singular values to compute first. It doubles while all of them exceed the threshold. By default all
        singular values are computed.

    Returns
    -------
    J : ndarray of shape (m, n)
        Matrix with the smaller singular values.
    Vt : ndarray of shape (rank, n)
        Right singular vectors of J.
    """
    guess = min(A.shape) if guess is None else guess
    while True:
        U, s, Vt = partial_svd(A, guess)
        if len(s) == min(A.shape) or s[-1] <= threshold:
            break
        guess *= 2
    rank = int(np.count_nonzero(s > threshold))
    return np.asarray((U[:, :rank] * (s[:rank] - threshold)) @ Vt[:rank]), Vt[:rank].copy()


def completed_basis(rows: Array, d: int) -> Array:
    """Extend orthonormal rows to d orthonormal rows; the added directions are arbitrary."""
    if len(rows) == d:
        return rows
    others = np.random.default_rng(0).standard_normal((d - len(rows), rows.shape[1]))
    basis: Array = np.linalg.qr(np.vstack([rows, others]).T)[0].T
    basis[: len(rows)] = rows
    return basis


def largest_angle(A: Array, B: Array) -> float:
    """Return the largest principal angle between two subspaces of equal dimension, in radians.

    The orthonormal rows of A and B span the subspaces. The sine of the angle is accurate for small angles.
    """
    return float(np.arcsin(min(1.0, float(np.linalg.norm(B - (B @ A.T) @ A, 2)))))
