"""GASG21 in plain NumPy: Algorithms 1 and 2 as a competent user would write them, in O(n d^2) per vector."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

Array = np.ndarray


def lstsq_weights(A: Array, x: Array) -> Array:
    """Return the weights of x in the columns of A, by LAPACK's least squares."""
    return np.linalg.lstsq(A, x, rcond=None)[0]


def normal_weights(A: Array, x: Array) -> Array:
    """Return the weights of x in the columns of A, by the normal equations."""
    return np.linalg.solve(A.T @ A, A.T @ x)


class StepSize:
    """Algorithm 2 with its default constants."""

    def __init__(self, eta0: float = 0.5) -> None:
        self.eta0, self.mu, self.level = eta0, 7.5, 0

    def next(self, agreement: float) -> float:
        """Return the next step; ``agreement`` is the inner product of the last two gradients."""
        self.mu = max(self.mu - 1 + 1.5 / (1 + 0.5 * np.exp(agreement / 0.1)), 0.0)
        if self.mu >= 15:
            self.level, self.mu = self.level + 1, 7.5
        elif self.mu <= 0:
            self.level, self.mu = max(self.level - 1, 0), 7.5
        return self.eta()

    def eta(self) -> float:
        """Return the current step."""
        return self.eta0 * 2.0**-self.level


def updates(U: Array, X: Array, weights: Callable[[Array, Array], Array], eta0: float = 0.5) -> Array:
    """Return the basis U (n, d) after an update with each row of X; NaN = missing."""
    U, rule, e0, w0 = U.copy(), StepSize(eta0), None, None
    for x in X:
        omega = np.flatnonzero(x == x)
        if len(omega) <= U.shape[1]:
            continue
        A, values = U[omega], x[omega]
        values /= np.sqrt(values @ values)
        w = weights(A, values)
        e = np.zeros(len(x))
        e[omega] = values - A @ w
        e /= np.sqrt(e @ e)
        eta = rule.eta() if e0 is None else rule.next((e0 @ e) * (w0 @ w))
        sigma = np.sqrt(w @ w)
        v = w / sigma
        U += np.outer((np.cos(eta * sigma) - 1) * (U @ v) + np.sin(eta * sigma) * e, v)
        e0, w0 = e, w
    return U


def time_updates(
    U: Array, X: Array, weights: Callable[[Array, Array], Array], repeats: int, eta0: float = 0.5
) -> tuple[float, Array]:
    """Return the seconds per update, the least mean of all repeats, and the basis reached."""
    least = np.inf
    for _ in range(repeats):
        start = time.thread_time()
        reached = updates(U, X, weights, eta0)
        least = min(least, time.thread_time() - start)
    return least / len(X), reached
