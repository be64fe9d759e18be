"""An experiment: a module in ``benchmarks/experiments`` with the names of `Experiment`, and the types of its results.

A module whose name begins with an underscore is a helper and no experiment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Cell = str | float | None


class Verdict(str, Enum):
    """Whether our results support a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    UNCHECKED = "can't be checked"


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper or of ours, the value in the paper, our value, and the verdict computed from the results.

    A claim is identified by its experiment and its number there: wording may change, the order must not.
    """

    text: str
    paper: str
    ours: str
    verdict: Verdict
    reason: str = ""  # why it can't be checked, or why it probably fails
    own: bool = False  # a claim that the paper does not make

    def __post_init__(self) -> None:
        if self.verdict is Verdict.UNCHECKED and not self.reason:
            message = f"a claim that can't be checked needs a reason: {self.text}"
            raise ValueError(message)

    @property
    def sentence(self) -> str:
        """Return the text, marked if the claim is not one of the paper."""
        return f"{self.text} [ours, not in the paper]" if self.own else self.text


@dataclass(frozen=True)
class Table:
    """Rows of text or numbers; the value of the paper and ours are in neighbouring columns."""

    title: str
    columns: list[str]
    rows: list[list[Cell]]
    note: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                message = f"{self.title}: {len(self.columns)} columns, but a row has {len(row)}: {row}"
                raise ValueError(message)


@dataclass(frozen=True)
class Context:
    """The input of a run."""

    quick: bool
    seeds: int
    data: Path | None
    say: Callable[[str], None]  # prints a line of progress

    def seed(self, i: int) -> int:
        """Return the i-th seed; no setting was chosen on these seeds."""
        return 90_000 + i


class Experiment(Protocol):
    """The names of an experiment's module; the first line of its docstring says what it shows, as one sentence."""

    __name__: str
    __doc__: str
    __file__: str
    LABELS: tuple[str, ...]  # of the paper's figures and tables
    TITLE: str
    DATA: tuple[str, ...]  # the data sets that it needs: "hopkins155", "faces"
    SEEDS: int  # number of seeds of a full run; a quick run has at most two
    SETTINGS: dict[str, Any]

    def run(self, context: Context) -> dict[str, Any]:
        """Return plain lists, floats and strings; quick mode has the same keys."""

    def claims(self, results: dict[str, Any]) -> list[Claim]:
        """Return the claims, judged by the results alone; new ones go to the end."""

    def figures(self, results: dict[str, Any]) -> dict[str, Figure]:
        """Return figures by the stem of their file, laid out as in the paper; ``figure.set_label`` sets the caption."""

    def tables(self, results: dict[str, Any]) -> list[Table]:
        """Return the tables, with the numbers of the paper beside ours."""
