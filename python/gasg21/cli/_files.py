"""Files with samples: read into an array with the names of its columns, and written again."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gasg21 import _core
from gasg21._readers.csv import csv_parts
from gasg21._readers.text import MISSING, NoNumberError, first_line, guessed_delimiter, is_number, write_text
from gasg21._support.arrays import Array
from gasg21._support.optional import optional
from gasg21.blocks import BlockSource
from gasg21.cli._errors import IN_PARTS, CommandError, UsageError, sentence

_KINDS = {
    ".csv": "text",
    ".tsv": "text",
    ".txt": "text",
    ".npy": "npy",
    ".npz": "npz",
    ".mat": "mat",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
    ".zarr": "zarr",
}


_READ_BYTES = 2**22  # of text at a time


@dataclass(frozen=True)
class Table:
    """Samples, one per row; NaN is missing."""

    path: str
    data: Array
    names: list[str] | None  # of the columns

    @property
    def missing(self) -> float:
        """Share of the entries that are missing."""
        return float(np.mean(np.isnan(self.data))) if self.data.size else 0.0


def kind_of(path: str) -> str:
    """Return the format of a file, by its ending."""
    ending = Path(path.rstrip("/")).suffix.lower()
    if ending not in _KINDS:
        known = ", ".join(sorted(_KINDS))
        wrong = f"the ending {ending!r} is none of" if ending else "the name must end with one of"
        msg = f"{path}: {wrong} {known}"
        raise CommandError(msg)
    return _KINDS[ending]


def read(options: argparse.Namespace, wanted: Sequence[str] | None = None) -> Table:
    """Read the data that the arguments name. ``wanted``: the columns of a model, unless the arguments choose others."""
    path = options.data
    if not Path(path).exists():
        msg = f"{path}: no such file"
        raise CommandError(msg)
    kind = kind_of(path)
    if kind != "npy":  # which is mapped, not read
        _check_size(path)
    try:
        table = _READERS[kind](path, options, wanted)
    except (CommandError, ImportError, MemoryError):
        raise
    except Exception as error:  # each library has its own errors for damaged files
        said = sentence(error)
        msg = said if path in said else f"{path} cannot be read as {kind}: {said}"
        raise CommandError(msg) from error
    table = _without_markers(table, options.missing)
    _check_entries(table)
    return table


def _check_size(path: str) -> None:
    """Refuse a file that is larger than the memory: the system would end the program without a word."""
    at = Path(path)
    size = sum(file.stat().st_size for file in at.rglob("*") if file.is_file()) if at.is_dir() else at.stat().st_size
    memory = _memory()
    if memory is not None and size > memory:
        msg = f"{path} has {size / 1e9:.1f} GB, the machine {memory / 1e9:.1f} GB of memory; {IN_PARTS}"
        raise CommandError(msg)


def _memory() -> int | None:
    """Return the bytes of memory of this machine; None where the system does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _check_entries(table: Table) -> None:
    if not table.data.size:
        msg = f"{table.path} holds no samples"
        raise CommandError(msg)
    bad = _core.find_infinite(np.ascontiguousarray(table.data), None, table.data.shape[1])
    if bad is not None:
        row, column = bad
        name = table.names[column] if table.names is not None else f"column {column}"
        msg = f"{table.path}: row {row} of {name!r} is infinite; --missing inf,-inf makes such entries missing ones"
        raise CommandError(msg)


def chosen_columns(names: Sequence[str], options: argparse.Namespace, wanted: Sequence[str] | None) -> list[int]:
    """Return the numbers of the columns that the arguments choose, or that a model was fitted to."""
    if options.columns is None and wanted is not None and set(wanted) <= set(names):
        return [list(names).index(name) for name in wanted]
    kept = list(range(len(names))) if options.columns is None else _listed(options.columns, names)
    dropped = set() if options.drop is None else set(_listed(options.drop, names))
    kept = [column for column in kept if column not in dropped]
    if not kept:
        msg = f"{options.data}: no column is left"
        raise CommandError(msg)
    return kept


def _listed(text: str, names: Sequence[str]) -> list[int]:
    """Return the columns of a list such as "a,b,3,5-7"; a name goes before a number."""
    found: list[int] = []
    for part in (part.strip() for part in text.split(",")):
        first, dash, last = part.partition("-")
        if part in names:
            found.append(list(names).index(part))
        elif part.isdigit() and int(part) < len(names):
            found.append(int(part))
        elif dash and first.isdigit() and last.isdigit() and int(first) <= int(last) < len(names):
            found += range(int(first), int(last) + 1)
        else:
            shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
            msg = f"there is no column {part!r}; there are {len(names)}: {shown}"
            raise UsageError(msg)
    return found


def _without_markers(table: Table, missing: str | None) -> Table:
    """Make NaN of the numbers that stand for a missing entry."""
    numbers = [float(text) for text in (missing or "").split(",") if is_number(text)]
    if not numbers:
        return table
    return Table(table.path, np.where(np.isin(table.data, numbers), np.nan, table.data), table.names)


# ---- reading


def _read_text(path: str, options: argparse.Namespace, wanted: Sequence[str] | None) -> Table:
    delimiter = None if options.delimiter is None else options.delimiter.replace("\\t", "\t")
    if delimiter is not None and len(delimiter) != 1:
        msg = f"--delimiter {delimiter} must be one character"
        raise UsageError(msg)
    missing = [*MISSING, *(text for text in (options.missing or "").split(",") if text)]
    delimiter = delimiter or guessed_delimiter(path)
    head = first_line(path, delimiter, False if options.no_header else None, missing)
    columns = chosen_columns(head.names, options, wanted)
    found, _ = csv_parts(
        [path],
        columns=columns,
        delimiter=delimiter,
        header=head.is_header,
        missing=missing,
        rows_per_part=None,
        bytes_per_part=_READ_BYTES,
    )
    try:
        data = np.concatenate([np.empty((0, found.n_features)), *(part.read() for part in found.parts)])
    except NoNumberError as error:
        msg = f"{error}; --drop leaves the column out, --missing names what stands for a missing entry"
        raise CommandError(msg) from error
    return Table(path, data, [head.names[i] for i in columns] if head.is_header else None)


def _read_npy(path: str, options: argparse.Namespace, wanted: Sequence[str] | None) -> Table:
    _check_magic(path, b"\x93NUMPY")
    return _of_array(np.load(path, mmap_mode="r", allow_pickle=False), path, options, wanted)


def _check_magic(path: str, magic: bytes) -> None:
    """Refuse other files by name: NumPy would take them for pickles."""
    with open(path, "rb") as file:
        if file.read(len(magic)) != magic:
            msg = "it does not begin as such files do"
            raise ValueError(msg)


def _read_npz(path: str, options: argparse.Namespace, wanted: Sequence[str] | None) -> Table:
    _check_magic(path, b"PK")
    with np.load(path, allow_pickle=False) as file:
        return _of_array(file[_key(list(file), file, path, options)], path, options, wanted)


def _read_mat(path: str, options: argparse.Namespace, wanted: Sequence[str] | None) -> Table:
    from scipy.io import loadmat

    try:
        file = {name: value for name, value in loadmat(path).items() if not name.startswith("__")}
    except NotImplementedError:  # version 7.3 is HDF5, with the axes the other way round
        h5py = optional("h5py", extra="hdf5", user="a mat file of version 7.3")
        with h5py.File(path) as stored:
            file = {name: stored[name][()].T for name in stored if hasattr(stored[name], "shape")}
    return _of_array(file[_key(list(file), file, path, options)], path, options, wanted)


def _read_hdf5(path: str, options: argparse.Namespace, wanted: Sequence[str] | None) -> Table:
    return _of_source(BlockSource.from_hdf5(path, options.key), path, options, wanted)


def _read_zarr(path: str, options: argparse.Namespace, wanted: Sequence[str] | None) -> Table:
    store = path if options.key is None else f"{path.rstrip('/')}/{options.key}"
    return _of_source(BlockSource.from_zarr(store), path, options, wanted)


def _read_parquet(path: str, options: argparse.Namespace, wanted: Sequence[str] | None) -> Table:
    arrow = optional("pyarrow.parquet", extra="parquet", user="a Parquet file")
    names = list(arrow.read_schema(path).names)
    columns = [names[i] for i in chosen_columns(names, options, wanted)]
    found = _joined(BlockSource.from_parquet(path, columns=columns))
    return Table(path, found, columns)


_READERS: dict[str, Callable[[str, argparse.Namespace, Sequence[str] | None], Table]] = {
    "text": _read_text,
    "npy": _read_npy,
    "npz": _read_npz,
    "mat": _read_mat,
    "hdf5": _read_hdf5,
    "zarr": _read_zarr,
    "parquet": _read_parquet,
}


def _key(names: list[str], arrays: Any, path: str, options: argparse.Namespace) -> str:
    """Return the name of the array to read: --key, or the only matrix of numbers."""
    if options.key is not None:
        if options.key not in names:
            msg = f"{path} has no array {options.key!r}; it has {', '.join(names)}"
            raise CommandError(msg)
        return str(options.key)
    matrices = [name for name in names if arrays[name].ndim == 2 and arrays[name].dtype.kind in "fiub"]
    matrices = [name for name in matrices if min(arrays[name].shape) > 1] or matrices
    if len(matrices) != 1:
        msg = f"{path} has {len(matrices)} matrices of numbers; --key names the one to read, of {', '.join(names)}"
        raise CommandError(msg)
    return matrices[0]


def _of_source(source: BlockSource, path: str, options: argparse.Namespace, wanted: Sequence[str] | None) -> Table:
    return _of_array(_joined(source), path, options, wanted)


def _joined(source: BlockSource) -> Array:
    """Return all parts of a source as one array."""
    parts = [source.read(i) for i in range(len(source))]
    dense = [np.where(part[1], part[0], np.nan) if isinstance(part, tuple) else part for part in parts]
    return np.asarray(dense[0] if len(dense) == 1 else np.concatenate(dense))


def _of_array(array: Any, path: str, options: argparse.Namespace, wanted: Sequence[str] | None) -> Table:
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        msg = f"{path} holds an array of shape {array.shape} and dtype {array.dtype}; it must be a matrix of numbers"
        raise CommandError(msg)
    names = [f"column {i}" for i in range(array.shape[1])]
    columns = chosen_columns(names, options, wanted)
    chosen = array if columns == list(range(len(names))) else array[:, columns]
    return Table(path, np.asarray(chosen, np.float32 if chosen.dtype == np.float32 else np.float64), None)


# ---- writing


def write(path: str, columns: dict[str, Array] | Array, names: Sequence[str] | None = None) -> None:
    """Write columns of numbers, or a matrix."""
    if isinstance(columns, dict):
        names, matrix = list(columns), np.column_stack(list(columns.values()))
    else:
        matrix = columns
    _WRITERS[kind_of(path)](path, matrix, names)


def _write_text(path: str, matrix: Array, names: Sequence[str] | None) -> None:
    write_text(path, matrix, names, "\t" if path.lower().endswith(".tsv") else ",")


def _write_npy(path: str, matrix: Array, names: Sequence[str] | None) -> None:
    np.save(path, matrix)


def _write_npz(path: str, matrix: Array, names: Sequence[str] | None) -> None:
    np.savez(path, X=matrix)


def _write_mat(path: str, matrix: Array, names: Sequence[str] | None) -> None:
    from scipy.io import savemat

    savemat(path, {"X": matrix})


def _write_parquet(path: str, matrix: Array, names: Sequence[str] | None) -> None:
    arrow = optional("pyarrow", extra="parquet", user="a Parquet file")
    parquet = optional("pyarrow.parquet", extra="parquet", user="a Parquet file")
    named = names or [f"column {i}" for i in range(matrix.shape[1])]
    parquet.write_table(arrow.table(dict(zip(named, matrix.T, strict=True))), path)


def _write_hdf5(path: str, matrix: Array, names: Sequence[str] | None) -> None:
    h5py = optional("h5py", extra="hdf5", user="an HDF5 file")
    with h5py.File(path, "w") as file:
        file["X"] = matrix


def _write_zarr(path: str, matrix: Array, names: Sequence[str] | None) -> None:
    zarr = optional("zarr", extra="zarr", user="a Zarr file")
    zarr.save_array(path, matrix)


_WRITERS: dict[str, Callable[[str, Array, Sequence[str] | None], None]] = {
    "text": _write_text,
    "npy": _write_npy,
    "npz": _write_npz,
    "mat": _write_mat,
    "parquet": _write_parquet,
    "hdf5": _write_hdf5,
    "zarr": _write_zarr,
}
