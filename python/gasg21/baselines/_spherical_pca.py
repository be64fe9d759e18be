"""Principal component analysis of samples that are scaled to unit length."""

from __future__ import annotations

from gasg21._data.constructor import with_parameters
from gasg21._support.arrays import Array
from gasg21.baselines._base_subspace import Solution
from gasg21.baselines._linear_algebra import principal_directions, unit_rows
from gasg21.baselines._pca import PCA


@with_parameters
class SphericalPCA(PCA):
    """PCA of the samples scaled to unit length: the fastest robust method.

    Minimizes ``sum_j |x_j - P x_j|^2 / |x_j|^2`` over the orthogonal projectors P of rank n_components. Every
    sample has the same weight, whatever its length. It costs as much as `PCA`.

    Use it as a starting point, or if the outliers are long but few. Outliers in random directions bias it if the
    inliers are spread unevenly over the subspace. With outliers it never recovers the subspace exactly.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal basis of the subspace, in order of decreasing singular value.
    n_components_, n_features_in_, n_iter_, converged_, status_, history_, offset_
        As in `PCA`.

    References
    ----------
    N. Locantore et al., "Robust principal component analysis for functional data", Test 8, 1999.

    Examples
    --------
    >>> from gasg21.baselines import SphericalPCA
    >>> from gasg21.datasets import make_low_rank
    >>> from gasg21.metrics import subspace_angle
    >>> data = make_low_rank(300, 20, 2, outlier_fraction=0.1, random_state=0)
    >>> model = SphericalPCA(n_components=2).fit(data.data)
    >>> bool(subspace_angle(model.components_, data.basis) < 0.05)
    True
    """

    def _solve(self, X: Array, d: int) -> Solution:
        return Solution(principal_directions(unit_rows(X), d))
