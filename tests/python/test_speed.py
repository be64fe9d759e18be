"""The plain NumPy program of benchmarks/speed makes the oracle's updates, and large fits take little memory."""

import sys

import numpy as np
import pytest

import reference
from benchmarks.speed import large_fits, plain
from gasg21.datasets import make_low_rank


@pytest.mark.parametrize("observed", [1.0, 0.7, 0.4])
@pytest.mark.parametrize("weights", ["lstsq_weights", "normal_weights"])
def test_plain_numpy_equals_the_oracle(observed, weights):
    problem = make_low_rank(300, 60, 4, outlier_fraction=0.5, observed_fraction=observed, noise=1e-3, random_state=0)
    start = np.linalg.qr(np.random.default_rng(1).normal(size=(60, 4)))[0]
    expected = reference.gasg21(start, problem.data, reference.AdaptiveStepReference())
    found = plain.updates(start, problem.data, getattr(plain, weights))
    assert reference.largest_angle(start, expected) > 0.1
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_samples_with_too_few_entries_are_skipped():
    start = np.linalg.qr(np.random.default_rng(1).normal(size=(6, 2)))[0]
    x = np.full((1, 6), np.nan)
    x[0, :2] = 1
    np.testing.assert_array_equal(plain.updates(start, x, plain.lstsq_weights), start)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_large_fit_takes_no_memory_per_sample(tmp_path):
    file = large_fits.write(tmp_path, 400_000)
    small, large = (large_fits.run(file, m) for m in (60_000, 400_000))
    assert large["bytes"] - small["bytes"] < 5 * 340_000  # the weights alone would take 20 bytes each
    assert large["angle"] < 2 * large["estimated"]
