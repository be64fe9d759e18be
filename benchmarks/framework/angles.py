"""Angles to the true subspaces: along a stream, and between the subspaces of two unions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from benchmarks.framework.core import Stream, largest_angle


def passes(stream: Stream, m: int, count: int) -> Iterator[np.ndarray]:
    """Yield a new random order of m samples for each pass, ``count`` indices in all."""
    while count > 0:
        order = stream.permutation(m)[:count]
        count -= len(order)
        yield order


def angles_along(stream: Stream, problem: Any, count: int, every: int) -> Iterator[float]:
    """Update with ``count`` samples and yield the angle after every ``every`` of them, a divisor of the samples."""
    for order in passes(stream, len(problem.data), count):
        for start in range(0, len(order), every):
            stream.update(problem.data, order[start : start + every])
            yield largest_angle(stream.components(), problem.basis)


def vectors_to(stream: Stream, problem: Any, angle: float, limit: int, every: int) -> int | None:
    """Return the number of vectors until the angle is reached, checked every ``every`` vectors; None = never."""
    for i, found in enumerate(angles_along(stream, problem, limit, every)):
        if found <= angle:
            return (i + 1) * every
    return None


def all_angles(found: list[Any], truth: list[Any]) -> np.ndarray:
    """Return the angle between each subspace found and each true one."""
    return np.array([[largest_angle(f, t) for t in truth] for f in found])


def matched_angles(found: list[Any], truth: list[Any]) -> np.ndarray:
    """Return the angles between the subspaces found and the true ones, under the best matching."""
    each = all_angles(found, truth)
    return each[linear_sum_assignment(each)]
