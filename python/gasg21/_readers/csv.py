"""Ranges of text files with a sample per line, by Arrow's reader.

A file is cut at ends of lines, and its lines are counted, which is much faster than to parse them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gasg21._readers.stored import Array, Parts, common_width
from gasg21._support.optional import optional
from gasg21.exceptions import InvalidInputError

_COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".lz4", ".zip")
_LONGEST_LINE = 2**26  # bytes; a file whose lines are longer is no table


@dataclass(frozen=True)
class Format:
    """How the lines are to be read."""

    delimiter: str
    missing: tuple[str, ...]
    names: tuple[str, ...]  # of all columns
    columns: tuple[str, ...]  # of the selected ones


@dataclass(frozen=True)
class LineRange:
    """Some consecutive lines of a file."""

    path: str
    start: int  # in bytes
    stop: int
    first: int  # number of the first sample in the file
    length: int
    format: Format

    @property
    def name(self) -> str:
        """The rows and the file."""
        return f"rows {self.first} to {self.first + self.length - 1} of {self.path}"

    def read(self) -> Array:
        """Return the rows; what `missing` names becomes NaN."""
        with open(self.path, "rb") as file:
            file.seek(self.start)
            text = file.read(self.stop - self.start)
        if len(text) < self.stop - self.start:
            msg = f"{self.name}: the file is truncated, it ends after {self.start + len(text)} bytes"
            raise InvalidInputError(msg)
        try:
            table = parsed(text, self.format)
        except ImportError:
            raise
        except Exception as error:  # Arrow's errors name row and value, but not the file
            msg = f"{self.name}: {error}"
            raise InvalidInputError(msg) from error
        if table.num_rows != self.length:
            msg = f"{self.name}: {table.num_rows} rows were read; it must be {self.length}, one per line"
            raise InvalidInputError(msg)
        out = np.empty((self.length, len(self.format.columns)))
        for j, name in enumerate(self.format.columns):
            out[:, j] = table.column(name).to_numpy()
        return out


def parsed(text: bytes, form: Format) -> Any:
    """Return the table that some lines hold."""
    csv, arrow = _arrow("pyarrow.csv"), _arrow("pyarrow")
    return csv.read_csv(
        arrow.py_buffer(text),
        read_options=csv.ReadOptions(use_threads=False, column_names=list(form.names), block_size=max(len(text), 1)),
        parse_options=csv.ParseOptions(delimiter=form.delimiter),
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(form.columns, arrow.float64()),
            include_columns=list(form.columns),
            null_values=list(form.missing),
            quoted_strings_can_be_null=True,
        ),
    )


def csv_parts(
    paths: Sequence[str],
    columns: Sequence[str | int] | None,
    delimiter: str,
    header: bool | None,
    missing: Sequence[str],
    rows_per_part: int | None,
    bytes_per_part: int,
) -> tuple[Parts, list[str] | None]:
    """Return the ranges of some files, and the names of the columns if the files have a header."""
    parts: list[LineRange] = []
    first: tuple[str, Format, bool] | None = None
    for path in paths:
        _check_plain(path)
        fields, header_bytes = _header(path, delimiter, header, missing)
        named = header_bytes > 0
        names = tuple(fields) if named else tuple(f"column {i}" for i in range(len(fields)))
        form = Format(delimiter, tuple(missing), names, _selected(path, names, columns))
        first = first or (path, form, named)
        _check_same(path, form, first[0], first[1])
        parts += [LineRange(path, *each, form) for each in _ranges(path, header_bytes, rows_per_part, bytes_per_part)]
    assert first is not None
    _, form, named = first
    return Parts(parts, len(form.columns), np.dtype(np.float64)), list(form.columns) if named else None


# ---- lines


def _ranges(
    path: str, start: int, rows_per_part: int | None, bytes_per_part: int
) -> Iterator[tuple[int, int, int, int]]:
    """Yield start, stop, number of the first line and number of lines of each part."""
    row, size = 0, os.path.getsize(path)
    with open(path, "rb") as file:
        while start < size:
            stop, lines = _next_range(file, start, rows_per_part, bytes_per_part)
            if lines:
                yield start, stop, row, lines
            start, row = stop, row + lines


def _next_range(file: Any, start: int, rows_per_part: int | None, bytes_per_part: int) -> tuple[int, int]:
    """Return where the part that starts here ends, and its number of lines that are not empty."""
    file.seek(start)
    text, lines = b"", 0
    stop = start
    while True:
        text = file.read(bytes_per_part)
        if not text:
            return stop, lines
        ends, filled = _line_ends(text, at_end=len(text) < bytes_per_part)
        if not len(ends):
            if len(text) > _LONGEST_LINE:
                msg = f"{file.name}: a line is longer than {_LONGEST_LINE} bytes"
                raise InvalidInputError(msg)
            bytes_per_part *= 2
            file.seek(stop)
            continue
        if rows_per_part is None:
            return stop + int(ends[-1]), int(filled.sum())
        counts = lines + np.cumsum(filled)
        if counts[-1] >= rows_per_part:
            last = int(np.searchsorted(counts, rows_per_part))
            return stop + int(ends[last]), rows_per_part
        stop, lines = stop + int(ends[-1]), int(counts[-1])
        file.seek(stop)


def _line_ends(text: bytes, *, at_end: bool) -> tuple[Array, Array]:
    """Return where lines end (after their newline), and which lines are not empty."""
    codes = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(codes == ord("\n")) + 1
    if at_end and (not len(ends) or ends[-1] < len(text)):
        ends = np.append(ends, len(text))
    lengths = np.diff(ends, prepend=0)
    content = lengths - (codes[ends - 1] == ord("\n"))
    before_end = np.maximum(ends - 2, 0)
    content = content - ((codes[before_end] == ord("\r")) & (content > 0) & (codes[ends - 1] == ord("\n")))
    return ends, content > 0


def _header(path: str, delimiter: str, header: bool | None, missing: Sequence[str]) -> tuple[list[str], int]:
    """Return the fields of the first line, and the bytes of the header; 0 if there is none."""
    with open(path, "rb") as file:
        line = file.readline(_LONGEST_LINE)
    mark = b"\xef\xbb\xbf"
    try:
        text = line.removeprefix(mark).decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        msg = f"{path} is no text in UTF-8: {error}"
        raise InvalidInputError(msg) from error
    if not text:
        msg = f"{path} starts with an empty line; it must start with a header or a sample"
        raise InvalidInputError(msg)
    fields = [field.strip().strip('"') for field in text.split(delimiter)]
    if header is None:
        header = not all(_is_number(field) or field in missing for field in fields)
    if header and len(set(fields)) < len(fields):
        msg = f"{path} has a header with two columns of the same name"
        raise InvalidInputError(msg)
    return fields, len(line) if header else 0


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


# ---- checks


def _check_plain(path: str) -> None:
    if path.endswith(_COMPRESSED):
        msg = f"{path} is compressed, so it cannot be read in parts; unpack it, or write it as Parquet"
        raise InvalidInputError(msg)


def _selected(path: str, names: tuple[str, ...], columns: Sequence[str | int] | None) -> tuple[str, ...]:
    if columns is None:
        return names
    found = []
    for column in columns:
        if isinstance(column, str) and column in names:
            found.append(column)
        elif isinstance(column, int) and 0 <= column < len(names):
            found.append(names[column])
        else:
            msg = f"{path} lacks the column {column!r}; it has {len(names)} columns: {', '.join(names[:10])}"
            raise InvalidInputError(msg)
    return tuple(found)


def _check_same(path: str, form: Format, first_path: str, first: Format) -> None:
    common_width([(first_path, len(first.names)), (path, len(form.names))])
    if form.names != first.names:
        other = next(j for j, pair in enumerate(zip(form.names, first.names, strict=True)) if pair[0] != pair[1])
        msg = f"column {other} of {path} is {form.names[other]!r}; in {first_path} it is {first.names[other]!r}"
        raise InvalidInputError(msg)


def _arrow(module: str) -> Any:
    return optional(module, extra="parquet", user="BlockSource.from_csv")
