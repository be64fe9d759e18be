"""Unions of subspaces by default: screening, starts, consensus, numbers chosen by the data, doubts, flats."""

import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from gasg21 import KGASG21, _core
from gasg21._estimators import union_fit
from gasg21._support.progress import Progress
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
    assert 0.9 < model.agreement_ <= 1
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_gaussian_outliers_do_not_spoil_a_consensus(share):
    X, labels = close_subspaces(0, outliers=round(180 * share / (1 - share)))
    model = KGASG21(3, 3, random_state=0).fit(X)
    assert model.whitened_
    assert clustering_error(labels, model.labels_, outlier_label=-1) < 0.02


def test_a_clear_run_asks_no_other_representation():
    p = make_union_of_subspaces(300, 40, 2, 4, outlier_fraction=0.3, noise=0.01, random_state=3)
    check_that_the_run_stands(p.data, p.labels, 4, 2, agreement=None)


def test_a_run_stands_where_others_agree():
    X, labels = many_near_subspaces(0.1)
    check_that_the_run_stands(X, labels, 20, 3, agreement=0.97)


def check_that_the_run_stands(X, labels, K, d, agreement):
    model = KGASG21(K, d, random_state=0).fit(X)
    assert not model.whitened_
    assert model.agreement_ is agreement or model.agreement_ >= agreement
    assert clustering_error(labels, model.labels_, outlier_label=-1) == 0
    one = KGASG21(K, d, init="density", random_state=0).fit(X)
    for U, V in zip(model.subspaces_, one.subspaces_, strict=True):
        np.testing.assert_array_equal(U, V)


def many_near_subspaces(spread, K=20):
    """Twenty clusters near subspaces that lie about ``spread`` from a common one."""
    rng = np.random.default_rng(0)
    common = np.linalg.qr(rng.standard_normal((40, 3)))[0]
    bases = [np.linalg.qr(common + spread * rng.standard_normal((40, 3)))[0] for _ in range(K)]
    X = np.vstack([rng.standard_normal((40, 3)) @ U.T for U in bases])
    return X + 0.002 * rng.standard_normal(X.shape), np.repeat(np.arange(K), 40)


def test_many_subspaces_that_hardly_differ_are_not_clear():
    X, labels = many_near_subspaces(0.02)
    model = KGASG21(20, 3, random_state=0).fit(X)
    assert model.agreement_ is not None
    assert clustering_error(labels, model.labels_) < 0.01


@pytest.mark.parametrize("seed", range(3))
def test_an_exact_fit_needs_no_consensus(seed):
    p = make_union_of_subspaces(400, 40, 3, 4, random_state=seed)
    model = KGASG21(4, 3, random_state=0).fit(p.data)
    assert not model.whitened_
    assert model.agreement_ is None or model.agreement_ >= 0.97
    assert clustering_error(p.labels, model.labels_) == 0
    assert max(min(subspace_angle(U, V) for U in model.subspaces_) for V in p.bases) < 1e-6


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
def test_fewer_samples_than_features(dtype, order):
    p = make_union_of_subspaces(720, 1024, 5, 20, random_state=0)
    model = KGASG21(20, 5, random_state=0).fit(np.asarray(p.data, dtype, order=order))
    assert clustering_error(p.labels, model.labels_) == 0


def test_half_of_many_entries_may_be_missing():
    p = make_union_of_subspaces(4000, 50, 3, 4, observed_fraction=0.5, random_state=0)
    model = KGASG21(4, 3, random_state=0).fit(p.data)
    assert model.converged_
    assert clustering_error(p.labels, model.labels_) == 0


def test_ctrl_c_during_a_consensus_leaves_the_run(monkeypatch):
    X, _ = close_subspaces(0)
    passes = []
    asked = []

    def stage(self, name):
        asked.append(name)
        raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "stage", stage)
    model = KGASG21(3, 3, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, callback=passes.append)
    assert asked == ["compare representations"]
    assert model.status_ == "interrupted"
    assert model.agreement_ is None
    assert not model.whitened_
    assert model.n_passes_ == len(passes) > 1  # the run had come to its end
    np.testing.assert_array_equal(model.labels_, model.transform(X).argmin(axis=1))


def test_the_callback_may_end_a_fit_after_any_pass():
    X, _ = close_subspaces(0)
    model = KGASG21(3, "auto", random_state=0)
    model.fit(X, callback=(seen := []).append)
    for last in range(1, len(seen) + 1):
        count = itertools.count(1)
        model.fit(X, callback=lambda record, count=count, last=last: next(count) == last)
        assert model.status_ == "interrupted"
        assert model.labels_.shape == (len(X),)
        assert model.selection_["n_components"] == model.n_components_


def test_constants_of_the_consensus_decide(monkeypatch):
    X, _ = close_subspaces(0)
    usual = KGASG21(3, 3, random_state=0).fit(X)
    constants = _core.ConsensusConstants()
    constants.exponents = [2.0, 3.0]
    constants.n_runs, constants.passes = 4, 5
    monkeypatch.setattr(union_fit, "_CONSENSUS", constants)
    assert KGASG21(3, 3, random_state=0).fit(X).agreement_ != usual.agreement_


@pytest.fixture(scope="module")
def problem():
    """Four planes in R^40, 30 % outliers, 10 % missing."""
    return make_union_of_subspaces(
        300, 40, 2, 4, outlier_fraction=0.3, observed_fraction=0.9, noise=0.01, random_state=3
    )


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"n_ensemble": 1},
        {"n_ensemble": 4},
        {"whiten": True},
        {"whiten": False},
        {"screen": True},
        {"screen": False},
        {"init": "spectral"},
        {"init": "farthest"},
        {"center": True},
        {"n_clusters": "auto"},
        {"n_components": "auto"},
        {"n_clusters": "auto", "n_components": "auto"},
        {"n_components": [2, 2, 2, 2]},
        {"metric": "canonical"},
        {"n_jobs": 2},
        {"n_jobs": 2, "n_ensemble": 4},
    ],
    ids=str,
)
def test_all_parameters_lead_to_the_clusters(problem, parameters):
    model = KGASG21(**{"n_clusters": 4, "n_components": 2, "random_state": 0} | parameters).fit(problem.data)
    assert clustering_error(problem.labels, model.labels_, outlier_label=-1) == 0
    assert model.n_components_ == [2] * 4


@pytest.mark.parametrize("parameters", [{}, {"whiten": True}, {"center": True}, {"n_ensemble": 3}], ids=str)
def test_all_forms_of_the_data_give_the_same_labels(problem, parameters):
    X, seen = problem.data, problem.mask
    model = KGASG21(4, 2, reject_outliers=True, random_state=0, **parameters)
    labels = model.fit(X).labels_
    check_labels(problem.labels, labels)
    sparse = sp.csr_matrix((X[seen], np.nonzero(seen)), shape=X.shape)
    for data, mask in ((np.where(seen, X, 7.0), seen), (sparse, None), (np.asfortranarray(X), None)):
        np.testing.assert_array_equal(model.fit(data, mask=mask).labels_, labels)
        np.testing.assert_array_equal(model.predict(data, mask=mask), labels)
    check_labels(problem.labels, model.fit(X.astype(np.float32)).labels_)


def check_labels(truth, labels):
    kept = labels >= 0
    assert clustering_error(truth[kept], labels[kept], outlier_label=-1) == 0
    assert not kept[truth < 0].any()
    assert kept[truth >= 0].mean() > 0.97  # residuals of whitened samples overlap more


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


def test_a_consensus_among_some_of_many_samples():
    X, labels = close_subspaces(0, per=1100, outliers=50)  # more than the 3000 that a consensus looks at
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
        found = []
        for seed in range(6):
            chosen = KGASG21("auto", 3, random_state=seed).fit(X).selection_
            assert chosen["rule"] == "agreement"  # one subspace holds nearly all
            assert int(np.argmax(chosen["drop_ratios"][3])) == 0
            assert chosen["agreement"][K] > 0.95
            assert set(chosen["gain"]) == set(chosen["agreement"])
            found.append(chosen["n_clusters"])
        assert found.count(K) >= 5, found


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
