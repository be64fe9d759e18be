"""Results of data in blocks, written one after the other."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from gasg21._support.arrays import Array
from gasg21.exceptions import InvalidInputError

_HEADER = 256  # bytes before the data of an .npy file; a multiple of 64


def write_blocks(blocks: Iterable[Any], out: Any) -> int:
    """Write arrays one below the other, such as those that `transform` of a `BlockSource` yields.

    Only one array is in memory at a time.

    Parameters
    ----------
    blocks : iterable of ndarray
        The arrays. They must have the same dtype, and the same shape apart from the first axis.
    out : path, or array to write to
        A path of an ``.npy`` file, which appears when all is written; or an object that takes slices of rows, such as a
        NumPy memory map, a Zarr array or an HDF5 dataset.

    Returns
    -------
    n_rows : int
        Rows that were written.

    Examples
    --------
    >>> import numpy as np
    >>> from gasg21.blocks import write_blocks
    >>> out = np.zeros((5, 2))
    >>> write_blocks([np.ones((3, 2)), np.ones((2, 2))], out)
    5
    """
    if isinstance(out, str | os.PathLike):
        return _write_npy(blocks, Path(out))
    row = 0
    for block in blocks:
        if row + len(block) > len(out):
            msg = f"out has {len(out)} rows; the blocks have at least {row + len(block)}"
            raise InvalidInputError(msg)
        out[row : row + len(block)] = block
        row += len(block)
    return row


def _write_npy(blocks: Iterable[Any], path: Path) -> int:
    if path.suffix != ".npy":
        msg = f"out={str(path)!r} must end in .npy; for another format, give an array of it to write to"
        raise InvalidInputError(msg)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with unfinished.open("wb") as file:
            rows = _write_rows(_same_kind(blocks), file)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return rows


def _write_rows(blocks: Iterator[Array], file: BinaryIO) -> int:
    rows, first = 0, None
    file.write(b" " * _HEADER)
    for block in blocks:
        first = block if first is None else first
        file.write(np.ascontiguousarray(block).tobytes())
        rows += len(block)
    if first is None:
        msg = "blocks is empty; there must be at least one array"
        raise InvalidInputError(msg)
    said = {
        "descr": np.lib.format.dtype_to_descr(first.dtype),
        "fortran_order": False,
        "shape": (rows, *first.shape[1:]),
    }
    text = repr(said).encode().ljust(_HEADER - 11) + b"\n"
    file.seek(0)
    file.write(b"\x93NUMPY\x01\x00" + (_HEADER - 10).to_bytes(2, "little") + text)
    return rows


def _same_kind(blocks: Iterable[Any]) -> Iterator[Array]:
    first = None
    for i, each in enumerate(blocks):
        block = np.asarray(each)
        first = block if first is None else first
        if block.dtype != first.dtype or block.shape[1:] != first.shape[1:]:
            msg = (
                f"block {i} has dtype {block.dtype} and rows of shape {block.shape[1:]}; those before it have "
                f"{first.dtype} and {first.shape[1:]}"
            )
            raise InvalidInputError(msg)
        yield block
