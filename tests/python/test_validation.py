"""Validation: every layout and dtype gives the same numbers, and no data is written to."""

import hashlib
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from gasg21 import GASG21, GRASTA, GROUSE, KGASG21, SubspaceImputer, _core
from gasg21._data.samples import Samples, check_samples
from gasg21.datasets import make_low_rank
from gasg21.exceptions import InvalidInputError

FITS = [
    GASG21(2),
    GASG21("auto"),
    GASG21(2, center=True),
    GASG21(2, polish=False),
    GASG21(2, metric="canonical", polish=False),
    GASG21(2, metric="canonical", polish=False, max_passes=1),
    GASG21(2, init="spherical_pca", metric="canonical", polish=False),
    GROUSE(2),
    GRASTA(2),
    KGASG21(2, 2),
    SubspaceImputer(2),
]
METHODS = ["transform", "complete", "score_samples", "decision_function", "predict"]


def misaligned(X):
    raw = np.zeros(X.nbytes + 1, np.uint8)
    out = raw[1:].view(X.dtype).reshape(X.shape)
    out[:] = X
    assert not out.flags.aligned
    return out


def memory_mapped(X, tmp_path):
    np.save(tmp_path / "x.npy", X)
    return np.load(tmp_path / "x.npy", mmap_mode="r")


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


LAYOUTS = {
    "fortran": lambda X, _: np.asfortranarray(X),
    "read_only": lambda X, _: read_only(X),
    "memory_map": memory_mapped,
    "byte_swapped": lambda X, _: X.astype(X.dtype.newbyteorder()),
    "misaligned": lambda X, _: misaligned(X),
    "row_stride": lambda X, _: np.repeat(X, 2, axis=0)[::2],
    "negative_rows": lambda X, _: X[::-1].copy()[::-1],
    "negative_columns": lambda X, _: X[:, ::-1].copy()[:, ::-1],
    "column_stride": lambda X, _: np.repeat(X, 3, axis=1)[:, ::3],
    "column_slice": lambda X, _: np.hstack([X, X])[:, : X.shape[1]],
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("masked", [False, True])
def test_every_layout_gives_the_bits_of_the_plain_array(problem, tmp_path, monkeypatch, layout, dtype, masked):
    monkeypatch.setattr("gasg21._data.samples._BATCH_ENTRIES", 60 * 37)  # several blocks where it converts
    plain = problem.data.astype(dtype)
    mask = None
    if masked:
        mask, plain = problem.mask, np.nan_to_num(plain)
    X = LAYOUTS[layout](plain, tmp_path)
    M = None if mask is None else np.asfortranarray(mask)
    before = hashlib.sha256(np.ascontiguousarray(X).tobytes()).digest()

    for init in ("random", "spherical_pca"):
        expected = GASG21(3, init=init, random_state=0, max_passes=3).fit(plain, mask=mask)
        model = GASG21(3, init=init, random_state=0, max_passes=3).fit(X, mask=M)
        assert model.components_.dtype == dtype
        assert model.components_.tobytes() == expected.components_.tobytes()
        model.partial_fit(X, mask=M)
        expected.partial_fit(plain, mask=mask)
        assert model.components_.tobytes() == expected.components_.tobytes()
    for method in METHODS:
        ours, theirs = getattr(model, method)(X, mask=M), getattr(expected, method)(plain, mask=mask)
        assert ours.tobytes() == theirs.tobytes(), method
    assert hashlib.sha256(np.ascontiguousarray(X).tobytes()).digest() == before


@pytest.mark.parametrize(
    ("dtype", "computed"),
    [
        ("float64", "float64"),
        ("float32", "float32"),
        ("float16", "float64"),
        ("longdouble", "float64"),
        *(
            (name, "float64")
            for name in ("int8", "uint8", "int16", "uint16", "int32", "int64", "uint64", "bool", "object")
        ),
    ],
)
def test_dtypes(rng, dtype, computed):
    X = rng.integers(0, 2 if dtype == "bool" else 100, (80, 9)).astype(dtype)
    model = GASG21(2, random_state=0).partial_fit(X)
    expected = GASG21(2, random_state=0).partial_fit(X.astype(computed))
    assert model.components_.dtype == computed
    assert model.components_.tobytes() == expected.components_.tobytes()
    assert model.transform(X).dtype == computed
    assert model.score_samples(X).dtype == computed


PLAIN = {
    "ok": np.ones((5, 4)),
    "float32": np.ones((5, 4), np.float32),
    "byte_swapped": np.ones((5, 4), np.dtype(float).newbyteorder()),
    "subclass": np.ones((5, 4)).view(np.matrix),
    "infinite": np.where(np.eye(5, 4) > 0, np.inf, 1.0),
    "no_sample": np.ones((0, 4)),
    "no_feature": np.ones((5, 0)),
    "one_dimension": np.ones(4),
    "three_dimensions": np.ones((2, 5, 4)),
    "complex": np.ones((5, 4), complex),
}


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("X", PLAIN.values(), ids=PLAIN)
def test_the_short_way_of_plain_arrays_says_what_validation_says(X, monkeypatch):
    def outcome():
        model = GASG21(2)
        model.feature_names_in_ = np.array(["of", "an", "earlier", "fit"], object)
        try:
            samples = check_samples(model, X, reset=True)
        except (ValueError, TypeError) as error:
            return type(error), str(error)
        return samples.data.tobytes(), samples.dtype, samples.data.shape, sorted(vars(model)), model.n_features_in_

    short = outcome()
    monkeypatch.setattr("gasg21._data.samples._new", lambda *_: None)
    assert short == outcome()


@pytest.mark.parametrize("model", FITS, ids=repr)
@pytest.mark.parametrize("place", [(0, 0), (59, 8)])
def test_an_infinite_entry_is_refused_by_every_fit(model, place, rng):
    X = rng.standard_normal((60, 9))
    X[place] = -np.inf
    with pytest.raises(InvalidInputError, match=f"infinity at row {place[0]}, column {place[1]} "):
        model.fit(X)


@pytest.mark.parametrize("X", [np.ones((5, 4), complex), np.full((5, 4), "a"), [["a", "b"], ["c", "d"]]])
def test_what_is_not_a_number_is_refused(X):
    with pytest.raises((ValueError, TypeError)):
        GASG21(2).fit(X)


def test_the_model_keeps_its_dtype(problem):
    model = GASG21(3, random_state=0).partial_fit(problem.data.astype(np.float32))
    model.partial_fit(problem.data)
    assert model.components_.dtype == np.float32
    assert model.transform(problem.data).dtype == np.float32
    model = GASG21(3, random_state=0).partial_fit(problem.data)
    assert model.partial_fit(problem.data.astype(np.float32)).components_.dtype == np.float64


def test_float32_recovers_to_its_own_precision(problem):
    model = GASG21(3, random_state=0).fit(problem.data.astype(np.float32))
    assert model.converged_
    assert np.abs(model.components_ @ model.components_.T - np.eye(3)).max() < 1e-5
    angle = np.arcsin(np.linalg.norm(problem.basis - problem.basis @ model.components_.T @ model.components_, 2))
    assert angle < 1e-5


def test_a_number_too_large_for_the_model_is_reported(problem):
    model = GASG21(3, random_state=0).partial_fit(problem.data.astype(np.float32))
    X = problem.data.copy()
    X[4, 2] = 1e300
    with pytest.raises(ValueError, match=r"row 4, column 2 \(as float32\)"):
        model.partial_fit(X)


def test_data_frames(problem):
    expected = GASG21(3, random_state=0).fit(problem.data)
    names = [f"f{i}" for i in range(60)]
    for frame in (pd.DataFrame(problem.data, columns=names), pl.DataFrame(problem.data, schema=names)):
        model = GASG21(3, random_state=0).fit(frame)
        assert model.components_.tobytes() == expected.components_.tobytes()
        assert list(model.feature_names_in_) == names
        assert model.complete(frame).tobytes() == expected.complete(problem.data).tobytes()
    frame = pd.DataFrame(problem.data, columns=names, index=np.arange(600) + 7)
    out = GASG21(3, random_state=0).set_output(transform="pandas").fit_transform(frame)
    assert list(out.columns) == ["component_0", "component_1", "component_2"]
    assert list(out.index) == list(frame.index)
    mask = pd.DataFrame(problem.mask, columns=names)
    masked = GASG21(3, random_state=0).fit(np.nan_to_num(problem.data), mask=mask)
    assert masked.components_.tobytes() == expected.components_.tobytes()


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    index=st.sampled_from([np.int32, np.int64]),
    kind=st.sampled_from(["matrix", "array"]),
)
def test_csr_equals_dense_with_mask(seed, index, kind):
    """With explicit zeros, duplicates, unsorted and 64-bit indices."""
    rng = np.random.default_rng(seed)
    m, n = 30, 8
    mask = rng.random((m, n)) < 0.7
    dense = np.where(mask, np.round(rng.standard_normal((m, n)), 1), 0.0) + 0.0  # no negative zeros
    rows, columns = np.nonzero(mask)
    halves = np.concatenate([dense[rows, columns] / 2] * 2)  # each entry twice: they add up
    order = rng.permutation(2 * len(rows))
    rows, columns, halves = np.tile(rows, 2)[order], np.tile(columns, 2)[order], halves[order]
    by_row = np.argsort(rows, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=m))])
    container = sp.csr_matrix if kind == "matrix" else sp.csr_array
    X = container((halves[by_row], columns[by_row].astype(index), indptr.astype(index)), shape=(m, n))
    data_before = X.data.copy()

    ours = GASG21(2, random_state=0).partial_fit(X)
    theirs = GASG21(2, random_state=0).partial_fit(dense, mask=mask)
    assert ours.components_.tobytes() == theirs.components_.tobytes()
    assert ours.diagnostics_ == theirs.diagnostics_
    for method in METHODS:
        assert getattr(ours, method)(X).tobytes() == getattr(theirs, method)(dense, mask=mask).tobytes(), method
    np.testing.assert_array_equal(X.data, data_before)


@pytest.mark.parametrize("fmt", ["csc", "coo", "lil", "dok"])
def test_other_sparse_formats(problem, fmt):
    X = sp.csr_matrix(np.nan_to_num(problem.data))
    expected = GASG21(3, random_state=0).fit(X).components_
    assert GASG21(3, random_state=0).fit(X.asformat(fmt)).components_.tobytes() == expected.tobytes()


def test_absent_entries_may_be_zeros(rng):
    dense = rng.standard_normal((200, 3)) @ rng.standard_normal((3, 20))
    dense[:, 5] = 0.0
    X = sp.csr_matrix(dense)
    expected = GASG21(3, random_state=0).fit(dense)
    model = GASG21(3, absent="zero", random_state=0).fit(X)
    assert model.components_.tobytes() == expected.components_.tobytes()
    assert model.score_samples(X).tobytes() == expected.score_samples(dense).tobytes()
    np.testing.assert_array_equal(model.complete(X), dense)


def test_a_plain_array_is_borrowed(problem):
    samples = check_samples(GASG21(), problem.data, reset=True)
    (block,) = samples.batches()
    assert np.shares_memory(block.payload, problem.data)


def test_batches_cover_every_row_in_order(monkeypatch, rng):
    monkeypatch.setattr("gasg21._data.samples._BATCH_ENTRIES", 50)
    X = rng.integers(0, 9, (33, 7))
    samples = Samples(X, None, np.dtype(np.float64))
    np.testing.assert_array_equal(np.concatenate([batch.payload for batch in samples.batches()]), X)
    np.testing.assert_array_equal(np.concatenate([X[batch.rows] for batch in samples.batches()]), X)
    assert len(list(samples.batches())) == 5
    np.testing.assert_array_equal(samples.whole().payload, X)


MEMORY = """
import json, sys, threading, time, warnings, numpy as np
from gasg21 import GASG21
warnings.simplefilter("ignore")

def anonymous():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon")) / 1024

def sample():
    global peak
    while not done:
        peak = max(peak, anonymous())
        time.sleep(0.005)

X = np.load(sys.argv[1], mmap_mode="r")
assert X.nbytes >= 2e9
parameters = json.loads(sys.argv[2])
GASG21(5, **parameters).fit(X[:200]).predict(X[:200])  # libraries are loaded now
before = peak = anonymous()
done = False
watcher = threading.Thread(target=sample)
watcher.start()
model = GASG21(5, random_state=0, **parameters).fit(X)
model.score_samples(X)
done = True
watcher.join()
print(before, peak)
assert model.n_iter_ >= len(X)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("parameters", [{"max_passes": 1, "tol": 0, "polish": False}, {"max_passes": 1}])
def test_fitting_a_two_gigabyte_memory_map_makes_no_copy(tmp_path, parameters):
    n_features = 4096
    n_samples = -(-2 * 10**9 // (8 * n_features))
    X = np.lib.format.open_memmap(tmp_path / "big.npy", "w+", np.float64, (n_samples, n_features))
    block = make_low_rank(2048, n_features, 5, outlier_fraction=0.3, observed_fraction=0.9, random_state=0).data
    for start in range(0, n_samples, 2048):
        X[start : start + 2048] = block[: len(X[start : start + 2048])]
    X.flush()
    del X
    child = subprocess.run(
        [sys.executable, "-c", MEMORY, tmp_path / "big.npy", json.dumps(parameters)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    before, peak = map(float, child.stdout.split())
    assert peak - before < 100


def test_samples_beyond_2_to_the_31_entries(tmp_path, rng):
    """In a sparse file of 10 GB, of which a few pages exist."""
    n, rows = 50_000, np.array([49_997, 49_998, 49_999], np.uint64)
    X = np.memmap(tmp_path / "huge", np.float32, "w+", shape=(n, n))
    X[rows] = rng.standard_normal((3, n))
    assert X.size > 2**31
    plain, far = (_core.Tracker32(n, 1, _core.AdaptiveStep(), 3) for _ in range(2))
    expected = plain.consume(np.ascontiguousarray(X[rows]))
    np.testing.assert_array_equal(far.consume(X, None, rows), expected)
    assert far.components().tobytes() == plain.components().tobytes()
