"""How the cost of an update grows with n, d and the observed entries, and time and memory of a fit with m.

The exponents are fitted on a log-log scale. They should be 1, and at most 2 in d: above 1 where the basis outgrows a cache, below 1
where costs that do not grow count. Of an update exponents of all sizes are stated, and those of the sizes at which the basis fits
into a megabyte; of a fit those of all sizes, and of those from which on the passes over all samples take the time.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.framework.measurement import Run, parts
from benchmarks.speed import large_fits, program

TIME = "7 minutes"
ONE_THREAD = True
OPTIONS = {
    "--out": {
        "type": Path,
        "default": program.BUILD,
        "help": "directory for growth.png and .json; default %(default)s",
    },
    "--most": {
        "type": int,
        "default": 10_000_000,
        "help": "samples of the largest fit, 200 bytes each; default %(default)s",
    },
}
VARIANTS = {"paper": "gasg21", "scaled": "gasg21, scaled", "normal": "Armadillo, normal equations"}
TOLERANCE = 0.05  # of an exponent that should be 1


class Axis(NamedTuple):
    """Sizes to time an update at."""

    label: str
    parameter: str  # of the program
    values: tuple[float, ...]
    fixed: dict[str, Any]  # the rest of the problem
    cached: float  # up to this size the basis fits into a megabyte
    most: float = 1 + TOLERANCE  # that the exponent should be
    least: float = -np.inf

    def shown(self) -> np.ndarray:
        """Return the sizes as the axis shows them: |Omega| is a number of entries."""
        return np.array(self.values) * (self.fixed["n"] if self.parameter == "observed" else 1)

    @property
    def settings(self) -> str:
        """Return the rest of the problem in words."""
        return ", ".join(f"{name} = {value}" for name, value in self.fixed.items())


SIZES_N = (500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000)
SIZES_D = (2, 4, 8, 16, 32, 64, 128)
AXES = (
    Axis("n", "n", SIZES_N, {"d": 10, "observed": 0.7}, 10_000, least=1 - TOLERANCE),
    Axis("d", "d", SIZES_D, {"n": 2000, "observed": 0.7}, 64, most=2),
    Axis("d, complete", "d", SIZES_D, {"n": 2000, "observed": 1.0}, 64),
    Axis("|Omega|", "observed", (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9), {"n": 5000, "d": 20}, 4500),
)
SIZES_M = (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
FEWEST_OF_LARGE = 1_000_000  # from here on the passes over all samples take the time, not those over a sample of them


def exponent(x: np.ndarray, y: np.ndarray, limits: tuple[float, float] = (0, np.inf)) -> float:
    """Return the slope of log y against log x, over a range of x."""
    chosen = (x >= limits[0]) & (x <= limits[1])
    return float(np.polyfit(np.log(x[chosen]), np.log(y[chosen]), 1)[0])


def measure(axis: Axis, budget: float) -> dict[str, list[float]]:
    """Return the seconds of an update, per variant, at each size: the least of three sweeps over all sizes."""
    times = {name: [np.inf] * len(axis.values) for name in VARIANTS}
    for _ in range(3):
        for k, value in enumerate(axis.values):
            size: dict[str, Any] = {**axis.fixed, axis.parameter: value, "variants": ",".join(VARIANTS)}
            size.setdefault("samples", int(np.clip(1e7 // (size["n"] * size["d"]), 60, 1000)))
            for record in program.run("compare", **size, budget=budget / 3, plain_seconds=budget / 30):
                if record["kind"] == "time":
                    row = times[record["variant"]]
                    row[k] = min(row[k], record["seconds"])
    return times


def prepare(run: Run) -> None:
    """Build the program."""
    program.build()
    print(program.machine())


def keep(run: Run, name: str, values: Any) -> None:
    """Keep what was measured, for the figure."""
    run.options.out.mkdir(parents=True, exist_ok=True)
    (run.options.out / f"growth-{name}.json").write_text(json.dumps(values))


def within(run: Run, text: str, value: float, least: float, most: float) -> None:
    """State what an exponent should be."""
    run.goals.met(
        f"{text}: {value:.3f}", least <= value <= most, f"{least:g} to {most:g}" if least > 0 else f"at most {most:g}"
    )


def updates(run: Run) -> None:
    """Time an update over n, d and the observed entries; print the exponents."""
    found = {}
    for axis in AXES:
        x, times = axis.shown(), measure(axis, 0.2 if run.quick else 2)
        found[axis.label] = times
        print(f"\n{axis.label} = {', '.join(f'{v:g}' for v in x)} ({axis.settings}); microseconds:")
        for name, seconds in times.items():
            shown = " ".join(f"{1e6 * s:9.3g}" for s in seconds)
            run.goals.value(f"{VARIANTS[name]:28} {shown}   exponent {exponent(x, np.array(seconds)):.3f}")
        ours = np.array(times["paper"])
        run.goals.value(f"exponent up to {axis.cached}: {exponent(x, ours, (0, axis.cached)):.3f}")
        within(run, f"exponent in {axis.label}", exponent(x, ours), axis.least, axis.most)
    keep(run, "updates", found)


def fits(run: Run) -> None:
    """Fit up to ten million samples of a memory map: print time and memory over m."""
    most = min(run.options.most, 100_000) if run.quick else run.options.most
    sizes = [m for m in SIZES_M if m <= most]
    with tempfile.TemporaryDirectory() as folder:
        file = large_fits.write(Path(folder), sizes[-1])
        found = [large_fits.run(file, m) for m in sizes]
    keep(run, "fits", {"m": sizes, "fits": found})
    setting = f"n = {large_fits.N}, d = {large_fits.D}, float32, half outliers, {large_fits.OBSERVED:.0%} observed"
    print(f"\na fit of m samples on one thread ({setting}):")
    for m, fit in zip(sizes, found, strict=True):
        text = f"{fit['seconds']:9.4g} s, {fit['bytes'] / 1e6:7.1f} MB beyond the data, angle {fit['angle']:.1e}"
        run.goals.value(
            f"m = {m:<9} {text}, estimated {fit['estimated']:.1e}, {fit['status']}, {len(fit['polish'])} polish"
        )
    x, seconds, size = np.array(sizes), *(np.array([fit[key] for fit in found]) for key in ("seconds", "bytes"))
    run.goals.value(f"exponent over all {exponent(x, seconds):.3f}")
    if sizes[-1] >= 3 * FEWEST_OF_LARGE:
        slope = exponent(x, seconds, (FEWEST_OF_LARGE, np.inf))
        within(run, f"exponent in m from {FEWEST_OF_LARGE}", slope, 1 - TOLERANCE, 1 + TOLERANCE)
    growth = float(np.polyfit(x, size, 1)[0])
    run.goals.at_most("memory that each more sample takes", growth, 1, " bytes", "a sample has 200 bytes")


def figure(run: Run) -> None:
    """Draw growth.png from what the other parts have measured."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter

    paths = {name: run.options.out / f"growth-{name}.json" for name in ("updates", "fits")}
    if absent := [name for name, path in paths.items() if not path.exists()]:
        print(f"\nno figure: run the part {' and '.join(absent)} first")
        return
    times, large = (json.loads(path.read_text()) for path in paths.values())
    drawing = Figure(figsize=(11, 6.5), layout="constrained")
    panels = drawing.subplots(2, 3).ravel()
    for axes, axis in zip(panels, AXES, strict=False):
        for name, seconds in times[axis.label].items():
            slope = exponent(axis.shown(), np.array(seconds))
            axes.loglog(axis.shown(), 1e6 * np.array(seconds), "o-", ms=4, label=f"{VARIANTS[name]}: {slope:.2f}")
        axes.set(xlabel=axis.label, title=axis.settings, ylabel="µs per update")
    x, setting = large["m"], f"n = {large_fits.N}, d = {large_fits.D}, {large_fits.OBSERVED:.0%} observed"
    seconds, size = (np.array([fit[key] for fit in large["fits"]]) for key in ("seconds", "bytes"))
    slope = exponent(np.array(x), seconds, (FEWEST_OF_LARGE, np.inf))
    panels[4].loglog(x, seconds, "o-", ms=4, label=f"GASG21.fit: {slope:.2f} from m = 1e6")
    panels[4].set(xlabel="m", title=setting, ylabel="seconds per fit")
    panels[5].loglog(x, size / 1e6, "o-", ms=4, label="beyond the data")
    panels[5].loglog(x, 4e-6 * large_fits.N * np.array(x), "--", color="0.5", label="the data, a memory map")
    panels[5].set(xlabel="m", title=setting, ylabel="MB")
    for axes in panels:
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.legend(loc="best", fontsize="x-small", framealpha=0.6)
        axes.grid(alpha=0.3)
    drawing.savefig(run.options.out / "growth.png", dpi=85)
    print(f"\nwritten: {run.options.out / 'growth.png'}")


PARTS = parts(updates, fits, figure)
