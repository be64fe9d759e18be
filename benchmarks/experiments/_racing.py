"""CPU time until a method first reaches a stated angle to the truth; nobody is charged for looking, nor for more accuracy.

Streams: one run that looks after every vector, or every 50 of large problems, counts how many are needed; then the
same run, of exactly so many vectors and without looking, is timed: start, shuffles and updates. Batch methods: `fit`
ends at the first iterate within the angle, and the clock stands still while an iterate is looked at. Robust-MD: the
clock runs only while it takes the next 50 samples. Short runs are repeated, all methods in turns, and the least time
counts. All on one thread of BLAS, in one process.
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
from gasg21 import GASG21, baselines
from gasg21.exceptions import ConvergenceWarning
from gasg21.metrics import subspace_angle

Run = tuple[float, int, float]  # seconds, count, angle
# Runs of less than SHORT seconds are repeated, in each round twice or for a TURN, and the least counts.
ROUNDS, SHORT, TURN = 5, 0.2, 0.02


class Reached(Exception):
    """Ends a fit at the first iterate that is good enough."""


def race(limits: dict[str, int], problem: Any, angle: float, seed: int) -> dict[str, dict[str, Any]]:
    """Return of each method CPU "seconds", vectors or iterations as "count", the "angle" then, and if it "reached" it.

    ``limits`` names the methods; a limit is in vectors for streams and in iterations for batch methods; where it ends
    a method, the seconds are a lower bound.
    """
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # whether it has arrived is looked at
        runners = {method: _runner(method, problem, angle, seed, limit) for method, limit in limits.items()}
        runs: dict[str, list[Run]] = {method: [] for method in limits}
        for _ in range(ROUNDS):  # in turns: a shared machine is now fast, now slow
            for method, go in runners.items():
                runs[method] += _turn(go) if not runs[method] or runs[method][-1][0] < SHORT else []
    return {method: _summary(min(runs[method]), angle) for method in limits}


def _turn(go: Callable[[], Run]) -> list[Run]:
    """Return some runs, of which the first one may find the caches full of another method's data."""
    runs = [go()]
    while runs[-1][0] < SHORT and (len(runs) < 2 or sum(run[0] for run in runs) < TURN):
        runs.append(go())
    return runs


def _summary(run: Run, angle: float) -> dict[str, Any]:
    seconds, count, found = run
    return {"seconds": seconds, "count": int(count), "angle": float(found), "reached": bool(found <= angle)}


def _runner(method: str, problem: Any, angle: float, seed: int, limit: int) -> Callable[[], Run]:
    """Return what makes one run of a method; the same run each time."""
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
    """`fit` as a user calls it: it does not know the truth, stops by its own rule and checks itself."""
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
    looking, count, found = 0.0, 0, np.pi / 2

    def watched(*arguments: Any) -> Any:
        nonlocal looking, count, found
        answer = step(*arguments)
        start = time.process_time()
        iterate = rows(answer)[:d]
        count, found = count + 1, subspace_angle(iterate, problem.basis) if len(iterate) == d else np.pi / 2
        looking += time.process_time() - start
        if found <= angle:
            raise Reached
        return answer

    start = time.process_time()
    with mock.patch.object(module, name, watched), contextlib.suppress(Reached):
        model.fit(problem.data)
    return time.process_time() - start - looking, count, found


def medians(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the median seconds and count of the seeds, the largest angle, and how many reached it."""
    return {
        "seconds": float(np.median([run["seconds"] for run in runs])),
        "count": float(np.median([run["count"] for run in runs])),
        "angle": max(run["angle"] for run in runs),
        "reached": sum(run["reached"] for run in runs),
        "runs": len(runs),
    }


def arrived(cell: dict[str, Any]) -> bool:
    """Return whether all seeds reached the angle, so that the time is one to accuracy."""
    return bool(cell["reached"] == cell["runs"])
