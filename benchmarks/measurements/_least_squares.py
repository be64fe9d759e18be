"""The best that a method could do: least squares on the true members of a subspace."""

from __future__ import annotations

import numpy as np


def least_squares_basis(X: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """Return the basis after 15 rounds of alternating least squares on X (NaN = missing), starting at the true basis."""
    filled, M, U = np.nan_to_num(X), (~np.isnan(X)).astype(float), basis.T
    for _ in range(15):
        W = np.linalg.solve(np.einsum("mi,ia,ib->mab", M, U, U, optimize=True), (filled @ U)[..., None])[..., 0]
        U = np.linalg.solve(np.einsum("mi,ma,mb->iab", M, W, W, optimize=True), (filled.T @ W)[..., None])[..., 0]
    return U.T
