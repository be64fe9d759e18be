"""Ranges of text files with a sample per line.

A file is cut at ends of lines, and its lines are counted, which is much faster than to parse them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gasg21._readers.stored import Parts, common_width
from gasg21._readers.text import LONGEST_LINE, FirstLine, Grammar, first_line, guessed_delimiter, parse
from gasg21._support.arrays import Array
from gasg21.exceptions import InvalidInputError

_COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".lz4", ".zip")


@dataclass(frozen=True)
class LineRange:
    """Some consecutive lines of a file."""

    path: str
    start: int  # in bytes
    stop: int
    first: int  # number of the first sample in the file
    length: int
    line: int  # number of the first line
    grammar: Grammar

    @property
    def name(self) -> str:
        """The rows and the file."""
        return f"rows {self.first} to {self.first + self.length - 1} of {self.path}"

    def read(self) -> Array:
        """Return the rows; missing entries are NaN."""
        with open(self.path, "rb") as file:
            file.seek(self.start)
            text = file.read(self.stop - self.start)
        if len(text) < self.stop - self.start:
            msg = f"{self.name}: the file is truncated, it ends after {self.start + len(text)} bytes"
            raise InvalidInputError(msg)
        try:
            found = parse(text, self.grammar, self.line)
        except InvalidInputError as error:
            msg = f"{self.name}: {error}"
            raise type(error)(msg) from error
        if len(found) != self.length:
            msg = f"{self.name}: {len(found)} rows were read; it must be {self.length}, one per line"
            raise InvalidInputError(msg)
        return found


def csv_parts(
    paths: Sequence[str],
    *,
    columns: Sequence[str | int] | None,
    delimiter: str | None,
    header: bool | None,
    missing: Sequence[str],
    rows_per_part: int | None,
    bytes_per_part: int,
) -> tuple[Parts, list[str] | None]:
    """Return the ranges of some files, and the names of the columns if the files have a header."""
    parts: list[LineRange] = []
    first: tuple[str, Grammar, bool] | None = None
    for path in paths:
        _check_plain(path)
        separator = delimiter or guessed_delimiter(path)
        head = first_line(path, separator, header, missing)
        names = tuple(head.names)
        grammar = Grammar(separator, tuple(missing), names, _selected(path, names, columns))
        first = first or (path, grammar, head.is_header)
        _check_same(path, grammar, first[0], first[1])
        for each in _ranges(path, head, rows_per_part, bytes_per_part):
            parts.append(LineRange(path, *each, grammar))
    assert first is not None
    _, grammar, named = first
    shown = [grammar.names[j] for j in grammar.columns] if named else None
    return Parts(parts, len(grammar.columns), np.dtype(np.float64)), shown


# ---- lines


def _ranges(
    path: str, head: FirstLine, rows_per_part: int | None, bytes_per_part: int
) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield start, stop, number of the first sample, number of samples and number of the first line of each part."""
    start, size = head.start, os.path.getsize(path)
    row, line = 0, 1 + int(head.is_header)
    with open(path, "rb") as file:
        while start < size:
            stop, filled, lines = _next_range(file, start, rows_per_part, bytes_per_part)
            if filled:
                yield start, stop, row, filled, line
            start, row, line = stop, row + filled, line + lines


def _next_range(file: Any, start: int, rows_per_part: int | None, bytes_per_part: int) -> tuple[int, int, int]:
    """Return where the part that starts here ends, its number of lines that are not empty, and of all lines."""
    file.seek(start)
    filled, lines, stop = 0, 0, start
    while True:
        text = file.read(bytes_per_part)
        if not text:
            return stop, filled, lines
        ends, is_filled = _line_ends(text, at_end=len(text) < bytes_per_part)
        if not len(ends):
            if len(text) > LONGEST_LINE:
                msg = f"{file.name}: a line is longer than {LONGEST_LINE} bytes"
                raise InvalidInputError(msg)
            bytes_per_part *= 2
            file.seek(stop)
            continue
        if rows_per_part is None:
            return stop + int(ends[-1]), int(is_filled.sum()), len(ends)
        counts = filled + np.cumsum(is_filled)
        if counts[-1] >= rows_per_part:
            last = int(np.searchsorted(counts, rows_per_part))
            return stop + int(ends[last]), rows_per_part, lines + last + 1
        stop, filled, lines = stop + int(ends[-1]), int(counts[-1]), lines + len(ends)
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


# ---- checks


def _check_plain(path: str) -> None:
    if path.endswith(_COMPRESSED):
        msg = f"{path} is compressed, so it cannot be read in parts; unpack it, or write it as Parquet"
        raise InvalidInputError(msg)


def _selected(path: str, names: tuple[str, ...], columns: Sequence[str | int] | None) -> tuple[int, ...]:
    if columns is None:
        return tuple(range(len(names)))
    found = []
    for column in columns:
        if isinstance(column, str) and column in names:
            found.append(names.index(column))
        elif isinstance(column, int) and 0 <= column < len(names):
            found.append(column)
        else:
            msg = f"{path} lacks the column {column!r}; it has {len(names)} columns: {', '.join(names[:10])}"
            raise InvalidInputError(msg)
    return tuple(found)


def _check_same(path: str, form: Grammar, first_path: str, first: Grammar) -> None:
    common_width([(first_path, len(first.names)), (path, len(form.names))])
    if form.names != first.names:
        other = next(j for j, pair in enumerate(zip(form.names, first.names, strict=True)) if pair[0] != pair[1])
        msg = f"column {other} of {path} is {form.names[other]!r}; in {first_path} it is {first.names[other]!r}"
        raise InvalidInputError(msg)
