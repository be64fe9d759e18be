"""The generators make what their docstrings say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gasg21.datasets import make_low_rank, make_union_of_subspaces
from gasg21.exceptions import InvalidInputError
from gasg21.metrics import subspace_angle


@settings(max_examples=60, deadline=None)
@given(
    m=st.integers(1, 60),
    n=st.integers(2, 40),
    outliers=st.floats(0, 1),
    observed=st.floats(0.1, 1),
    seed=st.integers(0, 999),
    data=st.data(),
)
def test_shapes_and_counts(m, n, outliers, observed, seed, data):
    d = data.draw(st.integers(1, n))
    p = make_low_rank(m, n, d, outlier_fraction=outliers, observed_fraction=observed, random_state=seed)
    assert p.data.shape == p.mask.shape == (m, n)
    assert p.basis.shape == (d, n)
    assert p.inlier.dtype == bool
    assert (~p.inlier).sum() == round(outliers * m)
    np.testing.assert_array_equal(np.isnan(p.data), ~p.mask)
    np.testing.assert_allclose(p.basis @ p.basis.T, np.eye(d), atol=1e-13)


def test_inliers_have_the_singular_values_and_outliers_the_scale():
    p = make_low_rank(4000, 100, 5, outlier_fraction=0.5, singular_values=(2000, 10000), random_state=0)
    s = np.linalg.svd(p.data[p.inlier], compute_uv=False)
    np.testing.assert_allclose(s[:5], np.linspace(10000, 2000, 5), rtol=1e-10)
    assert s[5] < 1e-9
    assert subspace_angle(np.linalg.svd(p.data[p.inlier])[2][:5], p.basis) < 1e-12
    lengths = [np.sqrt(np.mean(p.data[rows] ** 2)) for rows in (p.inlier, ~p.inlier)]
    assert lengths[0] == pytest.approx(lengths[1], rel=0.02)


def test_noise_is_relative_to_the_inliers():
    p = make_low_rank(3000, 80, 4, noise=0.1, random_state=0)
    residual = p.data - p.data @ p.basis.T @ p.basis
    assert np.linalg.norm(residual) / np.linalg.norm(p.data) == pytest.approx(0.1 * np.sqrt(76 / 80), rel=0.02)


def test_observed_fraction_and_positions_are_random():
    p = make_low_rank(500, 200, 3, outlier_fraction=0.5, observed_fraction=0.3, random_state=0)
    assert p.mask.mean() == pytest.approx(0.3, abs=0.01)
    assert 100 < p.inlier[:250].sum() < 150  # not sorted


def test_same_seed_same_data():
    a, b, c = (make_low_rank(20, 9, 2, observed_fraction=0.5, random_state=s) for s in (1, 1, 2))
    assert a.data.tobytes() == b.data.tobytes() != c.data.tobytes()


def test_union_of_subspaces():
    p = make_union_of_subspaces(300, 40, 3, 4, outlier_fraction=0.2, observed_fraction=0.8, random_state=0)
    assert len(p.bases) == 4
    assert np.bincount(p.labels + 1).tolist() == [60, 60, 60, 60, 60]
    np.testing.assert_array_equal(np.isnan(p.data), ~p.mask)
    full = make_union_of_subspaces(300, 40, 3, 4, outlier_fraction=0.2, random_state=0)
    for k, basis in enumerate(full.bases):
        members = full.data[full.labels == k]
        np.testing.assert_allclose(members @ basis.T @ basis, members, atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_samples": 0}, "n_samples=0"),
        ({"n_components": 9}, r"n_components=9 must be an integer in \[1, n_features = 8\]"),
        ({"outlier_fraction": 1.5}, r"outlier_fraction=1.5 must be a number in \[0, 1\]"),
        ({"observed_fraction": 0}, r"observed_fraction=0 must be a number in \(0, 1\]"),
        ({"noise": -1}, "noise=-1"),
        ({"singular_values": [1, 2, 3, 4]}, "singular_values=.* must be n_components=3 positive"),
        ({"singular_values": [1, 2, -3]}, "singular_values"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    good = {"n_samples": 10, "n_features": 8, "n_components": 3}
    with pytest.raises(InvalidInputError, match=message):
        make_low_rank(**{**good, **arguments})


def test_no_clusters_is_refused():
    with pytest.raises(InvalidInputError, match="n_clusters=0"):
        make_union_of_subspaces(10, 8, 3, 0)
