"""Parts of stored data, and how stored arrays are cut into them.

A part is a small picklable object. It opens its file each time it is read, so it can be sent to another process or
machine that sees the same files.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from gasg21._support.arrays import Array
from gasg21.exceptions import InvalidInputError

Paths = Any  # a path, a pattern, a folder, or a list of paths

PART_BYTES = 2**25  # 32 MiB: large enough to read at full speed, small enough for many threads


class Part(Protocol):
    """Some samples that are stored together."""

    @property
    def name(self) -> str:
        """Name of the part in errors."""

    @property
    def length(self) -> int | None:
        """How many samples it has; None if only reading tells."""

    def read(self) -> Array | tuple[Array, Array]:
        """Return the samples, or the samples and their mask."""


class Parts(NamedTuple):
    """The parts of a data set."""

    parts: Sequence[Part]
    n_features: int
    dtype: np.dtype[Any]  # float64 or float32


class StoredArray(Protocol):
    """A 2-d array in a file."""

    @property
    def name(self) -> str:
        """Name of the file in errors."""

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and features."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype in the file."""

    @property
    def chunk_rows(self) -> int:
        """Rows that are stored together; 1 if any rows can be read alone."""

    def rows(self, start: int, stop: int) -> Array:
        """Return some rows."""


@dataclass(frozen=True)
class RowPart:
    """Some consecutive rows of a stored array."""

    array: StoredArray
    start: int
    stop: int
    dtype: np.dtype[Any]
    mask: StoredArray | None = None

    @property
    def name(self) -> str:
        """The rows and the file."""
        return f"rows {self.start} to {self.stop - 1} of {self.array.name}"

    @property
    def length(self) -> int:
        """How many rows it has."""
        return self.stop - self.start

    def read(self) -> Array | tuple[Array, Array]:
        """Return the rows, or the rows and their mask."""
        X = as_floats(self._whole(self.array), self.dtype)
        return X if self.mask is None else (X, self._whole(self.mask))

    def _whole(self, array: StoredArray) -> Array:
        rows = array.rows(self.start, self.stop)
        expected = (self.length, array.shape[1])
        if rows.shape != expected:
            msg = f"{array.name} gave an array of shape {rows.shape} for {self.name}; it must have shape {expected}"
            raise InvalidInputError(msg)
        return rows


def parts_of_arrays(
    arrays: Sequence[StoredArray],
    masks: Sequence[StoredArray] | None,
    rows_per_part: int | None,
    bytes_per_part: int,
) -> Parts:
    """Cut stored arrays into parts of whole chunks."""
    n_features = common_width([(array.name, array.shape[1]) for array in arrays])
    dtype = common_dtype([(array.name, array.dtype) for array in arrays])
    if masks is not None:
        check_masks(arrays, masks)
    parts: list[Part] = []
    for i, array in enumerate(arrays):
        mask = None if masks is None else masks[i]
        step = part_rows(array, rows_per_part, bytes_per_part)
        parts += [RowPart(array, *cut, dtype, mask) for cut in cuts(array.shape[0], step)]
    return Parts(parts, n_features, dtype)


def part_rows(array: StoredArray, rows_per_part: int | None, bytes_per_part: int) -> int:
    """Return how many rows a part has: as asked, or whole chunks of about so many bytes, one at least."""
    if rows_per_part is not None:
        return rows_per_part
    bytes_per_row = array.shape[1] * max(array.dtype.itemsize, 4)
    wanted = max(1, bytes_per_part // max(bytes_per_row, 1))
    return max(1, wanted // array.chunk_rows) * array.chunk_rows


def cuts(length: int, step: int) -> Iterator[tuple[int, int]]:
    """Yield the first row of each part and the row after its last one."""
    for start in range(0, length, step):
        yield start, min(start + step, length)


# ---- checks


def check_two_dimensional(name: str, shape: tuple[int, ...]) -> tuple[int, int]:
    """Refuse an array that is no table of samples."""
    if len(shape) != 2:
        msg = f"{name} has shape {tuple(shape)}; it must have two dimensions, (n_samples, n_features)"
        raise InvalidInputError(msg)
    return int(shape[0]), int(shape[1])


def check_masks(arrays: Sequence[StoredArray], masks: Sequence[StoredArray]) -> None:
    """Refuse masks that are not bool or not of the shape of their array."""
    if len(masks) != len(arrays):
        msg = f"mask names {len(masks)} arrays; it must name {len(arrays)}, one for each array of samples"
        raise InvalidInputError(msg)
    for array, mask in zip(arrays, masks, strict=True):
        if mask.shape != array.shape or mask.dtype != np.bool_:
            msg = (
                f"mask {mask.name} has shape {mask.shape} and dtype {mask.dtype}; it must have the shape "
                f"{array.shape} of {array.name} and dtype bool (True = observed)"
            )
            raise InvalidInputError(msg)


def common_width(widths: Sequence[tuple[str, int]]) -> int:
    """Return the number of features; refuse files that differ in it."""
    first, expected = widths[0]
    for name, width in widths:
        if width != expected:
            msg = f"{name} has {width} columns; it must have {expected}, as many as {first}"
            raise InvalidInputError(msg)
    return expected


def common_dtype(dtypes: Sequence[tuple[str, np.dtype[Any]]]) -> np.dtype[Any]:
    """Return float32 if all are of single or half precision, else float64; refuse what are no real numbers."""
    for name, dtype in dtypes:
        if dtype.kind not in "fiub":
            msg = f"{name} has dtype {dtype}; it must hold real numbers"
            raise InvalidInputError(msg)
    single = all(dtype.kind == "f" and dtype.itemsize <= 4 for _, dtype in dtypes)
    return np.dtype(np.float32 if single else np.float64)


def as_floats(X: Array, dtype: np.dtype[Any]) -> Array:
    """Return an array in the dtype of the source, contiguous and aligned; not copied if it is so already."""
    with np.errstate(over="ignore"):  # a number too large for the dtype is reported as infinite later
        return np.require(X, dtype, ["C", "A"])


# ---- paths


def listed_paths(paths: Paths, endings: Sequence[str], kind: str) -> list[str]:
    """Return the files behind a path, a pattern, a folder, or a list of paths, in order of their names."""
    if not isinstance(paths, str | os.PathLike):
        found = [os.fspath(path) for path in paths]
        if not found:
            msg = f"an empty list of {kind} files was given; it must name at least one"
            raise InvalidInputError(msg)
    else:
        path = os.fspath(paths)
        if os.path.isdir(path):
            found = sorted(_files_below(path, endings))
        elif glob.has_magic(path) and not os.path.exists(path):
            found = sorted(glob.glob(path, recursive=True))
        else:
            found = [path]
        if not found:
            msg = f"{path} holds no {kind} file ({', '.join('*' + ending for ending in endings)})"
            raise InvalidInputError(msg)
    for each in found:
        if not os.path.exists(each):
            msg = f"{each} does not exist"
            raise InvalidInputError(msg)
    return found


def _files_below(folder: str, endings: Sequence[str]) -> Iterator[str]:
    for base, folders, names in os.walk(folder):
        folders[:] = [each for each in folders if not each.startswith((".", "_"))]  # as Hadoop and Arrow do
        for name in names:
            if name.endswith(tuple(endings)) and not name.startswith((".", "_")):
                yield os.path.join(base, name)
