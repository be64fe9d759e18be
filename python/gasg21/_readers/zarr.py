"""Rows of Zarr arrays, of format 2 and 3, by zarr-python 2 or 3.

Zarr reads a chunk that is not there as the fill value. So the keys of the chunks are checked: all of them when the
array is opened, and again the keys of a part after it was read.
"""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gasg21._readers.stored import check_two_dimensional
from gasg21._support.arrays import Array
from gasg21._support.optional import optional
from gasg21.exceptions import DataQualityWarning, InvalidInputError


@dataclass(frozen=True)
class ZarrArray:
    """An array in a Zarr store."""

    store: Any
    path: str
    options: dict[str, Any] | None  # of the file system
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    chunk_rows: int
    missing_chunks: str = "raise"

    @property
    def name(self) -> str:
        """The store, and the path in it."""
        return _name_of(self.store, self.path)

    def rows(self, start: int, stop: int) -> Array:
        """Return some rows. Missing chunks are an error, or NaN."""
        try:
            array = _open(self.store, self.path, self.options)
            rows = np.asarray(array[start:stop])
            missing = list(_missing(array, start, stop))
        except Exception as error:  # stores and codecs raise errors of many kinds
            msg = f"rows {start} to {stop - 1} of {self.name} cannot be read: {type(error).__name__}: {error}"
            raise InvalidInputError(msg) from error
        missing = list(dict.fromkeys([*missing, *_filled(array, rows, start)]))
        if missing and not _is_nan(array.fill_value):
            if self.missing_chunks == "raise":
                raise InvalidInputError(_complaint(self.name, array, missing))
            rows = _with_nan(array, rows, start, missing)
        return rows


def open_zarr(store: Any, path: str, options: dict[str, Any] | None, missing_chunks: str) -> ZarrArray:
    """Return an array of a store; refuse it, or warn, if chunks are missing."""
    zarr = _zarr()
    if isinstance(store, zarr.Array):
        store, path = store.store, store.path
    store = os.fspath(store) if isinstance(store, os.PathLike) else store
    name = _name_of(store, path)
    try:
        array = _open(store, path, options)
        missing = _all_missing(array)
    except Exception as error:
        msg = f"{name} cannot be read as a Zarr array: {type(error).__name__}: {error}"
        raise InvalidInputError(msg) from error
    shape = check_two_dimensional(name, array.shape)
    if missing:
        _report(name, array, missing, missing_chunks)
    return ZarrArray(store, path, options, shape, np.dtype(array.dtype), int(array.chunks[0]), missing_chunks)


def _report(name: str, array: Any, missing: list[tuple[int, ...]], missing_chunks: str) -> None:
    if missing_chunks == "raise" and not _is_nan(array.fill_value):
        raise InvalidInputError(_complaint(name, array, missing))
    msg = f"{len(missing)} chunks of {name} are missing; all their entries count as missing"
    warnings.warn(msg, DataQualityWarning, stacklevel=4)


def _complaint(name: str, array: Any, missing: list[tuple[int, ...]]) -> str:
    first = missing[0][0] * _stored_chunks(array)[0]
    last = min(first + _stored_chunks(array)[0], array.shape[0]) - 1
    more = f", and {len(missing) - 1} more" if len(missing) > 1 else ""
    return (
        f"chunk {'.'.join(map(str, missing[0]))} of {name} (rows {first} to {last}) is missing{more}: Zarr would read "
        f"it as {array.fill_value}. missing_chunks='missing' counts its entries as missing."
    )


# ---- which chunks are there


def _stored_chunks(array: Any) -> tuple[int, ...]:
    """Return the shape of what lies in one file: a chunk, or a shard of several."""
    return tuple(getattr(array, "shards", None) or array.chunks)


def _all_missing(array: Any) -> list[tuple[int, ...]]:
    if array.nchunks_initialized >= array.nchunks:  # one listing of the store
        return []
    return list(_missing(array, 0, array.shape[0]))


def _missing(array: Any, start: int, stop: int) -> Iterator[tuple[int, ...]]:
    """Yield the chunks with these rows that are not in the store."""
    high, *other = _stored_chunks(array)
    along = [range(-(-size // step)) for size, step in zip(array.shape[1:], other, strict=True)]
    for chunk in itertools.product(range(start // high, -(-stop // high)), *along):
        if not _exists(array, chunk):
            yield chunk


def _exists(array: Any, chunk: tuple[int, ...]) -> bool:
    if hasattr(array, "chunk_store"):  # zarr-python 2
        return array._chunk_key(chunk) in array.chunk_store
    key = array.metadata.encode_chunk_key(chunk)
    path = array.store_path / key
    from zarr.core.sync import sync

    return bool(sync(path.store.exists(path.path)))


def _filled(array: Any, rows: Array, start: int) -> list[tuple[int, ...]]:
    """Return the shards that hold a chunk of nothing but the fill value: a shard does not store such a chunk."""
    if getattr(array, "shards", None) is None or _is_nan(array.fill_value):
        return []
    high, wide = array.chunks
    found: list[tuple[int, ...]] = []
    for row in range(-(-start // high) * high, start + len(rows), high):
        for column in range(0, rows.shape[1], wide):
            chunk = rows[row - start : row - start + high, column : column + wide]
            if len(chunk) == min(high, array.shape[0] - row) and (chunk == array.fill_value).all():
                found.append((row // array.shards[0], column // array.shards[1]))
    return found


def _with_nan(array: Any, rows: Array, start: int, missing: list[tuple[int, ...]]) -> Array:
    rows = np.array(rows, rows.dtype if rows.dtype.kind == "f" else np.float64)
    high, wide = _stored_chunks(array)
    for row, column in missing:
        band = rows[max(row * high - start, 0) : max((row + 1) * high - start, 0), column * wide : (column + 1) * wide]
        band[band == array.fill_value] = np.nan
    return rows


# ---- the library


def _open(store: Any, path: str, options: dict[str, Any] | None) -> Any:
    more = {} if options is None else {"storage_options": options}
    return _zarr().open_array(store, path=path, mode="r", **more)


def _zarr() -> Any:
    return optional("zarr", extra="zarr", user="BlockSource.from_zarr")


def _name_of(store: Any, path: str) -> str:
    root = str(getattr(store, "path", store))
    return f"{root}/{path}" if path else root


def _is_nan(value: Any) -> bool:
    return isinstance(value, float | np.floating) and bool(np.isnan(value))
