"""Streams as they come: natural order, storms, changes, and what a stream says about itself."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from gasg21 import GASG21, GRASTA, GROUSE, KGASG21
from gasg21.datasets import make_union_of_subspaces
from gasg21.exceptions import InvalidInputError
from gasg21.metrics import subspace_angle
from stream_reference import Detector, null_residual

ONE = [GASG21, GROUSE, GRASTA]


def basis_of(rng, n=40, d=3):
    return np.linalg.qr(rng.standard_normal((n, d)))[0].T


def vectors(rng, basis, m, *, outliers=0.3, noise=0.0):
    """Return m vectors near the span of the basis, and some Gaussian ones of the same length."""
    d, n = basis.shape
    X = rng.standard_normal((m, d)) @ basis + noise * np.sqrt(d / n) * rng.standard_normal((m, n))
    bad = rng.random(m) < outliers
    X[bad] = np.sqrt(d / n) * rng.standard_normal((bad.sum(), n))
    return X


def bits(model):
    """Return all that a stream needs as bytes, each attribute by itself and once unpickled, so that none are shared."""
    kept = {name: value for name, value in vars(model).items() if name != "_published"}  # made from the others
    return {name: pickle.dumps(pickle.loads(pickle.dumps(value))) for name, value in kept.items()}


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def changing(rng):
    """Return 2000 vectors of one subspace, 1500 of another one, and both bases."""
    first, second = basis_of(rng), basis_of(rng)
    return np.concatenate([vectors(rng, first, 2000), vectors(rng, second, 1500)]), first, second


# ---- the oracle


@pytest.mark.parametrize("observed", [1.0, 0.8])
def test_status_and_changes_are_those_of_the_oracle(changing, rng, observed):
    X = np.where(rng.random(changing[0].shape) < observed, changing[0], np.nan)
    model, oracle = GASG21(3, metric="canonical", polish=False, random_state=0), Detector()
    for x in X:
        model.partial_fit(x)
        oracle.see(model.residuals_[0], null_residual(np.isfinite(x).sum(), 3))
        assert (model.status_, model.changes_) == (oracle.status, oracle.changes)
    assert len(oracle.changes) == 1


# ---- what a stream says


def test_a_stream_starts_tracks_reports_a_change_and_finds_the_new_subspace(changing):
    X, first, second = changing
    model = GASG21(3, random_state=0)
    assert model.partial_fit(X[:10]).status_ == "starting"
    assert model.partial_fit(X[10:2000]).status_ == "tracking"
    assert model.changes_ == []
    model.partial_fit(X[2000:2150])
    assert model.status_ == "changed"
    assert subspace_angle(model.components_, first) < 1e-6  # what it believes until it knows better
    model.partial_fit(X[2150:])
    assert model.status_ == "tracking"
    assert len(model.changes_) == 1
    assert 2000 < model.changes_[0] <= 2150
    assert subspace_angle(model.components_, second) < 1e-6


def test_a_subspace_that_comes_back_is_taken_up_again(rng):
    basis = basis_of(rng)
    model = GASG21(3, random_state=0).partial_fit(vectors(rng, basis, 2500))
    model.partial_fit(vectors(rng, basis, 2000, outliers=1))
    assert model.status_ != "tracking"
    assert subspace_angle(model.components_, basis) < 1e-6
    model.partial_fit(vectors(rng, basis, 60))
    assert model.status_ == "tracking"
    assert subspace_angle(model.components_, basis) < 1e-6


@pytest.mark.parametrize("share", [0.8, 0.95])
def test_storms_are_survived_and_are_no_changes(rng, share):
    basis = basis_of(rng, 20, 3)
    model = GASG21(3, random_state=0).partial_fit(vectors(rng, basis, 3000))
    model.partial_fit(vectors(rng, basis, 20_000, outliers=share))
    assert subspace_angle(model.components_, basis) < 1e-6
    assert model.status_ == "tracking"
    assert model.changes_ == []


def test_nothing_to_find_is_lost(rng):
    model = GASG21(3, random_state=0).partial_fit(rng.standard_normal((3200, 40)))
    assert model.status_ == "lost"


@pytest.mark.parametrize("estimator", [GASG21, GRASTA])
def test_robust_streams_report_a_change(estimator, rng):
    first, second = basis_of(rng), basis_of(rng)
    model = estimator(3, random_state=0).partial_fit(vectors(rng, first, 1500, outliers=0, noise=0.01))
    assert model.status_ == "tracking"
    model.partial_fit(vectors(rng, second, 1000, outliers=0, noise=0.01))
    assert len(model.changes_) == 1
    assert 1500 < model.changes_[0] <= 1700
    assert subspace_angle(model.components_, second) < 0.1


def test_a_constant_step_follows_a_change_before_there_is_one_to_report(rng):
    first, second = basis_of(rng), basis_of(rng)
    model = GROUSE(3, random_state=0).partial_fit(vectors(rng, first, 1500, outliers=0, noise=0.01))
    model.partial_fit(vectors(rng, second, 1000, outliers=0, noise=0.01))
    assert model.status_ == "tracking"
    assert model.changes_ == []
    assert subspace_angle(model.components_, second) < 0.1


def test_grasta_tracks_although_entries_are_corrupt(rng):
    X = vectors(rng, basis_of(rng, 100, 3), 1500, outliers=0)
    corrupt = rng.random(X.shape) < 0.1
    X[corrupt] += 3 * rng.standard_normal(corrupt.sum())
    model = GRASTA(3, random_state=0).partial_fit(X)
    assert model.status_ == "tracking"
    assert model.changes_ == []


def test_after_fit_status_is_that_of_the_fit_and_the_stream_tracks_at_once(changing):
    X = changing[0]
    model = GASG21(3, random_state=0).fit(X[:1000])
    assert model.status_ == "converged"
    assert model.changes_ == []
    with pytest.raises(AttributeError, match="has not been updated by `partial_fit`"):
        _ = model.residuals_
    assert model.partial_fit(X[1000]).status_ == "tracking"
    assert model.converged_  # of the fit
    model.partial_fit(X[1001:])
    assert len(model.changes_) == 1
    assert 1000 < model.changes_[0] <= 1150  # vectors of the stream


def test_residuals_are_those_of_the_last_call(changing):
    X = changing[0]
    model = GASG21(3, random_state=0).partial_fit(X[:500])
    before = -model.score_samples(X[500:501])
    np.testing.assert_allclose(model.partial_fit(X[500]).residuals_, before, rtol=1e-12)
    model.partial_fit(np.vstack([X[501:504], np.full((1, 40), np.nan)]))
    assert model.residuals_.shape == (4,)
    assert np.isnan(model.residuals_).tolist() == [False, False, False, True]


# ---- natural order


def test_vectors_that_come_many_times_in_a_row_are_replayed(rng):
    basis = basis_of(rng)
    X = np.repeat(vectors(rng, basis, 600), 25, axis=0)
    assert subspace_angle(GASG21(3, random_state=0).partial_fit(X).components_, basis) < 1e-6
    assert subspace_angle(GASG21(3, replay=0, random_state=0).partial_fit(X).components_, basis) > 0.05


def test_alike_vectors_are_replayed_and_independent_ones_are_not(rng):
    basis, m = basis_of(rng), 3000
    weights, steps = np.empty((m, 3)), rng.standard_normal((m, 3))
    weights[0] = steps[0]
    for j in range(1, m):
        weights[j] = 0.99 * weights[j - 1] + np.sqrt(1 - 0.99**2) * steps[j]
    model = GASG21(3, random_state=0).partial_fit(weights @ basis)
    assert model._tracker.is_replaying
    model = GASG21(3, random_state=0).partial_fit(rng.permutation(weights) @ basis)
    assert not model._tracker.is_replaying


def test_natural_order_after_a_fit_does_not_reopen_the_step(rng):
    basis = basis_of(rng)
    model = GASG21(3, random_state=0).fit(vectors(rng, basis, 500, noise=0.01))
    fitted = subspace_angle(model.components_, basis)
    level = model.partial_fit(vectors(rng, basis, 1, noise=0.01)).level_
    model.partial_fit(np.repeat(vectors(rng, basis, 20, noise=0.01), 50, axis=0))
    assert model.level_ >= level - 1
    assert subspace_angle(model.components_, basis) < max(2 * fitted, 0.01)


def test_the_paper_never_replays_unless_told_to(changing):
    X = np.repeat(changing[0][:100], 5, axis=0)
    paper = GASG21(3, metric="canonical", polish=False, random_state=0).partial_fit(X)
    assert paper._tracker.replay == 0
    told = GASG21(3, metric="canonical", polish=False, replay=32, random_state=0).partial_fit(X)
    assert told._tracker.replay == 32
    assert GASG21(3, random_state=0).partial_fit(X)._tracker.replay == 64
    assert GROUSE(3, random_state=0).partial_fit(X)._tracker.replay == 0  # a constant step compares nothing
    assert GRASTA(3, random_state=0).partial_fit(X)._tracker.replay == 64


@pytest.mark.parametrize("replay", [-1, 1.5, "many", True, 10**7])
@pytest.mark.parametrize("estimator", [*ONE, KGASG21])
def test_a_bad_replay_is_named(estimator, replay, changing):
    for method in ("fit", "partial_fit"):
        with pytest.raises(InvalidInputError, match=f"replay={replay!r} must be an integer in"):
            getattr(estimator(replay=replay), method)(changing[0])


def test_replay_stays_while_a_stream_goes_on(changing):
    model = GASG21(3, random_state=0).partial_fit(changing[0][:50])
    model.set_params(replay=8)
    with pytest.raises(InvalidInputError, match="replay=8 must stay 64 while a stream goes on"):
        model.partial_fit(changing[0][50:])
    model.set_params(replay=64).partial_fit(changing[0][50:60])


# ---- one vector


@pytest.mark.parametrize("first", [True, False], ids=["first", "later"])
def test_one_vector_needs_no_first_axis(changing, first):
    X = changing[0][:300]
    forms = [X[200], list(X[200]), pd.Series(X[200]), np.ma.array(X[200]), X[200][None], X[200].astype(np.float32)]
    for form in forms[: 5 if first else 6]:
        model, twin = (GASG21(3, random_state=0) for _ in range(2))
        if not first:
            model.partial_fit(X[:200])
            twin.partial_fit(X[:200])
        model.partial_fit(form)
        twin.partial_fit(np.atleast_2d(np.asarray(form, np.float64)))
        np.testing.assert_array_equal(model.components_, twin.components_)
    masked = GASG21(3, random_state=0).partial_fit(X[200], mask=np.arange(40) < 30)
    twin = GASG21(3, random_state=0).partial_fit(np.where(np.arange(40) < 30, X[200], np.nan))
    np.testing.assert_array_equal(masked.components_, twin.components_)


def test_rows_and_batches_give_the_same_stream(changing):
    X = changing[0]
    rows, batches = (GASG21(3, random_state=0) for _ in range(2))
    for x in X:
        rows.partial_fit(x)
    batches.partial_fit(X[:777]).partial_fit(sp.csr_matrix(X[777:]), mask=None)
    np.testing.assert_array_equal(rows.components_, batches.components_)
    assert rows.changes_ == batches.changes_


# ---- resume


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "make",
    [
        lambda: GASG21(3, random_state=0),
        lambda: GASG21(3, center=True, random_state=0),
        lambda: GASG21(3, metric="canonical", polish=False, random_state=0),
        lambda: GROUSE(3, random_state=0),
        lambda: GRASTA(3, random_state=0),
        lambda: KGASG21(2, 3, random_state=0),
    ],
    ids=["GASG21", "centred", "paper", "GROUSE", "GRASTA", "KGASG21"],
)
def test_a_pickled_stream_goes_on_with_the_same_bits(make, dtype, changing, rng):
    X = changing[0].astype(dtype)
    for cut in [60, *rng.integers(100, 3400, 5).tolist(), 2110]:  # the last one with a backup
        whole = make().partial_fit(X[:cut])
        resumed = pickle.loads(pickle.dumps(whole))
        for model in (whole, resumed):
            model.partial_fit(X[cut:])
        assert bits(whole) == bits(resumed)
        np.testing.assert_array_equal(whole.residuals_, resumed.residuals_)
        assert whole.changes_ == resumed.changes_
        assert whole.status_ == resumed.status_


# ---- affine streams and unions


def test_an_affine_stream_reports_a_change(rng):
    first, second = basis_of(rng), basis_of(rng)
    X = np.concatenate([vectors(rng, U, 2000, outliers=0.2, noise=0.01) for U in (first, second)]) + 5
    model = GASG21(3, center=True, random_state=0).partial_fit(X[:2000])
    assert model.status_ == "tracking"
    model.partial_fit(X[2000:])
    assert len(model.changes_) == 1
    assert subspace_angle(model.components_, second) < 0.05


def test_a_union_says_which_of_its_subspaces_changed(rng):
    union = make_union_of_subspaces(6000, 50, 3, 2, outlier_fraction=0.2, random_state=0)
    reported = []
    for _ in range(3):
        X = rng.permutation(union.data)
        model = KGASG21(2, 3, random_state=0).fit(X[:1000])
        assert model.partial_fit(X[1000:2000]).status_ == "tracking"
        assert model.cluster_status_ == ["tracking", "tracking"]
        assert model.changes_ == []
        for changed in (0, 1):
            stream, Y, members = copy.deepcopy(model), X[1000:2000].copy(), model.labels_ == changed
            Y[members] = rng.standard_normal((members.sum(), 3)) @ basis_of(rng, 50, 3)
            for _ in range(4):
                stream.partial_fit(rng.permutation(Y))
            assert stream.changes_ == sorted(at for changes in stream.cluster_changes_ for at in changes)
            assert all(1000 < at <= 5000 for at in stream.changes_)
            reported.append([bool(changes) for changes in stream.cluster_changes_])
    # A subspace that finds its new place before it has missed a hundred vectors reports nothing: about one in twelve.
    assert sum(map(any, reported)) >= 4
    assert {tuple(each) for each in reported} >= {(True, False), (False, True)}
