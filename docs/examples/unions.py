"""From vectors in groups to labels: affinity, residuals, the choice of K, and images of the groups found.

Usage: python docs/examples/unions.py [PICTURE.png [PEOPLE.npz]]

It takes the digits of scikit-learn, or faces: PEOPLE.npz holds `images`, (images, height, width), and `person`, who is
on each of them, for example of Extended Yale B.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from gasg21 import KGASG21
from gasg21.datasets import make_union_of_subspaces
from gasg21.metrics import clustering_error

SHOWN = 12  # images of each group


class Pictures(NamedTuple):
    """Images in groups, one per row, and what is on them."""

    name: str
    X: Any
    labels: Any
    shape: tuple[int, int]
    n_components: int


def digits():
    """Return images of the digits 0, 3, 4 and 6, and which one each is."""
    X, y = load_digits(return_X_y=True)
    some = np.isin(y, (0, 3, 4, 6))
    return Pictures("digits", X[some], y[some], (8, 8), 6)


def faces(path):
    """Return the faces of the first four people, under changing light."""
    with np.load(path) as archive:
        some = np.isin(archive["person"], np.unique(archive["person"])[:4])
        images = archive["images"][some].astype(float)
        return Pictures("faces", images.reshape(len(images), -1), archive["person"][some], images.shape[1:], 9)


def shape_interaction(X, rank):
    """Return the fourth powers of the cosines of the samples in their leading left singular vectors."""
    U = np.linalg.svd(X / np.linalg.norm(X, axis=1, keepdims=True), full_matrices=False)[0][:, :rank]
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    return np.abs(U @ U.T) ** 4


def draw(model, pictures):
    """Draw the affinity and the residuals of the images, the choice of K for made-up data, and the groups."""
    X = pictures.X
    figure = plt.figure(figsize=(13, 6.4), layout="constrained")
    grid = figure.add_gridspec(2, 3, height_ratios=(3, 1.6))
    order = np.argsort(model.labels_, kind="stable")
    ax = figure.add_subplot(grid[0, 0])
    rank = sum(model.n_components_)
    ax.imshow(shape_interaction(X, rank)[np.ix_(order, order)], cmap="magma", vmax=0.15, interpolation="nearest")
    ax.set(title=f"affinity of the {pictures.name}, by label found", xlabel="sample", ylabel="sample")
    ax = figure.add_subplot(grid[0, 1])
    image = ax.imshow(model.transform(X)[order], aspect="auto", cmap="viridis", interpolation="nearest")
    ax.set(title="residual in each subspace", xlabel="cluster", ylabel="sample", xticks=range(model.n_clusters_))
    figure.colorbar(image, ax=ax)
    ax = figure.add_subplot(grid[0, 2])
    draw_choice(ax)
    inner = grid[1, :].subgridspec(2, 2)
    for k in range(model.n_clusters_):
        ax = figure.add_subplot(inner[k // 2, k % 2])
        members = X[model.labels_ == k][:SHOWN].reshape(-1, *pictures.shape)
        gap = max(1, pictures.shape[1] // 8)
        padded = np.pad(members, ((0, 0), (0, 0), (0, gap)), constant_values=members.min())
        ax.imshow(np.hstack(list(padded)), cmap="gray_r" if pictures.name == "digits" else "gray")
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
    ax.set_xticks(range(2, 1 + len(ratios), 2))


def main() -> None:
    """Cluster the images and save the picture."""
    pictures = faces(sys.argv[2]) if len(sys.argv) > 2 else digits()
    model = KGASG21(4, pictures.n_components, random_state=0).fit(pictures.X)
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "unions.png")
    draw(model, pictures).savefig(path, dpi=100)
    error = clustering_error(pictures.labels, model.labels_)
    said = f"{len(pictures.X)} {pictures.name}: error {error:.1%}, agreement {model.agreement_:.2f}"
    print(f"{said}; wrote {path}")


if __name__ == "__main__":
    main()
