"""The null law: the residual that a sample in a random direction would have."""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv

from gasg21._data.samples import Array

# A sample in a random direction passes for an inlier with the first probability. In a space of very few dimensions
# that would leave only a thin layer around the subspace; there residuals of up to _NEAR pass too, as long as this
# happens with at most the second probability.
_MISSED, _MISSED_AT_MOST, _NEAR = 1e-3, 0.05, 0.1


def null_offset(n_observed: float, n_components: int) -> float:
    """Return the score below which a sample is as far from the subspace as a random direction."""
    return -float(null_residual(np.array([n_observed]), np.array([n_components]))[0])


def null_residual(n_observed: Array, n_components: Array, n_subspaces: int = 1) -> Array:
    """Return the residual above which a sample is as far from the nearest subspace as a random direction.

    The squared residual of a random direction follows the Beta((N - d) / 2, d / 2) law for N observed entries. One in
    a thousand of such samples passes. The nearest of several subspaces has as many chances, for which the level is
    corrected (Sidak).
    """
    levels = 1 - (1 - np.array([_MISSED, _MISSED_AT_MOST])) ** (1 / n_subspaces)
    N, d = np.maximum(n_observed, n_components + 1), n_components
    strict, lax = np.sqrt(betaincinv((N - d) / 2, d / 2, levels[:, None]))
    return np.where(n_observed > n_components, np.maximum(strict, np.minimum(lax, _NEAR)), 0.0)
