"""A sensor stream with a storm of outliers, a change and an outage: the angle, the level, the residuals and the alarms.

Usage: python docs/examples/stream_with_changes.py [PICTURE.png]
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from gasg21 import GASG21
from gasg21.metrics import subspace_angle

SENSORS, D, NOISE, CORRELATION = 60, 4, 0.05, 0.98
# name, vectors, share of outliers, which of the two subspaces
PHASES = [
    ("as usual", 4000, 0.1, 0),
    ("storm, 90 % outliers", 3000, 0.9, 0),
    ("as usual", 2000, 0.1, 0),
    ("another subspace", 4000, 0.1, 1),
    ("outage", 800, 1.0, 1),
    ("as before", 2200, 0.1, 1),
]
EVERY = 40  # vectors between looks
COLOURS = {"starting": "#d5dbdb", "tracking": "#ffffff", "changed": "#f5b7b1", "lost": "#f9e79f"}


def autocorrelated(rng, count, width):
    """Return AR(1) processes of variance 1, one per column."""
    fresh = rng.normal(size=(count, width)) * np.sqrt(1 - CORRELATION**2)
    rows = [rng.normal(size=width)]
    for row in fresh:
        rows.append(CORRELATION * rows[-1] + row)
    return np.array(rows[1:])


def make_stream(rng):
    """Return the vectors in their natural order, and the basis that each of them belongs to."""
    bases = [np.linalg.qr(rng.normal(size=(SENSORS, D)))[0].T for _ in range(2)]
    size = np.sqrt(D / SENSORS)
    X, truth = [], []
    for _, count, outliers, which in PHASES:
        part = autocorrelated(rng, count, D) @ bases[which]
        part += NOISE * size * autocorrelated(rng, count, SENSORS)
        bad = rng.random(count) < outliers
        part[bad] = size * rng.normal(size=(bad.sum(), SENSORS))
        X.append(part)
        truth += [bases[which]] * count
    return np.vstack(X), truth


def follow(model, X, truth):
    """Update the model with the vectors in order; return what it says on the way."""
    seen = {"angle": [], "level": [], "status": [], "residual": []}
    for start in range(0, len(X), EVERY):
        model.partial_fit(X[start : start + EVERY])
        seen["angle"].append(subspace_angle(model.components_, truth[min(start + EVERY, len(X)) - 1]))
        seen["level"].append(model.level_)
        seen["status"].append(model.status_)
        seen["residual"].append(model.residuals_)
    return seen


def draw_background(ax, statuses, changes):
    """Shade the times at which the stream does not track, and mark the alarms."""
    edges = EVERY * np.arange(len(statuses) + 1)
    for k, status in enumerate(statuses):
        if status != "tracking":
            ax.axvspan(edges[k], edges[k + 1], color=COLOURS[status], lw=0)
    for change in changes:
        ax.axvline(change, color="#c0392b", lw=1.5)


def draw(axes, seen, plain, changes):
    """Draw the angle, the residuals and the level over the vectors."""
    time = EVERY * np.arange(1, len(seen["angle"]) + 1)
    for ax in axes:
        draw_background(ax, seen["status"], changes)
    axes[0].semilogy(time, plain["angle"], color="#95a5a6", lw=1, label="replay=0")
    axes[0].semilogy(time, seen["angle"], color="#2471a3", lw=1.3, label="the default")
    axes[0].set(ylabel="angle to the truth [rad]", ylim=(8e-3, 2))
    axes[0].legend(frameon=False, fontsize="small", loc="lower left", ncols=2)
    residuals = np.concatenate(seen["residual"])
    axes[1].plot(np.arange(1, len(residuals) + 1), residuals, ".", ms=1, color="#2c3e50")
    axes[1].set(ylabel="residuals_", ylim=(0, 1.05))
    axes[2].plot(time, seen["level"], color="#2471a3", lw=1, drawstyle="steps-post")
    axes[2].set(ylabel="level_", xlabel="vectors")
    start = 0
    for name, count, *_ in PHASES:
        axes[0].text(start + count / 2, 2.4, name.replace(", ", ",\n"), ha="center", va="bottom", fontsize="x-small")
        for ax in axes:
            ax.axvline(start, color="k", lw=0.6, ls=":")
        start += count
    axes[0].set_xlim(0, start)
    shades = [plt.Rectangle((0, 0), 1, 1, color=COLOURS[status]) for status in COLOURS if status != "tracking"]
    names = [f'status_ "{status}"' for status in COLOURS if status != "tracking"]
    alarm = plt.Line2D([], [], color="#c0392b", lw=1.5)
    axes[1].legend([*shades, alarm], [*names, "changes_"], fontsize="x-small", loc="center right")


def main() -> None:
    """Follow the stream, draw it and save the picture."""
    X, truth = make_stream(np.random.default_rng(1))
    model = GASG21(D, random_state=0)
    seen = follow(model, X, truth)
    plain = follow(GASG21(D, replay=0, random_state=0), X, truth)
    figure, axes = plt.subplots(3, 1, figsize=(9, 7), sharex=True, layout="constrained", height_ratios=[1.4, 1.4, 0.8])
    draw(axes, seen, plain, model.changes_)
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "streams.png")
    figure.savefig(path, dpi=100)
    told = ", ".join(f"{status} {seen['status'].count(status) / len(seen['status']):.1%}" for status in COLOURS)
    print(f"changes seen after {model.changes_} vectors; status: {told}; wrote {path}")


if __name__ == "__main__":
    main()
