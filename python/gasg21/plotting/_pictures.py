"""Plots that show the samples themselves: as images, and as points on the sphere."""

from __future__ import annotations

from typing import Any

import numpy as np

from gasg21._support.arrays import Array
from gasg21.exceptions import InvalidInputError
from gasg21.plotting._style import CLUSTERS, GREEN, GREY, INLIER, OUTLIER, SKY, check_model, counted, is_union, new_axes

_GAP = 0.04  # between images, as a share of their width


def images(
    model: Any, X: Any, shape: tuple[int, int], *, rows: Any = None, n_images: int = 5, mask: Any = None, ax: Any = None
) -> Any:
    """Show samples as images: the original, the background (its part in the subspace) and the foreground (the rest).

    Parameters
    ----------
    model : GASG21, GROUSE, GRASTA or KGASG21
        A fitted model.
    X : array-like of shape (n_samples, height * width)
        Images, one per row, pixel after pixel.
    shape : (int, int)
        Height and width of an image.
    rows : sequence of int, optional
        The samples to show; by default some at equal distances.
    n_images : int
        How many, if `rows` is not given.
    mask : bool array of the shape of X, optional
        True = observed. Missing pixels of the original are light blue.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    ax : matplotlib Axes
        All images are one picture, ``ax.images[0]``. Original and background have the same grey values. The foreground
        is the absolute difference, white where it is largest.

    Examples
    --------
    >>> import numpy as np
    >>> from gasg21 import GASG21, plotting
    >>> rng = np.random.default_rng(0)
    >>> frames = np.outer(rng.exponential(size=60), rng.random(12 * 16))  # light that changes
    >>> for t in range(60):
    ...     frames[t].reshape(12, 16)[4:6, t % 12 : t % 12 + 3] += 1  # something that moves
    >>> ax = plotting.images(GASG21(1, random_state=0).fit(frames), frames, (12, 16))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['original', 'background', 'foreground']
    """
    check_model(model, "images", "complete")
    X = _checked_images(model, X, shape, mask)
    chosen = _chosen_rows(rows, n_images, len(X))
    original = X[chosen]
    background = _in_subspace(model, original)
    foreground = np.abs(np.nan_to_num(original - background))
    low, high = np.nanpercentile(np.stack([original, background]), [0.5, 99.5])
    parts = [_scaled(original, low, high), _scaled(background, low, high), _scaled(foreground, 0, foreground.max())]
    gap = max(1, round(_GAP * shape[1]))
    picture = np.vstack([_side_by_side(part.reshape(-1, *shape), gap) for part in parts])
    return _show(picture, shape, gap, chosen, ax)


def sphere(model: Any, X: Any, *, mask: Any = None, ax: Any = None) -> Any:
    """Show the samples on the unit sphere. A plane is a great circle there, a line two points.

    With three features this is the picture of the paper. With more, the sphere shows three directions: the two
    strongest of the subspace (one, if it has only one) and those in which the residuals vary most. The subspace is
    the circle, and samples are as far from it as their residuals are large.

    Parameters
    ----------
    model : GASG21, GROUSE, GRASTA, or KGASG21 of three features
        A fitted model.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Samples. ``mean_`` is subtracted.
    mask : bool array of the shape of X, optional
        True = observed. Missing entries are filled in first.
    ax : matplotlib Axes3D, optional
        Where to draw; by default a new figure.

    Returns
    -------
    ax : matplotlib Axes3D

    Examples
    --------
    >>> from gasg21 import GASG21, plotting
    >>> from gasg21.datasets import make_low_rank
    >>> X = make_low_rank(300, 3, 2, outlier_fraction=0.25, noise=0.02, random_state=0).data
    >>> ax = plotting.sphere(GASG21(2, random_state=0).fit(X), X)
    >>> ax.name
    '3d'
    """
    check_model(model, "sphere", "complete")
    ax = new_axes(ax, (5.2, 5.2), projection="3d")
    if getattr(ax, "name", "") != "3d":
        msg = "sphere needs 3-d axes: figure.add_subplot(projection='3d')"
        raise InvalidInputError(msg)
    u, v = np.mgrid[0 : 2 * np.pi : 40j, 0 : np.pi : 20j]
    ball = (np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v))
    ax.plot_surface(*ball, color="#E5E5E5", alpha=0.25, linewidth=0)
    (_draw_union if is_union(model) else _draw_one)(ax, model, X, mask)
    ax.set_box_aspect((1, 1, 1), zoom=1.25)
    ax.set_axis_off()
    ax.legend(frameon=False, loc="lower center", ncols=3, fontsize="small", columnspacing=1.2, handletextpad=0.4)
    return ax


# ---- images


def _checked_images(model: Any, X: Any, shape: tuple[int, int], mask: Any) -> Array:
    X = np.asarray(X, float)
    if X.ndim != 2 or len(shape) != 2 or X.shape[1] != shape[0] * shape[1] or X.shape[1] != model.n_features_in_:
        msg = (
            f"shape={shape!r} must be (height, width) with height * width = n_features = {model.n_features_in_}, and "
            f"X, shape {X.shape}, must have one image per row: X.reshape(len(X), -1)"
        )
        raise InvalidInputError(msg)
    return X if mask is None else np.where(mask, X, np.nan)


def _chosen_rows(rows: Any, n_images: int, n_samples: int) -> Array:
    if rows is None:
        return np.unique(np.linspace(0, n_samples - 1, max(1, n_images)).astype(int))
    chosen = np.atleast_1d(np.asarray(rows))
    if chosen.dtype.kind not in "iu" or chosen.ndim != 1 or not len(chosen) or np.abs(chosen).max() >= n_samples:
        msg = f"rows={rows!r} must be numbers of samples, each less than n_samples = {n_samples}"
        raise InvalidInputError(msg)
    return chosen % n_samples


def _in_subspace(model: Any, X: Array) -> Array:
    """Return the part of each sample that its (nearest) subspace explains."""
    if not is_union(model):
        return np.asarray(model.inverse_transform(model.transform(X)))
    completed, out = np.asarray(model.complete(X)), np.empty_like(X)
    nearest = np.nanargmin(np.nan_to_num(np.asarray(model.transform(X)), nan=np.inf), axis=1)
    for k, (basis, mean) in enumerate(zip(model.subspaces_, model.means_, strict=True)):
        own = nearest == k
        out[own] = (completed[own] - mean) @ basis.T @ basis + mean
    return out


def _scaled(values: Array, low: float, high: float) -> Array:
    return np.clip((values - low) / (high - low if high > low else 1.0), 0, 1)


def _side_by_side(pictures: Array, gap: int) -> Array:
    """Return images in a row, with white gaps around them."""
    padded = np.pad(pictures, ((0, 0), (gap, gap), (gap, gap)), constant_values=1.0)
    return np.hstack(list(padded))


def _show(picture: Array, shape: tuple[int, int], gap: int, chosen: Array, ax: Any) -> Any:
    height, width = shape[0] + 2 * gap, shape[1] + 2 * gap
    scale = 7.0 / max(picture.shape)
    ax = new_axes(ax, (max(3.2, scale * picture.shape[1] + 1.1), max(2.4, scale * picture.shape[0] + 0.6)))
    import matplotlib

    ax.imshow(picture, cmap=matplotlib.colormaps["gray"].with_extremes(bad=SKY), vmin=0, vmax=1)
    ax.set_xticks(width * (np.arange(len(chosen)) + 0.5) - 0.5, [str(row) for row in chosen])
    ax.set_yticks(height * (np.arange(3) + 0.5) - 0.5, ["original", "background", "foreground"])
    ax.set_xlabel("sample")
    ax.tick_params(length=0)
    for side in ax.spines.values():
        side.set_visible(False)
    return ax


# ---- the sphere


def _unit(X: Array) -> Array:
    length = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(length > 0, length, 1)


def _draw_one(ax: Any, model: Any, X: Any, mask: Any) -> None:
    components = np.asarray(model.components_, float)
    completed = np.asarray(model.complete(X, mask=mask), float) - getattr(model, "mean_", 0.0)
    inlier = model.decision_function(X, mask=mask) >= 0
    known = ~np.isnan(completed).any(axis=1) & completed.any(axis=1)
    samples, inlier = _unit(completed[known]), inlier[known]
    axes = components[: min(2, len(components))]
    rest = samples - samples @ components.T @ components
    outside = np.linalg.svd(rest, full_matrices=False)[2][: 3 - len(axes)]
    if len(outside) + len(axes) < 3:
        msg = f"sphere needs at least 3 features; the model has {model.n_features_in_}"
        raise InvalidInputError(msg)
    points = _unit(samples @ np.vstack([axes, outside]).T)
    for chosen, name, marker, color in ((inlier, "inliers", "o", INLIER), (~inlier, "outliers", "x", OUTLIER)):
        _scatter(ax, points[chosen], name, marker, color)
    _draw_subspace(ax, np.eye(3)[: len(axes)], GREEN, "subspace")


def _draw_union(ax: Any, model: Any, X: Any, mask: Any) -> None:
    if model.n_features_in_ != 3 or np.any(model.means_):
        msg = f"sphere shows subspaces through the origin of 3 features; the model has {model.n_features_in_} features"
        raise InvalidInputError(msg + (" and center=True" if np.any(model.means_) else ""))
    completed, labels = np.asarray(model.complete(X, mask=mask), float), model.predict(X, mask=mask)
    known = ~np.isnan(completed).any(axis=1) & completed.any(axis=1)
    points, labels = _unit(completed[known]), labels[known]
    for k, basis in enumerate(model.subspaces_):
        color = CLUSTERS[k % len(CLUSTERS)]
        _scatter(ax, points[labels == k], f"cluster {k}", "o^sDv"[k % 5], color)
        _draw_subspace(ax, np.asarray(basis, float), color, None)
    if np.any(labels == -1):
        _scatter(ax, points[labels == -1], "outliers", "x", GREY)


def _scatter(ax: Any, points: Array, name: str, marker: str, color: str) -> None:
    label = counted(len(points), name)
    ax.scatter(*points.T, s=14, marker=marker, color=color, label=label, depthshade=False, linewidths=0.8)


def _draw_subspace(ax: Any, basis: Array, color: str, label: str | None) -> None:
    """Draw a plane as a circle, a line as a diameter."""
    if len(basis) == 1:
        ends = np.vstack([-1.15 * basis[0], 1.15 * basis[0]])
        ax.plot(*ends.T, color=color, lw=2.2, label=label)
        return
    t = np.linspace(0, 2 * np.pi, 200)
    circle = np.column_stack([np.cos(t), np.sin(t)]) @ basis[:2]
    ax.plot(*circle.T, color=color, lw=2.2, label=label)
