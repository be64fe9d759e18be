"""A uniform sample of data in blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from gasg21._data.block_source import BlockSource
from gasg21._data.parts import Reading, read_part
from gasg21._data.samples import Array, Samples
from gasg21._support.engines import Engine, Task, Tick
from gasg21.exceptions import InvalidInputError

_MOST_COLORS = 10**9  # rows up to which NumPy draws from a hypergeometric law


@dataclass(frozen=True)
class Quotas:
    """How many rows each part gives to the sample."""

    rows: tuple[int, ...]
    seed: int
    reading: Reading


@dataclass(frozen=True)
class Wanted:
    """Rows that observe some features, so many per feature and part."""

    features: Array
    most: int
    reading: Reading


def part_lengths(source: BlockSource, reading: Reading, engine: Engine, tick: Tick | None) -> list[int]:
    """Return the rows of each part. Parts of unknown length are read, once."""
    unknown = [i for i, length in enumerate(source.lengths) if length is None]
    counted = engine.map(Task(_count_rows, source, reading), unknown, tick) if unknown else []
    lengths = dict(zip(unknown, counted, strict=True))
    return [lengths[i] if length is None else int(length) for i, length in enumerate(source.lengths)]


def draw_sample(
    source: BlockSource, lengths: list[int], count: int, seed: int, reading: Reading, engine: Engine, tick: Tick | None
) -> Samples:
    """Return `count` rows of all parts, uniformly without replacement, in their order."""
    total = sum(lengths)
    if not total:
        msg = f"all {len(source)} parts are empty; there must be at least one sample"
        raise InvalidInputError(msg)
    quotas = draw_quotas(lengths, min(count, total), seed)
    items = [i for i, quota in enumerate(quotas) if quota]
    parts = engine.map(Task(_draw_rows, source, Quotas(tuple(quotas), seed, reading)), items, tick)
    return joined(parts)


def draw_quotas(lengths: Sequence[int], count: int, seed: int) -> list[int]:
    """Return how many of `count` rows each part gives, as if they were drawn from all rows."""
    rng = np.random.default_rng([seed, len(lengths)])
    sizes = np.asarray(lengths, np.int64)
    if sizes.sum() < _MOST_COLORS:
        return [int(q) for q in rng.multivariate_hypergeometric(sizes, count, method="marginals")]
    drawn = rng.multinomial(count, sizes / sizes.sum())  # with so many rows the difference cannot be seen
    return [int(q) for q in np.minimum(drawn, sizes)]


def rows_that_observe(
    source: BlockSource, features: Array, most: int, reading: Reading, engine: Engine, tick: Tick | None
) -> Samples:
    """Return some rows that observe features which are hardly ever observed."""
    return joined(engine.map(Task(_find_rows, source, Wanted(features, most, reading)), range(len(source)), tick))


def joined(parts: list[Samples]) -> Samples:
    """Return the samples of several parts as one data set."""
    parts = [part for part in parts if part.n_samples] or parts[:1]
    first = parts[0]
    if all(sp.issparse(part.data) for part in parts):
        data = sp.vstack([part.data for part in parts], format="csr")
        data.sort_indices()
        return Samples(data, None, first.dtype, first.absent_is_zero)
    return Samples(np.concatenate([part.dense() for part in parts]), None, first.dtype)


def _count_rows(source: BlockSource, index: int, reading: Reading) -> int:
    return read_part(source, index, reading, look_for_infinity=False).n_samples


def _draw_rows(source: BlockSource, index: int, state: Quotas) -> Samples:
    samples = read_part(source, index, state.reading, look_for_infinity=False)
    rng = np.random.default_rng([state.seed, len(state.rows), index])
    rows = np.sort(rng.choice(samples.n_samples, min(state.rows[index], samples.n_samples), replace=False))
    return _copy(samples.subset(rows))


def _find_rows(source: BlockSource, index: int, state: Wanted) -> Samples:
    samples = read_part(source, index, state.reading, look_for_infinity=False)
    chosen: list[Array] = []
    for batch in samples.pieces() if samples.n_samples else ():
        observed = samples.observed(batch.rows)[0][:, state.features]
        first = np.arange(samples.n_samples)[batch.rows]
        chosen += [first[observed[:, k]][: state.most] for k in range(len(state.features))]
    rows = np.unique(np.concatenate(chosen)) if chosen else np.zeros(0, np.int64)
    return _copy(samples.subset(rows[: state.most * len(state.features)]))


def _copy(samples: Samples) -> Samples:
    """Return samples that do not hold the memory of their part, as the core takes them."""
    if sp.issparse(samples.data):
        return samples
    dense: Any = samples.dense()
    return Samples(np.array(dense), None, samples.dtype)
