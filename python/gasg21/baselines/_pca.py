"""Principal component analysis without centering."""

from __future__ import annotations

from gasg21._data.constructor import with_parameters
from gasg21._support.arrays import Array
from gasg21.baselines._base_subspace import Solution, SubspaceBaseline
from gasg21.baselines._linear_algebra import principal_directions


@with_parameters
class PCA(SubspaceBaseline):
    """Principal component analysis: the uncentered least-squares subspace. Not robust.

    Minimizes ``sum_j |x_j - P x_j|^2`` over the orthogonal projectors P of rank n_components, by one singular
    value decomposition. Unlike `sklearn.decomposition.PCA` it does not center the data.

    Use it if there are no outliers. No other method is faster, and under Gaussian noise no other method is more
    accurate. One long outlier is enough to spoil it.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Orthonormal basis of the subspace, in order of decreasing singular value.
    n_components_, n_features_in_ : int
        Dimension of the subspace and number of features.
    n_iter_ : int
        Always 1.
    converged_ : bool
        False if the samples span fewer than n_components dimensions.
    status_ : {"converged", "rank_deficient"}
        How the fit ended.
    history_ : list
        Always empty.
    offset_ : float
        Threshold of `predict`: ``decision_function(X) = score_samples(X) - offset_``.

    Notes
    -----
    Time is O(n_samples * n_features * n_components) for large data.

    References
    ----------
    K. Pearson, "On lines and planes of closest fit to systems of points in space", Philosophical Magazine 2, 1901.

    Examples
    --------
    >>> from gasg21.baselines import PCA
    >>> from gasg21.datasets import make_low_rank
    >>> from gasg21.metrics import subspace_angle
    >>> data = make_low_rank(300, 20, 2, outlier_fraction=0.0, random_state=0)
    >>> model = PCA(n_components=2).fit(data.data)
    >>> bool(subspace_angle(model.components_, data.basis) < 1e-6)
    True
    """

    def _solve(self, X: Array, d: int) -> Solution:
        return Solution(principal_directions(X, d))
