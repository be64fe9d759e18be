"""Problems that many tests share."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from gasg21 import GASG21
from gasg21.datasets import make_low_rank
from gasg21.metrics import subspace_angle


def paper(n_components, **parameters):
    """GASG21 as in the paper: Algorithms 1 and 2 and nothing else."""
    return GASG21(n_components, metric="canonical", polish=False, **parameters)


def worst_angle(found, truth):
    """The largest angle between subspaces and the true ones, each of which belongs to one."""
    angles = np.array([[subspace_angle(f, t) for t in truth] for f in found])
    return angles[linear_sum_assignment(angles)].max()


def unaligned(array):
    """Return a copy that does not begin at a whole element, as arrays from other processes may."""
    memory = np.zeros(array.nbytes + 1, np.uint8)
    view = memory[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    assert not view.flags.aligned
    return view


@pytest.fixture
def rng():
    return np.random.default_rng(20240)


@pytest.fixture(scope="session")
def problem():
    """Half outliers, 30 % missing, well within reach: d = 3 in R^60."""
    return make_low_rank(600, 60, 3, outlier_fraction=0.5, observed_fraction=0.7, random_state=3)
