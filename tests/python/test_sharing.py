"""One object in many threads and processes: no error, nothing torn, nothing lost."""

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import unaligned

from attacks import fork, models, threads
from gasg21 import GASG21, KGASG21, _core
from gasg21.exceptions import InvalidInputError

TESTS = Path(__file__).parents[1]


def together(*works):
    """Run the functions at the same time; raise what one of them raises."""
    begin, errors = threading.Barrier(len(works)), []

    def run(work):
        try:
            begin.wait()
            work()
        except BaseException as error:  # for the main thread
            errors.append(error)

    running = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    if errors:
        raise errors[0]


def test_readers_and_writers_in_eight_threads():
    _, failures, _ = threads.attack(6000, 1)
    assert failures == []


def test_the_module_leaves_the_gil_off_where_it_is_safe():
    """A free-threaded interpreter that does not copy a deque in one go turns the GIL on when it imports the module."""
    free = bool(sysconfig.get_config_var("Py_GIL_DISABLED")) and sys.version_info >= (3, 14, 4)
    code = "import sys, gasg21; print(getattr(sys, '_is_gil_enabled', lambda: True)())"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    said = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], check=True, env=environment, stdout=subprocess.PIPE, text=True
    )
    assert said.stdout.strip() == str(not free)


@pytest.mark.parametrize("center", [False, True])
def test_the_first_call_may_come_from_many_threads(center):
    for seed in range(20):
        model = GASG21(2, center=center, random_state=seed)
        together(*[lambda m=model: m.partial_fit(models.X[:30])] * 8)
        assert model.diagnostics_["n_seen"] == 240


def test_a_reader_does_not_wait_for_a_batch(rng):
    """It gets its turn between two vectors of a call that takes long."""
    X = np.tile(rng.standard_normal((10_000, 200)), (12, 1))
    model = GASG21(10, random_state=0, n_jobs=1).partial_fit(X[:100])
    waits, done = [], threading.Event()

    def write():
        model.partial_fit(X)
        done.set()

    def read():
        while not done.is_set():
            began = time.perf_counter()
            assert model.transform(X[:2]).shape == (2, 10)
            pickle.dumps(model)
            waits.append(time.perf_counter() - began)

    began = time.perf_counter()
    together(write, read)
    assert len(waits) > 3
    assert np.median(waits) < (time.perf_counter() - began) / 3


def test_a_refused_batch_does_not_disturb_other_threads():
    model = GASG21(2, random_state=0).partial_fit(models.X)
    bad = models.X[:3].copy()
    bad[1, 1] = np.inf

    def refuse():
        for _ in range(300):
            with pytest.raises(InvalidInputError):
                model.partial_fit(bad)

    def use():
        for _ in range(300):
            model.partial_fit(models.X[:2])
            assert model.get_params()["n_components"] == 2

    together(refuse, use, use)
    assert model.diagnostics_["n_seen"] == len(models.X) + 1200


def test_a_refit_with_other_features_is_never_half_seen():
    wide, narrow = models.COMPLETE, models.COMPLETE[:, :15]
    model = GASG21(2, random_state=0, max_passes=1, tol=0, polish=False, n_jobs=1).fit(wide)
    done = threading.Event()

    def write():
        for i in range(60):
            model.fit([narrow, wide][i % 2])
        done.set()

    def read():
        while not done.is_set():
            state = model.__getstate__()["model"]
            said = _core.decode(state)
            n = said["attributes"]["n_features_in_"]
            assert said["tracker"].n_features == n
            assert said["attributes"]["_published"]["subspace"].n_features == n

    together(write, read, read)


def test_a_failing_callback_leaves_what_was_consumed(monkeypatch, rng):
    """An error in the middle of a batch: the vectors before it count, and the model says so."""
    from contextlib import contextmanager

    @contextmanager
    def bar(*_):
        def fail(*_):
            msg = "full"
            raise OSError(msg)

        yield fail

    X = rng.standard_normal((200_000, 30))
    model = GASG21(5, random_state=0).partial_fit(X[:50])
    monkeypatch.setattr("gasg21._estimators.streaming.progress_bar", bar)
    with pytest.raises(OSError, match="full"):
        model.partial_fit(X)
    assert 50 < model.diagnostics_["n_seen"] == model._tracker.n_seen
    assert model.predict(X[:3]).shape == (3,)


# ---- processes


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_inside_a_call_leaves_a_child_that_works():
    """In a process of its own: the threads of the test runner would be forked, too."""
    code = "from attacks import fork; ran, failures, note = fork.attack(12, 3); assert not failures, failures"
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, env=environment, timeout=300)
    assert fork.PATIENCE < 60


def test_a_started_process_gets_a_model_and_sends_it_back(rng):
    model = GASG21(2, random_state=0).partial_fit(rng.standard_normal((50, 6)))
    rows = rng.standard_normal((20, 6))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        again = pool.apply(GASG21.partial_fit, (model, rows))
    assert models.fingerprint(again) == models.fingerprint(model.partial_fit(rows))


# ---- what the core borrows


def test_components_need_not_be_aligned():
    U = np.eye(20)[:2].copy()
    expected = _core.project(U, models.COMPLETE)
    for one, other in zip(_core.project(unaligned(U), models.COMPLETE), expected, strict=True):
        np.testing.assert_array_equal(one, other)
    assert _core.orthonormality_error(unaligned(U)) == 0


def test_lists_are_refused_where_arrays_are_borrowed():
    U = np.eye(20)[:2].copy()
    with pytest.raises(InvalidInputError, match="samples must be a NumPy array, not a list"):
        _core.project(U, models.COMPLETE.tolist())
    with pytest.raises(InvalidInputError, match="mask must be a NumPy array, not a list"):
        _core.project(U, models.COMPLETE, np.ones((200, 20), bool).tolist())
    tracker = _core.Tracker64(20, 2, _core.AdaptiveStep(), 0)
    with pytest.raises(InvalidInputError, match="order must be a NumPy array"):
        tracker.consume(models.COMPLETE, None, [0, 1])
    with pytest.raises(InvalidInputError, match="beyond the 200"):
        tracker.consume(models.COMPLETE, None, np.array([5, 200], np.uint64))


@pytest.mark.parametrize("shape", [(0, 20), (2, 0), (21, 20)])
def test_a_basis_has_rows_and_columns(shape):
    with pytest.raises(InvalidInputError, match="at least one row"):
        _core.block_sums(np.zeros(shape), models.COMPLETE, None, None, 0.0)


@pytest.mark.parametrize("n", [0, 2**40 + 1, 2**63, 2**64 - 1])
def test_sizes_that_would_wrap_are_refused(n):
    empty = (np.zeros(0), np.zeros(0, np.int32), np.zeros(1, np.int32))
    with pytest.raises(InvalidInputError, match="must be in"):
        _core.find_infinite(empty, None, n)


@pytest.mark.parametrize("tracker", [_core.Tracker64, _core.Tracker32])
@pytest.mark.parametrize(("n", "d"), [(2**63, 2), (2**64 - 1, 2**63), (2**62, 3), (2**61, 1), (2**62, 1)])
def test_a_basis_of_more_entries_than_memory_is_refused(tracker, n, d):
    """Armadillo takes 2^63 x 2 entries for none."""
    with pytest.raises((InvalidInputError, MemoryError), match=r"too large|alloc"):
        tracker(n, d, _core.AdaptiveStep(), 0)


LITTLE_MEMORY = """
import resource
import numpy as np
from gasg21 import GASG21
X = np.random.default_rng(0).standard_normal((200_000, 20))
model = GASG21(3, random_state=0, n_jobs={n_jobs}).fit(X[:2000])
used = 4096 * int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (used + {room}, resource.RLIM_INFINITY))
for call in (model.fit, model.complete, model.partial_fit):
    before = model.components_
    try:
        call(X)
    except MemoryError:
        print(call.__name__, np.array_equal(model.components_, before))
model.partial_fit(X[:50]).predict(X[:50])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of the address space")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_no_memory_leaves_usable_models(n_jobs):
    code = LITTLE_MEMORY.format(n_jobs=n_jobs, room=4_000_000)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "fit True\ncomplete True\n"


def test_a_histogram_of_another_size_is_refused():
    """A share that is not a number would be looked for beyond its end."""
    with pytest.raises(InvalidInputError, match="a histogram has 7681 counts, not 1"):
        _core.quantile(np.ones(1, np.uint64), np.nan)


def test_candidates_without_end_are_refused():
    with pytest.raises(InvalidInputError, match="n_candidates=18446744073709551615 must be at most"):
        _core.repair([np.eye(2, 20)], models.COMPLETE, None, 2**64 - 1, 3, 0)


def test_an_array_cannot_be_resized_while_it_is_borrowed():
    X = np.random.default_rng(0).standard_normal((20_000, 50))
    tracker, refused = _core.Tracker64(50, 5, _core.AdaptiveStep(), 0), []

    def resize():
        time.sleep(0.02)
        try:
            X.resize((1, 50), refcheck=False)
        except ValueError as error:
            refused.append(error)

    thread = threading.Thread(target=resize)
    thread.start()
    tracker.consume(X, None, np.tile(np.arange(len(X), dtype=np.uint64), 20))
    thread.join()
    assert refused
    assert tracker.n_seen == 20 * len(X)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_ends_an_ensemble():
    X = models.make_union_of_subspaces(3000, 60, 3, 4, random_state=0).data
    model = KGASG21(4, 3, n_ensemble=20, random_state=0)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    pressed = []
    try:
        timer = threading.Timer(0.3, lambda: (pressed.append(time.perf_counter()), os.kill(os.getpid(), signal.SIGINT)))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            model.fit(X)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.perf_counter() - pressed[0] < 1  # 0.3 s on an idle machine
    assert not hasattr(model, "subspaces_")
