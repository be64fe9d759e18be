"""A measurement: a module with the names of `Measurement`, in ``benchmarks/measurements`` or ``benchmarks/speed``.

It prints what it measured beside what it should be. A module without ``PARTS`` is a helper and no measurement.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from unittest import mock

from threadpoolctl import threadpool_limits

from benchmarks.framework.data import MissingData
from benchmarks.framework.goals import Goals
from gasg21.exceptions import ConvergenceWarning


@dataclass(frozen=True)
class Run:
    """What a part of a measurement is given."""

    quick: bool = False
    data: Path | None = None
    options: argparse.Namespace = field(default_factory=argparse.Namespace)  # those of the measurement itself
    goals: Goals = field(default_factory=Goals)

    def seeds(self, full: int, quick: int) -> range:
        """Return the numbers of the seeds, fewer of them in a quick run."""
        return range(quick if self.quick else full)


Part = Callable[[Run], Any]


class Measurement(Protocol):
    """The names of a measurement's module; the first line of its docstring says what it shows, as one sentence.

    Optional names: ``OPTIONS``, a dictionary from an option to the keywords of ``add_argument``; ``ONE_THREAD``, True
    where gasg21 should use one thread (BLAS always does); ``prepare(run)``, called before the parts.
    """

    __name__: str
    __doc__: str
    TIME: str  # about how long a full run takes on two cores
    PARTS: dict[str, Part]  # run in this order; a part's docstring says what it shows


def parts(*functions: Part) -> dict[str, Part]:
    """Return the parts by their names."""
    return {function.__name__: function for function in functions}


def shows(part: Part) -> str:
    """Return the first line of a part's docstring."""
    return (getattr(part, "func", part).__doc__ or "").partition("\n")[0]


def parser_of(name: str, module: Measurement) -> argparse.ArgumentParser:
    """Return the parser of a measurement's options."""
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks {name}",
        description=module.__doc__.splitlines()[0],
        epilog="\n".join(["parts:", *(f"  {part:20} {shows(function)}" for part, function in module.PARTS.items())]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(module.PARTS)}; all by default")
    parser.add_argument("--quick", action="store_true", help="fewer seeds, smaller problems or shorter timings")
    parser.add_argument("--data", type=Path, help="directory with hopkins155 and faces.npz; default $GASG21_DATA")
    for option, keywords in getattr(module, "OPTIONS", {}).items():
        parser.add_argument(option, **keywords)
    return parser


def data_directory(parser: argparse.ArgumentParser, named: Path | None) -> Path | None:
    """Return the directory of the data sets that was named, or else that of the environment."""
    data = named or (Path(os.environ["GASG21_DATA"]) if os.environ.get("GASG21_DATA") else None)
    if data and not data.is_dir():
        parser.error(f"the data directory {data} does not exist")
    return data


def run(name: str, module: Measurement, arguments: list[str]) -> int:
    """Run the parts that the arguments name, or all; return 1 if data was missing for every one of them."""
    parser = parser_of(name, module)
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.parts) - set(module.PARTS)):
        parser.error(f"no part is called {', '.join(unknown)}; there are: {', '.join(module.PARTS)}")
    given = Run(options.quick, data_directory(parser, options.data), options)
    chosen = options.parts or list(module.PARTS)
    with threads_of(module), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # what was reached is printed
        getattr(module, "prepare", lambda _: None)(given)
        done = [run_part(part, module.PARTS[part], given) for part in chosen]
    given.goals.summary()
    return int(not any(done))


def run_part(name: str, part: Part, given: Run) -> bool:
    """Run one part; return whether its data was there."""
    try:
        part(given)
    except MissingData as missing:
        print(f"\n{name}: not run: {missing}")
        return False
    return True


@contextmanager
def threads_of(module: Measurement) -> Iterator[None]:
    """Use one thread of BLAS, and one of gasg21 and of started programs where the measurement asks for it."""
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"} if getattr(module, "ONE_THREAD", False) else {}
    with threadpool_limits(1), mock.patch.dict(os.environ, one):
        yield
