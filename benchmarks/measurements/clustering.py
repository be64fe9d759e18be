"""What K-GASG21 finds, beside what the paper found and what it must reach. See benchmarks/README.md.

python benchmarks/clustering.py [PART ...] [--quick] [--data PATH]
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.utils import Bunch

from gasg21 import KGASG21, _core
from gasg21.datasets import load_hopkins155, make_union_of_subspaces
from gasg21.exceptions import ConvergenceWarning
from gasg21.metrics import clustering_error

FIRST_SEED = 50_000  # seeds that no setting was chosen on


def paper_problem(outliers: float, seed: int, noise: float = 0.0) -> Any:
    """Return the paper's K = 20 subspaces: 50 inliers of each, outliers added to reach the share."""
    return make_union_of_subspaces(
        *(round(1000 / (1 - outliers)), 100, 3, 20),
        outlier_fraction=outliers,
        observed_fraction=0.7,
        noise=noise,
        random_state=FIRST_SEED + seed,
    )


def ill_conditioned(outliers: float, noise: float, seed: int) -> Any:
    """Return five clusters of condition 30: d = 5, n = 200, 100 members each, 70 % observed."""
    rng = np.random.default_rng(FIRST_SEED + seed)
    bases = [np.linalg.qr(rng.standard_normal((200, 5)))[0].T for _ in range(5)]
    weights = rng.standard_normal((500, 5)) * np.geomspace(1, 30, 5)
    X = np.vstack([weights[100 * k : 100 * k + 100] @ U for k, U in enumerate(bases)])
    X *= 1 / np.sqrt(np.mean(X**2))
    n_outliers = round(500 * outliers / (1 - outliers))
    X = np.vstack([X + noise * rng.standard_normal(X.shape), rng.standard_normal((n_outliers, 200))])
    labels = np.r_[np.repeat(np.arange(5), 100), np.full(n_outliers, -1)]
    order = rng.permutation(len(X))
    mask = rng.random(X.shape) < 0.7
    return Bunch(data=np.where(mask, X[order], np.nan), bases=bases, labels=labels[order])


def angles(found: list[Any], truth: list[Any]) -> Any:
    """Return the angles between the subspaces found and the true ones, best matched."""
    each = np.array(
        [[_core.largest_angle(np.ascontiguousarray(f), np.ascontiguousarray(t)) for t in truth] for f in found]
    )
    return each[linear_sum_assignment(each)]


def least_squares(p: Any) -> Any:
    """Return the angles of alternating least squares on the true members, from the truth."""
    found = []
    for k, basis in enumerate(p.bases):
        X = p.data[p.labels == k]
        observed, filled, U = ~np.isnan(X), np.nan_to_num(X), basis.T
        for _ in range(12):
            W = np.array([np.linalg.lstsq(U[o], x[o], rcond=None)[0] for o, x in zip(observed, filled, strict=True)])
            U = np.array(
                [np.linalg.lstsq(W[o], x[o], rcond=None)[0] for o, x in zip(observed.T, filled.T, strict=True)]
            )
        found.append(np.linalg.qr(U)[0].T)
    return angles(found, p.bases)


def ok(value: float, bound: float) -> str:
    """Return the bound and whether the value keeps it."""
    return f"(bound {bound:g}, {'ok' if value <= bound else 'MISSED'})"


def stream_alone(p: Any, seed: int, updates: int, **parameters) -> Any:
    """Return the angles after so many updates without polish."""
    passes = round(updates / len(p.data))
    model = KGASG21(20, 3, polish=False, tol=0, max_passes=passes, random_state=seed, **parameters)
    return angles(model.fit(p.data).subspaces_, p.bases)


def paper(options) -> None:
    """Reproduce the paper's tables over Q and over outliers."""
    seeds = range(2 if options.quick else 10)
    print(f"K = 20, d = 3, n = 100, 30 % missing, stream alone, {len(seeds)} seeds; mean of worst, median, mean angles")
    print("  init farthest, scaling=False (the paper's algorithm), 50 % outliers, 40 000 updates:")
    bounds = {10: (5e-6, 1e-8, "1.95e-7 6.4e-9 2.0e-8"), 20: (2e-7, 1e-8, "8.6e-8 5.4e-9 1.3e-8")}
    told = {2: "1.17 2.4e-8 1.6e-1", 4: "5.8e-1 8.5e-9 7.1e-2", 6: "2.4e-1 6.2e-9 3.3e-2", 8: "2.9e-1 4.6e-9 1.5e-2"}
    for q in (2, 4, 6, 8, 10, 20):
        a = np.array(
            [
                stream_alone(paper_problem(0.5, s), s, 40_000, init="farthest", scaling=False, n_candidates=20 * q)
                for s in seeds
            ]
        )
        worst, median, mean = a.max(1).mean(), np.median(a, 1).mean(), a.mean()
        line = f"    Q = {q} K: {worst:.1e} {median:.1e} {mean:.1e}"
        if q in bounds:
            print(f"{line} {ok(worst, bounds[q][0])} median {ok(median, bounds[q][1])} paper {bounds[q][2]}")
        else:
            print(f"{line} paper {told[q]}")
    print("  init density, largest angle over the seeds:")
    for outliers, q, updates, bound in (
        (0.1, 2, 40_000, 1e-12),
        (0.3, 2, 40_000, 1e-12),
        (0.5, 3, 40_000, 1e-12),
        (0.7, 3, 40_000, 1e-6),
        (0.7, 3, 80_000, 1e-12),
    ):
        a = [stream_alone(paper_problem(outliers, s), s, updates, n_candidates=20 * q).max() for s in seeds]
        kept = sum(x <= bound for x in a)
        print(
            f"    {outliers:.0%} outliers, Q = {q} K, {updates} updates: {max(a):.1e} {ok(max(a), bound)}, "
            f"{kept} of {len(a)}"
        )


def polish(options) -> None:
    """Fits with polish beside least squares on the true members."""
    seeds = range(2 if options.quick else 5)
    print(f"\nfit with defaults, {len(seeds)} seeds: worst angle over that of least squares on the true members")
    for outliers in (0.5, 0.7, 0.8):
        ratio = []
        for s in seeds:
            p = paper_problem(outliers, s, noise=0.01)
            model = KGASG21(20, 3, random_state=s).fit(p.data)
            ratio.append(angles(model.subspaces_, p.bases).max() / least_squares(p).max())
        print(f"  K = 20, noise 0.01, {outliers:.0%} outliers: {max(ratio):.3f} {ok(max(ratio), 1.15)}")
    for noise in (0.0, 0.01):
        lost, worst = 0, []
        for s in seeds:
            p = ill_conditioned(0.5, noise, s)
            a = angles(KGASG21(5, 5, random_state=s).fit(p.data).subspaces_, p.bases)
            lost += int((a > 0.3).sum())
            worst.append(a.max())
        print(
            f"  K = 5, d = 5, condition 30 in each cluster, 50 % outliers, noise {noise}: worst {max(worst):.1e}, "
            f"lost {lost} {ok(lost, 0)}"
        )


def random_starts(options) -> None:
    """Show whether the repair finds all subspaces from random starts."""
    seeds = range(3 if options.quick else 10)
    print(f"\n{len(seeds)} random starts, K = 20, noise 0.01: runs in which a subspace is lost")
    for outliers in (0.5, 0.7, 0.8):
        lost, short = 0, 0
        for s in seeds:
            p = paper_problem(outliers, s, noise=0.01)
            rng = np.random.default_rng(s)
            start = [np.linalg.qr(rng.standard_normal((100, 3)))[0].T for _ in range(20)]
            model = KGASG21(20, 3, init=start, random_state=s).fit(p.data)
            lost += bool((angles(model.subspaces_, p.bases) > 0.1).any())
            few = KGASG21(20, 3, n_candidates=20, random_state=s).fit(p.data)
            short += bool((angles(few.subspaces_, p.bases) > 0.1).any())
        print(f"  {outliers:.0%} outliers: {lost} {ok(lost, 0)}; with Q = K candidates {short} {ok(short, 0)}")


def labels(options) -> None:
    """Outliers found by reject_outliers."""
    seeds = range(2 if options.quick else 5)
    print(f"\nreject_outliers=True, K = 20, {len(seeds)} seeds: least precision, recall; most inliers called outliers")
    for outliers in (0.0, 0.3, 0.5, 0.7):
        for noise in (0.0, 0.01, 0.1):
            precision, recall, false = [], [], []
            for s in seeds:
                p = paper_problem(outliers, s, noise=noise)
                said = KGASG21(20, 3, reject_outliers=True, random_state=s).fit_predict(p.data) == -1
                true = p.labels == -1
                precision.append((said & true).sum() / max(said.sum(), 1) if outliers else 1 - said.mean())
                recall.append((said & true).sum() / true.sum() if outliers else 1.0)
                false.append((said & ~true).sum() / (~true).sum())
            least = min(*precision, *recall)
            print(
                f"  {outliers:.0%} outliers, noise {noise}: {min(precision):.4f} {min(recall):.4f}; {max(false):.4f} "
                f"(bound 0.99, {'ok' if least >= 0.99 else 'MISSED'})"
            )


def sequences(options) -> list[Any]:
    """Return the motion sequences, or none with a word why."""
    root = Path(options.data or "", "hopkins155")
    if not options.data or not root.is_dir():
        print("\nHopkins 155: not run; --data or GASG21_DATA must point at a directory with hopkins155")
        return []
    return list(load_hopkins155(root))


def motion_errors(data: list[Any], seeds: range, change=None, **parameters) -> tuple[float, float, float]:
    """Return mean errors in per cent for two and three motions, and seconds a sequence."""
    errors: dict[int, list[float]] = {2: [], 3: []}
    began = time.perf_counter()
    for sequence in data:
        for s in seeds:
            X, truth = (sequence.data, sequence.labels) if change is None else change(sequence, s)
            found = KGASG21(sequence.n_motions, 4, random_state=s, **parameters).fit_predict(X)
            errors[sequence.n_motions].append(100 * clustering_error(truth, found, outlier_label=-1))
    seconds = (time.perf_counter() - began) / len(data) / len(seeds)
    return float(np.mean(errors[2])), float(np.mean(errors[3])), seconds


def with_outliers(sequence: Any, seed: int) -> tuple[Any, Any]:
    """Return a sequence with 30 % Gaussian outliers of the data's own scale."""
    rng = np.random.default_rng(FIRST_SEED + seed)
    count = round(0.3 / 0.7 * len(sequence.data))
    scale = np.sqrt(np.mean(sequence.data**2))
    X = np.vstack([sequence.data, scale * rng.standard_normal((count, sequence.data.shape[1]))])
    truth = np.r_[sequence.labels, np.full(count, -1)]
    order = rng.permutation(len(X))
    return X[order], truth[order]


def with_missing(sequence: Any, seed: int) -> tuple[Any, Any]:
    """Return a sequence with 30 % of the entries of each trajectory hidden."""
    rng = np.random.default_rng(FIRST_SEED + seed)
    return np.where(rng.random(sequence.data.shape) < 0.7, sequence.data, np.nan), sequence.labels


def hopkins(options) -> None:
    """Motion segmentation."""
    data = sequences(options)
    if not data:
        return
    seeds = range(1 if options.quick else 5)
    print(f"\nHopkins 155, {len(data)} sequences, d = 4, {len(seeds)} runs: mean error %, two and three motions")
    print("  (the paper, all 155: 2.42 and 5.16; with 30 % outliers 6.42 and 13.47; LRR 1.33 and 2.51)")
    best = {"whiten": True, "n_ensemble": 20}
    for name, change, parameters, bounds in (
        ("one run", None, {}, (2.5, 5.0)),
        ("the paper's algorithm", None, {"init": "farthest", "scaling": False, "polish": False}, None),
        ("whiten, one run", None, {"whiten": True}, None),
        ("whiten, ensemble of 20", None, best, (0.5, 1.0)),
        ("whiten, ensemble of 20, 30 % outliers", with_outliers, best, (0.8, 1.5)),
        ("one run, 30 % outliers", with_outliers, {}, None),
        ("one run, 30 % of the entries missing", with_missing, {}, None),
        ("whiten, ensemble of 20, 30 % of the entries missing", with_missing, best, None),
    ):
        two, three, seconds = motion_errors(data, seeds, change, **parameters)
        said = "" if bounds is None else f" {ok(two, bounds[0])} {ok(three, bounds[1])}"
        print(f"  {name}: {two:.2f} {three:.2f}{said}, {seconds:.2f} s a sequence", flush=True)


def time_phases(options) -> None:
    """Seconds per phase, beside the paper's and the NumPy oracle's."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    import reference

    p = paper_problem(0.5, 0)
    runs = []
    for s in range(3):
        model = KGASG21(*(20, 3), init="farthest", n_candidates=200, scaling=False, polish=False, tol=0, random_state=s)
        runs.append(model.fit(p.data).timings_)
    ours = {phase: min(run[phase] for run in runs) for phase in runs[0]}
    part = 2000 if not options.quick else 200  # of the 40 000 updates
    began = time.perf_counter()
    candidates = reference.farthest_insertion(p.data, 200, 3, np.random.default_rng(0))
    seeded = time.perf_counter()
    step = 10 if options.quick else 1  # of the samples
    E = np.array([reference.residuals_to(U, p.data[::step]) for U in candidates])
    chosen = reference.greedy_selection(E, 20)
    selected = time.perf_counter()
    rules = [reference.AdaptiveStepReference(eta0=0.1) for _ in range(20)]
    reference.k_gasg21([candidates[q] for q in chosen], p.data[:part], rules)
    refined = time.perf_counter()
    oracle = {
        "seed": seeded - began,
        "select": (selected - seeded) * step,
        "refine": (refined - selected) * 40_000 / part,
    }
    told = {"seed": 3.97, "select": 3.27, "refine": 8.23}
    print("\nseconds per phase, K = 20, m = 2000, n = 100, Q = 200, 40 000 updates")
    for phase in told:
        print(f"  {phase}: {ours[phase]:.3f}; NumPy oracle {oracle[phase]:.1f}; the paper {told[phase]}")
    ratio = sum(oracle.values()) / sum(ours.values())
    print(f"  the whole fit: {ratio:.0f} times faster than the oracle (bound 40, {'ok' if ratio >= 40 else 'MISSED'})")
    print(f"  (the oracle's updates are those of {part} vectors, times {40_000 // part})")


@contextmanager
def peak_memory() -> Iterator[dict[str, float]]:
    """Watch the resident memory of this process; "peak" is the most bytes above what there were at first."""

    def resident() -> float:
        return int(Path("/proc/self/statm").read_text().split()[1]) * float(os.sysconf("SC_PAGE_SIZE"))

    memory, first, over = {"peak": 0.0}, resident(), threading.Event()

    def watch() -> None:
        while not over.wait(0.005):
            memory["peak"] = max(memory["peak"], resident() - first)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield memory
    finally:
        over.set()
        watcher.join()


def growth(options) -> None:
    """Time against m and n, and memory at m = 100 000."""
    print("\ncost of a fit with defaults, K = 20, d = 3, 50 % outliers, 70 % observed")
    for n, m in ((100, 5000), (100, 10_000), (100, 20_000), (200, 10_000), (400, 10_000)):
        p = make_union_of_subspaces(m, n, 3, 20, outlier_fraction=0.5, observed_fraction=0.7, random_state=1)
        model = KGASG21(20, 3, random_state=0, max_passes=6).fit(p.data)
        per_pass = model.timings_["refine"] / model.n_passes_
        print(
            f"  n = {n}, m = {m}: seed {model.timings_['seed']:.2f} s, select {model.timings_['select']:.2f} s, refine "
            f"{per_pass:.2f} s a pass, {1e6 * per_pass / m:.1f} us a sample"
        )
    if options.quick:
        return
    p = make_union_of_subspaces(100_000, 100, 3, 20, outlier_fraction=0.5, observed_fraction=0.7, random_state=1)
    with peak_memory() as memory:
        model = KGASG21(20, 3, random_state=0).fit(p.data)
    beyond = memory["peak"] / 1e9
    worst = angles(model.subspaces_, p.bases).max()
    print(
        f"  n = 100, m = 100 000: {sum(model.timings_.values()):.1f} s, worst angle {worst:.1e}, memory beyond the "
        f"data {1000 * beyond:.0f} MB {ok(beyond, 1)} (in GB)"
    )


PARTS = {f.__name__: f for f in (paper, polish, random_starts, labels, hopkins, time_phases, growth)}


def main() -> None:
    """Run the parts named on the command line, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--quick", action="store_true", help="fewer seeds")
    parser.add_argument("--data", default=os.environ.get("GASG21_DATA"), help="directory with hopkins155")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name in options.parts or PARTS:
        PARTS[name](options)


if __name__ == "__main__":
    main()
