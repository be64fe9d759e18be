"""The time of a method ends at its first iterate within the angle, and not before."""

import warnings

import numpy as np
import pytest

from benchmarks.experiments import _racing
from benchmarks.experiments._drawing import FIT, MIRROR, PURSUIT, REAPER
from benchmarks.experiments._racing import medians, race
from benchmarks.experiments._streams import PAPER, SCALED, matrix, stream
from benchmarks.framework.angles import passes
from gasg21 import baselines
from gasg21.exceptions import ConvergenceWarning
from gasg21.metrics import subspace_angle

ANGLE = 1e-3
PROBLEM = matrix(60, 3, (2000, 10000), 0.3, 1.0, 5)


def batch(method, n_iterations):
    """Return the angle of a batch method after this number of iterations."""
    model = baselines.REAPER(3, spherize=True) if method == REAPER else baselines.OutlierPursuit(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.set_params(max_iter=n_iterations).fit(PROBLEM.data)
    return subspace_angle(model.components_, PROBLEM.basis)


@pytest.mark.parametrize("method", [REAPER, PURSUIT])
def test_a_batch_method_stops_at_the_first_iterate_within_the_angle(method):
    found = race({method: 500}, PROBLEM, ANGLE, 0)[method]
    assert found["reached"]
    assert found["count"] > 1
    assert batch(method, found["count"]) == pytest.approx(found["angle"], abs=1e-12)
    assert all(batch(method, k) > ANGLE for k in range(1, found["count"]))


@pytest.mark.parametrize("method", [PAPER, SCALED])
def test_a_stream_is_timed_for_the_vectors_that_it_needs(method):
    found = race({method: 50_000}, PROBLEM, ANGLE, 0)[method]
    assert found["reached"]
    angles = []
    for count in (found["count"] - 1, found["count"]):
        begun = stream(method, 60, 3, 0)
        for order in passes(begun, 60, count):
            begun.update(PROBLEM.data, order)
        angles.append(subspace_angle(begun.components(), PROBLEM.basis))
    assert angles[0] > ANGLE >= angles[1]
    assert angles[1] == found["angle"]


@pytest.mark.parametrize("method", [PAPER, SCALED, REAPER, PURSUIT, MIRROR])
def test_methods_that_do_not_reach_the_angle_are_marked(method):
    hopeless = matrix(60, 3, (2000, 10000), 0.95, 1.0, 5)
    found = race({method: 100}, hopeless, 1e-9, 0)[method]
    assert not found["reached"]
    assert found["angle"] > 1e-9
    assert found["count"] <= 120


def test_mirror_descent_stops_within_the_angle():
    found = race({MIRROR: 5000}, PROBLEM, 0.05, 0)[MIRROR]
    assert found["reached"]
    assert 0 < found["count"] < 5000


def test_a_fit_stops_by_its_own_rule():
    found = race({FIT: 0}, PROBLEM, ANGLE, 0)[FIT]
    assert found["reached"]
    assert found["seconds"] > 0


def test_short_runs_are_repeated_and_the_least_time_counts(monkeypatch):
    calls = []
    seconds = {"long": iter([3.0]), "short": iter([0.05, 0.03, 0.04, 0.01, 0.02] * 2)}

    def runner(method, *_):
        def go():
            calls.append(method)
            return next(seconds[method]), 7, 0.5

        return go

    monkeypatch.setattr(_racing, "_runner", runner)
    found = race({"long": 1, "short": 1}, PROBLEM, 1.0, 0)
    assert calls == ["long"] + ["short"] * 10
    assert (found["long"]["seconds"], found["short"]["seconds"]) == (3.0, 0.01)
    calls.clear()
    seconds |= {"a": iter([0.1] * 10), "b": iter([0.1] * 10)}
    race({"a": 1, "b": 1}, PROBLEM, 1.0, 0)
    assert calls == ["a", "a", "b", "b"] * 5


def test_very_short_runs_are_repeated_for_a_while(monkeypatch):
    monkeypatch.setattr(_racing, "_runner", lambda *_: lambda: (calls.append(1), (_racing.BURST / 8, 7, 0.5))[1])
    calls = []
    assert race({"a": 1}, PROBLEM, 1.0, 0)["a"]["seconds"] == _racing.BURST / 8
    assert len(calls) == 8 * _racing.ROUNDS


def test_medians_count_the_runs_within_the_angle():
    runs = [{"seconds": s, "count": 10, "angle": a, "reached": a < 1} for s, a in ((1.0, 0.1), (5.0, 0.2), (2.0, 3.0))]
    assert medians(runs) == {"seconds": 2.0, "count": 10.0, "angle": 3.0, "reached": 2, "runs": 3}


def test_an_unknown_method():
    with pytest.raises(ValueError, match="no such method"):
        race({"PCA": 1}, PROBLEM, ANGLE, 0)


def test_shuffled_passes_use_each_sample_once():
    orders = list(passes(stream(PAPER, 60, 3, 0), 60, 100))
    assert [len(order) for order in orders] == [60, 40]
    assert np.array_equal(np.sort(orders[0]), np.arange(60))
