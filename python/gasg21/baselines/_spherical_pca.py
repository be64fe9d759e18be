"""Principal component analysis of samples that are scaled to unit length."""

from __future__ import annotations

from gasg21._data.samples import Array
from gasg21.baselines._base_subspace import Solution
from gasg21.baselines._linear_algebra import principal_directions, unit_rows
from gasg21.baselines._pca import PCA


class SphericalPCA(PCA):
    """PCA of the samples scaled to unit length: the fastest robust method.

    Minimizes ``sum_j |x_j - P x_j|^2 / |x_j|^2`` over the orthogonal projectors P of rank n_components. Every
    sample has the same weight, whatever its length. The cost is that of `PCA`.

    Use it as a starting point, or if the outliers are long but few. Outliers in random directions bias it if the
    inliers are spread unevenly over the subspace. With outliers it never recovers the subspace exactly.

    The parameters and attributes are those of `PCA`.

    References
    ----------
    N. Locantore et al., "Robust principal component analysis for functional data", Test 8, 1999.
    """

    def _solve(self, X: Array, d: int) -> Solution:
        return Solution(principal_directions(unit_rows(X), d))
