"""The compiled core alone: equal to the oracle, the same for every form of input, sound for ever."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import reference
from gasg21 import _core
from gasg21.datasets import make_low_rank
from gasg21.exceptions import ModelFormatError

N = 500


def saved(thing):
    """Return what a pickle of a compiled object holds."""
    return _core.decode(thing.__getstate__(), objects=False)["object"]


def without(fields, name):
    """Return a state without one of its fields."""
    return _core.encode({"object": {key: value for key, value in fields.items() if key != name}})


def paper_problem(d, observed, seed):
    return make_low_rank(
        1000,
        N,
        d,
        outlier_fraction=0.5,
        observed_fraction=observed,
        singular_values=(2000, 10000),
        random_state=seed,
    ).data


def csr_of(X):
    """CSR with NaN entries not stored; explicit zeros stay."""
    rows, columns = np.nonzero(~np.isnan(X))
    return sp.csr_matrix((X[rows, columns], (rows, columns)), shape=X.shape)


@pytest.mark.parametrize("d", [1, 5, 10])
@pytest.mark.parametrize("observed", [0.3, 0.7, 1.0])
@pytest.mark.parametrize("eta0", [0.1, 0.5, 1.0])
def test_a_thousand_updates_equal_the_oracle(d, observed, eta0):
    X = paper_problem(d, observed, seed=d)
    tracker = _core.Tracker64(N, d, _core.AdaptiveStep(eta0=eta0), 7)
    U0 = tracker.components().T
    tracker.consume(X)
    U = reference.gasg21(U0, X, reference.AdaptiveStepReference(eta0=eta0))
    bound = 1e-10
    if eta0 == 1.0 and observed == 1.0:
        # Here the iteration itself amplifies rounding: the oracle's own change when the data moves by
        # one ulp says by how much.
        nudged = reference.gasg21(U0, np.nextafter(X, np.inf), reference.AdaptiveStepReference(eta0=eta0))
        bound = max(bound, 100 * reference.largest_angle(U, nudged))
    assert reference.largest_angle(U, tracker.components().T) <= bound


@pytest.mark.parametrize(
    ("rule", "oracle"),
    [
        (_core.DiminishingStep(20.0), reference.DiminishingStepReference(20.0)),
        (_core.ConstantStep(0.2), reference.ConstantStepReference(0.2)),
    ],
)
def test_other_rules_equal_the_oracle(rule, oracle):
    X = paper_problem(5, 0.7, seed=1)
    tracker = _core.Tracker64(N, 5, rule, 7)
    U = reference.gasg21(tracker.components().T, X, oracle)
    tracker.consume(X)
    assert reference.largest_angle(U, tracker.components().T) <= 1e-10


@pytest.mark.parametrize("kind", [_core.Tracker64, _core.Tracker32])
@pytest.mark.parametrize("condition", [1, 100])
@pytest.mark.parametrize("forgetting", [0.9, 0.998])
def test_the_scaled_stream_equals_the_oracle(kind, condition, forgetting):
    double = kind is _core.Tracker64
    X = make_low_rank(
        *(400, 100, 5),
        outlier_fraction=0.3,
        observed_fraction=0.7,
        singular_values=np.geomspace(1, condition, 5),
        random_state=condition,
    ).data.astype(np.float64 if double else np.float32)
    tracker = kind(100, 5, _core.AdaptiveStep(eta0=1.0, mu_max=6.0), 7, "l21", _core.CovarianceScaling(forgetting))
    U0 = tracker.components().T.astype(float)

    def oracle(U, X):
        rule = reference.AdaptiveStepReference(eta0=1.0, mu_max=6.0)
        return reference.scaled_gasg21(U, X, rule, reference.CovarianceScalingReference(5, forgetting))

    for count in (50, 400) if double else (5,):
        U = oracle(U0, X[:count].astype(float))
        nudged = oracle(U0, np.nextafter(X[:count], np.inf).astype(float))
        tracker.consume(X[:count] if count <= 50 else X[50:])
        # Steps of length 1 amplify rounding: by as much as they amplify an ulp of the data.
        bound = max(100 * float(np.finfo(X.dtype).eps), 100 * reference.largest_angle(U, nudged))
        assert bound < 1e-2
        assert reference.largest_angle(U, tracker.components().T.astype(float)) <= bound


def test_directions_without_spread_do_not_make_the_metric_singular():
    """Inliers of two dimensions in a subspace of four, whose other two are then free to wander."""
    rng = np.random.default_rng(3)
    U = np.linalg.qr(rng.standard_normal((60, 4)))[0]
    X = rng.standard_normal((3000, 2)) @ U[:, :2].T + 1e-9 * rng.standard_normal((3000, 60))
    tracker = _core.Tracker64.from_components(
        np.ascontiguousarray(U.T), _core.ConstantStep(1e-4), 1, "l21", _core.CovarianceScaling(0.9)
    )
    metric, rule = reference.CovarianceScalingReference(4, 0.9), reference.AdaptiveStepReference(eta0=1e-4)
    tracker.consume(X[:1])
    expected, _ = reference.scaled_step(U, X[0], rule, metric)
    assert reference.largest_angle(expected, tracker.components().T) <= 1e-9
    for part in np.split(X[1:-4], 5):
        tracker.consume(part)
        components, factor = tracker.components(), saved(tracker)["state"]["metric"]["factor"].T
        D, L = 1 / np.diag(factor), np.tril(factor, -1) + np.eye(4)
        pivots, mean = D, np.sum(L**2 * D) / 4
        assert 1e-12 * mean * (1 - 1e-12) <= pivots.min() <= 1e-9 * mean
        assert np.linalg.norm(U[:, :2] - components.T @ (components @ U[:, :2])) <= 1e-3
        assert _core.orthonormality_error(components) <= 1e-12


def test_a_metric_of_another_version_is_refused():
    metric = _core.CovarianceScaling()
    fields = saved(metric)
    with pytest.raises(ModelFormatError, match="'weight' is missing"):
        _core.CovarianceScaling._from_state(without(fields, "weight"))
    wrong = {**fields, "factor": np.ones((3, 3)), "weight": 1.0, "trace": 1.0}
    with pytest.raises(ModelFormatError, match="not the state"):
        _core.CovarianceScaling._from_state(_core.encode({"object": wrong}))
    assert saved(pickle.loads(pickle.dumps(metric)))["forgetting"] == 0.998


@pytest.mark.parametrize("observed", [0.3, 1.0])
def test_grouse_equals_the_oracle(observed):
    X = paper_problem(5, observed, seed=2)
    tracker = _core.Tracker64(N, 5, _core.ConstantStep(0.5), 7, "squared")
    U = reference.gasg21(tracker.components().T, X, reference.ConstantStepReference(0.5), squared=True)
    tracker.consume(X)
    assert reference.largest_angle(U, tracker.components().T) <= 1e-10


@pytest.mark.parametrize("kind", [_core.Tracker64, _core.Tracker32])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_nan_mask_and_csr_give_the_same_bits(kind, index, rng):
    X = paper_problem(5, 0.5, seed=4).astype(np.float64 if kind is _core.Tracker64 else np.float32)
    mask = ~np.isnan(X)
    filled = np.where(mask, X, rng.standard_normal(X.shape).astype(X.dtype))
    csr = csr_of(X)
    inputs = {
        "nan": (X, None),
        "mask": (filled, mask),
        "csr": ((csr.data, csr.indices.astype(index), csr.indptr.astype(index)), None),
    }
    results = {}
    for name, (payload, m) in inputs.items():
        tracker = kind(N, 5, _core.AdaptiveStep(), 7)
        residuals = tracker.consume(payload, m)
        results[name] = (tracker.components().tobytes(), residuals.tobytes())
    assert results["nan"] == results["mask"] == results["csr"]


def test_order_is_the_order_of_the_rows(rng):
    X = paper_problem(3, 0.7, seed=5)
    order = rng.permutation(len(X)).astype(np.uint64)
    given, permuted = (_core.Tracker64(N, 3, _core.AdaptiveStep(), 1) for _ in range(2))
    given.consume(X, None, order)
    permuted.consume(X[order])
    assert given.components().tobytes() == permuted.components().tobytes()


def test_a_million_updates_stay_orthonormal_and_at_the_floor():
    n, d = 50, 3
    problem = make_low_rank(2000, n, d, outlier_fraction=0.3, observed_fraction=0.8, random_state=0)
    tracker = _core.Tracker64(n, d, _core.AdaptiveStep(), 0)
    for repeat in range(500):
        tracker.consume(problem.data, None, tracker.permutation(2000))
        components = tracker.components()
        assert _core.orthonormality_error(components) <= 1e-12
        if repeat >= 10:
            assert reference.largest_angle(problem.basis.T, components.T) <= 1e-13
    assert tracker.counters()["n_seen"] == 1_000_000


@pytest.mark.parametrize(
    "rule",
    [
        _core.ConstantStep(0.3),
        _core.DiminishingStep(),
        _core.AdaptiveStep(),
        _core.MultiLevelStep(),
        _core.GreedyStep(),
    ],
)
def test_a_long_stream_of_large_steps_stays_orthonormal(rule):
    """Also where the residual is rounding noise: noise-free inliers under a step that never shrinks."""
    problem = make_low_rank(2000, 40, 4, outlier_fraction=0.1, observed_fraction=0.5, random_state=0)
    tracker = _core.Tracker64(40, 4, rule, 0)
    for _ in range(20):
        tracker.consume(problem.data)
        assert _core.orthonormality_error(tracker.components()) <= 1e-12


@pytest.mark.parametrize("kind", [_core.Tracker64, _core.Tracker32])
@pytest.mark.parametrize(
    "rule",
    [_core.AdaptiveStep(), _core.DiminishingStep(), _core.ConstantStep(), _core.MultiLevelStep(), _core.GreedyStep()],
)
@pytest.mark.parametrize("loss", ["l21", "squared", _core.L1Loss(max_iter=10)])
def test_a_pickled_stream_goes_on_bit_for_bit(kind, rule, loss):
    X = paper_problem(3, 0.6, seed=6).astype(np.float64 if kind is _core.Tracker64 else np.float32)[:200]
    straight = kind(N, 3, rule, 9, loss)
    straight.consume(X)
    resumed = kind(N, 3, rule, 9, loss)
    for cut in range(0, 200, 20):
        resumed.consume(X[cut : cut + 20])
        resumed = pickle.loads(pickle.dumps(resumed))
    assert resumed.components().tobytes() == straight.components().tobytes()
    assert resumed.counters() == straight.counters()
    assert resumed.eta == straight.eta
    np.testing.assert_array_equal(resumed.permutation(50), straight.permutation(50))


def test_a_foreign_pickle_is_refused():
    tracker = _core.Tracker64(10, 2, _core.AdaptiveStep(), 0)
    with pytest.raises(ModelFormatError, match="'loss' is missing"):
        _core.Tracker64._from_state(without(saved(tracker), "loss"))
    with pytest.raises(ModelFormatError, match="holds a Tracker64, not a Tracker32"):
        _core.Tracker32._from_state(tracker.__getstate__())


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((3, 10), np.float32), "native 64-bit"),
        (np.zeros((3, 10), ">f8"), "native 64-bit"),
        (np.zeros((10, 3)).T, "contiguous rows"),
        (np.zeros((3, 9)), "9 features, not 10"),
        (np.zeros(10), "2-d"),
    ],
)
def test_what_cannot_be_borrowed_is_refused_not_copied(array, message):
    tracker = _core.Tracker64(10, 2, _core.AdaptiveStep(), 0)
    with pytest.raises(ValueError, match=message):
        tracker.consume(array)
    assert tracker.counters()["n_seen"] == 0


def test_misaligned_memory_is_refused():
    raw = np.zeros(8 * 30 + 1, np.uint8)
    misaligned = raw[1:].view(np.float64).reshape(3, 10)
    with pytest.raises(ValueError, match="aligned"):
        _core.Tracker64(10, 2, _core.AdaptiveStep(), 0).consume(misaligned)


def test_hostile_csr_is_refused():
    tracker = _core.Tracker64(10, 2, _core.AdaptiveStep(), 0)
    data, indices = np.ones(4), np.array([0, 1, 2, 11], np.int32)
    with pytest.raises(ValueError, match=r"row index 11 is outside \[0, 10\)"):
        tracker.consume((data, indices, np.array([0, 4], np.int32)))
    with pytest.raises(ValueError, match="indptr does not fit"):
        tracker.consume((data, indices, np.array([0, 5], np.int32)))
    with pytest.raises(ValueError, match="indptr must not fall"):
        tracker.consume((data, indices, np.array([0, 3, 1, 4], np.int32)))


def test_the_result_of_a_fit_is_typed():
    data = make_low_rank(300, 20, 2, outlier_fraction=0.3, random_state=0)
    rule, options = _core.AdaptiveStep(scaling=True), _core.RecoverOptions(seed=1)
    chosen = {"rule": rule, "stream_rule": rule, "loss": "l21", "metric": _core.CovarianceScaling(), "init": "random"}
    found = _core.recover(data.data, None, 20, 2, options=options, **chosen)
    assert (found.status, found.interrupt) == ("converged", None)
    assert found.counters == found.tracker.counters()
    assert (found.step_size, found.level) == (found.tracker.eta, found.tracker.level)
    assert found.estimated_angle == found.history[-1]["estimated_angle"]
    assert found.subspace.components.shape == (2, 20)
    assert not found.doubts.bent
    assert found.doubts.blocks == []
    with pytest.raises(AttributeError):
        found.status = "ambiguous"
