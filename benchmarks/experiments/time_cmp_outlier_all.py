"""GASG21 reaches 1e-3 on small matrices in milliseconds, where Robust-MD takes seconds.

The paper: 200 x 200 matrices of rank 5, singular values in [2000, 10000], no missing entries, 0 to 80 % of the columns
replaced by outliers; every algorithm stops when its angle to the truth is at most 1e-3. Ours: the same, in CPU seconds on
one thread, medians of the seeds; `_racing.py` explains how each method is stopped. The singular values are exact for the
inliers because the factors are orthonormal (the paper: Gaussian factors, columns replaced afterwards). REAPER gets samples
of unit length (the S-REAPER of its authors, a little faster here). "fit with defaults" is the call of a user, with
tol = 1e-3: it does not know the truth, stops by its own rule, polishes and checks its result. Robust-MD stops after 20 000
samples at the latest (its authors use 3000), OP and REAPER after 500 iterations. `--quick` uses 100 x 100 and 2000 samples.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks.experiments._drawing import FIT, MIRROR, PURSUIT, REAPER, legend_below, panels
from benchmarks.experiments._judge import judge, unchecked
from benchmarks.experiments._racing import all_reached, race_over
from benchmarks.experiments._streams import FACTORS, PAPER, SCALED, matrix
from benchmarks.experiments._timings import BOUND, OTHER_MACHINE, draw_times, judged, ratios, time_table
from benchmarks.framework.experiment import Claim, Context, Table

LABELS = ("fig:time-cmp-outlier-all",)
TITLE = "Running time at 200 x 200 against Robust-MD, REAPER and OP"
DATA: tuple[str, ...] = ()
SEEDS = 3
METHODS = (PAPER, SCALED, FIT, REAPER, PURSUIT, MIRROR)
SETTINGS: dict[str, Any] = {
    "matrix": "200 x 200, d = 5, complete",
    "singular values": f"[2000, 10000], evenly spaced; {FACTORS}",
    "outliers": "0 to 80 %",
    "stopped at": "angle 1e-3",
    "time": "CPU seconds, one thread, all methods interleaved in one process; median of the seeds",
    "GASG21": "paper mode: eta_0 = 0.5, mu_max = 15; scaled: eta_0 = 1, mu_max = 6; both streams; fit: defaults, tol = 1e-3",
    "Robust-MD": "the authors' step 1 / sqrt(t), at most 20 000 samples",
    "OP": "the authors' lambda, at most 500 iterations",
}
ANGLE = 1e-3
ITERATIONS = 500  # the most for OP and REAPER


def run(context: Context) -> dict[str, Any]:
    """Return the times to 1e-3 over the share of outliers."""
    n, shares = (100, [0, 20, 40, 60, 80]) if context.quick else (200, list(range(0, 90, 10)))
    samples = 2000 if context.quick else 20_000
    limits = {PAPER: 100_000, SCALED: 100_000, FIT: 0, REAPER: ITERATIONS, PURSUIT: ITERATIONS, MIRROR: samples}

    def square(share: int, seed: int) -> Any:
        return matrix(n, 5, (2000, 10000), share / 100, 1.0, seed)

    times = race_over(context, shares, square, limits, ANGLE, "% outliers")
    return {"quick": context.quick, "n": n, "outliers": shares, "times": times}


def claims(results: dict[str, Any]) -> list[Claim]:
    """Judge the claims about the times."""
    return [
        _short(results),
        *(_faster(results, rival, mode) for rival in (MIRROR, PURSUIT) for mode in (PAPER, SCALED)),
        _ten_seconds(results),
        _pursuit_fails(results),
        *(_competitive(results, mode) for mode in (PAPER, SCALED, FIT)),
    ]


def _short(results: dict[str, Any]) -> Claim:
    worst = {m: max(cell["seconds"] for cell in results["times"][m]) for m in (PAPER, SCALED, FIT)}
    reached = all(all_reached(cell) for m in worst for cell in results["times"][m])
    return Claim(
        f'"GASG21 takes no more than 0.1 seconds to reach the stopping criteria", at any share of outliers ({BOUND})',
        "at most 0.1 s",
        "; ".join(f"{m}: {1e3 * s:.1f} ms" for m, s in worst.items()),
        *judged(
            results, reached and max(worst.values()) <= 0.1, _too_slow(worst) if reached else "not all runs reach 1e-3"
        ),
    )


def _too_slow(worst: dict[str, float]) -> str:
    return f"slower on this machine: {', '.join(m for m, s in worst.items() if s > 0.1)}"


def _faster(results: dict[str, Any], rival: str, mode: str) -> Claim:
    found, left_out = ratios(results["outliers"], results["times"], rival, mode), ""
    if rival == PURSUIT:  # where it does not reach 1e-3 it has no time
        late = [row[0] for row in found if not row[2]]
        found = [row for row in found if row[2]]
        left_out = f"; OP does not reach it at {_percents(late)}: left out" if late else ""
    middle = float(np.median([ratio for _, ratio, _ in found]))
    low, high = min(found, key=lambda row: row[1]), max(found, key=lambda row: row[1])
    more = " at least, not reached" if not high[2] else ""
    reasons = {
        MIRROR: "our Robust-MD updates the eigendecomposition instead of computing a new one for each sample",
        PURSUIT: "our OP is an alternating direction method with an adapted penalty; its leading singular vectors are accurate "
        "to 1e-3 after few iterations, long before it converges; without outliers the first iterate is exact",
    }
    return Claim(
        f'GASG21 "is around 100 times faster than Robust-MD and OP": {rival}, '
        f"{mode.removeprefix('GASG21, ')} (median over the shares of outliers at least 100)",
        "around 100 x",
        f"median {middle:.0f} x; from {low[1]:.0f} x ({low[0]} %) to {high[1]:.0f} x ({high[0]} %{more}){left_out}",
        *judged(results, middle >= 100, reasons[rival]),
    )


def _percents(shares: list[int]) -> str:
    return ", ".join(f"{share} %" for share in shares)


def _ten_seconds(results: dict[str, Any]) -> Claim:
    shown = [f"{m}: {min(s):.2g} to {max(s):.2g} s" for m in (MIRROR, PURSUIT) if (s := _seconds(results, m))]
    return unchecked(
        'Robust-MD and OP, "whose running time is around 10 seconds"',
        "around 10 s",
        "; ".join(shown),
        OTHER_MACHINE,
    )


def _seconds(results: dict[str, Any], method: str) -> list[float]:
    return [cell["seconds"] for cell in results["times"][method]]


def _pursuit_fails(results: dict[str, Any]) -> Claim:
    cells = dict(zip(results["outliers"], results["times"][PURSUIT], strict=True))
    failed = [share for share, cell in cells.items() if not all_reached(cell)]
    good, count = cells[80]["reached"] == 0, cells[80]["count"]
    early = f" (its own rule stops it after {count:g} iterations, the median)" if good and count < ITERATIONS else ""
    return judge(
        '"for the 80 % outliers case OP fails to recover the subspace after 500 iterations"',
        "fails at 80 %",
        f"at 80 %: {cells[80]['reached']} of {cells[80]['runs']} seeds reach 1e-3{early}; "
        f"not all reach it at {_percents(failed) or 'no share'}",
        good,
        f"our OP reaches it after {count:g} iterations",
    )


def _competitive(results: dict[str, Any], mode: str) -> Claim:
    found = [row for row in ratios(results["outliers"], results["times"], REAPER, mode) if row[2]]
    values = [ratio for _, ratio, _ in found]
    middle = float(np.median(values))
    typical = min(found, key=lambda row: abs(row[1] - middle))[0]
    return Claim(
        f'"The running time of REAPER is competitive with GASG21 for those small matrices", '
        f"{mode.removeprefix('GASG21, ')} (median ratio between 0.1 and 10)",
        "competitive",
        f"REAPER / GASG21: median {middle:.2g}, from {min(values):.2g} to {max(values):.2g}",
        *judged(results, 0.1 <= middle <= 10, _costs(results, mode, typical)),
    )


def _costs(results: dict[str, Any], mode: str, share: int) -> str:
    """Return how REAPER and GASG21 spend their time at a share of outliers."""
    theirs, ours = (results["times"][method][results["outliers"].index(share)] for method in (REAPER, mode))
    each = ours["seconds"] / ours["count"]
    updates = f"{ours['count']:g} passes in {1e3 * ours['seconds']:.2g} ms, polish and checks included"
    if mode != FIT:
        updates = f"{ours['count']:g} updates of {1e6 * each:.2g} µs"
    return (
        f"at {share} % outliers REAPER takes {theirs['count']:g} iterations of "
        f"{1e3 * theirs['seconds'] / theirs['count']:.2g} ms, each with an eigendecomposition, GASG21 {updates}"
    )


def figures(results: dict[str, Any]) -> dict[str, Figure]:
    """Draw time over outliers; a hollow marker is a lower bound, because the angle was not reached."""
    n = results["n"]
    figure, (axis,) = panels(1, [f"{n} x {n}, d = 5, to an angle of 1e-3"], width=6)
    draw_times(axis, results["outliers"], results["times"])
    axis.set(xlabel="outliers [%]", ylabel="CPU time [s]")
    legend_below(figure, axis)
    figure.set_label("CPU time to 1e-3; hollow markers: not all seeds reached it.")
    return {"time_cmp_outlier_all": figure}


def tables(results: dict[str, Any]) -> list[Table]:
    """Return all times with the angles reached."""
    return [time_table("outliers [%]", results["outliers"], results["times"], "Time to an angle of 1e-3")]
