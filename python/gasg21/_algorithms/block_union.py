"""Rounds of the polish over data in blocks, for K subspaces: assign, sum, update."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gasg21 import _core
from gasg21._algorithms.block_fit import Blocks
from gasg21._algorithms.block_sums import BlockPolish, BlockSums, Scatter, UnionSums, sums_of, union_sums_of
from gasg21._algorithms.clusters import assign, is_near
from gasg21._data.block_source import BlockSource
from gasg21._data.parts import Reading, read_part
from gasg21._data.samples import Array, Samples

Locate = Callable[[Samples], tuple[Samples, Samples]]  # samples -> those of the subspaces, and of the assignment

_STOP_SHARE = 0.1  # of the estimated angle, as in the polish of one subspace


@dataclass(frozen=True)
class UnionRound:
    """What all parts know in a round."""

    subspaces: list[Array]
    scatters: list[tuple[Array, float] | None]
    bases: list[Array] | None  # of the assignment; None: the subspaces
    locate: Locate
    reading: Reading
    first: bool


@dataclass
class UnionRounds:
    """K subspaces between the rounds.

    If the clusters were found in other coordinates than those of the subspaces, ``bases`` assign the samples there and
    stay as they are.
    """

    subspaces: list[Array]
    scatters: list[Scatter | None]
    bases: list[Array] | None
    locate: Locate
    tol: float
    most: int  # rounds
    passes_before: int  # passes of the fit of the sample

    def __post_init__(self) -> None:
        self._polish = [BlockPolish(U, S) for U, S in zip(self.subspaces, self.scatters, strict=True)]
        self.estimated_angles = np.full(len(self.subspaces), np.pi / 2)
        self.history: list[dict[str, Any]] = []
        self.sums: UnionSums | None = None
        self.settled = self.ended = False

    def run(self, blocks: Blocks) -> None:
        """Run all rounds, or until a callback ends them."""
        while len(self.history) < self.most and not self.settled and not self.ended:
            state = UnionRound(
                self.subspaces,
                [None if p.scatter is None else (p.scatter.C, p.scatter.s) for p in self._polish],
                self.bases,
                self.locate,
                blocks.reading,
                not self.history,
            )
            self._update(blocks.reduce(_part_sums, state), blocks.n_samples)
            self.ended = blocks.is_ended_by(self.history[-1])

    def _update(self, sums: UnionSums, n_samples: int) -> None:
        moved, settled = np.zeros(len(self.subspaces)), np.ones(len(self.subspaces), bool)
        tol = max(self.tol, 10 * float(np.finfo(self.subspaces[0].dtype).eps))
        for k, (polish, total) in enumerate(zip(self._polish, sums.clusters, strict=True)):
            if not total.weight > 0 or total.diagnostics["n_used"] <= len(self.subspaces[k]):
                continue  # any subspace can be put through d samples
            self.estimated_angles[k] = total.estimated_angle
            moved[k] = polish.update(total)
            settled[k] = moved[k] <= max(tol, _STOP_SHARE * self.estimated_angles[k])
        self.subspaces = [polish.components for polish in self._polish]
        self.sums, self.settled = sums, bool(settled.all())
        self.history.append(
            {
                "pass": self.passes_before + len(self.history) + 1,
                "stage": "polish",
                "n_samples": n_samples,
                "moved": moved,
                "members": np.array([total.diagnostics["n_used"] for total in sums.clusters]),
                "estimated_angle": self.estimated_angles.copy(),
            }
        )

    @property
    def status(self) -> str:
        """How the rounds ended."""
        if self.ended:
            return "interrupted"
        return str(_core.verdict(self.estimated_angles, self.tol)) if self.settled else "max_passes"


def _part_sums(source: BlockSource, index: int, state: UnionRound) -> UnionSums:
    samples = read_part(source, index, state.reading, look_for_infinity=state.first)
    subspaces = [np.require(U, None, ["C", "A"]) for U in state.subspaces]
    scatters = [None if S is None else (np.require(S[0], None, ["C", "A"]), S[1]) for S in state.scatters]
    if state.bases is None:
        return union_sums_of(subspaces, samples, scatters)
    if not samples.n_samples:
        return union_sums_of(subspaces, Samples(np.zeros((0, subspaces[0].shape[1])), None, samples.dtype), scatters)
    own, working = state.locate(samples)
    bases = [np.require(U, None, ["C", "A"]) for U in state.bases]
    return member_sums(subspaces, own, scatters, nearest(bases, working))


def nearest(bases: list[Array], working: Samples) -> Array:
    """Return the nearest subspace of each sample, -1 for those that lie near none."""
    labels, residuals = assign(bases, working, 1)
    return np.where(is_near(bases, labels, residuals, working), labels, -1)


def member_sums(subspaces: list[Array], samples: Samples, scatters: list[Any], labels: Array) -> UnionSums:
    """Return the sums over the members of each cluster, and count the others as used by none."""
    members = [np.flatnonzero(labels == k) for k in range(len(subspaces))]
    sums = tuple(sums_of(U, samples.subset(rows), S) for U, S, rows in zip(subspaces, scatters, members, strict=True))
    rest = _rest(subspaces[0], samples.subset(np.flatnonzero(labels < 0)))
    return UnionSums(sums, rest, labels.astype(np.int32))


def _rest(subspace: Array, samples: Samples) -> Array:
    """Return the counts of samples that belong to no cluster."""
    found: BlockSums = sums_of(subspace, samples, None)
    return found.counts
