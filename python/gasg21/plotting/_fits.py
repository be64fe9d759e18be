"""Plots of one fitted subspace: how many dimensions, how far the samples are, and how the fit went."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaincinv

from gasg21._support.arrays import Array
from gasg21.exceptions import InvalidInputError
from gasg21.plotting._style import (
    BLACK,
    GREEN,
    GREY,
    INLIER,
    ORANGE,
    OUTLIER,
    check_model,
    counted,
    is_union,
    legend,
    log_bins,
    new_axes,
)

_MOST_ROWS = 2000  # that the directions outside the subspace are computed from
_SMALLEST = 1e-17  # shown for 0 on a logarithmic axis


def scree(model: Any, X: Any = None, *, more: int = 5, ax: Any = None) -> Any:
    """Plot the variance of the inliers along each principal axis, and the noise floor.

    Parameters
    ----------
    model : GASG21, GROUSE or GRASTA
        A fitted model.
    X : array-like or sparse matrix of shape (n_samples, n_features), optional
        Samples. With them the plot goes on beyond the subspace: the variances of the inliers' residuals along the
        directions in which these vary most. A point well above the noise floor is a dimension that was left out.
    more : int
        Number of these directions.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from gasg21 import GASG21, plotting
    >>> from gasg21.datasets import make_low_rank
    >>> X = make_low_rank(500, 40, 4, outlier_fraction=0.2, noise=0.05, random_state=0).data
    >>> ax = plotting.scree(GASG21(4, random_state=0).fit(X), X)
    >>> ax.get_ylabel()
    'variance of the inliers'
    """
    check_model(model, "scree", "explained_variance_", "noise_variance_")
    variance, noise = np.maximum(model.explained_variance_, np.finfo(float).tiny), model.noise_variance_
    number = np.arange(1, len(variance) + 1)
    ax = new_axes(ax)
    share = float(np.sum(model.explained_variance_ratio_))
    ax.semilogy(number, variance, "o-", color=INLIER, label=f"components_ ({_percent(share)} of the variance)")
    last = len(variance)
    if X is not None and more > 0:
        rest = _outside(model, X, more)
        last += len(rest)
        ax.semilogy(np.arange(len(variance) + 1, last + 1), rest, "s--", color=ORANGE, label="outside the subspace")
    if noise > 0:
        ax.axhline(noise, color=GREY, ls=":", lw=1.6, label="noise floor (noise_variance_)")
    ax.set(xlabel="principal axis", ylabel="variance of the inliers", xlim=(0.5, last + 0.5))
    ax.xaxis.get_major_locator().set_params(integer=True)
    legend(ax)
    return ax


def residuals(model: Any, X: Any, *, mask: Any = None, ax: Any = None) -> Any:
    """Plot how far the samples are from the subspace, and where the model draws the line.

    The axis shows the quantity that decides: with ``contamination="auto"`` the distance from the subspace in units of
    the noise (the second column of ``model.distances(X)``), and where ``offset_`` decides the residual of the
    unit-norm sample (minus ``model.score_samples(X)``).

    Parameters
    ----------
    model : GASG21, GROUSE, GRASTA or a baseline of one subspace
        A fitted model.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Samples. Those that say nothing (all zero, too few entries observed) are not shown.
    mask : bool array of the shape of X, optional
        True = observed.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    ax : matplotlib Axes
        The dashed line separates inliers and outliers. If other things than this distance decide about some samples
        (their direction, or the other distance), the label says about how many.

    Examples
    --------
    >>> from gasg21 import GASG21, plotting
    >>> from gasg21.datasets import make_low_rank
    >>> X = make_low_rank(500, 40, 4, outlier_fraction=0.2, noise=0.05, random_state=0).data
    >>> ax = plotting.residuals(GASG21(4, random_state=0).fit(X), X)
    >>> ax.get_xlabel()
    'distance from the subspace, in units of the noise'
    """
    check_model(model, "residuals", "decision_function", "score_samples")
    distance, inlier, cut = _decided(model, X, mask)
    if not len(distance):
        msg = "residuals: no sample of X says anything (all are zero, or have too few observed entries)"
        raise InvalidInputError(msg)
    ax = new_axes(ax)
    bins = log_bins(distance)
    for chosen, name, color, hatch in ((inlier, "inliers", INLIER, ""), (~inlier, "outliers", OUTLIER, "///")):
        label = counted(int(chosen.sum()), name)
        ax.hist(distance[chosen], bins, color=color, alpha=0.8, hatch=hatch, edgecolor="white", lw=0.3, label=label)
    if cut is not None:
        wrong = int(np.sum((distance > cut) == inlier))
        other = f" ({wrong} decided otherwise)" if wrong else ""
        ax.axvline(cut, color=BLACK, ls="--", lw=1.4, label=f"decision{other}")
    ax.set(xscale="log", xlabel=_name_of_distance(model), ylabel="samples")
    legend(ax)
    return ax


def outlier_map(model: Any, X: Any, *, mask: Any = None, quantile: float = 0.975, ax: Any = None) -> Any:
    """Plot the distance of each sample to the subspace against its distance within it.

    This is the outlier map of robust PCA. Four kinds of samples have four places: regular ones at the lower left, far
    out within the subspace at the lower right ("good leverage"), off it at the upper left, and off it and far out at
    the upper right ("bad leverage").

    Parameters
    ----------
    model : GASG21, GROUSE or GRASTA
        A fitted model.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Samples. Those that say nothing are not shown.
    mask : bool array of the shape of X, optional
        True = observed.
    quantile : float in (0, 1)
        Share of normally distributed inliers to the left of the vertical cut.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    ax : matplotlib Axes
        The horizontal line is the decision of ``model.predict``, the vertical one the quantile of the chi-squared law.

    References
    ----------
    M. Hubert, P. Rousseeuw and K. Vanden Branden, "ROBPCA: a new approach to robust principal component analysis",
    Technometrics 47 (2005).

    Examples
    --------
    >>> from gasg21 import GASG21, plotting
    >>> from gasg21.datasets import make_low_rank
    >>> X = make_low_rank(500, 40, 4, outlier_fraction=0.2, noise=0.05, random_state=0).data
    >>> ax = plotting.outlier_map(GASG21(4, random_state=0).fit(X), X)
    >>> ax.get_xlabel()
    'distance within the subspace'
    """
    check_model(model, "outlier_map", "distances")
    if not 0 < quantile < 1:
        msg = f"quantile={quantile!r} must be a number in (0, 1)"
        raise InvalidInputError(msg)
    distances, inlier = np.asarray(model.distances(X, mask=mask)), model.decision_function(X, mask=mask) >= 0
    known = ~np.isnan(distances).any(axis=1)
    (within, to), inlier = np.maximum(distances[known], _SMALLEST).T, inlier[known]
    d = model.n_components_
    edge = float(np.sqrt(2 * gammaincinv(d / 2, quantile) / d))  # of the chi-squared law
    ax = new_axes(ax)
    far = within > edge
    kinds = (
        (inlier & ~far, "regular", ".", GREY),
        (inlier & far, "good leverage", "^", GREEN),
        (~inlier & ~far, "off the subspace", "x", OUTLIER),
        (~inlier & far, "bad leverage", "s", ORANGE),
    )
    for chosen, name, marker, color in kinds:
        ax.loglog(within[chosen], to[chosen], marker, ms=4.5, color=color, label=counted(int(chosen.sum()), name))
    cut = _stump(to, inlier)
    if cut is not None:
        ax.axhline(cut, color=BLACK, ls="--", lw=1.2, label="decision")
    ax.axvline(edge, color=BLACK, ls=":", lw=1.2, label=f"{100 * quantile:g} % of inliers")
    ax.set(xlabel="distance within the subspace", ylabel="distance to the subspace")
    legend(ax, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return ax


def convergence(model: Any, *, ax: Any = None) -> Any:
    """Plot how far each pass of the last `fit` moved the subspace, from ``history_``.

    Parameters
    ----------
    model : GASG21, GROUSE, GRASTA or KGASG21
        A model that was fitted by `fit`.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    ax : matplotlib Axes
        The passes of the stream and of the polish have different markers. The polish also estimates its error: when it
        moves by less than a tenth of this, or by less than `tol`, the fit ends. Of several subspaces the one that moves
        most is shown.

    Examples
    --------
    >>> from gasg21 import GASG21, plotting
    >>> from gasg21.datasets import make_low_rank
    >>> X = make_low_rank(500, 40, 4, outlier_fraction=0.2, noise=0.05, random_state=0).data
    >>> ax = plotting.convergence(GASG21(4, random_state=0).fit(X))
    >>> ax.get_ylabel()
    'angle [rad]'
    """
    check_model(model, "convergence", "history_")
    history = model.history_
    ax = new_axes(ax)
    what = "largest move of a subspace" if is_union(model) else "move of the subspace"
    styles = {"stream": ("o-", ORANGE, f"stream: {what}"), "polish": ("s-", INLIER, f"polish: {what}")}
    for stage, (style, color, label) in styles.items():
        records = [record for record in history if record["stage"] == stage]
        if records:
            moved = [max(float(np.max(record["moved"])), _SMALLEST) for record in records]
            ax.semilogy([record["pass"] for record in records], moved, style, color=color, label=label)
    known = [record for record in history if "estimated_angle" in record]
    if known:
        error = [max(float(np.max(record["estimated_angle"])), _SMALLEST) for record in known]
        ax.semilogy([record["pass"] for record in known], error, "--", color=GREEN, label="estimated error")
    if getattr(model, "tol", 0) > 0:
        ax.axhline(model.tol, color=GREY, ls=":", lw=1.6, label=f"tol = {model.tol:g}")
    ax.set(xlabel="pass", ylabel="angle [rad]", title=f"{len(history)} passes: {model._fit_report().status}")
    ax.xaxis.get_major_locator().set_params(integer=True)
    legend(ax)
    return ax


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share < 0.9995 else "> 99.9 %"


def _outside(model: Any, X: Any, more: int) -> Array:
    """Return the largest variances of the inliers' residuals."""
    rows = np.arange(X.shape[0]) if hasattr(X, "shape") else np.arange(len(X))
    if len(rows) > _MOST_ROWS:
        rows = np.linspace(0, len(rows) - 1, _MOST_ROWS).astype(int)
    some = _rows(X, rows)
    residual = _dense(some) - np.asarray(model.inverse_transform(model.transform(some)))
    residual = residual[(model.decision_function(some) >= 0) & ~np.isnan(residual).all(axis=1)]
    observed = float(np.mean(~np.isnan(residual))) if residual.size else 1.0
    singular = np.linalg.svd(np.nan_to_num(residual), compute_uv=False)
    variance = singular**2 / max(len(residual) - 1, 1) / observed
    n_outside = model.n_features_in_ - model.n_components_
    return np.asarray(np.maximum(variance[: min(more, n_outside)], np.finfo(float).tiny))


def _rows(X: Any, rows: Array) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows] if hasattr(X, "shape") else np.asarray(X)[rows]


def _dense(X: Any) -> Array:
    """Return data as an array with NaN for what is missing."""
    if not hasattr(X, "indptr"):
        return np.asarray(X, float)
    out = np.full(X.shape, np.nan)
    entries = X.tocoo()
    out[entries.row, entries.col] = entries.data
    return out


def _offset(model: Any) -> float:
    return float(getattr(model, "offset_", np.nan))


def _name_of_distance(model: Any) -> str:
    if np.isnan(_offset(model)):
        return "distance from the subspace, in units of the noise"
    return "residual of the unit-norm sample"


def _decided(model: Any, X: Any, mask: Any) -> tuple[Array, Array, float | None]:
    """Return the distances of samples, which are inliers, and the distance at which the decision falls."""
    margin = model.decision_function(X, mask=mask)
    offset = _offset(model)
    distance = (
        np.asarray(model.distances(X, mask=mask))[:, 1] if np.isnan(offset) else -model.score_samples(X, mask=mask)
    )
    known = ~np.isnan(margin) & ~np.isnan(distance)
    distance, inlier = np.maximum(distance[known], _SMALLEST), margin[known] >= 0
    return distance, inlier, _stump(distance, inlier) if np.isnan(offset) else -offset


def _stump(distance: Array, inlier: Array) -> float | None:
    """Return the distance that best separates inliers from outliers; None if there is only one kind."""
    if inlier.all() or not inlier.any():
        return None
    order = np.argsort(distance)
    distance, inlier = distance[order], inlier[order]
    wrong = np.cumsum(~inlier) + (inlier.sum() - np.cumsum(inlier))  # with a cut behind this sample
    last = int(np.argmin(wrong[:-1]))
    return float(np.sqrt(distance[last] * distance[last + 1]))
