"""The streaming methods of the paper's figures, and their angles to the truth along shuffled passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gasg21 import _core
from gasg21.datasets import make_low_rank
from gasg21.step_size import AdaptiveStep, core_rule

PAPER, SCALED, DIMINISHING, GROUSE, GRASTA = (
    "GASG21, paper mode",
    "GASG21, scaled",
    "GASG21-DM",
    "GROUSE",
    "GRASTA-ML",
)
STREAMS = (PAPER, SCALED, DIMINISHING, GROUSE, GRASTA)
# What `matrix` does otherwise than the paper.
FACTORS = (
    "of the inliers, by orthonormal factors; the paper's factors are Gaussian, and columns are replaced afterwards"
)


def matrix(n: int, d: int, values: tuple[float, float], outliers: float, observed: float, seed: int) -> Any:
    """Return one of the paper's square matrices, its singular values evenly spaced."""
    return make_low_rank(
        *(n, n, d),
        outlier_fraction=outliers,
        observed_fraction=observed,
        singular_values=values,
        random_state=seed,
    )


def tracker(method: str, n: int, d: int, seed: int, mu_max: float | None = None) -> _core.Tracker64:
    """Return what `fit` and `partial_fit` of a method run, at its random start; levels are not bounded."""
    return starter(method, n, d, seed, mu_max)()


def starter(method: str, n: int, d: int, seed: int, mu_max: float | None = None) -> Callable[[], _core.Tracker64]:
    """Return what makes a `tracker`, each time the same.

    GRASTA-ML and GROUSE are as their authors have them: the multi-level step with their constants (GRASTA's
    authors' demonstration bounds the level by 50) and a constant step of 0.1.
    """
    rules = {
        PAPER: lambda: core_rule(AdaptiveStep(mu_max=mu_max)),
        SCALED: lambda: core_rule(AdaptiveStep(mu_max=mu_max), scaling=True),
        DIMINISHING: lambda: core_rule("diminishing"),
        GROUSE: lambda: core_rule("constant"),
        GRASTA: lambda: core_rule("multilevel", l1=True),
    }
    losses: dict[str, Any] = {GROUSE: "squared", GRASTA: _core.L1Loss()}
    metric = _core.CovarianceScaling() if method == SCALED else _core.NoScaling()
    rule, loss = rules[method](), losses.get(method, "l21")
    return lambda: _core.Tracker64(n, d, rule, seed, loss, metric)


def passes(stream: _core.Tracker64, m: int, count: int) -> Iterator[np.ndarray]:
    """Shuffle anew for each pass, ``count`` indices in all."""
    while count > 0:
        order = stream.permutation(m)[:count]
        count -= len(order)
        yield order


def angles_along(stream: _core.Tracker64, problem: Any, count: int, every: int) -> Iterator[float]:
    """Yield the angle after every so many vectors, which must divide the number of samples."""
    for order in passes(stream, len(problem.data), count):
        for start in range(0, len(order), every):
            stream.consume(problem.data, None, order[start : start + every])
            yield float(_core.largest_angle(stream.components(), problem.basis))


def vectors_to(stream: _core.Tracker64, problem: Any, angle: float, limit: int, every: int) -> int | None:
    """Return after how many vectors the stream is first seen within the angle, looking every so many; None = never."""
    for i, found in enumerate(angles_along(stream, problem, limit, every)):
        if found <= angle:
            return (i + 1) * every
    return None


def rounded(values: Any) -> list[float]:
    """Return numbers of three digits, for small files."""
    return [float(f"{v:.3g}") for v in values]
