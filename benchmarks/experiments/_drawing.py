"""The style of the curves: a method has the same colour, line and marker in every figure."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks.experiments._streams import DIMINISHING, GRASTA, GROUSE, PAPER, SCALED

FIT = "GASG21, fit with defaults"
REAPER, PURSUIT, MIRROR = "REAPER", "OP", "Robust-MD"

STYLES: dict[str, dict[str, Any]] = {
    PAPER: {"color": "#1f5fa8", "linestyle": "-", "marker": "o", "linewidth": 2},
    SCALED: {"color": "#c0392b", "linestyle": "--", "marker": "s", "linewidth": 2},
    FIT: {"color": "#e08a1e", "linestyle": (0, (1, 1)), "marker": "D"},
    DIMINISHING: {"color": "#6b8fb5", "linestyle": "-.", "marker": "v"},
    GROUSE: {"color": "#7f8c8d", "linestyle": ":", "marker": "x"},
    GRASTA: {"color": "#2e8b57", "linestyle": (0, (5, 1, 1, 1, 1, 1)), "marker": "^"},
    REAPER: {"color": "#7d3c98", "linestyle": "-.", "marker": "^"},
    PURSUIT: {"color": "#7f8c8d", "linestyle": ":", "marker": "x"},
    MIRROR: {"color": "#2e8b57", "linestyle": (0, (5, 1, 1, 1, 1, 1)), "marker": "v"},
}


def panels(count: int, titles: list[str], *, sharey: bool = True, width: float = 4.2) -> tuple[Figure, list[Any]]:
    """Return a figure with panels in a row, as in the paper, with the titles "(a) ...", "(b) ..."."""
    figure = Figure(figsize=(width * count, 3.9), layout="constrained")
    axes = list(figure.subplots(1, count, sharey=sharey, squeeze=False)[0])
    for letter, axis, title in zip("abcd", axes, titles, strict=False):
        axis.set_title(f"({letter}) {title}" if count > 1 else title, fontsize="medium")
        axis.grid(alpha=0.3)
    return figure, axes


def legend_below(figure: Figure, axis: Any, columns: int = 3) -> None:
    """Put one legend for all panels below them."""
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize="small")


def draw_medians(axis: Any, x: Any, curves: dict[str, Any], markers: int) -> None:
    """Draw the median curve of each method with about ``markers`` markers, and each seed as a thin line."""
    for method, runs in curves.items():
        at = x[: len(runs[0])]
        style = STYLES[method] | {"markevery": max(1, len(at) // markers), "markersize": 5}
        axis.semilogy(at, np.median(runs, axis=0), label=method, **style)
        for run in runs:
            axis.semilogy(at, run, color=style["color"], linewidth=0.5, alpha=0.35)


def stream_figure(
    titles: list[str], curves: list[dict[str, Any]], x: Any, unit: str, markers: int, width: float
) -> Figure:
    """Draw the angles along the stream, one panel for each dictionary of curves."""
    figure, axes = panels(len(titles), titles, width=width)
    for axis, by_method in zip(axes, curves, strict=True):
        draw_medians(axis, x, by_method, markers)
        axis.set_xlabel(unit)
    axes[0].set_ylabel("principal angle θ [rad]")
    legend_below(figure, axes[0])
    figure.set_label("Angle to the truth along the stream: medians, and each seed as a thin line.")
    return figure
