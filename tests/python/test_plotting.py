"""The plots show the data that they are given."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from gasg21 import plotting


@pytest.fixture
def figure():
    figure = plt.figure()
    yield figure
    plt.close(figure)


def test_convergence_draws_one_line_per_method(figure):
    ax = figure.add_subplot()
    plotting.plot_convergence(ax, np.arange(3), {"a": np.ones(3), "b": np.array([1, 0.1, 0.01])})
    assert [line.get_label() for line in ax.lines] == ["a", "b"]
    assert ax.get_yscale() == "log"
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), [1, 0.1, 0.01])


def test_residuals_count_every_sample_once(figure):
    ax = figure.add_subplot()
    residuals = np.array([0.0, 1e-13, 1e-12, 0.9, 1.0])
    plotting.plot_residuals(ax, residuals, np.array([True, True, True, False, False]), 0.5)
    assert sum(patch.get_height() for patch in ax.patches) == 5
    assert ax.lines[0].get_xdata()[0] == 0.5


def test_sphere_draws_both_circles_and_all_points(figure, rng):
    ax = figure.add_subplot(projection="3d")
    points = rng.standard_normal((20, 3))
    plotting.plot_sphere(ax, points, np.arange(20) < 12, np.eye(3)[:2], np.eye(3)[1:])
    assert len(ax.lines) == 2
    counts = sorted(len(c._offsets3d[0]) for c in ax.collections if hasattr(c, "_offsets3d"))
    assert counts == [8, 12]
