"""The experiment of the paper with K = 20 subspaces as a stream: three plots of how K-GASG21 converges.

Usage: python docs/examples/union_of_subspaces.py [PICTURE.png]
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from gasg21 import KGASG21
from gasg21.datasets import make_union_of_subspaces
from gasg21.metrics import subspace_angle

K, D, PASSES = 20, 3, 20


def stream(problem, seed=0):
    """Pass over the samples several times, in random order.

    Returns the model and a log with one row per update: the sample, its cluster and its residual.
    """
    rng = np.random.default_rng(seed)
    model = KGASG21(K, D, init="farthest", metric="canonical", random_state=seed)  # the algorithm of the paper
    log = []
    for _ in range(PASSES):
        order = rng.permutation(len(problem.data))
        model.partial_fit(problem.data[order])
        log.append(np.column_stack([order, model.labels_, model.residuals_]))
    return model, np.concatenate(log)


def draw(problem, model, log):
    """Plot the residuals of one subspace, the residuals of the inliers of all subspaces, and all angles."""
    sample, cluster, residual = log[:, 0].astype(int), log[:, 1].astype(int), log[:, 2]
    inlier = problem.labels[sample] >= 0
    figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    first = cluster == 0
    update = np.arange(first.sum())
    for rows, color, label in ((inlier, "#2471a3", "inliers"), (~inlier, "#c0392b", "outliers")):
        axes[0].semilogy(update[rows[first]], residual[first & rows], ".", ms=3, color=color, label=label)
    axes[0].set(title="one subspace: residuals of its samples", xlabel="update of this subspace", ylabel="residual")
    axes[0].legend(frameon=False, loc="center left")
    for k in range(K):
        axes[1].semilogy(residual[(cluster == k) & inlier], lw=0.7, alpha=0.8)
    axes[1].set(title=f"all {K} subspaces, without the outliers", xlabel="inlier of this subspace", ylabel="residual")
    angles = np.array([[subspace_angle(U, V) for V in problem.bases] for U in model.subspaces_])
    angles = angles[np.argsort(angles.argmin(axis=1), kind="stable")]  # in the order of the true subspaces
    image = axes[2].imshow(np.log10(np.maximum(angles, 1e-16)), cmap="gray")
    axes[2].set(
        title="angles between recovered and true subspaces", xlabel="true subspace", ylabel="recovered subspace"
    )
    axes[2].set(xticks=range(0, K, 5), yticks=range(0, K, 5))
    figure.colorbar(image, ax=axes[2], label="log10 of the angle [rad]")
    return figure, angles


def main() -> None:
    """Run the experiment and save the plots."""
    problem = make_union_of_subspaces(2000, 100, D, K, outlier_fraction=0.5, observed_fraction=0.7, random_state=0)
    model, log = stream(problem)
    figure, angles = draw(problem, model, log)
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "union_of_subspaces.png")
    figure.savefig(path, dpi=110)
    nearest = angles.min(axis=1)
    print(f"{len(log)} updates: worst angle {nearest.max():.1e}, median {np.median(nearest):.1e}; wrote {path}")


if __name__ == "__main__":
    main()
