"""Threads: `n_jobs` means what it means in scikit-learn, and changes no bit of any result."""

import inspect
import os
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
from gasg21._data.parameters import n_threads
from gasg21.datasets import make_low_rank, make_union_of_subspaces
from gasg21.exceptions import InvalidInputError

ESTIMATORS = [GASG21, GROUSE, GRASTA, KGASG21]


def cores():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


@pytest.fixture
def four_cores(monkeypatch):
    monkeypatch.setattr("gasg21._data.parameters._cores", lambda: 4)
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


@pytest.mark.parametrize("limit", [None, "2"])
def test_processes_of_joblib_keep_to_their_share(monkeypatch, limit):
    """Loky sets OMP_NUM_THREADS for its processes, unless it is set: as many as there are cores for each."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if limit:
        monkeypatch.setenv("OMP_NUM_THREADS", limit)
    share = min(2, cores()) if limit else 1
    said = Parallel(max(2, cores()), backend="loky")(delayed(n_threads)(n_jobs) for n_jobs in (None, -1, 5, 1))
    assert said == [share, share, share, 1]


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
    X = make_low_rank(
        *(700, 120, 4), outlier_fraction=0.4, singular_values=np.geomspace(1, 20, 4), noise=0.01, random_state=9
    ).data
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
    assert _core.find_infinite(X, None, 300, 3) is None
    for row, column in ((3999, 299), (2000, 5), (2000, 3), (1999, 200), (3, 7), (0, 0)):
        X[row, column] = -np.inf
        for threads in (1, 2, 3):
            assert _core.find_infinite(X, None, 300, threads) == (row, column)
    assert _core.find_infinite(X, np.isfinite(X), 300, 3) is None
    csr = sp.csr_matrix(X[1990:])
    assert _core.find_infinite((csr.data, csr.indices, csr.indptr), None, 300, 3) == (9, 200)
    assert _core.find_infinite(X[:0], None, 300, 3) is None


def test_a_fault_in_a_thread_is_an_error_of_the_call():
    """A row index that only the core can see."""
    components = np.linalg.qr(np.random.default_rng(0).standard_normal((50, 3)))[0].T.copy()
    m = 20_000
    indices = np.tile(np.arange(10), m).astype(np.int32)
    indices[-1] = 50
    payload = (np.ones(10 * m), indices, np.arange(0, 10 * m + 1, 10).astype(np.int32))
    with pytest.raises(ValueError, match="row index 50 is outside"):
        _core.project(components, payload, None, "l21", 3)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_ends_a_transform_on_several_threads():
    X = np.random.default_rng(0).standard_normal((2000, 300))
    X = np.lib.stride_tricks.as_strided(X, (2_000_000, 300), (0, 8))  # a minute of work
    components = np.linalg.qr(X[:300].T[:, :3] + np.eye(300)[:, :3])[0].T.copy()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            _core.project(components, X, None, _core.L1Loss(), 2)
    finally:
        signal.signal(signal.SIGINT, before)


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


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_small_inputs_start_no_thread():
    """A thread that is started gets a stack, which the memory of a fresh process shows."""
    code = """
import numpy as np
from gasg21 import _core
U, few, many = np.eye(200)[:3].copy(), np.ones((100, 200)), np.ones((20000, 200))
def peak():
    return int(next(line for line in open('/proc/self/status') if line.startswith('VmPeak')).split()[1])
def grown(X):
    before = peak()
    _core.project(U, X, None, 'l21', 3), _core.find_infinite(X, None, 200, 3)
    return peak() - before
print(grown(few), grown(many))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    few, many = map(int, done.stdout.split())
    assert few < 1024 < many  # kB


def test_a_slip_of_n_jobs_is_bounded(rng):
    X = rng.standard_normal((30, 12))
    one, many = (GASG21(2, n_jobs=jobs, random_state=0).partial_fit(X).transform(X) for jobs in (1, 10**30))
    np.testing.assert_array_equal(one, many)
