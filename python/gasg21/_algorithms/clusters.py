"""K subspaces through the core: the plan of a fit, and the assignment of samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gasg21 import _core
from gasg21._data.parameters import (
    core_following,
    core_metric,
    core_rule,
    first_step_is_free,
    null_residual,
    step_adapts,
)
from gasg21._data.samples import Array, Samples
from gasg21._support.progress import Moved
from gasg21.step_size import StepSize


@dataclass(frozen=True)
class UnionPlan:
    """How the core is to fit K subspaces."""

    dimensions: tuple[int, ...]
    init: str | list[Array]
    n_candidates: int
    n_neighbors: int  # 0 = d + 3
    scaling: bool
    polish: bool
    step_size: str | StepSize
    max_passes: int
    tol: float
    seed: int
    n_threads: int
    replay: int | None = None

    def check(self) -> None:
        """Refuse a step size before any work is done."""
        core_rule(self.step_size, scaling=self.scaling)

    def following(self) -> _core.Following:
        """Return how the stream goes on."""
        return core_following(self.replay, paper=not self.scaling, replay_helps=step_adapts(self.step_size))

    def run(self, samples: Samples, progress: Moved | None = None, *, goal: str = "fit") -> dict[str, Any]:
        """Run a whole fit, or only the start of one or of a stream: goal "fit", "start_of_fit", "start_of_stream"."""
        batch = samples.whole()
        return _core.recover_union(
            batch.payload,
            batch.mask,
            samples.n_features,
            list(self.dimensions),
            rule=core_rule(self.step_size, scaling=self.scaling),
            stream_rule=core_rule(self.step_size, scaling=self.scaling, stream=True),
            metric=core_metric(self.scaling),
            init=self.init,
            options=_core.UnionOptions(
                n_candidates=self.n_candidates,
                n_neighbors=self.n_neighbors,
                max_passes=self.max_passes,
                tol=self.tol,
                polish=self.polish,
                first_step_from_data=first_step_is_free(self.step_size),
                seed=self.seed,
                n_threads=self.n_threads,
                following=self.following(),
            ),
            goal=goal,
            progress=progress,
        )


def assign(subspaces: list[Array], samples: Samples, threads: int) -> tuple[Array, Array]:
    """Labels of the nearest subspaces, -1 where they are not determined, and residuals."""
    parts = [_core.assign(subspaces, batch.payload, batch.mask, threads) for batch in samples.batches()]
    if len(parts) == 1:
        return parts[0]
    return np.concatenate([labels for labels, _ in parts]), np.concatenate([r for _, r in parts])


def assign_labels(subspaces: list[Array], samples: Samples, threads: int) -> Array:
    """Labels of the nearest subspaces alone, in less time."""
    parts = [_core.assign_labels(subspaces, batch.payload, batch.mask, threads) for batch in samples.batches()]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def null_bounds(subspaces: list[Array], labels: Array, samples: Samples | Array) -> Array:
    """Return the residuals above which samples are as far from their subspaces as a random direction from the nearest.

    ``samples`` may be the numbers of their observed entries.
    """
    dimensions = np.array([len(subspace) for subspace in subspaces])
    count = samples if isinstance(samples, np.ndarray) else n_observed(samples)
    cases, which = np.unique(np.stack([count, dimensions[labels]]), axis=1, return_inverse=True)
    return null_residual(cases[0], cases[1], len(subspaces))[which.reshape(-1)]


def near_subspaces(subspaces: list[Array], samples: Samples, plan: UnionPlan) -> tuple[Array, Array]:
    """Return the residuals (m, K) of samples, and whether each is nearer to each subspace than a random direction."""
    batch = samples.whole()
    residuals = _core.residuals(subspaces, batch.payload, batch.mask, plan.n_threads).astype(np.float64)
    counts, which = np.unique(n_observed(samples), return_inverse=True)
    bounds = [null_residual(counts, np.full(len(counts), len(U)), len(subspaces)) for U in subspaces]
    with np.errstate(invalid="ignore"):
        return residuals, residuals <= np.stack(bounds, axis=1)[which]


def fewest_members(dimensions: tuple[int, ...]) -> Array:
    """Return how many members hold a subspace: twice as many as it could be put through, and two more."""
    return 2 * np.array(dimensions) + 2


def n_observed(samples: Samples) -> Array:
    """Return the number of observed entries of each sample."""
    return np.concatenate([samples.observed(batch.rows)[0].sum(axis=1) for batch in samples.pieces()])


def is_near(subspaces: list[Array], labels: Array, residuals: Array, samples: Samples) -> Array:
    """Whether each sample is nearer to its subspace than a random direction would be to any of them."""
    return np.asarray((labels >= 0) & (residuals <= null_bounds(subspaces, labels, samples)))
