"""LBF, LRR and SSC on Hopkins 155, beside what their papers report. See benchmarks/README.md.

python benchmarks/clustering_baselines.py [METHOD ...] [--quick] [--data PATH]
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gasg21.baselines import LBF, LRR, SSC
from gasg21.datasets import load_hopkins155
from gasg21.exceptions import ConvergenceWarning
from gasg21.metrics import clustering_error


class Method(NamedTuple):
    """How a method is run, with the settings its authors published for this data set."""

    make: Callable[[int, int], Any]  # from the number of motions and a seed
    published: tuple[float, float]  # mean error on all 155 sequences, of two and of three motions
    bound: float  # points
    n_seeds: int


METHODS = {
    # in the comparison that published these errors all subspaces are linear, of dimension 4 ...
    "LBF": Method(lambda K, seed: LBF(K, 4, affine=False, random_state=seed), (4.62, 11.44), 2.0, 5),
    # ... while a rigid motion is an affine flat of dimension 3, as LBF can take it
    "LBF-affine": Method(lambda K, seed: LBF(K, 3, random_state=seed), (4.62, 11.44), 2.0, 5),
    "LRR": Method(lambda K, seed: LRR(K, lam=4, affine=True, random_state=seed), (1.33, 2.51), 1.5, 1),
    "SSC": Method(lambda K, seed: SSC(K, alpha=800, affine=True, keep=0.7, random_state=seed), (1.52, 4.40), 1.5, 1),
    "SSC-4K": Method(
        lambda K, seed: SSC(K, n_components=4 * K, alpha=800, affine=True, keep=0.7, random_state=seed),
        (1.83, 4.40),
        1.5,
        1,
    ),
}


def errors(method: Method, sequences: Iterable[Any], quick: bool) -> tuple[np.ndarray, dict[str, float]]:
    """Return the error of each sequence in per cent, the mean over the seeds, and how the runs went."""
    rows, models = [], []
    start = time.process_time()
    for sequence in sequences:
        runs = []
        for seed in range(1 if quick else method.n_seeds):
            models.append(method.make(sequence.n_motions, seed).fit(sequence.data))
            runs.append(100 * clustering_error(sequence.labels, models[-1].labels_))
        rows.append(np.mean(runs))
    how = {
        "CPU seconds a run": (time.process_time() - start) / len(models),
        "iterations": float(np.mean([model.n_iter_ for model in models])),
        "converged, of all": float(np.mean([model.converged_ for model in models])),
    }
    if hasattr(models[0], "duality_gap_"):
        how["duality gap, median"] = float(np.median([model.duality_gap_ for model in models]))
    return np.array(rows), how


def verdict(mean: float, published: float, bound: float) -> str:
    """Return how far a mean error is from the published one, and whether that is within the bound."""
    apart = mean - published
    met = "ok" if abs(apart) <= bound else f"MISSED, {'above' if apart > 0 else 'below'}"
    return f"(published for all 155: {published:.2f}, apart {apart:+.2f}, bound {bound:g}, {met})"


def report(name: str, sequences: list[Any], quick: bool) -> None:
    """Run a method on all sequences, in one setting, and print its errors."""
    method = METHODS[name]
    error, how = errors(method, sequences, quick)
    print(f"\n{name}: {method.make(2, 0)!r}, for two motions; {1 if quick else method.n_seeds} runs each")
    motions = np.array([sequence.n_motions for sequence in sequences])
    category = np.array([sequence.category for sequence in sequences])
    for K, published in zip((2, 3), method.published, strict=True):
        part = error[motions == K]
        if not len(part):
            continue
        spread = part.std(ddof=1) / np.sqrt(len(part)) if len(part) > 1 else np.nan
        print(
            f"  {K} motions, {len(part)} sequences: mean {part.mean():.2f} % {verdict(part.mean(), published, method.bound)}, "
            f"median {np.median(part):.2f} %, standard error of the mean over sequences {spread:.2f}"
        )
        each = {c: f"{error[(motions == K) & (category == c)].mean():.2f}" for c in sorted(set(category[motions == K]))}
        print("    " + ", ".join(f"{c} {mean}" for c, mean in each.items()))
    worst = np.argsort(-error)[:5]
    print("  worst: " + ", ".join(f"{sequences[i].name} {error[i]:.1f}" for i in worst))
    print("  " + ", ".join(f"{key} {value:.2g}" for key, value in how.items()))


def main() -> None:
    """Run the methods named on the command line, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("methods", nargs="*", metavar="METHOD", help=f"of {', '.join(METHODS)}; all by default")
    parser.add_argument("--quick", action="store_true", help="every fifth sequence, one seed")
    parser.add_argument("--data", default=os.environ.get("GASG21_DATA"), help="directory with hopkins155/, or itself")
    options = parser.parse_args()
    if unknown := set(options.methods) - set(METHODS):
        parser.error(f"no such method: {', '.join(sorted(unknown))}")
    if not options.data:
        parser.error("--data or GASG21_DATA must point at a directory with hopkins155/")
    root = Path(options.data)
    root = root / "hopkins155" if (root / "hopkins155").is_dir() else root
    warnings.simplefilter("ignore", ConvergenceWarning)  # the share that converged is printed
    sequences = list(load_hopkins155(root))[:: 5 if options.quick else 1]
    print(f"Hopkins 155, {len(sequences)} sequences, one setting for all")
    for name in options.methods or METHODS:
        report(name, sequences, options.quick)


if __name__ == "__main__":
    main()
