"""What the experiments on motion segmentation share: methods, errors by category, claims and tables."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.experiments._judge import judge
from benchmarks.experiments._union import FIRST_STEP
from benchmarks.framework import data
from benchmarks.framework.experiment import Claim, Context, Table, Verdict
from gasg21 import KGASG21
from gasg21.baselines import LBF, LRR, SSC
from gasg21.exceptions import ConvergenceWarning
from gasg21.metrics import clustering_error

D = 4
CATEGORIES = {"checkerboard": "Checker", "traffic": "Traffic", "articulated": "Articulated"}
ALL = {2: (78, 31, 11), 3: (26, 7, 2)}  # sequences of each category in the whole data set
ENOUGH = 40  # sequences needed for a verdict
QUICK = ("1R2RC", "articulated_g13", "kanatani2", "2T3RCR_g12")

Paper = dict[int, dict[str, tuple[float, ...]]]  # the paper's table: motions -> method -> mean, median by category
Make = Callable[[int, int, int], Any]  # from the number of motions, the number of samples and a seed


def paper_mode(q: int) -> Make:
    """Return the paper's algorithm with q candidates per motion and 20 passes."""
    return lambda K, m, seed: KGASG21(
        K, D, init="farthest", n_candidates=q * K, metric="canonical", polish=False, tol=0, random_state=seed
    )


def scaled(q: int) -> Make:
    """Return our defaults with q candidates per motion."""
    return lambda K, m, seed: KGASG21(K, D, n_candidates=q * K, random_state=seed)


def lbf(q: int) -> Make:
    """Return LBF with linear subspaces of dimension 4, like the others, and q candidates per motion, at most one per sample."""
    return lambda K, m, seed: LBF(K, D, affine=False, n_candidates=min(q * K, m), random_state=seed)


PAPER_MODE, SCALED = "paper mode", "scaled"
LBF_70, LBF_200, LRR_NAME = "Baseline-LBF (Q=70K)", "LBF (Q=200K)", "LRR"
WHITEN, ENSEMBLE = "K-GASG21, whiten=True", "K-GASG21, whiten=True, n_ensemble=20"
OTHERS: dict[str, Make] = {
    LBF_70: lbf(70),
    LBF_200: lbf(200),
    LRR_NAME: lambda K, m, seed: LRR(K, lam=4, affine=True, random_state=seed),
    "LBF, affine flats of dimension 3": lambda K, m, seed: LBF(K, 3, random_state=seed),
    "SSC": lambda K, m, seed: SSC(K, alpha=800, affine=True, keep=0.7, random_state=seed),
    WHITEN: lambda K, m, seed: KGASG21(K, D, whiten=True, random_state=seed),
    ENSEMBLE: lambda K, m, seed: KGASG21(K, D, whiten=True, n_ensemble=20, random_state=seed),
}
ONCE = (LRR_NAME, "SSC", ENSEMBLE)  # not random, or almost not
ONCE_NOTE = "; LRR, SSC and the ensemble once"
SETTINGS = {
    "d": D,
    "ours, paper mode": "init='farthest', metric='canonical', polish=False, n_candidates=Q, 20 passes; " + FIRST_STEP,
    "ours, scaled": "defaults, n_candidates=Q",
    "LBF": "LBF(K, 4, affine=False), Q at most the number of samples",
    "LRR": "LRR(K, lam=4, affine=True), its authors' setting",
    "SSC": "SSC(K, alpha=800, affine=True, keep=0.7), its authors' setting",
    "runs": "5 of each, as in the paper; LRR, SSC and the ensemble 1",
    "time": "CPU seconds of one run over all sequences, one BLAS thread, methods alternate",
}
CHOSEN = "whiten and n_ensemble are ours; their settings were chosen on these sequences, so their errors are too optimistic (docs/clustering.md)."


def name_of(q: int) -> str:
    """Return the name of a row in the paper."""
    return f"K-GASG21 (Q={'' if q == 1 else q}K)"


def load(context: Context) -> list[Any]:
    """Return the available sequences, a few of them in quick mode."""
    found = data.motions(context.data)
    some = [sequence for sequence in found if sequence.name in QUICK]
    return (some or found[:4]) if context.quick else found


def methods(qs: list[int]) -> dict[str, Make]:
    """Return all methods by their names."""
    ours = {f"{name_of(q)}, {mode}": make(q) for q in qs for mode, make in ((PAPER_MODE, paper_mode), (SCALED, scaled))}
    return ours | OTHERS


def measure(context: Context, qs: list[int], change: Callable[[Any, int], tuple[Any, Any]]) -> dict[str, Any]:
    """Return the error of each method on each sequence in per cent, mean over the runs, and seconds of one run over all.

    ``change`` returns samples and labels from a sequence and a seed.
    """
    sequences = load(context)
    runs = 1 if context.quick else context.seeds
    errors: dict[str, list[float]] = {}
    seconds: dict[str, float] = {}
    makers = methods(qs)
    for i, sequence in enumerate(sequences):
        if i % 10 == 0:
            context.say(f"sequence {i + 1} of {len(sequences)}")
        for name, make in makers.items():
            seeds = [context.seed(r) for r in range(1 if name in ONCE else runs)]
            each = [one(make, sequence.n_motions, *change(sequence, seed), seed) for seed in seeds]
            errors.setdefault(name, []).append(round(float(np.mean([error for error, _ in each])), 3))
            seconds[name] = seconds.get(name, 0.0) + float(np.mean([spent for _, spent in each]))
    return {
        "sequences": [[s.name, s.n_motions, s.category] for s in sequences],
        "errors": errors,
        "seconds": {name: round(value, 3) for name, value in seconds.items()},
        "runs": runs,
        "Q": qs,
    }


def one(make: Make, K: int, X: Any, truth: Any, seed: int) -> tuple[float, float]:
    """Return the error of the inliers in per cent and the CPU seconds."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = make(K, len(X), seed)
        start = time.process_time()
        labels = model.fit(X).labels_
        spent = time.process_time() - start
    return 100 * clustering_error(truth, labels, outlier_label=-1), spent


def part(results: dict[str, Any], name: str, motions: int, category: str | None = None) -> Any:
    """Return the errors of the sequences with this number of motions, of one category or of all."""
    keep = [m == motions and category in (None, c) for _, m, c in results["sequences"]]
    return np.array(results["errors"][name])[keep]


def means(results: dict[str, Any], name: str) -> tuple[float, float]:
    """Return the mean errors for two and three motions."""
    return tuple(float(part(results, name, motions).mean()) for motions in (2, 3))  # type: ignore[return-value]


def percents(pair: tuple[float, float]) -> str:
    """Return two mean errors in words."""
    return f"{pair[0]:.2f} and {pair[1]:.2f} %"


def subset(results: dict[str, Any]) -> str:
    """Return the number of sequences behind the errors, in words."""
    count = [sum(m == motions for _, m, _ in results["sequences"]) for motions in (2, 3)]
    return f"On {count[0]} of the 120 sequences with two motions and {count[1]} of the 35 with three."


def decided(results: dict[str, Any], claim: Claim) -> Claim:
    """Return the claim, without a verdict if there are too few sequences."""
    if len(results["sequences"]) >= ENOUGH:
        return claim
    reason = f"A quick run: {len(results['sequences'])} sequences are too few."
    return replace(claim, verdict=Verdict.UNCHECKED, reason=reason)


def standard_error(results: dict[str, Any], name: str, motions: int) -> float:
    """Return the standard error of the mean over the sequences."""
    errors = part(results, name, motions)
    return float(errors.std(ddof=1) / np.sqrt(len(errors))) if len(errors) > 1 else float("inf")


def paired(results: dict[str, Any], one: str, other: str, motions: int) -> str:
    """Return the mean difference of two errors over the same sequences, with its standard error."""
    apart = part(results, one, motions) - part(results, other, motions)
    error = apart.std(ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else np.inf
    return f"{apart.mean():+.2f} ± {error:.2f}"


def difference(results: dict[str, Any], one: str, other: str) -> str:
    """Return the paired differences for two and three motions, in words."""
    two, three = (paired(results, one, other, motions) for motions in (2, 3))
    return (
        f"{two} points for two motions, {three} for three (mean difference over the sequences and its standard error)"
    )


def paper_means(paper: Paper, name: str) -> tuple[float, float]:
    """Return the paper's mean errors over all sequences with two and with three motions."""
    return paper[2][name][6], paper[3][name][6]


def lbf_claim(results: dict[str, Any], paper: Paper, text: str, *, improves: bool) -> Claim:
    """Judge whether LBF improves, or becomes worse, with more candidates."""
    few, many = (means(results, name) for name in (LBF_70, LBF_200))
    changes = [a - b if improves else b - a for a, b in zip(few, many, strict=True)]
    theirs = [paper_means(paper, name) for name in (LBF_70, LBF_200)]
    contrary = (
        ": worse in the paper's own table" if improves and all(a < b for a, b in zip(*theirs, strict=True)) else ""
    )
    return judge(
        text,
        f"{percents(theirs[0])}, then {percents(theirs[1])}{contrary}",
        f"{percents(few)}, then {percents(many)}",
        all(change > 0 for change in changes),
        f"LBF, 200 K minus 70 K: {difference(results, LBF_200, LBF_70)}.",
        f"Q is at most the number of samples. {subset(results)}",
    )


def whole_claim(results: dict[str, Any], paper: Paper, name: str, text: str) -> Claim:
    """Judge the paper's mean errors over all sequences, to twice the standard error, if all 155 are available."""
    theirs, run = paper_means(paper, name), columns_of(results, name)[0] or name
    found, errors = means(results, run), [standard_error(results, run, motions) for motions in (2, 3)]
    ours = f"{percents(found)}{', paper mode' if 'GASG21' in name else ''}"
    count = len(results["sequences"])
    if count < 155:
        return Claim(
            text, percents(theirs), ours, Verdict.UNCHECKED, f"{count} of the 155 sequences were run. {subset(results)}"
        )
    near = all(abs(a - b) <= 2 * e for a, b, e in zip(found, theirs, errors, strict=True))
    reason = f"Standard errors over the sequences: {errors[0]:.1f} and {errors[1]:.1f} points."
    return Claim(text, percents(theirs), ours, Verdict.HOLDS if near else Verdict.FAILS, reason)


def tables(results: dict[str, Any], paper: Paper, seconds: dict[str, float]) -> list[Table]:
    """Return a table for each number of motions and category, with the numbers of the paper beside ours."""
    sources = ("paper", "ours, paper mode", "ours, scaled")
    columns = ["", *(f"{statistic}, {source}" for statistic in ("mean", "median") for source in sources)]
    made = []
    for motions in (2, 3):
        for i, (category, title) in enumerate([*CATEGORIES.items(), (None, "All")]):
            total = sum(ALL[motions]) if category is None else ALL[motions][i]
            count = len(part(results, LBF_70, motions, category))
            if not count:
                continue
            rows = [table_row(results, paper[motions], name, motions, category, i) for name in row_names(results)]
            note = f"Ours: {count} of the {total} sequences, runs: {results['runs']}{ONCE_NOTE if results['runs'] > 1 else ''}."
            if category is None:
                note += f" Methods without modes are listed under paper mode. {CHOSEN}"
            made.append(
                Table(f"{'Two' if motions == 2 else 'Three'} motions, {title}: error in %", columns, rows, note)
            )
    made.append(time_table(results, seconds))
    return made


def row_names(results: dict[str, Any]) -> list[str]:
    """Return the names of the rows: those of the paper in its order, then ours."""
    return [name_of(q) for q in results["Q"]] + list(OTHERS)


def columns_of(results: dict[str, Any], name: str) -> tuple[str | None, str | None]:
    """Return the runs of a row in the columns of paper mode and of scaled."""
    if name in (WHITEN, ENSEMBLE):
        return None, name
    if name in OTHERS:
        return name, None
    return f"{name}, {PAPER_MODE}", f"{name}, {SCALED}"


def table_row(results: dict[str, Any], paper: Any, name: str, motions: int, category: str | None, i: int) -> list[Any]:
    """Return mean and median of one method, the values of the paper beside ours."""
    row: list[Any] = [name]
    for k, statistic in enumerate((np.mean, np.median)):
        row.append(f"{paper[name][2 * i + k]:.2f}" if name in paper else None)
        for run in columns_of(results, name):
            row.append(None if run is None else f"{statistic(part(results, run, motions, category)):.2f}")
    return row


def time_table(results: dict[str, Any], seconds: dict[str, float]) -> Table:
    """Return the seconds of one run over all sequences."""
    rows = [
        [
            name,
            seconds.get(name),
            *(None if run is None else results["seconds"][run] for run in columns_of(results, name)),
        ]
        for name in row_names(results)
    ]
    return Table(
        "Seconds of one run over all sequences",
        ["", "paper, 155 sequences", "ours, paper mode", "ours, scaled"],
        rows,
        f"Ours: CPU seconds, {len(results['sequences'])} sequences, one BLAS thread.",
    )
