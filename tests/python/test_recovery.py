"""GASG21 and GROUSE: they recover what the paper says, end as they should, and resume."""

import copy
import hashlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from conftest import paper

import reference
from gasg21 import GROUSE, _core
from gasg21.datasets import make_low_rank
from gasg21.exceptions import ConvergenceWarning, InvalidInputError
from gasg21.metrics import subspace_angle
from gasg21.step_size import AdaptiveStep, DiminishingStep


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("outliers", "bound"), [(0.5, 1e-9), (0.6, 1e-6), (0.7, 1e-3)])
def test_two_passes_over_the_papers_matrix_recover_the_subspace(outliers, bound):
    angles = []
    for seed in range(5):
        problem = make_low_rank(
            2000,
            2000,
            5,
            outlier_fraction=outliers,
            observed_fraction=0.7,
            singular_values=(2000, 10000),
            random_state=100 + seed,
        )
        model = paper(5, max_passes=2, random_state=seed).fit(problem.data)
        angles.append(subspace_angle(model.components_, problem.basis))
    assert np.median(angles) <= bound


def angles_along(model, problem, *, n_vectors=10_000, chunk=1000):
    """Angles to the truth along shuffled passes of a stream."""
    rng, angles = np.random.default_rng(0), []
    for _ in range(n_vectors // len(problem.data)):
        for rows in np.split(rng.permutation(len(problem.data)), len(problem.data) // chunk):
            angles.append(subspace_angle(model.partial_fit(problem.data[rows]).components_, problem.basis))
    return np.array(angles)


@pytest.mark.parametrize("singular_values", [(9000, 10000), (2000, 10000)])
def test_convergence_is_as_in_the_paper(singular_values):
    """GASG21 linear, GASG21-DM sublinear, GROUSE nowhere (figure `convergence`)."""
    problem = make_low_rank(
        2000,
        2000,
        10,
        outlier_fraction=0.65,
        observed_fraction=0.7,
        singular_values=singular_values,
        random_state=11,
    )
    gasg21 = angles_along(paper(10, random_state=0), problem)
    assert gasg21[-1] < 1e-6
    # linear on a log plot: once it has found the basin, each 2000 vectors gain about as much
    decades = -np.diff(np.log10(gasg21[3::2]))
    assert decades.min() > 0.5
    assert decades.max() < 4 * decades.min()

    diminishing = angles_along(paper(10, step_size="diminishing", random_state=0), problem)
    # eta ~ 1 / j: the angle falls like 1 / j too, by a factor 2 from vector 5000 to 10 000
    assert 1e-3 < diminishing[-1] < 0.05
    assert 1.5 < diminishing[4] / diminishing[-1] < 3

    assert angles_along(GROUSE(10, random_state=0), problem)[5:].min() > 1e-2


def test_grouse_tracks_where_there_are_no_outliers():
    problem = make_low_rank(4000, 100, 4, observed_fraction=0.5, random_state=0)
    model = GROUSE(4, step_size="constant", random_state=0).partial_fit(problem.data)
    assert subspace_angle(model.components_, problem.basis) < 1e-2


def test_fit_converges_and_says_so(problem):
    model = paper(3, random_state=0).fit(problem.data)
    assert model.converged_
    assert model.status_ == "converged"
    assert subspace_angle(model.components_, problem.basis) < 1.3e-6
    assert model.n_passes_ == len(model.history_) < 20
    assert model.history_[-1]["moved"] <= 1e-6 < model.history_[-2]["moved"]
    assert [record["pass"] for record in model.history_] == list(range(1, model.n_passes_ + 1))
    assert model.n_iter_ == model.n_passes_ * 600
    assert model.n_skipped_ == 0
    assert model.step_size_ == 0.5 * 2.0**-model.level_
    assert model.n_components_ == 3
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(3), atol=1e-14)


def test_fit_that_ends_early_warns_and_says_so(problem):
    with pytest.warns(ConvergenceWarning, match="max_passes=1,"):
        model = paper(3, max_passes=1, random_state=0).fit(problem.data)
    assert (model.converged_, model.status_, model.n_passes_) == (False, "max_passes", 1)


def test_tol_zero_runs_all_passes_without_a_warning(problem):
    model = paper(3, max_passes=6, tol=0, random_state=0).fit(problem.data)
    assert model.n_passes_ == 6
    assert model.status_ == "max_passes"


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_rank_deficient_data_is_reported(rng, rank):
    X = rng.standard_normal((300, rank)) @ rng.standard_normal((rank, 40))
    with pytest.warns(ConvergenceWarning, match="smaller n_components"):
        model = paper(5, random_state=0).fit(X)
    assert model.status_ == "rank_deficient"
    assert not model.converged_
    assert np.isfinite(model.components_).all()
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(5), atol=1e-13)
    if rank > 1:  # on a single line the paper's rule may swing between two subspaces
        assert np.max(-model.score_samples(X)) < 1e-6


def test_one_sample_repeated_is_rank_deficient(rng):
    X = np.tile(rng.standard_normal(20), (50, 1))
    with pytest.warns(ConvergenceWarning, match="do not span"):
        assert paper(2, random_state=0).fit(X).status_ == "rank_deficient"


def test_fit_is_passes_of_the_core_in_its_own_order(problem):
    """The same seed gives the same bits in C++: a fit is shuffled passes from the seed's random start."""
    model = paper(3, max_passes=3, tol=0, random_state=42).fit(problem.data)
    tracker = _core.Tracker64(60, 3, _core.AdaptiveStep(), 42)
    for _ in range(3):
        tracker.consume(problem.data, None, tracker.permutation(600))
    assert model.components_.tobytes() == tracker.components().tobytes()


def test_random_state_decides_everything(problem):
    fits = [paper(3, max_passes=2, tol=0, random_state=s).fit(problem.data).components_ for s in (1, 1, 2)]
    assert fits[0].tobytes() == fits[1].tobytes()
    assert fits[0].tobytes() != fits[2].tobytes()
    for state in (None, np.random.RandomState(0), np.random.default_rng(0)):
        assert paper(3, random_state=state).fit(problem.data).converged_


def test_partial_fit_takes_the_rows_in_order(problem):
    model = paper(3, random_state=5).partial_fit(problem.data)
    tracker = _core.Tracker64(60, 3, _core.AdaptiveStep(), 5)
    U = reference.gasg21(tracker.components().T, problem.data, reference.AdaptiveStepReference())
    assert reference.largest_angle(U, model.components_.T) <= 1e-12


def test_a_stream_in_pieces_is_the_stream(problem):
    """At any cuts, pickled or copied in between: the same bits."""
    whole = paper(3, random_state=5).partial_fit(problem.data)
    rng = np.random.default_rng(0)
    for attempt in range(6):  # the pickle protocols, then a copy
        cuts = np.sort(rng.choice(np.arange(1, 600), 10, replace=False))
        model = paper(3, random_state=5)
        for piece in np.split(problem.data, cuts):
            model.partial_fit(piece)
            model = pickle.loads(pickle.dumps(model, attempt)) if attempt < 5 else copy.deepcopy(model)
        assert model.components_.tobytes() == whole.components_.tobytes()
        assert model.diagnostics_ == whole.diagnostics_


def test_partial_fit_goes_on_after_fit(problem):
    model = paper(3, random_state=0).fit(problem.data)
    n_iter = model.n_iter_
    model.partial_fit(problem.data[:10])
    assert model.n_iter_ == n_iter + 10
    assert subspace_angle(model.components_, problem.basis) < 1e-5


@pytest.mark.parametrize("init", ["random", "spherical_pca", "array"])
def test_every_start_gets_there(problem, rng, init):
    start = rng.standard_normal((3, 60)) if init == "array" else init
    model = paper(3, init=start, random_state=0).fit(problem.data)
    assert subspace_angle(model.components_, problem.basis) < 1e-5


def test_spherical_pca_starts_closer(problem):
    one = problem.data[:1]
    random = paper(3, random_state=0).partial_fit(one)
    model = paper(3, init="spherical_pca", step_size=AdaptiveStep(eta0=1e-9), random_state=0)
    model.partial_fit(problem.data)
    assert subspace_angle(model.components_, problem.basis) < 0.5
    assert subspace_angle(model.components_, problem.basis) < subspace_angle(random.components_, problem.basis)


@pytest.mark.parametrize(
    ("init", "message"),
    [
        (np.zeros((2, 60)), r"init has shape \(2, 60\); it must have .* = \(3, 60\)"),
        (np.zeros((3, 60)), "linearly independent"),
        (np.full((3, 60), np.nan), "linearly independent"),
        ("pca", "init='pca' must be one of 'random', 'spherical_pca'"),
    ],
)
def test_a_bad_start_is_refused(problem, init, message):
    model = paper(3, init=init)
    with pytest.raises(InvalidInputError, match=message):
        model.fit(problem.data)
    assert not hasattr(model, "n_features_in_")


def test_step_sizes_are_used(problem):
    model = paper(3, step_size=DiminishingStep(7.0), random_state=0).partial_fit(problem.data[:100])
    assert model.step_size_ == 7.0 / 100
    assert model.level_ == 0
    model = paper(3, step_size=AdaptiveStep(eta0=0.25), random_state=0).partial_fit(problem.data[:1])
    assert model.step_size_ == 0.25


def test_n_components_cannot_change_in_a_stream(problem):
    model = paper(3, random_state=0).partial_fit(problem.data)
    before = model.components_.tobytes()
    with pytest.raises(InvalidInputError, match="n_components=4 must stay 3"):
        model.set_params(n_components=4).partial_fit(problem.data)
    assert model.components_.tobytes() == before


def test_verbose_shows_pass_level_and_step(problem, capsys):
    paper(3, verbose=1, random_state=0).fit(problem.data)
    err = capsys.readouterr().err
    assert "GASG21" in err
    assert "pass " in err
    assert "level " in err
    assert "step " in err


def test_verbose_without_tqdm_names_the_extra(problem, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match=r"gasg21\[progress\]"):
        paper(3, verbose=1).fit(problem.data)


INTERRUPTED = """
import signal, sys, time, numpy as np
from gasg21 import GASG21, _core
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
X = np.random.default_rng(0).standard_normal((8000, 1000))
X[:, 0] = np.nan
model = GASG21(60, tol=0, random_state=0, **eval(sys.argv[2]))
print("running", flush=True)
try:
    while True:  # however fast the machine is, it is at work when the signal comes
        getattr(model, sys.argv[1])(X)
except KeyboardInterrupt:
    caught = time.time()
    assert _core.orthonormality_error(model.components_) < 1e-12
    assert sys.argv[1] == "partial_fit" or model.status_ == "interrupted"
    assert model.transform(X[:3]).shape == (3, 60)
    model.partial_fit(X[:10])
    print(caught)
"""


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize("parameters", [{}, {"metric": "canonical", "polish": False}])
@pytest.mark.parametrize("delay", [0.1, 0.7])
def test_ctrl_c_returns_at_once_and_leaves_a_usable_model(method, parameters, delay):
    command = [sys.executable, "-c", INTERRUPTED, method, repr(parameters)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "running\n"
    time.sleep(0.2 + delay)  # past the validation of the data, in the midst of the loop
    sent = time.time()
    os.kill(child.pid, signal.SIGINT)
    out, _ = child.communicate(timeout=20)
    assert child.returncode == 0
    assert float(out) - sent < 0.5


def test_other_threads_run_during_a_fit():
    """The GIL is free: a thread that only counts runs beside a fit as fast as beside a hash function.

    (hashlib is known to release the GIL; it keeps the other core as busy as the fit does, so that what
    else the machine is doing cancels.)
    """
    X = np.random.default_rng(0).standard_normal((4000, 1000))
    X[:, 0] = np.nan
    model = paper(60)

    def count_beside(work):
        stop = threading.Event()

        def work_on():
            while not stop.is_set():
                work(X)

        worker = threading.Thread(target=work_on)
        worker.start()
        time.sleep(0.1)
        n, end = 0, time.perf_counter() + 0.4
        while time.perf_counter() < end:
            n += 1
        stop.set()
        worker.join()
        return n

    ratios = []
    for _ in range(4):
        beside_hash = count_beside(lambda data: hashlib.sha256(data).digest())
        ratios.append(count_beside(model.partial_fit) / beside_hash)
    assert max(ratios) > 0.8


def test_two_threads_may_share_a_stream(problem):
    model = paper(3, random_state=0).partial_fit(problem.data)
    threads = [threading.Thread(target=model.partial_fit, args=(problem.data,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(50):
        assert _core.orthonormality_error(model._tracker.components()) < 1e-12
    for thread in threads:
        thread.join()
    assert model._tracker.counters()["n_seen"] == 5 * 600


HANDLER = """
import pickle, signal, numpy as np
from gasg21 import GASG21
X = np.random.default_rng(0).standard_normal((2000, 1000))
X[:, 0] = np.nan
model = GASG21(40, random_state=0).partial_fit(X[:5])
saved = []
signal.signal(signal.SIGALRM, lambda *_: saved.append(pickle.dumps(model)))
signal.setitimer(signal.ITIMER_REAL, 0.05)
model.partial_fit(np.vstack([X] * 5))
resumed = pickle.loads(saved[0])
print(resumed.n_features_in_, model.n_iter_)
"""


def test_a_signal_handler_may_save_the_model():
    child = subprocess.run([sys.executable, "-c", HANDLER], capture_output=True, text=True, timeout=60, check=False)
    assert child.stdout == "1000 10005\n", child.stderr
