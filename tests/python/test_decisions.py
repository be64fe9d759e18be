"""predict, decision_function and distances of fitted subspaces, and their warnings."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from gasg21 import GASG21
from gasg21.datasets import make_low_rank
from gasg21.exceptions import DataQualityWarning


def problem(**kwargs):
    parameters = {"outlier_fraction": 0.3, "observed_fraction": 0.7, "noise": 0.02, "random_state": 0}
    return make_low_rank(1200, 60, 4, **parameters | kwargs)


def rates(flagged, inlier):
    return (flagged & ~inlier).sum() / max(flagged.sum(), 1), (flagged & ~inlier).sum() / max((~inlier).sum(), 1)


@pytest.mark.parametrize("center", [False, True])
def test_outliers_are_flagged_in_samples_seen_and_unseen(center):
    data = problem()
    model = GASG21(4, center=center, random_state=0).fit(data.data[:800])
    for part in (slice(0, 800), slice(800, None)):
        precision, recall = rates(model.predict(data.data[part]) == -1, data.inlier[part])
        assert min(precision, recall) > 0.99


def test_float32_sparse_and_stream_decide_alike():
    data = problem()
    observed = ~np.isnan(data.data)
    sparse = sp.csr_matrix((data.data[observed], np.nonzero(observed)), shape=observed.shape)
    single = data.data.astype(np.float32)
    labels = {
        "float32": GASG21(4, random_state=0).fit(single).predict(single),
        "sparse": GASG21(4, random_state=0).fit(sparse).predict(sparse),
    }
    stream = GASG21(4, random_state=0)
    for _ in range(3):
        stream.partial_fit(data.data)
    labels["stream"] = stream.predict(data.data)
    for name, found in labels.items():
        precision, recall = rates(found == -1, data.inlier)
        assert min(precision, recall) > 0.99, name


@pytest.mark.parametrize("load", [load_iris, load_wine, load_digits, load_breast_cancer])
@pytest.mark.parametrize("standardised", [False, True])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_table_without_garbage_has_few_outliers(load, standardised):
    X = load().data
    if standardised:
        X = StandardScaler().fit_transform(X)
    for center in (False, True):
        assert (GASG21(2, center=center, random_state=0).fit(X).predict(X) == -1).mean() <= 0.1


@pytest.mark.parametrize("center", [False, True])
def test_predict_is_the_sign_of_the_decision(center):
    data = problem()
    model = GASG21(4, center=center, random_state=0).fit(data.data)
    decision = model.decision_function(data.data)
    np.testing.assert_array_equal(model.predict(data.data), np.where(decision >= 0, 1, -1))
    silent = np.full((2, 60), np.nan)
    silent[1, :3] = 1.0  # too few entries
    assert np.isnan(model.decision_function(silent)).all()
    np.testing.assert_array_equal(model.predict(silent), [-1, -1])


def test_distances_are_about_one_for_inliers_and_see_both_ways_to_be_far():
    data = problem(observed_fraction=1.0)
    model = GASG21(4, random_state=0).fit(data.data)
    distances = model.distances(data.data)
    np.testing.assert_allclose(np.median(distances[data.inlier], axis=0), 1, atol=0.15)
    assert (distances[~data.inlier, 1] > 5).all()
    within = 30 * np.sqrt(model.explained_variance_[0]) * model.components_[:1]
    far = model.distances(within)[0]
    assert far[0] > 10
    assert far[1] < 1e-6


def test_centred_samples_are_ranked_by_both_distances():
    data = problem(observed_fraction=1.0)
    model = GASG21(4, center=True, random_state=0).fit(data.data)
    inside = data.data[data.inlier]
    order = np.argsort(-model.decision_function(inside))
    square = (model.distances(inside) ** 2).sum(axis=1)
    kept = model.predict(inside)[order] == 1
    assert (np.diff(square[order][kept]) >= -1e-9).all()


def test_warnings_about_decisions():
    noise = np.random.default_rng(0).standard_normal((300, 20))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        of_noise = GASG21(2, random_state=0).fit(noise)
    with pytest.warns(DataQualityWarning, match="explains too little|no sample is called") as caught:
        of_noise.predict(noise)
    assert caught[0].filename == __file__  # the user's line
    data = problem(outlier_fraction=0.7, observed_fraction=1.0)
    model = GASG21(4, random_state=0).fit(data.data)
    with pytest.warns(DataQualityWarning, match="more than half"):
        model.predict(data.data)
    GASG21(4, contamination=0.7, random_state=0).fit(data.data).predict(data.data)  # the user has said so
    exact = problem(outlier_fraction=0.7, noise=0.0)
    GASG21(4, random_state=0).fit(exact.data).predict(exact.data)  # inliers without noise leave no doubt


@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_grid_search_finds_the_dimension(noise):
    X = problem(noise=noise).data
    search = GridSearchCV(GASG21(random_state=0), {"n_components": [2, 3, 4, 5, 6]}, cv=3).fit(X)
    assert search.best_params_ == {"n_components": 4}
