"""Spectral clustering of an affinity matrix: eigenvectors of the normalized Laplacian, then k-means."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh

from gasg21._data.parameters import check_choice, seed_of
from gasg21._data.samples import Array

_MOST_ITERATIONS = 300  # of k-means


def spectral_labels(
    affinity: Array,
    n_clusters: int,
    random_state: Any = None,
    *,
    embedding: str = "unit_rows",
    n_init: int = 20,
) -> Array:
    """Cluster the vertices of a graph by the leading eigenvectors of D^-1/2 W D^-1/2.

    Parameters
    ----------
    affinity : ndarray of shape (n_samples, n_samples)
        The matrix W, symmetric and nonnegative. Samples without any affinity fall into the same cluster.
    n_clusters : int
        Number of clusters.
    random_state : int, RandomState, Generator or None
        Seed of k-means.
    embedding : {"unit_rows", "ncut"}, default="unit_rows"
        Embedding of a sample for k-means: its row of the eigenvectors, scaled to unit length (Ng, Jordan and Weiss
        2002) or divided by the square root of its degree (Shi and Malik 2000).
    n_init : int, default=20
        Number of starts of k-means.

    Returns
    -------
    labels : ndarray of shape (n_samples,)
        Labels 0, 1, ..., at most n_clusters - 1, without gaps.

    Notes
    -----
    Memory is O(n_samples^2). The eigenvectors take at worst O(n_samples^3) time.
    """
    check_choice("embedding", embedding, ("unit_rows", "ncut"))
    return cluster_points(embed(affinity, n_clusters, embedding), n_clusters, random_state, n_init)


def embed(affinity: Array, n_clusters: int, embedding: str) -> Array:
    """Return the coordinates of the samples in the leading eigenvectors, shape (n_samples, n_clusters)."""
    scale = _inverse(np.sqrt(affinity.sum(axis=1, dtype=np.float64)))
    m = len(affinity)
    # The leading eigenvectors of D^-1/2 W D^-1/2 are the last ones of the Laplacian I - D^-1/2 W D^-1/2.
    vectors = eigh(scale[:, None] * affinity * scale, subset_by_index=(m - n_clusters, m - 1))[1]
    if embedding == "ncut":
        return np.asarray(scale[:, None] * vectors)
    return np.asarray(vectors * _inverse(np.linalg.norm(vectors, axis=1))[:, None])


def cluster_points(points: Array, n_clusters: int, random_state: Any, n_init: int) -> Array:
    """Return the labels of k-means, numbered without gaps; there may be fewer distinct points than clusters."""
    n_clusters = min(n_clusters, len(np.unique(points, axis=0)))
    labels = k_means(points, n_clusters, seed_of(random_state), n_init)
    return np.asarray(np.unique(labels, return_inverse=True)[1])


def k_means(points: Array, n_clusters: int, seed: int, n_init: int) -> Array:
    """Return the labels of the best of n_init runs of Lloyd's algorithm, which go on side by side.

    scikit-learn's KMeans makes one run after the other. Its set-up takes most of the time of such few points.
    """
    centers = _starts(points, n_clusters, np.random.default_rng(seed), n_init)
    labels = np.full((len(points), n_init), -1)
    costs = np.zeros(n_init)
    moving = np.arange(n_init)
    for _ in range(_MOST_ITERATIONS):
        distances = _less_lengths(points, centers[moving])
        nearest = distances.argmin(axis=2)
        costs[moving] = distances.min(axis=2).sum(axis=0)
        moved = (nearest != labels[:, moving]).any(axis=0)
        labels[:, moving] = nearest
        moving, nearest = moving[moved], nearest[:, moved]
        if not len(moving):
            break
        belongs = (nearest[:, :, None] == np.arange(n_clusters)).astype(np.float64)
        counts = belongs.sum(axis=0)[:, :, None]
        sums = np.tensordot(belongs, points, (0, 0))
        centers[moving] = np.where(counts > 0, sums / np.maximum(counts, 1), centers[moving])
    return np.asarray(labels[:, costs.argmin()])


def _less_lengths(points: Array, centers: Array) -> Array:
    """Return |x - c|^2 - |x|^2 of points x (m, p) and centers c (..., p), shape (m, ...)."""
    return np.asarray(np.sum(centers**2, axis=-1) - np.tensordot(points, 2 * centers, (1, -1)))


def _starts(points: Array, n_clusters: int, rng: np.random.Generator, n_init: int) -> Array:
    """Return the starts of greedy k-means++ (Arthur and Vassilvitskii 2007), shape (n_init, n_clusters, p).

    Each new center is the best of a few points, drawn by their squared distances from the centers so far.
    """
    n_drawn = 2 + int(np.log(n_clusters))
    chosen = [rng.integers(len(points), size=n_init)]
    lengths = np.sum(points**2, axis=1)[:, None]
    nearest = np.maximum(lengths + _less_lengths(points, points[chosen[0]]), 0)
    starts = np.arange(n_init)
    for _ in range(n_clusters - 1):
        sums = np.cumsum(nearest, axis=0)
        drawn = np.sum(sums[:, :, None] <= rng.random((n_init, n_drawn)) * sums[-1][:, None], axis=0)
        drawn = np.minimum(drawn, len(points) - 1)
        distances = np.maximum(lengths[:, :, None] + _less_lengths(points, points[drawn]), 0)
        left = np.minimum(nearest[:, :, None], distances)
        best = left.sum(axis=0).argmin(axis=1)
        chosen.append(drawn[starts, best])
        nearest = left[:, starts, best]
    return np.stack([points[rows] for rows in chosen], axis=1)


def _inverse(values: Array) -> Array:
    """Return 1 / values, and 0 where they are 0."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


def unit_rows(X: Array) -> Array:
    """Return the samples at unit length; missing entries become 0, and samples of zeros stay zero."""
    X = np.nan_to_num(X)
    X = X / np.maximum(np.abs(X).max(axis=1, keepdims=True), np.finfo(X.dtype).tiny)  # so that no square overflows
    return np.asarray(X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), np.finfo(X.dtype).tiny))
