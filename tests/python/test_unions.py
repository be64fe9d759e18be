"""Unions of subspaces by default: screening, starts, consensus, numbers chosen by the data, doubts, flats."""

import pickle

import numpy as np
import pytest
from gasg21._algorithms.clusters import UnionPlan
from gasg21._algorithms.consensus import agreement_of, find_consensus
from gasg21._algorithms.principal import PrincipalCoordinates, principal_axes, rotated, shape_interaction, unit_rows
from gasg21._algorithms.residual_split import split_residuals
from gasg21._algorithms.screening import Screening, has_neighbours
from gasg21._algorithms.spectral import Factored, embed, k_means, spectral_labels
from gasg21._algorithms.union_lift import UnionLift
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from gasg21 import KGASG21
from gasg21._data.samples import Samples
from gasg21.datasets import make_union_of_subspaces
from gasg21.exceptions import ConvergenceWarning, InvalidInputError
from gasg21.metrics import clustering_error, subspace_angle


def close_subspaces(seed, K=3, d=3, per=60, n=40, outliers=40):
    """Clusters that share a strong common direction, as motions and images do, and isotropic outliers.

    A few members have hardly anything but the common direction, so that no method can tell their cluster.
    """
    rng = np.random.default_rng(seed)
    common = 20 * np.linalg.qr(rng.standard_normal((n, 1)))[0][:, 0]
    bases = [np.linalg.qr(rng.standard_normal((n, d - 1)))[0] for _ in range(K)]
    X = np.vstack([rng.standard_normal((per, d - 1)) @ U.T + np.outer(1 + rng.random(per), common) for U in bases])
    X += 0.01 * rng.standard_normal(X.shape)
    away = np.sqrt(np.mean(X**2)) * rng.standard_normal((outliers, n))
    labels = np.r_[np.repeat(np.arange(K), per), np.full(outliers, -1)]
    order = rng.permutation(len(labels))
    return np.vstack([X, away])[order], labels[order]


# ---- parts, against plain NumPy


def test_agreement_is_the_adjusted_rand_index(rng):
    for _ in range(5):
        a, b = rng.integers(0, 4, 100), rng.integers(0, 3, 100)
        assert agreement_of(a, b) == pytest.approx(adjusted_rand_score(a, b))
        assert agreement_of(a, a) == 1


def test_shape_interaction_vanishes_between_independent_clusters():
    p = make_union_of_subspaces(120, 30, 3, 3, random_state=0)
    principal = PrincipalCoordinates.of(p.data, (3, 3, 3))
    W = shape_interaction(principal.whitened(9, 0.0), 1.0)
    other = p.labels[:, None] != p.labels
    assert W[other].max() < 1e-8
    assert W[~other].max() > 0.5


@pytest.mark.parametrize(("m", "n"), [(450, 500), (600, 420)])
def test_leading_principal_coordinates_of_large_data_are_those_of_a_full_decomposition(m, n, monkeypatch):
    A = unit_rows(make_union_of_subspaces(m, n, 3, 4, noise=1e-3, random_state=0).data)
    found = PrincipalCoordinates.of(A, (3,) * 4)
    assert found.rank == 49  # the others are not looked for
    monkeypatch.setattr("gasg21._algorithms.principal._GRAM_FROM", 10**9)
    full = PrincipalCoordinates.of(A, (3,) * 4)
    assert full.rank == min(m, n)
    assert (found.n_wide, found.n_span) == (full.n_wide, full.n_span) == (48, 12)
    np.testing.assert_allclose(found.s, full.s[:49], rtol=1e-9)
    assert subspace_angle(found.U[:, :12].T, full.U[:, :12].T) < 1e-9
    exact = make_union_of_subspaces(m, n, 3, 4, random_state=0).data  # of rank 12: squares would not show it
    monkeypatch.undo()
    assert PrincipalCoordinates.of(exact, (3,) * 4).rank == 12


def test_principal_axes_are_right_singular_vectors(rng):
    for shape in ((40, 10), (8, 30)):
        A = rng.standard_normal(shape)
        assert subspace_angle(principal_axes(A, 3), np.linalg.svd(A)[2][:3]) < 1e-7


def test_fewer_coordinates_keep_all_products(rng):
    X = rng.standard_normal((10, 50))
    turned, basis = rotated(X)
    np.testing.assert_allclose(turned @ turned.T, X @ X.T, atol=1e-10)
    np.testing.assert_allclose(turned @ basis.T, X, atol=1e-10)


def test_lanczos_finds_the_same_clusters(rng):
    labels = np.repeat(np.arange(3), 150)
    W = np.equal.outer(labels, labels) + 0.05 * rng.random((450, 450))
    W = (W + W.T) / 2
    for exact in (True, False):
        assert clustering_error(labels, spectral_labels(W, 3, 0, exact=exact)) == 0


@pytest.mark.parametrize("exact", [True, False])
def test_a_factored_affinity_is_embedded_as_its_matrix(rng, exact):
    labels = np.repeat(np.arange(3), 150)  # enough samples for Lanczos
    factored = Factored(np.eye(3)[labels] + 0.1 * rng.random((450, 3)))
    W = factored.factor @ factored.factor.T
    np.fill_diagonal(W, 0)
    np.testing.assert_allclose(factored.dense(), W)
    np.testing.assert_allclose(factored.degrees(), W.sum(axis=1))
    found, expected = embed(factored, 3, "unit_rows", exact=exact), embed(W, 3, "unit_rows")
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-10 if exact else 2e-3)


def test_a_sample_without_affinity_has_no_degree():
    factored = Factored(np.vstack([np.eye(3)[np.repeat([0, 1], 300)], np.eye(3)[2]]))
    assert factored.degrees()[-1] == 0
    assert np.isfinite(embed(factored, 2, "unit_rows", exact=False)).all()


@pytest.mark.parametrize("exponent", [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 12.0, 16.0, 2.5])
def test_shape_interaction_is_a_power_of_the_cosines(rng, exponent):
    points = unit_rows(rng.standard_normal((20, 4)))
    cosines = np.abs(points @ points.T)
    np.fill_diagonal(cosines, 0)
    np.testing.assert_allclose(shape_interaction(points, exponent), cosines**exponent, atol=1e-14)


@pytest.mark.parametrize("n_clusters", [1, 2, 7, 20])
def test_k_means_is_as_good_as_that_of_scikit_learn(rng, n_clusters):
    points = rng.standard_normal((n_clusters, 4))[rng.integers(n_clusters, size=300)]
    points += 0.1 * rng.standard_normal(points.shape)
    labels = k_means(points, n_clusters, 0, 10)
    means = np.stack([points[labels == k].mean(axis=0) for k in range(n_clusters)])
    cost = np.sum((points - means[labels]) ** 2)
    # The clusters are far apart, so that both find the same minimum.
    assert cost == pytest.approx(KMeans(n_clusters, n_init=10, random_state=0).fit(points).inertia_, rel=1e-9)
    distances = np.linalg.norm(points[:, None] - means, axis=2)
    np.testing.assert_array_equal(labels, distances.argmin(axis=1))  # Lloyd's algorithm has come to its end


def test_residuals_are_split_only_if_some_stand_apart(rng):
    members = np.abs(rng.normal(10, 2, 200))
    assert split_residuals(members).cut == np.inf
    assert split_residuals(np.zeros(50)).cut == np.inf
    both = np.r_[members, rng.normal(60, 10, 30)]
    np.testing.assert_array_equal(split_residuals(both).is_above(both), np.arange(230) >= 200)
    assert split_residuals(1e200 * both).cut == pytest.approx(1e200 * split_residuals(both).cut)


def test_screening_keeps_all_inliers_and_hardly_an_outlier():
    p = make_union_of_subspaces(400, 50, 3, 4, outlier_fraction=0.5, observed_fraction=0.8, noise=0.01, random_state=0)
    screening = Screening.of(p.data, (3,) * 4, 0, 1)
    kept = screening.keeps(p.data)
    assert kept[p.labels >= 0].all()
    assert kept[p.labels < 0].mean() < 0.01
    complete = screening.complete(p.data)
    assert not np.isnan(complete[p.labels >= 0]).any()


def test_samples_far_from_their_neighbours_stand_out(rng):
    p = make_union_of_subspaces(200, 60, 3, 2, noise=0.02, random_state=0)
    X = np.vstack([p.data, 3 * rng.standard_normal((20, 60))])
    close = has_neighbours(X, (3, 3))
    assert close[:200].mean() > 0.99
    assert not close[200:].any()


def test_the_representations_join_in_the_true_clusters():
    X, labels = close_subspaces(0, outliers=0)
    plan = UnionPlan((3,) * 3, "farthest", 0, 8, True, True, "adaptive", 20, 1e-6, 0, 1)
    consensus = find_consensus(X, plan)
    assert clustering_error(labels, consensus.labels) < 0.03
    assert len(consensus.representations) == len(consensus.weights) == 8
    assert consensus.weights.max() == 1
    assert 0.9 < consensus.agreement <= 1
    np.testing.assert_allclose(consensus.affinity.dense(), consensus.affinity.dense().T)


# ---- the default


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_close_subspaces_among_outliers_are_found(seed):
    X, labels = close_subspaces(seed)
    one = KGASG21(3, 3, init="density", random_state=seed).fit(X)
    assert clustering_error(labels, one.labels_, outlier_label=-1) > 0.1
    model = KGASG21(3, 3, reject_outliers=True, random_state=seed).fit(X)
    assert clustering_error(labels, model.labels_, outlier_label=-1) < 0.03
    assert (model.labels_[labels == -1] == -1).all()
    assert model.whitened_
    assert model.agreement_ > 0.9
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_agreement_is_at_most_one():
    p = make_union_of_subspaces(600, 40, 3, 4, outlier_fraction=0.25, noise=0.01, observed_fraction=0.9, random_state=3)
    model = KGASG21(4, 3, center=True, random_state=0).fit(p.data[:450])
    assert model.whitened_  # a consensus, whose representations say the same
    assert 0.99 < model.agreement_ <= 1


def test_one_run_stands_where_others_agree():
    p = make_union_of_subspaces(300, 40, 2, 4, outlier_fraction=0.3, noise=0.01, random_state=3)
    model = KGASG21(4, 2, random_state=0).fit(p.data)
    one = KGASG21(4, 2, init="density", random_state=0).fit(p.data)
    assert not model.whitened_
    assert model.agreement_ > 0.97
    for U, V in zip(model.subspaces_, one.subspaces_, strict=True):
        np.testing.assert_array_equal(U, V)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_paper_is_asked_nothing():
    X, _ = close_subspaces(0)
    model = KGASG21(3, 3, init="farthest", metric="canonical", polish=False, random_state=0).fit(X)
    explicit = KGASG21(
        *(3, 3),
        init="farthest",
        metric="canonical",
        polish=False,
        whiten=False,
        n_ensemble=1,
        screen=False,
        random_state=0,
    )
    assert model.agreement_ is None
    for U, V in zip(model.subspaces_, explicit.fit(X).subspaces_, strict=True):
        np.testing.assert_array_equal(U, V)


def test_new_samples_after_a_consensus(rng):
    X, labels = close_subspaces(1)
    model = KGASG21(3, 3, reject_outliers=True, random_state=0).fit(X[::2])
    assert clustering_error(labels[1::2], model.predict(X[1::2]), outlier_label=-1) < 0.02
    inliers = X[1::2][labels[1::2] >= 0]
    holes = np.where(rng.random(inliers.shape) < 0.1, np.nan, inliers)
    error = np.abs(model.complete(holes) - inliers)[np.isnan(holes)]
    assert np.median(error) < 0.05
    assert model.transform(inliers).shape == (len(inliers), 3)
    np.testing.assert_allclose(model.score_samples(inliers), -model.transform(inliers).min(axis=1))
    assert 0.9 < model.score(inliers) <= 1
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_threads_change_no_bit():
    X, _ = close_subspaces(2)
    models = [KGASG21(3, 3, random_state=0, n_jobs=jobs).fit(X) for jobs in (1, 2)]
    np.testing.assert_array_equal(models[0].labels_, models[1].labels_)
    for U, V in zip(models[0].subspaces_, models[1].subspaces_, strict=True):
        np.testing.assert_array_equal(U, V)


def test_a_consensus_among_some_of_many_samples(monkeypatch):
    monkeypatch.setattr("gasg21._algorithms.default_union._EXAMINED", 150)
    X, labels = close_subspaces(0, per=150, outliers=50)
    model = KGASG21(3, 3, random_state=0).fit(X)
    assert model.whitened_
    assert clustering_error(labels, model.labels_, outlier_label=-1) < 0.01


@pytest.mark.parametrize("parameters", [{}, {"screen": True}, {"whiten": True}])
def test_spectral_starts(parameters):
    p = make_union_of_subspaces(300, 40, 2, 4, outlier_fraction=0.3, observed_fraction=0.9, noise=0.01, random_state=3)
    model = KGASG21(4, 2, init="spectral", random_state=0, **parameters).fit(p.data)
    assert clustering_error(p.labels, model.labels_, outlier_label=-1) == 0


def test_a_spectral_start_needs_rank(rng):
    X = rng.standard_normal((50, 2)) @ rng.standard_normal((2, 20))
    with pytest.raises(InvalidInputError, match="init='spectral' needs samples of a rank"):
        KGASG21(2, 2, init="spectral", random_state=0).fit(X)


# ---- numbers chosen by the data


@pytest.mark.parametrize(("K", "d"), [(1, 3), (2, 4), (5, 2), (8, 3)])
def test_the_number_of_clusters_and_dimensions_is_found(K, d):
    p = make_union_of_subspaces(
        80 * K, 50, d, K, outlier_fraction=0.3, observed_fraction=0.9, noise=0.02, random_state=K
    )
    model = KGASG21("auto", d, random_state=0).fit(p.data)
    assert model.n_clusters_ == K
    assert model.selection_["n_clusters"] == K
    assert 1 + int(np.argmax(model.selection_["drop_ratios"][d])) == K
    both = KGASG21("auto", "auto", random_state=0).fit(p.data)
    assert both.n_components_ == [d] * K


def test_the_number_of_close_clusters_is_found():
    for K in (2, 3):
        X, _ = close_subspaces(1, K=K, n=60)
        model = KGASG21("auto", 3, random_state=0).fit(X)
        chosen = model.selection_
        assert model.n_clusters_ == K
        assert chosen["rule"] == "agreement"  # one subspace holds nearly all
        assert int(np.argmax(chosen["drop_ratios"][3])) == 0
        assert chosen["agreement"][K] > 0.95
        assert set(chosen["gain"]) == set(chosen["agreement"])


@pytest.mark.parametrize("seed", range(4))
def test_one_subspace_among_outliers_is_one(seed):
    shape = {"outlier_fraction": 0.3, "observed_fraction": 0.8, "noise": 0.01}
    p = make_union_of_subspaces(120, 40, 3, 1, random_state=seed, **shape)
    model = KGASG21("auto", 3, random_state=seed).fit(p.data)
    assert model.n_clusters_ == 1
    assert model.selection_["agreement"] == {}


def test_each_cluster_gets_its_own_dimension(rng):
    bases = [np.linalg.qr(rng.standard_normal((30, d)))[0] for d in (1, 2, 4)]
    X = np.vstack([rng.standard_normal((80, U.shape[1])) @ U.T for U in bases])
    X += 0.01 * rng.standard_normal(X.shape)
    model = KGASG21(3, "auto", random_state=0).fit(X)
    assert sorted(model.n_components_) == [1, 2, 4]
    assert clustering_error(np.repeat([0, 1, 2], 80), model.labels_) < 0.02


@pytest.mark.parametrize("parameters", [{}, {"init": "density", "whiten": False}, {"center": True}])
def test_clusters_of_too_few_members_are_reported(parameters):
    p = make_union_of_subspaces(300, 40, 3, 3, noise=0.02, random_state=1)
    with pytest.warns(ConvergenceWarning, match="does not determine all subspaces"):
        model = KGASG21(3, 3, random_state=0, **parameters).fit(p.data[:15])
    assert model.status_ == "undetermined"
    assert model.estimated_angles_.max() == np.pi / 2


@pytest.mark.parametrize("outliers", [0.0, 0.4])
def test_a_wrong_number_of_clusters_is_reported(outliers):
    p = make_union_of_subspaces(400, 50, 3, 4, outlier_fraction=outliers, noise=0.01, random_state=5)
    assert KGASG21(4, 3, random_state=0).fit(p.data).converged_
    with pytest.warns(ConvergenceWarning, match="larger n_clusters"):
        assert KGASG21(3, 3, random_state=0).fit(p.data).status_ == "too_few_clusters"
    with pytest.warns(ConvergenceWarning, match="smaller n_clusters"):
        assert KGASG21(5, 3, random_state=0).fit(p.data).status_ in ("too_many_clusters", "undetermined")


# ---- affine unions


@pytest.fixture(scope="module")
def flats():
    """Three planes in R^20 that do not contain the origin, and outliers."""
    rng = np.random.default_rng(4)
    bases = [np.linalg.qr(rng.standard_normal((20, 2)))[0].T for _ in range(3)]
    means = 5 * rng.standard_normal((3, 20))
    X = np.vstack([rng.standard_normal((80, 2)) @ U + mean for U, mean in zip(bases, means, strict=True)])
    X += 0.01 * rng.standard_normal(X.shape)
    X = np.vstack([X, 100 + 10 * rng.standard_normal((20, 20))])
    return X, np.r_[np.repeat([0, 1, 2], 80), np.full(20, -1)], bases, means


def test_affine_subspaces_are_found(flats, rng):
    X, labels, bases, means = flats
    model = KGASG21(3, 2, center=True, reject_outliers=True, random_state=0).fit(X)
    assert clustering_error(labels, model.labels_, outlier_label=-1) == 0
    assert (model.labels_[labels == -1] == -1).all()
    assert model.n_components_ == [2, 2, 2]
    for k in range(3):
        match = model.labels_[labels == k][0]
        assert subspace_angle(model.subspaces_[match], bases[k]) < 0.02
        off = model.means_[match] - means[k]
        assert np.linalg.norm(off - off @ bases[k].T @ bases[k]) < 0.05
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    good = X[labels >= 0]
    holes = np.where(rng.random(good.shape) < 0.2, np.nan, good)
    assert np.abs(model.complete(holes) - good).max() < 0.3


def test_affine_unions_stream_and_shift(flats):
    X, labels, _, _ = flats
    X, labels = X[labels >= 0], labels[labels >= 0]
    order = np.random.default_rng(0).permutation(len(X))
    model = KGASG21(3, 2, center=True, random_state=0).partial_fit(X[order]).partial_fit(X[order])
    assert clustering_error(labels, model.predict(X)) == 0
    moved = KGASG21(3, 2, center=True, random_state=0).fit(X + 1000)
    assert clustering_error(labels, moved.labels_) == 0


def test_a_lift_knows_the_way_back(rng):
    X = rng.standard_normal((50, 6)) + 3
    lift = UnionLift.of(Samples(X, None, X.dtype))
    np.testing.assert_allclose(lift.lower(lift.apply(Samples(X, None, X.dtype)).data), X)
    directions, point = np.linalg.qr(rng.standard_normal((6, 2)))[0].T, rng.standard_normal(6)
    found, other = lift.flat(lift.basis(directions, point))
    assert subspace_angle(found, directions) < 1e-10
    off = other - point
    np.testing.assert_allclose(off, off @ directions.T @ directions, atol=1e-10)


def test_parameters_of_unions_are_checked():
    X = np.random.default_rng(0).standard_normal((40, 8))
    for parameters, message in (
        ({"screen": "yes"}, "screen='yes' must be True or False, or 'auto'"),
        ({"n_clusters": "many"}, "n_clusters='many'"),
        ({"n_components": "few"}, "n_components='few'"),
        ({"center": 1}, "center=1 must be True or False"),
        ({"n_clusters": "auto", "n_components": [1, 2]}, r"n_components=\[1, 2\] must be one integer"),
        ({"init": [np.eye(1, 8)] * 2, "center": True}, "center=True"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            KGASG21(**{"n_clusters": 2, "n_components": 1} | parameters).fit(X)


def test_unit_rows_of_any_size():
    X = np.array([[3e300, 4e300], [3e-300, 4e-300], [0, 0], [np.nan, 2]])
    np.testing.assert_allclose(unit_rows(X), [[0.6, 0.8], [0.6, 0.8], [0, 0], [0, 1]])
