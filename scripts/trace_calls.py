#!/usr/bin/env python3
"""Count the files and the calls into the compiled core behind one call of an estimator.

    .venv/bin/python scripts/trace_calls.py            # prints a table
    .venv/bin/python scripts/trace_calls.py --list     # names the files and the core functions, too
    .venv/bin/python scripts/trace_calls.py --check    # fails if a count is above its limit

A reader who follows a call opens these files. A file counts if one of its functions runs. A call counts if it
goes from Python to a function, a method or a constructor of ``gasg21._core``; properties do not count.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import pkgutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import gasg21
from gasg21 import GASG21, KGASG21, _core
from gasg21.datasets import make_low_rank, make_union_of_subspaces

PACKAGE = Path(gasg21.__file__).parent


class Limit(NamedTuple):
    """The most files, and the most calls into the core; None is no limit."""

    files: int
    calls: int | None = None


LIMITS = {
    "GASG21.fit": Limit(files=5, calls=12),
    "KGASG21.fit": Limit(files=17, calls=40),
    "partial_fit, one row": Limit(files=2, calls=1),
    "predict": Limit(files=6),  # one for a BlockSource in place of X, one for a single row
}


class Trace(NamedTuple):
    """What ran: functions per file of the package, and calls per function of the core."""

    files: Counter[str]
    core: Counter[str]


@contextlib.contextmanager
def count_constructors(core: Counter[str]) -> Iterator[None]:
    """Count constructors of the core, which the profiler of the interpreter does not report."""
    originals = {}
    for name, cls in vars(_core).items():
        if not isinstance(cls, type) or issubclass(cls, BaseException) or "__init__" not in vars(cls):
            continue
        originals[cls] = cls.__init__

        def counted(self: Any, *args: Any, name: str = name, init: Any = cls.__init__, **kwargs: Any) -> None:
            core[name] += 1
            init(self, *args, **kwargs)

        cls.__init__ = counted  # type: ignore[misc]
    try:
        yield
    finally:
        for cls, init in originals.items():
            cls.__init__ = init  # type: ignore[misc]


def is_core(function: Any) -> bool:
    """Tell whether a compiled function belongs to the core."""
    return getattr(function, "__module__", None) == _core.__name__


def trace(call: Callable[[], Any]) -> Trace:
    """Run ``call`` and return what ran in the package and in the core."""
    result = Trace(Counter(), Counter())
    here = trace.__code__.co_filename  # `count_constructors` has counted what this file calls

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            path = Path(frame.f_code.co_filename)
            if path.is_relative_to(PACKAGE):
                result.files[str(path.relative_to(PACKAGE))] += 1
        elif event == "c_call" and is_core(argument) and frame.f_code.co_filename != here:
            result.core[argument.__name__] += 1

    with count_constructors(result.core):
        sys.setprofile(profile)
        try:
            call()
        finally:
            sys.setprofile(None)
    return result


def traces() -> dict[str, Trace]:
    """Trace one call of each kind, on data with outliers and missing entries."""
    for module in pkgutil.walk_packages([str(PACKAGE)], "gasg21."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)  # otherwise the first import would count
    X = make_low_rank(600, 60, 3, outlier_fraction=0.4, observed_fraction=0.7, noise=1e-2, random_state=0).data
    union = make_union_of_subspaces(
        600, 30, 3, 5, outlier_fraction=0.4, observed_fraction=0.7, noise=1e-2, random_state=0
    ).data
    model = GASG21(3, random_state=0).fit(X)
    stream = GASG21(3, random_state=0).partial_fit(X[:10])
    return {  # a fit from the constructor on: the estimator's own file counts
        "GASG21.fit": trace(lambda: GASG21(3, random_state=0).fit(X)),
        "KGASG21.fit": trace(lambda: KGASG21(5, 3, random_state=0).fit(union)),
        "partial_fit, one row": trace(lambda: stream.partial_fit(X[10:11])),
        "predict": trace(lambda: model.predict(X)),
    }


def too_many(found: dict[str, Trace]) -> list[str]:
    """Return one sentence for each count above its limit."""
    complaints = []
    for name, limit in LIMITS.items():
        files, calls = len(found[name].files), found[name].core.total()
        if files > limit.files:
            complaints.append(f"{name} runs functions of {files} files; at most {limit.files} are allowed.")
        if limit.calls is not None and calls > limit.calls:
            complaints.append(f"{name} calls the core {calls} times; at most {limit.calls} are allowed.")
    return complaints


def main() -> int:
    """Print the table, and check it on request."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail if a count is above its limit")
    parser.add_argument("--list", action="store_true", help="name the files and the core functions")
    options = parser.parse_args()
    found = traces()
    print(f"{'call':22}{'files':>6}{'limit':>6}{'calls':>7}{'limit':>6}")
    for name, result in found.items():
        limit = LIMITS[name]
        print(f"{name:22}{len(result.files):6}{limit.files:6}{result.core.total():7}{limit.calls or '-':>6}")
        if options.list:
            for file, times in sorted(result.files.items()):
                print(f"    {file}: {times} Python calls")
            for function, times in sorted(result.core.items()):
                print(f"    _core.{function}: {times}")
    complaints = too_many(found) if options.check else []
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
