"""Bad input: each fault has its right behaviour, and the object is as it was."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from gasg21 import GASG21, GRASTA, GROUSE, _core
from gasg21.datasets import make_low_rank
from gasg21.exceptions import InvalidInputError
from gasg21.metrics import subspace_angle

SHAPES = [(n, d) for n in (2, 3, 7, 16, 33) for d in (1, 2, 5, 15) if d < n]


def fitted_attributes(model):
    """Everything a model holds, as bytes."""
    return pickle.dumps({k: v for k, v in vars(model).items() if k != "_tracker"}), pickle.dumps(
        vars(model).get("_tracker")
    )


@pytest.fixture
def stream(problem):
    return GASG21(3, random_state=0).partial_fit(problem.data)


def assert_untouched(model, call, error, match):
    before = fitted_attributes(model)
    with pytest.raises(error, match=match or None):
        call()
    assert fitted_attributes(model) == before


# 1, 2: zero and all-missing vectors


@pytest.mark.parametrize(("n", "d"), SHAPES)
@pytest.mark.parametrize(("value", "counter"), [(0.0, "n_zero"), (np.nan, "n_all_missing")])
def test_empty_vectors_are_skipped_and_counted(rng, n, d, value, counter):
    model = GASG21(d, random_state=0).partial_fit(rng.standard_normal((20, n)))
    basis, used = model.components_.copy(), model.n_iter_
    model.partial_fit(np.full((4, n), value))
    np.testing.assert_array_equal(model.components_, basis)
    assert model.diagnostics_[counter] == 4
    assert model.n_skipped_ == 4
    assert model.n_iter_ == used
    weights = model.transform(np.full((1, n), value))
    np.testing.assert_array_equal(weights, np.full((1, d), value))
    np.testing.assert_array_equal(model.score_samples(np.full((1, n), value)), [value])
    assert model.predict(np.full((1, n), value)) == [-1]


@pytest.mark.parametrize("value", [0.0, np.nan])
def test_a_fit_without_any_usable_sample_is_an_error(value):
    model = GASG21(2)
    assert_untouched(
        model, lambda: model.fit(np.full((10, 5), value)), InvalidInputError, "no sample of X could be used"
    )


# 3: too few entries


@settings(max_examples=150, deadline=None)
@given(st.integers(3, 30), st.data())
def test_too_few_entries_are_skipped_and_counted(n, data):
    d = data.draw(st.integers(1, n - 1))
    observed = data.draw(st.integers(0, min(n, d + 2)))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**31)))
    x = np.full(n, np.nan)
    x[rng.choice(n, observed, replace=False)] = rng.standard_normal(observed)
    model = GASG21(d, random_state=0).partial_fit(x[None])
    assert np.isfinite(model.components_).all()
    assert _core.orthonormality_error(model.components_) < 1e-12
    expected = "n_all_missing" if observed == 0 else "n_too_few" if observed <= d else "n_used"
    assert model.diagnostics_[expected] == 1
    assert np.isnan(model.score_samples(x[None])[0]) == (observed <= d)


# 4: infinities


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("method", ["fit", "partial_fit", "transform", "score_samples", "predict", "complete"])
@pytest.mark.parametrize("form", ["array", "fortran", "csr", "float32"])
def test_infinity_is_refused_before_anything_changes(stream, problem, value, method, form):
    X = problem.data.copy()
    X[17, 5] = value
    X = {
        "array": lambda: X,
        "fortran": lambda: np.asfortranarray(X),
        "float32": lambda: X.astype(np.float32),
        "csr": lambda: sp.csr_matrix(np.nan_to_num(X, posinf=np.inf, neginf=-np.inf)),
    }[form]()
    assert_untouched(stream, lambda: getattr(stream, method)(X), InvalidInputError, r"infinity at row 17, column 5")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "make",
    [
        lambda **more: GASG21(3, metric="canonical", polish=False, random_state=0, **more),
        lambda **more: GASG21(3, polish=False, center=True, init="spherical_pca", random_state=0, **more),
        lambda **more: GASG21("auto", polish=False, random_state=0, **more),
        lambda **more: GROUSE(3, random_state=0, **more),
        lambda **more: GRASTA(3, center=True, random_state=0, **more),
    ],
)
@pytest.mark.parametrize("form", ["array", "fortran", "csr", "float32", "whole rows"])
def test_a_stream_that_meets_an_infinity_changes_nothing(problem, make, form):
    X = problem.data.copy()
    X[[41, 17], [2, 5]] = np.inf
    X = {
        "array": lambda: X,
        "fortran": lambda: np.asfortranarray(X),
        "float32": lambda: X.astype(np.float32),
        "csr": lambda: sp.csr_matrix(np.nan_to_num(X, posinf=np.inf)),
        "whole rows": lambda: np.where(np.isinf(X).any(axis=1, keepdims=True) & (np.arange(60) >= 5), np.inf, X),
    }[form]()
    model = make().fit(problem.data)
    assert_untouched(model, lambda: model.fit(X), InvalidInputError, r"infinity at row 17, column 5")
    assert make(on_bad="skip").fit(X).diagnostics_["n_nonfinite"] > 0


def test_a_stream_goes_on_where_finite_entries_overflow(problem):
    X = problem.data.copy()
    X[17, 5], X[18:, 5] = -1.5e308, 1.5e308  # less the centre it is infinite
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GASG21(3, metric="canonical", polish=False, center=True, random_state=0).fit(X)
    assert model.diagnostics_["n_nonfinite"] > 0


def test_infinity_beyond_the_first_block_is_named_by_its_row(monkeypatch, stream):
    monkeypatch.setattr("gasg21._data.samples._BATCH_ENTRIES", 60 * 7)
    X = np.ones((50, 60), np.float16)
    X[33, 2] = np.inf
    with pytest.raises(InvalidInputError, match="row 33, column 2"):
        stream.partial_fit(X)


def test_unobserved_infinities_do_not_matter(problem):
    filled = np.where(problem.mask, problem.data, np.inf)
    a = GASG21(3, random_state=0).partial_fit(problem.data)
    b = GASG21(3, random_state=0).partial_fit(filled, mask=problem.mask)
    assert a.components_.tobytes() == b.components_.tobytes()


def test_infinite_rows_can_be_skipped(problem):
    X = problem.data.copy()
    X[[3, 40], 5] = np.inf
    model = GASG21(3, on_bad="skip", random_state=0).partial_fit(X)
    clean = GASG21(3, random_state=0).partial_fit(np.delete(X, [3, 40], axis=0))
    assert model.diagnostics_["n_nonfinite"] == model.n_skipped_ == 2
    assert model.components_.tobytes() == clean.components_.tobytes()
    assert np.isnan(model.transform(X[[3]])).all()
    assert model.predict(X[[3]]) == [-1]


# 5: scales


@pytest.mark.parametrize("k", [-300, -200, -155, -30, 0, 30, 155, 200, 300])
def test_the_scale_of_a_sample_changes_nothing_but_rounding(problem, rng, k):
    plain = GASG21(3, random_state=0).partial_fit(problem.data[:200])
    X = problem.data[:200] * 10.0 ** rng.choice([0, k], (200, 1))
    scaled = GASG21(3, random_state=0).partial_fit(X)
    assert subspace_angle(plain.components_, scaled.components_) < 1e-12
    assert scaled.n_skipped_ == 0
    np.testing.assert_allclose(scaled.score_samples(X), plain.score_samples(problem.data[:200]), rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(scaled.transform(X[:5]) / 10.0**k, scaled.transform(X[:5] / 10.0**k), rtol=1e-9)


def test_every_power_of_ten_gives_the_same_step(problem):
    x = problem.data[:1]
    expected = GASG21(3, random_state=0).partial_fit(x).components_
    for k in range(-305, 306):
        components = GASG21(3, random_state=0).partial_fit(x * 10.0**k).components_
        assert np.abs(components - expected).max() < 1e-14, k


def test_denormals_are_not_lost(rng):
    x = np.round(rng.standard_normal((1, 20)) * 1000)  # so that a denormal holds it exactly
    big = GASG21(3, random_state=0).partial_fit(x)
    tiny = GASG21(3, random_state=0).partial_fit(x * 5e-324)
    assert tiny.n_skipped_ == 0
    assert big.components_.tobytes() == tiny.components_.tobytes()


# 6 is in test_recovery.py


# 7: singular U_Omega


def test_adversarial_masks_never_break_the_basis():
    """A basis vector that is a unit vector makes U_Omega singular whenever that entry is missing."""
    rng = np.random.default_rng(0)
    n, d = 12, 3
    start = np.zeros((d, n))
    start[0, 0] = start[1, 1] = start[2, 2] = 1.0
    X = rng.standard_normal((10_000, n))
    X[np.arange(10_000), rng.integers(0, 3, 10_000)] = np.nan
    model = GASG21(d, init=start, random_state=0).partial_fit(X[:1])
    assert model.diagnostics_["n_rank_deficient"] == 1
    np.testing.assert_array_equal(model.components_, start)
    assert np.isnan(model.transform(X[:1])).all()
    model = GASG21(d, init=start + 1e-9 * rng.standard_normal((d, n)), random_state=0).partial_fit(X)
    assert model.diagnostics_["n_rank_deficient"] >= 1
    assert _core.orthonormality_error(model.components_) < 1e-12


# 8: parameters


@pytest.mark.parametrize("n_components", [0, -1, 5, 6, 2.0, True, "2", None])
def test_bad_dimensions_are_refused(n_components):
    model = GASG21(n_components)
    message = r"n_components=.* must be an integer in \[1, n_features - 1 = 4\]"
    assert_untouched(model, lambda: model.fit(np.ones((10, 5))), InvalidInputError, message)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_passes": 0}, "max_passes=0 must be an integer of at least 1"),
        ({"max_passes": 2.5}, "max_passes=2.5"),
        ({"tol": -1}, r"tol=-1 must be a number in \[0, inf\)"),
        ({"tol": np.nan}, "tol=nan"),
        ({"contamination": 1.6}, r"contamination=1.6 must be a number in \(0, 0.99\]"),
        ({"contamination": "some"}, "contamination='some'"),
        ({"on_bad": "ignore"}, "on_bad='ignore' must be one of 'raise', 'skip'"),
        ({"absent": 0}, "absent=0 must be one of 'missing', 'zero'"),
        ({"random_state": -1}, "random_state=-1"),
        ({"step_size": "fast"}, "step_size='fast' must be one of"),
        ({"step_size": 0.1}, "step_size=0.1 must be one of"),
    ],
)
@pytest.mark.parametrize("estimator", [GASG21, GROUSE, GRASTA])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_bad_parameters_are_named(problem, estimator, method, parameters, message):
    model = estimator(3, **parameters)
    assert_untouched(model, lambda: getattr(model, method)(problem.data), InvalidInputError, message)


# 10: shapes are scikit-learn's own checks; here, that they leave a fitted model alone


@pytest.mark.parametrize("X", [np.empty((0, 60)), np.empty((3, 0)), np.ones(59), np.ones((2, 60, 1)), 7.0])
def test_odd_shapes_are_refused(stream, X):
    assert_untouched(stream, lambda: stream.partial_fit(X), ValueError, "array|dim|sample|feature")


# 11: what is not a number; 14: sparse matrices that are not what they claim


@pytest.mark.parametrize("dtype", ["datetime64[s]", "timedelta64[s]"])
def test_times_are_not_numbers(stream, dtype):
    X = np.ones((5, 60)).astype(dtype)
    assert_untouched(stream, lambda: stream.partial_fit(X), (InvalidInputError, TypeError), "")


@pytest.mark.parametrize("method", ["fit", "partial_fit", "complete", "transform"])
@pytest.mark.parametrize("absent", ["missing", "zero"])
def test_a_csr_matrix_with_an_index_beyond_its_shape_is_refused(problem, method, absent):
    model = GASG21(3, absent=absent, random_state=0).partial_fit(problem.data)
    X = sp.csr_matrix((np.ones(4), np.array([0, 1, 2, 20_000_000]), np.array([0, 4])), shape=(1, 60))
    assert_untouched(model, lambda: getattr(model, method)(X), InvalidInputError, "not a valid CSR matrix")


def test_masked_arrays_are_read_with_their_mask(problem):
    masked = np.ma.masked_array(np.where(problem.mask, problem.data, 1e9), ~problem.mask)
    ours, theirs = (GASG21(3, random_state=0).partial_fit(X) for X in (masked, problem.data))
    assert ours.components_.tobytes() == theirs.components_.tobytes()


def test_missing_tqdm_leaves_a_new_model_unfitted(problem, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    model = GASG21(3, verbose=1)
    assert_untouched(model, lambda: model.partial_fit(problem.data), ImportError, "progress")


def test_contamination_outlives_more_data(problem):
    model = GASG21(3, contamination=0.3, random_state=0).fit(problem.data)
    model.partial_fit(np.full((1, 60), np.nan)).partial_fit(problem.data[:1])
    assert np.mean(model.predict(problem.data) == -1) == pytest.approx(0.3, abs=0.02)


# 13: a truncated memory map


def test_a_truncated_memory_map_is_an_error_at_open(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.ones((100, 20)))
    path.write_bytes(path.read_bytes()[:4000])
    code = f"import numpy as np, gasg21; gasg21.GASG21(2).fit(np.load({str(path)!r}, mmap_mode='r'))"
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert child.returncode == 1
    assert "ValueError" in child.stderr


# 15: masks


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (np.ones((600, 59), bool), r"shape \(600, 59\) .* shape \(600, 60\) of X"),
        (np.ones(60, bool), r"shape \(60,\)"),
        (np.ones((600, 60)), "dtype float64"),
        (np.ones((600, 60), np.uint8), "dtype uint8"),
        (np.zeros((600, 60), bool), r"mask of shape \(600, 60\) is False everywhere"),
    ],
)
@pytest.mark.parametrize("method", ["fit", "partial_fit", "transform", "predict", "complete"])
def test_bad_masks_are_refused(stream, problem, mask, message, method):
    assert_untouched(stream, lambda: getattr(stream, method)(problem.data, mask=mask), InvalidInputError, message)


def test_a_mask_for_sparse_data_is_refused(stream, problem):
    X = sp.csr_matrix(np.nan_to_num(problem.data))
    assert_untouched(stream, lambda: stream.partial_fit(X, mask=problem.mask), InvalidInputError, "mask must be None")


# 16: another number of features


@pytest.mark.parametrize("n", [1, 59, 61])
def test_another_number_of_features_is_refused(stream, n):
    assert_untouched(stream, lambda: stream.partial_fit(np.ones((5, n))), ValueError, f"{n} features")


def test_a_failed_refit_leaves_the_old_model(stream, problem):
    X = np.ones((5, 7))
    X[2, 3] = np.inf
    assert_untouched(stream, lambda: stream.fit(X), InvalidInputError, "row 2, column 3")
    assert stream.n_features_in_ == 60
    assert stream.transform(problem.data).shape == (600, 3)


# 22: resume


def test_resuming_at_every_cut_is_bit_identical():
    rng = np.random.default_rng(1)
    X = np.where(rng.random((400, 12)) < 0.8, rng.standard_normal((400, 12)), np.nan)
    whole = GASG21(2, random_state=3).partial_fit(X)
    model = GASG21(2, random_state=3).partial_fit(X[:1])
    for cut in range(1, 400):
        resumed = pickle.loads(pickle.dumps(model))
        assert resumed.partial_fit(X[cut:]).components_.tobytes() == whole.components_.tobytes()
        model.partial_fit(X[cut : cut + 1])


@pytest.mark.filterwarnings("error")
def test_nothing_warns_on_the_way(problem):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = GASG21(3, random_state=0).fit(problem.data)
        X = problem.data.copy()
        X[0], X[1] = 0.0, np.nan
        model.partial_fit(X).predict(X)
        assert np.isnan(model.complete(X)[1]).all()


def test_samples_of_zeros_do_not_disturb_the_self_check():
    p = make_low_rank(200, 30, 2, random_state=0)
    X = p.data.copy()
    X[::3] = 0  # warnings are errors here
    model = GASG21(2, random_state=0).fit(X)
    assert model.converged_
    assert subspace_angle(model.components_, p.basis) < 1e-6
