"""A small mu_max is fast on well-conditioned data, and a large one is needed on ill-conditioned data.

The paper: two matrices of rank 10, singular values in [9000, 10000] (condition 1.11) and [1000, 10000] (condition 10),
65 % outliers, 70 % observed, mu_max from 10 to 50. Ours: 2000 x 2000, as in the other figures of the paper (it does not
state the size here); evenly spaced singular values, which are exact for the inliers because the factors are orthonormal
(the paper: Gaussian factors, columns replaced afterwards); shuffled passes. Scaled steps use the same values of mu_max,
and their default of 6. A run ends at 1e-12. `--quick` uses 500 x 500 and three values of mu_max, and ends at 1e-7.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks.experiments._drawing import legend_below, panels
from benchmarks.experiments._judge import NO_NUMBERS, judge
from benchmarks.experiments._streams import FACTORS, PAPER, SCALED, matrix, rounded, stream
from benchmarks.framework.angles import angles_along
from benchmarks.framework.experiment import Claim, Context, Table

LABELS = ("fig:cond-mu",)
TITLE = "The effect of mu_max for two condition numbers"
DATA: tuple[str, ...] = ()
SEEDS = 3
SPECTRA = {"X1": (9000, 10000), "X2": (1000, 10000)}
SETTINGS: dict[str, Any] = {
    "matrix": "2000 x 2000, d = 10",
    "singular values": f"X1: [9000, 10000], X2: [1000, 10000], evenly spaced; {FACTORS}",
    "outliers": "65 %",
    "observed": "70 %",
    "mu_max": "10, 20, 30, 40, 50; scaled also 6, its default",
    "vectors": "at most 40 000",
    "eta_0": "0.5 in paper mode, 1 scaled",
}
ANGLE, FLOOR, DEFAULT, EVERY = 1e-6, 1e-12, 6, 200
MARKERS = {"6": "x", "10": "o", "20": "s", "30": "v", "40": "^", "50": "D"}


def run(context: Context) -> dict[str, Any]:
    """Return the angles along the stream for each mu_max, mode and matrix."""
    n, every, floor = (500, EVERY, 1e-7) if context.quick else (2000, EVERY, FLOOR)
    limit = 36_000 if context.quick else 40_000
    values = [10, 30, 50] if context.quick else [10, 20, 30, 40, 50]
    angles: dict[str, Any] = {}
    for name, spectrum in SPECTRA.items():
        angles[name] = {mode: {str(mu): [] for mu in _values(mode, values)} for mode in (PAPER, SCALED)}
        for i in range(context.seeds):
            problem = matrix(n, 10, spectrum, 0.65, 0.7, context.seed(i))
            for mode, by_mu in angles[name].items():
                for mu, curves in by_mu.items():
                    begun = stream(mode, n, 10, context.seed(i), float(mu))
                    curves.append(rounded(_until(floor, begun, problem, limit, every)))
            context.say(f"{name}, seed {i + 1} of {context.seeds}")
    return {"n": n, "every": every, "limit": limit, "mu_max": values, "angles": angles}


def _values(mode: str, values: list[int]) -> list[int]:
    return values if mode == PAPER else [DEFAULT, *values]


def _until(floor: float, begun: Any, problem: Any, limit: int, every: int) -> list[float]:
    """Return the angles along the stream until they are below the floor."""
    found: list[float] = []
    for angle in angles_along(begun, problem, limit, every):
        found.append(angle)
        if angle < floor:
            break
    return found


def vectors(results: dict[str, Any], name: str, mode: str) -> dict[int, float]:
    """Return the median vectors to 1e-6 for each mu_max, infinite if half of the seeds do not reach it."""
    needed = {}
    for mu, curves in results["angles"][name][mode].items():
        first = [np.flatnonzero(np.array(curve) <= ANGLE) for curve in curves]
        needed[int(mu)] = float(np.median([(f[0] + 1) * results["every"] if len(f) else np.inf for f in first]))
    return needed


def claims(results: dict[str, Any]) -> list[Claim]:
    """Judge the claims about mu_max."""
    return [
        *(_smaller_is_faster(results, mode) for mode in (PAPER, SCALED)),
        _must_be_large(results),
        _guarantees_convergence(results),
        _need_not_be_chosen(results),
    ]


def _smaller_is_faster(results: dict[str, Any], mode: str) -> Claim:
    needed = vectors(results, "X1", mode)
    counts = list(needed.values())
    good = counts == sorted(counts) and counts[0] < counts[-1]
    return judge(
        '"for a well-conditional matrix X1 smaller mu_max indeed lead to faster convergence": '
        f"{mode.removeprefix('GASG21, ')} (vectors to 1e-6 rise with mu_max)",
        "smaller is faster",
        _numbers(needed, results),
        good,
        f"mu_max = {min(needed, key=lambda mu: needed[mu])} needs the fewest vectors; they do not rise with mu_max",
    )


def _must_be_large(results: dict[str, Any]) -> Claim:
    needed = vectors(results, "X2", PAPER)
    low, high = min(needed), max(needed)
    good = np.isfinite(needed[high]) and needed[high] < needed[low]
    return judge(
        '"for a moderate ill-conditional matrix X2, mu_max should be large" (paper mode: the largest needs fewer vectors '
        "to 1e-6 than the smallest)",
        "large is better",
        _numbers(needed, results),
        bool(good),
        f"mu_max = {low}: {_count(needed[low], results)} vectors, mu_max = {high}: {_count(needed[high], results)}, "
        "for this size and these singular values",
    )


def _guarantees_convergence(results: dict[str, Any]) -> Claim:
    """Judge whether a small mu_max fails where a large one converges: convergence, not speed."""
    reached = {name: _reached(results, name) for name in SPECTRA}
    low, high = min(results["mu_max"]), max(results["mu_max"])
    seeds = len(results["angles"]["X2"][PAPER][str(low)])
    well, worse = (vectors(results, name, PAPER) for name in SPECTRA)
    good = np.isfinite(max(well.values())) and not np.isfinite(worse[low]) and reached["X2"][high] == seeds
    shown = (f"{name}: {', '.join(f'{n} (mu_max {mu})' for mu, n in by_mu.items())}" for name, by_mu in reached.items())
    return judge(
        'mu_max "must be large enough to guarantee convergence for a moderate ill-conditional data matrix" (paper mode: on X1 '
        "every mu_max reaches 1e-6 in more than half of the seeds; on X2 the smallest does not, the largest does in all)",
        "a small one does not converge",
        f"seeds of {seeds} that reach 1e-6 in {results['limit']} vectors: {'; '.join(shown)}",
        bool(good),
        _slow_or_lost(results, low, high),
    )


def _reached(results: dict[str, Any], name: str) -> dict[int, int]:
    """Return for each mu_max the number of seeds that reach 1e-6 in paper mode."""
    by_mu = results["angles"][name][PAPER]
    return {int(mu): sum(min(curve) <= ANGLE for curve in curves) for mu, curves in by_mu.items()}


def _slow_or_lost(results: dict[str, Any], low: int, high: int) -> str:
    """Return where the smallest and the largest mu_max end on X2, and how much the smallest still gains."""
    least, most = (results["angles"]["X2"][PAPER][str(mu)] for mu in (low, high))
    gain = min(float(np.log10(curve[3 * len(curve) // 4 - 1] / curve[-1])) for curve in least)
    slower = f"still gains at least {gain:.1f} decades in its last quarter"
    slower += ": slower, not lost" if gain > 0.5 else ""
    return (
        f"on X2 the worst seed of mu_max = {low} ends at {max(curve[-1] for curve in least):.0e} and {slower}; "
        f"that of mu_max = {high} ends at {max(curve[-1] for curve in most):.0e}"
    )


def _need_not_be_chosen(results: dict[str, Any]) -> Claim:
    well, worse = (vectors(results, name, SCALED)[DEFAULT] for name in SPECTRA)
    good = worse <= 2 * well
    return judge(
        "With scaled steps mu_max need not depend on the condition number (the default 6 needs at most twice as many "
        "vectors on X2 as on X1)",
        "not in the paper",
        f"scaled, mu_max = {DEFAULT}: {well:.0f} vectors to 1e-6 on X1, {worse:.0f} on X2",
        good,
        f"on X2 it needs {worse / well:.1f} times the vectors" if np.isfinite(worse) else "not reached on X2",
        own=True,
    )


def _numbers(needed: dict[int, float], results: dict[str, Any]) -> str:
    return "vectors to 1e-6: " + ", ".join(f"{_count(v, results)} (mu_max {mu})" for mu, v in needed.items())


def _count(value: float, results: dict[str, Any]) -> str:
    return f"{value:.0f}" if np.isfinite(value) else f"more than {results['limit']}"


def figures(results: dict[str, Any]) -> dict[str, Figure]:
    """Draw angle against vectors for each mu_max: paper mode solid, scaled dashed; one seed, as in the paper."""
    figure, axes = panels(2, [f"singular values {list(spectrum)}" for spectrum in SPECTRA.values()])
    shades = {PAPER: ("#08306b", "#9ecae1"), SCALED: ("#7f1d1d", "#f4a582")}
    for axis, by_mode in zip(axes, results["angles"].values(), strict=True):
        for mode, by_mu in by_mode.items():
            for i, (mu, curves) in enumerate(by_mu.items()):
                x = results["every"] * np.arange(1, len(curves[0]) + 1) / 1000
                axis.semilogy(
                    x,
                    curves[0],
                    color=_between(*shades[mode], i / (len(by_mu) - 1)),
                    linestyle="-" if mode == PAPER else "--",
                    marker=MARKERS[mu],
                    markevery=(i, max(1, len(x) // 5)),
                    markersize=4,
                    label=f"{'paper' if mode == PAPER else 'scaled'}, $\\mu_{{max}}$ = {mu}",
                )
        axis.set_xlabel("vectors [thousands]")
    axes[0].set_ylabel("principal angle θ [rad]")
    legend_below(figure, axes[0], columns=4)
    figure.set_label("Angle to the truth along the stream for each mu_max; the first seed.")
    return {"cond_mu": figure}


def _between(dark: str, light: str, share: float) -> tuple[float, ...]:
    ends = [[int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)] for colour in (dark, light)]
    return tuple(float(a + share * (b - a)) for a, b in zip(*ends, strict=True))


def tables(results: dict[str, Any]) -> list[Table]:
    """Return the vectors to 1e-6."""
    rows: list[list[Any]] = []
    for name, spectrum in SPECTRA.items():
        paper, scaled = (vectors(results, name, mode) for mode in (PAPER, SCALED))
        for mu in scaled:
            ours = _count(paper[mu], results) if mu in paper else "not run"
            rows.append([f"{name}: {list(spectrum)}", mu, ours, _count(scaled[mu], results)])
    return [
        Table(
            f"Vectors to 1e-6 (median of the seeds, checked every {results['every']} vectors)",
            ["singular values", "mu_max", "ours, paper mode", "ours, scaled"],
            rows,
            NO_NUMBERS,
        )
    ]
