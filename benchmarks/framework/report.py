"""Write one self-contained page from the stored results: the claims, then each figure and table beside those of the paper."""

from __future__ import annotations

import base64
import io
import sys
import traceback
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.framework import digest, page, records
from benchmarks.framework.catalogue import name_of, places_of
from benchmarks.framework.experiment import Claim, Experiment, Table
from benchmarks.framework.records import Record
from benchmarks.framework.running import DONE, FAILED, summary
from benchmarks.framework.text import counts_text

DPI = 150


@dataclass(frozen=True)
class Picture:
    """A figure as PNG, with its caption and an alternative text."""

    stem: str
    png: bytes
    caption: str
    alternative: str
    width: int  # on the page
    height: int

    @property
    def address(self) -> str:
        """Return the picture as a data URL, so that the page needs no other file."""
        return "data:image/png;base64," + base64.b64encode(self.png).decode()


@dataclass
class Chapter:
    """The content of the page for one experiment."""

    experiment: Experiment
    record: Record | None
    problem: str = ""  # why there is nothing to show
    claims: list[Claim] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    files: list[Picture] = field(default_factory=list)  # the same, without data that must not be published

    @property
    def name(self) -> str:
        """Return the name of the experiment, which is also its anchor."""
        return name_of(self.experiment)


def picture(stem: str, figure, experiment: Experiment) -> Picture:
    """Draw a figure; the caption is its label, or else its place in the paper."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI, facecolor="white", pil_kwargs={"optimize": True})
    caption = figure.get_label() or f"{places_of(experiment)} of the paper, repeated: {experiment.TITLE}"
    panels = [panel(axes) for axes in figure.axes]
    alternative = f"{caption.rstrip('.')}. Panels: " + "; ".join(text for text in panels if text) + "."
    width, height = (round(100 * inches) for inches in figure.get_size_inches())
    return Picture(stem, buffer.getvalue(), caption, alternative, width, height)


def panel(axes) -> str:
    """Return the title and the axes of a panel in words."""
    against = f"{axes.get_ylabel()} against {axes.get_xlabel()}" if axes.get_ylabel() and axes.get_xlabel() else ""
    return ", ".join(text for text in (axes.get_title(), against) if text).replace("\n", " ")


def pictures_of(experiment: Experiment, results: Record) -> list[Picture]:
    """Return the figures of an experiment."""
    return [picture(stem, figure, experiment) for stem, figure in experiment.figures(results).items()]


def chapter(experiment: Experiment, directory: Path) -> Chapter:
    """Return the chapter of an experiment; an error in its figures or claims is reported as its problem."""
    record = records.load(experiment, directory)
    if record is None:
        return Chapter(experiment, None, "not run: no result is stored")
    if record["state"] != DONE:
        return Chapter(experiment, record, f"{record['state']}: {record['reason']}")
    results = record["results"]
    try:
        drawn = pictures_of(experiment, results)
        private = records.PICTURES in results
        files = pictures_of(experiment, records.without_pictures(results)) if private else drawn
        return Chapter(experiment, record, "", experiment.claims(results), experiment.tables(results), drawn, files)
    except Exception as error:  # the other experiments are still shown
        traceback.print_exc(file=sys.stderr)
        return Chapter(experiment, record, f"{FAILED}: its result can't be shown: {summary(error)}")


def write(known: list[Experiment], directory: Path, output: Path) -> int:
    """Write the page, the digest and the figures; return 1 if there is no result or an experiment failed."""
    chapters = [chapter(experiment, directory) for experiment in known]
    shown = [entry for entry in chapters if not entry.problem]
    if not shown:
        print(f"no results in {directory}: python -m benchmarks all makes them", file=sys.stderr)
        return 1
    figures = directory / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    for entry in shown:
        for image in entry.files:
            (figures / f"{image.stem}.png").write_bytes(image.png)
    (directory / "README.md").write_text(digest.digest(chapters), encoding="utf-8")
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(page.render(chapters), encoding="utf-8")
    claims = [claim for entry in shown for claim in entry.claims]
    print(f"{output}: {len(shown)} of {len(known)} experiments; {counts_text(claims)}; figures in {figures}")
    for entry in chapters:
        if entry.problem:
            print(f"  {entry.name}: {entry.problem}")
    return int(any(entry.problem.startswith(FAILED) for entry in chapters))
