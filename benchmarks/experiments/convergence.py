"""GASG21 converges linearly on two corrupted matrices on which the other streaming methods stall, are slow or fail.

The paper: two 2000 x 2000 matrices of rank 10, singular values in [9000, 10000] and in [2000, 10000], 65 % of the columns
replaced by outliers, 70 % of the entries observed; GASG21 with mu_max = 15, GROUSE with a constant step, GRASTA with the
adaptive step of GASG21 (GRASTA-ML), GASG21 with a diminishing step (GASG21-DM). Ours: evenly spaced singular values, which
are exact for the inliers because the factors are orthonormal (the paper: Gaussian factors, columns replaced afterwards);
shuffled passes. GRASTA-ML uses the multi-level step of the code of its authors instead. The paper does not state the
steps of GROUSE (here 0.1) and GASG21-DM (here 100 / (1 + j)). `--quick` uses 600 x 600 and fewer vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks.experiments._drawing import stream_figure
from benchmarks.experiments._judge import NO_NUMBERS, judge
from benchmarks.experiments._streams import (
    DIMINISHING,
    FACTORS,
    GRASTA,
    GROUSE,
    PAPER,
    SCALED,
    STREAMS,
    matrix,
    rounded,
    stream,
)
from benchmarks.framework.angles import angles_along
from benchmarks.framework.experiment import Claim, Context, Table

LABELS = ("fig:convergence",)
TITLE = "Convergence against GROUSE, GRASTA and diminishing steps"
DATA: tuple[str, ...] = ()
SEEDS = 5
SPECTRA = {"well": (9000, 10000), "worse": (2000, 10000)}
SETTINGS: dict[str, Any] = {
    "matrix": "2000 x 2000, d = 10",
    "singular values": f"[9000, 10000] and [2000, 10000], evenly spaced; {FACTORS}",
    "outliers": "65 %",
    "observed": "70 %",
    "vectors": 12_000,
    "GASG21": "paper mode: eta_0 = 0.5, mu_max = 15; scaled: eta_0 = 1, mu_max = 6; streams only, no polish",
    "GASG21-DM": "100 / (1 + j)",
    "GROUSE": "constant step 0.1",
    "GRASTA-ML": "the multi-level step of the code of GRASTA's authors, mu_max = 15; the paper uses the adaptive step of GASG21",
}
RECOVERED, LOST = 1e-5, 1e-3  # recovered below the first, lost above the second
FLOOR = 1e-11  # the rate is measured above this angle


def run(context: Context) -> dict[str, Any]:
    """Return the angles of all methods along the stream, for each seed."""
    n, count, every = (600, 9000, 100) if context.quick else (2000, 12_000, 100)
    curves: dict[str, dict[str, list[list[float]]]] = {}
    for name, values in SPECTRA.items():
        curves[name] = {method: [] for method in STREAMS}
        for i in range(context.seeds):
            problem = matrix(n, 10, values, 0.65, 0.7, context.seed(i))
            for method in STREAMS:
                begun = stream(method, n, 10, context.seed(i))
                curves[name][method].append(rounded(angles_along(begun, problem, count, every)))
            context.say(f"singular values {values}, seed {i + 1} of {context.seeds}")
    return {"n": n, "vectors": list(range(every, count + 1, every)), "angles": curves}


def linear_rate(vectors: list[int], angles: np.ndarray) -> tuple[float, float]:
    """Return the decades per 1000 vectors between 0.1 and the floor, and the R^2 of a straight line."""
    inside = (angles < 0.1) & (angles > FLOOR)
    if inside.sum() < 5:
        return 0.0, 0.0
    x, y = np.array(vectors)[inside] / 1000, np.log10(angles[inside])
    return float(-np.polyfit(x, y, 1)[0]), float(np.corrcoef(x, y)[0, 1] ** 2)


def claims(results: dict[str, Any]) -> list[Claim]:
    """Judge the claims about each method."""
    vectors, angles = (
        results["vectors"],
        {k: {m: np.array(a) for m, a in v.items()} for k, v in results["angles"].items()},
    )
    return [
        *(_linear(vectors, angles, mode) for mode in (PAPER, SCALED)),
        _sublinear(vectors, angles),
        _stalls(angles),
        _grasta(angles, "well", recovers=True),
        _grasta(angles, "worse", recovers=False),
    ]


def _linear(vectors: list[int], angles: dict[str, dict[str, np.ndarray]], mode: str) -> Claim:
    shown, good = [], True
    for name, by_method in angles.items():
        rate, straight = linear_rate(vectors, np.median(by_method[mode], axis=0))
        worst = by_method[mode][:, -1].max()
        good &= bool(straight > 0.95 and worst < RECOVERED)
        shown.append(f"{_range(name)}: {rate:.1f} decades per 1000 vectors (R² {straight:.3f}), worst end {worst:.0e}")
    return judge(
        f'"GASG21 converges linearly for both matrices" ({mode.removeprefix("GASG21, ")}: log angle against vectors is '
        f"straight, R² above 0.95, and every seed ends below {RECOVERED:g})",
        "linear for both",
        "; ".join(shown),
        good,
        "some seeds do not reach it with these vectors, or the rate changes",
    )


def _sublinear(vectors: list[int], angles: dict[str, dict[str, np.ndarray]]) -> Claim:
    """Judge by the last quarter, after the longest steps: an angle that falls like 1 / j gains 0.12 decades there."""
    begin, shown, good = 3 * len(vectors) // 4 - 1, [], True
    for name, by_method in angles.items():
        slow, fast = (np.median(by_method[m], axis=0) for m in (DIMINISHING, PAPER))
        gain = np.log10(slow[begin] / slow[-1])
        good &= bool(gain < 0.5 and slow[-1] > 100 * fast[-1])
        shown.append(f"{_range(name)}: {gain:.2f} decades there, {slow[-1]:.1e} at the end (GASG21 {fast[-1]:.0e})")
    return judge(
        '"GASG21-DM converges sublinearly due to the diminishing step-size" (the last quarter of the vectors gains less than '
        "half a decade)",
        "sublinear",
        "; ".join(shown),
        good,
        "the diminishing step is not yet short after these vectors, or GASG21 is not 100 times closer",
    )


def _stalls(angles: dict[str, dict[str, np.ndarray]]) -> Claim:
    least = {name: float(by_method[GROUSE].min()) for name, by_method in angles.items()}
    good = min(least.values()) > 1e-2
    return judge(
        '"GROUSE can not converge to the true subspace in the presence of outliers" (never below 0.01)',
        "does not converge",
        "; ".join(f"{_range(name)}: smallest angle {angle:.2g}" for name, angle in least.items()),
        good,
        "with the constant step of 0.1, which the paper does not state, it comes closer to the truth",
    )


def _grasta(angles: dict[str, dict[str, np.ndarray]], name: str, *, recovers: bool) -> Claim:
    ends = angles[name][GRASTA][:, -1]
    good = ends.max() < RECOVERED if recovers else ends.min() > LOST
    text = (
        f'GRASTA "does successfully recover the low-rank subspace for well-conditional matrices" (below {RECOVERED:g})'
        if recovers
        else f'"GRASTA fails when the conditional number of the matrices is slightly higher" (above {LOST:g})'
    )
    return judge(
        text,
        "recovers, panel (a)" if recovers else "fails, panel (b)",
        f"{_range(name)}: final angles {ends.min():.0e} to {ends.max():.0e}, {np.sum(ends > LOST)} of {len(ends)} above {LOST:g}",
        bool(good),
        _grasta_by_seed(ends),
    )


def _grasta_by_seed(ends: np.ndarray) -> str:
    """Return the number of seeds that recover the subspace and that lose it, and the median."""
    return (
        f"{np.sum(ends < RECOVERED)} of {len(ends)} seeds end below {RECOVERED:g}, {np.sum(ends > LOST)} above {LOST:g}, "
        f"the median is {np.median(ends):.0e}; the paper shows one run, with the adaptive step of GASG21"
    )


def _range(name: str) -> str:
    return f"[{SPECTRA[name][0]}, {SPECTRA[name][1]}]"


def figures(results: dict[str, Any]) -> dict[str, Figure]:
    """Draw angle against vectors: medians, and each seed as a thin line."""
    titles = [f"singular values {_range(name)}" for name in SPECTRA]
    curves = list(results["angles"].values())
    return {"convergence": stream_figure(titles, curves, results["vectors"], "vectors", 8, 4.2)}


def tables(results: dict[str, Any]) -> list[Table]:
    """Return the final angle of each method."""
    rows: list[list[Any]] = []
    for name, by_method in results["angles"].items():
        for method, curves in by_method.items():
            ends = np.array(curves)[:, -1]
            rows.append([_range(name), method, float(np.median(ends)), float(ends.min()), float(ends.max())])
    return [
        Table(
            f"Angle after {results['vectors'][-1]} vectors, {results['n']} x {results['n']}",
            ["singular values", "method", "median", "smallest", "largest"],
            rows,
            NO_NUMBERS,
        )
    ]
