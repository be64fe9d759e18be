"""Rounds of the polish over data in blocks, for K subspaces: the work on the parts. The core ends each round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gasg21 import _core
from gasg21._algorithms.block_fit import Blocks
from gasg21._algorithms.block_sums import Scatter, UnionSums, native, pair_of, union_sums_of
from gasg21._data.block_source import BlockSource
from gasg21._data.parts import Reading, read_part
from gasg21._data.samples import Samples
from gasg21._support.arrays import Array


@dataclass(frozen=True)
class UnionRound:
    """The state that all parts get in a round."""

    subspaces: list[Array]
    scatters: list[tuple[Array, float] | None]
    union: _core.Union64 | _core.Union32 | None  # assigns the samples; None: the subspaces do
    lift: tuple[Array, float] | None
    reading: Reading
    first: bool


class UnionRounds:
    """K subspaces between the rounds.

    If the clusters were found in other coordinates than the data's own, the union assigns the samples there, and its
    bases stay as they are.
    """

    def __init__(
        self,
        union: _core.Union64 | _core.Union32,
        scatters: list[Scatter | None],
        tol: float,
        most: int,  # rounds
        passes_before: int,  # passes of the fit of the sample
    ) -> None:
        self._union, self._most, self._before = union, most, passes_before
        self.is_plain = union.lift is None and not union.is_whitened
        self._core = _core.union_rounds(union.subspaces, [pair_of(each) for each in scatters], tol)
        self.sums: UnionSums | None = None
        self.ended = False

    def run(self, blocks: Blocks) -> None:
        """Run all rounds, or until a callback ends them."""
        assigning, lift = (None, None) if self.is_plain else (self._union, self._union.lift)
        for count in range(self._most):
            subspaces, scatters = self._core.subspaces, self._core.scatters
            state = UnionRound(subspaces, scatters, assigning, lift, blocks.reading, count == 0)
            self.sums = blocks.reduce(_part_sums, state)
            self._core.update([each.as_tuple() for each in self.sums.clusters], blocks.n_samples)
            self.ended = blocks.is_ended_by(self.history[-1])
            if self._core.settled or self.ended:
                return

    @property
    def union(self) -> _core.Union64 | _core.Union32:
        """The union with the subspaces that the rounds have reached."""
        before, subspaces = self._union, self._core.subspaces
        bases = subspaces if self.is_plain else before.bases
        return type(before)(subspaces, bases, before.lift, before.whitening, before.cut)

    @property
    def estimated_angles(self) -> Array:
        """Standard error of each subspace, in radians."""
        return np.asarray(self._core.estimated_angles)

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
    labels = None if state.union is None else member_labels(state.union, samples)
    lift = None if state.lift is None else (native(state.lift[0]), state.lift[1])
    return union_sums_of(subspaces, samples, scatters, labels, lift)


def member_labels(union: _core.Union64 | _core.Union32, samples: Samples) -> Array:
    """Return the nearest subspace of each sample, -1 for those that lie near none."""
    if not samples.n_samples:
        return np.zeros(0, np.intp)
    return np.concatenate([union.near_labels(batch.payload, batch.mask) for batch in samples.batches()])
