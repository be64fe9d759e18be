"""Completion and held-out entries against the oracle, in all forms of input."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from gasg21 import GASG21, GRASTA, SubspaceImputer, _core
from gasg21._algorithms import held_out
from gasg21._data.samples import Samples
from gasg21.datasets import make_low_rank
from gasg21.exceptions import DataQualityWarning
from tests import completion_reference as reference

FLOAT = np.dtype(np.float64)


def problem(seed=0, noise=0.2, n=30, d=3, **more):
    options = {"outlier_fraction": 0.2, "observed_fraction": 0.6} | more
    return make_low_rank(180, n, d, noise=noise, random_state=seed, **options)


def a_prior(n, d, rng):
    A = rng.standard_normal((2 * d, d))
    return A.T @ A, 0.3, rng.uniform(0.5, 1.5, n)


def test_the_law_of_the_weights_is_that_of_the_oracle():
    data = problem()
    U = data.basis
    C, s, noise = _core.learn_prior(U, data.data)  # 180 samples: it looks at all of them
    expected_C, expected_s, expected_noise = reference.learn_prior(U.T, data.data)
    assert_allclose(s, expected_s, rtol=1e-2)
    assert_allclose(C, expected_C, atol=1e-2 * np.trace(expected_C))
    assert_allclose(noise, expected_noise, rtol=2e-2)


def test_the_law_from_fits_is_near_it():
    data = problem(n=60, observed_fraction=0.8)
    W, r = _core.project(data.basis, data.data)
    norm, count = np.sqrt(np.nansum(data.data**2, axis=1)), (~np.isnan(data.data)).sum(1).astype(float)
    C, s, noise = _core.learn_prior_from_fits(W / norm[:, None], r**2, count, norm, 60)
    exact_C, exact_s, _ = _core.learn_prior(data.basis, data.data)
    assert noise is None
    assert_allclose(np.diag(C) / s, np.diag(exact_C) / exact_s, rtol=0.3)


@pytest.mark.parametrize("centre", [False, True])
def test_missing_entries_are_conditional_means(centre):
    rng = np.random.default_rng(1)
    U = np.linalg.qr(rng.standard_normal((21, 4)))[0]
    prior = a_prior(21, 4, rng)
    X = rng.standard_normal((40, 20))
    X[rng.random(X.shape) < 0.7] = np.nan
    X[:, 0] = rng.standard_normal(40)  # at least one entry each
    middle = rng.standard_normal(20)
    lifted = np.column_stack([X - middle, np.full(40, 0.7)])
    if not centre:
        X = lifted
    out = X.copy()
    lift = (middle, 0.7) if centre else None
    _core.complete(np.ascontiguousarray(U.T), X, None, out, prior, None, lift)
    expected = np.array([reference.conditional_mean(U, x, prior) for x in lifted])
    assert_allclose(out, expected[:, :20] + middle if centre else expected, atol=1e-9)


def test_held_out_errors_are_those_of_the_oracle():
    rng = np.random.default_rng(2)
    data = problem(seed=2)
    prior, medians = a_prior(30, 3, rng), rng.standard_normal(30)
    errors = _core.held_out_errors(data.basis, data.data[:20], None, prior, medians)
    expected = [reference.held_out_error(data.basis.T, x, prior, medians) for x in data.data[:20]]
    assert_allclose(errors, expected, rtol=1e-9)


def test_threads_and_forms_of_input_change_nothing():
    data = problem(seed=3)
    observed = ~np.isnan(data.data)
    rows, columns = np.nonzero(observed)
    sparse = sp.csr_matrix((data.data[observed], (rows, columns)), shape=observed.shape)
    forms = [
        Samples(data.data, None, FLOAT),
        Samples(np.where(observed, data.data, 7.0), observed, FLOAT),
        Samples(sparse, None, FLOAT),
        Samples(np.asfortranarray(data.data), None, FLOAT),
    ]
    model = GASG21(3, random_state=0).fit(data.data)
    subspace = model._current().subspace
    filled, score = held_out.complete(subspace, forms[0], 1), held_out.score(subspace, forms[0], 1)
    for samples in forms:
        batch = samples.whole()
        for a, b in zip(subspace.prior, _core.learn_prior(subspace.basis, batch.payload, batch.mask), strict=True):
            assert_array_equal(a, b)
        assert_array_equal(held_out.complete(subspace, samples, 3), filled)
        assert held_out.score(subspace, samples, 3) == score
    assert_array_equal(filled[observed], data.data[observed])
    assert model.score(data.data) == score


def scores_of(X, dimensions):
    """Scores on the last quarter of the samples of fits to the others."""
    found, cut = [], 3 * len(X) // 4
    for d in dimensions:
        found.append(GASG21(d, random_state=0).fit(X[:cut]).score(X[cut:]))
    return found


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("noise", [0.0, 0.05, 0.3])
def test_the_score_finds_the_dimension(noise):
    X = make_low_rank(800, 50, 4, outlier_fraction=0.4, observed_fraction=0.7, noise=noise, random_state=4).data
    assert 2 + int(np.argmax(scores_of(X, range(2, 8)))) == 4


def test_imputer_recovers_noise_free_data_among_outliers():
    data = problem(seed=5, noise=0.0, observed_fraction=1.0)
    rng = np.random.default_rng(5)
    X = np.where(rng.random(data.data.shape) < 0.3, np.nan, data.data)
    imputer = SubspaceImputer(tol=1e-12, random_state=0)
    filled = imputer.fit_transform(X)
    assert imputer.n_components_ == 3
    assert np.abs(filled - data.data)[data.inlier].max() < 1e-9 * np.abs(data.data).max()


def test_shrinkage_makes_superfluous_dimensions_harmless():
    data = make_low_rank(1000, 60, 4, noise=0.1, random_state=6)
    rng = np.random.default_rng(6)
    hidden = rng.random(data.data.shape) < 0.5
    X = np.where(hidden, np.nan, data.data)

    def error(d):
        filled = SubspaceImputer(d, random_state=0).fit_transform(X)
        return np.sqrt(np.mean((filled - data.data)[hidden] ** 2))

    assert error(8) < 1.1 * error(4)


@pytest.mark.parametrize("center", [False, True])
def test_a_single_observed_entry_has_an_answer(center):
    data = problem(seed=7)
    imputer = SubspaceImputer(3, center=center, random_state=0).fit(data.data)
    row = np.full((1, 30), np.nan)
    if center:  # nothing observed: the mean is what to expect
        assert_array_equal(imputer.transform(row)[0], imputer.mean_)
    else:
        assert np.isnan(imputer.transform(row)).all()
    row[0, 4] = 0.5
    filled = imputer.transform(row)
    assert np.isfinite(filled).all()
    assert filled[0, 4] == 0.5
    row[0, 4] = 0.0
    if not center:
        assert_array_equal(imputer.transform(row), np.zeros((1, 30)))


def test_filled_entries_stay_near_the_range_of_their_feature():
    rng = np.random.default_rng(8)
    truth = np.clip(np.round(3.5 + rng.standard_normal((300, 1)) + rng.standard_normal(400)), 1, 5)
    ratings = np.where(rng.random(truth.shape) < 0.06, truth, np.nan)
    ratings[:, :2] = truth[:, :2]  # nobody without a rating
    for d in (1, 2, 4):
        filled = SubspaceImputer(d, random_state=0).fit_transform(ratings)
        assert np.nanmin(filled) >= 0
        assert np.nanmax(filled) <= 6


def test_a_feature_that_no_sample_observes_stays_nan_and_is_named():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(problem(seed=9).data, columns=[f"sensor {i}" for i in range(30)])
    X["sensor 11"] = np.nan
    imputer = SubspaceImputer(3, random_state=0)
    with pytest.warns(UserWarning, match="observes these features.*'sensor 11'"):
        filled = imputer.fit_transform(X)
    assert np.isnan(filled[:, 11]).all()
    assert np.isfinite(np.delete(filled, 11, axis=1)).all()
    assert list(imputer.get_feature_names_out()) == list(X.columns)


def test_imputer_in_a_pipeline():
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    data = problem(seed=10, noise=0.05)
    y = np.nan_to_num(data.data) @ np.ones(30)
    model = make_pipeline(SubspaceImputer(3, random_state=0), Ridge()).fit(data.data, y)
    assert np.isfinite(model.predict(data.data)).all()


def test_float32_is_completed_in_float32():
    data = problem(seed=11)
    imputer = SubspaceImputer(3, random_state=0).fit(data.data.astype(np.float32))
    filled = imputer.transform(data.data.astype(np.float32))
    assert filled.dtype == np.float32
    expected = SubspaceImputer(3, random_state=0).fit_transform(data.data)
    assert_allclose(filled[data.inlier], expected[data.inlier], atol=1e-3 * np.nanmax(np.abs(data.data)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_without_noise_nothing_limits_the_entries_of_a_long_sample(dtype):
    rng = np.random.default_rng(15)
    X = (rng.standard_normal((300, 2)) @ rng.standard_normal((2, 20))).astype(dtype)
    model = GRASTA(2, random_state=0).fit(X)
    truth = 100 * X[0]  # far beyond the range of the fit, whose noise is rounding error
    seen = truth.copy()
    seen[[3, 8, 11]] = np.nan
    assert_allclose(model.complete(seen[None])[0], truth, atol=1e-3 * np.abs(truth).max())


@pytest.mark.parametrize("estimator", [GASG21, GRASTA])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_feature_that_the_fit_never_saw_stays_nan_until_the_stream_sees_it(estimator):
    X = problem(seed=12, noise=0.05).data + 3
    whole = X.copy()
    X[:, 5] = np.nan
    model = estimator(3, center=True, random_state=0).fit(X)
    assert np.isnan(model.complete(X)[:, 5]).all()
    assert np.isnan(model.partial_fit(X[:1]).complete(X)[:, 5]).all()
    again = pickle.loads(pickle.dumps(model))
    assert np.isnan(again.complete(X)[:, 5]).all()
    seen = whole[~np.isnan(whole[:, 5])][:1]
    assert np.isfinite(again.partial_fit(seen).complete(X)[:, 5]).all()


def test_ratings_stay_in_their_range_after_a_stream_and_for_grasta():
    rng = np.random.default_rng(13)
    truth = np.clip(np.round(3.5 + rng.standard_normal((300, 1)) + rng.standard_normal(80)), 1, 5)
    ratings = np.where(rng.random(truth.shape) < 0.15, truth, np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = [
            GASG21(2, center=True, random_state=0).fit(ratings).partial_fit(ratings[:1]),
            GRASTA(2, center=True, random_state=0).fit(ratings),
        ]
        for model in models:
            filled = model.complete(ratings)
            assert np.nanmin(filled) >= 0
            assert np.nanmax(filled) <= 6


def test_auto_stops_where_entries_are_too_few():
    rng = np.random.default_rng(14)
    X = rng.standard_normal((100, 1)) @ rng.standard_normal((1, 12)) + 5
    for row in X:
        row[rng.permutation(12)[3:]] = np.nan
    filled = SubspaceImputer(random_state=0).fit_transform(X)
    assert np.isfinite(filled).all()


def test_infinite_entries_do_not_flatter_the_score():
    data = problem(seed=15, noise=0.05)
    model = GASG21(3, on_bad="skip", random_state=0).fit(data.data)
    bad = data.data.copy()
    bad[: len(bad) // 2 + 5, 0] = np.inf
    noise = np.where(np.isnan(bad), np.nan, np.random.default_rng(0).standard_normal(bad.shape))
    noise[: len(bad) // 2 + 5, 0] = np.inf
    assert model.score(noise) < 0.1 < model.score(bad)


@pytest.mark.parametrize(("kind", "method"), [(GASG21, "complete"), (SubspaceImputer, "transform")])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_warning_of_features_without_an_entry_names_the_users_line(kind, method, rng):
    X = rng.standard_normal((100, 2)) @ rng.standard_normal((2, 15))
    X[:, 4] = np.nan
    fitted = kind(2, random_state=0).fit(X)
    with pytest.warns(DataQualityWarning, match="their missing entries stay NaN: 4") as caught:
        getattr(fitted, method)(X)
    assert caught[0].filename == __file__
