"""Compares recover_union of C++ with KGASG21, and the files of both: recover_union.py PROGRAM DIRECTORY.

PROGRAM is recover_union.cpp, compiled. The last line has the largest share of labels that differ, beyond the 0.5 % that
other compiler settings may change.
"""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import gasg21
from gasg21 import KGASG21
from gasg21.datasets import load_hopkins155, make_union_of_subspaces
from gasg21.exceptions import ConvergenceWarning

PERMITTED = 0.005
SEED = 5

program, directory = Path(sys.argv[1]), Path(sys.argv[2])


def run(command, X, model_file, *arguments):
    """Return the labels that the program gives to the samples; -1 = none."""
    data, labels = directory / "union_X.bin", directory / "union_labels.bin"
    np.ascontiguousarray(X, dtype=float).tofile(data)
    subprocess.run([program, command, data, labels, model_file, *map(str, arguments)], check=True)
    found = np.fromfile(labels, np.uint64).astype(np.int64)
    n_clusters = gasg21.load(model_file).n_clusters_
    return np.where(found == n_clusters, -1, found)


def fit(X, K, d, **options):
    """Return a model fitted by Python, and the labels that the program gives."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = KGASG21(K, d, random_state=SEED, **options).fit(X)
    numbers = (0 if number == "auto" else number for number in (K, d))
    flags = (int(options.get(name, False)) for name in ("center", "reject_outliers"))
    return model, run("fit", X, directory / "union_cpp.gasg21", X.shape[1], *numbers, SEED, *flags)


def made(seed, **properties):
    """Return samples of three subspaces of 3 dimensions."""
    return make_union_of_subspaces(400, 30, 3, 3, noise=1e-2, random_state=seed, **properties).data


def apart(X):
    """Return the samples away from 0."""
    return X + 2 * np.random.default_rng(0).standard_normal(X.shape[1])


def problems():
    """Yield a name, samples, K, d and options for each comparison; only a name and a reason where data is missing."""
    yield "made", made(1), 3, 3, {}
    yield "made, gaps", made(2, observed_fraction=0.6), 3, 3, {}
    yield "made, outliers", made(3, outlier_fraction=0.3), 3, 3, {"reject_outliers": True}
    yield "made, center", apart(made(4, observed_fraction=0.8)), 3, 3, {"center": True}
    yield "made, K by data", made(5, outlier_fraction=0.1), "auto", 3, {}
    yield "made, both by data", made(6), "auto", "auto", {}
    X, y = load_digits(return_X_y=True)
    yield "four digits", X[np.isin(y, (0, 3, 4, 6))], 4, 6, {}
    yield "ten digits", X, 10, 3, {}
    data = Path(os.environ.get("GASG21_DATA", "nowhere"))
    yield from faces(data / "people.npz")
    yield from motions(data / "hopkins155")


def faces(path):
    if not path.is_file():
        yield "faces", "GASG21_DATA has no people.npz"
        return
    with np.load(path) as archive:
        images, person = archive["images"], archive["person"]
    some = np.isin(person, np.unique(person)[:3])
    yield "faces", images[some].reshape(some.sum(), -1).astype(float), 3, 9, {}


def motions(path):
    if not path.is_dir():
        yield "motions", "GASG21_DATA has no hopkins155"
        return
    for sequence in list(load_hopkins155(path))[::40]:
        yield f"motions {sequence.name}", sequence.data, sequence.n_motions, 4, {}


def share_that_differs():
    """Compare all fits; return the largest share of different labels."""
    worst = 0.0
    for name, *problem in problems():
        if len(problem) == 1:
            print(f"{name}: skipped, {problem[0]}")
            continue
        X, K, d, options = problem
        model, labels = fit(X, K, d, **options)
        share = np.mean(labels != model.labels_)
        how = "consensus" if model.whitened_ else "run"
        print(f"{name}: {len(X)} samples, {model.n_clusters_} clusters by {how}, other labels: {share:.2%}")
        worst = max(worst, share)
    return worst


def files_agree():
    """Whether each side labels new samples by the file of the other as that one does."""
    X = made(7, observed_fraction=0.8)
    old, new = X[:300], X[300:]
    ours, theirs = directory / "union_python.gasg21", directory / "union_cpp.gasg21"
    for options in ({}, {"center": True}, {"whiten": True}):
        model = KGASG21(3, 3, random_state=SEED, **options).fit(old)
        model.save(ours)
        if not np.array_equal(run("predict", new, ours), model.predict(new)):
            return False
    for options in ({}, {"center": True}):
        fit(old, 3, 3, **options)
        if not np.array_equal(run("predict", new, theirs), gasg21.load(theirs).predict(new)):
            return False
    return True


beyond = max(0.0, share_that_differs() - PERMITTED)
print(f"{'same' if files_agree() else 'other'} labels by files, fits beyond the permitted share: {beyond}")
