"""GRASTA and greedy GROUSE: as their papers say, to the oracle; what they recover; the L1 fit behind it."""

import pickle

import numpy as np
import pytest
from scipy.optimize import linprog

import reference
from gasg21 import GASG21, GRASTA, GROUSE, _core
from gasg21.datasets import make_low_rank
from gasg21.exceptions import ConvergenceWarning, InvalidInputError
from gasg21.metrics import subspace_angle
from gasg21.step_size import ConstantStep, GreedyStep, MultiLevelStep


def corrupted_entries(m, n, d, *, share=0.1, observed=0.5, size=10.0, seed=0):
    """Low-rank data (m, n) with a share of its entries corrupted; the clean data and the basis too."""
    rng = np.random.default_rng(seed)
    left = rng.standard_normal((n, d))
    clean = rng.standard_normal((m, d)) @ left.T
    spikes = size * np.abs(clean).max() * rng.standard_normal(clean.shape)
    data = np.where(rng.random(clean.shape) < share, clean + spikes, clean)
    data[rng.random(clean.shape) >= observed] = np.nan
    return data, clean, np.linalg.qr(left)[0].T


@pytest.fixture(scope="module")
def corrupted():
    return corrupted_entries(600, 100, 3, size=1.0, observed=0.7, seed=5)


# ---- oracle


@pytest.mark.parametrize("observed", [0.5, 1.0])
def test_each_update_of_grasta_is_the_oracles(observed):
    """600 in a row, each from the basis that the core has: the stream as a whole doubles rounding errors."""
    X = corrupted_entries(600, 80, 3, observed=observed, size=1.0, seed=1)[0]
    tracker = _core.Tracker64(80, 3, _core.MultiLevelStep(), 7, _core.L1Loss())
    rule, worst = reference.MultiLevelStepReference(), 0.0
    for x in X:
        U = reference.grasta_step(tracker.components().T, x, rule)
        tracker.consume(x[None])
        worst = max(worst, reference.largest_angle(U, tracker.components().T))
    assert tracker.level == rule.level > 2
    state = _core.decode(tracker.__getstate__(), objects=False)["object"]["state"]
    assert state["rule"]["mu"] == pytest.approx(rule.mu, abs=1e-6)
    # ADMM's penalty grows to 5e7; the dual vector holds the rounding errors of the weights times that.
    assert worst <= 1e-8


@pytest.mark.parametrize("observed", [0.5, 1.0])
def test_grasta_equals_the_oracle_with_the_authors_constants(observed):
    """As far as the iteration itself determines the result: the oracle's own change with the data's last bit."""
    X = corrupted_entries(100, 80, 3, observed=observed, size=1.0, seed=1)[0]
    tracker = _core.Tracker64(80, 3, _core.MultiLevelStep(), 7, _core.L1Loss())
    U0 = tracker.components().T
    U = reference.grasta(U0, X, reference.MultiLevelStepReference())
    nudged = reference.grasta(U0, np.nextafter(X, np.inf), reference.MultiLevelStepReference())
    tracker.consume(X)
    assert reference.largest_angle(U, nudged) < 1e-6
    assert reference.largest_angle(U, tracker.components().T) <= 10 * reference.largest_angle(U, nudged)


@pytest.mark.parametrize("observed", [0.5, 1.0])
def test_gasg21_with_the_authors_own_step_equals_the_oracle(observed):
    X = make_low_rank(600, 100, 3, outlier_fraction=0.3, observed_fraction=observed, random_state=2).data
    tracker = _core.Tracker64(100, 3, _core.MultiLevelStep(mu_max=8.0), 7)
    rule = reference.MultiLevelStepReference(mu_max=8.0)
    U = reference.gasg21(tracker.components().T, X, rule)
    tracker.consume(X)
    assert tracker.level == rule.level > 3
    assert reference.largest_angle(U, tracker.components().T) <= 1e-10


@pytest.mark.parametrize("observed", [0.5, 1.0])
@pytest.mark.parametrize("loss", ["l21", "squared"])
def test_greedy_grouse_equals_a_literal_loop(observed, loss):
    X = make_low_rank(600, 80, 3, observed_fraction=observed, noise=0.1, random_state=3).data
    tracker = _core.Tracker64(80, 3, _core.GreedyStep(), 7, loss)
    U = reference.greedy_grouse(tracker.components().T, X)
    tracker.consume(X)
    assert reference.largest_angle(U, tracker.components().T) <= 1e-10


# ---- the L1 fit


def l1_minimum(A, x):
    """min |x - A w|_1 as a linear program."""
    k, d = A.shape
    cost = np.r_[np.zeros(d), np.ones(k)]
    rows = np.block([[A, -np.eye(k)], [-A, -np.eye(k)]])
    solution = linprog(cost, A_ub=rows, b_ub=np.r_[x, -x], bounds=[(None, None)] * d + [(0, None)] * k)
    return solution.x[:d], solution.fun


@pytest.mark.parametrize("seed", range(6))
def test_weights_are_those_of_the_linear_program(seed):
    rng = np.random.default_rng(seed)
    components = np.ascontiguousarray(np.linalg.qr(rng.standard_normal((40, 3)))[0].T)
    x = rng.standard_normal(40)
    x[rng.random(40) < 0.3] = np.nan
    seen = ~np.isnan(x)
    w, least = l1_minimum(components[:, seen].T, x[seen])
    exact = _core.project(components, x[None], None, _core.L1Loss(rho=1.0, max_iter=20_000, tol=1e-14))[0][0]
    np.testing.assert_allclose(exact, w, atol=1e-9)
    published, residual = _core.project(components, x[None], None, _core.L1Loss())
    assert least <= np.abs(x[seen] - published[0] @ components[:, seen]).sum() <= 1.01 * least
    # the residual is the distance to the subspace, whatever the weights are
    np.testing.assert_allclose(residual, _core.project(components, x[None])[1], rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_transform_and_complete_are_not_spoiled_by_corrupted_entries(corrupted, dtype):
    data, clean, basis = corrupted
    tol = 1e-5 if dtype == np.float64 else 1e-3
    model = GRASTA(3, init=basis, step_size=ConstantStep(1e-12), max_passes=1).fit(data.astype(dtype))
    W = model.transform(data.astype(dtype))
    assert W.dtype == dtype
    scale = np.abs(clean).max()
    np.testing.assert_allclose(model.inverse_transform(W) / scale, clean / scale, atol=tol)
    filled = model.complete(data.astype(dtype))
    missing = np.isnan(data)
    np.testing.assert_allclose(filled[missing] / scale, clean[missing] / scale, atol=tol)
    np.testing.assert_array_equal(filled[~missing], data.astype(dtype)[~missing])
    squares = GROUSE(3, init=basis, step_size=ConstantStep(1e-12), max_passes=1, tol=0).fit(data)
    assert np.abs(squares.complete(data)[missing] - clean[missing]).max() > 0.1 * scale
    np.testing.assert_allclose(model.score_samples(data), squares.score_samples(data), atol=tol)


# ---- recovery


def test_grasta_reaches_1e_6_on_corrupted_entries():
    """The setting of the demonstration in the authors' code, with its constants."""
    data, _, basis = corrupted_entries(300, 300, 5, seed=8)
    rule = MultiLevelStep(mu_min=0.0, max_level=50, max_angle=10.0)
    model = GRASTA(5, step_size=rule, max_passes=33, tol=0, random_state=0).fit(data)
    assert subspace_angle(model.components_, basis) < 1e-6
    with pytest.warns(ConvergenceWarning):
        paper = GASG21(5, metric="canonical", polish=False, random_state=0).fit(data)
    assert subspace_angle(paper.components_, basis) > 0.1  # the loss for whole samples is lost here


def test_grasta_fits_streams_and_resumes(corrupted):
    data, _, basis = corrupted
    model = GRASTA(3, random_state=0).fit(data)
    assert model.status_ == "converged"
    assert np.isnan(model.estimated_angle_)
    assert subspace_angle(model.components_, basis) < 1e-5
    assert model.level_ > 20
    straight = GRASTA(3, random_state=0).partial_fit(data)
    resumed = GRASTA(3, random_state=0)
    for part in np.split(data, 6):
        resumed = pickle.loads(pickle.dumps(resumed.partial_fit(part)))
    assert resumed.components_.tobytes() == straight.components_.tobytes()
    assert resumed.step_size_ == straight.step_size_ > 0
    assert resumed.transform(data).tobytes() == straight.transform(data).tobytes()


@pytest.mark.parametrize("step_size", ["diminishing", "constant", "adaptive"])
def test_grasta_finds_the_subspace_with_the_other_rules(corrupted, step_size):
    """The median of nine starts: with the adaptive rule the oracle fails from two of ten itself."""
    data, _, basis = corrupted
    models = [GRASTA(3, step_size=step_size, max_passes=10, tol=0, random_state=seed).fit(data) for seed in range(9)]
    assert np.median([subspace_angle(model.components_, basis) for model in models]) < 0.1


def test_grasta_that_found_nothing_says_so():
    X = np.random.default_rng(0).standard_normal((400, 50))
    with pytest.warns(ConvergenceWarning, match="does not determine"):
        model = GRASTA(3, step_size=ConstantStep(1e-9), random_state=0).fit(X)
    assert model.status_ == "undetermined"


def test_greedy_grouse_is_fast_on_clean_data_and_fails_with_outliers():
    clean = make_low_rank(600, 100, 4, observed_fraction=0.7, random_state=1)
    model = GROUSE(4, step_size="greedy", random_state=0).partial_fit(clean.data)
    assert subspace_angle(model.components_, clean.basis) < 1e-12
    dirty = make_low_rank(600, 100, 4, outlier_fraction=0.5, observed_fraction=0.7, random_state=1)
    model = GROUSE(4, step_size="greedy", random_state=0).partial_fit(dirty.data)
    assert subspace_angle(model.components_, dirty.basis) > 0.3


# ---- contract


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (GRASTA(3, admm_rho=0.5), r"admm_rho=0.5 must be a number in \[1, 10\]"),
        (GRASTA(3, admm_max_iter=0), r"admm_max_iter=0 must be an integer in \[1, 100000\]"),
        (GRASTA(3, admm_tol=-1.0), r"admm_tol=-1.0 must be a number in \[0, 1\]"),
        (GRASTA(3, step_size="greedy"), "step_size='greedy': the greedy step belongs to least squares"),
        (GASG21(3, step_size=GreedyStep()), r"step_size=GreedyStep\(\): .* needs metric='canonical'"),
        (GASG21(3, step_size="multilevel"), "step_size='multilevel': .* needs metric='canonical'"),
        (GRASTA(3, step_size=MultiLevelStep(mu_max=2.0)), "mu_max=2 must exceed 2 mu_min"),
    ],
)
def test_what_does_not_go_together_is_refused_by_name(corrupted, model, message):
    for method in (model.fit, model.partial_fit):
        with pytest.raises(InvalidInputError, match=message):
            method(corrupted[0])
    assert not hasattr(model, "components_")


def test_the_core_refuses_other_losses():
    with pytest.raises(ValueError, match="loss='l1' must be 'l21', 'squared' or an L1Loss"):
        _core.Tracker64(10, 2, _core.ConstantStep(), 0, "l1")
    with pytest.raises(ValueError, match="rho=0"):
        _core.L1Loss(rho=0.0)


def test_the_admm_constants_reach_the_core(corrupted):
    data, _, _ = corrupted
    few = GRASTA(3, admm_max_iter=2, random_state=0).partial_fit(data)
    many = GRASTA(3, random_state=0).partial_fit(data)
    assert subspace_angle(few.components_, many.components_) > 1e-3
    loss = _core.decode(few._tracker.__getstate__(), objects=False)["object"]["loss"]
    assert loss == {"type": "L1Loss", "rho": 1.8, "max_iter": 2, "tol": 1e-10}
