"""What a fit says, and how wrong it is: blocks of features that hardly meet, and samples on two subspaces.

Usage: python docs/examples/honesty.py [PICTURE.png]
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from gasg21 import GASG21
from gasg21.exceptions import ConvergenceWarning
from gasg21.metrics import subspace_angle

M, N_FEATURES, D = 600, 40, 3
SHARED = range(9)
COLORS = {"undetermined": "#c0392b", "max_passes": "#e59866", "noise_floor": "#2471a3"}


def fitted(X, **parameters):
    """Fit without a word: the status says it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return GASG21(D, random_state=0, **parameters).fit(X)


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
        model = fitted(X, max_passes=100)
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


def count_answers(share, noise, m=800):
    """Count what fits find, and say, if a share of the samples lies on a second subspace."""
    answers = Counter()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        bases = [np.linalg.qr(rng.normal(size=(N_FEATURES, D)))[0].T for _ in range(2)]
        sizes = m - int(share * m), int(share * m)
        X = np.vstack([rng.normal(size=(size, D)) @ basis for size, basis in zip(sizes, bases, strict=True)])
        X += noise / np.sqrt(N_FEATURES) * rng.normal(size=X.shape)
        model = fitted(X[rng.permutation(m)])
        near = [subspace_angle(model.components_, basis) < 0.1 for basis in bases]
        answers[model.status_, "first" if near[0] else "second" if near[1] else "neither"] += 1
    return answers


def main() -> None:
    """Draw both plots and save them."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", width_ratios=[1, 1.5])
    draw_mask(axes[0])
    draw_angles(axes[1])
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "honesty.png")
    figure.savefig(path, dpi=100)
    print(f"wrote {path}")
    for share in (0.5, 0.4, 0.3):
        for noise in (0, 0.02):
            print(f"{share:.0%} on a second subspace, noise {noise}: {dict(count_answers(share, noise))}")


if __name__ == "__main__":
    main()
