"""The picture of a model: one plot, or all that suit it."""

from __future__ import annotations

from typing import Any

from gasg21 import plotting
from gasg21._support.arrays import Array
from gasg21.cli._errors import CommandError

_NEED_DATA = {"residuals", "outlier-map", "subspaces", "sphere"}


def draw(model: Any, X: Array | None, kind: str | None, output: str) -> list[str]:
    """Draw into a file, and return what was drawn."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        msg = "plot needs matplotlib: pip install 'gasg21[plot]'"
        raise ImportError(msg) from error
    kinds = _suitable(model, X) if kind is None else [kind]
    if kind in _NEED_DATA and X is None:
        msg = f"--kind {kind} needs the data: gasg21 plot MODEL DATA"
        raise CommandError(msg)
    columns = min(2, len(kinds))
    rows = -(-len(kinds) // columns)
    figure = Figure(figsize=(6.4 * columns, 4.4 * rows), layout="constrained")
    for i, each in enumerate(kinds):
        ax = figure.add_subplot(rows, columns, i + 1, projection="3d" if each == "sphere" else None)
        _draw_one(model, X, each, ax)
    figure.savefig(output, dpi=100)
    return kinds


def _suitable(model: Any, X: Array | None) -> list[str]:
    by_history = ["convergence"] if _has_history(model) else []
    if hasattr(model, "subspaces_"):
        return [*(["subspaces"] if X is not None else []), "affinity", *by_history]
    if not hasattr(model, "explained_variance_"):
        msg = f"a {type(model).__name__} has nothing to draw; plot takes the models of fit and cluster"
        raise CommandError(msg)
    return ["scree", *(["residuals", "outlier-map"] if X is not None else []), *by_history]


def _has_history(model: Any) -> bool:
    return bool(getattr(model, "history_", None))


def _draw_one(model: Any, X: Array | None, kind: str, ax: Any) -> None:
    function = getattr(plotting, kind.replace("-", "_"))
    if kind == "scree" or kind in _NEED_DATA:
        function(model, X, ax=ax)
    else:
        function(model, ax=ax)
