"""Whether the number of clusters suits the data."""

from __future__ import annotations

import numpy as np

from gasg21 import _core
from gasg21._algorithms.clusters import UnionPlan, fewest_members, near_subspaces
from gasg21._algorithms.ensemble import some_of
from gasg21._data.samples import Array, Samples

_EXAMINED, _PER_CLUSTER = 600, 40  # samples; at least so many per cluster, outliers among them
_ADDED = 0.4  # a new subspace that lowers the cost by this share of a typical one is missing
_SAME = 0.5  # share of the members of a subspace that lie near another one, from which both are the same
_TOGETHER = 0.8  # share of all members near two or more subspaces, from which clusters cannot be told apart


def is_held_by_few(labels: Array, dimensions: tuple[int, ...]) -> Array:
    """Whether each cluster has so few members that a subspace can be put through most of them."""
    members = np.array([(labels == k).sum() for k in range(len(dimensions))])
    return np.asarray(members < fewest_members(dimensions))


def doubt_of(subspaces: list[Array], samples: Samples, plan: UnionPlan) -> str | None:
    """Return "too_few_clusters", "too_many_clusters", or None if the number of subspaces suits the samples.

    Where most samples lie near several subspaces, as in motions and images, nothing is said: there the agreement of
    representations tells more.
    """
    at_most = max(_EXAMINED, _PER_CLUSTER * len(subspaces))
    some = samples.subset(some_of(np.arange(samples.n_samples), at_most, plan.seed))
    residuals, near = near_subspaces(subspaces, some, plan)
    known: Array = np.asarray(~np.isnan(residuals).any(axis=1))
    residuals, near = residuals[known], near[known]
    if not near.any():
        return None
    inside = near.any(axis=1)
    if (near[inside].sum(axis=1) > 1).mean() > _TOGETHER:
        return None
    if _coincide(near, residuals) or _holds_nobody(near, residuals, plan):
        return "too_many_clusters"
    return "too_few_clusters" if _gains(residuals, some, known, plan) else None


def _coincide(near: Array, residuals: Array) -> bool:
    """Whether most members of one subspace lie near another one."""
    nearest = residuals.argmin(axis=1)
    for k in range(near.shape[1]):
        members = near[(nearest == k) & near[:, k]]
        if len(members) and np.delete(members.mean(axis=0), k).max(initial=0) > _SAME:
            return True
    return False


def _holds_nobody(near: Array, residuals: Array, plan: UnionPlan) -> bool:
    """Whether a subspace has hardly more members than any subspace could be put through."""
    nearest = residuals.argmin(axis=1)
    members = np.array([((nearest == k) & near[:, k]).sum() for k in range(near.shape[1])])
    few = 3 * np.array(plan.dimensions) + 3
    return bool((members < np.minimum(few, 0.25 * np.median(members))).any())


def _gains(residuals: Array, some: Samples, known: Array, plan: UnionPlan) -> bool:
    """Whether one more subspace would lower the cost about as much as those that are there do."""
    nearest = residuals.min(axis=1)
    second = np.partition(residuals, 1, axis=1)[:, 1]
    owner = residuals.argmin(axis=1)
    removal = np.array([(second - nearest)[owner == k].sum() for k in range(residuals.shape[1])])
    batch = some.whole()
    maker = _core.Seeder32 if some.dtype == np.float32 else _core.Seeder64
    seeder = maker(batch.payload, batch.mask, some.n_features, some.n_samples, plan.seed, plan.n_threads)
    d = max(plan.dimensions)
    seeder.density([d] * len(plan.dimensions), len(plan.dimensions) + 10, 0)
    tried = _core.residuals(seeder.candidates(), batch.payload, batch.mask, plan.n_threads)[known]
    added = np.nansum(np.maximum(nearest[:, None] - tried, 0), axis=0).max(initial=0)
    return bool(added > _ADDED * np.median(removal))
