"""The streaming methods that GASG21 is measured against, beside what they must do. See benchmarks/README.md.

python benchmarks/streaming_baselines.py [PART ...] [--quick]
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np

from gasg21 import GASG21, GRASTA, GROUSE, _core
from gasg21.datasets import make_low_rank
from gasg21.exceptions import ConvergenceWarning
from gasg21.metrics import subspace_angle
from gasg21.step_size import MultiLevelStep

FIRST_SEED = 60_000  # seeds that no setting was chosen on


def ok(met: bool, bound: str) -> str:
    """Return the bound and whether it is kept."""
    return f"({bound}: {'ok' if met else 'MISSED'})"


def column_outliers(n, d, values, outliers, seed) -> Any:
    """Return an n x n matrix of the paper, 70 % observed."""
    return make_low_rank(
        *(n, n, d),
        outlier_fraction=outliers,
        observed_fraction=0.7,
        singular_values=values,
        random_state=FIRST_SEED + seed,
    )


def corrupted_entries(seed: int) -> tuple[Any, Any]:
    """Return the demonstration in the code of GRASTA's authors: 300 x 300, d = 5, 50 % observed, 10 % of that corrupt.

    Spikes are Gaussian, ten times as large as the largest entry; there is noise of 1e-10 of it.
    """
    rng = np.random.default_rng(FIRST_SEED + seed)
    left = rng.standard_normal((300, 5))
    data = rng.standard_normal((300, 5)) @ left.T
    largest = np.abs(data).max()
    data += 1e-10 * largest * rng.standard_normal(data.shape)
    spikes = 10 * largest * rng.standard_normal(data.shape)
    data = np.where(rng.random(data.shape) < 0.1, data + spikes, data)
    data[rng.random(data.shape) >= 0.5] = np.nan
    return data, np.linalg.qr(left)[0].T


def angles_along(model, problem, n_vectors: int, every: int) -> list[float]:
    """Return the angles to the truth along shuffled passes of a stream."""
    rng, m = np.random.default_rng(0), len(problem.data)
    order = np.concatenate([rng.permutation(m) for _ in range(-(-n_vectors // m))])[:n_vectors]
    return [
        subspace_angle(model.partial_fit(problem.data[order[i : i + every]]).components_, problem.basis)
        for i in range(0, n_vectors, every)
    ]


def grasta_ml(d: int, seed: int) -> GRASTA:
    """Return GRASTA with the multi-level step of its authors, allowed to go on shrinking as in their demonstration."""
    return GRASTA(d, step_size=MultiLevelStep(max_level=50), random_state=seed)


def convergence(options) -> None:
    """GRASTA-ML on the paper's two matrices (figure `convergence`)."""
    print("GRASTA-ML, 2000 x 2000, d = 10, 65 % column outliers, 70 % observed, 10 000 vectors")
    for values, seeds in (((9000, 10000), 2 if options.quick else 5), ((2000, 10000), 2 if options.quick else 10)):
        angles = []
        for s in range(seeds):
            along = angles_along(grasta_ml(10, s), column_outliers(2000, 10, values, 0.65, s), 10_000, 1000)
            angles.append(along[-1])
            print(f"  {values}, seed {s}:", " ".join(f"{a:.0e}" for a in along))
        failed = sum(a > 1e-3 for a in angles)
        if values[0] == 9000:
            print(f"  well-conditioned: worst angle {max(angles):.1e} {ok(max(angles) < 1e-5, 'recovers, below 1e-5')}")
        else:
            print(f"  {values}: above 1e-3 in {failed} of {seeds} {ok(failed == seeds, 'the paper: fails')}")


def entries(options) -> None:
    """GRASTA on corrupted entries, 10 000 vectors as in the demonstration of its authors."""
    seeds = range(3 if options.quick else 10)
    print(f"\ncorrupted entries, the authors' demonstration, 10 000 vectors, {len(seeds)} seeds")
    demonstration = {
        f"mu_max = {mu}, mu_min = 0": MultiLevelStep(mu_max=mu, mu_min=0, max_level=50, max_angle=10)
        for mu in (10, 15, 20)
    }
    for name, rule in {**demonstration, "defaults of the code": "multilevel"}.items():
        angles = []
        for s in seeds:
            data, basis = corrupted_entries(s)
            model = GRASTA(5, step_size=rule, max_passes=33, tol=0, random_state=s).fit(data)
            angles.append(subspace_angle(model.components_, basis))
        worst, median = max(angles), float(np.median(angles))
        print(f"  GRASTA, {name}: median {median:.1e}, worst {worst:.1e} {ok(worst < 1e-6, 'below 1e-6')}")
    angles = []
    for s in seeds:
        data, basis = corrupted_entries(s)
        model = GASG21(5, scaling=False, polish=False, max_passes=33, tol=0, random_state=s).fit(data)
        angles.append(subspace_angle(model.components_, basis))
    print(f"  GASG21, as in the paper, for comparison: median {np.median(angles):.1e}")


def fail(options) -> None:
    """GROUSE under column outliers, and GASG21-DM's rate."""
    print("\n200 x 200, d = 5, singular values 2000 to 10000, 50 % column outliers, 70 % observed, 10 000 vectors")
    seeds = range(3 if options.quick else 10)
    for step_size in ("constant", "greedy"):
        best = []
        for s in seeds:
            problem = column_outliers(200, 5, (2000, 10000), 0.5, 100 + s)
            best.append(min(angles_along(GROUSE(5, step_size=step_size, random_state=s), problem, 10_000, 1000)[2:]))
        print(
            f"  GROUSE, {step_size}: smallest angle reached {min(best):.1e} {ok(min(best) > 1e-2, 'fails, above 1e-2')}"
        )
    clean = make_low_rank(600, 200, 5, observed_fraction=0.7, random_state=FIRST_SEED)
    for step_size in ("constant", "greedy"):
        angle = angles_along(GROUSE(5, step_size=step_size, random_state=0), clean, 600, 600)[-1]
        print(f"  GROUSE, {step_size}, on clean data for comparison: {angle:.1e} after 600 vectors")
    print("\nGASG21-DM, 2000 x 2000, d = 10, 65 % column outliers, 70 % observed: every 2500 of 20 000 vectors")
    for values in ((9000, 10000), (2000, 10000)):
        problem = column_outliers(2000, 10, values, 0.65, 200)
        model = GASG21(10, scaling=False, step_size="diminishing", random_state=0)
        along = angles_along(model, problem, 20_000, 2500)
        halves = along[3] / along[7]
        print(f"  {values}:", " ".join(f"{a:.1e}" for a in along), end="  ")
        print(f"from 10 000 to 20 000 by {halves:.1f} {ok(1.4 < halves < 3, 'like 1 / j: 1.4 to 3')}")


def cost(options) -> None:
    """Time of an update, interleaved, the least of several."""
    print("\nthread time of an update in microseconds, 70 % observed")
    for n, d in ((200, 5), (2000, 5), (2000, 10)):
        data = make_low_rank(200, n, d, outlier_fraction=0.5, observed_fraction=0.7, random_state=FIRST_SEED).data
        losses = {"GASG21": "l21", "GRASTA": _core.L1Loss()}
        best = dict.fromkeys(losses, np.inf)
        for _ in range(3 if options.quick else 7):
            for name, loss in losses.items():
                tracker = _core.Tracker64(n, d, _core.MultiLevelStep(), 1, loss)
                start = time.thread_time()
                tracker.consume(data)
                best[name] = min(best[name], (time.thread_time() - start) / len(data) * 1e6)
        ratio = best["GRASTA"] / best["GASG21"]
        print(f"  n = {n}, d = {d}:", {k: round(v, 1) for k, v in best.items()}, f"ratio {ratio:.1f} (the paper: 4)")


PARTS = {f.__name__: f for f in (convergence, entries, fail, cost)}


def main() -> None:
    """Run the parts named on the command line, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--quick", action="store_true", help="fewer seeds")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name in options.parts or PARTS:
        PARTS[name](options)


if __name__ == "__main__":
    main()
