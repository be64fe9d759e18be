"""Local best-fit flats: candidates from neighbourhoods of the right size, of which K are chosen."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import svd
from scipy.spatial.distance import cdist
from sklearn.utils.validation import check_is_fitted

from gasg21._validation import Array, check_integer, check_number, seed_of
from gasg21.baselines._base_clusterer import SubspaceClusterer
from gasg21.baselines._parameters import check_flag
from gasg21.exceptions import InvalidInputError

_BLOCK_ENTRIES = 2**21  # of the neighbourhoods that are looked at together: 16 MB


class LBF(SubspaceClusterer):
    """Clustering by local best-fit flats.

    T. Zhang, A. Szlam, Y. Wang and G. Lerman, "Hybrid linear modeling via local best-fit flats", IJCV
    100(3), 2012. Round random samples the neighbourhood grows until it fits a flat (an affine subspace)
    best for its size, by the scale-invariant error

        beta(N) = (mean over N of dist(x, flat)^2)^1/2 / radius of N;

    the least-squares flats of these neighbourhoods are the candidates, and those n_clusters of them are
    taken that minimise the energy

        sum over all samples of the distance to the nearest flat,

    by exchanging one flat at a time for the best candidate, from a random start. Each sample belongs to
    its nearest flat.

    Prefer it when time matters, when there are outliers (the energy is not squared), and when there are
    many samples: nothing is of size n_samples x n_samples. The dimension must be known, neighbours must
    mostly be of one flat, and entries must not be missing.

    Parameters
    ----------
    n_clusters : int, default 2
        How many flats.
    n_components : int, default 1
        Their dimension; 3 for motion segmentation.
    affine : bool, default True
        False = the flats pass through the origin.
    n_candidates : int or None, default None
        Candidate flats; None = 70 n_clusters, at most n_samples.
    start : int or None, default None
        Samples of the smallest neighbourhood, the sample itself included; None = 2 n_components, at least
        n_components + 1.
    step : int, default 2
        By so many samples it grows.
    refine : int, default 0
        Rounds of K-flats at most after that: least-squares flats of the clusters, clusters of the nearest
        flats. Better for noisy samples, worse with outliers.
    tol : float, default 0
        Stop when a pass over the flats lowers the energy by at most this share of it.
    max_iter : int, default 5
        Passes at most, in each of which every flat is exchanged once.
    random_state : int, RandomState, Generator or None
        For the candidates, the start and the order of exchange.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
    components_ : ndarray of shape (n_clusters, n_components, n_features)
        Orthonormal directions of the flats.
    means_ : ndarray of shape (n_clusters, n_features)
        A point on each flat; 0 if not affine.
    neighborhood_sizes_ : ndarray of shape (n_candidates,)
        What the candidates were fitted to.
    energy_ : float
    n_iter_, converged_ : int, bool

    Notes
    -----
    Time of the candidates: O(n_candidates n_samples n_features) for the neighbours, and for each size k
    that is tried O(k^2 min(k, n_features)) each. A pass is O(n_clusters n_candidates n_samples). Memory:
    O(n_candidates n_samples).

    Two cases the paper leaves open: a neighbourhood that grows to all samples without a minimum of beta
    takes the size of the least beta; and equal betas (of noise-free data: 0) do not end the growth.

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
    energy_: float

    def __init__(
        self,
        n_clusters: int = 2,
        n_components: int = 1,
        *,
        affine: bool = True,
        n_candidates: int | None = None,
        start: int | None = None,
        step: int = 2,
        refine: int = 0,
        tol: float = 0.0,
        max_iter: int = 5,
        random_state: Any = None,
    ) -> None:
        super().__init__(n_clusters, affine=affine, tol=tol, max_iter=max_iter, random_state=random_state)
        self.n_components = n_components
        self.n_candidates = n_candidates
        self.start = start
        self.step = step
        self.refine = refine

    def _cluster(self, X: Array, n_clusters: int) -> tuple[Array, int, bool]:
        d, Q, start, step = self._check_parameters(X, n_clusters)
        tol = check_number("tol", self.tol, 0)
        max_iter = check_integer("max_iter", self.max_iter, 1)
        refine = check_integer("refine", self.refine, 0)
        affine = check_flag("affine", self.affine)
        rng = np.random.default_rng(seed_of(self.random_state))

        seeds = rng.choice(len(X), Q, replace=False)
        means, components, self.neighborhood_sizes_ = _candidates(X, seeds, d, affine, start, step)
        distances = _distances(X, means, components)
        chosen, n_iter, converged = _choose(distances, n_clusters, rng, tol, max_iter)
        self.means_, self.components_ = means[chosen], components[chosen]
        distances = distances[chosen]
        for _ in range(refine):
            before = distances.argmin(axis=0)
            _fit_clusters(X, before, self.means_, self.components_, affine)
            distances = _distances(X, self.means_, self.components_)
            if np.array_equal(before, distances.argmin(axis=0)):
                break
        self.energy_ = float(distances.min(axis=0).sum())
        return distances.argmin(axis=0), n_iter, converged

    def predict(self, X: Any) -> Array:
        """Return the nearest flat of each sample."""
        check_is_fitted(self)
        X = self._check_data(X, reset=False)
        return np.asarray(_distances(X, self.means_, self.components_).argmin(axis=0))

    def _check_parameters(self, X: Array, K: int) -> tuple[int, int, int, int]:
        m, n = X.shape
        if n < 2:
            msg = f"n_features={n}: at least 2 are needed, for flats of dimension n_components={self.n_components!r}"
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


def _candidates(X: Array, seeds: Array, d: int, affine: bool, start: int, step: int) -> tuple[Array, Array, Array]:
    """Return the means (Q, n) and directions (Q, d, n) of the local best-fit flats, and their sizes."""
    apart = cdist(X[seeds], X)
    apart[np.arange(len(seeds)), seeds] = -1  # itself first, even among duplicates
    order = np.argsort(apart, axis=1, kind="stable")
    radius = np.take_along_axis(apart, order, axis=1)
    sizes = _neighborhood_sizes(X, order, radius, d, affine, start, step)
    flats = [_fit_flat(X[nearest[:size]], d, affine) for nearest, size in zip(order, sizes, strict=True)]
    return np.array([mean for mean, _ in flats]), np.array([directions for _, directions in flats]), sizes


def _neighborhood_sizes(X: Array, order: Array, radius: Array, d: int, affine: bool, start: int, step: int) -> Array:
    """Return the size of the first minimum of beta for each candidate."""
    m, count = len(X), len(order)
    sizes = np.full(count, start)
    least, before, last = np.full(count, np.inf), np.full(count, np.inf), np.full(count, np.inf)
    growing = np.arange(count)
    for k, size in enumerate(range(start, m + 1, step)):
        now = _betas(X, order[growing, :size], d, affine)
        now = np.divide(now, radius[growing, size - 1], out=np.zeros_like(now), where=now > 0)
        # Departs from the paper: equal betas go on, because noise-free flats have beta = 0 from the start;
        # pinned by test_lbf_grows_over_equal_betas.
        found = (last[growing] <= before[growing]) & (last[growing] < now) & (k > 1)
        sizes[growing[found]] = size - step
        growing, now = growing[~found], now[~found]
        if not len(growing):
            break
        better = now <= least[growing]
        sizes[growing[better]], least[growing[better]] = size, now[better]
        before[growing], last[growing] = last[growing], now
    return sizes


def _betas(X: Array, neighbors: Array, d: int, affine: bool) -> Array:
    """Return the root mean square distance of each neighbourhood, (Q, size), to its best d-flat."""
    size, n = neighbors.shape[1], X.shape[1]
    out = np.empty(len(neighbors))
    block = max(1, _BLOCK_ENTRIES // (size * max(size, n)))
    for first in range(0, len(neighbors), block):
        points = X[neighbors[first : first + block]]
        if affine:
            points = points - points.mean(axis=1, keepdims=True)
        out[first : first + block] = _tail(points, d)
    return np.asarray(np.sqrt(out / size))


def _tail(points: Array, d: int) -> Array:
    """Return the sum of the squared singular values but the first d; 0 at rounding level."""
    swapped = points.transpose(0, 2, 1)
    products = points @ swapped if points.shape[1] <= points.shape[2] else swapped @ points
    spectrum = np.linalg.eigvalsh(products)
    if spectrum.shape[1] <= d:
        return np.zeros(len(points))
    tail = spectrum[:, :-d].sum(axis=1)
    tail[tail <= 8 * np.finfo(float).eps * points.shape[1] * spectrum[:, -1]] = 0
    return np.asarray(tail)


def _fit_flat(points: Array, d: int, affine: bool) -> tuple[Array, Array]:
    """Return the mean of the points (or 0) and orthonormal rows that span their best d-flat."""
    mean = points.mean(axis=0) if affine else np.zeros(points.shape[1])
    directions = svd(points - mean, full_matrices=False)[2]
    return mean, directions[:d]


def _fit_clusters(X: Array, labels: Array, means: Array, components: Array, affine: bool) -> None:
    """Fit the flats to their clusters, in place; one with too few samples stays as it is."""
    d = components.shape[1]
    for k in range(len(means)):
        members = X[labels == k]
        if len(members) > d:
            means[k], components[k] = _fit_flat(members, d, affine)


def _distances(X: Array, means: Array, components: Array) -> Array:
    """Return the distance of each sample to each flat, shape (flats, samples)."""
    out = np.empty((len(means), len(X)))
    for row, mean, directions in zip(out, means, components, strict=True):
        centred = X - mean
        row[:] = np.linalg.norm(centred - (centred @ directions.T) @ directions, axis=1)
    return out


def _choose(distances: Array, K: int, rng: np.random.Generator, tol: float, max_iter: int) -> tuple[Array, int, bool]:
    """Return K candidates of small energy: each in turn is exchanged for the best."""
    chosen = rng.choice(len(distances), K, replace=False)
    energy = distances[chosen].min(axis=0).sum()
    for iteration in range(1, max_iter + 1):
        before = energy
        for k in rng.permutation(K):
            others = distances[np.delete(chosen, k)].min(axis=0, initial=np.inf)
            energies = np.minimum(distances, others).sum(axis=1)
            best = int(energies.argmin())
            if energies[best] < energy:
                chosen[k], energy = best, energies[best]
        if before - energy <= tol * before:
            return chosen, iteration, True
    return chosen, max_iter, False
