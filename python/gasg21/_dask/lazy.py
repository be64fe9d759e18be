"""Methods of a fitted estimator, lazily, for every chunk, partition or part."""

from __future__ import annotations

from typing import Any

import numpy as np

from gasg21._dask.sources import as_numbers, frame_as_array, in_rows, is_array, is_dataframe, is_delayed_list
from gasg21._data.block_source import BlockSource
from gasg21._data.parts import Reading, read_part
from gasg21._support.optional import optional


def is_lazy(X: Any) -> bool:
    """Return whether a method of X has to be lazy."""
    return isinstance(X, BlockSource) or is_array(X) or is_dataframe(X) or is_delayed_list(X)


def lazily(model: Any, method: str, X: Any, mask: Any) -> Any:
    """Return a Dask array of what a method gives for X, or a list of delayed objects for such a list."""
    if is_delayed_list(X):
        from dask import delayed

        apply = delayed(_apply_to_delayed, pure=True)
        held = delayed(model, traverse=False)
        return [apply(held, method, block) for block in X]
    if isinstance(X, BlockSource):
        X = _array_of(X)
    X = in_rows(frame_as_array(X) if is_dataframe(X) else X)
    empty = _apply(np.zeros((0, X.shape[1]), X.dtype), None, model=model, method=method)
    arrays = (X,) if mask is None else (X, mask.rechunk(X.chunks))
    return optional("dask.array", extra="dask", user="gasg21.dask").map_blocks(
        _apply,
        *arrays,
        model=model,
        method=method,
        dtype=empty.dtype,
        meta=empty,
        chunks=(X.chunks[0],) if empty.ndim == 1 else (X.chunks[0], (empty.shape[1],)),
        drop_axis=1 if empty.ndim == 1 else None,
    )


def _apply(X: Any, mask: Any = None, *, model: Any, method: str) -> Any:
    if X.shape[0]:
        return np.asarray(getattr(model, method)(X, mask=mask))
    one = np.zeros((1, X.shape[1]), X.dtype)  # an empty chunk has the shape of the others, without rows
    return np.asarray(getattr(model, method)(one))[:0]


def _apply_to_delayed(model: Any, method: str, block: Any) -> Any:
    X, mask = block if isinstance(block, tuple) else (block, None)
    return _apply(as_numbers(X), mask, model=model, method=method)


def _array_of(source: BlockSource) -> Any:
    """Return the parts of a source as the chunks of a Dask array."""
    from dask import array, delayed

    read = delayed(_dense, pure=False)
    chunks = []
    for i, length in enumerate(source.lengths):
        shape = (np.nan if length is None else length, source.n_features)
        chunks.append(array.from_delayed(read(_Held(source.only(i)), i), shape, source.dtype))
    return array.concatenate(chunks, allow_unknown_chunksizes=True)


class _Held:
    """A source that Dask does not look into."""

    def __init__(self, source: BlockSource) -> None:
        self.source = source


def _dense(held: _Held, i: int) -> Any:
    return read_part(held.source, i, Reading(), look_for_infinity=False).dense()
