"""What the benchmarks use of gasg21 that is not public.

Everything else in ``benchmarks`` uses the public API only, so a change of the compiled core is followed here alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

from gasg21 import _core, baselines
from gasg21._algorithms.block_fit import Blocks
from gasg21._data.parameters import core_metric, core_rule, n_threads
from gasg21._estimators import union_fit
from gasg21._support.engines import Task, ThreadEngine
from gasg21.baselines import _outlier_pursuit, _reaper

__all__ = [
    "BATCH_ITERATES",
    "COMPILED",
    "Blocks",
    "Stream",
    "Task",
    "ThreadEngine",
    "assign",
    "candidates",
    "changed_consensus",
    "choose_candidates",
    "consensus_constants",
    "fit",
    "following_stream",
    "instruction_set",
    "largest_angle",
    "n_threads",
    "orthonormality_error",
    "polish_pass",
    "residuals",
    "row_functions",
    "selected",
    "stream",
    "stream_of",
    "stream_starter",
    "timed_passes",
]

COMPILED = Path(_core.__file__)  # the compiled module

# Where the iterates of the batch methods can be seen: module, function, and how to get its d leading rows.
BATCH_ITERATES: dict[type, tuple[Any, str, Callable[[Any], Any]]] = {
    baselines.REAPER: (_reaper, "weighted_least_squares", lambda answer: answer[1].T),
    baselines.OutlierPursuit: (_outlier_pursuit, "shrink_singular_values", lambda answer: answer[1]),
}


def consensus_constants() -> dict[str, Any]:
    """Return the constants that decide in the consensus of a union, by name."""
    constants = _core.ConsensusConstants()
    return {name: getattr(constants, name) for name in dir(constants) if not name.startswith("_")}


def changed_consensus(**values: Any) -> AbstractContextManager[Any]:
    """Return a context in which some of the constants have other values."""
    constants = _core.ConsensusConstants()
    for name, value in values.items():
        setattr(constants, name, value)
    return mock.patch.object(union_fit, "_CONSENSUS", constants)


class Pass(NamedTuple):
    """A pass of a Dask cluster over its data."""

    name: str
    seconds: float
    cpu: float


@contextmanager
def timed_passes(cpu: Callable[[], float]) -> Iterator[list[Pass]]:
    """Give a list that gets every pass of a Dask cluster; ``cpu`` returns the CPU seconds of its workers so far."""
    from gasg21._dask.engine import DaskEngine

    passes: list[Pass] = []

    def timed(name: str) -> Any:
        method = getattr(DaskEngine, name)

        def run(*args: Any) -> Any:
            begun, used = time.perf_counter(), cpu()
            result = method(*args)
            passes.append(Pass(name, time.perf_counter() - begun, cpu() - used))
            return result

        return mock.patch.object(DaskEngine, name, run)

    with timed("map"), timed("reduce"):
        yield passes


class Stream:
    """One tracked subspace: the tracker that ``fit`` and ``partial_fit`` run, without the estimator around it."""

    def __init__(self, tracker: Any) -> None:
        self.tracker = tracker

    def update(self, X: np.ndarray, order: np.ndarray | None = None) -> None:
        """Update with the rows of X, all of them or those in ``order``; NaN marks a missing entry."""
        self.tracker.consume(X, None, order)

    def compiled_calls(self) -> dict[str, Callable[[np.ndarray], Any]]:
        """Return the compiled functions that update with an array, and with a single row, to time them."""
        return {"compiled update": self.tracker.consume, "compiled update with one row": self.tracker.consume_row}

    def permutation(self, m: int) -> np.ndarray:
        """Return a random order of m samples, drawn from the tracker's own generator."""
        return self.tracker.permutation(m)

    def components(self) -> np.ndarray:
        """Return the basis, one vector per row."""
        return self.tracker.components()


def fit(X: np.ndarray, d: int, *, doubt: bool) -> np.ndarray:
    """Fit the rows of an array with the defaults, with or without the checks at the end; return the components."""
    found = _core.recover(
        *(X, None, X.shape[1], d),
        rule=core_rule("adaptive", scaling=True),
        stream_rule=core_rule("adaptive", scaling=True, stream=True),
        loss="l21",
        metric=core_metric(True),
        init="random",
        options=_core.RecoverOptions(doubt=doubt),
    )
    return np.asarray(found.subspace.components)


def stream_starter(
    n: int,
    d: int,
    seed: int,
    step_size: Any = "adaptive",
    *,
    metric: str = "canonical",
    loss: str = "l21",
    dtype: Any = np.float64,
) -> Callable[[], Stream]:
    """Return a function that makes the same stream each time, at its random start.

    ``step_size`` is a name or a rule of `gasg21.step_size`; ``loss`` is "l21", "squared" or "l1".
    """
    scaled = metric == "scaled"
    rule = core_rule(step_size, scaling=scaled, l1=loss == "l1")
    measure = core_metric(scaled)
    tracker = _core.Tracker32 if dtype == np.float32 else _core.Tracker64
    core_loss = _core.L1Loss() if loss == "l1" else loss
    return lambda: Stream(tracker(n, d, rule, seed, core_loss, measure))


def stream(n: int, d: int, seed: int, step_size: Any = "adaptive", **parameters: Any) -> Stream:
    """Return a new stream; the parameters are those of `stream_starter`."""
    return stream_starter(n, d, seed, step_size, **parameters)()


def following_stream(X: np.ndarray, d: int, seed: int, *, follow: bool) -> Stream:
    """Return a scaled stream at its random start, for rows like those of X: with the defaults, or with updates alone."""
    tracker = _core.start_tracker(
        *(X, None, X.shape[1], d),
        rule=core_rule("adaptive", scaling=True, stream=True),
        loss="l21",
        metric=core_metric(True),
        init="random",
        center=False,
        seed=seed,
        following=_core.Following() if follow else _core.Following(replay=0, restart=False, watch=False),
    )
    return Stream(tracker)


def stream_of(model: Any) -> Stream:
    """Return the stream inside an estimator that ``partial_fit`` has started."""
    return Stream(model._tracker)


def row_functions(model: Any) -> dict[str, Callable[[np.ndarray], Any]]:
    """Return the compiled functions behind the methods that read one row."""
    subspace = model._current().subspace
    return {
        "predict": lambda row: subspace.row_decision(row, None),
        "transform": lambda row: subspace.row_weights(row, None),
        "score_samples": lambda row: subspace.row_residual(row, None, False),
        "complete": lambda row: subspace.row_completed(row, None),
    }


def polish_pass(components: np.ndarray, X: np.ndarray, threads: int) -> Callable[[], np.ndarray]:
    """Return a function that makes one pass of the polish over X, from these components, and returns the new ones.

    It fits, weighs and sums all samples and solves for the basis. (A pass of ``fit`` also iterates the weights three
    times, which takes no look at the data.)
    """
    scatter = _core.start_scatter(components, X, None, None, threads)

    def run() -> np.ndarray:
        polish = _core.block_polish(components, scatter)
        polish.update(_core.block_sums(components, X, None, scatter, None, threads))
        return polish.components

    return run


def choose_candidates(
    X: np.ndarray, dimensions: tuple[int, ...], init: str, count: int, sweeps: int, seed: int
) -> tuple[list[np.ndarray], list[int]]:
    """Return ``count`` candidate subspaces, seeded by "farthest" or "density", and the indices of those selected.

    One subspace is selected for each of the dimensions: greedily, then improved by ``sweeps`` sweeps of exchanges.
    """
    seeder = _core.Seeder64(X, None, X.shape[1], len(X), seed)
    make = seeder.farthest if init == "farthest" else seeder.density
    make(dimensions, count, 0)
    return seeder.candidates(), [int(q) for q in seeder.select(dimensions, sweeps)]


def candidates(X: np.ndarray, K: int, d: int, init: str, count: int, threads: int) -> list[np.ndarray]:
    """Return ``count`` candidates for K subspaces, seeded by "farthest" or "density"."""
    seeder = _core.Seeder64(X, None, X.shape[1], len(X), 0, threads)
    (seeder.farthest if init == "farthest" else seeder.density)((d,) * K, count, 0)
    return list(seeder.candidates())


def selected(X: np.ndarray, candidates: list[np.ndarray], d: int, threads: int) -> list[int]:
    """Return which candidates are selected, half of them, by their distances to all samples."""
    seeder = _core.Seeder64(X, None, X.shape[1], len(X), 0, threads)
    seeder.take(candidates)
    return [int(q) for q in seeder.select((d,) * (len(candidates) // 2), 0)]


def assign(subspaces: list[np.ndarray], X: np.ndarray, threads: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels of the nearest subspaces and the residuals."""
    return _core.assign(subspaces, X, None, threads)


def residuals(subspaces: list[np.ndarray], X: np.ndarray, threads: int) -> np.ndarray:
    """Return the residuals in all subspaces."""
    return np.asarray(_core.residuals(subspaces, X, None, threads))


def largest_angle(A: np.ndarray, B: np.ndarray) -> float:
    """Return the largest principal angle between row spaces of orthonormal rows.

    `gasg21.metrics.subspace_angle` takes any rows and is slower; this one is for loops with many angles.
    """
    return float(_core.largest_angle(np.ascontiguousarray(A), np.ascontiguousarray(B)))


def orthonormality_error(components: np.ndarray) -> float:
    """Return how far the rows are from orthonormal."""
    return float(_core.orthonormality_error(components))


def instruction_set() -> str:
    """Return the name of the instruction set in use."""
    return str(_core.instruction_set())
