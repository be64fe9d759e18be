"""How the cost of one update grows with n, d, |Omega| and of a fit with m. See benchmarks/README.md.

Log-log, with the fitted exponents: near 1, and at most 2 in d.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import program

AXES = {  # what grows -> its values, the rest of the problem, the largest exponent
    "n": ((500, 1000, 2000, 5000, 10000, 20000, 50000), {"d": 10, "observed": 0.7}, 1.25),
    "d": ((2, 4, 8, 16, 32, 64, 128), {"n": 2000, "observed": 0.7}, 2.0),
    "d, complete": ((2, 4, 8, 16, 32, 64, 128), {"n": 2000, "observed": 1.0}, 1.25),
    "|Omega|": ((0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9), {"n": 5000, "d": 20}, 1.25),
    "m": ((100, 200, 500, 1000, 2000, 4000), {"n": 1000, "d": 5, "observed": 0.7}, 1.1),
}
NAMES = {"n": "n", "d": "d", "d, complete": "d", "|Omega|": "observed", "m": "samples"}
VARIANTS = {"paper": "gasg21", "scaled": "gasg21, scaled", "normal": "Armadillo, normal equations"}


def measure(axis: str, budget: float) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return what grows (|Omega| as a number of entries) and the seconds: of an update, for m of the whole fit."""
    values, fixed, _ = AXES[axis]
    times: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for value in values:
        size: dict[str, Any] = {**fixed, NAMES[axis]: value}
        size.setdefault("samples", int(np.clip(1e7 // (size["n"] * size["d"]), 60, 1000)))
        records = program.run("compare", **size, variants=",".join(VARIANTS), budget=budget, plain_seconds=budget / 10)
        for record in records:
            if record["kind"] == "time":
                updates = 3 * size["samples"] if axis == "m" else 1
                times[record["variant"]].append(updates * record["seconds"])
    scale = fixed["n"] if axis == "|Omega|" else 1
    return scale * np.array(values), {name: np.array(t) for name, t in times.items()}


def exponent(x: np.ndarray, y: np.ndarray) -> float:
    """Return the slope of log y against log x."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def main() -> None:
    """Measure, print the exponents, draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="short timings")
    parser.add_argument("--out", type=Path, default=program.BUILD, help="directory for growth.png")
    options = parser.parse_args()
    program.build()
    print(program.machine())
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter

    goals = program.Goals()
    figure = Figure(figsize=(11, 7), layout="constrained")
    panels = figure.subplots(2, 3).ravel()
    for axes, (axis, (_, fixed, most)) in zip(panels, AXES.items(), strict=False):
        x, times = measure(axis, 0.2 if options.quick else 1.5)
        settings = ", ".join(f"{name} = {value}" for name, value in fixed.items())
        print(f"\n{axis} = {', '.join(f'{v:g}' for v in x)} ({settings}); microseconds:")
        for name, seconds in times.items():
            slope, end = exponent(x, seconds), exponent(x[-3:], seconds[-3:])
            print(
                f"  {VARIANTS[name]:28}",
                " ".join(f"{1e6 * s:9.3g}" for s in seconds),
                f"  exponent {slope:.2f}, in the end {end:.2f}",
            )
            axes.loglog(x, 1e6 * seconds, "o-", label=f"{VARIANTS[name]}: {slope:.2f}")
        goals.at_most(f"exponent in {axis}", exponent(x, times["paper"]), most, "")
        axes.set(xlabel=axis, title=settings, ylabel="µs a fit" if axis == "m" else "µs an update")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.legend(loc="lower right")
        axes.grid(alpha=0.3)
    panels[-1].set_axis_off()
    figure.savefig(options.out / "growth.png", dpi=130)
    goals.summary()
    print(f"written: {options.out / 'growth.png'}")


if __name__ == "__main__":
    main()
