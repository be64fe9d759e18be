"""Dask collections as sources of parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from dask import delayed
from dask.base import is_dask_collection
from dask.delayed import Delayed

from gasg21._data.block_source import BlockSource, OnePart, computed_in
from gasg21._support.engines import Engine, Task
from gasg21.exceptions import InvalidInputError


class DelayedSource(BlockSource):
    """Parts that Dask makes: chunks of an array, partitions of a dataframe, delayed objects."""

    def __init__(self, blocks: Sequence[Any], kind: str) -> None:
        self._delayed, self._kind = list(blocks), kind
        self.lengths = [None] * len(self._delayed)

    def delayed(self, i: int) -> Any:
        """Return part i as a delayed object."""
        return self._delayed[i]

    def read(self, i: int) -> Any:
        """Compute part i."""
        return as_numbers(self._delayed[i].compute())

    def name(self, i: int) -> str:
        """Return which chunk, partition or delayed object it is."""
        return f"{self._kind} {i}"

    def only(self, i: int) -> BlockSource:
        """Return a source of part i that must be given its block."""
        return _Computed(self, i, None)

    def look(self, engine: Engine) -> DelayedSource:
        """Compute all parts once, to learn lengths, width and dtype."""
        self.n_features, self.dtype = 0, np.dtype(np.float64)
        looks = engine.map(Task(_look, self, None), range(len(self)))
        self.lengths = [shape[0] for shape, _ in looks]
        filled = [i for i, (shape, _) in enumerate(looks) if shape[0]]
        if not filled:
            msg = f"all {len(self)} parts are empty; there must be at least one sample"
            raise InvalidInputError(msg)
        widths = {i: looks[i][0][1] for i in filled}
        for i, width in widths.items():
            if width != widths[filled[0]]:
                msg = f"{self.name(i)} has {width} columns; it must have {widths[filled[0]]}, as {self.name(filled[0])}"
                raise InvalidInputError(msg)
        self.n_features = widths[filled[0]]
        self.dtype = np.result_type(*(computed_in(looks[i][1]) for i in filled))
        return self


class _Computed(OnePart):
    """A part that Dask has computed."""

    def read(self, i: int) -> Any:
        """Return the part."""
        return as_numbers(super().read(i))


def is_array(X: Any) -> bool:
    """Return whether it is a Dask array."""
    return is_dask_collection(X) and hasattr(X, "chunks")


def is_dataframe(X: Any) -> bool:
    """Return whether it is a Dask dataframe."""
    return is_dask_collection(X) and hasattr(X, "npartitions") and hasattr(X, "columns")


def is_delayed_list(X: Any) -> bool:
    """Return whether it is a list of delayed objects."""
    return isinstance(X, list | tuple) and len(X) > 0 and all(isinstance(each, Delayed) for each in X)


def as_source(X: Any, mask: Any, engine: Engine) -> BlockSource:
    """Return what a user gave as a source. Parts of unknown length are computed once, to look at their shapes."""
    if is_array(X):
        return _of_array(X, mask, "chunk", engine)
    if mask is not None:
        msg = (
            f"mask must be None for a {type(X).__name__}: masks are for Dask arrays; a delayed object or a part of a "
            "BlockSource can be a pair (X, mask)"
        )
        raise InvalidInputError(msg)
    if isinstance(X, BlockSource):
        return X
    if is_dataframe(X):
        source = _of_array(frame_as_array(X), None, "partition", engine)
        source.feature_names = [str(name) for name in X.columns]
        return source
    if is_delayed_list(X):
        return DelayedSource(X, "delayed object").look(engine)
    msg = (
        f"X is a {type(X).__name__}; it must be a Dask array or dataframe, a list of delayed objects, or a "
        "BlockSource. The estimators of gasg21 itself take arrays in memory."
    )
    raise InvalidInputError(msg)


def _of_array(X: Any, mask: Any, kind: str, engine: Engine) -> DelayedSource:
    X = in_rows(X)
    blocks = list(X.to_delayed().ravel())
    if mask is not None:
        mask = _like(mask, X)
        blocks = [delayed(_pair, pure=True)(*both) for both in zip(blocks, mask.to_delayed().ravel(), strict=True)]
    source = DelayedSource(blocks, kind)
    if any(np.isnan(length) for length in X.chunks[0]):
        source.look(engine)
    else:
        source.lengths = [int(length) for length in X.chunks[0]]
    source.n_features, source.dtype = int(X.shape[1]), computed_in(X.dtype)
    return source


def in_rows(X: Any) -> Any:
    """Return a Dask array whose chunks have all columns."""
    if X.ndim != 2:
        msg = f"X has shape {X.shape}; it must have two dimensions, (n_samples, n_features)"
        raise InvalidInputError(msg)
    if X.dtype.kind not in "fiub":
        msg = f"X has dtype {X.dtype}; it must hold numbers"
        raise InvalidInputError(msg)
    return X if len(X.chunks[1]) == 1 else X.rechunk({1: -1})


def frame_as_array(X: Any) -> Any:
    """Return a Dask dataframe as an array of floats; NA is NaN."""
    for name, dtype in zip(X.columns, X.dtypes, strict=True):
        if getattr(dtype, "kind", "O") not in "fiub":
            msg = f"column {name!r} of the dataframe has dtype {dtype}; it must hold numbers"
            raise InvalidInputError(msg)
    single = all(dtype == np.float32 for dtype in X.dtypes)
    dtype = np.dtype(np.float32 if single else np.float64)
    return X.map_partitions(_floats, dtype, meta=np.empty((0, len(X.columns)), dtype))


def as_numbers(block: Any) -> Any:
    """Return a block as the core takes it: data frames become arrays of floats."""
    return _floats(block, np.dtype(np.float64)) if hasattr(block, "columns") and hasattr(block, "to_numpy") else block


def _floats(frame: Any, dtype: np.dtype[Any]) -> Any:
    return frame.to_numpy(dtype=dtype, na_value=np.nan)


def _like(mask: Any, X: Any) -> Any:
    if not is_array(mask) or mask.shape != X.shape or mask.dtype != np.bool_:
        found = f"shape {mask.shape} and dtype {mask.dtype}" if is_array(mask) else f"type {type(mask).__name__}"
        msg = f"mask has {found}; it must be a Dask array of shape {X.shape} and dtype bool (True = observed)"
        raise InvalidInputError(msg)
    return mask.rechunk(X.chunks)


def _pair(X: Any, mask: Any) -> tuple[Any, Any]:
    return X, mask


def _look(source: BlockSource, i: int, _: None) -> tuple[tuple[int, ...], np.dtype[Any]]:
    block = source.read(i)
    X = block[0] if isinstance(block, tuple) else block
    X = X if hasattr(X, "dtype") else np.asarray(X)
    if len(X.shape) != 2:
        msg = f"{source.name(i)} has shape {X.shape}; it must have two dimensions, (n_samples, n_features)"
        raise InvalidInputError(msg)
    return tuple(X.shape), X.dtype
