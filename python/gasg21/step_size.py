"""Step rules: how far to go along the geodesic for each vector.

The strings ``"adaptive"``, ``"diminishing"`` and ``"constant"`` mean the defaults of these classes.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from gasg21 import _core
from gasg21.exceptions import InvalidInputError

__all__ = ["AdaptiveStep", "ConstantStep", "DiminishingStep"]

# With this bound a converged stream follows a sudden change within 2500 vectors, and still reaches 1e-6 at
# condition 1000.
_STREAM_LEVEL = 32
_NO_BOUND = 2**63 - 1


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

    def _core(self, scaling: bool, stream: bool) -> _core.AdaptiveStep:
        eta0, mu_max = (1.0, 6.0) if scaling else (0.5, 15.0)
        max_level = _STREAM_LEVEL if scaling and stream else _NO_BOUND
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
    eta0 : float
        The first step. Smaller values end lower, if they get there: too small a one never reaches the
        subspace.
    """

    eta0: float = 100.0

    def _core(self, scaling: bool, stream: bool) -> _core.DiminishingStep:
        return _core.DiminishingStep(eta0=self.eta0)


@dataclass(frozen=True)
class ConstantStep:
    """The same step for every vector.

    Parameters
    ----------
    eta0 : float
        The step.
    """

    eta0: float = 0.1

    def _core(self, scaling: bool, stream: bool) -> _core.ConstantStep:
        return _core.ConstantStep(eta0=self.eta0)


StepSize = AdaptiveStep | DiminishingStep | ConstantStep
_BY_NAME: dict[str, StepSize] = {
    "adaptive": AdaptiveStep(),
    "diminishing": DiminishingStep(),
    "constant": ConstantStep(),
}


def core_rule(
    step_size: str | StepSize, *, scaling: bool = False, stream: bool = False, eta0: float | None = None
) -> _core.StepRule:
    """Return the compiled rule that a ``step_size`` parameter stands for, in `partial_fit` if ``stream``.

    ``eta0`` is the largest step of an adaptive rule that does not name its own.
    """
    rule = _BY_NAME.get(step_size) if isinstance(step_size, str) else step_size
    if not isinstance(rule, AdaptiveStep | DiminishingStep | ConstantStep):
        msg = f"step_size={step_size!r} must be one of {sorted(_BY_NAME)} or an instance of a class in gasg21.step_size"
        raise InvalidInputError(msg)
    if isinstance(rule, AdaptiveStep) and rule.eta0 is None:
        rule = dataclasses.replace(rule, eta0=eta0)
    try:
        return rule._core(scaling, stream)
    except (ValueError, TypeError) as error:
        msg = f"step_size={step_size!r}: {error}"
        raise InvalidInputError(msg) from error
