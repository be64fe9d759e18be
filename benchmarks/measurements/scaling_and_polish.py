"""What scaling and polish add to the paper, beside what they must reach. See benchmarks/README.md.

python benchmarks/beyond.py [PART ...] [--quick] [--data PATH] [--figures DIRECTORY]
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from gasg21 import GASG21, _core
from gasg21.datasets import make_low_rank
from gasg21.exceptions import ConvergenceWarning
from gasg21.metrics import relative_residual, subspace_angle

FIRST_SEED = 40_000  # seeds that no setting was chosen on


def problem(m, n, d, *, condition=1, outliers=0.5, observed=0.7, noise=0.0, seed=0) -> Any:
    """Return a synthetic problem with geometric singular values."""
    return make_low_rank(
        *(m, n, d),
        outlier_fraction=outliers,
        observed_fraction=observed,
        singular_values=np.geomspace(1, condition, d),
        noise=noise,
        random_state=FIRST_SEED + seed,
    )


def ok(value: float, bound: float) -> str:
    """Return the bound and whether the value keeps it."""
    return f"(bound {bound:g}, {'ok' if value <= bound else 'MISSED'})"


def vectors_to(data: Any, scaling: bool, limit: int, seed: int) -> float:
    """Return the vectors of a stream until the angle to the truth is 1e-6."""
    m = len(data.data)
    model = GASG21(len(data.basis), scaling=scaling, random_state=seed).partial_fit(data.data[:1])
    tracker, used = model._tracker, 0
    while used < limit:
        order = tracker.permutation(m)
        for start in range(0, m, 100):
            tracker.consume(data.data, None, order[start : start + 100])
            used += 100
            if _core.largest_angle(tracker.components(), data.basis) <= 1e-6:
                return used
    return np.inf


def stream(options) -> None:
    """Vectors to 1e-6 of the scaled stream."""
    seeds = range(3 if options.quick else 8)
    print(f"scaled stream, vectors to 1e-6, median (largest) of {len(seeds)} seeds, n = 500, m = 1000, d = 5")
    bounds = {0.5: (1300, 1500, 3300, 4500), 0.65: (2000, 2500, 6500, 8000)}
    for outliers, row in bounds.items():
        for condition, bound in zip((1, 10, 100, 1000), row, strict=True):
            used = [
                vectors_to(problem(1000, 500, 5, condition=condition, outliers=outliers, seed=s), True, 30_000, s)
                for s in seeds
            ]
            print(
                f"  {outliers:.0%} outliers, condition {condition}: {np.median(used):.0f} ({max(used):.0f}) {ok(np.median(used), bound)}"
            )
    used = [vectors_to(problem(1000, 500, 5, condition=5, observed=0.2, seed=s), True, 30_000, s) for s in seeds]
    print(f"  20 % observed, condition 5: {np.median(used):.0f} ({max(used):.0f}) {ok(np.median(used), 4000)}")
    used = [
        vectors_to(problem(2000, 2000, 10, condition=100, outliers=0.65, seed=s), True, 30_000, s)
        for s in list(seeds)[:3]
    ]
    print(f"  2000 x 2000, d = 10, 65 % outliers, condition 100: {np.median(used):.0f} {ok(np.median(used), 9000)}")


NOISE_FREE = {
    **{
        f"{o:.0%} outliers, condition {c}": {"m": 1000, "n": 500, "d": 5, "condition": c, "outliers": o}
        for o in (0.5, 0.65)
        for c in (1, 10, 100, 1000)
    },
    "d = 10, 80 % outliers, condition 30": {"m": 1000, "n": 500, "d": 10, "condition": 30, "outliers": 0.8},
    "10 % observed, condition 10": {"m": 1000, "n": 500, "d": 5, "condition": 10, "observed": 0.1},
    "n = 200, 90 % outliers": {"m": 1000, "n": 200, "d": 5, "outliers": 0.9},
    "100 x 200, condition 100, full": {"m": 200, "n": 100, "d": 5, "condition": 100, "observed": 1.0},
}


def noise_free(options) -> None:
    """Angles of fits of noise-free data."""
    seeds = range(3 if options.quick else 10)
    for tol in (1e-6, 1e-10):
        print(f"\nfit, noise-free, tol = {tol:g}: largest angle of {len(seeds)} seeds, how many converged, most passes")
        for name, case in NOISE_FREE.items():
            angles, converged, passes = [], 0, 0
            for s in seeds:
                data = problem(**case, seed=s)
                model = GASG21(case["d"], tol=tol, random_state=s).fit(data.data)
                angles.append(subspace_angle(model.components_, data.basis))
                converged += model.converged_
                passes = max(passes, model.n_passes_)
            print(f"  {name}: {max(angles):.1e} {ok(max(angles), tol)} {converged} of {len(seeds)}, {passes} passes")


def least_squares(data: Any) -> float:
    """Return the angle that alternating least squares on the true inliers reaches, from the truth."""
    X, M, U = np.nan_to_num(data.data[data.inlier]), data.mask[data.inlier].astype(float), data.basis.T
    for _ in range(15):
        W = np.linalg.solve(np.einsum("mi,ia,ib->mab", M, U, U, optimize=True), (X @ U)[..., None])[..., 0]
        U = np.linalg.solve(np.einsum("mi,ma,mb->iab", M, W, W, optimize=True), (X.T @ W)[..., None])[..., 0]
    return subspace_angle(U.T, data.basis)


def noisy(options) -> list[tuple[float, int, float, float, float]]:
    """Angles of fits under noise, beside least squares on the true inliers."""
    print(
        "\nfit under noise, n = 500, m = 5000, d = 5, 50 % outliers, 70 % observed: angle / least squares on the true"
    )
    print(
        "inliers (at most 1.1 where that is below 0.1), estimated / true angle (within 1.5), polish passes (at most 10)"
    )
    rows = []
    for noise in (1e-3, 1e-2, 1e-1):
        for condition in (1, 10, 100):
            data = problem(5000, 500, 5, condition=condition, noise=noise, seed=int(condition))
            model = GASG21(5, random_state=0).fit(data.data)
            stream_only = GASG21(5, polish=False, random_state=0).fit(data.data)
            angle, best = subspace_angle(model.components_, data.basis), least_squares(data)
            passes = sum(record["stage"] == "polish" for record in model.history_)
            rows.append((noise, condition, angle, best, subspace_angle(stream_only.components_, data.basis)))
            print(
                f"  noise {noise:g}, condition {condition}: {angle:.2e} / {best:.2e} = {angle / best:.3f}, "
                f"{model.estimated_angle_ / angle:.2f}, {passes}, {model.status_}"
            )
    return rows


HONESTY: list[dict[str, Any]] = [
    {"n": 200, "m": 1000, "d": 5},
    {"n": 200, "m": 1000, "d": 5, "outliers": 0.8, "noise": 0.1},
    {"n": 200, "m": 1000, "d": 5, "noise": 0.5},
    {"n": 500, "m": 1000, "d": 5, "noise": 0.1, "condition": 10},
    {"n": 200, "m": 1000, "d": 5, "outliers": 0.3, "observed": 0.07},
    {"n": 200, "m": 1000, "d": 5, "outliers": 0.3, "observed": 0.07, "noise": 0.1},
    {"n": 200, "m": 1000, "d": 5, "outliers": 0.9},
    {"n": 200, "m": 1000, "d": 5, "outliers": 0.95},
    {"n": 100, "m": 200, "d": 5, "condition": 100, "observed": 1.0},
    {"n": 500, "m": 1000, "d": 10, "outliers": 0.8, "condition": 30},
    {"n": 500, "m": 1000, "d": 5, "outliers": 0.8, "condition": 100, "noise": 0.01},
    {"n": 30, "m": 300, "d": 3, "outliers": 0.3, "observed": 0.8},
    {"n": 20, "m": 500, "d": 2, "outliers": 0.3, "observed": 1.0, "noise": 0.05},
    # the two on which fits went wrong during development
    {"n": 10, "m": 300, "d": 2, "outliers": 0.3, "observed": 1.0, "noise": 0.05},
    {"n": 200, "m": 300, "d": 5, "outliers": 0.8, "observed": 0.3, "noise": 0.3},
    {"n": 200, "m": 400, "d": 5, "outliers": 0.3, "observed": 0.07},
    {"n": 200, "m": 600, "d": 5, "outliers": 0.3, "observed": 0.07},
    {"n": 200, "m": 200, "d": 5, "outliers": 0.3, "observed": 0.07},
    {"n": 200, "m": 200, "d": 5, "outliers": 0.3, "observed": 0.07, "noise": 0.1},
    {"n": 200, "m": 1000, "d": 5, "outliers": 0.3, "observed": 0.04},
    {"n": 200, "m": 1000, "d": 5, "outliers": 1.0},
    {"n": 200, "m": 1000, "d": 5, "outliers": 1.0, "observed": 0.07},
    {"n": 200, "m": 1000, "d": 5, "fitted": 8},
    {"n": 200, "m": 1000, "d": 5, "fitted": 8, "noise": 0.1},
]


def honesty(options) -> None:
    """Whether fits that went wrong say so."""
    seeds = range(2 if options.quick else 25)
    count: Counter[str] = Counter()
    for case in HONESTY:
        parameters = {key: value for key, value in case.items() if key != "fitted"}
        for s in seeds:
            data = problem(**parameters, seed=1000 + s)
            model = GASG21(case.get("fitted", case["d"]), random_state=s).fit(data.data)
            # with too many dimensions, and with outliers only, there is no right answer
            hopeless = "fitted" in case or case.get("outliers") == 1.0
            angle = np.pi / 2 if hopeless else subspace_angle(model.components_, data.basis)
            count["runs"] += 1
            count["good"] += angle < 0.3
            count["converged above 0.8"] += model.converged_ and angle > 0.8
            count["converged above 0.3"] += model.converged_ and angle > 0.3
            count["good called undetermined"] += angle < 0.3 and model.status_ == "undetermined"
    print(f"\nhonesty, {len(HONESTY)} problems, solvable, hard and hopeless: {dict(count)}")
    print(f"  converged with an angle above 0.8: {count['converged above 0.8']} {ok(count['converged above 0.8'], 0)}")
    share = count["converged above 0.3"] / count["runs"]
    print(f"  converged with an angle above 0.3: {share:.1%} of the runs {ok(share, 0.02)}")
    share = count["good called undetermined"] / count["good"]
    print(f"  good fits called undetermined: {share:.1%} {ok(share, 0.01)}")


def labels(options) -> None:
    """Precision and recall of predict."""
    print(
        "\npredict, n = 500, m = 1000, d = 5, 70 % observed: precision, recall (at least 0.99), false alarms (at most 0.01)"
    )
    for noise in (0, 0.01, 0.1):
        for outliers in (0, 0.3, 0.65, 0.8):
            data = problem(1000, 500, 5, outliers=outliers, noise=noise, seed=7)
            flagged, outlier = GASG21(5, random_state=0).fit_predict(data.data) == -1, ~data.inlier
            hit = (flagged & outlier).sum()
            precision = hit / flagged.sum() if flagged.any() else 1.0
            recall = hit / outlier.sum() if outlier.any() else 1.0
            alarms = (flagged & ~outlier).sum() / (~outlier).sum()
            print(f"  noise {noise}, {outliers:.0%} outliers: {precision:.4f}, {recall:.4f}, {alarms:.4f}")


def dimension(options) -> None:
    """How often n_components="auto" is right."""
    rng, right, runs = np.random.default_rng(FIRST_SEED), 0, 8 if options.quick else 40
    for s in range(runs):
        d, condition = (2, 5, 10)[s % 3], (1, 3, 10, 30)[s % 4]
        outliers, observed, noise = rng.choice([0, 0.3, 0.5, 0.65]), rng.choice([0.5, 0.7, 1.0]), rng.choice([0, 0.01])
        data = problem(1000, 200, d, condition=condition, outliers=outliers, observed=observed, noise=noise, seed=s)
        right += GASG21("auto", random_state=s).fit(data.data).n_components_ == d
    print(f'\nn_components="auto": right in {right} of {runs} runs {ok(0.95 * runs - right, 0)}')


def faces(options) -> None:
    """Residuals of the paper's face experiment."""
    path = Path(options.data or "", "faces.npz")
    if not path.is_file():
        print("\nfaces: not run; --data or GASG21_DATA must point at a directory with faces.npz")
        return
    archive = np.load(path)
    people = archive["faces"].reshape(len(archive["faces"]), -1, 900).astype(float)
    background = archive["background"].reshape(-1, 900)[:400].astype(float)
    seeds = range(2 if options.quick else 8)
    print(f"\nfaces, d = 9, mean residual over the people, {len(seeds)} seeds (the paper: GASG21 0.158, REAPER 0.146)")
    for parameters, bound in (({}, 0.156), ({"working_components": 18}, 0.140)):
        means, flagged, auc = [], [], []
        for seed in seeds:
            residuals = []
            for person in people:
                model = GASG21(9, random_state=seed, **parameters).fit(np.vstack([person, background]))
                residuals.append(relative_residual(person, model.inverse_transform(model.transform(person))))
                scores = [model.score_samples(part) for part in (person, background)]
                auc.append(np.mean(scores[0][:, None] > scores[1][None]))
                flagged.append([np.mean(model.predict(part) == -1) for part in (person, background)])
            means.append(np.mean(residuals))
        mean, share = float(np.mean(means)), np.mean(flagged, axis=0)
        print(f"  {parameters or 'defaults'}: {mean:.4f} ({min(means):.4f} to {max(means):.4f}) {ok(mean, bound)}")
        print(
            f"    flagged: {share[0]:.1%} of the faces, {share[1]:.1%} of the photographs; area under ROC {np.mean(auc):.2f}"
        )


def tracking(options) -> None:
    """How a stream follows a change, and survives a storm of outliers."""
    print("\ntracking, n = 500, d = 5, 50 % outliers, 70 % observed, scaled partial_fit")
    for noise in (0.0, 1e-3, 1e-2):
        before, after = (problem(6000, 500, 5, noise=noise, seed=s) for s in (20, 21))
        model = GASG21(5, random_state=0).partial_fit(before.data).partial_fit(before.data)
        settled = subspace_angle(model.components_, before.basis)
        model.partial_fit(np.random.default_rng(0).standard_normal((5000, 500)))
        storm = subspace_angle(model.components_, before.basis)
        model.partial_fit(before.data[:3000])
        again = subspace_angle(model.components_, before.basis)
        used, target = 0, max(1e-3, 5 * noise)
        while used < 6000 and subspace_angle(model.components_, after.basis) > target:
            model.partial_fit(after.data[used : used + 100])
            used += 100
        print(
            f"  noise {noise:g}: settled {settled:.0e}, after 5000 outliers {storm:.0e}, 3000 vectors later {again:.0e}; "
            f"another subspace to {target:g} in {used} vectors {ok(used, 3000)}"
        )


def cost(options) -> None:
    """Time of a scaled update and of a polish pass, interleaved, the least of several."""
    data = problem(1000, 2000, 10, condition=5, seed=30)
    metrics = {"paper": _core.NoScaling(), "scaled": _core.CovarianceScaling()}
    best = dict.fromkeys(("paper", "scaled", "polish, 1 thread", "polish, 2 threads"), np.inf)
    for _ in range(3 if options.quick else 7):
        for name, metric in metrics.items():
            tracker = _core.Tracker64(2000, 10, _core.AdaptiveStep(), 0, "l21", metric)
            start = time.perf_counter()
            tracker.consume(data.data)
            best[name] = min(best[name], time.perf_counter() - start)
        for threads in (1, 2):
            polisher = _core.Polisher64(tracker.components(), 1000, threads)
            start = time.perf_counter()
            polisher.fit(data.data, None, 0)
            polisher.weigh()
            polisher.add(data.data, None, 0)
            polisher.update()
            name = f"polish, {threads} thread{'s' * (threads > 1)}"
            best[name] = min(best[name], time.perf_counter() - start)
    print(
        "\ncost, n = 2000, d = 10, 70 % observed, microseconds a sample:",
        {k: round(v * 1e3, 1) for k, v in best.items()},
    )
    ratio = best["scaled"] / best["paper"]
    print(f"  scaled / paper update: {ratio:.2f} {ok(ratio, 1.25)}")
    ratio = best["polish, 1 thread"] / best["scaled"]
    print(f"  polish pass / pass of updates, one thread: {ratio:.2f} {ok(ratio, 1.5)}")
    ratio = best["polish, 2 threads"] / best["polish, 1 thread"]
    print(f"  polish on two threads / one: {ratio:.2f} {ok(ratio, 1 / 1.6)}")


def figures(options) -> None:
    """Draw the two figures of docs/two_stages.md."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    conditions = [1, 3, 10, 30, 100, 300, 1000]
    figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    for scaling, color, name in ((True, "#2471a3", "scaled"), (False, "#95a5a6", "the paper")):
        used = [
            np.median([vectors_to(problem(1000, 500, 5, condition=c, seed=s), scaling, 30_000, s) for s in range(5)])
            for c in conditions
        ]
        ax.loglog(conditions, np.minimum(used, 30_000), "o-", color=color, label=name)
    ax.axhline(30_000, color="k", lw=0.8, ls=":")
    ax.text(1, 27_500, "not reached", va="top", fontsize="small")
    ax.set(xlabel="condition number of the inliers", ylabel="vectors to an angle of 1e-6")
    ax.set_title("Stream: 500 features, d = 5, 50 % outliers, 30 % missing", fontsize="medium")
    ax.grid(alpha=0.3, which="both")
    ax.legend(frameon=False)
    figure.savefig(Path(options.figures, "condition.png"), dpi=110)

    rows = np.array(noisy(options))
    figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    for condition, marker in ((1, "o"), (10, "s"), (100, "^")):
        part = rows[rows[:, 1] == condition]
        ax.loglog(
            part[:, 0], part[:, 4], marker + ":", color="#95a5a6", label="stream alone" if condition == 1 else None
        )
        ax.loglog(
            part[:, 0],
            part[:, 3],
            "-",
            color="#2c3e50",
            lw=4,
            alpha=0.3,
            label="least squares on the true inliers" if condition == 1 else None,
        )
        ax.loglog(part[:, 0], part[:, 2], marker + "-", color="#2471a3", label=f"fit, condition {condition}")
    ax.set(xlabel="noise, relative to the length of the samples", ylabel="angle to the true subspace [rad]")
    ax.set_title("500 features, 5000 samples, d = 5, 50 % outliers, 30 % missing", fontsize="medium")
    ax.grid(alpha=0.3, which="both")
    ax.legend(frameon=False, fontsize="small")
    figure.savefig(Path(options.figures, "noise.png"), dpi=110)


PARTS = {f.__name__: f for f in (stream, noise_free, noisy, honesty, labels, dimension, faces, tracking, cost)}


def main() -> None:
    """Run the parts named on the command line, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--quick", action="store_true", help="fewer seeds")
    parser.add_argument("--data", default=os.environ.get("GASG21_DATA"), help="directory with faces.npz")
    parser.add_argument("--figures", metavar="DIRECTORY", help="draw the figures of the documentation instead")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    warnings.simplefilter("ignore", ConvergenceWarning)
    if options.figures:
        figures(options)
        return
    for name in options.parts or PARTS:
        PARTS[name](options)


if __name__ == "__main__":
    main()
