"""The generators return what their docstrings say, and the readers read their formats."""

import os

import numpy as np
import pytest
import scipy.io
from hypothesis import given, settings
from hypothesis import strategies as st

from gasg21.datasets import load_faces, load_hopkins155, make_low_rank, make_union_of_subspaces
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
        ({"singular_values": [1, 2, 3, 4]}, "singular_values=.* must be n_components=3 positive numbers or a pair"),
        ({"singular_values": [1, 2, -3]}, "singular_values"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    good = {"n_samples": 10, "n_features": 8, "n_components": 3}
    with pytest.raises(InvalidInputError, match=message):
        make_low_rank(**{**good, **arguments})


def test_zero_clusters_are_refused():
    with pytest.raises(InvalidInputError, match="n_clusters=0"):
        make_union_of_subspaces(10, 8, 3, 0)


def write_sequence(root, name, labels, frames=3):
    """Write a sequence in the format of Hopkins 155; point p is at (100 p + f, -100 p - f) in frame f."""
    points, frame = np.arange(len(labels))[:, None], np.arange(frames)
    x = np.stack([100.0 * points + frame, -100.0 * points - frame, np.ones((len(labels), frames))])
    (root / name).mkdir()
    scipy.io.savemat(root / name / f"{name}_truth.mat", {"x": x, "s": np.array(labels, np.uint8)[:, None]})


def test_hopkins_sequences_come_in_order_with_their_labels(tmp_path):
    write_sequence(tmp_path, "cars10", [1, 2, 3, 2])
    write_sequence(tmp_path, "1R2RC_g13", [3, 1])
    (tmp_path / "README").write_text("not a sequence")
    first, second = load_hopkins155(tmp_path)
    assert (first.name, second.name) == ("1R2RC_g13", "cars10")
    np.testing.assert_array_equal(first.data[1], [100, -100, 101, -101, 102, -102])
    assert first.data.flags.c_contiguous
    assert first.labels.tolist() == [1, 0]
    assert second.labels.tolist() == [0, 1, 2, 1]
    assert (first.n_motions, second.n_motions) == (2, 3)


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("2RT3RCT_B_g12", "checkerboard"),
        ("2T3RTCR", "checkerboard"),
        ("three-cars_g13", "checkerboard"),
        ("cars2_07_g12", "traffic"),
        ("truck2", "traffic"),
        ("kanatani1", "traffic"),
        ("kanatani3", "articulated"),
        ("two_cranes_g23", "articulated"),
        ("head", "articulated"),
    ],
)
def test_hopkins_category_follows_from_the_name(tmp_path, name, category):
    write_sequence(tmp_path, name, [1, 2])
    assert next(load_hopkins155(tmp_path)).category == category


def test_a_directory_without_sequences_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="must have the layout of Hopkins 155"):
        load_hopkins155(tmp_path)


def test_faces_are_rows_of_floats(tmp_path):
    faces = np.arange(2 * 3 * 4 * 5, dtype=np.uint8).reshape(2, 3, 4, 5)
    np.savez(tmp_path / "faces.npz", faces=faces, background=faces[0])
    data = load_faces(tmp_path / "faces.npz")
    assert data.faces.dtype == data.background.dtype == np.float64
    np.testing.assert_array_equal(data.faces[1, 2], faces[1, 2].ravel())
    np.testing.assert_array_equal(data.background, data.faces[0])


def test_a_file_without_faces_is_refused(tmp_path):
    np.savez(tmp_path / "other.npz", faces=np.zeros((1, 1, 2, 2)))
    with pytest.raises(InvalidInputError, match=r"must contain the arrays .*missing: \['background'\]"):
        load_faces(tmp_path / "other.npz")


@pytest.mark.skipif("GASG21_DATA" not in os.environ, reason="set GASG21_DATA to a directory that contains hopkins155")
def test_the_real_sequences_have_two_or_three_motions():
    for sequence in load_hopkins155(os.path.join(os.environ["GASG21_DATA"], "hopkins155")):
        assert sequence.n_motions in (2, 3)
        assert sequence.data.shape == (len(sequence.labels), sequence.data.shape[1] // 2 * 2)
        assert np.isfinite(sequence.data).all()
