"""The least time of some runs, and one thread beside two: for the measurements of speed."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.framework.measurement import Run


def least(work: Callable[[], Any], repeats: int, clock: Callable[[], float] = time.process_time) -> tuple[float, Any]:
    """Return the least time of several runs, and the last result."""
    best, result = np.inf, None
    for _ in range(repeats):
        start = clock()
        result = work()
        best = min(best, clock() - start)
    return best, result


def two_threads(run: Run, works: dict[str, Callable[[int], Any]], goal: float | None = 1.8) -> None:
    """Compare the wall time of each work with one and with two threads, interleaved, and its results.

    A work gets the number of threads and returns an array; an estimator in it whose ``n_jobs`` is None follows. Short
    works are repeated more often: a single interruption of one of the two threads spoils a round.
    """
    rounds, seconds_at_least = (2, 0.1) if run.quick else (4, 1.0)
    for name, work in works.items():
        times, results, begun = {1: np.inf, 2: np.inf}, {}, time.perf_counter()
        for round_ in itertools.count():
            if round_ >= rounds and time.perf_counter() - begun > seconds_at_least:
                break
            for k in times:
                with mock.patch.dict(os.environ, OMP_NUM_THREADS=str(k)):
                    seconds, results[k] = least(lambda k=k, work=work: work(k), 1, time.perf_counter)
                times[k] = min(times[k], seconds)
        text, ratio = f"{name}, {1e3 * times[1]:.1f} ms on one thread", times[1] / times[2]
        if goal is None:
            run.goals.value(f"{text}: {ratio:.2f} x")
        else:
            run.goals.at_least(text, ratio, goal, " x", f"load {os.getloadavg()[0]:.1f}")
        run.goals.met(f"{name}, two threads", np.array_equal(results[1], results[2], equal_nan=True), "the same bits")
