"""Metrics: cases with a known value."""

import numpy as np
import pytest

from gasg21.exceptions import InvalidInputError
from gasg21.metrics import clustering_error, relative_residual, subspace_angle


@pytest.mark.parametrize("angle", [0.0, 1e-14, 1e-9, 1e-3, 1.0, np.pi / 2])
def test_angle_between_lines(angle):
    assert subspace_angle([[2.0, 0, 0]], [[np.cos(angle), np.sin(angle), 0]]) == pytest.approx(angle, rel=1e-14, abs=0)


def test_angle_depends_on_the_spaces_not_on_the_bases(rng):
    A = rng.standard_normal((3, 10))
    mixed = rng.standard_normal((3, 3)) @ A
    assert subspace_angle(A, mixed) < 1e-13
    B = rng.standard_normal((3, 10))
    assert subspace_angle(A, B) == pytest.approx(subspace_angle(B, mixed), rel=1e-10)


def test_angle_of_a_contained_space_is_zero(rng):
    A = rng.standard_normal((4, 10))
    assert subspace_angle(A, A[:2]) < 1e-14


@pytest.mark.parametrize(("A", "B"), [([[1, 0]], [[1, 0, 0]]), ([1, 0], [1, 0]), ([[np.nan, 1]], [[1, 0]])])
def test_angle_refuses_invalid_bases(A, B):
    with pytest.raises(InvalidInputError):
        subspace_angle(A, B)


@pytest.mark.parametrize(
    ("true", "predicted", "error"),
    [
        ([0, 0, 1, 1], [0, 0, 1, 1], 0),
        ([0, 0, 1, 1], [7, 7, 3, 3], 0),
        ([0, 0, 1, 1], ["b", "b", "b", "a"], 0.25),
        ([0, 1, 2, 3], [0, 0, 0, 0], 0.75),
        ([0, 0, 0, 0], [0, 1, 2, 3], 0.75),
    ],
)
def test_clustering_error(true, predicted, error):
    assert clustering_error(true, predicted) == pytest.approx(error)


def test_clustering_error_ignores_true_outliers():
    true = [0, 0, 1, 1, -1, -1]
    assert clustering_error(true, [1, 1, 0, 0, 0, 1], outlier_label=-1) == 0
    assert clustering_error(true, [1, -1, 0, 0, 0, 1], outlier_label=-1) == 0.25
    assert clustering_error(true, [-1] * 6, outlier_label=-1) == 1
    assert clustering_error([-1, -1], [0, -1], outlier_label=-1) == 0


def test_clustering_error_refuses_different_lengths():
    with pytest.raises(InvalidInputError, match=r"y_true has shape \(2,\) and y_pred has shape \(3,\)"):
        clustering_error([0, 1], [0, 1, 1])


def test_relative_residual():
    assert relative_residual([[3.0, 4.0]], [[3.0, 4.0]]) == 0
    assert relative_residual([[3.0, 4.0]], [[0.0, 0.0]]) == 1
    assert relative_residual([[3.0, 4.0]], [[3.0, 3.0]]) == pytest.approx(0.2)
    with pytest.raises(InvalidInputError, match="shapes"):
        relative_residual([[1.0]], [1.0])
    with pytest.raises(InvalidInputError, match="zero everywhere"):
        relative_residual([[0.0]], [[1.0]])
