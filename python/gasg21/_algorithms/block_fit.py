"""Sample, solve, polish: the fit of one subspace to data in blocks, by any engine.

A uniform sample of all parts is fitted as usual. Then come rounds: every part returns its sums for the subspace and
scatter of the round, and the core computes the next ones from the total, until the polish would stop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gasg21 import _core
from gasg21._algorithms.block_sample import draw_sample, joined, part_lengths, rows_that_observe
from gasg21._algorithms.block_sums import BlockSums, native, sums_of
from gasg21._data.block_source import BlockSource
from gasg21._data.parts import Reading, read_part
from gasg21._data.samples import Array, Samples
from gasg21._support.engines import Engine, Task, Tick
from gasg21._support.progress import Progress

Solve = Callable[[Samples], "_core.BlockFit"]

_RARE = 64  # observed entries of a feature in the sample below which more rows are sought
_SHARE_FOR_SAMPLE = 0.25  # of the memory


@dataclass(frozen=True)
class Round:
    """The state that all parts get in a round."""

    components: Array
    scatter: tuple[Array, float]
    lift: tuple[Array, float] | None
    reading: Reading
    first: bool


@dataclass
class Blocks:
    """A data set in blocks, and who works on its parts."""

    source: BlockSource
    engine: Engine
    reading: Reading
    seed: int
    tick: Tick | None = None
    progress: Progress | None = None

    def __post_init__(self) -> None:
        self.lengths = part_lengths(self.source, self.reading, self.engine, self.tick)

    @property
    def n_samples(self) -> int:
        return sum(self.lengths)

    def solve(self, solve: Solve) -> tuple[Samples, _core.BlockFit]:
        """Draw a sample and solve it; once more, with a larger one, if it does not suffice."""
        sample = self.draw(self.source.n_sampled)
        fit = solve(sample)
        wanted = fit.second_sample(min(self.n_samples, self._most_sampled()))
        if wanted:
            sample = self.draw(wanted)
            fit = solve(sample)
        return sample, fit

    def draw(self, count: int) -> Samples:
        """Return a uniform sample, as large as the memory allows."""
        count = min(count, self._most_sampled())
        return draw_sample(self.source, self.lengths, count, self.seed, self.reading, self.engine, self.tick)

    def reduce(self, work: Callable[[BlockSource, int, Any], Any], state: Any) -> Any:
        """Return the sum of what all parts give."""
        return self.engine.reduce(Task(work, self.source, state), range(len(self.source)), _add, self.tick)

    def is_ended_by(self, record: dict[str, Any]) -> bool:
        """Show the record of a round. Returns whether a callback ends the fit."""
        return self.progress is not None and self.progress.on_pass(record)

    def with_rare_features(self, sample: Samples, dimension: int) -> Samples:
        """Return the sample with some more rows if it hardly observes a feature: other parts may do."""
        count = _observed_counts(sample)
        rare = np.flatnonzero(count < max(_RARE, 8 * (dimension + 1)))
        if not len(rare) or sample.n_samples >= self.n_samples:
            return sample
        most = 4 * dimension + 4
        rows = rows_that_observe(self.source, rare, most, self.reading, self.engine, self.tick)
        return joined([sample, rows]) if rows.n_samples else sample

    def _most_sampled(self) -> int:
        row = self.source.n_features * self.source.dtype.itemsize
        return max(100, int(_SHARE_FOR_SAMPLE * self.source.memory / row))


@dataclass(frozen=True)
class BlockResult:
    """A fit to data in blocks."""

    found: _core.Recovered
    interrupt: BaseException | None
    sums: BlockSums | None  # of the last round; None: there was none
    sample: Samples


def fit_blocks(blocks: Blocks, solve: Solve, *, rotate: bool) -> BlockResult:
    """Fit one subspace. ``solve`` turns a sample into a `_core.BlockFit`."""
    sample, fit = blocks.solve(solve)
    sums: BlockSums | None = None
    stopped: KeyboardInterrupt | None = None
    looked_at, ended = sample, fit.status == "interrupted"
    try:
        for total in _rounds(blocks, fit):
            sums = total
            ended = blocks.is_ended_by(fit.history[-1])
            if ended:
                break
        if not ended:
            looked_at = blocks.with_rare_features(sample, fit.n_components)
    except KeyboardInterrupt as caught:  # the fit keeps the state that it has reached
        stopped, ended = caught, True
    batch = looked_at.whole()
    share = looked_at.n_samples / max(blocks.n_samples, 1)
    found = fit.finish(batch.payload, batch.mask, share=share, rotate=rotate, interrupted=ended)
    return BlockResult(found, stopped or found.interrupt, sums, sample)


def _rounds(blocks: Blocks, fit: _core.BlockFit) -> Iterator[BlockSums]:
    """Yield the sums of each round."""
    first, last = True, False
    while not last:
        state = fit.state()
        if state is None:
            return
        components, scatter, lift = state
        total = blocks.reduce(_part_sums, Round(components, scatter, lift, blocks.reading, first))
        last, first = fit.round(total.as_tuple()), False
        yield total


def _part_sums(source: BlockSource, index: int, state: Round) -> BlockSums:
    samples = read_part(source, index, state.reading, look_for_infinity=False)
    sums = sums_of(native(state.components), samples, (native(state.scatter[0]), state.scatter[1]), state.lift)
    if state.first and sums.diagnostics["n_nonfinite"]:
        read_part(source, index, state.reading)  # names the infinity, if they are refused
    return sums


def _add(a: Any, b: Any) -> Any:
    return a + b


def _observed_counts(sample: Samples) -> Array:
    """Return how many samples observe each feature."""
    return sum((sample.observed(batch.rows)[0].sum(axis=0) for batch in sample.pieces()), np.zeros(sample.n_features))
