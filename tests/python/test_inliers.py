"""Decisions and robust distances of the compiled core: equal to the oracle, and sound on odd input."""

import numpy as np
import pytest

import inliers_reference as oracle
from gasg21.datasets import make_low_rank
from gasg21.exceptions import InvalidInputError

core = pytest.importorskip("gasg21._core_test", reason="needs -DGASG21_TEST_MODULE=ON")

N, D = 40, 3


def made(outliers, *, noise=0.05, observed=1.0, samples=500, seed=0):
    """Return fits to the true subspace, and which samples are inliers."""
    problem = make_low_rank(
        *(samples, N, D),
        outlier_fraction=outliers,
        noise=noise,
        observed_fraction=observed,
        singular_values=(1, 3),
        random_state=seed,
    )
    return oracle.fit_samples(problem.basis, problem.data), problem.inlier


def video_like(seed=0):
    """Return fits of which a fifth are long and at the same small angle: far away, but not random."""
    fits, _ = made(0, seed=seed)
    bad = np.arange(500) % 5 == 0
    fits.r2[bad], fits.norm[bad] = 0.3, 3 * fits.norm.max()
    fits.W[bad] = [np.sqrt(0.7), 0, 0]
    return fits, ~bad


@pytest.mark.parametrize("observed", [1.0, 0.6])
@pytest.mark.parametrize("noise", [0.02, 0.3])
@pytest.mark.parametrize("outliers", [0.0, 0.3, 0.7])
def test_the_decision_equals_the_oracle(outliers, noise, observed):
    fits, inlier = made(outliers, noise=noise, observed=observed, seed=round(10 * outliers))
    found, wanted = core.decide(*fits, N), oracle.decide(fits, N)
    assert (found.believed, found.excuses) == (wanted.believed, wanted.excuses)
    assert found.believed == (outliers > 0)
    np.testing.assert_allclose([found.s, found.share, found.centre, found.cut], wanted[4:], rtol=1e-8)
    np.testing.assert_allclose(found.C, wanted.C, rtol=1e-8, atol=1e-10)
    margins = found.margins(*fits, fresh=False)
    np.testing.assert_allclose(margins, wanted.margins, rtol=1e-6, atol=1e-7)
    assert np.mean((margins >= 0) == inlier) >= 0.98
    assert found.flagged == pytest.approx(np.mean(margins < 0))
    assert found.n_inliers == np.sum(margins >= 0)


def test_outliers_that_are_not_random_equal_the_oracle():
    fits, inlier = video_like()
    found, wanted = core.decide(*fits, N), oracle.decide(fits, N)
    assert not found.believed
    margins = found.margins(*fits, fresh=False)
    np.testing.assert_allclose(margins, wanted.margins, rtol=1e-6, atol=1e-7)
    assert (margins[~inlier] < 0).all()
    assert np.mean(margins[inlier] < 0) <= 0.02


def test_exact_fits_equal_the_oracle():
    fits, inlier = made(0.4, noise=0)
    exact = core.exact_residual(np.finfo(float).eps, True, 1e-12)
    assert exact == pytest.approx(1e-5)
    found, wanted = core.decide(*fits, N, exact), oracle.decide(fits, N, exact)
    margins = found.margins(*fits, fresh=False)
    np.testing.assert_array_equal(margins >= 0, wanted.margins >= 0)
    np.testing.assert_array_equal(margins >= 0, inlier)


@pytest.mark.parametrize("observed", [1.0, 0.6])
@pytest.mark.parametrize("mapped", [False, True])
def test_the_distances_equal_the_oracle(observed, mapped, rng):
    fits, inlier = made(0.3, observed=observed, seed=5)
    R = np.linalg.qr(rng.standard_normal((D, 2)))[0] if mapped else None
    decision = core.decide(*fits, N)
    found = core.learn_distances(*fits, decision, R)
    wanted = oracle.distances(fits, decision.margins(*fits, fresh=False) >= 0, R)
    np.testing.assert_allclose(found.pairs(*fits), wanted.pairs, rtol=1e-6)
    np.testing.assert_allclose(found.centre, wanted.centre, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found.covariance, wanted.covariance, rtol=1e-8, atol=1e-10)
    assert found.noise_variance == pytest.approx(wanted.noise_variance, rel=1e-10)
    assert found.n_inliers == decision.n_inliers
    pairs = found.pairs(*fits)
    assert np.median(pairs[inlier], axis=0) == pytest.approx([0.9, 1.0], abs=0.1)
    assert np.median(pairs[~inlier, 1]) > 3


def test_new_samples_are_allowed_larger_residuals():
    fits, _ = made(0.0, samples=60)
    found = core.decide(*fits, N)
    more = found.margins(*fits, fresh=True) - found.margins(*fits, fresh=False)
    np.testing.assert_allclose(more, np.log((found.n_inliers + D) / (found.n_inliers - D)), rtol=1e-9)


def test_samples_that_tell_nothing():
    fits, _ = made(0.3)
    fits.count[3], fits.count[4], fits.norm[5] = 0, D, 0
    found = core.decide(*fits, N)
    margins = found.margins(*fits, fresh=False)
    pairs = core.learn_distances(*fits, found).pairs(*fits)
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(margins)), [3, 4, 5])
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(pairs).any(axis=1)), [3, 4, 5])


def test_a_decision_without_fits_passes_all():
    fits, _ = made(0.0, samples=4)
    decision = core.decide(*fits, N)
    assert decision.explains_too_little
    assert (decision.margins(*fits, fresh=False) == np.inf).all()


def test_wrong_arguments_are_refused():
    fits, _ = made(0.0)
    decision = core.decide(*fits, N)
    with pytest.raises(InvalidInputError, match="norm must be contiguous with 500 entries"):
        core.decide(*fits[:3], fits.norm[:-1].copy(), N)
    with pytest.raises(InvalidInputError, match="must not be negative"):
        core.decide(*fits, N, -1.0)
    with pytest.raises(InvalidInputError, match="about 3 weights"):
        decision.margins(np.ascontiguousarray(fits.W[:, :2]), *fits[1:], fresh=False)
    with pytest.raises(InvalidInputError, match="the map is for 4 weights"):
        core.learn_distances(*fits, decision, np.eye(4, 2))
