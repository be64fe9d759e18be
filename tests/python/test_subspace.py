"""What a fitted subspace can do: weights, completion, scores, labels."""

import numpy as np
import pytest
from scipy.stats import beta

from gasg21 import GASG21
from gasg21._data.parameters import null_offset
from gasg21.datasets import make_low_rank
from gasg21.exceptions import InvalidInputError, NotFittedError


@pytest.fixture(scope="module")
def clean():
    """Noise-free samples with 40 % missing, the truth beside them, and a model that has found it."""
    problem = make_low_rank(800, 50, 4, observed_fraction=0.6, random_state=1)
    full = make_low_rank(800, 50, 4, random_state=1)
    np.testing.assert_array_equal(full.basis, problem.basis)
    model = GASG21(4, tol=1e-12, max_passes=60, random_state=0).fit(problem.data)
    return model, problem, full.data


def test_weights_are_least_squares(clean):
    model, problem, _ = clean
    W = model.transform(problem.data)
    for x, w in zip(problem.data[:50], W[:50], strict=True):
        o = ~np.isnan(x)
        np.testing.assert_allclose(w, np.linalg.lstsq(model.components_.T[o], x[o], rcond=None)[0], atol=1e-10)


def test_missing_entries_are_restored_and_observed_ones_kept(clean):
    model, problem, truth = clean
    completed = model.complete(problem.data)
    np.testing.assert_array_equal(completed[problem.mask], problem.data[problem.mask])
    np.testing.assert_allclose(completed, truth, atol=1e-9)
    np.testing.assert_allclose(model.inverse_transform(model.transform(problem.data)), truth, atol=1e-9)


def test_completing_in_float64_keeps_what_float32_cannot_hold():
    problem = make_low_rank(300, 20, 2, observed_fraction=0.8, random_state=1)
    model = GASG21(2, random_state=0).fit(problem.data.astype(np.float32))
    completed = model.complete(problem.data)
    assert completed.dtype == np.float64
    np.testing.assert_array_equal(completed[problem.mask], problem.data[problem.mask])


def test_completing_integers_with_a_mask(rng):
    X = rng.integers(0, 255, (100, 10)).astype(np.uint8)
    mask = rng.random(X.shape) < 0.9
    completed = GASG21(2, random_state=0).partial_fit(X, mask=mask).complete(X, mask=mask)
    np.testing.assert_array_equal(completed[mask], X[mask])
    assert np.isfinite(completed).all()


def test_scores_run_from_perfect_to_orthogonal(clean):
    model, _, truth = clean
    np.testing.assert_allclose(model.score_samples(truth), 0, atol=1e-10)
    normal = np.linalg.svd(model.components_)[2][4:6]
    np.testing.assert_allclose(model.score_samples(normal), -1, atol=1e-12)


def test_the_ladder_of_scores(problem):
    for contamination in (0.2, "auto"):
        model = GASG21(3, contamination=contamination, random_state=0).fit(problem.data)
        scores, decision = model.score_samples(problem.data), model.decision_function(problem.data)
        np.testing.assert_array_equal(model.predict(problem.data), np.where(decision >= 0, 1, -1))
        if contamination == "auto":  # the border depends on the length of the sample
            assert np.isnan(model.offset_)
        else:
            np.testing.assert_array_equal(decision, scores - model.offset_)


@pytest.mark.parametrize("outliers", [0.0, 0.3, 0.7])
@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_labels_are_right(outliers, noise):
    problem = make_low_rank(1000, 300, 5, outlier_fraction=outliers, observed_fraction=0.7, noise=noise, random_state=2)
    labels = GASG21(5, random_state=0).fit_predict(problem.data)
    assert np.mean((labels == 1) == problem.inlier) > 0.995


def test_the_threshold_is_the_null_law():
    """A random direction passes for an inlier once in a thousand times."""
    rng = np.random.default_rng(0)
    n, d = 40, 5
    model = GASG21(d, random_state=0).partial_fit(rng.standard_normal((1, n)))
    passed = np.mean(model.predict(rng.standard_normal((100_000, n))) == 1)
    assert passed == pytest.approx(1e-3, abs=4e-4)  # four standard errors
    assert model.offset_ == pytest.approx(-np.sqrt(beta(35 / 2, 5 / 2).ppf(1e-3)))


def test_the_threshold_in_few_dimensions_leaves_more_than_a_sliver():
    assert null_offset(2, 1) == pytest.approx(-np.sqrt(beta(0.5, 0.5).ppf(0.05)))
    assert -0.1 <= null_offset(3, 2) < -0.01
    assert null_offset(2, 2) == 0.0


@pytest.mark.parametrize("contamination", [0.1, 0.37])
def test_contamination_is_the_share_of_outliers(problem, contamination):
    model = GASG21(3, contamination=contamination, random_state=0).fit(problem.data)
    assert np.mean(model.predict(problem.data) == -1) == pytest.approx(contamination, abs=2 / 600)


def test_contamination_of_a_stream_is_taken_from_its_recent_residuals(problem):
    model = GASG21(3, contamination=0.4, random_state=0)
    for _ in range(8):
        for start in range(0, 600, 7):
            model.partial_fit(problem.data[start : start + 7])
    assert np.mean(model.predict(problem.data) == -1) == pytest.approx(0.4, abs=0.05)


def test_mask_goes_through_every_method(problem):
    filled = np.where(problem.mask, problem.data, 1e6)
    a = GASG21(3, random_state=0)
    b = GASG21(3, random_state=0)
    pairs = [
        (a.fit_transform(problem.data), b.fit_transform(filled, mask=problem.mask)),
        (a.fit_predict(problem.data), b.fit_predict(filled, mask=problem.mask)),
        (a.complete(problem.data), b.complete(filled, mask=problem.mask)),
        (a.score_samples(problem.data), b.score_samples(filled, mask=problem.mask)),
        (a.decision_function(problem.data), b.decision_function(filled, mask=problem.mask)),
    ]
    for ours, theirs in pairs:
        assert ours.tobytes() == theirs.tobytes()


def test_inverse_transform_checks_the_width(problem):
    model = GASG21(3, random_state=0).fit(problem.data)
    with pytest.raises(InvalidInputError, match="W has 2 columns; it must have n_components = 3"):
        model.inverse_transform(np.ones((4, 2)))


@pytest.mark.parametrize("method", ["transform", "complete", "score_samples", "predict", "inverse_transform"])
def test_an_unfitted_model_says_so(method):
    with pytest.raises(NotFittedError):
        getattr(GASG21(2), method)(np.ones((3, 5)))
