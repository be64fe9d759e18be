"""The streaming methods of the paper's figures, and its square matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.framework import core
from gasg21.datasets import make_low_rank
from gasg21.step_size import AdaptiveStep

PAPER, SCALED, DIMINISHING, GROUSE, GRASTA = (
    "GASG21, paper mode",
    "GASG21, scaled",
    "GASG21-DM",
    "GROUSE",
    "GRASTA-ML",
)
STREAMS = (PAPER, SCALED, DIMINISHING, GROUSE, GRASTA)
# How `matrix` differs from the paper.
FACTORS = (
    "exact for the inliers, with orthonormal factors; the paper has Gaussian factors and replaces columns afterwards"
)


def matrix(n: int, d: int, values: tuple[float, float], outliers: float, observed: float, seed: int) -> Any:
    """Return one of the paper's square matrices, with evenly spaced singular values."""
    return make_low_rank(
        *(n, n, d),
        outlier_fraction=outliers,
        observed_fraction=observed,
        singular_values=values,
        random_state=seed,
    )


def stream(method: str, n: int, d: int, seed: int, mu_max: float | None = None) -> core.Stream:
    """Return the stream that `fit` and `partial_fit` of a method run, at its random start; levels are not bounded."""
    return starter(method, n, d, seed, mu_max)()


def starter(method: str, n: int, d: int, seed: int, mu_max: float | None = None) -> Callable[[], core.Stream]:
    """Return a function that makes the same `stream` each time.

    GRASTA-ML and GROUSE are as their authors have them: the multi-level step with their constants (the demonstration
    of GRASTA's authors bounds the level by 50) and a constant step of 0.1.
    """
    adaptive = AdaptiveStep(mu_max=mu_max)
    parameters: dict[str, dict[str, Any]] = {
        PAPER: {"step_size": adaptive},
        SCALED: {"step_size": adaptive, "metric": "scaled"},
        DIMINISHING: {"step_size": "diminishing"},
        GROUSE: {"step_size": "constant", "loss": "squared"},
        GRASTA: {"step_size": "multilevel", "loss": "l1"},
    }
    return core.stream_starter(n, d, seed, **parameters[method])


def rounded(values: Any) -> list[float]:
    """Return the numbers with three digits, to keep the files small."""
    return [float(f"{v:.3g}") for v in values]
