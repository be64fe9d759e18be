"""Spectral clustering of an affinity matrix: normalised Laplacian, then k-means."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.cluster import KMeans

from gasg21._data.samples import Array, check_choice, seed_of


def spectral_labels(
    affinity: Array, n_clusters: int, random_state: Any = None, *, embedding: str = "unit_rows", n_init: int = 20
) -> Array:
    """Cut a graph into clusters by the leading eigenvectors of D^-1/2 W D^-1/2.

    Parameters
    ----------
    affinity : ndarray of shape (n_samples, n_samples)
        W: symmetric, not negative. A sample without any affinity is put with the others like it.
    n_clusters : int
        How many clusters.
    random_state : int, RandomState, Generator or None
        For the starts of k-means.
    embedding : {"unit_rows", "ncut"}
        How a sample is embedded for k-means: its row of the eigenvectors, at unit length (Ng, Jordan
        and Weiss 2002), or divided by the root of its degree (Shi and Malik 2000).
    n_init : int
        Starts of k-means.

    Returns
    -------
    labels : ndarray of shape (n_samples,)
        From 0 to at most n_clusters - 1, without gaps.

    Notes
    -----
    O(n_samples^2) memory; O(n_samples^3) time in the worst case, for the eigenvectors.
    """
    check_choice("embedding", embedding, ("unit_rows", "ncut"))
    return cluster_points(embed(affinity, n_clusters, embedding), n_clusters, random_state, n_init)


def embed(affinity: Array, n_clusters: int, embedding: str) -> Array:
    """Return the samples in the coordinates of the leading eigenvectors, (n_samples, n_clusters)."""
    m = len(affinity)
    scale = _inverse(np.sqrt(affinity.sum(axis=1)))
    # the leading eigenvectors of D^-1/2 W D^-1/2 are the last ones of the Laplacian I - D^-1/2 W D^-1/2
    vectors = eigh(scale[:, None] * affinity * scale, subset_by_index=(m - n_clusters, m - 1))[1]
    if embedding == "ncut":
        return np.asarray(scale[:, None] * vectors)
    return np.asarray(vectors * _inverse(np.linalg.norm(vectors, axis=1))[:, None])


def cluster_points(points: Array, n_clusters: int, random_state: Any, n_init: int) -> Array:
    """Return the labels of k-means, renumbered without gaps (there may be fewer distinct points)."""
    n_clusters = min(n_clusters, len(np.unique(points, axis=0)))
    means = KMeans(n_clusters, n_init=n_init, max_iter=1000, random_state=seed_of(random_state) % 2**32)
    return np.asarray(np.unique(means.fit_predict(points), return_inverse=True)[1])


def _inverse(values: Array) -> Array:
    """Return 1 / values, and 0 where they are 0."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)
