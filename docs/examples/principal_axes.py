"""The principal axes of the inliers, by PCA and by GASG21, when a quarter of the samples are outliers.

Usage: python docs/examples/principal_axes.py [PICTURE.png]
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from gasg21 import GASG21

N_FEATURES, SPREAD, NOISE = 20, np.array([3.0, 1.0]), 0.2
COLORS = {"PCA": "#c0392b", "GASG21": "#2471a3"}


def make_samples():
    """Return samples about a plane, which of them are inliers, the axes of the plane and its mean."""
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.normal(size=(N_FEATURES, 3)))[0].T
    mean = rng.normal(size=N_FEATURES) * 3
    weights = rng.normal(size=(400, 2)) * SPREAD
    X = mean + weights @ axes[:2] + NOISE * rng.normal(size=(400, N_FEATURES))
    away = np.array([2.0, 5.0, 6.0]) @ axes  # partly along the plane
    X[:100] = mean + away * rng.uniform(0.2, 1.8, size=(100, 1)) + 2 * rng.normal(size=(100, N_FEATURES))
    inlier = np.arange(400) >= 100
    return X, inlier, axes[:2], mean


def draw_axes(ax, X, inlier, axes, mean, models):
    """Draw the samples and the axes of the models, as seen from above the plane."""
    seen = (X - mean) @ axes.T
    ax.plot(*seen[inlier].T, ".", ms=4, color="#7f8c8d", label="inliers")
    ax.plot(*seen[~inlier].T, "x", ms=4, color="#bdc3c7", label="outliers")
    for name, model in models.items():
        at = (model.mean_ - mean) @ axes.T
        for k, (axis, variance) in enumerate(zip(model.components_, model.explained_variance_, strict=True)):
            step = 2 * np.sqrt(variance) * axis @ axes.T
            ax.annotate("", at + step, at, arrowprops={"arrowstyle": "-|>", "color": COLORS[name], "lw": 2.2})
            how = {"textcoords": "offset points", "color": COLORS[name], "weight": "bold"}
            ax.annotate(str(k + 1), at + step, (3, 4) if name == "PCA" else (-12, -12 * (1 - k)), **how)
        ax.plot([], [], color=COLORS[name], lw=2.2, label=f"axes of {name}")
    ax.set(title="the plane of the inliers, and the axes projected to it", aspect="equal")
    ax.set(xlabel="first true axis", ylabel="second true axis")
    ax.legend(frameon=True, fontsize="small", loc="upper left")


def draw_variances(ax, X, inlier, axes, models):
    """Compare the standard deviations along the axes with those of the inliers."""
    truth = np.sqrt(PCA(2).fit(X[inlier]).explained_variance_)
    bars = {"the inliers alone": (truth, "#7f8c8d")}
    bars |= {name: (np.sqrt(model.explained_variance_), COLORS[name]) for name, model in models.items()}
    for k, (name, (deviation, color)) in enumerate(bars.items()):
        ax.bar(np.arange(2) + 0.26 * (k - 1), deviation, 0.24, color=color, label=name)
    ax.set(xticks=range(2), xticklabels=["axis 1", "axis 2"], ylabel="root of explained_variance_")
    ax.set(title="standard deviation along the axes")
    ax.legend(frameon=False, fontsize="small")


def main() -> None:
    """Fit both models, draw both plots and save them."""
    X, inlier, axes, mean = make_samples()
    models = {"PCA": PCA(2).fit(X), "GASG21": GASG21(2, center=True, random_state=0).fit(X)}
    figure, both = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained", width_ratios=[1.7, 1])
    draw_axes(both[0], X, inlier, axes, mean, models)
    draw_variances(both[1], X, inlier, axes, models)
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "principal_axes.png")
    figure.savefig(path, dpi=100)
    for name, model in models.items():
        off = np.degrees(np.arccos(np.minimum(np.abs((model.components_ * axes).sum(axis=1)), 1)))
        print(f"{name}: axes off by {off[0]:.1f} and {off[1]:.1f} degrees")
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
