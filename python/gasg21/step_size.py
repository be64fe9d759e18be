"""Step rules: how far to go along the geodesic for each vector.

The strings ``"adaptive"``, ``"multilevel"``, ``"diminishing"``, ``"constant"`` and ``"greedy"`` mean the
defaults of these classes.
"""

from __future__ import annotations

import dataclasses
from dataclasses import asdict, dataclass

from gasg21 import _core
from gasg21.exceptions import InvalidInputError

__all__ = ["AdaptiveStep", "ConstantStep", "DiminishingStep", "GreedyStep", "MultiLevelStep"]

# With this bound a converged stream follows a sudden change within 2500 vectors, and still reaches 1e-6 at
# condition 1000.
_STREAM_LEVEL = 32
_NO_BOUND = 2**63 - 1


@dataclass(frozen=True)
class Mode:
    """What a rule is used in: the scaled metric, `partial_fit`, GRASTA's L1 loss."""

    scaling: bool
    stream: bool
    l1: bool


@dataclass(frozen=True)
class AdaptiveStep:
    """The paper's multi-level constant step (Algorithm 2).

    Consecutive gradients that agree lower ``mu``, those that disagree raise it; when ``mu`` reaches
    ``mu_max`` the step is halved, when it falls to ``mu_min`` the step is doubled again.

    Parameters
    ----------
    eta0 : float, optional
        Largest step. None means 1 with scaling, 0.5 without.
    mu_max : float, optional
        Larger values shrink the step later: slower, and safer on ill-conditioned data. None means 6 with
        scaling, 15 without.
    mu_min : float
        Lower end of ``mu``.
    f_min, f_max : float
        How much ``mu`` falls and rises at most in one update. In a space of only a few dimensions
        unrelated gradients agree by chance; there ``f_min=-0.5`` converges where -1 does not.
    omega : float
        Width of the sigmoid.
    max_level : int, optional
        How often the step is halved at most. A bound keeps a stream that has converged able to follow a
        change of the subspace. None means 32 for `partial_fit` with scaling, else no bound.
    """

    eta0: float | None = None
    mu_max: float | None = None
    mu_min: float = 0.0
    f_min: float = -1.0
    f_max: float = 0.5
    omega: float = 0.1
    max_level: int | None = None

    def _core(self, mode: Mode) -> _core.AdaptiveStep:
        eta0, mu_max = (1.0, 6.0) if mode.scaling else (0.5, 15.0)
        max_level = _STREAM_LEVEL if mode.scaling and mode.stream else _NO_BOUND
        return _core.AdaptiveStep(
            eta0=eta0 if self.eta0 is None else self.eta0,
            mu_max=mu_max if self.mu_max is None else self.mu_max,
            mu_min=self.mu_min,
            f_min=self.f_min,
            f_max=self.f_max,
            omega=self.omega,
            max_level=max_level if self.max_level is None else self.max_level,
        )


@dataclass(frozen=True)
class DiminishingStep:
    """The classic ``eta0 / (1 + j)`` for the j-th vector, which the paper calls GASG21-DM.

    Parameters
    ----------
    eta0 : float, optional
        The first step. Smaller values end lower, if they get there: too small a one never reaches the
        subspace. None means 10 in `GRASTA`, whose gradients are longer, else 100.
    """

    eta0: float | None = None

    def _core(self, mode: Mode) -> _core.DiminishingStep:
        default = 10.0 if mode.l1 else 100.0
        return _core.DiminishingStep(eta0=default if self.eta0 is None else self.eta0)


@dataclass(frozen=True)
class ConstantStep:
    """The same step for every vector.

    Parameters
    ----------
    eta0 : float, optional
        The step. None means 0.01 in `GRASTA`, whose gradients are longer, else 0.1.
    """

    eta0: float | None = None

    def _core(self, mode: Mode) -> _core.ConstantStep:
        default = 0.01 if mode.l1 else 0.1
        return _core.ConstantStep(eta0=default if self.eta0 is None else self.eta0)


@dataclass(frozen=True)
class MultiLevelStep:
    """The multi-level step as the authors of GRASTA coded it: GRASTA-ML in the paper's figures.

    The idea is that of `AdaptiveStep`, which is the rule as the paper states it. It differs in this: the
    unit of the step comes from the first gradient; two gradients are compared by their cosine, not by
    their product, so that long gradients do not drown the comparison; the angle and the level are
    bounded; ``mu`` starts at ``mu_min`` and returns to ``(mu_max - 1) / 2``; the level does not fall from
    1 to 0; a step is taken with the level before it is adapted. Not for ``scaling=True``.

    Parameters
    ----------
    first_angle : float
        The first vector turns the subspace by ``first_angle * (1 + mu_min)`` radians.
    mu_max : float
        Larger values shrink the step later: slower and safer. More than ``2 * mu_min + 1``.
    mu_min : float
        Lower end of ``mu``.
    f_min, f_max, omega : float
        As in `AdaptiveStep`.
    max_level : int, optional
        How often the step is halved at most; where it stops, the subspace stops to get better. None means the
        authors' 20 for `partial_fit`, and 50, as in their demonstration, for `fit`.
    max_angle : float
        The most that one vector may turn the subspace, in radians.
    """

    first_angle: float = 0.1
    mu_max: float = 15.0
    mu_min: float = 1.0
    f_min: float = -1.0
    f_max: float = 0.5
    omega: float = 0.1
    max_level: int | None = None
    max_angle: float = 1.0

    def _core(self, mode: Mode) -> _core.MultiLevelStep:
        _refuse_scaling(mode)
        max_level = (20 if mode.stream else 50) if self.max_level is None else self.max_level
        return _core.MultiLevelStep(**asdict(self) | {"max_level": max_level})


@dataclass(frozen=True)
class GreedyStep:
    """GROUSE's greedy step: each vector turns the subspace until it contains it.

    The angle is ``arctan(|r| / |w|)``, the vector's own angle to the subspace: nothing to tune, and the
    fastest there is on clean data (L. Balzano and S. J. Wright, "Local convergence of an algorithm for
    subspace identification from partial data", 2015). One outlier turns it away. Not for `GRASTA` nor for
    ``scaling=True``.
    """

    def _core(self, mode: Mode) -> _core.GreedyStep:
        _refuse_scaling(mode)
        if mode.l1:
            msg = "the greedy step belongs to least squares; GRASTA has no such angle"
            raise ValueError(msg)
        return _core.GreedyStep()


def _refuse_scaling(mode: Mode) -> None:
    if mode.scaling:
        msg = "this rule measures its steps in the paper's metric; it needs scaling=False"
        raise ValueError(msg)


StepSize = AdaptiveStep | MultiLevelStep | DiminishingStep | ConstantStep | GreedyStep
_BY_NAME: dict[str, StepSize] = {
    "adaptive": AdaptiveStep(),
    "multilevel": MultiLevelStep(),
    "greedy": GreedyStep(),
    "diminishing": DiminishingStep(),
    "constant": ConstantStep(),
}


def core_rule(
    step_size: str | StepSize,
    *,
    scaling: bool = False,
    stream: bool = False,
    l1: bool = False,
    eta0: float | None = None,
) -> _core.StepRule:
    """Return the compiled rule that a ``step_size`` parameter stands for, in a `Mode`.

    ``eta0`` is the largest step of an adaptive rule that does not name its own.
    """
    rule = _BY_NAME.get(step_size) if isinstance(step_size, str) else step_size
    if not isinstance(rule, StepSize):
        msg = f"step_size={step_size!r} must be one of {sorted(_BY_NAME)} or an instance of a class in gasg21.step_size"
        raise InvalidInputError(msg)
    if isinstance(rule, AdaptiveStep) and rule.eta0 is None:
        rule = dataclasses.replace(rule, eta0=eta0)
    try:
        return rule._core(Mode(scaling, stream, l1))
    except (ValueError, TypeError) as error:
        msg = f"step_size={step_size!r}: {error}"
        raise InvalidInputError(msg) from error
