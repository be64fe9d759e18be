"""CPU time until a method first reaches a given angle to the truth, without the time to compute that angle.

Streams: a first run computes the angle after every vector, or after every 50 for large problems, and counts the vectors
needed. A second run with exactly that many vectors is timed: start, shuffles and updates. Batch methods: `fit` ends at
the first iterate within the angle, and the clock stops while the angle of an iterate is computed. Robust-MD: the clock
runs only while it processes the next 50 samples. Short runs are repeated, the methods alternate, and the least time
counts. All methods use one thread of BLAS, in one process.
"""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.experiments._drawing import FIT, MIRROR, PURSUIT, REAPER
from benchmarks.experiments._streams import PAPER, SCALED, starter
from benchmarks.framework.angles import passes, vectors_to
from benchmarks.framework.core import BATCH_ITERATES, Stream
from benchmarks.framework.experiment import Context
from gasg21 import GASG21, baselines
from gasg21.exceptions import ConvergenceWarning
from gasg21.metrics import subspace_angle

Run = tuple[float, int, float]  # seconds, count, angle
# Runs of less than SHORT seconds are repeated in each round, at least twice and for BURST seconds; the least counts.
ROUNDS, SHORT, BURST = 5, 0.2, 0.02


class Reached(Exception):
    """Raised to end a fit at the first iterate within the angle."""


def race(limits: dict[str, int], problem: Any, angle: float, seed: int) -> dict[str, dict[str, Any]]:
    """Return for each method CPU "seconds", the "count" of vectors or iterations, the final "angle", and if it "reached" it.

    ``limits`` names the methods. A limit is a number of vectors for streams, and of iterations for batch methods. If a
    method ends at its limit, the seconds are a lower bound.
    """
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the angle is computed anyway
        runners = {method: _runner(method, problem, angle, seed, limit) for method, limit in limits.items()}
        runs: dict[str, list[Run]] = {method: [] for method in limits}
        for _ in range(ROUNDS):  # the methods alternate, because the speed of a shared machine varies
            for method, go in runners.items():
                runs[method] += _burst(go) if not runs[method] or runs[method][-1][0] < SHORT else []
    return {method: _summary(min(runs[method]), angle) for method in limits}


def _burst(go: Callable[[], Run]) -> list[Run]:
    """Return some runs: in the first one the caches may hold the data of another method."""
    runs = [go()]
    while runs[-1][0] < SHORT and (len(runs) < 2 or sum(run[0] for run in runs) < BURST):
        runs.append(go())
    return runs


def _summary(run: Run, angle: float) -> dict[str, Any]:
    seconds, count, found = run
    return {"seconds": seconds, "count": int(count), "angle": float(found), "reached": bool(found <= angle)}


def _runner(method: str, problem: Any, angle: float, seed: int, limit: int) -> Callable[[], Run]:
    """Return a function that runs a method once, in the same way each time."""
    d = len(problem.basis)
    if method in (PAPER, SCALED):
        begin = starter(method, problem.data.shape[1], d, seed)
        count = vectors_to(begin(), problem, angle, limit, 1 if len(problem.data) <= 200 else 50) or limit
        found = subspace_angle(_stream(begin, problem, count)[1].components(), problem.basis)
        return lambda: (_stream(begin, problem, count)[0], count, found)
    if method == FIT:
        return lambda: _whole_fit(GASG21(d, tol=angle, random_state=seed), problem)
    if method == MIRROR:
        return lambda: _mirror_descent(baselines.RobustMD(d), problem, angle, seed, limit)
    if method == REAPER:
        return lambda: _batch(baselines.REAPER(d, spherize=True, max_iter=limit), problem, angle)
    if method == PURSUIT:
        return lambda: _batch(baselines.OutlierPursuit(d, max_iter=limit), problem, angle)
    message = f"no such method: {method}"
    raise ValueError(message)


def _stream(begin: Callable[[], Stream], problem: Any, count: int) -> tuple[float, Stream]:
    start = time.process_time()
    stream = begin()
    order = np.concatenate(list(passes(stream, len(problem.data), count)))
    stream.update(problem.data, order)
    return time.process_time() - start, stream


def _whole_fit(model: GASG21, problem: Any) -> Run:
    """Run `fit` as a user calls it: it does not know the truth, and its own rule stops it."""
    start = time.process_time()
    model.fit(problem.data)
    return time.process_time() - start, model.n_passes_, subspace_angle(model.components_, problem.basis)


def _mirror_descent(model: baselines.RobustMD, problem: Any, angle: float, seed: int, limit: int) -> Run:
    rng, m = np.random.default_rng(seed), len(problem.data)
    seconds, found = 0.0, np.pi / 2
    while found > angle and (not seconds or model.n_iter_ < limit):
        for rows in np.array_split(rng.permutation(m), max(1, m // 50)):
            start = time.process_time()
            model.partial_fit(problem.data[rows])
            seconds += time.process_time() - start
            found = subspace_angle(model.components_, problem.basis)
            if found <= angle:
                break
    return seconds, model.n_iter_, found


def _batch(model: Any, problem: Any, angle: float) -> Run:
    module, name, rows = BATCH_ITERATES[type(model)]
    step, d = getattr(module, name), len(problem.basis)
    outside, count, found = 0.0, 0, np.pi / 2

    def watched(*arguments: Any) -> Any:
        nonlocal outside, count, found
        answer = step(*arguments)
        start = time.process_time()
        iterate = rows(answer)[:d]
        count, found = count + 1, subspace_angle(iterate, problem.basis) if len(iterate) == d else np.pi / 2
        outside += time.process_time() - start
        if found <= angle:
            raise Reached
        return answer

    start = time.process_time()
    with mock.patch.object(module, name, watched), contextlib.suppress(Reached):
        model.fit(problem.data)
    return time.process_time() - start - outside, count, found


def race_over(
    context: Context,
    values: list[int],
    make: Callable[[int, int], Any],
    limits: dict[str, int],
    angle: float,
    unit: str,
) -> dict[str, list[dict[str, Any]]]:
    """Return the `medians` of each method at each value; ``make`` returns the problem for a value and a seed."""
    times: dict[str, list[dict[str, Any]]] = {method: [] for method in limits}
    for value in values:
        runs: dict[str, list[dict[str, Any]]] = {method: [] for method in limits}
        for i in range(context.seeds):
            for method, found in race(limits, make(value, context.seed(i)), angle, context.seed(i)).items():
                runs[method].append(found)
        for method in limits:
            times[method].append(medians(runs[method]))
        shown = ", ".join(f"{method} {column[-1]['seconds']:.2g} s" for method, column in times.items())
        context.say(f"{value} {unit}: {shown}")
    return times


def medians(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the median seconds and count over the seeds, the largest angle, and the number that reached the goal."""
    return {
        "seconds": float(np.median([run["seconds"] for run in runs])),
        "count": float(np.median([run["count"] for run in runs])),
        "angle": max(run["angle"] for run in runs),
        "reached": sum(run["reached"] for run in runs),
        "runs": len(runs),
    }


def all_reached(cell: dict[str, Any]) -> bool:
    """Return whether all seeds reached the angle; otherwise the time is a lower bound."""
    return bool(cell["reached"] == cell["runs"])
