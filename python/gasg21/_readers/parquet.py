"""Row groups of Parquet files."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gasg21._readers.stored import Parts, common_dtype
from gasg21._support.arrays import Array
from gasg21._support.optional import optional
from gasg21.exceptions import DataQualityWarning, InvalidInputError

_BATCH_ROWS = 16_384  # rows that are decoded at once
_TOO_LARGE = 2**29  # bytes; a row group cannot be read in pieces


@dataclass(frozen=True)
class RowGroups:
    """Some consecutive row groups of one file."""

    path: str
    groups: tuple[int, ...]
    columns: tuple[str, ...]
    dtype: np.dtype[Any]
    length: int
    options: dict[str, Any] | None

    @property
    def name(self) -> str:
        """The row groups and the file."""
        last = f" to {self.groups[-1]}" if len(self.groups) > 1 else ""
        return f"row group{'s' if last else ''} {self.groups[0]}{last} of {self.path}"

    def read(self) -> Array:
        """Return the rows, with NaN for null. Not through pandas, which needs twice the memory."""
        out = np.empty((self.length, len(self.columns)), self.dtype)
        done = 0
        try:
            with _open(self.path, self.options) as file:
                batches = file.iter_batches(
                    _BATCH_ROWS, row_groups=list(self.groups), columns=list(self.columns), use_threads=False
                )
                for batch in batches:
                    if done + batch.num_rows > self.length:
                        break
                    _fill(out[done : done + batch.num_rows], batch, self.columns)
                    done += batch.num_rows
        except ImportError:
            raise
        except Exception as error:  # Arrow raises errors of many kinds
            msg = f"{self.name} cannot be read: {type(error).__name__}: {error}"
            raise InvalidInputError(msg) from error
        if done != self.length:
            msg = f"{self.name} has {done} rows; its metadata had {self.length} when the source was made"
            raise InvalidInputError(msg)
        return out


def parquet_parts(
    paths: Sequence[str],
    columns: Sequence[str] | None,
    options: dict[str, Any] | None,
    rows_per_part: int | None,
    bytes_per_part: int,
) -> tuple[Parts, list[str]]:
    """Return the row groups of some files, and the names of the columns. Small groups are joined."""
    names: tuple[str, ...] | None = None if columns is None else tuple(columns)
    dtypes: list[tuple[str, np.dtype[Any]]] = []
    sizes: list[tuple[str, list[int]]] = []
    for path in paths:
        try:
            with _open(path, options) as file:
                schema, metadata = file.schema_arrow, file.metadata
        except ImportError:
            raise
        except Exception as error:
            msg = f"{path} cannot be read as a Parquet file: {type(error).__name__}: {error}"
            raise InvalidInputError(msg) from error
        names = _check_names(path, schema, names, chosen=columns is not None)
        dtypes += _dtypes_of(path, schema, names)
        sizes.append((path, [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]))
    assert names is not None
    dtype = common_dtype(dtypes)
    wanted = rows_per_part or max(1, bytes_per_part // (len(names) * dtype.itemsize))
    _warn_of_size(sizes, len(names) * dtype.itemsize)
    parts = [
        RowGroups(path, groups, names, dtype, sum(rows[i] for i in groups), options)
        for path, rows in sizes
        for groups in _joined(rows, wanted)
    ]
    return Parts(parts, len(names), dtype), list(names)


def _joined(rows: list[int], wanted: int) -> list[tuple[int, ...]]:
    """Return neighbouring row groups that have no more rows together than wanted."""
    joined: list[list[int]] = []
    total = 0
    for i, n in enumerate(rows):
        if joined and total + n <= wanted:
            joined[-1].append(i)
            total += n
        else:
            joined.append([i])
            total = n
    return [tuple(groups) for groups in joined]


def _warn_of_size(sizes: list[tuple[str, list[int]]], bytes_per_row: int) -> None:
    large = [(path, max(rows, default=0)) for path, rows in sizes if max(rows, default=0) * bytes_per_row > _TOO_LARGE]
    if large:
        path, rows = large[0]
        msg = (
            f"{len(large)} files have row groups of more than {_TOO_LARGE // 2**20} MiB, for instance {path} with "
            f"{rows} rows ({rows * bytes_per_row // 2**20} MiB). A row group is read as a whole: write smaller ones "
            "(row_group_size) to save memory."
        )
        warnings.warn(msg, DataQualityWarning, stacklevel=4)


def _check_names(path: str, schema: Any, names: tuple[str, ...] | None, *, chosen: bool) -> tuple[str, ...]:
    if names is None:
        return tuple(schema.names)
    absent = [name for name in names if name not in schema.names]
    more = [] if chosen else [name for name in schema.names if name not in names]
    if absent or more:
        said = [f"lacks the column {absent[0]!r}"] if absent else []
        said += [f"has the further column {more[0]!r}"] if more else []
        msg = f"{path} {' and '.join(said)}; all files must have the columns of the first one, or those of columns="
        raise InvalidInputError(msg)
    return names


def _dtypes_of(path: str, schema: Any, names: tuple[str, ...]) -> list[tuple[str, np.dtype[Any]]]:
    types = optional("pyarrow.types", extra="parquet", user="BlockSource.from_parquet")
    found = []
    for name in names:
        kind = schema.field(name).type
        if types.is_decimal(kind):
            found.append((path, np.dtype(np.float64)))
        elif types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind):
            found.append((path, np.dtype(kind.to_pandas_dtype())))
        else:
            msg = f"column {name!r} of {path} has type {kind}; it must hold numbers. columns= selects some columns."
            raise InvalidInputError(msg)
    return found


def _fill(out: Array, batch: Any, names: tuple[str, ...]) -> None:
    compute = optional("pyarrow.compute", extra="parquet", user="BlockSource.from_parquet")
    for j, name in enumerate(names):
        column = batch.column(name)
        if str(column.type).startswith("decimal"):
            column = compute.cast(column, "float64")
        if str(column.type) == "bool":
            column = compute.cast(column, "uint8")
        out[:, j] = column.to_numpy(zero_copy_only=False)  # integers with null become float64 with NaN


def _open(path: str, options: dict[str, Any] | None) -> Any:
    parquet = optional("pyarrow.parquet", extra="parquet", user="BlockSource.from_parquet")
    return parquet.ParquetFile(path, pre_buffer=False, **(options or {}))
