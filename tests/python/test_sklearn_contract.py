"""Every estimator passes all estimator checks of scikit-learn."""

import inspect

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from gasg21 import GASG21, GRASTA, GROUSE, KGASG21, SubspaceImputer
from gasg21.baselines import FMS, PCA, REAPER, TME, OutlierPursuit, RobustMD, SphericalPCA

BASELINES = [PCA(), SphericalPCA(), REAPER(), FMS(), TME(), OutlierPursuit(), RobustMD(max_iter=300)]


# The checks fit blobs and noise, which lie on no subspace and share offsets. The fits rightly warn.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        GASG21(),
        GASG21(n_components=1, init="spherical_pca"),
        GROUSE(),
        GROUSE(step_size="greedy"),
        GRASTA(),
        KGASG21(),
        SubspaceImputer(),
        *BASELINES,
    ]
)
def test_estimator_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", [GASG21(), GROUSE(), GRASTA(), KGASG21(), SubspaceImputer(), *BASELINES])
def test_a_class_shows_the_parameters_of_its_constructor(estimator):
    """On Python 3.10, too, which looks at `__new__` first."""
    cls = type(estimator)
    assert list(inspect.signature(cls).parameters) == list(inspect.signature(cls.__init__).parameters)[1:]
    assert set(inspect.signature(cls).parameters) == set(estimator.get_params())
    assert cls.__signature__ == inspect.signature(cls)  # not by luck of a newer Python

    class Own(cls):
        def __init__(self, other=1):
            self.other = other

    assert list(inspect.signature(Own).parameters) == ["other"]
