"""Rounds of the polish over data in blocks, for K subspaces: the work on the parts. The core ends each round."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gasg21 import _core
from gasg21._algorithms.block_fit import Blocks
from gasg21._algorithms.block_sums import Scatter, UnionSums, native, pair_of, union_sums_of
from gasg21._algorithms.clusters import assign, is_near
from gasg21._data.block_source import BlockSource
from gasg21._data.parts import Reading, read_part
from gasg21._data.samples import Array, Samples

Locate = Callable[[Samples], tuple[Samples, Samples]]  # samples -> those of the subspaces, and of the assignment


@dataclass(frozen=True)
class UnionRound:
    """What all parts know in a round."""

    subspaces: list[Array]
    scatters: list[tuple[Array, float] | None]
    bases: list[Array] | None  # of the assignment; None: the subspaces
    locate: Locate
    reading: Reading
    first: bool


class UnionRounds:
    """K subspaces between the rounds.

    If the clusters were found in other coordinates than those of the subspaces, ``bases`` assign the samples there and
    stay as they are.
    """

    def __init__(
        self,
        subspaces: list[Array],
        scatters: list[Scatter | None],
        bases: list[Array] | None,
        locate: Locate,
        tol: float,
        most: int,  # rounds
        passes_before: int,  # passes of the fit of the sample
    ) -> None:
        self.bases, self.locate, self._most, self._before = bases, locate, most, passes_before
        self._core = _core.union_rounds(subspaces, [pair_of(each) for each in scatters], tol)
        self.sums: UnionSums | None = None
        self.ended = False

    def run(self, blocks: Blocks) -> None:
        """Run all rounds, or until a callback ends them."""
        for count in range(self._most):
            state = UnionRound(self.subspaces, self._core.scatters, self.bases, self.locate, blocks.reading, count == 0)
            self.sums = blocks.reduce(_part_sums, state)
            self._core.update([each.as_tuple() for each in self.sums.clusters], blocks.n_samples)
            self.ended = blocks.is_ended_by(self.history[-1])
            if self._core.settled or self.ended:
                return

    @property
    def subspaces(self) -> list[Array]:
        """Bases of the next round."""
        return self._core.subspaces

    @property
    def estimated_angles(self) -> Array:
        """Standard error of each subspace, in radians."""
        return self._core.estimated_angles

    @property
    def history(self) -> list[dict[str, Any]]:
        """One record per round, numbered as passes of the whole fit."""
        return [{**record, "pass": self._before + record["pass"]} for record in self._core.history]

    @property
    def status(self) -> str:
        """How the rounds ended."""
        return "interrupted" if self.ended else self._core.status


def _part_sums(source: BlockSource, index: int, state: UnionRound) -> UnionSums:
    samples = read_part(source, index, state.reading, look_for_infinity=state.first)
    subspaces = [native(U) for U in state.subspaces]
    scatters = [None if S is None else (native(S[0]), S[1]) for S in state.scatters]
    if state.bases is None:
        return union_sums_of(subspaces, samples, scatters)
    if not samples.n_samples:
        return union_sums_of(subspaces, Samples(np.zeros((0, subspaces[0].shape[1])), None, samples.dtype), scatters)
    own, working = state.locate(samples)
    labels = nearest([native(U) for U in state.bases], working)
    return union_sums_of(subspaces, own, scatters, labels)


def nearest(bases: list[Array], working: Samples) -> Array:
    """Return the nearest subspace of each sample, -1 for those that lie near none."""
    labels, residuals = assign(bases, working, 1)
    return np.where(is_near(bases, labels, residuals, working), labels, -1)
