"""Text with a sample per line: its grammar, one parser and one writer.

Fields are separated by one character, and spaces around them do not count. A field may stand in double quotes, and a
quote in it is doubled; no field goes over a line. Empty lines do not count. A field that stands for a missing entry
becomes NaN; a number that does so is compared as a number.
"""

from __future__ import annotations

import csv
from codecs import BOM_UTF8
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gasg21._support.arrays import Array
from gasg21.exceptions import InvalidInputError

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "#N/A", "n/a")
_DELIMITERS = ",\t;|"  # that are guessed
_GUESSED_FROM = 20  # lines, or fewer
_ENOUGH = 2**20  # characters of them
_QUOTES = "a quote is not closed in its line, or text follows it"
LONGEST_LINE = 2**26  # bytes; a file whose lines are longer is no table
_ROWS_WRITTEN = 4096  # at a time


class NoNumberError(InvalidInputError):
    """A field holds text."""


@dataclass(frozen=True)
class Grammar:
    """How the lines of a file are to be read."""

    delimiter: str
    missing: tuple[str, ...]
    names: tuple[str, ...]  # of all columns
    columns: tuple[int, ...]  # that are read

    @cached_property
    def markers(self) -> frozenset[str]:
        """Fields that are missing and no numbers."""
        return frozenset(field for field in self.missing if not is_number(field))

    @cached_property
    def missing_numbers(self) -> list[float]:
        """Numbers that are missing."""
        numbers = [float(field) for field in self.missing if is_number(field)]
        return [number for number in numbers if not np.isnan(number)]


def is_number(field: str) -> bool:
    """Return whether a field holds a number."""
    try:
        float(field)
    except ValueError:
        return False
    return field.isascii() and "_" not in field


# ---- the first lines


class FirstLine(NamedTuple):
    """The first line of a file."""

    fields: list[str]
    is_header: bool
    start: int  # bytes before the first sample

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return self.fields if self.is_header else [f"column {i}" for i in range(len(self.fields))]


def first_line(path: str, delimiter: str, header: bool | None, missing: Sequence[str]) -> FirstLine:
    """Read the first line. With ``header=None`` it is a header if a field is neither a number nor missing."""
    with open(path, "rb") as file:
        line = file.readline(LONGEST_LINE)
    try:
        text = line.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError as error:
        msg = f"{path} cannot be read as text in UTF-8: {error}"
        raise InvalidInputError(msg) from error
    if not text:
        msg = f"{path} is empty, or starts with an empty line; it must start with a header or a sample"
        raise InvalidInputError(msg)
    try:
        fields = _fields(text, delimiter)
    except csv.Error:
        msg = f"{path}: line 1: {_QUOTES}"
        raise InvalidInputError(msg) from None
    if header is None:
        header = not all(is_number(field) or field in missing for field in fields)
    if header and len(set(fields)) < len(fields):
        twice = next(field for field in fields if fields.count(field) > 1)
        msg = f"{path}: two columns have the name {twice!r}"
        raise InvalidInputError(msg)
    mark = len(BOM_UTF8) if line.startswith(BOM_UTF8) else 0
    return FirstLine(fields, header, len(line) if header else mark)


def guessed_delimiter(path: str) -> str:
    """Return the delimiter that makes the first lines equally long, with the most numbers; a comma if none does."""
    lines: list[str] = []
    with open(path, encoding="utf-8-sig", errors="replace", newline="\n") as file:
        while len(lines) < _GUESSED_FROM and sum(map(len, lines)) < _ENOUGH and (line := file.readline(LONGEST_LINE)):
            lines += [line.rstrip("\r\n")] if line.strip() else []
    best, most = "," if not path.lower().endswith(".tsv") else "\t", -1
    for delimiter in _DELIMITERS:
        try:
            rows = [_fields(line, delimiter) for line in lines]
        except csv.Error:
            continue
        if len({len(row) for row in rows}) == 1 and len(rows[0]) > 1:
            numbers = sum(is_number(field) or field in MISSING for row in rows for field in row)
            if numbers > most:
                best, most = delimiter, numbers
    return best


# ---- parsing


def parse(text: bytes, grammar: Grammar, first: int = 1) -> Array:
    """Return the samples (m, n) of some lines, of which the first has the number ``first``.

    NumPy's parser reads what it can. It knows no missing fields, so they become nan if it has failed. The rest, and the
    errors, are left to `_parse_slowly`.
    """
    lines = [line for line in text.decode("latin-1").replace("\r\n", "\n").split("\n") if line]
    out = _parse_fast(lines, grammar)
    if out is None:
        out = _parse_fast(_with_nan(lines, grammar), grammar)
    if out is None:
        out = _parse_slowly(text, grammar, first)
    if grammar.missing_numbers:
        out[np.isin(out, grammar.missing_numbers)] = np.nan
    return out


def _parse_fast(lines: list[str], grammar: Grammar) -> Array | None:
    some = grammar.columns != tuple(range(len(grammar.names)))
    if not lines or (some and not _are_plain(lines, grammar)):
        return None
    columns = grammar.columns if some else None
    try:
        out = np.loadtxt(lines, delimiter=grammar.delimiter, comments=None, quotechar='"', usecols=columns, ndmin=2)
    except ValueError:
        return None
    return out if out.shape == (len(lines), len(grammar.columns)) else None


def _are_plain(lines: list[str], grammar: Grammar) -> bool:
    """Return whether all lines have all columns, which NumPy does not check if it reads some of them."""
    wanted = len(grammar.names) - 1
    return all('"' not in line and line.count(grammar.delimiter) == wanted for line in lines)


def _with_nan(lines: list[str], grammar: Grammar) -> list[str]:
    """Write nan in place of missing fields without quotes."""
    replaced = dict.fromkeys(grammar.markers, "nan").get
    between = grammar.delimiter
    return [between.join([replaced(field, field) for field in line.split(between)]) for line in lines]


def _parse_slowly(text: bytes, grammar: Grammar, first: int) -> Array:
    rows: list[list[float]] = []
    for number, line in enumerate(text.decode("utf-8", errors="replace").split("\n"), first):
        try:
            fields = _fields(line.rstrip("\r"), grammar.delimiter)
        except csv.Error:
            msg = f"line {number}: {_QUOTES}"
            raise InvalidInputError(msg) from None
        if fields:
            if len(fields) != len(grammar.names):
                msg = f"line {number} has {len(fields)} fields; it must have {len(grammar.names)}"
                raise InvalidInputError(msg)
            rows.append([_number(fields[j], number, grammar.names[j], grammar) for j in grammar.columns])
    return np.array(rows, np.float64).reshape(len(rows), len(grammar.columns))


def _fields(line: str, delimiter: str) -> list[str]:
    """Return the fields of a line; none if it is empty."""
    fields = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True, strict=True))
    return [field.strip() for field in fields]


def _number(field: str, line: int, name: str, grammar: Grammar) -> float:
    if field in grammar.markers:
        return np.nan
    if not is_number(field):
        msg = f"line {line}: column {name!r} holds {field!r}, which is no number"
        raise NoNumberError(msg)
    return float(field)


# ---- writing


def write_text(path: str, matrix: Array, names: Sequence[str] | None, delimiter: str) -> None:
    """Write samples, a line each, below the names of the columns. Columns of whole numbers are written as such."""
    columns = [_whole(column) for column in matrix.T]
    with open(path, "w", encoding="utf-8", newline="") as file:
        if names is not None:
            csv.writer(file, delimiter=delimiter, lineterminator="\n").writerow(names)
        for start in range(0, len(matrix), _ROWS_WRITTEN):
            some = [column[start : start + _ROWS_WRITTEN].tolist() for column in columns]
            file.writelines(delimiter.join(map(repr, row)) + "\n" for row in zip(*some, strict=True))


def _whole(column: Array) -> Array:
    """Return a column of whole numbers as such."""
    whole = bool(np.all(np.isfinite(column) & (column == np.round(column)) & (np.abs(column) < 2**53)))
    return column.astype(np.int64) if whole else np.asarray(column, np.float64)
