"""center=True: affine subspaces, with outliers and missing entries, in every form of input."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError

from gasg21 import GASG21, GRASTA, GROUSE
from gasg21.exceptions import DataQualityWarning, InvalidInputError
from gasg21.metrics import subspace_angle

N, D = 60, 3
SPREAD = np.array([4.0, 2.0, 1.0])


def affine(rng, m=800, *, offset=10.0, noise=0.0, outliers=0.4, missing=0.3):
    """Samples of an affine subspace; outliers lie round the same centre. Returns X, directions, mean, inlier."""
    basis = np.linalg.qr(rng.standard_normal((N, D)))[0].T
    mean = rng.standard_normal(N)
    mean *= offset / np.linalg.norm(mean)
    X = mean + (rng.standard_normal((m, D)) * SPREAD) @ basis + noise * rng.standard_normal((m, N))
    inlier = rng.random(m) >= outliers
    X[~inlier] = mean + 0.6 * rng.standard_normal(((~inlier).sum(), N))
    X[rng.random(X.shape) < missing] = np.nan
    return X, basis, mean, inlier


@pytest.mark.parametrize("offset", [0, 10, 1000])
def test_an_affine_subspace_is_recovered_exactly(rng, offset):
    X, basis, mean, inlier = affine(rng, offset=offset)
    model = GASG21(D, center=True, tol=1e-10, random_state=0).fit(X)
    assert model.status_ == "converged"
    assert subspace_angle(model.components_, basis) < 1e-12
    off = model.mean_ - mean
    assert np.linalg.norm(off - off @ basis.T @ basis) < 1e-11 * max(offset, 1)  # mean_ lies on it
    assert np.linalg.norm(off) < 3 * np.sqrt((SPREAD**2).sum() / inlier.sum())
    np.testing.assert_array_equal(model.predict(X) == 1, inlier)


def test_an_offset_changes_nothing_but_the_mean(rng):
    X, *_ = affine(rng, noise=0.05, offset=0)
    shift = rng.standard_normal(N) * 100
    here, there = (GASG21(D, center=True, random_state=0).fit(data) for data in (X, X + shift))
    np.testing.assert_allclose(there.components_, here.components_, atol=1e-7)
    np.testing.assert_allclose(there.mean_, here.mean_ + shift, atol=1e-7)
    np.testing.assert_allclose(there.transform(X + shift), here.transform(X), atol=1e-6, equal_nan=True)
    np.testing.assert_array_equal(there.predict(X + shift), here.predict(X))


@pytest.mark.parametrize("noise", [0.05, 0.3])
def test_an_affine_fit_is_as_accurate_as_a_linear_one_without_offset(rng, noise):
    X, basis, *_ = affine(rng, offset=0, noise=noise, m=2000)
    lifted = GASG21(D, center=True, random_state=0).fit(X + 7)
    linear = GASG21(D, random_state=0).fit(X)
    angle = subspace_angle(lifted.components_, basis)
    assert angle < 1.15 * subspace_angle(linear.components_, basis)
    assert angle < 3 * lifted.estimated_angle_
    assert lifted.status_ == "noise_floor"


def test_complete_clean_data_gives_pca(rng):
    X, *_ = affine(rng, outliers=0, missing=0, noise=0.05, m=3000)
    model = GASG21(D, center=True, random_state=0).fit(X)
    pca = PCA(D).fit(X)
    assert subspace_angle(model.components_, pca.components_) < 5e-3
    np.testing.assert_allclose(model.explained_variance_, pca.explained_variance_, rtol=0.05)
    np.testing.assert_allclose(model.explained_variance_ratio_, pca.explained_variance_ratio_, rtol=0.05)
    np.testing.assert_allclose(model.noise_variance_, pca.noise_variance_, rtol=0.05)
    # The axes are as uncertain as the gaps of the spectrum: some hundredths.
    np.testing.assert_allclose(np.abs(model.components_ @ pca.components_.T), np.eye(D), atol=0.1)


def test_nan_mask_and_sparse_give_the_same_bits(rng):
    X, *_ = affine(rng, noise=0.05)
    observed = ~np.isnan(X)
    rows, columns = np.nonzero(observed)
    sparse = sp.csr_matrix((X[observed], (rows, columns)), shape=X.shape)
    filled = np.where(observed, X, 7.0)
    by_nan = GASG21(D, center=True, random_state=0).fit(X)
    by_mask = GASG21(D, center=True, random_state=0).fit(filled, mask=observed)
    by_sparse = GASG21(D, center=True, random_state=0).fit(sparse)
    for other, data, mask in ((by_mask, filled, observed), (by_sparse, sparse, None)):
        assert other.components_.tobytes() == by_nan.components_.tobytes()
        assert other.mean_.tobytes() == by_nan.mean_.tobytes()
        for method in ("transform", "score_samples", "decision_function", "distances", "predict"):
            expected = getattr(by_nan, method)(X)
            np.testing.assert_array_equal(getattr(other, method)(data, mask=mask), expected, err_msg=method)


def test_absent_entries_that_are_zero_are_centred(rng):
    X, basis, *_ = affine(rng, missing=0, offset=3)
    X[rng.random(X.shape) < 0.0] = 0
    dense = GASG21(D, center=True, random_state=0).fit(X)
    sparse = GASG21(D, center=True, absent="zero", random_state=0).fit(sp.csr_matrix(X))
    assert sparse.components_.tobytes() == dense.components_.tobytes()
    assert subspace_angle(sparse.components_, basis) < 1e-6


def test_float32(rng):
    X, basis, _, inlier = affine(rng, missing=0.3)
    model = GASG21(D, center=True, random_state=0).fit(X.astype(np.float32))
    assert model.components_.dtype == model.mean_.dtype == model.transform(X.astype(np.float32)).dtype == np.float32
    assert subspace_angle(model.components_, basis) < 1e-5
    np.testing.assert_array_equal(model.predict(X.astype(np.float32)) == 1, inlier)


def test_transform_is_least_squares_about_the_mean(rng):
    X, *_ = affine(rng, noise=0.05)
    model = GASG21(D, center=True, random_state=0).fit(X)
    weights = model.transform(X)
    for j in (0, 17, 300):
        seen = ~np.isnan(X[j])
        expected = np.linalg.lstsq(model.components_[:, seen].T, (X[j] - model.mean_)[seen], rcond=None)[0]
        np.testing.assert_allclose(weights[j], expected, rtol=1e-9, atol=1e-9)
    back = model.inverse_transform(weights)
    np.testing.assert_allclose(back, weights @ model.components_ + model.mean_, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # GRASTA is slow at this condition
@pytest.mark.parametrize("estimator", [GASG21, GROUSE, GRASTA])
def test_all_estimators_and_their_streams_fit_affine_subspaces(rng, estimator):
    X, basis, mean, _ = affine(rng, outliers=0, m=1500)
    # An L1 fit may take the constant of the lift for a corrupt entry. GRASTA.fit moves the centre instead; a stream
    # cannot, and is less accurate.
    of_fit, of_stream = {GASG21: (1e-9, 1e-4), GROUSE: (1e-6, 1e-6), GRASTA: (1e-4, 0.15)}[estimator]
    fitted = estimator(D, center=True, random_state=0).fit(X)
    stream = estimator(D, center=True, random_state=0)
    for _ in range(4):
        for start in range(0, len(X), 100):
            stream.partial_fit(X[start : start + 100])
    for model, tolerance in ((fitted, of_fit), (stream, of_stream)):
        assert subspace_angle(model.components_, basis) < tolerance
        assert np.linalg.norm(model.mean_ - mean) < 0.7
        assert model.components_.shape == (D, N)
        assert model.n_components_ == D


def test_a_stream_of_single_vectors_waits_for_enough_to_centre(rng):
    X, basis, *_ = affine(rng, outliers=0.2, m=1500)
    model = GASG21(D, center=True, random_state=0)
    for row in X[:10]:
        model.partial_fit(row[None])
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(AttributeError, match="10 samples wait"):
        model.components_  # noqa: B018
    for row in X[10:]:
        model.partial_fit(row[None])
    assert model.diagnostics_["n_seen"] == len(X)  # none was lost
    assert subspace_angle(model.components_, basis) < 1e-3
    at_once = GASG21(D, center=True, random_state=0).partial_fit(X[:20]).partial_fit(X[20:])
    assert at_once.components_.tobytes() == model.components_.tobytes()


def test_a_refused_batch_leaves_the_waiting_samples(rng):
    X, *_ = affine(rng)
    model = GASG21(D, center=True, random_state=0).partial_fit(X[:5])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:5, :7])
    model.partial_fit(X[5:25])
    assert model.diagnostics_["n_seen"] == 25


def test_an_affine_stream_resumes_to_the_bit(rng):
    X, *_ = affine(rng, noise=0.05)
    model = GASG21(D, center=True, random_state=0).fit(X[:300])
    for cut in (300, 350, 500):
        again = pickle.loads(pickle.dumps(model))
        model.partial_fit(X[cut : cut + 50])
        again.partial_fit(X[cut : cut + 50])
        for name in ("components_", "mean_", "explained_variance_"):
            assert getattr(again, name).tobytes() == getattr(model, name).tobytes(), name
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


# a cluster of a fifth takes the place of a direction in most problems: the fit is ambiguous then
@pytest.mark.parametrize("seed", range(4))
def test_a_far_cluster_of_a_seventh_does_no_harm(seed):
    rng = np.random.default_rng(seed)
    X, basis, mean, _ = affine(rng, outliers=0, m=1000, noise=0.05)
    far = mean + 20 * np.linalg.qr(rng.standard_normal((N, 1)))[0].T
    X[:150] = far + 0.3 * rng.standard_normal((150, N))
    model = GASG21(D, center=True, random_state=0).fit(X)
    assert model.status_ == "noise_floor"
    assert subspace_angle(model.components_, basis) < 0.05
    assert (model.predict(X[:150]) == -1).all()
    assert (model.predict(X[150:]) == 1).mean() > 0.99


def test_init_and_working_components_are_those_of_the_directions(rng):
    X, basis, *_ = affine(rng, noise=0.05)
    start = np.linalg.qr(rng.standard_normal((N, D)))[0].T
    model = GASG21(D, center=True, init=start, random_state=0).fit(X)
    assert subspace_angle(model.components_, basis) < 0.05
    model = GASG21(D, center=True, working_components=6, random_state=0).fit(X)
    assert model.components_.shape == (D, N)
    assert subspace_angle(model.components_, basis) < 0.05


@pytest.mark.parametrize("noise", [0, 0.01, 0.3])
def test_the_dimension_of_an_affine_subspace_is_chosen(rng, noise):
    X, basis, *_ = affine(rng, noise=noise)
    model = GASG21("auto", center=True, random_state=0).fit(X)
    assert model.n_components_ == D
    assert subspace_angle(model.components_, basis) < 0.3


def test_a_dominating_offset_is_told(rng):
    X, *_ = affine(rng, offset=50)
    with pytest.warns(DataQualityWarning, match="center=True"):
        GASG21(D, random_state=0).fit(X)
    X, *_ = affine(rng, offset=1)
    GASG21(D, random_state=0).fit(X)  # a small one is not


def test_center_must_be_a_flag_and_stay(rng):
    X, *_ = affine(rng, offset=0)
    with pytest.raises(InvalidInputError, match="center='yes' must be True or False"):
        GASG21(D, center="yes").fit(X)
    model = GASG21(D, center=True, random_state=0).partial_fit(X)
    with pytest.raises(InvalidInputError, match="center=False must stay True"):
        model.set_params(center=False).partial_fit(X)


def test_a_linear_subspace_has_mean_zero(problem):
    model = GASG21(3, random_state=0).fit(problem.data)
    np.testing.assert_array_equal(model.mean_, np.zeros(problem.data.shape[1]))


@pytest.mark.filterwarnings("ignore:no sample is called an outlier")
def test_rows_with_infinities_do_not_move_the_centre(rng):
    X, basis, *_ = affine(rng, outliers=0, missing=0, noise=0.05, m=400)
    bad = X.copy()
    bad[:240, 0] = np.inf
    model = GASG21(D, center=True, on_bad="skip", random_state=0).fit(bad)
    assert np.isfinite(model.mean_).all()
    assert subspace_angle(model.components_, basis) < 0.05
    assert (model.predict(X) == 1).mean() > 0.98
    assert model.diagnostics_["n_nonfinite"] > 0


def test_inverse_transform_keeps_the_mean_exact(rng):
    X, *_ = affine(rng, offset=1000)
    model = GASG21(D, center=True, random_state=0).fit(X)
    zero = model.inverse_transform(np.zeros((1, D), np.float32))
    np.testing.assert_array_equal(zero[0], model.mean_)
