"""Principal coordinates of the samples, in which clusters are sought: several representations of the same data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gasg21._data.samples import Array


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
    """The left singular vectors and singular values of complete samples, and how many of them matter."""

    U: Array  # (m, rank)
    s: Array  # (rank,), falling
    n_wide: int  # the most coordinates that a stream looks at: 4 sum d_k
    n_span: int  # those that all clusters together span: sum d_k

    @classmethod
    def of(cls, X: Array, dimensions: tuple[int, ...]) -> PrincipalCoordinates:
        """Decompose the rows of an array without missing entries."""
        largest = np.abs(X).max()
        U, s, _ = np.linalg.svd(X / (largest if largest > 0 else 1.0), full_matrices=False)
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
