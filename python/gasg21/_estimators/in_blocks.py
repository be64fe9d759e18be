"""Estimators with a `BlockSource`: the engine that works on its parts, and one array per part in place of one array."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from gasg21._algorithms.block_fit import Blocks
from gasg21._data.block_source import BlockSource
from gasg21._data.parameters import check_callback, check_reading, n_threads
from gasg21._data.parts import Reading, read_part
from gasg21._support.arrays import Array
from gasg21._support.engines import Engine, SerialEngine, Task, ThreadEngine
from gasg21._support.guarded import snapshot
from gasg21._support.progress import PassCallback, watched_parts
from gasg21.exceptions import InvalidInputError

Method = TypeVar("Method", bound=Callable[..., Any])

_PARTS_IN_MEMORY = 2  # copies of a part that a thread may hold: as read, and as the core takes it


@contextmanager
def opened(
    estimator: Any, source: BlockSource, seed: int, callback: PassCallback | None, engine: Engine | None
) -> Iterator[Blocks]:
    """Give the blocks of a source for a fit, with what `verbose` and a callback show of it."""
    reading = reading_of(estimator)
    check_callback(callback)
    with watched_parts(type(estimator).__name__, len(source), int(estimator.verbose), callback) as (tick, progress):
        yield Blocks(source, engine or engine_for(source, estimator.n_jobs), reading, seed, tick, progress)


def reading_of(estimator: Any) -> Reading:
    """Return how an estimator wants parts to be read."""
    return Reading(*check_reading(estimator))


def engine_for(source: BlockSource, n_jobs: Any) -> SerialEngine:
    """Return as many threads as `n_jobs` asks for and the memory of the source allows."""
    rows = max((length for length in source.lengths if length is not None), default=0)
    part = max(1, rows * source.n_features * source.dtype.itemsize)
    allowed = int(source.memory / 2 / (_PARTS_IN_MEMORY * part))
    threads = max(1, min(n_threads(n_jobs), allowed, len(source)))
    return SerialEngine() if threads == 1 else ThreadEngine(threads)


def set_features(estimator: Any, source: BlockSource) -> None:
    """Set what an estimator knows of the features that it is fitted to."""
    estimator.n_features_in_ = source.n_features
    vars(estimator).pop("feature_names_in_", None)
    if source.feature_names is not None:
        estimator.feature_names_in_ = np.asarray(source.feature_names, object)


def check_is_plain(mask: Any) -> None:
    """Refuse a mask beside a source, whose parts bring their own."""
    if mask is not None:
        msg = "mask must be None for a BlockSource, whose parts bring their masks: read(i) returns (X, mask)"
        raise InvalidInputError(msg)


def by_parts(method: Method) -> Method:
    """Let a method take a `BlockSource`: it then returns an iterator over the results of its parts.

    Parts are read and computed while the iterator is advanced, by one thread per core.
    """

    @functools.wraps(method)
    def wrapped(self: Any, X: Any, mask: Any = None) -> Any:
        return over_parts(method, self, X, mask) if isinstance(X, BlockSource) else method(self, X, mask)

    return wrapped  # type: ignore[return-value]


def over_parts(method: Any, estimator: Any, source: BlockSource, mask: Any) -> Iterator[Array]:
    """Check that a source fits an estimator, and return an iterator over what a method gives for its parts."""
    check_is_plain(mask)
    if source.n_features != estimator.n_features_in_:
        name, expected = type(estimator).__name__, estimator.n_features_in_
        msg = f"X has {source.n_features} features, but {name} is expecting {expected} features as input"
        raise InvalidInputError(msg)
    return each_part(method, estimator, source)


def each_part(method: Any, estimator: Any, source: BlockSource, engine: Engine | None = None) -> Iterator[Array]:
    """Yield what a method of an estimator gives for each part."""
    frozen = estimator._frozen() if hasattr(estimator, "_frozen") else snapshot(estimator)
    frozen.n_jobs = 1
    vars(frozen).pop("feature_names_in_", None)  # arrays have no names
    task = Task(_apply, source, (method, frozen))
    if engine is not None:
        return iter(engine.map(task, range(len(source))))
    return engine_for(source, estimator.n_jobs).each(task, range(len(source)))


def _apply(source: BlockSource, index: int, state: tuple[Any, Any]) -> Array:
    method, estimator = state
    samples = read_part(source, index, reading_of(estimator))
    if samples.n_samples:
        return np.asarray(method(estimator, samples.data, samples.mask))
    one = np.zeros((1, source.n_features), source.dtype)  # an empty part has the shape of the others, without rows
    return np.asarray(method(estimator, one, None))[:0]
