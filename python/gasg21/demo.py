"""The demo, ``python -m gasg21 demo``: three methods on data with many outliers, a table and a picture."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gasg21 import GASG21, GROUSE, _core, plotting
from gasg21._data.parameters import null_offset
from gasg21._support.arrays import Array
from gasg21.datasets import make_low_rank
from gasg21.metrics import subspace_angle
from gasg21.plotting._style import BLUE, GREEN, ORANGE, RED
from gasg21.step_size import AdaptiveStep

N_SAMPLES, N_FEATURES, N_COMPONENTS = 2000, 2000, 5
OUTLIERS, OBSERVED = 0.65, 0.7


class _Row(NamedTuple):
    name: str
    angle: float
    seconds: float
    flagged: Array  # True for samples that the method calls outliers


def run_demo(output: str, seed: int) -> None:
    """Recover a subspace by three methods, print a table and write a picture.

    Parameters
    ----------
    output : str
        File for the picture.
    seed : int
        Seed of the synthetic data and of the methods.
    """
    plt = _matplotlib()
    print(
        f"{N_SAMPLES} samples with {N_FEATURES} features; the inliers lie on a subspace of dimension {N_COMPONENTS}. "
        f"{OUTLIERS:.0%} of the samples are outliers, {1 - OBSERVED:.0%} of the entries are missing.\n"
    )
    problem = make_low_rank(
        N_SAMPLES,
        N_FEATURES,
        N_COMPONENTS,
        outlier_fraction=OUTLIERS,
        observed_fraction=OBSERVED,
        singular_values=(2000, 10000),
        random_state=seed,
    )
    model = GASG21(N_COMPONENTS, random_state=seed)
    _print_table(
        [
            _measure("PCA", problem, lambda: _leading(np.nan_to_num(problem.data))),
            _measure("spherized PCA", problem, lambda: _leading(_spherized(problem.data))),
            _measure("GASG21", problem, lambda: model.fit(problem.data).components_),
        ],
        problem.inlier,
    )

    figure = plt.figure(figsize=(15, 4.8), layout="constrained")
    convergence, residuals = figure.add_subplot(1, 3, 1), figure.add_subplot(1, 3, 2)
    sphere = figure.add_subplot(1, 3, 3, projection="3d")
    _draw_convergence(convergence, *_convergence(problem, seed))
    convergence.set_title(f"{OUTLIERS:.0%} outliers, {1 - OBSERVED:.0%} missing: convergence")
    plotting.residuals(model, problem.data, ax=residuals)
    residuals.set_title("Residuals separate inliers from outliers")
    plotting.sphere(*_sphere(seed), ax=sphere)
    sphere.set_title("In R³ a plane is a circle on the sphere")
    figure.savefig(output, dpi=110)
    plt.close(figure)
    print(f"\nWrote the picture to {output}.")


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ImportError as error:
        msg = "the demo needs matplotlib; install it with: pip install 'gasg21[plot]'"
        raise ImportError(msg) from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def _measure(name: str, problem: Any, fit: Callable[[], Array]) -> _Row:
    start = time.perf_counter()
    components = fit()
    seconds = time.perf_counter() - start
    # The same rule for all methods: an outlier is as far from the subspace as a random direction.
    residuals = _core.project(components, problem.data)[1]
    flagged = residuals > -null_offset(OBSERVED * N_FEATURES, N_COMPONENTS)
    return _Row(name, subspace_angle(components, problem.basis), seconds, flagged)


def _print_table(rows: list[_Row], inlier: Array) -> None:
    n_outliers = int((~inlier).sum())
    print(f"{'':15}{'angle to the truth':>20}{'time':>10}{'outliers found':>18}{'false alarms':>15}")
    for row in rows:
        found, false = int((row.flagged & ~inlier).sum()), int((row.flagged & inlier).sum())
        print(
            f"{row.name:15}{row.angle:>16.1e} rad{row.seconds:>8.2f} s{f'{found} of {n_outliers}':>18}"
            f"{f'{false} of {len(inlier) - n_outliers}':>15}"
        )


def _leading(X: Array) -> Array:
    """Return the principal directions of X, without centering."""
    from sklearn.utils.extmath import randomized_svd

    return np.ascontiguousarray(randomized_svd(X, N_COMPONENTS, random_state=0)[2])


def _spherized(X: Array) -> Array:
    X = np.nan_to_num(X)
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True))


def _convergence(problem: Any, seed: int) -> tuple[Array, dict[str, Array]]:
    """Return the numbers of samples used and the angles of four methods on the same shuffled stream."""
    models = {
        # The default max_level keeps the step large enough to follow a change. This stream does not change.
        "GASG21": GASG21(N_COMPONENTS, step_size=AdaptiveStep(max_level=64), random_state=seed),
        "GASG21 as in the paper": GASG21(N_COMPONENTS, metric="canonical", random_state=seed),
        "GASG21-DM (diminishing step)": GASG21(
            N_COMPONENTS, metric="canonical", step_size="diminishing", random_state=seed
        ),
        "GROUSE (squared loss)": GROUSE(N_COMPONENTS, random_state=seed),
    }
    rng = np.random.default_rng(seed)
    batch, passes = 250, 6
    angles: dict[str, list[float]] = {name: [np.pi / 2] for name in models}
    for _ in range(passes):
        for rows in np.split(rng.permutation(N_SAMPLES), N_SAMPLES // batch):
            for name, model in models.items():
                model.partial_fit(problem.data[rows])
                angles[name].append(subspace_angle(model.components_, problem.basis))
    n_vectors = batch * np.arange(passes * N_SAMPLES // batch + 1)
    return n_vectors, {name: np.array(values) for name, values in angles.items()}


def _draw_convergence(ax: Any, n_vectors: Array, angles: dict[str, Array]) -> None:
    """Plot the angles to the true subspace; the first method is highlighted."""
    styles = [(BLUE, "-", 2.2), (ORANGE, "--", 1.6), (GREEN, ":", 1.8), (RED, "-.", 1.6)]
    for (name, angle), (color, line, width) in zip(angles.items(), styles, strict=True):
        ax.semilogy(n_vectors, angle, line, color=color, lw=width, label=name)
    ax.set(xlabel="samples used", ylabel="angle to the true subspace [rad]")
    ax.grid(alpha=0.3)
    ax.legend(frameon=False, loc="upper right", bbox_to_anchor=(1.0, 0.78), fontsize="small")


def _sphere(seed: int) -> tuple[GASG21, Array]:
    """Return the example of the paper: points in R^3, 75 % of them on a plane, and the fit to them."""
    X = make_low_rank(400, 3, 2, outlier_fraction=0.25, random_state=seed).data
    return GASG21(2, random_state=seed).fit(X), X
