"""Plots of a union of subspaces: how well the clusters hold together, and how far they are apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from gasg21._support.arrays import Array
from gasg21.exceptions import InvalidInputError
from gasg21.plotting._style import GREY, INLIER, check_model, new_axes

_MOST_WRITTEN = 12  # clusters up to which the numbers are written into the matrix
_SMALLEST = 1e-17  # shown for 0 on a logarithmic axis


def subspaces(model: Any, X: Any, *, mask: Any = None, ax: Any = None) -> Any:
    """Plot the residuals of the samples of each cluster: in its own subspace, and in the nearest other one.

    Where the two boxes of a cluster overlap, its samples cannot be told from the samples of another cluster.

    Parameters
    ----------
    model : KGASG21
        A fitted model.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Samples.
    mask : bool array of the shape of X, optional
        True = observed.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    ax : matplotlib Axes
        One place per cluster; with ``reject_outliers=True`` one more for the outliers. The boxes hold the middle half
        of the samples, the whiskers 90 % of them.

    Examples
    --------
    >>> from gasg21 import KGASG21, plotting
    >>> from gasg21.datasets import make_union_of_subspaces
    >>> X = make_union_of_subspaces(400, 30, 2, 3, noise=0.02, random_state=0).data
    >>> ax = plotting.subspaces(KGASG21(3, 2, random_state=0).fit(X), X)
    >>> ax.get_ylabel()
    'residual of the unit-norm sample'
    """
    check_model(model, "subspaces", "subspaces_")
    sorted_residuals = np.sort(np.maximum(np.asarray(model.transform(X, mask=mask)), _SMALLEST), axis=1)
    labels = model.predict(X, mask=mask)
    known = ~np.isnan(sorted_residuals).any(axis=1)
    names = [*range(model.n_clusters_), *([-1] if np.any(labels[known] == -1) else [])]
    groups = [sorted_residuals[known & (labels == k)] for k in names]
    ax = new_axes(ax, (max(4.8, 1.6 + 0.8 * len(names)), 4.2))
    _draw_boxes(ax, [group[:, 0] for group in groups], -0.17, INLIER, "", "own subspace")
    if model.n_clusters_ > 1:
        _draw_boxes(ax, [group[:, 1] for group in groups], 0.17, GREY, "///", "nearest other one")
    titles = [("outliers" if k < 0 else f"{k}") + f"\n({len(group)})" for k, group in zip(names, groups, strict=True)]
    ax.set_xticks(range(len(names)), titles)
    ax.set(yscale="log", xlabel="cluster (samples)", ylabel="residual of the unit-norm sample")
    ax.set_xlim(-0.6, len(names) - 0.4)
    ax.legend(fontsize="small", ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
    return ax


def affinity(model: Any, *, ax: Any = None) -> Any:
    """Plot how near the subspaces are to each other: 1 means that one lies in the other, 0 that they are orthogonal.

    The affinity of two subspaces is the root mean square of the cosines of their principal angles. Clusters whose
    affinity is near 1 are hard to tell apart.

    Parameters
    ----------
    model : KGASG21
        A fitted model.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    ax : matplotlib Axes
        The image is ``ax.images[0]``.

    References
    ----------
    M. Soltanolkotabi and E. Candès, "A geometric analysis of subspace clustering with outliers", Annals of Statistics
    40 (2012).

    Examples
    --------
    >>> from gasg21 import KGASG21, plotting
    >>> from gasg21.datasets import make_union_of_subspaces
    >>> X = make_union_of_subspaces(400, 30, 2, 3, noise=0.02, random_state=0).data
    >>> ax = plotting.affinity(KGASG21(3, 2, random_state=0).fit(X))
    >>> ax.images[0].get_array().shape
    (3, 3)
    """
    check_model(model, "affinity", "subspaces_")
    bases = model.subspaces_
    if not bases:
        msg = "affinity needs a model with at least one subspace"
        raise InvalidInputError(msg)
    matrix = np.array([[_affinity(A, B) for B in bases] for A in bases])
    ax = new_axes(ax, (5.0, 4.2))
    image = ax.imshow(matrix, cmap="cividis", vmin=0, vmax=1)
    if len(bases) <= _MOST_WRITTEN:
        for (i, j), value in np.ndenumerate(matrix):
            ax.text(j, i, f"{value:.2f}", ha="center", va="center", color="black" if value > 0.5 else "white")
    ax.set(xlabel="cluster", ylabel="cluster")
    if len(bases) <= 2 * _MOST_WRITTEN:
        ax.set_xticks(range(len(bases)))
        ax.set_yticks(range(len(bases)))
    ax.figure.colorbar(image, ax=ax, label="affinity of the subspaces")
    return ax


def _affinity(A: Array, B: Array) -> float:
    return float(min(np.linalg.norm(A @ B.T) / np.sqrt(min(len(A), len(B))), 1.0))


def _draw_boxes(ax: Any, groups: list[Array], shift: float, color: str, hatch: str, label: str) -> None:
    places = [i + shift for i, values in enumerate(groups) if len(values)]
    filled = [values for values in groups if len(values)]
    if not filled:
        return
    drawn = ax.boxplot(
        filled,
        positions=places,
        widths=0.28,
        whis=(5, 95),
        showfliers=False,
        patch_artist=True,
        medianprops={"color": "black"},
        manage_ticks=False,
    )
    for box in drawn["boxes"]:
        box.set(facecolor=color, alpha=0.8, hatch=hatch)
    drawn["boxes"][0].set_label(label)
