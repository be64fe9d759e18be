"""Plots of results. Each function draws into matplotlib axes that the caller provides."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from typing import Any

import numpy as np

from gasg21._data.samples import Array

__all__ = ["plot_convergence", "plot_residuals", "plot_sphere"]

INLIER, OUTLIER, ESTIMATE, OTHER = "#c0392b", "#2c3e50", "#2471a3", "#95a5a6"


def plot_convergence(ax: Any, n_vectors: Array, angles: Mapping[str, Array]) -> None:
    """Plot the angle to the true subspace against the number of samples used, on a logarithmic scale.

    Parameters
    ----------
    ax : matplotlib Axes
        Axes to draw into.
    n_vectors : ndarray of shape (n_points,)
        Number of samples used.
    angles : mapping of str to ndarray of shape (n_points,)
        Angles in radians, one entry per method. The first method is highlighted.
    """
    styles = cycle([(ESTIMATE, "-", 2.2), (OTHER, "--", 1.6), (OUTLIER, ":", 1.8), (INLIER, "-.", 1.6)])
    for (name, angle), (color, line, width) in zip(angles.items(), styles, strict=False):
        ax.semilogy(n_vectors, angle, line, color=color, lw=width, label=name)
    ax.set(xlabel="samples used", ylabel="angle to the true subspace [rad]")
    ax.grid(alpha=0.3)
    ax.legend(frameon=False, loc="upper right", bbox_to_anchor=(1.0, 0.78), fontsize="small")


def plot_residuals(ax: Any, residuals: Array, inlier: Array, threshold: float) -> None:
    """Plot histograms of the residuals of inliers and outliers, and the threshold between them.

    Parameters
    ----------
    ax : matplotlib Axes
        Axes to draw into.
    residuals : ndarray of shape (n_samples,)
        Residuals of the samples scaled to unit length.
    inlier : bool ndarray of shape (n_samples,)
        True for inliers.
    threshold : float
        Residual above which a sample counts as an outlier.
    """
    floor = max(float(np.nanmin(residuals[residuals > 0], initial=1.0)), 1e-17)
    bins = np.geomspace(floor, 1, 60)
    clipped = np.clip(residuals, floor, 1)
    ax.hist(clipped[inlier], bins, color=INLIER, alpha=0.85, label="inliers")
    ax.hist(clipped[~inlier], bins, color=OUTLIER, alpha=0.85, label="outliers")
    ax.axvline(threshold, color=ESTIMATE, lw=1.2, ls="--", label="threshold")
    ax.set(xscale="log", xlabel="residual of the unit-length sample", ylabel="samples")
    ax.legend(frameon=False, loc="upper center")


def plot_sphere(ax: Any, points: Array, inlier: Array, start: Array, found: Array) -> None:
    """Plot samples on the unit sphere in R^3 and two planes as circles, as in the paper.

    Parameters
    ----------
    ax : matplotlib Axes3D
        Axes to draw into.
    points : ndarray of shape (n_samples, 3)
        Samples of unit length.
    inlier : bool ndarray of shape (n_samples,)
        True for inliers.
    start, found : ndarray of shape (2, 3)
        Orthonormal bases of the initial and the recovered plane.
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
