"""The score over the dimension, and handwritten digits with hidden pixels filled in.

Usage: python docs/examples/completion.py [PICTURE.png]
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV

from gasg21 import GASG21, SubspaceImputer
from gasg21.datasets import make_low_rank
from gasg21.exceptions import ConvergenceWarning

DIMENSIONS, TRUE_DIMENSION = range(1, 13), 5
SHOWN = 1, 8, 12, 17, 23, 31


def draw_scores(ax):
    """Let GridSearchCV find the dimension of noisy data with outliers and missing entries."""
    problem = make_low_rank(
        600, 60, TRUE_DIMENSION, outlier_fraction=0.2, observed_fraction=0.7, noise=0.1, random_state=0
    )
    search = GridSearchCV(GASG21(random_state=0), {"n_components": DIMENSIONS})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # wrong dimensions do not converge
        search.fit(problem.data)
    scores = search.cv_results_["mean_test_score"]
    ax.plot(DIMENSIONS, scores, "o-", color="#2471a3", lw=1.8, ms=5)
    best = search.best_params_["n_components"]
    ax.plot(best, search.best_score_, "o", ms=12, mfc="none", mec="#c0392b", mew=1.8, label="best score")
    ax.axvline(TRUE_DIMENSION, color="#7f8c8d", ls="--", lw=1.2, label="true dimension")
    ax.set(title="GridSearchCV: 20 % outliers, 30 % missing", xlabel="n_components", ylabel="score")
    ax.set(xticks=DIMENSIONS)
    ax.grid(alpha=0.3)
    ax.legend(frameon=False)
    print(f"best n_components {best}, score {search.best_score_:.3f}")


def draw_digits(axes):
    """Hide 40 % of the pixels of the digits, make every fifth image noise, and fill the pixels in."""
    rng = np.random.default_rng(0)
    X = load_digits().data
    spoilt = X.copy()
    spoilt[::5] = rng.uniform(0, 16, size=spoilt[::5].shape)
    spoilt[rng.random(X.shape) < 0.4] = np.nan
    imputer = SubspaceImputer(random_state=0).fit(spoilt)
    filled = imputer.transform(spoilt)
    colors = plt.colormaps["gray_r"].with_extremes(bad="#e8b4ae")
    for column, j in enumerate(SHOWN):
        for row, image in enumerate((spoilt[j], filled[j], X[j])):
            axes[row, column].imshow(image.reshape(8, 8), cmap=colors, vmin=0, vmax=16)
            axes[row, column].set(xticks=[], yticks=[])
    for row, label in enumerate(("observed", "completed", "truth")):
        axes[row, 0].set_ylabel(label)
    print(f"digits: {imputer.n_components_} dimensions")


def main() -> None:
    """Draw both plots and save them."""
    figure = plt.figure(figsize=(10, 3.8), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[1, 1.15])
    draw_scores(left.subplots())
    right.suptitle("40 % of the pixels hidden, a fifth of the images noise")
    draw_digits(right.subplots(3, len(SHOWN)))
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "completion.png")
    figure.savefig(path, dpi=100)
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
