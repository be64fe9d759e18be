"""KGASG21: oracle, recovery, what it does with odd data, and what it refuses."""

import pickle
import signal

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import worst_angle

import reference
from gasg21 import GASG21, KGASG21, _core
from gasg21._data.parameters import core_metric, core_rule, first_step_is_free, null_residual
from gasg21.datasets import make_union_of_subspaces
from gasg21.exceptions import ConvergenceWarning, InvalidInputError
from gasg21.metrics import clustering_error, subspace_angle
from gasg21.step_size import AdaptiveStep


@pytest.fixture(scope="module")
def union():
    """Four planes and a hundred outliers in R^40, 30 % missing."""
    return make_union_of_subspaces(
        400, 40, 2, 4, outlier_fraction=0.25, observed_fraction=0.7, noise=0.005, random_state=1
    )


@pytest.fixture(scope="module")
def fitted(union):
    return KGASG21(4, 2, reject_outliers=True, random_state=0).fit(union.data)


# ---- oracle


def test_the_core_is_algorithm_3_in_numpy():
    # without noise, candidates of one subspace would tie up to rounding
    p = make_union_of_subspaces(200, 30, 2, 4, outlier_fraction=0.3, observed_fraction=0.7, noise=1e-3, random_state=2)
    rng = np.random.default_rng(0)
    candidates = reference.farthest_insertion(p.data, 20, 2, rng)
    seeder = _core.Seeder64(p.data, None, 30, 10_000, 0)
    seeder.take([np.ascontiguousarray(U.T) for U in candidates])
    E = np.array([reference.residuals_to(U, p.data) for U in candidates])
    chosen = reference.greedy_selection(E, 4)
    assert seeder.select([2] * 4, 0) == chosen
    np.testing.assert_allclose(
        seeder.distances([np.ascontiguousarray(candidates[q].T) for q in chosen]), E[chosen].min(axis=0), atol=1e-10
    )
    start = [candidates[q] for q in chosen]
    order = np.concatenate([rng.permutation(200) for _ in range(10)])  # 2000 updates
    rules = [reference.AdaptiveStepReference(eta0=0.1) for _ in range(4)]
    found, taken = reference.k_gasg21(start, p.data[order], rules)
    core = _core.KSubspaces64([np.ascontiguousarray(U.T) for U in start], _core.AdaptiveStep(eta0=0.1), 0)
    labels, _ = core.consume(p.data, None, order.astype(np.uint64))
    np.testing.assert_array_equal(labels, taken)
    for U, V in zip(found, core.subspaces(), strict=True):
        assert reference.largest_angle(U, V.T) <= 1e-9
    nearest = np.argmin([reference.residuals_to(U, p.data) for U in found], axis=0)
    np.testing.assert_array_equal(_core.assign(core.subspaces(), p.data)[0], nearest)


def test_candidates_fit_the_nearest_neighbours_of_their_seeds(union):
    X = np.nan_to_num(union.data[:60])
    seeder = _core.Seeder64(X, None, 40, 60, 3)
    seeder.farthest([2, 2], 10, 0)
    Z = X / np.linalg.norm(X, axis=1, keepdims=True)
    literal = [np.linalg.svd(Z[np.argsort(-(Z @ z), kind="stable")[:5]], full_matrices=False)[2][:2] for z in Z]
    for U in seeder.candidates():
        assert min(subspace_angle(U, V) for V in literal) < 1e-10


# ---- recovery


def test_clusters_outliers_and_subspaces_are_found(union, fitted):
    assert clustering_error(union.labels, fitted.labels_, outlier_label=-1) == 0
    flagged, outlier = fitted.labels_ == -1, union.labels == -1
    assert (flagged == outlier).mean() > 0.99
    assert worst_angle(fitted.subspaces_, union.bases) < 0.02
    assert fitted.status_ == "noise_floor"
    assert fitted.converged_
    worst = fitted.estimated_angles_.max()
    assert worst_angle(fitted.subspaces_, union.bases) / 2 < worst < 0.02
    assert set(fitted.timings_) == {"seed", "select", "refine"}
    np.testing.assert_array_equal(fitted.predict(union.data), fitted.labels_)


def test_polish_reaches_least_squares_on_the_true_members(union, fitted):
    for k, basis in enumerate(union.bases):
        alone = GASG21(2, random_state=0).fit(union.data[union.labels == k])
        best = min(subspace_angle(U, basis) for U in fitted.subspaces_)
        assert best < 1.15 * subspace_angle(alone.components_, basis) + 1e-4


@pytest.mark.parametrize("parameters", [{}, {"init": "farthest", "metric": "canonical", "n_candidates": 60}])
def test_the_stream_alone_finds_them_too(parameters):
    p = make_union_of_subspaces(400, 40, 2, 4, outlier_fraction=0.25, observed_fraction=0.7, random_state=5)
    model = KGASG21(4, 2, polish=False, tol=1e-4, max_passes=60, random_state=1, **parameters).fit(p.data)
    assert worst_angle(model.subspaces_, p.bases) < 1e-3
    assert model.status_ == "converged"
    assert [record["stage"] for record in model.history_] == ["stream"] * model.n_passes_
    assert model.n_iter_ == 400 * model.n_passes_


def test_tol_is_reached_without_noise():
    p = make_union_of_subspaces(400, 40, 2, 4, outlier_fraction=0.25, observed_fraction=0.7, random_state=6)
    model = KGASG21(4, 2, tol=1e-10, random_state=1).fit(p.data)
    assert model.status_ == "converged"
    assert worst_angle(model.subspaces_, p.bases) < 1e-10


def test_each_cluster_may_have_its_own_dimension(rng):
    bases = [np.linalg.qr(rng.standard_normal((30, d)))[0].T for d in (1, 4, 2)]
    X = np.vstack([rng.standard_normal((80, len(U))) @ U for U in bases])
    model = KGASG21(3, [4, 1, 2], random_state=0).fit(X[rng.permutation(240)])
    assert [len(U) for U in model.subspaces_] == [4, 1, 2]
    for U, k in zip(model.subspaces_, (1, 0, 2), strict=True):
        assert subspace_angle(U, bases[k]) < 1e-6


def test_a_random_start_is_repaired(union, rng):
    start = [np.linalg.qr(rng.standard_normal((40, 2)))[0].T for _ in range(4)]
    model = KGASG21(4, 2, init=start, random_state=0).fit(union.data)
    assert worst_angle(model.subspaces_, union.bases) < 0.02


def wrong_bases():
    rng = np.random.default_rng(5)
    return [np.linalg.qr(rng.standard_normal((40, 2)))[0].T for _ in range(4)]


def test_the_first_step_does_not_wreck_a_good_start(union):
    for init, step_size in ((union.bases, "adaptive"), (wrong_bases(), "adaptive"), (union.bases, AdaptiveStep(0.3))):
        bases = [np.ascontiguousarray(basis) for basis in init]
        # No step is taken: a rule still has its first one.
        options = _core.UnionOptions(first_step_from_data=first_step_is_free(step_size))
        rules = {"rule": core_rule(step_size, scaling=True), "stream_rule": core_rule(step_size, scaling=True)}
        samples = (union.data, None, 40, 4, [2])
        found = _core.recover_union(
            *samples, **rules, metric=core_metric(True), given=bases, options=options, goal="start"
        )
        (eta,) = {rule.eta for rule in found.stream.rules}
        typical = np.median(_core.assign(bases, union.data)[1])
        assert eta == pytest.approx(0.3 if step_size != "adaptive" else min(0.1, typical / 2), rel=1e-9)
    model = KGASG21(4, 2, init=union.bases, polish=False, max_passes=1, tol=0, random_state=0).fit(union.data)
    assert clustering_error(union.labels, model.labels_, outlier_label=-1) == 0


def test_the_outlier_rule_counts_the_chances_of_k_subspaces(rng):
    subspaces = [np.ascontiguousarray(np.linalg.qr(rng.standard_normal((30, 3)))[0].T) for _ in range(20)]
    nearest = _core.assign(subspaces, rng.standard_normal((20_000, 30)))[1]
    n_observed, dimension = np.array([30]), np.array([3])
    assert np.mean(nearest <= null_residual(n_observed, dimension, 20)) < 0.002  # one in a thousand passes
    assert np.mean(nearest <= null_residual(n_observed, dimension)) > 0.01  # with one chance twenty times as many


# ---- one cluster


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_one_cluster_is_gasg21_to_the_bit(union):
    for parameters in ({}, {"metric": "canonical", "polish": False, "max_passes": 3, "tol": 0}):
        k = KGASG21(1, 3, random_state=4, **parameters)
        one = GASG21(3, random_state=4, **parameters)
        for method in ("fit", "partial_fit"):
            getattr(k, method)(union.data)
            getattr(one, method)(union.data)
            np.testing.assert_array_equal(k.subspaces_[0], one._current().subspace.basis)
        np.testing.assert_allclose(k.transform(union.data)[:, 0], -one.score_samples(union.data), rtol=1e-13)
    k, one = KGASG21(1, 3, random_state=4).partial_fit(union.data), GASG21(3, random_state=4).partial_fit(union.data)
    np.testing.assert_array_equal(k.subspaces_[0], one._current().subspace.basis)


def test_one_cluster_says_what_gasg21_says(rng):
    X = rng.standard_normal((50, 1)) @ rng.standard_normal((1, 20))
    with pytest.warns(ConvergenceWarning, match="do not span"):
        model = KGASG21(1, 3, random_state=0).fit(X)
    assert model.status_ == "rank_deficient"


# ---- the same answer in every form


def test_nan_mask_and_sparse_give_the_same_bits(union, fitted):
    model = KGASG21(4, 2, reject_outliers=True, random_state=0)
    rubbish = np.where(union.mask, union.data, 7.0)
    rows, columns = np.nonzero(union.mask)
    sparse = sp.csr_matrix((union.data[union.mask], (rows, columns)), shape=union.data.shape)
    for X, mask in ((rubbish, union.mask), (sparse, None), (np.asfortranarray(union.data), None)):
        model.fit(X, mask=mask)
        for U, V in zip(model.subspaces_, fitted.subspaces_, strict=True):
            np.testing.assert_array_equal(U, V)
        np.testing.assert_array_equal(model.labels_, fitted.labels_)
        np.testing.assert_array_equal(model.predict(X, mask=mask), fitted.labels_)
        np.testing.assert_array_equal(model.transform(X, mask=mask), fitted.transform(union.data))
        np.testing.assert_array_equal(model.complete(X, mask=mask), fitted.complete(union.data))


def test_the_seed_decides_and_the_threads_do_not(union, fitted, monkeypatch):
    for threads in ("1", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        again = KGASG21(4, 2, reject_outliers=True, random_state=0).fit(union.data)
        for U, V in zip(again.subspaces_, fitted.subspaces_, strict=True):
            np.testing.assert_array_equal(U, V)
    other = KGASG21(4, 2, random_state=1).fit(union.data)
    assert any((U != V).any() for U, V in zip(other.subspaces_, fitted.subspaces_, strict=True))


def test_float32_stays_float32(union):
    model = KGASG21(4, 2, random_state=0).fit(union.data.astype(np.float32))
    assert {U.dtype for U in model.subspaces_} == {np.dtype(np.float32)}
    assert model.transform(union.data).dtype == np.float32
    assert worst_angle(model.subspaces_, union.bases) < 0.02


# ---- what a fitted union can do


def test_residuals_scores_and_labels_agree(union, fitted):
    residuals = fitted.transform(union.data)
    assert residuals.shape == (400, 4)
    np.testing.assert_allclose(-fitted.score_samples(union.data), residuals.min(axis=1), rtol=1e-12)
    inlier = fitted.labels_ >= 0
    np.testing.assert_array_equal(fitted.labels_[inlier], residuals.argmin(axis=1)[inlier])
    assert residuals[inlier].min(axis=1).max() < 0.1
    assert fitted.get_feature_names_out().tolist() == ["residual_0", "residual_1", "residual_2", "residual_3"]


def test_missing_entries_come_from_the_nearest_subspace():
    p = make_union_of_subspaces(300, 30, 2, 3, observed_fraction=0.7, random_state=3)
    full = make_union_of_subspaces(300, 30, 2, 3, random_state=3)
    model = KGASG21(3, 2, tol=1e-10, random_state=0).fit(p.data)
    filled = model.complete(p.data)
    np.testing.assert_array_equal(filled[p.mask], p.data[p.mask])
    # The generator draws the mask last: the data are the same.
    np.testing.assert_allclose(filled, full.data, atol=1e-7)


def test_samples_that_tell_nothing(union, fitted):
    X = union.data[:5].copy()
    X[0], X[1] = 0, np.nan
    X[2, 2:] = np.nan  # two entries for planes
    labels = fitted.predict(X)
    assert labels[:3].tolist() == [-1, -1, -1]
    scores = fitted.score_samples(X)
    assert scores[0] == 0
    assert np.isnan(scores[1:3]).all()
    np.testing.assert_array_equal(fitted.transform(X)[0], 0)
    X[0, 3] = np.nan
    filled = fitted.complete(X)
    assert filled[0, 3] == 0
    assert np.isnan(filled[1]).all()
    again = KGASG21(4, 2, random_state=0).fit(np.vstack([union.data, X[:3]]))
    assert again.labels_[-3:].tolist() == [-1, -1, -1]
    assert again.diagnostics_["n_zero"] > 0
    assert worst_angle(again.subspaces_, union.bases) < 0.02


# ---- streams


def test_a_stream_goes_on_where_it_was(union):
    X = union.data
    whole = KGASG21(4, 2, random_state=0).partial_fit(X).partial_fit(X)
    part = pickle.loads(pickle.dumps(KGASG21(4, 2, random_state=0).partial_fit(X)))
    for row in X:
        part.partial_fit(row[None])
    for U, V in zip(part.subspaces_, whole.subspaces_, strict=True):
        np.testing.assert_array_equal(U, V)
    assert part.n_iter_ == whole.n_iter_ == 800
    for _ in range(20):
        whole.partial_fit(X)
    assert worst_angle(whole.subspaces_, union.bases) < 0.05
    assert clustering_error(union.labels, whole.labels_, outlier_label=-1) == 0


def test_a_fit_can_be_followed_by_a_stream(union, fitted):
    model = pickle.loads(pickle.dumps(fitted)).partial_fit(union.data)
    assert worst_angle(model.subspaces_, union.bases) < 0.03
    assert model.labels_.shape == (400,)


def test_a_stream_keeps_its_clusters(union):
    model = KGASG21(4, 2, random_state=0).partial_fit(union.data)
    before = pickle.dumps(model._stream)
    for name, value in (("n_clusters", 3), ("n_components", 3)):
        kept = getattr(model, name)
        setattr(model, name, value)
        with pytest.raises(InvalidInputError, match="must stay as they were"):
            model.partial_fit(union.data)
        setattr(model, name, kept)
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(union.data[:, :39])
    assert pickle.dumps(model._stream) == before


@pytest.mark.parametrize(("n_clusters", "bound"), [(1, 0.8), (4, 0.05)])
def test_ctrl_c_during_a_fit_keeps_what_it_reached(union, n_clusters, bound):
    model = KGASG21(n_clusters, 2, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(union.data, callback=lambda record: signal.raise_signal(signal.SIGINT))
    assert model.status_ == "interrupted"
    assert not model.converged_
    assert model.n_passes_ == 1
    assert [subspace.shape for subspace in model.subspaces_] == [(2, 40)] * n_clusters
    assert clustering_error(union.labels, model.labels_, outlier_label=-1) < bound


# ---- odd data


def test_duplicate_points_and_more_candidates_than_samples():
    X = np.repeat(np.eye(6)[:3], 5, axis=0)
    model = KGASG21(3, 1, n_candidates=100, random_state=0).fit(X)
    assert clustering_error(np.repeat(np.arange(3), 5), model.labels_) == 0
    for init in ("farthest", "density"):
        with pytest.warns(ConvergenceWarning):
            KGASG21(15, 1, init=init, random_state=0).fit(X)  # as many clusters as samples


def test_subspaces_that_hold_no_sample_are_replaced():
    E = np.eye(5)
    X = np.repeat(E[:2], 6, axis=0)
    model = KGASG21(2, 1, init=[E[3:4], E[:1]], random_state=0).fit(X)
    assert clustering_error(np.repeat([0, 1], 6), model.labels_) == 0


def test_more_clusters_than_there_are(union):
    with pytest.warns(ConvergenceWarning, match="smaller n_clusters"):
        model = KGASG21(6, 2, random_state=0).fit(union.data)
    assert model.status_ in ("too_many_clusters", "undetermined")
    assert not model.converged_
    found = [min(subspace_angle(U, V) for U in model.subspaces_) for V in union.bases]
    assert max(found) < 0.3


# ---- whitening and ensembles


def test_whitening_works_in_the_original_coordinates(rng):
    scale = np.geomspace(1, 30, 30)  # some coordinates dominate
    p = make_union_of_subspaces(300, 30, 2, 3, random_state=4)
    X = p.data * scale
    model = KGASG21(3, 2, whiten=True, tol=1e-9, random_state=0).fit(X)
    assert clustering_error(p.labels, model.labels_) == 0
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    truth = [np.linalg.qr((U * scale).T)[0].T for U in p.bases]
    assert worst_angle(model.subspaces_, truth) < 1e-6
    holes = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    np.testing.assert_allclose(model.complete(holes), X, atol=1e-5 * np.abs(X).max())
    assert model.transform(X).shape == (300, 3)
    model.partial_fit(X)
    assert worst_angle(model.subspaces_, truth) < 1e-6


def test_whitening_leaves_outliers_out():
    p = make_union_of_subspaces(300, 30, 2, 3, outlier_fraction=0.2, random_state=4)
    model = KGASG21(3, 2, whiten=True, reject_outliers=True, random_state=0).fit(p.data)
    assert clustering_error(p.labels, model.labels_, outlier_label=-1) == 0
    assert (model.labels_[p.labels == -1] == -1).mean() > 0.95
    assert worst_angle(model.subspaces_, p.bases) < 1e-6


def test_whitened_float32_and_bad_rows():
    p = make_union_of_subspaces(200, 30, 2, 3, random_state=4)
    X = p.data.astype(np.float32)
    X[3, 4] = np.inf
    model = KGASG21(3, 2, whiten=True, on_bad="skip", random_state=0).fit(X)
    assert {U.dtype for U in model.subspaces_} == {np.dtype(np.float32)}
    assert worst_angle(model.subspaces_, p.bases) < 1e-4
    assert model.labels_[3] == -1
    good = np.arange(200) != 3
    assert clustering_error(p.labels[good], model.labels_[good]) == 0
    before = [U.copy() for U in model.subspaces_]
    model.partial_fit(np.full((1, 30), np.nan))
    for U, V in zip(model.subspaces_, before, strict=True):
        np.testing.assert_array_equal(U, V)


def test_an_ensemble_goes_on_as_it_was_asked_to(union):
    model = KGASG21(4, 2, n_ensemble=3, random_state=0).fit(union.data)
    assert model.n_iter_ > 0
    state = _core.decode(model._stream.__getstate__(), objects=False)["object"]
    assert [tracker["metric"]["type"] for tracker in state["trackers"]] == ["CovarianceScaling"] * 4
    with pytest.raises(InvalidInputError, match="greedy"):
        KGASG21(4, 2, n_ensemble=3, step_size="greedy").fit(union.data)


@pytest.mark.parametrize("scale", [1e-200, 1e160])
def test_ensembles_of_any_magnitude(rng, scale):
    bases = [np.linalg.qr(rng.standard_normal((30, d)))[0].T for d in (1, 4)]
    X = np.vstack([rng.standard_normal((80, len(U))) @ U for U in bases])
    model = KGASG21(2, [4, 1], n_ensemble=3, random_state=0).fit(X * scale)
    assert clustering_error(np.repeat([0, 1], 80), model.labels_) == 0


def test_an_ensemble_agrees_with_its_subspaces(union):
    model = KGASG21(4, 2, n_ensemble=5, random_state=0).fit(union.data)
    assert clustering_error(union.labels, model.labels_, outlier_label=-1) == 0
    np.testing.assert_array_equal(model.labels_, model.transform(union.data).argmin(axis=1))
    again = KGASG21(4, 2, n_ensemble=5, random_state=0).fit(union.data)
    np.testing.assert_array_equal(model.labels_, again.labels_)
    model.partial_fit(union.data)
    assert worst_angle(model.subspaces_, union.bases) < 0.03


def test_an_ensemble_of_mixed_dimensions(rng):
    bases = [np.linalg.qr(rng.standard_normal((30, d)))[0].T for d in (1, 4)]
    X = np.vstack([rng.standard_normal((80, len(U))) @ U for U in bases])
    model = KGASG21(2, [4, 1], n_ensemble=4, random_state=0).fit(X)
    assert clustering_error(np.repeat([0, 1], 80), model.labels_) == 0
    assert subspace_angle(model.subspaces_[0], bases[1]) < 1e-6


# ---- what is refused


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 0}, "n_clusters=0 must be an integer of at least 1"),
        ({"n_clusters": 401}, r"n_clusters=401 must be an integer in \[1, n_samples = 400\]"),
        ({"n_clusters": 2.0}, "n_clusters=2.0"),
        ({"n_components": 40}, r"n_components=40 must be an integer in \[1, n_features - 1 = 39\]"),
        ({"n_components": [2, 2]}, r"n_components=\[2, 2\] must be one integer or a list of n_clusters=4 integers"),
        ({"n_candidates": 3}, "n_candidates=3 must be an integer of at least 4"),
        ({"n_neighbors": 0}, "n_neighbors=0"),
        ({"n_ensemble": 0}, "n_ensemble=0"),
        ({"init": "kmeans"}, "init='kmeans' must be one of 'density', 'farthest'"),
        ({"init": [np.eye(2, 40)]}, r"init has the shapes \[\(2, 40\)\]"),
        ({"init": [np.ones((2, 40))] * 4}, r"init\[0\] must have finite, linearly independent rows"),
        ({"init": 3}, "init=3"),
        ({"init": [np.eye(2, 40)] * 4, "whiten": True}, "with whiten=True"),
        ({"whiten": "yes"}, "whiten='yes' must be True or False"),
        ({"reject_outliers": None}, "reject_outliers=None"),
        ({"max_passes": 0}, "max_passes=0"),
        ({"tol": -1}, "tol=-1"),
        ({"step_size": "fast"}, "step_size='fast'"),
        ({"random_state": -1}, "random_state=-1"),
    ],
)
def test_bad_parameters_are_named_and_change_nothing(union, fitted, parameters, message):
    model = pickle.loads(pickle.dumps(fitted))
    before = {name: pickle.dumps(value) for name, value in vars(model).items() if name.endswith("_")}
    model.set_params(**parameters)
    with pytest.raises(InvalidInputError, match=message):
        model.fit(union.data)
    assert {name: pickle.dumps(value) for name, value in vars(model).items() if name.endswith("_")} == before


def test_an_ensemble_joins_some_of_many_samples():
    p = make_union_of_subspaces(6000, 20, 2, 4, outlier_fraction=0.1, noise=0.005, random_state=1)  # it joins 5000
    model = KGASG21(4, 2, n_ensemble=3, random_state=0).fit(p.data)
    assert clustering_error(p.labels, model.labels_, outlier_label=-1) == 0


def test_data_without_usable_samples_is_refused():
    X = np.zeros((10, 6))
    X[:2] = np.eye(6)[:2]
    with pytest.raises(InvalidInputError, match="only 2 of the 10 samples of X can be used"):
        KGASG21(3, 1).fit(X)


def test_whitening_needs_rank(rng):
    X = rng.standard_normal((50, 2)) @ rng.standard_normal((2, 20))
    with pytest.raises(InvalidInputError, match="whiten=True needs data of a rank above n_components=2"):
        KGASG21(2, 2, whiten=True, random_state=0).fit(X)
