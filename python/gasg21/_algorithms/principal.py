"""Principal coordinates of the samples, in which clusters are sought: several representations of the same data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from gasg21._data.samples import Array

_GRAM_FROM = 400  # samples and features: for a few singular vectors of larger matrices their squares are faster
_GRAM_RANGE = 1e-4  # of the singular values that their squares show to enough digits


def unit_rows(X: Array) -> Array:
    """Return the samples at unit length; missing entries become 0, and samples of zeros stay zero."""
    X = np.nan_to_num(X)
    X = X / np.maximum(np.abs(X).max(axis=1, keepdims=True), np.finfo(X.dtype).tiny)  # so that no square overflows
    return np.asarray(X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), np.finfo(X.dtype).tiny))


def rotated(X: Array) -> tuple[Array, Array | None]:
    """Return complete samples in as few coordinates as there are samples, and the basis (n, m) of these; None: all."""
    if X.shape[1] <= len(X) or np.isnan(X).any():
        return X, None
    basis, coordinates = np.linalg.qr(X.T)
    return np.ascontiguousarray(coordinates.T), basis


@dataclass(frozen=True)
class PrincipalCoordinates:
    """The leading left singular vectors and singular values of complete samples, and how many of them matter."""

    U: Array  # (m, rank), or fewer columns, but more than n_wide
    s: Array  # falling, one for each of them
    n_wide: int  # the most coordinates that a stream looks at: 4 sum d_k
    n_span: int  # those that all clusters together span: sum d_k

    @classmethod
    def of(cls, X: Array, dimensions: tuple[int, ...], at_least: int = 0) -> PrincipalCoordinates:
        """Decompose the rows of an array without missing entries; find `at_least` coordinates if there are so many."""
        largest = np.abs(X).max()
        A = X / (largest if largest > 0 else 1.0)
        U, s = _leading(A, max(4 * sum(dimensions), at_least) + 1) or np.linalg.svd(A, full_matrices=False)[:2]
        rank = int(np.sum(s > len(X) * np.finfo(np.float64).eps * s[0]))
        n_wide = min(4 * sum(dimensions), rank)
        n_span = min(max(max(dimensions) + 1, min(sum(dimensions), n_wide // 2)), rank)
        return cls(U[:, :rank], s[:rank], n_wide, n_span)

    @property
    def rank(self) -> int:
        return len(self.s)

    def whitened(self, count: int, power: float = 0.5) -> Array:
        """Return unit rows of the leading coordinates, scaled by a power of their singular values."""
        return unit_rows(self.U[:, :count] * self.s[:count] ** power)


def _leading(A: Array, count: int) -> tuple[Array, Array] | None:
    """Return leading left singular vectors and singular values by way of the squares; None if that gains nothing."""
    size = min(A.shape)
    if size < _GRAM_FROM or 2 * count > size:
        return None
    wide = len(A) <= A.shape[1]
    gram = A @ A.T if wide else A.T @ A
    values, vectors = eigh(gram, subset_by_index=(size - count, size - 1), overwrite_a=True, check_finite=False)
    if not values[0] > _GRAM_RANGE**2 * values[-1]:
        return None
    s = np.sqrt(values[::-1])
    return (vectors[:, ::-1] if wide else (A @ vectors[:, ::-1]) / s), s


def shape_interaction(points: Array, exponent: float) -> Array:
    """Return |cosine|^exponent of all pairs of unit rows, 0 on the diagonal.

    For independent subspaces and points in the span of all of them (the leading left singular vectors) the cosines
    of samples of different clusters vanish: the shape interaction matrix of Costeira and Kanade (1998).
    """
    cosines = np.abs(points @ points.T)
    np.fill_diagonal(cosines, 0)
    return _power(cosines, exponent)


def _power(values: Array, exponent: float) -> Array:
    """Return values**exponent; whole even exponents, as usual here, by squares, which are several times faster."""
    if exponent < 2 or exponent % 2:
        return np.asarray(values**exponent)
    squares = values * values
    return squares if exponent == 2 else squares * _power(squares, exponent / 2 - 1)


def principal_axes(A: Array, d: int) -> Array:
    """Return the d leading right singular vectors, (d, n)."""
    if len(A) >= A.shape[1]:
        return np.ascontiguousarray(np.linalg.eigh(A.T @ A)[1][:, : -d - 1 : -1].T)
    vectors = np.linalg.eigh(A @ A.T)[1]
    axes = vectors[:, : -d - 1 : -1].T @ A
    return np.ascontiguousarray(np.linalg.qr(axes.T)[0].T)
