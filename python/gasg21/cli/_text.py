"""Text files with a sample per line, by the fastest reader that is there: Arrow's, pandas', or NumPy's."""

from __future__ import annotations

import csv
import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gasg21._data.samples import Array
from gasg21.cli._errors import CommandError, sentence

# Fields that mean missing, as in pandas.
MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "#N/A", "n/a")

_ADVICE = "which is no number; --drop leaves the column out, --missing names what stands for a missing entry"


def read_text(
    path: str,
    choose: Callable[[Sequence[str]], list[int]],
    delimiter: str,
    header: bool | None,
    markers: Sequence[str],
) -> tuple[Array, list[str] | None]:
    """Return the columns that `choose` picks from the names, and their names; None without a header.

    ``header`` is None where the first line tells: it is a header if a field is neither a number nor missing.
    """
    missing = [*MISSING, *markers]
    fields = _first_fields(path, delimiter)
    if header is None:
        header = not all(is_number(field) or field in missing for field in fields)
    if header and len(set(fields)) < len(fields):
        twice = next(field for field in fields if fields.count(field) > 1)
        msg = f"{path}: two columns have the name {twice!r}"
        raise CommandError(msg)
    names = fields if header else [f"column {i}" for i in range(len(fields))]
    columns = choose(names)
    reader = next(read for module, read in _READERS if module is None or importlib.util.find_spec(module))
    data = reader(path, names, columns, delimiter, header, missing)
    return data, [names[i] for i in columns] if header else None


def _first_fields(path: str, delimiter: str) -> list[str]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        fields = next(csv.reader(file, delimiter=delimiter), [])
    if not fields:
        msg = f"{path} is empty, or starts with an empty line"
        raise CommandError(msg)
    return [field.strip() for field in fields]


def is_number(field: str) -> bool:
    """Return whether a field holds a number."""
    try:
        float(field)
    except ValueError:
        return False
    return True


def _by_arrow(
    path: str, names: list[str], columns: list[int], delimiter: str, header: bool, missing: Sequence[str]
) -> Array:
    import pyarrow as arrow
    import pyarrow.csv as reader

    wanted = [names[i] for i in columns]
    try:
        table = reader.read_csv(
            path,
            read_options=reader.ReadOptions(column_names=names, skip_rows=int(header)),
            parse_options=reader.ParseOptions(delimiter=delimiter),
            convert_options=reader.ConvertOptions(
                column_types=dict.fromkeys(wanted, arrow.float64()),
                include_columns=wanted,
                null_values=list(missing),
                quoted_strings_can_be_null=True,
            ),
        )
    except arrow.ArrowInvalid as error:
        raise _named(path, error, names) from error
    out = np.empty((table.num_rows, len(wanted)))
    for j, name in enumerate(wanted):
        out[:, j] = table.column(name).to_numpy()
    return out


def _named(path: str, error: Any, names: list[str]) -> CommandError:
    """Say which column holds text, by its name."""
    said = sentence(error)
    number, found, rest = said.removeprefix("In CSV column #").partition(": ")
    if found and said.startswith("In CSV column #") and number.isdigit():
        text = rest.partition("invalid value ")[2] or rest
        return CommandError(f"{path}: column {names[int(number)]!r} holds {text}, {_ADVICE}")
    return CommandError(f"{path} cannot be read as text with a sample per line: {said}")


def _by_pandas(
    path: str, names: list[str], columns: list[int], delimiter: str, header: bool, missing: Sequence[str]
) -> Array:
    import pandas as pd

    table = pd.read_csv(
        path,
        sep=delimiter,
        names=names,
        skiprows=int(header),
        usecols=columns,
        na_values=list(missing),
        skipinitialspace=True,
    )
    table = table[[names[i] for i in columns]]
    for name in table.columns:
        if table[name].dtype.kind not in "fiub":
            raise _text_in(path, name, table[name])
    return np.ascontiguousarray(table.to_numpy(np.float64))


def _text_in(path: str, name: str, values: Any) -> CommandError:
    bad = next((value for value in values if isinstance(value, str) and not is_number(value)), "text")
    return CommandError(f"{path}: column {name!r} holds {bad!r}, {_ADVICE}")


def _by_numpy(
    path: str, names: list[str], columns: list[int], delimiter: str, header: bool, missing: Sequence[str]
) -> Array:
    absent = set(missing)

    def number(field: str) -> float:
        field = field.strip()
        return np.nan if field in absent else float(field)

    try:
        return np.loadtxt(
            path,
            delimiter=delimiter,
            skiprows=int(header),
            usecols=columns,
            converters=number,
            quotechar='"',
            comments=None,
            ndmin=2,
            encoding="utf-8-sig",
        )
    except ValueError as error:
        msg = f"{path} cannot be read as numbers: {sentence(error)}; --drop leaves columns of text out"
        raise CommandError(msg) from error


Reader = Callable[[str, list[str], list[int], str, bool, Sequence[str]], Array]
_READERS: list[tuple[str | None, Reader]] = [("pyarrow", _by_arrow), ("pandas", _by_pandas), (None, _by_numpy)]
