"""What an experiment is: a module in ``benchmarks/experiments`` with the names of `Experiment`, and what it hands over.

A module whose name begins with an underscore is a helper of the others and no experiment.
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
    """Whether a claim of the paper is seen in our results."""

    HOLDS = "holds"
    FAILS = "does not hold"
    UNCHECKED = "can't be checked"


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, or one of our own, its value there, ours, and the verdict computed from the results."""

    text: str
    paper: str
    ours: str
    verdict: Verdict
    reason: str = ""  # why it can't be checked, or why it likely fails
    own: bool = False  # not said in the paper: what we ask of it besides

    def __post_init__(self) -> None:
        if self.verdict is Verdict.UNCHECKED and not self.reason:
            message = f"a claim that can't be checked needs a reason: {self.text}"
            raise ValueError(message)

    @property
    def sentence(self) -> str:
        """Return the text, marked where it is not the paper's."""
        return f"{self.text} [ours, not said in the paper]" if self.own else self.text


@dataclass(frozen=True)
class Table:
    """Rows of text or numbers; the paper's value and ours stand in neighbouring columns."""

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
    """What a run is given."""

    quick: bool
    seeds: int
    data: Path | None
    say: Callable[[str], None]  # prints a line of progress

    def seed(self, i: int) -> int:
        """Return the i-th seed; no setting was chosen on these."""
        return 90_000 + i


class Experiment(Protocol):
    """The names of an experiment's module; its docstring says what it shows, in its first line as one sentence."""

    __name__: str
    __doc__: str
    __file__: str
    LABELS: tuple[str, ...]  # of the paper's figures and tables
    TITLE: str
    DATA: tuple[str, ...]  # data sets that it needs: "hopkins155", "faces"
    SEEDS: int  # of a full run; a quick one has at most two
    SETTINGS: dict[str, Any]

    def run(self, context: Context) -> dict[str, Any]:
        """Return plain lists, floats and strings; the same keys in quick mode."""

    def claims(self, results: dict[str, Any]) -> list[Claim]:
        """Return the paper's claims, judged by the results alone."""

    def figures(self, results: dict[str, Any]) -> dict[str, Figure]:
        """Return file stem -> figure, laid out as in the paper; ``figure.set_label`` sets its caption."""

    def tables(self, results: dict[str, Any]) -> list[Table]:
        """Return the tables, the paper's numbers beside ours."""
