"""What the experiments on K = 20 random subspaces share: the problem, the fits in both modes, the summary."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from gasg21 import KGASG21
from gasg21.datasets import make_union_of_subspaces
from gasg21.exceptions import ConvergenceWarning

K, D, N, MEMBERS, OBSERVED = 20, 3, 100, 50, 0.7
FOUND = 1e-3  # up to this angle a subspace counts as identified; lost ones have angles of 0.1 and more
# The default of KGASG21; the paper does not state its first step.
FIRST_STEP = "largest step min(0.1, half the median residual at the start)"
SETTINGS = {
    "problem": f"K = {K} subspaces, d = {D}, n = {N}, {MEMBERS} inliers each, Gaussian outliers added, {OBSERVED:.0%} of the entries observed",
    "ours, paper mode": f"init='farthest', metric='canonical', polish=False, n_candidates=Q, tol=0; {FIRST_STEP}",
    "ours, scaled": "defaults (init='density', scaling, polish and repair), n_candidates=Q",
    "identified": f"angle at most {FOUND:g}",
}


def problem(outliers: float, seed: int) -> Any:
    """Return 50 inliers of each subspace, and outliers added to reach the share."""
    return make_union_of_subspaces(
        *(round(K * MEMBERS / (1 - outliers)), N, D, K),
        outlier_fraction=outliers,
        observed_fraction=OBSERVED,
        random_state=seed,
    )


def fit(p: Any, q: int, seed: int, *, scaled: bool, updates: int = 40_000) -> KGASG21:
    """Fit with q candidates per subspace; paper mode makes about ``updates`` updates."""
    if scaled:
        model = KGASG21(K, D, n_candidates=q * K, random_state=seed)
    else:
        passes = round(updates / len(p.data))
        model = KGASG21(
            *(K, D),
            init="farthest",
            n_candidates=q * K,
            metric="canonical",
            polish=False,
            max_passes=passes,
            tol=0,
            random_state=seed,
        )
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(p.data)


def summary(runs: list[Any]) -> dict[str, float]:
    """Return the values of the paper's tables, averaged over the runs, and the number of lost subspaces."""
    angles = np.array(runs)
    return {
        "worst": float(angles.max(axis=1).mean()),
        "median": float(np.median(angles, axis=1).mean()),
        "mean": float(angles.mean()),
        "largest": float(angles.max()),
        "largest median": float(np.median(angles, axis=1).max()),
        "lost": float((angles > FOUND).sum(axis=1).mean()),
    }


def lost_at(rows: dict[int, dict[str, float]]) -> str:
    """Return the number of subspaces lost per run, for each Q / K."""
    return (
        "Lost of 20 subspaces, mean of the runs: "
        + ", ".join(f"{row['lost']:.1f} at {q} K" for q, row in rows.items())
        + "."
    )


def power(value: float) -> str:
    """Return a number in the format of the paper's angles."""
    return f"{value:.2e}".replace("e-0", "e-").replace("e+00", "")
