"""Constructor parameters: each is declared once, with its default, its check and its documentation.

A class whose body says ``center: bool = parameter(default=False, ...)`` and that is decorated by `with_parameters` gets
a constructor with this parameter and the parameters of its bases. Type checkers and editors read the declarations as
they read a dataclass.
"""

from __future__ import annotations

import dataclasses
import inspect
import operator
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from gasg21._data.parameters import check_choice, check_integer, check_number
from gasg21._support.guarded import show_signature

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:  # `typing` has it from Python 3.11 on

    def dataclass_transform(**_):
        return lambda function: function


Check = Callable[[str, Any], object]  # takes the name and the value of a parameter; raises InvalidInputError
Class = TypeVar("Class", bound=type)


class Parameter(NamedTuple):
    """A parameter of a constructor."""

    default: Any
    kind: str  # the type, as the documentation names it
    text: str
    check: Check | None  # None: the data decides what is allowed, so the check comes with it
    at_start: bool  # only the start of a stream reads it
    kw_only: bool


def parameter(
    *,
    default: Any,
    kind: str,
    text: str,
    check: Check | None = None,
    at_start: bool = False,
    kw_only: bool = True,
) -> Any:
    """Declare a parameter in the body of a class."""
    return Parameter(default, kind, inspect.cleandoc(text), check, at_start, kw_only)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(parameter,))
def with_parameters(cls: Class) -> Class:
    """Give a class the constructor that its declarations describe, and fill ``{parameters}`` in its docstring."""
    declared: dict[str, Parameter] = {}
    types: dict[str, Any] = {}
    positional: dict[str, Parameter] = {}  # the bases' first; keywords of the class itself come first
    for base in reversed(cls.__mro__):
        own = {name: value for name, value in vars(base).items() if isinstance(value, Parameter)}
        own = vars(base).get("_parameter_table", own)
        declared = {name: own[name] for name in own if name not in declared} | declared | own
        positional |= {name: value for name, value in own.items() if not value.kw_only}
        types |= inspect.get_annotations(base)
    declared = positional | {name: value for name, value in declared.items() if name not in positional}
    for name in declared:
        if name in vars(cls):
            delattr(cls, name)
    cls._parameter_table = declared  # type: ignore[attr-defined]
    cls._values_in_use = operator.attrgetter(*(n for n, p in declared.items() if not p.at_start))  # type: ignore[attr-defined]
    cls.__init__ = _constructor(cls, declared, types)  # type: ignore[misc]
    show_signature(cls)
    if cls.__doc__:
        cls.__doc__ = inspect.cleandoc(cls.__doc__).replace("{parameters}", _described(declared))
    return cls


def check_parameters(estimator: Any) -> None:
    """Check all parameters of an estimator that need no data for it."""
    for name, declared in estimator._parameter_table.items():
        if declared.check is not None:
            declared.check(name, getattr(estimator, name))


def _constructor(cls: type, declared: dict[str, Parameter], types: dict[str, Any]) -> Callable[..., None]:
    fields = [
        (name, types[name], dataclasses.field(default=p.default, kw_only=p.kw_only)) for name, p in declared.items()
    ]
    init: Any = vars(dataclasses.make_dataclass(cls.__name__, fields, eq=False, repr=False))["__init__"]
    init.__qualname__, init.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    return init  # type: ignore[no-any-return]


def _described(declared: dict[str, Parameter]) -> str:
    return "\n".join(
        f"{name} : {p.kind}, default={p.default!r}\n{textwrap.indent(p.text, '    ')}" for name, p in declared.items()
    )


# ---- checks


def choice(*allowed: str) -> Check:
    """Return a check for one of some strings."""
    return lambda name, value: check_choice(name, value, allowed)


def integer(low: int, high: int | None = None) -> Check:
    """Return a check for an integer in [low, high]."""
    return lambda name, value: check_integer(name, value, low, high)


def number(low: float, high: float = float("inf"), *, open_low: bool = False) -> Check:
    """Return a check for a real number in [low, high]."""
    return lambda name, value: check_number(name, value, low, high, open_low=open_low)


def or_none(check: Check) -> Check:
    """Return a check that also accepts None."""
    return lambda name, value: None if value is None else check(name, value)


def or_auto(check: Check) -> Check:
    """Return a check that also accepts "auto"."""
    return lambda name, value: None if isinstance(value, str) and value == "auto" else check(name, value)
