"""Problems that many tests share."""

import numpy as np
import pytest

from gasg21 import GASG21
from gasg21.datasets import make_low_rank


def paper(n_components, **parameters):
    """GASG21 as in the paper: Algorithms 1 and 2 and nothing else."""
    return GASG21(n_components, metric="canonical", polish=False, **parameters)


@pytest.fixture
def rng():
    return np.random.default_rng(20240)


@pytest.fixture(scope="session")
def problem():
    """Half outliers, 30 % missing, well within reach: d = 3 in R^60."""
    return make_low_rank(600, 60, 3, outlier_fraction=0.5, observed_fraction=0.7, random_state=3)
