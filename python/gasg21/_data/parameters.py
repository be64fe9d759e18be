"""Meaning of the parameters of an estimator: checks, seeds, threads, step rules and thresholds."""

from __future__ import annotations

import functools
import numbers
import os
import threading
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import joblib
import numpy as np
from joblib.parallel import get_active_backend
from scipy.special import betaincinv
from sklearn.utils import check_random_state
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from gasg21 import _core
from gasg21._support.arrays import Array
from gasg21._support.progress import PassCallback, Progress, watched
from gasg21.exceptions import InvalidInputError
from gasg21.step_size import BY_NAME, AdaptiveStep, ConstantStep, DiminishingStep, GreedyStep, MultiLevelStep, StepSize

# A sample in a random direction passes for an inlier with the first probability. In a space of very few dimensions
# that would leave only a thin layer around the subspace; there residuals of up to _NEAR pass too, as long as this
# happens with at most the second probability.
_MISSED, _MISSED_AT_MOST, _NEAR = 1e-3, 0.05, 0.1
_MOST_THREADS = 4096  # a larger number is a mistake
ON_BAD, ABSENT = ("raise", "skip"), ("missing", "zero")  # rows with infinities; entries that are not stored
MOST_KEPT = 1_000_000  # vectors that a stream replays; a larger number is a mistake
_cores_of_machine = functools.cache(joblib.cpu_count)  # knows the limits of a container; slow

# ---- checks


def check_choice(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    """Refuse a value that is not one of the allowed strings."""
    if not isinstance(value, str) or value not in allowed:
        msg = f"{name}={value!r} must be one of {', '.join(map(repr, allowed))}"
        raise InvalidInputError(msg)


def check_flag(name: str, value: Any) -> bool:
    """Refuse a value that is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        msg = f"{name}={value!r} must be True or False"
        raise InvalidInputError(msg)
    return bool(value)


def check_integer(name: str, value: Any, low: int, high: int | None = None, high_name: str = "") -> int:
    """Refuse a value that is not an integer in [low, high]."""
    is_integer = isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)
    if not is_integer or value < low or (high is not None and value > high):
        top = "" if high is None else f"in [{low}, {high_name}{high}]"
        msg = f"{name}={value!r} must be an integer {top or f'of at least {low}'}"
        raise InvalidInputError(msg)
    return int(value)


def check_number(name: str, value: Any, low: float, high: float = np.inf, *, open_low: bool = False) -> float:
    """Refuse a value that is not a real number in the interval."""
    is_real = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
    if not is_real or not (value > low if open_low else value >= low) or not value <= high:
        left = "(" if open_low else "["
        right = "inf)" if high == np.inf else f"{high}]"
        msg = f"{name}={value!r} must be a number in {left}{low}, {right}"
        raise InvalidInputError(msg)
    return float(value)


def check_reading(estimator: Any) -> tuple[str, str]:
    """Return how an estimator reads data: its `on_bad` and `absent`."""
    check_choice("on_bad", estimator.on_bad, ON_BAD)
    check_choice("absent", estimator.absent, ABSENT)
    return estimator.on_bad, estimator.absent


def is_share(n_components: Any) -> bool:
    """Return whether n_components is a share of the variance: a float in (0, 1)."""
    return isinstance(n_components, float | np.floating) and bool(0 < n_components < 1)


def is_auto_or_share(n_components: Any) -> bool:
    """Return whether the data decides about the dimension."""
    return is_share(n_components) or (isinstance(n_components, str) and n_components == "auto")


def check_components(n_components: Any, n_features: int) -> int:
    """Refuse a subspace dimension that is not an integer in [1, n_features - 1]."""
    if n_features < 2:
        msg = (
            f"n_features={n_features}: at least 2 are needed, for a subspace of dimension n_components={n_components!r}"
        )
        raise InvalidInputError(msg)
    return check_integer("n_components", n_components, 1, n_features - 1, "n_features - 1 = ")


# ---- random_state


def seed_of(random_state: Any) -> int:
    """Return the seed for the core. An integer is taken as it is, so that C++ gives the same bits."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        if not 0 <= int(random_state) < 2**64:
            msg = f"random_state={random_state!r} must be in [0, 2**64)"
            raise InvalidInputError(msg)
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


# ---- n_jobs


def check_n_jobs(n_jobs: Any) -> int | None:
    """Refuse a value that is neither None nor an integer other than 0."""
    if n_jobs is None:
        return None
    if not isinstance(n_jobs, numbers.Integral) or isinstance(n_jobs, bool | np.bool_) or n_jobs == 0:
        msg = f"n_jobs={n_jobs!r} must be None, a positive number of threads, or -1 for all cores (-2: all but one)"
        raise InvalidInputError(msg)
    return int(n_jobs)


@functools.cache
def _blas() -> Any:
    return ThreadpoolController()  # looks at all libraries of the process, which takes longer than a small fit


def one_blas_thread() -> AbstractContextManager[Any]:
    """Let BLAS use one thread: for many small problems, and so that the bits do not depend on their number."""
    limited: AbstractContextManager[Any] = _blas().limit(limits=1)
    return limited


def n_threads(n_jobs: Any = None) -> int:
    """Return the number of threads that `n_jobs` asks for.

    A worker of joblib never gets more than its share of the cores.
    """
    wanted = check_n_jobs(n_jobs)
    if wanted == 1:
        return 1
    backend, configured = get_active_backend()
    in_worker = (backend.nesting_level or 0) > 0
    if wanted is None:
        wanted = check_n_jobs(configured)
    if wanted is None:
        return _fair_share(in_worker)
    # Not joblib.effective_n_jobs: it returns 1, with a warning, where processes cannot be started but threads can.
    threads = min(max(1, _cores() + 1 + wanted if wanted < 0 else wanted), _MOST_THREADS)
    return min(threads, _fair_share(in_worker)) if in_worker else threads


def _fair_share(in_worker: bool) -> int:
    """Return how many threads leave other work undisturbed: OMP_NUM_THREADS, which joblib sets, or all cores."""
    if in_worker and threading.current_thread() is not threading.main_thread():
        return 1  # each of the other cores has such a thread
    limit = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    if limit.isdigit():
        return min(_cores(), max(1, int(limit)))
    return 1 if in_worker else _cores()


def _cores() -> int:
    """Return how many cores this process may use."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(allowed, int(_cores_of_machine()))


# ---- verbose and callback


def progress_bar(
    estimator: Any, n_samples: int, max_passes: int | None, callback: PassCallback | None = None
) -> AbstractContextManager[Progress | None]:
    """Return a context whose value is the function that the core calls meanwhile; None if nothing is shown.

    ``max_passes`` is None when it is not known in advance. A fit that another one makes gets the progress of that one
    as its callback, and shows itself there.
    """
    if isinstance(callback, Progress):
        return nullcontext(callback)
    check_callback(callback)
    verbose = int(estimator.verbose)
    if not verbose and callback is None:
        return nullcontext()
    return watched(type(estimator).__name__, n_samples, max_passes, verbose, callback)


def check_callback(callback: Any) -> None:
    """Refuse a callback that cannot be called."""
    if callback is not None and not callable(callback):
        msg = f"callback={callback!r} must be None or a function of one argument, the record of a pass"
        raise InvalidInputError(msg)


# ---- replay


def core_following(replay: Any, *, paper: bool, replay_helps: bool = True) -> _core.Following:
    """Return how a stream is followed. The paper's algorithm is only watched, unless `replay` asks for more."""
    if replay is None and not paper and replay_helps:
        return _core.Following(restart=True)
    return _core.Following(replay=replay or 0, restart=not paper)


def step_adapts(step_size: str | StepSize) -> bool:
    """Return whether a step rule compares consecutive gradients: it is misled if consecutive samples are alike."""
    rule = BY_NAME.get(step_size) if isinstance(step_size, str) else step_size
    return isinstance(rule, AdaptiveStep | MultiLevelStep)


# ---- metric and step_size


def core_metric(scaling: bool) -> _core.Metric:
    """Return the compiled metric: the scaled one or the canonical one."""
    return _core.CovarianceScaling() if scaling else _core.NoScaling()


def core_rule(
    step_size: str | StepSize, *, scaling: bool = False, stream: bool = False, l1: bool = False
) -> _core.StepRule:
    """Return the compiled rule that a ``step_size`` parameter stands for.

    ``scaling``, ``stream`` (for `partial_fit`) and ``l1`` (for GRASTA's loss) decide what None means in the rule.
    """
    rule = BY_NAME.get(step_size) if isinstance(step_size, str) else step_size
    if not isinstance(rule, StepSize):
        msg = f"step_size={step_size!r} must be one of {sorted(BY_NAME)} or an instance of a class in gasg21.step_size"
        raise InvalidInputError(msg)
    try:
        return _compiled(rule, scaling, stream, l1)
    except (ValueError, TypeError) as error:
        msg = f"step_size={step_size!r}: {error}"
        raise InvalidInputError(msg) from error


def first_step_is_free(step_size: str | StepSize) -> bool:
    """Return whether the data may choose the first step: an adaptive rule that does not name it."""
    rule = BY_NAME.get(step_size) if isinstance(step_size, str) else step_size
    return isinstance(rule, AdaptiveStep) and rule.eta0 is None


def _compiled(rule: StepSize, scaling: bool, stream: bool, l1: bool) -> _core.StepRule:
    if scaling and isinstance(rule, MultiLevelStep | GreedyStep):
        msg = "this rule measures its steps in the paper's metric; it needs metric='canonical'"
        raise ValueError(msg)
    if l1 and isinstance(rule, GreedyStep):
        msg = "the greedy step belongs to least squares; GRASTA has no such angle"
        raise ValueError(msg)
    values = dict(vars(rule))
    if isinstance(rule, AdaptiveStep):
        return _core.AdaptiveStep(**values, scaling=scaling, stream=stream)
    if isinstance(rule, MultiLevelStep):
        levels = {"max_level": 20 if stream else 50} if rule.max_level is None else {}
        return _core.MultiLevelStep(**values | levels)
    if isinstance(rule, DiminishingStep):
        return _core.DiminishingStep((10.0 if l1 else 100.0) if rule.eta0 is None else rule.eta0)
    if isinstance(rule, ConstantStep):
        return _core.ConstantStep((0.01 if l1 else 0.1) if rule.eta0 is None else rule.eta0)
    return _core.GreedyStep()


# ---- contamination="auto" and reject_outliers: the residual that a sample in a random direction would have


def null_offset(n_observed: float, n_components: int) -> float:
    """Return the score below which a sample is as far from the subspace as a random direction."""
    return -float(null_residual(np.array([n_observed]), np.array([n_components]))[0])


def null_residual(n_observed: Array, n_components: Array, n_subspaces: int = 1) -> Array:
    """Return the residual above which a sample is as far from the nearest subspace as a random direction.

    The squared residual of a random direction follows the Beta((N - d) / 2, d / 2) law for N observed entries. One in
    a thousand of such samples passes. The nearest of several subspaces has as many chances, for which the level is
    corrected (Sidak).
    """
    levels = 1 - (1 - np.array([_MISSED, _MISSED_AT_MOST])) ** (1 / n_subspaces)
    N, d = np.maximum(n_observed, n_components + 1), n_components
    strict, lax = np.sqrt(betaincinv((N - d) / 2, d / 2, levels[:, None]))
    return np.where(n_observed > n_components, np.maximum(strict, np.minimum(lax, _NEAR)), 0.0)
