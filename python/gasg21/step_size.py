"""Step rules: how far each vector moves the subspace along the geodesic.

The strings ``"adaptive"``, ``"multilevel"``, ``"diminishing"``, ``"constant"`` and ``"greedy"`` mean the defaults of
these classes.
"""

from __future__ import annotations

from dataclasses import dataclass

from gasg21._support.trees import stored

__all__ = ["AdaptiveStep", "ConstantStep", "DiminishingStep", "GreedyStep", "MultiLevelStep"]


@stored()
@dataclass(frozen=True)
class AdaptiveStep:
    """The paper's multi-level constant step (Algorithm 2).

    Consecutive gradients that agree lower ``mu``, those that disagree raise it. When ``mu`` reaches ``mu_max`` the
    step is halved; when it falls to ``mu_min`` the step is doubled again.

    Parameters
    ----------
    eta0 : float, optional
        Largest step. None means 1 in the scaled metric, 0.5 in the canonical one.
    mu_max : float, optional
        Larger values shrink the step later: slower, and safer on ill-conditioned data. None means 6 in the
        scaled metric, 15 in the canonical one.
    mu_min : float
        Lower end of ``mu``.
    f_min, f_max : float
        Largest fall and rise of ``mu`` in one update. In a space of only a few dimensions unrelated gradients agree
        by chance; there ``f_min=-0.5`` converges where -1 does not.
    omega : float
        Width of the sigmoid.
    max_level : int, optional
        How often the step is halved at most. With a bound, a stream that has converged can still follow a change of
        the subspace. None means 32 for `partial_fit` in the scaled metric, else no bound.

    Examples
    --------
    >>> from gasg21 import GASG21
    >>> from gasg21.datasets import make_low_rank
    >>> from gasg21.step_size import AdaptiveStep
    >>> rule = AdaptiveStep(max_level=10)
    >>> model = GASG21(2, step_size=rule, random_state=0).partial_fit(make_low_rank(500, 20, 2, random_state=0).data)
    >>> model.level_ <= 10
    True
    """

    eta0: float | None = None
    mu_max: float | None = None
    mu_min: float = 0.0
    f_min: float = -1.0
    f_max: float = 0.5
    omega: float = 0.1
    max_level: int | None = None


@stored()
@dataclass(frozen=True)
class DiminishingStep:
    """The classic ``eta0 / (1 + j)`` for the j-th vector, which the paper calls GASG21-DM.

    Parameters
    ----------
    eta0 : float, optional
        The first step. Smaller values end closer to the subspace, unless they are too small to reach it. None means
        10 in `GRASTA`, whose gradients are longer, else 100.

    Examples
    --------
    >>> from gasg21 import GASG21
    >>> from gasg21.datasets import make_low_rank
    >>> from gasg21.step_size import DiminishingStep
    >>> rule = DiminishingStep(eta0=50)
    >>> model = GASG21(2, step_size=rule, random_state=0).partial_fit(make_low_rank(500, 20, 2, random_state=0).data)
    >>> bool(model.step_size_ < 0.2)
    True
    """

    eta0: float | None = None


@stored()
@dataclass(frozen=True)
class ConstantStep:
    """The same step for every vector.

    Parameters
    ----------
    eta0 : float, optional
        The step. None means 0.01 in `GRASTA`, whose gradients are longer, else 0.1.

    Examples
    --------
    >>> from gasg21 import GASG21
    >>> from gasg21.datasets import make_low_rank
    >>> from gasg21.step_size import ConstantStep
    >>> rule = ConstantStep(eta0=0.05)
    >>> model = GASG21(2, step_size=rule, random_state=0).partial_fit(make_low_rank(500, 20, 2, random_state=0).data)
    >>> model.step_size_
    0.05
    """

    eta0: float | None = None


@stored()
@dataclass(frozen=True)
class MultiLevelStep:
    """The multi-level step as the authors of GRASTA coded it: GRASTA-ML in the paper's figures.

    The idea is the same as in `AdaptiveStep`, the rule as the paper states it. The differences: the first gradient
    sets the unit of the step; two gradients are compared by their cosine, not by their product, so that long
    gradients do not dominate; angle and level are bounded; ``mu`` starts at ``mu_min`` and returns to
    ``(mu_max - 1) / 2``; the level does not fall from 1 to 0; a step uses the level from before it is adapted. Not
    for ``metric="scaled"``.

    Parameters
    ----------
    first_angle : float
        The first vector rotates the subspace by ``first_angle * (1 + mu_min)`` radians.
    mu_max : float
        Larger values shrink the step later: slower and safer. More than ``2 * mu_min + 1``.
    mu_min : float
        Lower end of ``mu``.
    f_min, f_max, omega : float
        As in `AdaptiveStep`.
    max_level : int, optional
        How often the step is halved at most. At the bound the subspace stops improving. None means the authors' 20
        for `partial_fit`, and 50, as in their demonstration, for `fit`.
    max_angle : float
        Largest angle, in radians, by which one vector may rotate the subspace.

    Examples
    --------
    >>> from gasg21 import GRASTA
    >>> from gasg21.datasets import make_low_rank
    >>> from gasg21.step_size import MultiLevelStep
    >>> rule = MultiLevelStep(mu_max=20)
    >>> model = GRASTA(2, step_size=rule, random_state=0).partial_fit(make_low_rank(500, 20, 2, random_state=0).data)
    >>> model.level_ >= 0
    True
    """

    first_angle: float = 0.1
    mu_max: float = 15.0
    mu_min: float = 1.0
    f_min: float = -1.0
    f_max: float = 0.5
    omega: float = 0.1
    max_level: int | None = None
    max_angle: float = 1.0


@stored()
@dataclass(frozen=True)
class GreedyStep:
    """GROUSE's greedy step: each vector rotates the subspace until the subspace contains it.

    The angle is ``arctan(|r| / |w|)``, the vector's own angle to the subspace. There is nothing to tune, and nothing
    is faster on clean data (L. Balzano and S. J. Wright, "Local convergence of an algorithm for subspace
    identification from partial data", 2015). One outlier rotates the subspace away. Not for `GRASTA` nor for
    ``metric="scaled"``.

    Examples
    --------
    >>> from gasg21 import GROUSE
    >>> from gasg21.datasets import make_low_rank
    >>> from gasg21.step_size import GreedyStep
    >>> rule = GreedyStep()
    >>> model = GROUSE(2, step_size=rule, random_state=0).partial_fit(make_low_rank(500, 20, 2, random_state=0).data)
    >>> bool(model.residuals_[-1] < 1e-3)
    True
    """


StepSize = AdaptiveStep | MultiLevelStep | DiminishingStep | ConstantStep | GreedyStep
BY_NAME: dict[str, StepSize] = {
    "adaptive": AdaptiveStep(),
    "multilevel": MultiLevelStep(),
    "greedy": GreedyStep(),
    "diminishing": DiminishingStep(),
    "constant": ConstantStep(),
}
