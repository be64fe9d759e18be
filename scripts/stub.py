"""Writes python/gasg21/_core.pyi from the compiled module: ``.venv/bin/python scripts/stub.py``.

pybind11 gives names, defaults and most types. Here are only the types that C++ leaves open: parameters that take any
object, by their names, and results that are containers, by the names of the functions.
"""

import re
from pathlib import Path

STUB = Path(__file__).parents[1] / "python" / "gasg21" / "_core.pyi"
WIDTH = 120
PREAMBLE = """\
# Written by scripts/stub.py. Do not edit.
import os
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__version__: str

Array: TypeAlias = npt.NDArray[Any]
# An array, or the parts of a CSR matrix and optionally whether entries that are not stored are zero.
Payload: TypeAlias = Array | tuple[Array, Array, Array] | tuple[Array, Array, Array, bool]
Progress: TypeAlias = Callable[[int, int, float], None]
Lift: TypeAlias = tuple[Array, float]  # centre, constant
Prior: TypeAlias = tuple[Array, float, Array | None]  # C, s, noise of each coordinate
Range: TypeAlias = tuple[Array, Array, float]  # low, high, largest
ScatterPair: TypeAlias = tuple[Array, float]
SumsTuple: TypeAlias = tuple[Array, float, float, Array, Array, int, Array, Array]
"""
PARAMETERS = {
    "samples": "Payload",
    "mask": "Array | None",
    "order": "Array | None",
    "progress": "Progress | None",
    "search_infinite": "Callable[[], None] | None",
    "init": "str | Array",
    "lift": "Lift | None",
    "scatter": "ScatterPair | None",
    "scatters": "list[Any]",
    "subspaces": "list[Array]",
    "candidates": "list[Array]",
    "sums": "tuple[Any, ...]",
    "residuals": "Array",
    "errors": "Array",
    "tree": "dict[str, Any]",
    "path": "str | os.PathLike[str]",
    "row": "Any",
    "mask of a row": "Any",
}
RESULTS = {
    "assign": "tuple[npt.NDArray[np.intp], Array]",
    "assign_labels": "npt.NDArray[np.intp]",
    "bases": "list[Array]",
    "block_polish": "BlockPolish",
    "block_sums": "SumsTuple",
    "candidates": "list[Array]",
    "consume_row": "float | None",
    "counters": "dict[str, int]",
    "decode": "dict[str, Any]",
    "directions": "list[Array]",
    "find_infinite": "tuple[int, int] | None",
    "following": "tuple[str, list[str], list[list[int]]]",
    "history": "list[dict[str, Any]]",
    "KSubspaces.consume": "tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]]",
    "learn_prior": "Prior",
    "learn_prior_from_fits": "Prior",
    "lift": "Lift | None",
    "prior": "Prior",
    "project": "tuple[Array, Array]",
    "published": "tuple[Subspace, dict[str, int], float, int, str, list[int]]",
    "range": "Range",
    "entry_range": "Range",
    "RecoveredUnion.interrupt": "BaseException | None",
    "RecoveredUnion.labels": "npt.NDArray[np.intp]",
    "RecoveredUnion.residuals": "Array",
    "RecoveredUnion.stream": "KSubspaces",
    "RecoveredUnion.union": "Union",
    "Recovered.interrupt": "BaseException | None",
    "Recovered.tracker": "Tracker",
    "Recovered.subspace": "Subspace",
    "repair": "tuple[list[Array], list[int]]",
    "row_completed": "Array | None",
    "row_decision": "Array | None",
    "row_distances": "Array | None",
    "row_residual": "Array | None",
    "row_weights": "Array | None",
    "scatter": "ScatterPair | None",
    "solve_sample": "BlockFit",
    "start_scatter": "ScatterPair",
    "start_tracker": "Tracker",
    "state": "tuple[Array, ScatterPair, Lift | None] | None",
    "subspaces": "list[Array]",
    "union_sums": "tuple[list[SumsTuple], npt.NDArray[np.intp], npt.NDArray[np.uint64]]",
}
STEP_RULE = "AdaptiveStep | DiminishingStep | ConstantStep | MultiLevelStep | GreedyStep"
UNIONS = {"StepRule": STEP_RULE, "Loss": "str | L1Loss", "Metric": "NoScaling | CovarianceScaling"}
ANY = {"object": "Any", "list": "list[Any]", "tuple": "tuple[Any, ...]", "dict": "dict[str, Any]"}
OPEN = re.compile(r"object|Sequence\[float\]|list|tuple|dict|Array|list\[Any\]")
SIMPLER = [
    (r"gasg21\._core\.", ""),
    (r"typing\.SupportsInt \| typing\.SupportsIndex", "int"),
    (r"typing\.SupportsFloat \| typing\.SupportsIndex", "float"),
    (r"typing\.Annotated\[numpy\.typing\.(?:ArrayLike|NDArray\[.*?\]), .*?\]|numpy\.ndarray", "Array"),
    (r"numpy\.typing\.NDArray\[numpy\.(\w+)\]", r"npt.NDArray[np.\1]"),
    (r"collections\.abc\.", ""),
    (r"os\.PathLike \| str \| bytes", "object"),
    (r"= <.*?>", "= ..."),
    (r"= inf\b", "= ..."),
    (r"union: Union64 = None", "union: Union | None = None"),
    (r"\blist \| None", "list[Array] | None"),
    (r"tuple\[Array, float, Array \| None\]", "Prior"),
    (r"tuple\[Array, Array, float\]", "Range"),
    *((re.escape(union), name) for name, union in UNIONS.items()),
    (r"'(\w*)'", r'"\1"'),
]


def signature(doc, name):
    """Return the parameters, as (name, type, default), and the result that pybind11 writes into a docstring."""
    line = re.search(rf"^(?:1\. )?(?:{name})?(\((?!\*args).*\) -> .*)$", doc or "", re.MULTILINE)[1]
    for pattern, plain in SIMPLER:
        line = re.sub(pattern, plain, line)
    inside, result = re.fullmatch(r"\((.*)\) -> (.*)", line).groups()
    pieces = re.split(r", (?=\*|\w+: )", inside) if inside else []
    return [re.fullmatch(r"(\*|(?:\*\*)?\w+)(?:: (.*?))?(?: = (.*))?", piece).groups() for piece in pieces], result


def typed(owner, name, parameters, result):
    """Fill in the types that C++ leaves open."""

    def chosen(table, kind, *keys):
        if not OPEN.fullmatch(kind):
            return kind
        wanted = next((table[key] for key in keys if key in table), None)
        return wanted or ANY.get(kind, kind)

    of_row = " of a row" if any(each == "row" for each, *_ in parameters) else ""

    def parameter(each, kind, default):
        if kind is None:
            return f"{each}: Any" if each.startswith("**") else each
        text = f"{each}: {chosen(PARAMETERS, kind, f'{name}.{each}', each + of_row, each)}"
        return f"{text} = {default}" if default else text

    listed = [each if each[0] != "self" else ("self", None, None) for each in parameters]
    return [parameter(*each) for each in listed], chosen(RESULTS, result, f"{owner}.{name}", name)


def definition(indent, name, parameters, result):
    """Return a function as ruff formats it."""
    begin, end = f"{indent}def {name}(", f") -> {result}: ..."
    if len(begin + ", ".join(parameters) + end) <= WIDTH:
        return begin + ", ".join(parameters) + end
    inner = f"{indent}    " + ", ".join(parameters)
    if len(inner) > WIDTH:
        inner = ",\n".join(f"{indent}    {each}" for each in parameters) + ","
    return f"{begin}\n{inner}\n{indent}{end}"


def member(owner, twin, name, thing):
    """Return the lines of a method or property. Where the two precisions differ, an array is any array."""
    static, is_property = isinstance(thing, staticmethod), isinstance(thing, property)
    doc, other = (
        (each.fget if is_property else each.__func__ if static else each).__doc__
        for each in (thing, vars(twin).get(name, thing))
    )
    parameters, result = signature(doc, name)
    if signature(other, name)[1] != result:
        result = "Array" if result.startswith("npt.") else result
    if is_property:
        parameters = [("self", None, None)]
    parameters, result = typed(owner.rstrip("0123456789"), name, parameters, result)
    mark = "    @property\n" if is_property else "    @staticmethod\n" if static else ""
    return mark + definition("    ", name, parameters, result)


def class_definition(name, cls, twin):
    """Return a class with its methods and properties."""
    hidden = {"__reduce__", "_pybind11_conduit_v1_"}
    kinds = {"property", "staticmethod", "instancemethod"}
    members = {each: thing for each, thing in vars(cls).items() if each not in hidden and type(thing).__name__ in kinds}
    return "\n".join([f"class {name}:", *(member(name, twin, *each) for each in members.items())])


def stub(module):
    """Return the text of the stub."""
    aliases = [f"{name}: TypeAlias = {union}" for name, union in UNIONS.items()]
    errors, classes, functions = [], [], []
    for name, thing in vars(module).items():
        if name.startswith("__"):
            continue
        if not isinstance(thing, type):
            functions.append(definition("", name, *typed("", name, *signature(thing.__doc__, name))))
        elif issubclass(thing, Exception):
            errors.append(f"class {name}({thing.__base__.__name__}): ...")
        elif name.endswith("32"):
            classes.append(f"class {name}({name[:-2]}64): ...")
            aliases.append(f"{name[:-2]}: TypeAlias = {name[:-2]}64 | {name}")
        else:
            classes.append(class_definition(name, thing, getattr(module, name[:-2] + "32", thing)))
    one_line = r"class \w+\(\w+\): \.\.\."  # ruff puts no line between these
    listed = re.sub(rf"^({one_line})\n\n(?={one_line})", r"\1\n", "\n\n".join(classes), flags=re.MULTILINE)
    return "\n".join([PREAMBLE + "\n".join(aliases), "", *errors, "", listed, "", *functions, ""])


if __name__ == "__main__":
    from gasg21 import _core

    STUB.write_text(stub(_core))
