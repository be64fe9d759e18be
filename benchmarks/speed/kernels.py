"""The time of one update in NumPy, in plain Armadillo and in our kernels, beside a measured roofline.

Times are thread CPU seconds per update, averaged over a whole fit of three passes in random order; the variants
alternate, and the least of several rounds counts. NumPy, and plain Armadillo where a fit takes more than a second, is timed
on the first updates of the same fit: the cost of an update does not depend on how far the fit has come.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.framework.goals import Goals
from benchmarks.framework.measurement import Run, parts
from benchmarks.speed import plain, program
from gasg21.metrics import subspace_angle

TIME = "9 minutes"
ONE_THREAD = True
OPTIONS = {
    "--size": {"action": "append", "metavar": "N,D", "help": "time only this size; may be repeated"},
    "--out": {
        "type": Path,
        "default": program.BUILD,
        "help": "directory for kernels.png and .json; default %(default)s",
    },
}
# n, d -> samples
SIZES = {
    (2000, 5): 2000,
    (2000, 10): 2000,
    (200, 5): 2000,
    (900, 9): 2000,
    (100, 3): 2000,
    (20000, 10): 400,
    (2000, 50): 1000,
    (200000, 20): 30,
}
QUICK = ((2000, 5), (2000, 10), (200, 5))
# Sizes at which our kernels must not be slower than plain Armadillo.
EXTREMES = ((10, 1), (10, 3), (20, 2), (30, 1), (50, 10), (100, 30), (300, 100), (500, 200), (2000, 200))
EXACT_SIZES = ((500, 1), (500, 5), (500, 10), (2000, 5), (2000, 10), (2000, 24))
OBSERVED = (1.0, 0.7, 0.1)

# Goals by size.
SOLVE_GOALS = {(2000, 5): 12, (2000, 10): 10, (900, 9): 10, (200, 5): 14, (100, 3): 14}
ROOFLINE_SIZES = ((2000, 5), (2000, 10), (20000, 10))
LABELS = {"paper-baseline": "SSE2", "paper-avx2": "AVX2", "paper-avx512": "AVX-512"}


class Case:
    """The measured values for one size and one share of observed entries."""

    def __init__(self, n: int, d: int, observed: float, records: list[program.Record]) -> None:
        self.n, self.d, self.observed = n, d, observed
        self.time = {r["variant"]: r["seconds"] for r in records if r["kind"] == "time"}
        self.truth = {r["variant"]: r["to_truth"] for r in records if r["kind"] == "time"}
        self.angle = {r["variant"]: r for r in records if r["kind"] == "angle"}
        self.roofline = {r["type"]: r for r in records if r["kind"] == "roofline"}
        self.plain = [r["variant"] for r in records if r["kind"] == "time" and r["plain"]]

    @property
    def name(self) -> str:
        """Return size and share in words."""
        return f"({self.n}, {self.d}) {self.observed:.0%}"

    def ratio(self, variant: str, ours: str = "paper") -> float:
        """Return how many times faster ours is."""
        return self.time.get(variant, np.nan) / self.time.get(ours, np.nan)

    @property
    def share_of_bound(self) -> float:
        """Return the share of the roofline, in per cent."""
        return 100 * self.roofline["double"]["bound"] / self.time["paper"]

    @property
    def share_of_passes(self) -> float | None:
        """Return the share of the bound of the passes, in per cent; None if there is no loop for this d."""
        passes = self.roofline["double"]["passes"]
        return 100 * passes / self.time["paper"] if passes > 0 else None

    @property
    def fastest_plain(self) -> float:
        """Return how many times faster ours is than the fastest plain Armadillo."""
        return min(self.ratio(variant) for variant in self.plain)


def measure(n: int, d: int, observed: float, samples: int, *, quick: bool) -> Case:
    """Time all variants and NumPy on one problem."""
    size = {"n": n, "d": d, "observed": observed, "samples": samples}
    spent = {"budget": 0.8, "plain_seconds": 0.1} if quick else {"budget": 4, "plain_seconds": 1}
    case = Case(n, d, observed, program.run("compare", **size, **spent, least_rounds=2 if n * d > 1e6 else 3))
    add_numpy(case, size, updates=int(np.clip(2e7 // (n * d), 6, 200 if quick else 1000)), repeats=2 if quick else 3)
    return case


def add_numpy(case: Case, size: dict[str, float], updates: int, repeats: int) -> None:
    """Time plain NumPy on the first updates of the same fit."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "problem"
        program.run("write", **size, updates=updates, file=file)
        start, oracle, _, X = program.read_problem(file, case.n, case.d)
    for name, weights in (("NumPy lstsq", plain.lstsq_weights), ("NumPy normal", plain.normal_weights)):
        case.time[name], reached = plain.time_updates(start, X, weights, repeats)
        to_solve = subspace_angle(np.linalg.qr(reached)[0].T, oracle.T)
        case.angle[name] = {"to_solve": to_solve, "updates": len(X), "same": True}


def print_times(cases: list[Case]) -> None:
    """Print the microseconds per update, and the bound."""
    ours = [
        v for v in ("paper-baseline", "paper-avx2", "paper-avx512", "paper", "scaled", "float") if v in cases[0].time
    ]
    columns = ["NumPy lstsq", "NumPy normal", "solve", "normal", "projection", *ours]
    heads = [LABELS.get(c, {"paper": "ours", "solve": "arma solve"}.get(c, c)) for c in columns]
    print("\nmicroseconds per update (ours: paper mode, double, the instruction set chosen at run time)")
    print(f"{'n, d, observed':>18} " + " ".join(f"{head:>12}" for head in heads) + f" {'bound':>9}")
    for case in cases:
        times = (f"{1e6 * case.time[c]:12.4g}" if c in case.time else f"{'':12}" for c in columns)
        print(f"{case.name:>18} " + " ".join(times) + f" {1e6 * case.roofline['double']['bound']:9.3g}")


def print_ratios(cases: list[Case]) -> None:
    """Print how many times faster ours is, the share of the bound, and the accuracy."""
    columns = ["NumPy lstsq", "NumPy normal", "solve", "normal"]
    print(
        "\ntimes faster than each; share of the bound; angle to arma::solve after the same (at most 1000) updates; how far"
    )
    print(
        "arma::solve itself moves if its start changes by one unit in the last place; angle to the truth after the fit"
    )
    heads = " ".join(
        f"{head:>12}" for head in (*columns, "of bound", "to solve", "one ulp", "NumPy", "to truth", "scaled")
    )
    print(f"{'n, d, observed':>18} {heads}")
    for case in cases:
        angle = case.angle["paper"]
        numbers = [f"{case.ratio(c):10.1f} x" for c in columns] + [f"{case.share_of_bound:10.0f} %"]
        angles = (angle["to_solve"], angle["chaos"], case.angle.get("NumPy lstsq", {"to_solve": np.nan})["to_solve"])
        numbers += [f"{a:12.1e}" for a in (*angles, case.truth["paper"], case.truth["scaled"])]
        print(f"{case.name:>18} " + " ".join(numbers))


def print_roofline(cases: list[Case]) -> None:
    """Print the parts of the bound."""
    print(
        "\nthe bound: the larger of the flops at the peak and one read and write of U plus one read of x (both measured)"
    )
    print(
        f"{'n, d, observed':>18} {'GF/s':>7} {'kflop':>9} {'flops us':>9} {'U GB/s':>7} {'U us':>8} {'x GB/s':>7} {'x us':>8}"
    )
    for case in cases:
        r = case.roofline["double"]
        traffic = 16e-9 * case.n * case.d / r["read_write_U"], 8e-9 * case.n / r["read_x"]
        print(f"{case.name:>18} {r['peak'] / 1e9:7.1f} {r['flops'] / 1e3:9.1f} {1e6 * r['flops'] / r['peak']:9.3f} {traffic[0]:7.1f} "
              f"{1e6 * r['read_write_U']:8.3f} {traffic[1]:7.1f} {1e6 * r['read_x']:8.3f}")  # fmt: skip


def print_passes(cases: list[Case]) -> None:
    """Print the parts of the bound of the passes."""
    print(
        "\nthe bound of the passes, microseconds: what an update must do one after the other, timed as plain loops without"
    )
    print(
        "masks, permutations and branches. A copy of x, and the step together with U'x; the products of the rows in the"
    )
    print("minority, at the peak; and the residual for the vectors near the subspace (for the others it needs no pass)")
    print(f"{'n, d, observed':>18} {'copy, step':>10} {'residual':>9} {'near':>6} {'bound':>8} {'reached':>8}")
    for case in cases:
        if (share := case.share_of_passes) is not None:
            r = case.roofline["double"]
            print(f"{case.name:>18} {1e6 * r['step']:10.3f} {1e6 * r['residual']:9.3f} {100 * r['near']:4.0f} % "
                  f"{1e6 * r['passes']:8.3f} {share:6.0f} %")  # fmt: skip


def state_goals(goals: Goals, cases: list[Case]) -> None:
    """Print the goals and the values reached."""
    print("\ngoals, double, one thread, paper mode, averaged over the whole fit")
    for case in cases:
        share, size = case.observed, (case.n, case.d)
        solve = {1.0: 25, 0.1: 8}.get(share, SOLVE_GOALS.get(size))
        if solve:
            goals.at_least(f"{case.name} against arma::solve", case.ratio("solve"), solve, " x")
        if share > 0.5:
            bound = 11 if share == 1 else 6
            goals.at_least(f"{case.name} against normal equations", case.ratio("normal"), bound, " x")
            if size in ROOFLINE_SIZES:
                goals.at_least(f"{case.name} of the roofline", case.share_of_bound, 65 if share == 1 else 50, " %")
            elif size == (900, 9) and share < 1:
                goals.at_least(f"{case.name} of the roofline", case.share_of_bound, 45, " %")
            if size in (*ROOFLINE_SIZES, (900, 9)):
                goals.at_least(f"{case.name} of the bound of the passes", case.share_of_passes, 85, " %")
        goals.at_most(f"{case.name} scaled mode over paper mode", case.ratio("scaled"), 1.25, " x")
        if share == 0.7 and "paper-avx512" in case.time:
            goals.at_most(f"{case.name} AVX2 over AVX-512", case.ratio("paper-avx2", "paper-avx512"), 1.5, " x")
        if case.n == 2000:
            goals.at_least(f"{case.name} float over double", 1 / case.ratio("float"), 1.4, " x")
        if case.n >= 20000 and share == 1:  # memory binds
            goals.at_least(f"{case.name} float over double", 1 / case.ratio("float"), 1.6, " x")
        goals.at_least(f"{case.name} against the fastest plain Armadillo", case.fastest_plain, 1, " x")
        angle, chaos = worst_angle([r for r in case.angle.values() if "chaos" in r])
        goals.at_most(f"{case.name} angle to arma::solve", angle, max(1e-10, 100 * chaos))


def worst_angle(angles: list[program.Record]) -> tuple[float, float]:
    """Return the largest angle of our variants to arma::solve, and the effect of one unit in the last place."""
    ours = [r for r in angles if r["same"] and r["variant"].startswith("paper")]
    return max(r["to_solve"] for r in ours), ours[0]["chaos"]


def prepare(run: Run) -> None:
    """Build the program and print the peaks of this machine."""
    program.build()
    print(program.machine())
    peaks = (f"{r['set']} {r['double'] / 1e9:.0f} / {r['float'] / 1e9:.0f}" for r in program.run("peak"))
    print("peak in GF/s, double / float:", ", ".join(peaks))


def times(run: Run) -> None:
    """Time all variants, state the goals and draw kernels.png."""
    sizes = [tuple(map(int, size.split(","))) for size in run.options.size or ()]
    sizes = sizes or list(QUICK if run.quick else SIZES)
    cases = [measure(n, d, share, SIZES.get((n, d), 1000), quick=run.quick) for n, d in sizes for share in OBSERVED]
    for show in (print_times, print_ratios, print_roofline, print_passes):
        show(cases)
    state_goals(run.goals, cases)
    picture, numbers = run.options.out / "kernels.png", run.options.out / "kernels.json"
    draw(cases, picture)
    numbers.write_text(json.dumps([vars(case) for case in cases], indent=1))
    print(f"\nwritten: {picture}, {numbers}")


def exactness(run: Run) -> None:
    """Compare 1000 updates with arma::solve: several first steps and shares observed, every instruction set."""
    print(
        "\nangle to arma::solve after 1000 updates, the worst of all instruction sets, over the allowed angle: 1e-10, or 100"
    )
    print(
        "times the effect of one unit in the last place of the start. Where that effect is large, also after fewer updates"
    )
    for n, d in ((500, 10), (2000, 5)) if run.quick else EXACT_SIZES:
        for observed in (1.0, 0.7, 0.3, 0.1):
            found, worst = [], 0.0
            for eta0 in (0.1, 0.5, 1.0):
                for updates in (1000, 300, 100, 30, 10):
                    size = {"n": n, "d": d, "observed": observed, "eta0": eta0, "samples": 334, "updates": updates}
                    angle, chaos = worst_angle(program.run("exact", **size))
                    if updates == 1000 or chaos <= 1e-12:
                        worst = max(worst, angle / max(1e-10, 100 * chaos))
                        found.append(f"{eta0}: {angle:.0e}" if updates == 1000 else f"(after {updates}: {angle:.0e})")
                    if chaos <= 1e-12:
                        break
            run.goals.at_most(f"({n}, {d}) {observed:.0%} eta_0 = {' '.join(found)}; worst over allowed", worst, 1)


def extremes(run: Run) -> None:
    """Check that no small or large size is slower than plain Armadillo."""
    print("\nsmall and large sizes, microseconds per update: arma::solve, normal equations, ours, scaled")
    for n, d in EXTREMES[:: 3 if run.quick else 1]:
        for observed in OBSERVED:
            if observed * n < 2 * d:
                continue
            samples = int(np.clip(4e6 // (n * d), 200, 2000))
            size = {"n": n, "d": d, "observed": observed, "samples": samples}
            case = Case(n, d, observed, program.run("compare", **size, budget=0.3, plain_seconds=0.1))
            shown = [f"{1e6 * case.time[v]:.4g}" for v in ("solve", "normal", "paper", "scaled")]
            run.goals.at_least(f"{case.name} {', '.join(shown)}: fastest plain over ours", case.fastest_plain, 1, " x")


def draw(cases: list[Case], file: Path) -> None:
    """Draw the times as bars, and the bound."""
    from matplotlib.figure import Figure

    variants = ("NumPy lstsq", "solve", "normal", "paper-baseline", "paper-avx2", "paper", "scaled", "float")
    shown = [v for v in variants if v in cases[0].time]
    names = {"solve": "Armadillo, solve", "normal": "Armadillo, normal equations", "paper": "gasg21", "scaled": "gasg21, scaled",
             "paper-baseline": "gasg21, SSE2 only", "paper-avx2": "gasg21, AVX2 only", "float": "gasg21, float32"}  # fmt: skip
    figure = Figure(figsize=(9, 11), layout="constrained")
    for axes, observed in zip(figure.subplots(3, 1), OBSERVED, strict=True):
        chosen = [case for case in cases if case.observed == observed]
        width = 0.8 / len(shown)
        for k, variant in enumerate(shown):
            at = np.arange(len(chosen)) + (k - len(shown) / 2 + 0.5) * width
            axes.bar(
                at, [1e6 * c.time[variant] for c in chosen], width, label=names.get(variant, variant), color=f"C{k}"
            )
        bounds = [1e6 * case.roofline["double"]["bound"] for case in chosen]
        axes.hlines(
            bounds, np.arange(len(chosen)) - 0.45, np.arange(len(chosen)) + 0.45, color="black", label="bound (double)"
        )
        axes.set(yscale="log", ylabel="µs per update", title=f"{observed:.0%} observed")
        axes.set_xticks(np.arange(len(chosen)), [f"n = {c.n}\nd = {c.d}" for c in chosen])
        axes.grid(axis="y", alpha=0.3)
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.savefig(file, dpi=130)


PARTS = parts(times, exactness, extremes)
