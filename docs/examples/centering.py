"""Samples off the origin: what center=False and center=True make of them.

Usage: python docs/examples/centering.py [PICTURE.png]
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from gasg21 import GASG21
from gasg21.datasets import make_low_rank
from gasg21.exceptions import ConvergenceWarning
from gasg21.metrics import subspace_angle

COLORS = {False: "#c0392b", True: "#2471a3"}
OFFSETS = np.array([0.01, 0.03, 0.1, 0.3, 1, 3, 10, 100, 1000])


def fitted(X, d, center):
    """Fit without a word: the warnings about offsets are what the picture is about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return GASG21(d, center=center, random_state=0).fit(X)


def draw_lines(ax):
    """Fit a line to points in the plane that lie on one off the origin, and to some that do not."""
    rng = np.random.default_rng(0)
    t = rng.normal(size=200)
    X = np.column_stack([2 * t + 4, 5 - t]) + 0.08 * rng.normal(size=(200, 2))
    X[:60] = rng.uniform([-1, 0], [9, 9], size=(60, 2))
    ax.plot(*X[60:].T, ".", ms=4, color="#7f8c8d", label="inliers")
    ax.plot(*X[:60].T, "x", ms=4, color="#bdc3c7", label="outliers")
    for center, color in COLORS.items():
        model = fitted(X, 1, center)
        ax.axline(model.mean_, model.mean_ + model.components_[0], color=color, lw=1.8, label=f"center={center}")
    ax.plot(*model.mean_, "o", ms=7, mfc="white", mec=COLORS[True], mew=1.8, label="mean_")
    ax.plot(0, 0, "k+", ms=10, mew=1.5)
    ax.annotate("origin", (0, 0), (6, 4), textcoords="offset points")
    ax.set(title="a line off the origin, 30 % outliers", xlim=(-1.5, 9.5), ylim=(-0.8, 9.2), aspect="equal")
    ax.legend(frameon=True, fontsize="small", loc="upper right")


def draw_angles(ax):
    """Plot the angle to the truth over the offset."""
    problem = make_low_rank(2000, 100, 4, outlier_fraction=0.5, observed_fraction=0.7, noise=0.05, random_state=0)
    direction = np.random.default_rng(1).normal(size=100)
    direction *= np.sqrt(np.nanmean(problem.data**2) / np.mean(direction**2))
    for center, color in COLORS.items():
        angles = [
            subspace_angle(fitted(problem.data + offset * direction, 4, center).components_, problem.basis)
            for offset in OFFSETS
        ]
        print(f"center={center}:", ", ".join(f"{angle:.2g}" for angle in angles))
        ax.loglog(OFFSETS, angles, "o-", color=color, lw=1.8, ms=5, label=f"center={center}")
    ax.set(title="50 % outliers, 30 % missing, noise 0.05", ylim=(1e-3, 3))
    ax.set(xlabel="offset, in spreads of the samples", ylabel="angle to the true directions [rad]")
    ax.grid(alpha=0.3)
    ax.legend(frameon=False, loc="center right")


def main() -> None:
    """Draw both plots and save them."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    draw_lines(axes[0])
    draw_angles(axes[1])
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "centering.png")
    figure.savefig(path, dpi=100)
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
