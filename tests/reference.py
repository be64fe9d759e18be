"""The paper's Algorithms 1 and 2, and the scaled stream, in literal NumPy: the oracle.

Slow on purpose. Each line is one line of the paper (with the readings of its misprints that
`cpp/include/gasg21/step_size.hpp` explains), so that a reader can check it against the text and the
tests can check the C++ core against it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass
class AdaptiveStepReference:
    """Algorithm 2."""

    eta0: float = 0.5
    mu_max: float = 15.0
    mu_min: float = 0.0
    f_min: float = -1.0
    f_max: float = 0.5
    omega: float = 0.1
    level: int = 0
    mu: float = field(init=False)
    previous: np.ndarray | None = None

    def __post_init__(self):
        self.mu = (self.mu_min + self.mu_max) / 2

    def sigmoid(self, x):
        """Eq. (11)."""
        with np.errstate(over="ignore"):
            return self.f_min + (self.f_max - self.f_min) / (1 - self.f_max / self.f_min * np.exp(-x / self.omega))

    def next(self, gradient):
        """Eqs. (10) and (12); the gradient is the n x d matrix itself."""
        if self.previous is not None:
            self.adapt(np.sum(self.previous * gradient))
        self.previous = gradient
        return self.eta()

    def adapt(self, agreement):
        self.mu = max(self.mu + self.sigmoid(-agreement), self.mu_min)
        if self.mu >= self.mu_max:
            self.level += 1
            self.mu = (self.mu_min + self.mu_max) / 2
        elif self.mu <= self.mu_min:
            self.level = max(self.level - 1, 0)
            self.mu = (self.mu_min + self.mu_max) / 2

    def eta(self):
        return self.eta0 * 2.0**-self.level


@dataclass
class DiminishingStepReference:
    """The classic rule C / (1 + j)."""

    eta0: float = 100.0
    taken: int = 0

    def next(self, gradient):
        self.taken += 1
        return self.eta0 / self.taken


@dataclass
class ConstantStepReference:
    """The same step for ever."""

    eta0: float = 0.1

    def next(self, gradient):
        return self.eta0


def gasg21_step(U, x, rule, *, squared=False):
    """Algorithm 1 for one vector, NaN = missing. Returns the new U and the residual norm.

    With ``squared`` the gradient is that of |r|^2 / 2, which is GROUSE.
    """
    omega = ~np.isnan(x)
    x_bar = x[omega] / np.linalg.norm(x[omega])
    w = np.linalg.lstsq(U[omega], x_bar, rcond=None)[0]
    r = np.zeros(len(x))
    r[omega] = x_bar - U[omega] @ w
    residual = np.linalg.norm(r)
    weight = residual if squared else 1.0
    gradient = -weight * np.outer(r / residual, w)
    eta = rule.next(gradient)
    sigma = weight * np.linalg.norm(w)
    v = w / np.linalg.norm(w)
    U = U + np.outer((np.cos(eta * sigma) - 1) * (U @ v) + np.sin(eta * sigma) * r / residual, v)
    return U, residual


def gasg21(U, X, rule, *, squared=False):
    """Algorithm 1 over the rows of X."""
    for x in X:
        U, _ = gasg21_step(U, x, rule, squared=squared)
    return U


@dataclass
class CovarianceScalingReference:
    """The running covariance of the weights, C = d R / S, with R kept as it is."""

    d: int
    forgetting: float = 0.998
    S: float = 0.0
    R: np.ndarray = field(init=False)
    previous: tuple[np.ndarray, np.ndarray] | None = None

    def __post_init__(self):
        self.R = 1e-3 * np.eye(self.d)

    def learn(self, w, residual, eta):
        weight = 1 / max(eta**2 + residual**2, 1e-60)
        self.R = self.forgetting * self.R + weight * np.outer(w, w)
        self.S = self.forgetting * self.S + weight
        least = 1e-12 * np.trace(self.R) / self.d
        for i in range(self.d):
            # The i-th pivot of R: what the entries before i leave unexplained of the i-th.
            before = self.R[:i, :i], self.R[:i, i]
            pivot = self.R[i, i] - (before[1] @ np.linalg.solve(*before) if i else 0.0)
            if pivot < least:
                self.R[i, i] += 4 * least - pivot

    def solve(self, w):
        """C^-1 w."""
        return np.linalg.solve(self.d * self.R / self.S, w)


def scaled_step(U, x, rule, metric):
    """One update in the metric of the covariance of the weights. Returns the new U and the residual norm."""
    omega = ~np.isnan(x)
    x_bar = x[omega] / np.linalg.norm(x[omega])
    w = np.linalg.lstsq(U[omega], x_bar, rcond=None)[0]
    r = np.zeros(len(x))
    r[omega] = x_bar - U[omega] @ w
    residual = np.linalg.norm(r)
    e = r / residual
    metric.learn(w, residual, rule.eta())
    v = metric.solve(w)
    if metric.previous is not None:
        e0, w0 = metric.previous
        rule.adapt((e0 @ e) * (w0 @ v) / np.sqrt((w @ v) * (w0 @ metric.solve(w0))))
    metric.previous = e, w
    theta = np.arctan(rule.eta() / max(1.0, np.sqrt(w @ v)) * np.linalg.norm(v))
    v = v / np.linalg.norm(v)
    return U + np.outer((np.cos(theta) - 1) * (U @ v) + np.sin(theta) * e, v), residual


def scaled_gasg21(U, X, rule, metric):
    """The scaled stream over the rows of X."""
    for x in X:
        U, _ = scaled_step(U, x, rule, metric)
    return U


def largest_angle(U, V):
    """Largest principal angle between the column spaces of orthonormal U and V, by its sine."""
    return np.arcsin(min(1.0, np.linalg.norm(V - U @ (U.T @ V), 2)))
