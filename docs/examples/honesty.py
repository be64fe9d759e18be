"""Two blocks of features that no sample observes together: what the fit says, and how wrong it is.

Usage: python docs/examples/honesty.py [PICTURE.png]
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from gasg21 import GASG21
from gasg21.exceptions import ConvergenceWarning
from gasg21.metrics import subspace_angle

M, N_FEATURES, D = 600, 40, 3
SHARED = range(9)
COLORS = {"undetermined": "#c0392b", "max_passes": "#e59866", "noise_floor": "#2471a3"}


def make_samples(shared):
    """Return samples of which each observes one of two blocks that share some features, and the basis."""
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(N_FEATURES, D)))[0].T
    X = rng.normal(size=(M, D)) @ basis
    first, feature, middle = rng.random(M) < 0.5, np.arange(N_FEATURES), N_FEATURES // 2
    X[np.ix_(first, feature >= middle + shared - shared // 2)] = np.nan
    X[np.ix_(~first, feature < middle - shared // 2)] = np.nan
    X += 0.01 * rng.normal(size=X.shape) / np.sqrt(N_FEATURES)
    return X, basis


def draw_mask(ax):
    """Show which entries of some samples are observed."""
    X, _ = make_samples(0)
    ax.imshow(~np.isnan(X[:40]), cmap="gray_r", vmin=-0.3, vmax=1.6, aspect="auto")
    ax.set(title="observed entries (dark)", xlabel="feature", ylabel="sample")


def draw_angles(ax):
    """Plot the true and the estimated error over the number of features that the blocks share."""
    for shared in SHARED:
        X, basis = make_samples(shared)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = GASG21(D, max_passes=100, random_state=0).fit(X)
        angle, color = subspace_angle(model.components_, basis), COLORS[model.status_]
        ax.semilogy(shared, angle, "o", ms=7, color=color)
        ax.semilogy(shared, model.estimated_angle_, "_", ms=16, mew=2, color=color)
        print(f"{shared} shared: {model.status_}, angle {angle:.2g}, estimated {model.estimated_angle_:.2g}")
    for status, color in COLORS.items():
        ax.plot([], [], "s", color=color, label=f'status_ "{status}"')
    ax.plot([], [], "o", ms=7, color="#7f8c8d", label="angle to the truth")
    ax.plot([], [], "_", ms=16, mew=2, color="#7f8c8d", label="estimated_angle_")
    ax.set(title=f"a subspace of dimension {D}", xlabel="features that both blocks share", ylabel="radians")
    ax.grid(alpha=0.3)
    ax.legend(frameon=False, fontsize="small", loc="upper right")


def main() -> None:
    """Draw both plots and save them."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", width_ratios=[1, 1.5])
    draw_mask(axes[0])
    draw_angles(axes[1])
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "honesty.png")
    figure.savefig(path, dpi=100)
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
