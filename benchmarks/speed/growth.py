"""How the cost of an update grows with n, d and the observed entries, and that of a fit with m.

The exponents are fitted on a log-log scale. They should be near 1, and at most 2 in d.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.framework.measurement import Run, parts
from benchmarks.speed import program

TIME = "1 minute"
ONE_THREAD = True
OPTIONS = {"--out": {"type": Path, "default": program.BUILD, "help": "directory for growth.png; default %(default)s"}}
AXES = {  # axis -> its values, the rest of the problem, the largest exponent
    "n": ((500, 1000, 2000, 5000, 10000, 20000, 50000), {"d": 10, "observed": 0.7}, 1.25),
    "d": ((2, 4, 8, 16, 32, 64, 128), {"n": 2000, "observed": 0.7}, 2.0),
    "d, complete": ((2, 4, 8, 16, 32, 64, 128), {"n": 2000, "observed": 1.0}, 1.25),
    "|Omega|": ((0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9), {"n": 5000, "d": 20}, 1.25),
    "m": ((100, 200, 500, 1000, 2000, 4000), {"n": 1000, "d": 5, "observed": 0.7}, 1.1),
}
NAMES = {"n": "n", "d": "d", "d, complete": "d", "|Omega|": "observed", "m": "samples"}
VARIANTS = {"paper": "gasg21", "scaled": "gasg21, scaled", "normal": "Armadillo, normal equations"}


def measure(axis: str, budget: float) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the values on the axis (|Omega| as a number of entries) and the seconds of an update, or of a fit for m."""
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


def prepare(run: Run) -> None:
    """Build the program."""
    program.build()
    print(program.machine())


def exponents(run: Run) -> None:
    """Measure, print the fitted exponents and draw growth.png."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter

    figure = Figure(figsize=(11, 7), layout="constrained")
    panels = figure.subplots(2, 3).ravel()
    for axes, (axis, (_, fixed, most)) in zip(panels, AXES.items(), strict=False):
        x, times = measure(axis, 0.2 if run.quick else 1.5)
        settings = ", ".join(f"{name} = {value}" for name, value in fixed.items())
        print(f"\n{axis} = {', '.join(f'{v:g}' for v in x)} ({settings}); microseconds:")
        for name, seconds in times.items():
            slope, end = exponent(x, seconds), exponent(x[-3:], seconds[-3:])
            shown = " ".join(f"{1e6 * s:9.3g}" for s in seconds)
            run.goals.value(f"{VARIANTS[name]:28} {shown}   exponent {slope:.2f}, of the last three {end:.2f}")
            axes.loglog(x, 1e6 * seconds, "o-", label=f"{VARIANTS[name]}: {slope:.2f}")
        run.goals.at_most(f"exponent in {axis}", exponent(x, times["paper"]), most)
        axes.set(xlabel=axis, title=settings, ylabel="µs per fit" if axis == "m" else "µs per update")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.legend(loc="lower right")
        axes.grid(alpha=0.3)
    panels[-1].set_axis_off()
    figure.savefig(run.options.out / "growth.png", dpi=130)
    print(f"\nwritten: {run.options.out / 'growth.png'}")


PARTS = parts(exponents)
