"""Sparse subspace clustering by orthogonal matching pursuit: a few other samples explain each one, then cluster."""

from __future__ import annotations

import numpy as np

from gasg21._data.constructor import parameter, with_parameters
from gasg21._data.parameters import check_integer, check_number
from gasg21._support.arrays import Array
from gasg21._support.progress import History
from gasg21.baselines._base_clusterer import SubspaceClusterer
from gasg21.baselines._spectral import spectral_labels, unit_rows


@with_parameters
class SSCOMP(SubspaceClusterer):
    """Sparse subspace clustering by orthogonal matching pursuit (You, Robinson and Vidal).

    Scales the samples, the rows of X, to unit length. Then it explains each of them by a few others, chosen one after
    the other: the next one is that with the largest |cosine| to what is left, and the coefficients of all chosen ones
    are found anew by least squares. The affinity |C| + |C|' is clustered spectrally.

    Use it for up to some thousand complete samples if time matters more than accuracy: it makes no iterations but
    those few. It needs no dimensions of the subspaces. The affinity is an n_samples x n_samples matrix.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample.
    coefficients_ : ndarray of shape (n_samples, n_samples)
        The matrix C: sample i at unit length is approximately ``coefficients_[i] @ X``, with rows of unit length.
    affinity_ : ndarray of shape (n_samples, n_samples)
        Affinity that the spectral clustering uses.
    n_features_in_ : int
        Number of features.
    n_iter_ : int
        Number of steps of the pursuit, at most `n_nonzero`.
    converged_ : bool
        True, unless a callback ended the fit: a pursuit always ends.
    status_ : {"converged", "interrupted"}
        How the fit ended.
    history_ : list of dict
        One record per step: "unexplained" samples, and the largest length of what is left of one, "residual".

    Notes
    -----
    A step is a product of an n_samples x n_features matrix with its transpose, and a small system for each sample.

    References
    ----------
    C. You, D. Robinson and R. Vidal, "Scalable sparse subspace clustering by orthogonal matching pursuit", IEEE
    Conference on Computer Vision and Pattern Recognition, 2016.

    Examples
    --------
    >>> from gasg21.baselines import SSCOMP
    >>> from gasg21.datasets import make_union_of_subspaces
    >>> from gasg21.metrics import clustering_error
    >>> union = make_union_of_subspaces(90, 30, 3, 3, random_state=0)
    >>> labels = SSCOMP(n_clusters=3, n_nonzero=3, random_state=0).fit_predict(union.data)
    >>> clustering_error(union.labels, labels)
    0.0
    """

    n_nonzero: int = parameter(
        default=5,
        kind="int",
        text="""Largest number of samples that explain another one; at most the dimension of the subspaces is useful.
        The authors use 5 for faces.""",
    )
    tol: float = parameter(
        default=1e-3,
        kind="float",
        text="A sample is explained if its residual, of unit length in the beginning, is at most this.",
    )

    def _cluster(self, X: Array, n_clusters: int, history: History) -> tuple[Array, int, bool]:
        most = check_integer("n_nonzero", self.n_nonzero, 1)
        tol = check_number("tol", self.tol, 0, open_low=True)
        C, n_iter = _pursue(unit_rows(X), min(most, len(X) - 1), tol, history)
        size = np.abs(C)
        self.coefficients_, self.affinity_ = C, size + size.T
        return spectral_labels(self.affinity_, n_clusters, self.random_state), n_iter, not history.ended


def _pursue(A: Array, most: int, tol: float, history: History) -> tuple[Array, int]:
    """Return coefficients (m, m) that explain unit rows by at most so many others, and the number of steps."""
    m = len(A)
    gram = A @ A.T
    active = np.flatnonzero(np.linalg.norm(A, axis=1) > tol)
    chosen = np.zeros((len(active), 0), np.intp)
    C, left = np.zeros((m, m)), A.copy()
    for step in range(most):
        cosines = np.abs(left[active] @ A.T)
        cosines[np.arange(len(active)), active] = -1
        np.put_along_axis(cosines, chosen, -1, axis=1)
        chosen = np.column_stack([chosen, cosines.argmax(axis=1)])
        # A row that is orthogonal to all others, up to rounding, cannot be explained.
        useful = cosines.max(axis=1) > np.finfo(np.float64).eps * m
        chosen, active = chosen[useful], active[useful]
        if not len(active):
            return C, step
        among = gram[chosen[:, :, None], chosen[:, None, :]]
        weights = np.linalg.solve(among, gram[active[:, None], chosen][:, :, None])[:, :, 0]
        C[active] = 0
        np.put_along_axis(part := C[active], chosen, weights, axis=1)
        C[active] = part
        left[active] = A[active] - np.einsum("js,jsn->jn", weights, A[chosen])
        lengths = np.linalg.norm(left[active], axis=1)
        going = lengths > tol
        chosen, active = chosen[going], active[going]
        history.append({"unexplained": len(active), "residual": float(lengths.max())})
        if history.ended or not len(active):
            return C, step + 1
    return C, most
