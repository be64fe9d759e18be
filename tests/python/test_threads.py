"""Threads: `n_jobs` means what it means in scikit-learn, and changes no bit of any result."""

import inspect
import os
import pickle
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import Parallel, delayed, parallel_config
from sklearn.base import clone

from gasg21 import GASG21, GRASTA, GROUSE, KGASG21, _core
from gasg21._threads import n_threads
from gasg21.datasets import make_low_rank, make_union_of_subspaces
from gasg21.exceptions import InvalidInputError

ESTIMATORS = [GASG21, GROUSE, GRASTA, KGASG21]


def cores():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


@pytest.fixture
def four_cores(monkeypatch):
    monkeypatch.setattr("gasg21._threads._cores", lambda: 4)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


# ---- the parameter


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_n_jobs_is_the_last_parameter_and_is_stored_as_given(estimator):
    parameters = inspect.signature(estimator).parameters
    name, parameter = list(parameters.items())[-1]
    assert (name, parameter.default, parameter.kind) == ("n_jobs", None, inspect.Parameter.KEYWORD_ONLY)
    assert clone(estimator(n_jobs=-2)).n_jobs == -2


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("bad", [0, 1.5, "2", True])
def test_a_bad_n_jobs_is_refused_when_it_is_used(estimator, bad, problem):
    model = estimator(n_jobs=bad)
    for method in (model.fit, model.partial_fit):
        with pytest.raises(InvalidInputError, match=r"n_jobs=.* must be None, a positive number"):
            method(problem.data)
    model = estimator(random_state=0, n_jobs=1).partial_fit(problem.data).set_params(n_jobs=bad)
    with pytest.raises(InvalidInputError, match="n_jobs="):
        model.transform(problem.data)


def test_n_jobs_counts_as_in_scikit_learn(four_cores):
    assert [n_threads(n) for n in (1, 2, 7, -1, -2, -4, -9, np.int64(3))] == [1, 2, 7, 4, 3, 1, 1, 3]
    assert n_threads(None) == 4
    with parallel_config(n_jobs=3):
        assert n_threads(None) == 3
        assert n_threads(2) == 2
    with parallel_config(n_jobs=-2):
        assert n_threads(None) == 3
    with parallel_config(backend="threading"):
        assert n_threads(None) == 4


def test_nobody_is_asked_for_more_threads_than_it_may_have(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert 1 <= n_threads() <= cores()
    for limit, expected in (("1", 1), ("1,4", 1), ("0", 1), ("999", n_threads()), ("none", n_threads())):
        monkeypatch.setenv("OMP_NUM_THREADS", limit)
        assert n_threads() == expected
    assert n_threads(2) == 2  # who asks gets


@pytest.mark.parametrize("n_jobs", [None, -1, 5])
def test_threads_of_joblib_do_not_start_threads(four_cores, n_jobs):
    assert Parallel(2, backend="threading")(delayed(n_threads)(n_jobs) for _ in range(3)) == [1] * 3
    assert Parallel(1)(delayed(n_threads)(n_jobs) for _ in range(2)) == [n_threads(n_jobs)] * 2


@pytest.mark.parametrize(("set_to", "expected"), [(None, 1), ("1", 1)])
@pytest.mark.parametrize("n_jobs", [None, -1, 5])
def test_processes_of_joblib_keep_to_their_share(monkeypatch, set_to, expected, n_jobs):
    """Loky sets OMP_NUM_THREADS for its processes: as many to each as there are cores for it."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if set_to:
        monkeypatch.setenv("OMP_NUM_THREADS", set_to)
    said = Parallel(max(2, cores()), backend="loky")(delayed(n_threads)(n_jobs) for _ in range(2))
    assert said == [expected] * 2


# ---- the results


def each_form(X, mask):
    """The same samples in every form that is read in its own way."""
    rows, columns = np.nonzero(mask)
    csr = sp.csr_matrix((X[rows, columns], (rows, columns)), shape=X.shape)
    with_nan = np.where(mask, X, np.nan)
    return {
        "NaN": (with_nan, None),
        "mask": (X, mask),
        "sparse": (csr, None),
        "every second": (with_nan[::2], None),
        "Fortran": (np.asfortranarray(with_nan), None),
        "float32": (with_nan.astype(np.float32), None),
    }


@pytest.mark.parametrize("estimator", [GASG21(4, random_state=0), GRASTA(4, max_passes=1, tol=0, random_state=0)])
@pytest.mark.parametrize("observed", [1.0, 0.7, 0.1])
def test_threads_change_no_bit_of_what_a_subspace_says(estimator, observed):
    m, n = 3000 if isinstance(estimator, GASG21) else 400, 200  # enough to be worth threads
    rng = np.random.default_rng(1)
    X = make_low_rank(m, n, 4, outlier_fraction=0.3, random_state=1).data
    mask = rng.random(X.shape) < observed
    mask[7] = False  # what cannot be told
    model = clone(estimator).set_params(max_passes=1, tol=0).fit(X[:100])
    for name, (samples, given) in each_form(X, mask).items():
        said = set()
        for n_jobs in (1, 2, 3):
            model.n_jobs = n_jobs
            methods = (model.transform, model.score_samples, model.decision_function, model.predict, model.complete)
            said.add(b"".join(method(samples, mask=given).tobytes() for method in methods))
        assert len(said) == 1, name


def test_threads_change_no_bit_of_a_fit():
    X = make_low_rank(700, 120, 4, outlier_fraction=0.4, observed_fraction=0.7, noise=0.01, random_state=9).data
    for d in (4, "auto"):
        assert len({GASG21(d, random_state=0, n_jobs=n).fit(X).components_.tobytes() for n in (1, 2, 3)}) == 1


@pytest.mark.parametrize("parameters", [{}, {"n_ensemble": 3}, {"whiten": True}])
def test_threads_change_no_bit_of_a_union(parameters):
    X = make_union_of_subspaces(300, 30, 2, 3, outlier_fraction=0.2, observed_fraction=0.8, random_state=0).data
    said = set()
    for n in (1, 2, 3):
        model = KGASG21(3, 2, random_state=0, n_jobs=n, **parameters).fit(X)
        methods = (model.transform, model.score_samples, model.predict, model.complete)
        said.add(b"".join([*map(bytes, model.subspaces_), *(method(X).tobytes() for method in methods)]))
    assert len(said) == 1


def test_the_first_infinity_is_found_whoever_finds_it():
    X = np.ones((4000, 300))
    assert _core.find_infinite64(X, None, 300, 3) is None
    for row, column in ((3999, 299), (2000, 5), (2000, 3), (1999, 200), (3, 7), (0, 0)):
        X[row, column] = -np.inf
        for threads in (1, 2, 3):
            assert _core.find_infinite64(X, None, 300, threads) == (row, column)
    assert _core.find_infinite64(X, np.isfinite(X), 300, 3) is None
    csr = sp.csr_matrix(X[1990:])
    assert _core.find_infinite64((csr.data, csr.indices, csr.indptr), None, 300, 3) == (9, 200)
    assert _core.find_infinite64(X[:0], None, 300, 3) is None


def test_a_fault_in_a_thread_is_an_error_of_the_call():
    """A row index that only the core can see."""
    components = np.linalg.qr(np.random.default_rng(0).standard_normal((50, 3)))[0].T.copy()
    m = 20_000
    indices = np.tile(np.arange(10), m).astype(np.int32)
    indices[-1] = 50
    payload = (np.ones(10 * m), indices, np.arange(0, 10 * m + 1, 10).astype(np.int32))
    with pytest.raises(ValueError, match="row index 50 is outside"):
        _core.project64(components, payload, None, "l21", 3)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_ends_a_transform_on_several_threads():
    X = np.random.default_rng(0).standard_normal((2000, 300))
    X = np.lib.stride_tricks.as_strided(X, (2_000_000, 300), (0, 8))  # seconds of work
    components = np.linalg.qr(X[:300].T[:, :3] + np.eye(300)[:, :3])[0].T.copy()
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        _core.project64(components, X, None, _core.L1Loss(), 2)
    assert threading.active_count() <= 2


def test_many_threads_may_use_one_model(problem):
    """With threads of their own, while one of them makes the stream go on."""
    model = GASG21(3, random_state=0, n_jobs=2).partial_fit(problem.data)
    errors = []

    def use():
        try:
            for row in problem.data[:200]:
                model.partial_fit(row[None])
                assert model.transform(problem.data[:2]).shape == (2, 3)
        except Exception as error:  # for the main thread
            errors.append(error)

    threads = [threading.Thread(target=use) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert model.partial_fit(problem.data[:1]).diagnostics_["n_seen"] == 600 + 600 + 1


# ---- what is not worth a thread


def test_small_inputs_start_no_thread():
    """Counted by the kernel, in a process where nothing else may start one."""
    if sys.platform != "linux":
        pytest.skip("/proc")
    code = """
import resource, sys
import numpy as np
from gasg21 import _core
U = np.eye(200)[:3].copy()
few, many = np.ones((100, 200)), np.ones((20000, 200))
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
def stack():  # each thread that has been started leaves its stack mapped
    return int(next(line for line in open('/proc/self/status') if line.startswith('VmPeak')).split()[1])
before = stack()
_core.project64(U, few, None, 'l21', 8); _core.find_infinite64(few, None, 200, 8)
after = stack()
_core.project64(U, many, None, 'l21', 8)  # goes on alone where no thread is to be had
print(after - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert int(done.stdout) < 4096  # kB; a stack has 8192


# ---- one vector


PLAIN = [GASG21(3, random_state=0), GROUSE(3, random_state=0), GRASTA(3, random_state=0)]


def state(model):
    names = ("n_iter_", "n_skipped_", "diagnostics_", "step_size_", "level_", "offset_")
    return [model.components_.tobytes(), *(getattr(model, name) for name in names), list(model._recent)]


@pytest.mark.parametrize("estimator", PLAIN)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_one_vector_after_the_other_is_the_same_stream(estimator, dtype, problem):
    X = problem.data.astype(dtype)
    X[300], X[301] = 0, np.nan
    whole = clone(estimator).partial_fit(X)
    model = clone(estimator).partial_fit(X[:200])
    for row in X[200:]:
        assert model.partial_fit(row[None]) is model
    np.testing.assert_equal(state(model), state(whole))
    assert model.diagnostics_["n_zero"] == model.diagnostics_["n_all_missing"] == 1


def test_what_one_vector_has_changed_is_seen_whenever_somebody_looks(problem):
    eager, lazy = (GASG21(3, random_state=0).partial_fit(problem.data[:50]) for _ in range(2))
    for row in problem.data[50:90]:
        before = eager.components_.tobytes()
        eager.partial_fit(row[None])
        assert eager.components_.tobytes() != before
        lazy.partial_fit(row[None])
    assert not hasattr(lazy, "components__")
    np.testing.assert_equal(state(pickle.loads(pickle.dumps(lazy))), state(eager))
    np.testing.assert_array_equal(lazy.transform(problem.data), eager.transform(problem.data))
    np.testing.assert_equal(state(lazy), state(eager))
    for model in (lazy, eager):
        model.fit(problem.data[:100])
    np.testing.assert_equal(state(lazy.partial_fit(problem.data[:1])), state(eager.partial_fit(problem.data[:1])))


def test_an_unfitted_model_has_no_fitted_attributes():
    with pytest.raises(AttributeError, match="'GASG21' object has no attribute 'components_'"):
        _ = GASG21().components_
    assert not hasattr(GASG21(), "offset_")


ODD = {
    "an infinity": (lambda x: np.where(np.arange(60) == 5, np.inf, x)[None], "infinity at row 0, column 5"),
    "one dimension": (lambda x: x, "1D array"),
    "too narrow": (lambda x: x[None, :59], "59 features"),
    "no rows": (lambda x: x[None][:0], "0 sample"),
    "complex": (lambda x: x[None] + 0j, "Complex data"),
    "text": (lambda x: np.array([["a"] * 60]), "dtype|numeric|convert"),
}


@pytest.mark.parametrize("name", ODD)
def test_a_vector_that_is_not_plain_is_refused_as_ever(name, problem):
    change, message = ODD[name]
    model = GASG21(3, random_state=0).partial_fit(problem.data).partial_fit(problem.data[:1])
    before = state(model)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(change(np.nan_to_num(problem.data[0])))
    np.testing.assert_equal(state(model), before)


def test_a_vector_in_another_form_is_the_same_vector(problem):
    rows = problem.data[:6]
    forms = [
        lambda x: x[None].astype(">f8"),
        lambda x: np.asfortranarray(np.vstack([x, x]))[:1],
        lambda x: x[None].tolist(),
        lambda x: np.ma.masked_invalid(x[None]),
        lambda x: np.repeat(x, 2)[None, ::2],
        lambda x: sp.csr_matrix(
            (x[~np.isnan(x)], (np.zeros(np.sum(~np.isnan(x)), int), np.flatnonzero(~np.isnan(x)))), (1, 60)
        ),
    ]
    plain, other = (GASG21(3, random_state=0).partial_fit(problem.data) for _ in range(2))
    for row, form in zip(rows, forms, strict=True):
        np.testing.assert_equal(state(other.partial_fit(form(row))), state(plain.partial_fit(row[None])))


def test_parameters_are_looked_at_with_each_vector(problem):
    model = GASG21(3, random_state=0).partial_fit(problem.data)
    x = np.nan_to_num(problem.data[:1])
    bad = {"max_passes": 0, "tol": -1, "scaling": 3, "on_bad": "?", "absent": None, "n_components": 4, "n_jobs": 0}
    for name, value in bad.items():
        good = getattr(model, name)
        with pytest.raises(InvalidInputError, match=f"{name}="):
            model.set_params(**{name: value}).partial_fit(x)
        model.set_params(**{name: good}).partial_fit(x)
    x[0, 5] = np.inf
    skipped = model.n_skipped_
    assert model.set_params(on_bad="skip").partial_fit(x).n_skipped_ == skipped + 1
    model.set_params(contamination=0.5, on_bad="raise").partial_fit(problem.data[:1])
    offset = model.offset_
    assert offset == np.percentile([s for s in model._recent if s == s], 50)
    assert model.partial_fit(problem.data[1:2]).offset_ != offset


def test_names_of_features_are_still_missed(problem):
    pandas = pytest.importorskip("pandas")
    model = GASG21(3, random_state=0).partial_fit(pandas.DataFrame(problem.data).rename(columns=str))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.partial_fit(problem.data[:1])


@pytest.mark.parametrize("kind", [_core.Tracker64, _core.Tracker32])
def test_the_core_takes_a_plain_row_and_nothing_else(kind):
    dtype = np.float64 if kind is _core.Tracker64 else np.float32
    other = np.float32 if kind is _core.Tracker64 else np.float64
    x = np.random.default_rng(0).standard_normal((1, 8)).astype(dtype)
    tracker, twin = (kind(8, 2, _core.AdaptiveStep(), 0) for _ in range(2))
    assert tracker.consume_row(x) == twin.consume(x)[0]
    before = pickle.dumps(tracker)
    infinite = x.copy()
    infinite[0, 7] = -np.inf
    misaligned = np.frombuffer(b"." + x.tobytes(), np.uint8)[1:].view(dtype).reshape(1, 8)
    assert not misaligned.flags.aligned
    odd = [
        x[0],
        x[:, :7],
        np.vstack([x, x]),
        x.astype(other),
        x.view(np.matrix),
        x.tolist(),
        None,
        infinite,
        misaligned,
    ]
    odd += [x.byteswap().view(x.dtype.newbyteorder()), np.vstack([x, x]).T[:1], np.hstack([x, x])[:, ::2], x[None]]
    assert all(tracker.consume_row(each) is None for each in odd)
    assert pickle.dumps(tracker) == before
    assert np.isnan(tracker.consume_row(np.zeros((1, 8), dtype)))
    assert tracker.counters()["n_zero"] == 1
