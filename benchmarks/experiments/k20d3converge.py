"""Convergence of K = 20 subspaces among 50 % outliers: residuals along the updates, and the angles at the end.

The paper: a 100 x 2000 matrix with 20 subspaces of dimension 3, 50 inliers each, 1000 outliers, 70 % of the entries
observed, Q = 10 K candidates, 20 x 2000 updates. (a) shows the residual of each vector that was assigned to one subspace,
(b) the residuals of the inliers for all subspaces, (c) the angles between recovered and true subspaces. Paper mode is the
algorithm of the paper. Scaled is the stream of our defaults, with 3 K candidates in dense regions of the samples; its step
has a lower bound, so that it can follow a change, and this bound keeps the residuals at 1e-11. `fit` with defaults makes
three such passes and then polishes: its angles are in the table.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from benchmarks.experiments import _union as union
from benchmarks.experiments._judge import judge
from benchmarks.framework.angles import all_angles, matched_angles
from benchmarks.framework.experiment import Claim, Context, Table
from gasg21 import KGASG21

LABELS = ("fig:k20d3converge",)
TITLE = "Convergence of K = 20 subspaces"
DATA: tuple[str, ...] = ()
SEEDS = 5
PASSES, SHOWN, POINTS = 20, 0, 200
MODES: dict[str, dict[str, Any]] = {
    "paper mode": {"init": "farthest", "metric": "canonical", "n_candidates": 200},
    "scaled": {},
}
SETTINGS = {
    "problem": union.SETTINGS["problem"] + ", 50 % outliers",
    "ours, paper mode": f"init='farthest', n_candidates=200, metric='canonical', 20 passes of partial_fit; {union.FIRST_STEP}",
    "ours, scaled": "defaults, 20 passes of partial_fit",
    "shown": "the first seed; residuals thinned to 200 a curve",
}
STRAIGHT = 0.9  # least R^2 of a straight line through the log residuals
DARK = 1e-4  # below this angle a cell of the figure is dark


def run(context: Context) -> dict[str, Any]:
    """Return log residuals and angles of the first seed, and straightness and angles of all seeds."""
    results: dict[str, Any] = {"seeds": context.seeds}
    for mode, parameters in MODES.items():
        runs = []
        for s in range(context.seeds):
            context.say(f"{mode}, seed {s}")
            p = union.problem(0.5, context.seed(s))
            model, log = stream(p, s, parameters)
            runs.append(describe(p, model, log))
            if s == 0:
                results[mode] = picture(p, model, log)
        results[mode] |= {name: [run[name] for run in runs] for name in runs[0]}
    p = union.problem(0.5, context.seed(0))
    fitted = union.fit(p, 3, 0, scaled=True)
    results["fit with defaults"] = matched_angles(fitted.subspaces_, p.bases).tolist()
    return results


def stream(p: Any, seed: int, parameters: dict[str, Any]) -> tuple[KGASG21, Any]:
    """Stream the samples in random orders; return the model, and sample, cluster and residual of each update."""
    rng = np.random.default_rng(seed)
    model = KGASG21(union.K, union.D, random_state=seed, **parameters)
    log = []
    with threadpool_limits(1):
        for _ in range(PASSES):
            order = rng.permutation(len(p.data))
            model.partial_fit(p.data[order])
            log.append(np.column_stack([order, model.labels_, model.residuals_]))
    return model, np.concatenate(log)


def inlier_residuals(p: Any, log: Any, k: int) -> Any:
    """Return the residuals of the inliers assigned to a subspace, in order, at least 1e-17 for the logarithm."""
    taken = log[(log[:, 1] == k) & (p.labels[log[:, 0].astype(int)] >= 0), 2]
    return np.maximum(taken, 1e-17)


def describe(p: Any, model: KGASG21, log: Any) -> dict[str, Any]:
    """Return straightness and slope of the log residuals of each subspace, and the final angles."""
    lines = [straightness(inlier_residuals(p, log, k)) for k in range(union.K)]
    return {
        "straightness": [round(r, 4) for r, _ in lines],
        "decades a pass": [round(slope, 4) for _, slope in lines],
        "angles": matched_angles(model.subspaces_, p.bases).tolist(),
    }


def straightness(residuals: Any) -> tuple[float, float]:
    """Return the R^2 of a straight line through the binned log residuals, and its decades per pass.

    The line ends one decade above the final residuals, because the step of a stream has a lower bound.
    """
    if len(residuals) < 200:
        return 0.0, 0.0
    below = np.flatnonzero(residuals < 10 * np.median(residuals[-len(residuals) // 10 :]))
    logs = np.log10(residuals[: below[0]])
    if len(logs) < 20:
        return 0.0, 0.0
    bins = np.array([np.median(part) for part in np.array_split(logs, 20)])
    where = (np.arange(20) + 0.5) * len(logs) / 20
    slope, intercept = np.polyfit(where, bins, 1)
    spread = np.sum((bins - bins.mean()) ** 2)
    explained = 1 - np.sum((bins - slope * where - intercept) ** 2) / spread if spread > 0 else 0.0
    return float(explained) if slope < 0 else 0.0, float(-slope * union.MEMBERS)


def picture(p: Any, model: KGASG21, log: Any) -> dict[str, Any]:
    """Return the data of the three panels."""
    own = log[log[:, 1] == SHOWN]
    thin = np.unique(np.linspace(0, len(own) - 1, 2 * POINTS).astype(int))
    curves = []
    for k in range(union.K):
        residuals = inlier_residuals(p, log, k)
        at = np.unique(np.linspace(0, len(residuals) - 1, POINTS).astype(int)) if len(residuals) else []
        curves.append([[int(i), round(float(np.log10(residuals[i])), 2)] for i in at])
    return {
        "one": [
            [int(i), round(float(np.log10(max(own[i, 2], 1e-17))), 2), int(p.labels[int(own[i, 0])] >= 0)] for i in thin
        ],
        "inliers": curves,
        "all angles": np.round(np.log10(np.maximum(all_angles(model.subspaces_, p.bases), 1e-17)), 2).tolist(),
    }


def claims(results: dict[str, Any]) -> list[Claim]:
    """Judge the convergence."""
    judged = []
    for mode in MODES:
        found = results[mode]
        straight = np.array(found["straightness"])
        angles = np.array(found["angles"])
        ends = [value for _, value, inlier in found["one"][-POINTS // 2 :] if inlier]
        starts = [value for _, value, inlier in found["one"][: POINTS // 4] if inlier]
        fall = float(np.median(starts) - np.median(ends)) if starts and ends else 0.0
        judged += [
            judge(
                f"(a) The convergent trend is clear despite outliers ({mode}): the residuals of the inliers of the subspace shown fall by more than 3 decades.",
                "a figure, whose image was not available",
                f"by {fall:.1f} decades from the first eighth of its updates to the last quarter",
                fall > 3,
            ),
            judge(
                f"(b) All subspaces enjoy linear rate of convergence ({mode}): a straight line explains at least {STRAIGHT:.0%} of each curve's "
                "log residuals, down to one decade above its end.",
                "all 20",
                f"{(straight >= STRAIGHT).sum(axis=1).mean():.1f} of 20 in a run, mean of {len(straight)} runs; "
                f"{np.median(found['decades a pass']):.2f} decades per pass in the median",
                bool((straight >= STRAIGHT).all()),
                "The step is halved from level to level, and a subspace that starts from a poor candidate makes no progress at first.",
            ),
            judge(
                f"(c) The recovered subspaces approximate the ground truth with high precision ({mode}): all angles below {DARK:g}.",
                "table over Q, Q = 10 K: average worst angle 1.95e-7, median 6.36e-9",
                f"worst {union.power(angles.max(axis=1).mean())}, median {union.power(np.median(angles, axis=1).mean())}, "
                f"averages of {len(angles)} runs; largest {union.power(angles.max())}",
                bool((angles <= DARK).all()),
                "A cluster without a candidate is lost.",
            ),
        ]
    return judged


def figures(results: dict[str, Any]) -> dict[str, Any]:
    """Draw the paper's three panels, a row for each mode."""
    figure = Figure(figsize=(10, 6.4), layout="constrained")
    axes = figure.subplots(2, 3)
    for row, mode in zip(axes, MODES, strict=True):
        draw_one(row[0], results[mode], mode)
        draw_inliers(row[1], results[mode], mode)
        image = draw_angles(row[2], results[mode], mode)
        figure.colorbar(image, ax=row[2], label="log10 of the angle")
    return {"k20d3converge": figure}


def draw_one(ax: Any, found: dict[str, Any], mode: str) -> None:
    """Draw the residuals of all vectors assigned to one subspace."""
    points = np.array(found["one"])
    for inlier, color, marker, name in ((1, "#2471a3", "o", "inliers"), (0, "black", "x", "outliers")):
        part = points[points[:, 2] == inlier]
        ax.semilogy(part[:, 0], 10.0 ** part[:, 1], marker, ms=3, color=color, label=name)
    ax.set(title=f"(a) one subspace, {mode}", xlabel="update of this subspace", ylabel="residual")
    ax.legend(frameon=False, loc="lower left", markerscale=1.5)


def draw_inliers(ax: Any, found: dict[str, Any], mode: str) -> None:
    """Draw the residuals of the inliers assigned to each subspace."""
    for k, curve in enumerate(found["inliers"]):
        if curve:
            at, logs = np.array(curve).T
            shade = 0.1 + 0.7 * k / union.K
            ax.semilogy(at, 10.0**logs, lw=0.6, color=(shade, shade, 0.75))
    ax.set(title=f"(b) inliers of all 20, {mode}", xlabel="inlier of this subspace", ylabel="residual")


def draw_angles(ax: Any, found: dict[str, Any], mode: str) -> Any:
    """Draw the angles, with the subspaces found in the order of the true ones."""
    angles = np.array(found["all angles"])
    angles = angles[np.argsort(angles.argmin(axis=1), kind="stable")]
    image = ax.imshow(angles, cmap="gray", vmin=-10, vmax=0.2)
    ax.set(title=f"(c) angles, {mode}", xlabel="true subspace", ylabel="recovered subspace")
    ax.set(xticks=range(0, union.K, 5), yticks=range(0, union.K, 5))
    return image


def tables(results: dict[str, Any]) -> list[Table]:
    """Return the final angles."""
    rows: list[Any] = [["paper (table over Q, Q = 10 K)", "1.95e-7", "6.36e-9"]]
    for name, runs in (
        *((f"ours, {mode}, 40 000 updates", results[mode]["angles"]) for mode in MODES),
        ("ours, scaled, fit with defaults, first seed", [results["fit with defaults"]]),
    ):
        found = union.summary(runs)
        rows.append([name, union.power(found["worst"]), union.power(found["median"])])
    note = f"Averages over {results['seeds']} seeds."
    return [Table("Angles to the true subspaces", ["", "worst", "median"], rows, note)]
