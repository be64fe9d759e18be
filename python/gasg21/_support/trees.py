"""Python objects as trees of plain values, which a model file can hold, and back.

Nothing is imported or called by a name from a file: only classes that were registered here are made.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from gasg21 import _core
from gasg21.exceptions import InvalidInputError, ModelFormatError

Class = TypeVar("Class", bound=type)
_PLAIN = (bool, int, float, str)
_CORE = (
    *(_core.Tracker64, _core.Tracker32, _core.KSubspaces64, _core.KSubspaces32),
    *(_core.Subspace64, _core.Subspace32, _core.Union64, _core.Union32),
)
_BIT_GENERATORS = {
    each.__name__: each for each in (np.random.MT19937, np.random.PCG64, np.random.PCG64DXSM, np.random.Philox)
} | {"SFC64": np.random.SFC64}
_classes: dict[str, tuple[type, dict[str, Any]]] = {}
_writers: list[tuple[type, str, Callable[[Any], Any]]] = []
_readers: dict[str, Callable[[Any], Any]] = {}
_FLOATS = ("float32", "float64")
_SMALL = ("i1", "i2", "u2", "f2")  # dtypes that a file holds as bytes


def stored(**types: Any) -> Callable[[Class], Class]:
    """Let files hold a dataclass or named tuple; `types` gives the types that some fields must have."""

    def register(cls: Class) -> Class:
        _classes[cls.__name__] = cls, types
        return cls

    return register


def store(cls: type, name: str, to_tree: Callable[[Any], Any], from_tree: Callable[[Any], Any]) -> None:
    """Let files hold a class, and its subclasses, by two functions."""
    _writers.append((cls, name, to_tree))
    _readers[name] = from_tree


def to_tree(value: Any) -> Any:
    """Return the value as plain values; raise InvalidInputError if a file cannot hold it."""
    if value is None or type(value) in _PLAIN or isinstance(value, _CORE):
        if type(value) is int and not -(2**63) <= value < 2**64:
            return {"class": "int", "value": str(value)}
        return value
    if isinstance(value, list):
        return [to_tree(each) for each in value]
    if isinstance(value, np.ndarray | np.generic):
        return _array_to_tree(value)
    if isinstance(value, dict):
        if all(type(name) is str for name in value) and "class" not in value and "type" not in value:
            return {name: to_tree(each) for name, each in value.items()}
        return {"class": "dict", "value": [[to_tree(name), to_tree(each)] for name, each in value.items()]}
    known = _classes.get(type(value).__name__)
    if known is not None and known[0] is type(value):
        return {"class": type(value).__name__, **{name: to_tree(getattr(value, name)) for name in _fields(value)}}
    for cls, name, convert in _writers:
        if isinstance(value, cls):
            return {"class": name, "value": to_tree(convert(value))}
    msg = f"a model file cannot hold a {type(value).__name__}"
    raise InvalidInputError(msg)


def from_tree(tree: Any) -> Any:
    """Return the value behind a tree."""
    if isinstance(tree, list):
        return [from_tree(each) for each in tree]
    if isinstance(tree, np.ndarray):
        return tree if tree.ndim else tree[()]
    if not isinstance(tree, dict):
        return tree
    if "class" not in tree:
        return {name: from_tree(each) for name, each in tree.items()}
    name = tree["class"]
    if name in _classes:
        cls, types = _classes[name]
        fields = {field: from_tree(each) for field, each in tree.items() if field != "class"}
        for field, kind in types.items():
            if not isinstance(fields.get(field), kind):
                msg = f"the field {field!r} of a {name} is a {type(fields.get(field)).__name__}"
                raise ModelFormatError(msg)
        return cls(**fields)
    if name in _readers:
        return _readers[name](from_tree(tree["value"]))
    msg = f"the class {name!r} is unknown"
    raise ModelFormatError(msg)


@contextmanager
def reading_tree() -> Iterator[None]:
    """Turn what goes wrong with values of the wrong type into a ModelFormatError."""
    try:
        yield
    except ModelFormatError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError, ArithmeticError) as error:
        msg = f"the file does not hold what it should: {error!r}"
        raise ModelFormatError(msg) from error


def _fields(value: Any) -> Any:
    return [f.name for f in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else value._fields


def _array_to_tree(value: Any) -> Any:
    a = np.asarray(value)
    if a.ndim == 1 and a.dtype == object and all(type(each) is str for each in a):
        return {"class": "texts", "value": a.tolist()}
    if a.dtype.kind not in "fiub" or a.dtype.itemsize > 8:
        msg = f"a model file cannot hold an array of dtype {a.dtype}"
        raise InvalidInputError(msg)
    native = a.astype(a.dtype.newbyteorder("="), order="C")
    name = native.dtype.str[1:]
    if name not in _SMALL:
        return native
    return {"class": "small", "value": [name, native.reshape(-1).view(np.uint8), list(native.shape)]}


def _small_from_tree(value: Any) -> Any:
    name, data, shape = value
    a = data.view(name if name in _SMALL else None).reshape(shape)
    return a if a.ndim else a[()]


def _dtype(name: Any) -> Any:
    if name not in _FLOATS:
        msg = f"{name!r} is not a dtype of the core"
        raise ModelFormatError(msg)
    return np.dtype(name)


def _bit_generator(state: Any) -> np.random.BitGenerator:
    made: np.random.BitGenerator = _BIT_GENERATORS[state["bit_generator"]](0)
    made.state = state
    return made


_readers["int"] = int  # beyond 64 bits
_readers["texts"] = lambda value: np.array([str(each) for each in value], dtype=object)
_readers["small"] = _small_from_tree
store(np.dtype, "dtype", lambda dtype: dtype.name, _dtype)
store(tuple, "tuple", list, tuple)
store(dict, "dict", list, dict)
store(deque, "deque", lambda d: [d.maxlen, list(d.copy())], lambda value: deque(value[1], value[0]))
store(
    np.random.Generator, "Generator", lambda g: g.bit_generator.state, lambda s: np.random.Generator(_bit_generator(s))
)
store(
    np.random.RandomState,
    "RandomState",
    lambda r: r.get_state(legacy=False),
    lambda s: np.random.RandomState(_bit_generator(s)),
)
