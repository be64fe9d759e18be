"""Colours, axes and checks of all plots."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gasg21._support.arrays import Array
from gasg21.exceptions import InvalidInputError

# Okabe and Ito.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PINK = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#F0E442",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
)
GREY = "#7F7F7F"
INLIER, OUTLIER = BLUE, RED
CLUSTERS = (BLUE, ORANGE, GREEN, PINK, SKY, RED, YELLOW, BLACK)  # in turn


def new_axes(ax: Any, size: tuple[float, float] = (6.4, 4.2), **options: Any) -> Any:
    """Return the axes that the caller gives, or the axes of a new figure."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        msg = "gasg21.plotting needs matplotlib: pip install 'gasg21[plot]'"
        raise ImportError(msg) from error
    return plt.figure(figsize=size, layout="constrained").add_subplot(**options)


def check_model(model: Any, plot: str, *needed: str) -> None:
    """Refuse a model that is not fitted, or has not what a plot needs."""
    check_is_fitted(model)
    for name in needed:
        if not hasattr(model, name):
            msg = f"{plot} needs a model with {name}; {type(model).__name__} has none"
            raise InvalidInputError(msg)


def is_union(model: Any) -> bool:
    """Return whether a model has several subspaces."""
    return hasattr(model, "subspaces_")


def counted(n: int, name: str) -> str:
    """Return a label with the number of samples."""
    return f"{name} ({n})"


def legend(ax: Any, **options: Any) -> None:
    """Draw a legend that does not hide what is behind it."""
    ax.legend(**{"fontsize": "small", "framealpha": 0.85, "edgecolor": "none"} | options)


def log_bins(values: Array, count: int = 60) -> Array:
    """Return the edges of bins of equal width on a logarithmic axis, around positive values."""
    low, high = float(values.min()), float(values.max())
    if high <= low * 1.01:
        low, high = low / 2, high * 2
    return np.geomspace(low, high, count + 1)
