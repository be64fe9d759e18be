"""From vectors in groups to labels: affinity, residuals, the choice of K, and images of the groups found.

Usage: python docs/examples/unions.py [PICTURE.png]
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from gasg21 import KGASG21
from gasg21.datasets import make_union_of_subspaces
from gasg21.metrics import clustering_error

SHOWN = 12  # images of each group


def digits():
    """Return images of the digits 0, 3, 4 and 6, and which one each is."""
    X, y = load_digits(return_X_y=True)
    some = np.isin(y, (0, 3, 4, 6))
    return X[some], y[some]


def shape_interaction(X, rank):
    """Return the fourth powers of the cosines of the samples in their leading left singular vectors."""
    U = np.linalg.svd(X / np.linalg.norm(X, axis=1, keepdims=True), full_matrices=False)[0][:, :rank]
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    return np.abs(U @ U.T) ** 4


def draw(model, X):
    """Draw the affinity and the residuals of the digits, the choice of K for made-up data, and the groups."""
    figure = plt.figure(figsize=(13, 6.4), layout="constrained")
    grid = figure.add_gridspec(2, 3, height_ratios=(3, 1.6))
    order = np.argsort(model.labels_, kind="stable")
    ax = figure.add_subplot(grid[0, 0])
    ax.imshow(shape_interaction(X, 24)[np.ix_(order, order)], cmap="magma", vmax=0.5)
    ax.set(title="affinity of the digits, by label found", xlabel="sample", ylabel="sample")
    ax = figure.add_subplot(grid[0, 1])
    image = ax.imshow(model.transform(X)[order], aspect="auto", cmap="viridis", interpolation="nearest")
    ax.set(title="residual in each subspace", xlabel="cluster", ylabel="sample", xticks=range(model.n_clusters_))
    figure.colorbar(image, ax=ax)
    ax = figure.add_subplot(grid[0, 2])
    draw_choice(ax)
    inner = grid[1, :].subgridspec(2, 2)
    for k in range(model.n_clusters_):
        ax = figure.add_subplot(inner[k // 2, k % 2])
        members = X[model.labels_ == k][:SHOWN].reshape(-1, 8, 8)
        ax.imshow(np.hstack(list(np.pad(members, ((0, 0), (0, 0), (0, 1))))), cmap="gray_r")
        ax.set_title(f"cluster {k}: {np.sum(model.labels_ == k)} images", fontsize=9)
        ax.axis("off")
    return figure


def draw_choice(ax):
    """Draw why n_clusters="auto" answers six for a union of six subspaces."""
    p = make_union_of_subspaces(600, 40, 3, 6, outlier_fraction=0.3, noise=0.02, random_state=0)
    model = KGASG21("auto", 3, random_state=0).fit(p.data)
    ratios = model.selection_["drop_ratios"][3]
    ax.semilogy(1 + np.arange(len(ratios)), ratios, "o-", color="#2471a3")
    ax.axvline(model.n_clusters_, color="#c0392b", lw=0.8)
    ax.set(title='n_clusters="auto": six subspaces', xlabel="k", ylabel="drop of the cost at k over that at k + 1")


def main() -> None:
    """Cluster the digits and save the picture."""
    X, y = digits()
    model = KGASG21(4, 6, random_state=0).fit(X)
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "unions.png")
    draw(model, X).savefig(path, dpi=100)
    error = clustering_error(y, model.labels_)
    print(f"{len(X)} digits: error {error:.1%}, agreement {model.agreement_:.2f}; wrote {path}")


if __name__ == "__main__":
    main()
