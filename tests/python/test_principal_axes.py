"""components_ are the principal axes of the inliers."""

import numpy as np
import pytest

from gasg21 import GASG21
from gasg21.datasets import make_low_rank

SPECTRUM = (8.0, 4.0, 2.0, 1.0)


@pytest.fixture
def data():
    return make_low_rank(
        1500, 50, 4, outlier_fraction=0.3, observed_fraction=0.8, singular_values=SPECTRUM, noise=0.01, random_state=3
    )


def test_axes_are_orthonormal_and_ordered(data):
    model = GASG21(4, random_state=0).fit(data.data)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(4), atol=1e-12)
    assert (np.diff(model.explained_variance_) < 0).all()
    largest = np.abs(model.components_).argmax(axis=1)
    assert (model.components_[np.arange(4), largest] > 0).all()


def test_weights_of_the_inliers_are_uncorrelated_and_have_the_variances(data):
    model = GASG21(4, random_state=0).fit(data.data)
    covariance = np.cov(model.transform(data.data[data.inlier]).T)
    np.testing.assert_allclose(np.diag(covariance), model.explained_variance_, rtol=0.02)
    correlation = covariance / np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    assert np.abs(correlation - np.eye(4)).max() < 0.02


def test_the_noise_is_that_of_one_entry(data):
    model = GASG21(4, random_state=0).fit(data.data)
    residual = data.data - model.inverse_transform(model.transform(data.data))
    observed = ~np.isnan(residual[data.inlier])
    expected = np.nansum(residual[data.inlier] ** 2) / (observed.sum() - 4 * data.inlier.sum())
    assert model.noise_variance_ == pytest.approx(expected, rel=0.02)
    total = model.explained_variance_.sum() + (50 - 4) * model.noise_variance_
    np.testing.assert_allclose(model.explained_variance_ratio_, model.explained_variance_ / total)


def test_two_seeds_give_the_same_components(data):
    first, second = (GASG21(4, random_state=seed).fit(data.data) for seed in (0, 1))
    np.testing.assert_allclose(first.components_, second.components_, atol=5 * first.estimated_angle_)
    clean = make_low_rank(800, 40, 3, outlier_fraction=0.3, singular_values=(5, 3, 1), random_state=0).data
    first, second = (GASG21(3, random_state=seed).fit(clean) for seed in (0, 1))
    np.testing.assert_allclose(first.components_, second.components_, atol=1e-7)


def test_a_far_sample_on_the_subspace_does_not_turn_the_axes(data):
    X = data.data.copy()
    X[np.flatnonzero(data.inlier)[0]] = 1e4 * data.basis.sum(axis=0)
    clean, leveraged = (GASG21(4, random_state=0).fit(x) for x in (data.data, X))
    np.testing.assert_allclose(leveraged.components_, clean.components_, atol=0.05)
    np.testing.assert_allclose(leveraged.explained_variance_, clean.explained_variance_, rtol=0.05)


def test_a_stream_publishes_axes_and_keeps_its_basis(data):
    model = GASG21(4, random_state=0)
    for start in range(0, 1500, 100):
        model.partial_fit(data.data[start : start + 100])
        assert (np.diff(model.explained_variance_) <= 0).all()
    unread = GASG21(4, random_state=0)
    for start in range(0, 1500, 100):
        unread.partial_fit(data.data[start : start + 100])
    basis = unread._current().subspace.basis
    assert basis.tobytes() == model._current().subspace.basis.tobytes()
    np.testing.assert_allclose(model.components_.T @ model.components_, basis.T @ basis, atol=1e-12)


def test_paper_mode_publishes_its_basis_as_it_is(data):
    model = GASG21(4, metric="canonical", polish=False, random_state=0).partial_fit(data.data)
    assert model.components_.tobytes() == model._current().subspace.basis.tobytes()


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_the_scale_of_the_data_changes_no_axis(data, scale):
    model = GASG21(4, random_state=0).fit(data.data)
    scaled = GASG21(4, random_state=0).fit(data.data * scale)
    np.testing.assert_allclose(scaled.components_, model.components_, atol=1e-9)
    np.testing.assert_array_equal(scaled.predict(data.data * scale), model.predict(data.data))
