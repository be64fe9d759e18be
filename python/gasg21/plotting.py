"""Pictures of results. Each function draws into matplotlib axes that it is given, and computes nothing new."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from typing import Any

import numpy as np

from gasg21._data.samples import Array

__all__ = ["plot_convergence", "plot_residuals", "plot_sphere"]

INLIER, OUTLIER, ESTIMATE, OTHER = "#c0392b", "#2c3e50", "#2471a3", "#95a5a6"


def plot_convergence(ax: Any, n_vectors: Array, angles: Mapping[str, Array]) -> None:
    """Angle to the truth against the vectors used, one line per method; the first one stands out."""
    styles = cycle([(ESTIMATE, "-", 2.2), (OTHER, "--", 1.6), (OUTLIER, ":", 1.8), (INLIER, "-.", 1.6)])
    for (name, angle), (color, line, width) in zip(angles.items(), styles, strict=False):
        ax.semilogy(n_vectors, angle, line, color=color, lw=width, label=name)
    ax.set(xlabel="vectors seen", ylabel="angle to the true subspace [rad]")
    ax.grid(alpha=0.3)
    ax.legend(frameon=False, loc="upper right", bbox_to_anchor=(1.0, 0.78), fontsize="small")


def plot_residuals(ax: Any, residuals: Array, inlier: Array, threshold: float) -> None:
    """Histogram of the residuals of inliers and outliers, with the threshold between them."""
    floor = max(float(np.nanmin(residuals[residuals > 0], initial=1.0)), 1e-17)
    bins = np.geomspace(floor, 1, 60)
    clipped = np.clip(residuals, floor, 1)
    ax.hist(clipped[inlier], bins, color=INLIER, alpha=0.85, label="inliers")
    ax.hist(clipped[~inlier], bins, color=OUTLIER, alpha=0.85, label="outliers")
    ax.axvline(threshold, color=ESTIMATE, lw=1.2, ls="--", label="threshold")
    ax.set(xscale="log", xlabel="residual of the unit-norm sample", ylabel="samples")
    ax.legend(frameon=False, loc="upper center")


def plot_sphere(ax: Any, points: Array, inlier: Array, start: Array, found: Array) -> None:
    """Draw the paper's picture in R^3: spherized samples, and the circles of planes before and after.

    `points` is (m, 3) of unit norm; `start` and `found` are (2, 3) orthonormal.
    """
    u, v = np.mgrid[0 : 2 * np.pi : 40j, 0 : np.pi : 20j]
    sphere = (np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v))
    ax.plot_surface(*sphere, color="#ecf0f1", alpha=0.25, linewidth=0)
    ax.scatter(*points[~inlier].T, s=5, color=OUTLIER, label="outliers", depthshade=False)
    ax.scatter(*points[inlier].T, s=7, color=INLIER, label="inliers", depthshade=False)
    t = np.linspace(0, 2 * np.pi, 200)
    circle = np.column_stack([np.cos(t), np.sin(t)])
    ax.plot(*(circle @ start).T, "--", color=OTHER, lw=1.8, label="start")
    ax.plot(*(circle @ found).T, color=ESTIMATE, lw=2.2, label="found")
    ax.set_box_aspect((1, 1, 1), zoom=1.3)
    ax.set_axis_off()
    ax.legend(frameon=False, loc="lower center", ncols=4, fontsize="small", columnspacing=1.0, handlelength=1.4)
