"""The plots show what the model says about the data: their artists and labels, not their pixels."""

import doctest
import subprocess
import sys

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chi2
from sklearn.exceptions import NotFittedError

from gasg21 import GASG21, GRASTA, KGASG21, baselines, plotting
from gasg21.datasets import make_low_rank, make_union_of_subspaces
from gasg21.exceptions import InvalidInputError
from gasg21.plotting import _fits, _pictures, _unions


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def data():
    return make_low_rank(300, 20, 3, outlier_fraction=0.2, observed_fraction=0.8, noise=0.03, random_state=1).data


@pytest.fixture(scope="module")
def model(data):
    return GASG21(3, random_state=0).fit(data)


@pytest.fixture(scope="module")
def union():
    X = make_union_of_subspaces(240, 12, 2, 3, outlier_fraction=0.2, noise=0.02, random_state=0).data
    return KGASG21(3, 2, reject_outliers=True, random_state=0).fit(X), X


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def line(ax, label):
    (found,) = (line for line in ax.lines if str(line.get_label()).startswith(label))
    return found


@pytest.mark.parametrize("module", [_fits, _pictures, _unions])
def test_the_examples_of_the_docstrings_run(module):
    result = doctest.testmod(module)
    assert result.attempted > 4
    assert result.failed == 0


def test_every_plot_draws_into_given_axes_and_returns_them(model, data, union):
    plots = {
        "scree": lambda ax: plotting.scree(model, ax=ax),
        "residuals": lambda ax: plotting.residuals(model, data, ax=ax),
        "outlier_map": lambda ax: plotting.outlier_map(model, data, ax=ax),
        "convergence": lambda ax: plotting.convergence(model, ax=ax),
        "subspaces": lambda ax: plotting.subspaces(*union, ax=ax),
        "affinity": lambda ax: plotting.affinity(union[0], ax=ax),
        "images": lambda ax: plotting.images(model, data, (4, 5), ax=ax),
        "sphere": lambda ax: plotting.sphere(model, data, ax=ax),
    }
    assert sorted(plots) == sorted(plotting.__all__)
    for name, draw in plots.items():
        ax = plt.figure().add_subplot(projection="3d" if name == "sphere" else None)
        assert draw(ax) is ax
        assert ax.has_data()
        ax.figure.canvas.draw()


def test_scree_shows_variances_and_the_noise_floor(model, data):
    ax = plotting.scree(model, data, more=4)
    assert ax.get_yscale() == "log"
    assert_allclose(line(ax, "components_").get_ydata(), model.explained_variance_)
    assert line(ax, "noise floor").get_ydata()[0] == model.noise_variance_
    outside = line(ax, "outside")
    assert_array_equal(outside.get_xdata(), [4, 5, 6, 7])
    assert_allclose(outside.get_ydata(), model.noise_variance_, rtol=1)  # the largest of 17: not twice the mean


def test_scree_shows_a_dimension_that_was_left_out(data):
    small = GASG21(2, contamination=0.2, random_state=0).fit(data)
    outside = line(plotting.scree(small, data), "outside").get_ydata()
    assert outside[0] > 5 * outside[1]


def test_scree_takes_sparse_data(data):
    observed = ~np.isnan(data)
    sparse = sp.csr_matrix((data[observed], np.nonzero(observed)), shape=data.shape)
    model = GASG21(3, random_state=0).fit(sparse)
    dense = line(plotting.scree(model, data), "outside").get_ydata()
    assert_allclose(line(plotting.scree(model, sparse), "outside").get_ydata(), dense)


def test_residuals_count_every_sample_and_separate_the_kinds(model, data):
    ax = plotting.residuals(model, data)
    flagged = int((model.predict(data) == -1).sum())
    assert labels(ax) == [f"inliers ({300 - flagged})", f"outliers ({flagged})", "decision"]
    assert sum(patch.get_height() for patch in ax.patches) == 300
    distance = model.distances(data)[:, 1]
    assert_array_equal(distance > line(ax, "decision").get_xdata()[0], model.predict(data) == -1)


def test_residuals_draw_the_offset_where_it_decides(data):
    model = GASG21(3, contamination=0.1, random_state=0).fit(data)
    ax = plotting.residuals(model, data)
    assert ax.get_xlabel() == "residual of the unit-norm sample"
    assert line(ax, "decision").get_xdata()[0] == -model.offset_


def test_residuals_say_how_many_are_decided_otherwise():
    distance, inlier = np.array([1.0, 2, 3, 4, 5, 6]), np.array([True, True, False, True, False, False])
    cut = _fits._stump(distance, inlier)
    assert cut == pytest.approx(np.sqrt(6))  # one on the wrong side; behind 4 it would be as good
    assert _fits._stump(distance, np.ones(6, bool)) is None


def test_residuals_leave_out_samples_that_say_nothing(model, data):
    X = np.vstack([data, np.zeros((2, 20))])
    assert sum(patch.get_height() for patch in plotting.residuals(model, X).patches) == 300
    with pytest.raises(InvalidInputError, match="no sample of X says anything"):
        plotting.residuals(model, np.zeros((2, 20)))


def test_residuals_of_a_baseline(data):
    model = baselines.SphericalPCA(3).fit(np.nan_to_num(data))
    ax = plotting.residuals(model, np.nan_to_num(data))
    assert line(ax, "decision").get_xdata()[0] == -model.offset_


def test_outlier_map_has_both_cuts_and_four_kinds(model, data):
    ax = plotting.outlier_map(model, data, quantile=0.9)
    within, to = model.distances(data).T
    edge = np.sqrt(chi2.ppf(0.9, 3) / 3)
    inlier = model.predict(data) == 1
    assert labels(ax) == [
        f"regular ({np.sum(inlier & (within <= edge))})",
        f"good leverage ({np.sum(inlier & (within > edge))})",
        f"off the subspace ({np.sum(~inlier & (within <= edge))})",
        f"bad leverage ({np.sum(~inlier & (within > edge))})",
        "decision",
        "90 % of inliers",
    ]
    assert line(ax, "90 %").get_xdata()[0] == pytest.approx(edge)
    assert_array_equal(to > line(ax, "decision").get_ydata()[0], ~inlier)
    with pytest.raises(InvalidInputError, match="quantile=1"):
        plotting.outlier_map(model, data, quantile=1)


def test_convergence_shows_every_pass_of_both_stages(model):
    ax = plotting.convergence(model)
    history = model.history_
    for stage in ("stream", "polish"):
        moved = [record["moved"] for record in history if record["stage"] == stage]
        assert_allclose(line(ax, stage).get_ydata(), moved)
    angles = [record["estimated_angle"] for record in history if record["stage"] == "polish"]
    assert_allclose(line(ax, "estimated error").get_ydata(), angles)
    assert line(ax, "tol").get_ydata()[0] == model.tol
    assert ax.get_title() == f"{len(history)} passes: {model.status_}"


def test_convergence_of_a_union_shows_the_largest_move(union):
    ax = plotting.convergence(union[0])
    moved = [record["moved"].max() for record in union[0].history_ if record["stage"] == "polish"]
    assert_allclose(line(ax, "polish").get_ydata(), np.maximum(moved, 1e-17))


def test_subspaces_have_two_boxes_per_cluster(union):
    model, X = union
    ax = plotting.subspaces(model, X)
    counts = [int((model.predict(X) == k).sum()) for k in (0, 1, 2, -1)]
    ticks = [tick.get_text() for tick in ax.get_xticklabels()]
    assert ticks == [f"{name}\n({count})" for name, count in zip((0, 1, 2, "outliers"), counts, strict=True)]
    assert len(ax.patches) == 8
    own = np.sort(model.transform(X), axis=1)[model.predict(X) == 0][:, 0]
    medians = [line.get_ydata()[0] for line in ax.lines if line.get_color() == "black" and len(line.get_ydata()) == 2]
    assert np.isclose(medians, np.median(own)).any()


def test_affinity_is_that_of_the_subspaces(union):
    matrix = plotting.affinity(union[0]).images[0].get_array()
    A, B = union[0].subspaces_[:2]
    cosines = np.linalg.svd(A @ B.T, compute_uv=False)
    assert matrix[0, 1] == pytest.approx(np.sqrt(np.mean(cosines**2)))
    assert_allclose(np.diag(matrix), 1)


def test_images_have_three_rows_and_mark_missing_pixels(model, data):
    ax = plotting.images(model, data, (4, 5), rows=[7, -1])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["original", "background", "foreground"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["7", "299"]
    picture = np.ma.filled(ax.images[0].get_array().astype(float), np.nan)
    assert picture.shape == (3 * 6, 2 * 7)
    assert_array_equal(np.isnan(picture[1:5, 1:6]), np.isnan(data[7].reshape(4, 5)))
    assert not np.isnan(picture[6:]).any()


def test_images_show_the_part_in_the_nearest_subspace(union):
    model, X = union
    background = _pictures._in_subspace(model, X)
    residual = np.linalg.norm(X - background, axis=1) / np.linalg.norm(X, axis=1)
    assert_allclose(residual, -model.score_samples(X), atol=1e-12)


def test_images_of_the_wrong_shape_are_refused(model, data):
    with pytest.raises(InvalidInputError, match=r"shape=\(4, 4\)"):
        plotting.images(model, data, (4, 4))
    with pytest.raises(InvalidInputError, match="rows="):
        plotting.images(model, data, (4, 5), rows=[300])


def test_sphere_of_three_features_shows_the_points_and_the_plane():
    X = make_low_rank(100, 3, 2, outlier_fraction=0.25, noise=0.01, random_state=0).data
    model = GASG21(2, random_state=0).fit(X)
    ax = plotting.sphere(model, X)
    n_inliers = int((model.predict(X) == 1).sum())
    assert labels(ax) == [f"inliers ({n_inliers})", f"outliers ({100 - n_inliers})", "subspace"]
    drawn = np.hstack([c._offsets3d for c in ax.collections if hasattr(c, "_offsets3d")])
    assert_allclose(np.linalg.norm(drawn, axis=0), 1)
    heights = np.sort(np.abs(np.concatenate([c._offsets3d[2] for c in ax.collections if hasattr(c, "_offsets3d")])))
    assert_allclose(heights, np.sort(-model.score_samples(X)), atol=1e-9)  # above the circle: the residual


def test_sphere_of_a_union():
    X = make_union_of_subspaces(100, 3, 1, 2, noise=0.01, random_state=0).data
    ax = plotting.sphere(KGASG21(2, 1, random_state=0).fit(X), X)
    assert [label.split(" (")[0] for label in labels(ax)] == ["cluster 0", "cluster 1"]
    assert len(ax.lines) == 2


def test_models_that_lack_what_a_plot_needs_are_refused(model, data, union):
    with pytest.raises(NotFittedError):
        plotting.scree(GASG21())
    with pytest.raises(InvalidInputError, match="scree needs a model with explained_variance_; KGASG21 has none"):
        plotting.scree(union[0])
    with pytest.raises(InvalidInputError, match="affinity needs a model with subspaces_; GASG21 has none"):
        plotting.affinity(model)
    with pytest.raises(InvalidInputError, match="3 features; the model has 12"):
        plotting.sphere(*union)
    with pytest.raises(InvalidInputError, match="needs 3-d axes"):
        plotting.sphere(model, data, ax=plt.figure().add_subplot())


def test_grasta_and_float32(data):
    model = GRASTA(3, tol=0, random_state=0).fit(data.astype(np.float32))
    plotting.scree(model, data)
    plotting.outlier_map(model, data)
    plotting.convergence(model)


def test_plots_without_matplotlib_name_the_extra(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"gasg21\[plot\]"):
        plotting.scree(model)


def test_importing_the_module_needs_no_matplotlib():
    code = "import sys, gasg21.plotting; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
