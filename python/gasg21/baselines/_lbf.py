"""Local best-fit flats: fit candidate flats to neighborhoods and select K of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import svd
from scipy.spatial.distance import cdist
from sklearn.utils.validation import check_is_fitted

from gasg21._data.constructor import parameter, with_parameters
from gasg21._data.parameters import check_flag, check_integer, check_number, seed_of
from gasg21._support.arrays import Array
from gasg21._support.progress import History
from gasg21.baselines._base_clusterer import SubspaceClusterer
from gasg21.exceptions import InvalidInputError

_BATCH_ENTRIES = 2**21  # entries of the neighborhoods that are processed together: 16 MB


@with_parameters
class LBF(SubspaceClusterer):
    """Clustering by local best-fit flats (Zhang, Szlam, Wang and Lerman).

    A flat is an affine subspace. Around randomly chosen samples, a neighborhood N grows until it fits a flat best
    for its size, as measured by the scale-invariant error

        beta(N) = (mean over N of dist(x, flat)^2)^1/2 / radius of N.

    The least-squares flats of these neighborhoods are the candidates. The method selects the n_clusters candidates
    that minimize the energy

        sum over all samples of the distance to the nearest flat,

    by replacing one flat at a time with the best candidate, from a random start. Each sample belongs to its nearest
    flat.

    Use it if time matters, if there are outliers (the energy sums distances that are not squared), or if there are
    many samples: no matrix is n_samples x n_samples. The dimension must be known, most neighbors of a sample must
    lie on its flat, and no entries may be missing.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample.
    components_ : ndarray of shape (n_clusters, n_components, n_features)
        Orthonormal directions of the flats.
    means_ : ndarray of shape (n_clusters, n_features)
        A point on each flat; 0 if not affine.
    neighborhood_sizes_ : ndarray of shape (n_candidates,)
        Number of samples that each candidate was fitted to.
    energy_ : float
        Sum of the distances of the samples to their nearest flats.
    n_features_in_ : int
        Number of features.
    n_iter_ : int
        Number of passes.
    converged_ : bool
        Whether the selection reached `tol`.
    status_ : {"converged", "max_iter", "interrupted"}
        How the fit ended.
    history_ : list of dict
        One record per iteration. "stage" is "candidates" (a "size" of the neighborhoods, and how many are
        "growing" further), "selection" (a pass, with the "energy") or "refinement" (a round of K-flats).

    Notes
    -----
    The candidates take O(n_candidates n_samples n_features) time for the neighbors, and each candidate takes
    O(k^2 min(k, n_features)) time for each size k that it tries. A pass takes O(n_clusters n_candidates n_samples)
    time. Memory is O(n_candidates n_samples).

    The paper leaves two cases open. If a neighborhood grows to all samples without a minimum of beta, it takes the
    size with the smallest beta. Equal values of beta (0 for data without noise) do not stop the growth.

    References
    ----------
    T. Zhang, A. Szlam, Y. Wang and G. Lerman, "Hybrid linear modeling via local best-fit flats", International
    Journal of Computer Vision 100(3), 2012.

    Examples
    --------
    >>> from gasg21.baselines import LBF
    >>> from gasg21.datasets import make_union_of_subspaces
    >>> from gasg21.metrics import clustering_error
    >>> union = make_union_of_subspaces(300, 30, 2, 3, random_state=0)
    >>> labels = LBF(n_clusters=3, n_components=2, random_state=0).fit_predict(union.data)
    >>> clustering_error(union.labels, labels)
    0.0
    """

    components_: Array
    means_: Array
    neighborhood_sizes_: Array

    n_clusters: int = parameter(
        default=2,
        kw_only=False,
        kind="int",
        text="Number of flats.",
    )
    n_components: int = parameter(
        default=1,
        kw_only=False,
        kind="int",
        text="Dimension of the flats. The authors use 3 for motion segmentation.",
    )
    affine: bool = parameter(
        default=True,
        kind="bool",
        text="If False, the flats pass through the origin.",
    )
    n_candidates: int | None = parameter(
        default=None,
        kind="int or None",
        text="Number of candidate flats. None means ``min(70 * n_clusters, n_samples)``.",
    )
    start: int | None = parameter(
        default=None,
        kind="int or None",
        text="""Number of samples in the smallest neighborhood, including its center. None means ``max(2 *
        n_components, n_components + 1)``.""",
    )
    step: int = parameter(
        default=2,
        kind="int",
        text="Number of samples by which a neighborhood grows.",
    )
    refine: int = parameter(
        default=0,
        kind="int",
        text="""Maximum number of rounds of K-flats after the selection. A round fits least-squares flats to the
        clusters and assigns the samples to the nearest flats. This helps with noise and hurts with outliers.""",
    )
    tol: float = parameter(
        default=0.0,
        kind="float",
        text="Stop if a pass over the flats lowers the energy by at most this fraction of it.",
    )
    max_iter: int = parameter(
        default=5,
        kind="int",
        text="Maximum number of passes. A pass tries to replace each flat once.",
    )
    random_state: Any = parameter(
        default=None,
        kind="int, RandomState, Generator or None",
        text="Seed of the candidates, the start and the order of replacement.",
    )

    def _cluster(self, X: Array, n_clusters: int, history: History) -> tuple[Array, int, bool]:
        d, Q, start, step = self._check_parameters(X, n_clusters)
        tol = check_number("tol", self.tol, 0)
        max_iter = check_integer("max_iter", self.max_iter, 1)
        refine = check_integer("refine", self.refine, 0)
        affine = check_flag("affine", self.affine)
        rng = np.random.default_rng(seed_of(self.random_state))

        seeds = rng.choice(len(X), Q, replace=False)
        means, components, self.neighborhood_sizes_ = _candidates(X, seeds, d, affine, start, step, history)
        distances = _distances(X, means, components)
        chosen, n_iter, converged = _choose(distances, n_clusters, rng, tol, max_iter, history)
        self.means_, self.components_ = means[chosen], components[chosen]
        distances = distances[chosen]
        for _ in range(refine):
            if history.ended:
                break
            before = distances.argmin(axis=0)
            _fit_clusters(X, before, self.means_, self.components_, affine)
            distances = _distances(X, self.means_, self.components_)
            history.append({"stage": "refinement", "energy": float(distances.min(axis=0).sum())})
            if np.array_equal(before, distances.argmin(axis=0)):
                break
        self.energy_ = float(distances.min(axis=0).sum())
        return distances.argmin(axis=0), n_iter, converged and not history.ended

    def predict(self, X: Any) -> Array:
        """Return the index of the nearest flat of each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples. X must be dense, complete and finite.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        X = self._check_data(X, reset=False)
        return np.asarray(_distances(X, self.means_, self.components_).argmin(axis=0))

    def _check_parameters(self, X: Array, K: int) -> tuple[int, int, int, int]:
        m, n = X.shape
        if n < 2:
            msg = f"n_features={n} must be at least 2, for flats of dimension n_components={self.n_components!r}"
            raise InvalidInputError(msg)
        d = check_integer("n_components", self.n_components, 1, n - 1, "n_features - 1 = ")
        if m < d + 1:
            msg = f"n_samples={m} must be at least n_components + 1 = {d + 1}"
            raise InvalidInputError(msg)
        Q = min(70 * K, m)
        if self.n_candidates is not None:
            Q = check_integer("n_candidates", self.n_candidates, K, m, "n_samples = ")
        start = min(max(2 * d, d + 1), m)
        if self.start is not None:
            start = check_integer("start", self.start, d + 1, m, "n_samples = ")
        return d, Q, start, check_integer("step", self.step, 1)


def _candidates(
    X: Array, seeds: Array, d: int, affine: bool, start: int, step: int, history: History
) -> tuple[Array, Array, Array]:
    """Fit a flat to the best neighborhood of each seed.

    Returns
    -------
    means : ndarray of shape (Q, n_features)
    directions : ndarray of shape (Q, d, n_features)
    sizes : ndarray of shape (Q,)
        Number of samples in the neighborhoods.
    """
    apart = cdist(X[seeds], X)
    apart[np.arange(len(seeds)), seeds] = -1  # a seed is its own first neighbor, even if it has duplicates
    order = np.argsort(apart, axis=1, kind="stable")
    radius = np.take_along_axis(apart, order, axis=1)
    sizes = _neighborhood_sizes(X, order, radius, d, affine, (start, step), history)
    flats = [_fit_flat(X[nearest[:size]], d, affine) for nearest, size in zip(order, sizes, strict=True)]
    return np.array([mean for mean, _ in flats]), np.array([directions for _, directions in flats]), sizes


def _neighborhood_sizes(
    X: Array, order: Array, radius: Array, d: int, affine: bool, growth: tuple[int, int], history: History
) -> Array:
    """Return the neighborhood size at the first minimum of beta, for each candidate."""
    m, count, (start, step) = len(X), len(order), growth
    sizes = np.full(count, start)
    least, before, last = np.full(count, np.inf), np.full(count, np.inf), np.full(count, np.inf)
    growing = np.arange(count)
    for k, size in enumerate(range(start, m + 1, step)):
        now = _betas(X, order[growing, :size], d, affine)
        now = np.divide(now, radius[growing, size - 1], out=np.zeros_like(now), where=now > 0)
        # Departs from the paper: equal betas do not stop the growth, because noise-free flats have beta = 0 from the
        # start; pinned by test_lbf_grows_over_equal_betas.
        found = (last[growing] <= before[growing]) & (last[growing] < now) & (k > 1)
        sizes[growing[found]] = size - step
        growing, now = growing[~found], now[~found]
        history.append({"stage": "candidates", "size": size, "growing": len(growing)})
        if history.ended or not len(growing):
            break
        better = now <= least[growing]
        sizes[growing[better]], least[growing[better]] = size, now[better]
        before[growing], last[growing] = last[growing], now
    return sizes


def _betas(X: Array, neighbors: Array, d: int, affine: bool) -> Array:
    """Return the root mean square distance of each neighborhood (Q, size) to its best d-dimensional flat."""
    size, n = neighbors.shape[1], X.shape[1]
    out = np.empty(len(neighbors))
    batch = max(1, _BATCH_ENTRIES // (size * max(size, n)))
    for first in range(0, len(neighbors), batch):
        points = X[neighbors[first : first + batch]]
        if affine:
            points = points - points.mean(axis=1, keepdims=True)
        out[first : first + batch] = _tail(points, d)
    return np.asarray(np.sqrt(out / size))


def _tail(points: Array, d: int) -> Array:
    """Return the sum of the squared singular values beyond the first d; sums at rounding level become 0."""
    swapped = points.transpose(0, 2, 1)
    products = points @ swapped if points.shape[1] <= points.shape[2] else swapped @ points
    spectrum = np.linalg.eigvalsh(products)
    if spectrum.shape[1] <= d:
        return np.zeros(len(points))
    tail = spectrum[:, :-d].sum(axis=1)
    tail[tail <= 8 * np.finfo(float).eps * points.shape[1] * spectrum[:, -1]] = 0
    return np.asarray(tail)


def _fit_flat(points: Array, d: int, affine: bool) -> tuple[Array, Array]:
    """Return a point (the mean, or 0) and d orthonormal directions of the best flat of the points."""
    mean = points.mean(axis=0) if affine else np.zeros(points.shape[1])
    directions = svd(points - mean, full_matrices=False)[2]
    return mean, directions[:d]


def _fit_clusters(X: Array, labels: Array, means: Array, components: Array, affine: bool) -> None:
    """Fit the flats to their clusters, in place; skip clusters with too few samples."""
    d = components.shape[1]
    for k in range(len(means)):
        members = X[labels == k]
        if len(members) > d:
            means[k], components[k] = _fit_flat(members, d, affine)


def _distances(X: Array, means: Array, components: Array) -> Array:
    """Return the distance of each sample to each flat, shape (n_flats, n_samples)."""
    out = np.empty((len(means), len(X)))
    for row, mean, directions in zip(out, means, components, strict=True):
        centered = X - mean
        row[:] = np.linalg.norm(centered - (centered @ directions.T) @ directions, axis=1)
    return out


def _choose(
    distances: Array, K: int, rng: np.random.Generator, tol: float, max_iter: int, history: History
) -> tuple[Array, int, bool]:
    """Select K candidates with a small energy, by replacing one at a time with the best candidate.

    Returns
    -------
    chosen : ndarray of shape (K,)
        Indices of the candidates.
    n_iter : int
        Number of passes.
    converged : bool
        Whether the last pass lowered the energy by at most `tol`.
    """
    chosen = rng.choice(len(distances), K, replace=False)
    energy = distances[chosen].min(axis=0).sum()
    for iteration in range(1, max_iter + 1):
        if history.ended:
            return chosen, iteration - 1, False
        before = energy
        for k in rng.permutation(K):
            others = distances[np.delete(chosen, k)].min(axis=0, initial=np.inf)
            energies = np.minimum(distances, others).sum(axis=1)
            best = int(energies.argmin())
            if energies[best] < energy:
                chosen[k], energy = best, energies[best]
        history.append({"stage": "selection", "energy": float(energy)})
        if before - energy <= tol * before:
            return chosen, iteration, True
    return chosen, max_iter, False
