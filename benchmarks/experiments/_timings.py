"""What the experiments on running time share: verdicts, ratios, the table and the figure."""

from __future__ import annotations

from typing import Any

from benchmarks.experiments._drawing import STYLES
from benchmarks.experiments._judge import NO_NUMBERS
from benchmarks.experiments._racing import all_reached
from benchmarks.framework.experiment import Table, Verdict

Times = dict[str, list[dict[str, Any]]]  # method -> `_racing.medians` at each value

NEEDS_FULL = "needs a full run: quick mode uses smaller problems"
OTHER_MACHINE = "the paper measured MATLAB and C++ code on another machine"
# Other seconds can't be checked: our machine is faster than the paper's.
BOUND = "an upper bound, judged on this machine"


def judged(results: dict[str, Any], good: bool, reason: str = "") -> tuple[Verdict, str]:
    """Return the verdict on a time and the reason; a quick run can't judge times."""
    if results["quick"]:
        return Verdict.UNCHECKED, NEEDS_FULL
    return (Verdict.HOLDS, "") if good else (Verdict.FAILS, reason)


def ratios(values: list[int], times: Times, rival: str, mode: str) -> list[tuple[int, float, bool]]:
    """Return value, time of the rival over ours, and whether the rival reached the angle, where we reached it."""
    pairs = zip(values, times[rival], times[mode], strict=True)
    return [(value, a["seconds"] / b["seconds"], all_reached(a)) for value, a, b in pairs if all_reached(b)]


def draw_times(axis: Any, x: list[int], times: Times) -> None:
    """Draw the seconds of each method, with hollow markers where it did not reach the angle."""
    for method, cells in times.items():
        seconds = [cell["seconds"] for cell in cells]
        style = STYLES[method] | {"markersize": 6}
        axis.semilogy(x, seconds, label=method, **style)
        late = [(at, s) for at, s, cell in zip(x, seconds, cells, strict=True) if not all_reached(cell)]
        if late:
            face = {"marker": "o", "color": style["color"], "facecolor": "white", "s": 70, "zorder": 4}
            axis.scatter(*zip(*late, strict=True), **face)


def time_table(axis: str, values: list[int], times: Times, title: str) -> Table:
    """Return CPU seconds, the number of vectors, iterations or passes, and the largest angle of the seeds."""
    rows: list[list[Any]] = []
    for i, value in enumerate(values):
        row: list[Any] = [value]
        for cells in times.values():
            cell = cells[i]
            missed = "" if all_reached(cell) else f", {cell['runs'] - cell['reached']} of {cell['runs']} not reached"
            row.append(f"{cell['seconds']:.2g} s ({cell['count']:g}, {cell['angle']:.0e}{missed})")
        rows.append(row)
    note = (
        "CPU seconds, median of the seeds; in brackets vectors, passes (fit) or iterations, and the largest angle of the seeds. "
        + NO_NUMBERS
    )
    return Table(title, [axis, *times], rows, note)
