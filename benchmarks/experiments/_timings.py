"""What the experiments on running time share: verdicts, ratios, the table and the figure; and how matrices are made."""

from __future__ import annotations

from typing import Any

from benchmarks.experiments._drawing import STYLES
from benchmarks.experiments._racing import arrived
from benchmarks.framework.experiment import Table, Verdict

Times = dict[str, list[dict[str, Any]]]  # method -> what `_racing.medians` says at each point

NEEDS_FULL = "needs the full run: quick mode takes smaller problems"
OTHER_MACHINE = "the paper's seconds are those of MATLAB and C++ on a laptop of its time"
BOUND = (
    "an upper bound, judged on this machine"  # of seconds; others than upper bounds can't be checked on another machine
)


def judged(results: dict[str, Any], good: bool, reason: str = "") -> tuple[Verdict, str]:
    """Return the verdict on a time, which a quick run can't give, and the reason."""
    if results["quick"]:
        return Verdict.UNCHECKED, NEEDS_FULL
    return (Verdict.HOLDS, "") if good else (Verdict.FAILS, reason)


def ratios(values: list[int], times: Times, rival: str, mode: str) -> list[tuple[int, float, bool]]:
    """Return value, time of the rival / ours, and whether the rival arrived, where we did."""
    pairs = zip(values, times[rival], times[mode], strict=True)
    return [(value, a["seconds"] / b["seconds"], arrived(a)) for value, a, b in pairs if arrived(b)]


def draw_times(axis: Any, x: list[int], times: Times) -> None:
    """Draw the seconds of each method; markers are hollow where it did not arrive."""
    for method, cells in times.items():
        seconds = [cell["seconds"] for cell in cells]
        style = STYLES[method] | {"markersize": 6}
        axis.semilogy(x, seconds, label=method, **style)
        late = [(at, s) for at, s, cell in zip(x, seconds, cells, strict=True) if not arrived(cell)]
        if late:
            face = {"marker": "o", "color": style["color"], "facecolor": "white", "s": 70, "zorder": 4}
            axis.scatter(*zip(*late, strict=True), **face)


def time_table(axis: str, values: list[int], times: Times, title: str) -> Table:
    """Show CPU seconds, vectors, iterations or passes, and the largest angle of the seeds."""
    rows: list[list[Any]] = []
    for i, value in enumerate(values):
        row: list[Any] = [value]
        for cells in times.values():
            cell = cells[i]
            missed = "" if arrived(cell) else f", {cell['runs'] - cell['reached']} of {cell['runs']} not reached"
            row.append(f"{cell['seconds']:.2g} s ({cell['count']:g}, {cell['angle']:.0e}{missed})")
        rows.append(row)
    note = (
        "CPU seconds, median of the seeds; in brackets vectors, passes (fit) or iterations, and the largest angle of the seeds. "
        "The paper's numbers can't be read off its figure, for the image is not at hand."
    )
    return Table(title, [axis, *times], rows, note)
