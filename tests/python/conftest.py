"""Problems that many tests share."""

import numpy as np
import pytest

from gasg21.datasets import make_low_rank


@pytest.fixture
def rng():
    return np.random.default_rng(20240)


@pytest.fixture(scope="session")
def problem():
    """Half outliers, 30 % missing, well within reach: d = 3 in R^60."""
    return make_low_rank(600, 60, 3, outlier_fraction=0.5, observed_fraction=0.7, random_state=3)
