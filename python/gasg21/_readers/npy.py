"""Rows of .npy files.

The header is read by a memory map, which also notices a file that is too short. The rows are read, not mapped: a
file that is cut while it is mapped ends the process with SIGBUS, while a short read can be reported.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from gasg21._readers.stored import check_two_dimensional
from gasg21._support.arrays import Array
from gasg21.exceptions import InvalidInputError


@dataclass(frozen=True)
class NpyArray:
    """An array in a .npy file."""

    name: str
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    offset: int  # of the first entry, in bytes
    by_columns: bool  # Fortran order
    chunk_rows: int = 1

    def rows(self, start: int, stop: int) -> Array:
        """Return some rows."""
        if self.by_columns:
            return np.array(_mapped(self.name)[start:stop])
        width = self.shape[1]
        with open(self.name, "rb") as file:
            file.seek(self.offset + start * width * self.dtype.itemsize)
            found = np.fromfile(file, self.dtype, (stop - start) * width)
        if len(found) < (stop - start) * width:
            held = (os.path.getsize(self.name) - self.offset) // (width * self.dtype.itemsize)
            rows = f"rows {start} to {stop - 1} of {self.name}"
            msg = f"{rows}: the file is truncated after {held} of {self.shape[0]} rows"
            raise InvalidInputError(msg)
        return found.reshape(stop - start, width)


def open_npy(path: str) -> NpyArray:
    """Return the array in a file."""
    mapped = _mapped(path)
    shape = check_two_dimensional(path, mapped.shape)
    by_columns = mapped.flags.f_contiguous and not mapped.flags.c_contiguous
    return NpyArray(path, shape, mapped.dtype, int(mapped.offset), bool(by_columns))


def _mapped(path: str) -> Any:
    try:
        return np.lib.format.open_memmap(path, mode="r")
    except (ValueError, OSError, EOFError) as error:
        msg = f"{path} cannot be read as a .npy file, it may be truncated: {error}"
        raise InvalidInputError(msg) from error
