"""The outlier map: how far samples lie from the subspace, and how far out within it.

Usage: python docs/examples/decisions.py [PICTURE.png]
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from gasg21 import GASG21

N_FEATURES, D, M = 50, 3, 1000
KINDS = {
    "inliers": (850, ".", "#7f8c8d"),
    "far out within it": (30, "^", "#27ae60"),
    "off it": (60, "x", "#c0392b"),
    "off it and far out": (60, "s", "#8e44ad"),
}


def make_samples():
    """Return samples of an affine subspace and three kinds of others, and the kind of each."""
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.normal(size=(N_FEATURES, D)))[0].T
    kind = np.repeat(np.arange(4), [count for count, _, _ in KINDS.values()])
    weights = rng.normal(size=(M, D)) * [4, 3, 2]
    weights[(kind == 1) | (kind == 3)] *= 5
    noise = 0.3 * rng.normal(size=(M, N_FEATURES))
    noise[kind >= 2] *= rng.uniform(3, 8, size=(np.sum(kind >= 2), 1))
    return 10 * rng.normal(size=N_FEATURES) + weights @ axes + noise, kind


def draw_map(ax, distances, kind, flagged):
    """Plot one distance against the other."""
    for k, (name, (_, marker, color)) in enumerate(KINDS.items()):
        ax.loglog(*distances[kind == k].T, marker, ms=4.5, color=color, label=name)
    between = np.sqrt(distances[flagged, 1].min() * distances[~flagged, 1].max())
    ax.axhline(between, color="#2471a3", ls="--", lw=1.2, label="predict: outliers above")
    ax.set(title="the outlier map", xlabel="distance within the subspace", ylabel="distance from the subspace")
    ax.set_ylim(0.5, 30)
    ax.legend(frameon=False, fontsize="small", loc="upper left", ncols=2)


def draw_margins(ax, margins, kind):
    """Plot histograms of the decision function of the linear fit."""
    bins = np.linspace(margins.min(), margins.max(), 60)
    on = (kind == 0) | (kind == 1)
    ax.hist(margins[on], bins, color="#7f8c8d", label="on the subspace")
    ax.hist(margins[~on], bins, color="#c0392b", alpha=0.85, label="off it")
    ax.axvline(0, color="#2471a3", ls="--", lw=1.2)
    ax.set(title="center=False, the same samples about 0", xlabel="decision_function", ylabel="samples")
    ax.legend(frameon=False, loc="upper left")


def main() -> None:
    """Fit, draw both plots and save them."""
    X, kind = make_samples()
    model = GASG21(D, center=True, random_state=0).fit(X)
    flagged = model.predict(X) == -1
    centred = X - model.mean_
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained", width_ratios=[1.3, 1])
    draw_map(axes[0], model.distances(X), kind, flagged)
    draw_margins(axes[1], GASG21(D, random_state=0).fit(centred).decision_function(centred), kind)
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "decisions.png")
    figure.savefig(path, dpi=100)
    counts = ", ".join(f"{flagged[kind == k].sum()} of {np.sum(kind == k)} {name}" for k, name in enumerate(KINDS))
    print(f"called outliers: {counts}; wrote {path}")


if __name__ == "__main__":
    main()
