"""Principal component analysis, plain and of the samples' directions."""

from __future__ import annotations

from gasg21._validation import Array
from gasg21.baselines._base_subspace import Solution, SubspaceBaseline
from gasg21.baselines._linear_algebra import principal_directions, unit_rows


class PCA(SubspaceBaseline):
    """Principal component analysis: the least-squares subspace, uncentred; not robust.

    Minimises ``sum_j |x_j - P x_j|^2`` over orthoprojectors P of rank n_components, by a (partial) singular
    value decomposition: O(n_samples * n_features * n_components) for large data, once.

    Prefer it where there are no outliers: nothing is quicker or, under Gaussian noise, more accurate. One
    long outlier is enough to turn it. Unlike scikit-learn's it does not centre the data.

    Parameters
    ----------
    n_components : int
        Dimension of the subspace, in [1, n_features - 1].
    contamination : "auto" or float in (0, 0.99]
        How `predict` decides; see `gasg21.GASG21`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal basis of the subspace, by decreasing singular value.
    n_iter_, converged_, status_, history_, n_components_, offset_
        As for the other methods; there are no iterations.

    References
    ----------
    K. Pearson, "On lines and planes of closest fit to systems of points in space", 1901.
    """

    def _solve(self, X: Array, d: int) -> Solution:
        return Solution(principal_directions(X, d))


class SphericalPCA(PCA):
    """PCA of the samples scaled to unit length: the cheapest robust method.

    Minimises ``sum_j |x_j - P x_j|^2 / |x_j|^2``: no sample counts more than another, however long it is, at
    the cost of `PCA`.

    Prefer it for a start, or where outliers are long but few. Outliers in random directions bias it only
    as far as the inliers are unevenly spread, but it never recovers exactly.

    Parameters and attributes are those of `PCA`.

    References
    ----------
    N. Locantore et al., "Robust principal component analysis for functional data", Test 8, 1999.
    """

    def _solve(self, X: Array, d: int) -> Solution:
        return Solution(principal_directions(unit_rows(X), d))
