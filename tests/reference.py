"""The oracle: Algorithms 1, 2 and 3 of the paper, the scaled stream, GRASTA and GROUSE in literal NumPy.

Each line is one line of the paper, so that a reader can check it against the text. The tests compare the C++ core
with it. It is slow on purpose. `cpp/include/gasg21/step_size.hpp` explains how misprints of the paper are read.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


class Sigmoid:
    """The sigmoid that moves mu, of the rules with f_min, f_max and omega."""

    def sigmoid(self, x):
        """Eq. (11)."""
        with np.errstate(over="ignore"):
            return self.f_min + (self.f_max - self.f_min) / (1 - self.f_max / self.f_min * np.exp(-x / self.omega))


@dataclass
class AdaptiveStepReference(Sigmoid):
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

    def next(self, gradient):
        """Return the step for an n x d gradient, by Eqs. (10) and (12)."""
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
    """The step C / (1 + j) of the classic rule."""

    eta0: float = 100.0
    taken: int = 0

    def next(self, gradient):
        self.taken += 1
        return self.eta0 / self.taken


@dataclass
class ConstantStepReference:
    """A constant step."""

    eta0: float = 0.1

    def next(self, gradient):
        return self.eta0


@dataclass
class MultiLevelStepReference(Sigmoid):
    """The multi-level rule of the published code of GRASTA (GRASTA-ML in the paper)."""

    first_angle: float = 0.1
    mu_max: float = 15.0
    mu_min: float = 1.0
    f_min: float = -1.0
    f_max: float = 0.5
    omega: float = 0.1
    max_level: int = 20
    max_angle: float = 1.0
    level: int = 0
    scale: float | None = None
    mu: float = field(init=False)
    previous: np.ndarray | None = None

    def __post_init__(self):
        self.mu = self.mu_min

    def next(self, gradient):
        length = np.linalg.norm(gradient)
        if self.scale is None:
            self.scale = self.first_angle * (1 + self.mu_min) / length
        cosine = 0.0
        if self.previous is not None:
            lengths = np.linalg.norm(self.previous) * length
            cosine = np.sum(self.previous * gradient) / lengths if lengths > 1e-5 else 0.0
        self.mu = max(self.mu + self.sigmoid(-cosine), self.mu_min)
        eta = min(self.scale * 2.0**-self.level, self.max_angle / length)
        if self.mu <= self.mu_min:
            self.level -= self.level > 1
            self.mu = (self.mu_max - 1) / 2
        elif self.mu > self.mu_max:
            self.mu = (self.mu_max - 1) / 2 if self.level < self.max_level else self.mu_max
            self.level = min(self.level + 1, self.max_level)
        self.previous = gradient
        return eta


def fit(U, x):
    """Least-squares weights w and residual r (n entries) of one vector in the column space of U; NaN = missing.

    The vector is spherized on its observed entries first.
    """
    omega, x_bar = spherize(x)
    w = np.linalg.lstsq(U[omega], x_bar, rcond=None)[0]
    r = np.zeros(len(x))
    r[omega] = x_bar - U[omega] @ w
    return w, r


def spherize(x):
    """Return which entries are observed, and these entries scaled to unit length."""
    omega = ~np.isnan(x)
    return omega, x[omega] / np.linalg.norm(x[omega])


def geodesic_step(U, e, v, theta):
    """Eq. (9): rotate U v towards the unit vector e by the angle theta; v is a unit vector, too."""
    return U + np.outer((np.cos(theta) - 1) * (U @ v) + np.sin(theta) * e, v)


def gasg21_step(U, x, rule, *, squared=False):
    """Algorithm 1 for one vector, NaN = missing. Returns the new U and the residual norm.

    With ``squared`` the gradient is that of |r|^2 / 2. This is GROUSE.
    """
    w, r = fit(U, x)
    residual = np.linalg.norm(r)
    weight = residual if squared else 1.0
    gradient = -weight * np.outer(r / residual, w)
    eta = rule.next(gradient)
    sigma = weight * np.linalg.norm(w)
    return geodesic_step(U, r / residual, w / np.linalg.norm(w), eta * sigma), residual


def gasg21(U, X, rule, *, squared=False):
    """Algorithm 1 over the rows of X."""
    for x in X:
        U, _ = gasg21_step(U, x, rule, squared=squared)
    return U


def residuals_to(U, X):
    """Residual norm of each row of X, spherized on its observed entries, in the column space of U."""
    return np.array([np.linalg.norm(fit(U, x)[1]) for x in X])


def farthest_insertion(X, n_candidates, d, rng):
    """Algorithm 3, step 1: fit candidates to the d + 3 nearest neighbors of seeds drawn by farthest insertion."""
    Z = np.nan_to_num(X)
    Z = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    cosines = Z @ Z.T
    seed, distance, candidates = rng.integers(len(Z)), np.full(len(Z), np.inf), []
    for _ in range(n_candidates):
        neighbors = np.argsort(-cosines[seed], kind="stable")[: d + 3]
        candidates.append(np.linalg.svd(Z[neighbors].T, full_matrices=False)[0][:, :d])
        distance = np.minimum(distance, np.maximum(2 - 2 * cosines[seed], 0))
        seed = rng.choice(len(Z), p=distance / distance.sum())
    return candidates


def greedy_selection(E, n_clusters):
    """Algorithm 3, step 2: select the candidates, rows of E, that lower the sum of distances most."""
    nearest, chosen = np.ones(E.shape[1]), []
    for _ in range(n_clusters):
        costs = [np.minimum(nearest, e).sum() for e in E]
        chosen.append(int(np.argmin(costs)))
        nearest = np.minimum(nearest, E[chosen[-1]])
    return chosen


def k_gasg21(subspaces, X, rules):
    """Algorithm 3, steps 3 to 11, over the rows of X. Returns the new subspaces and the subspace of each row."""
    subspaces, labels = list(subspaces), []
    for x in X:
        k = int(np.argmin([residuals_to(U, x[None])[0] for U in subspaces]))
        subspaces[k], _ = gasg21_step(subspaces[k], x, rules[k])
        labels.append(k)
    return subspaces, np.array(labels)


def l1_fit(A, x, *, rho=1.8, max_iter=30, tol=1e-10):
    """ADMM for min |s|_1 subject to A w + s = x, with a growing penalty mu. Returns w, s and the dual variable y."""
    w, s, y = np.zeros(A.shape[1]), np.zeros(len(x)), np.zeros(len(x))
    mu = 1.25 / np.linalg.norm(x)
    P = np.linalg.pinv(A)
    for _ in range(max_iter):
        before, w = w, P @ (x - s - y / mu)
        z = x - A @ w - y / mu
        s = np.sign(z) * np.maximum(np.abs(z) - 1 / mu, 0)
        h = A @ w + s - x
        y = y + mu * h
        mu *= rho
        if np.linalg.norm(h) < tol and np.linalg.norm(w - before) < tol:
            break
    return w, s, y


def grasta_step(U, x, rule, **admm):
    """GRASTA for one vector, NaN = missing: a geodesic step of the augmented Lagrangian. Returns the new U."""
    omega, x_bar = spherize(x)
    w, _, y = l1_fit(U[omega], x_bar, **admm)
    gamma = np.zeros(len(x))
    gamma[omega] = y
    gamma -= U @ (U[omega].T @ y)
    gradient = np.outer(gamma, w)
    theta = rule.next(gradient) * np.linalg.norm(gradient)
    return geodesic_step(U, -gamma / np.linalg.norm(gamma), w / np.linalg.norm(w), theta)


def grasta(U, X, rule, **admm):
    """GRASTA over the rows of X."""
    for x in X:
        U = grasta_step(U, x, rule, **admm)
    return U


def greedy_grouse(U, X):
    """GROUSE with the greedy step over the rows of X: each vector rotates the subspace until it contains it."""
    for x in X:
        w, r = fit(U, x)
        theta = np.arctan(np.linalg.norm(r) / np.linalg.norm(w))
        U = geodesic_step(U, r / np.linalg.norm(r), w / np.linalg.norm(w), theta)
    return U


@dataclass
class CovarianceScalingReference:
    """The running covariance C = d R / S of the weights, with R stored as a full matrix."""

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
            # The i-th pivot of R: the variance of entry i that the entries before i do not explain.
            before = self.R[:i, :i], self.R[:i, i]
            pivot = self.R[i, i] - (before[1] @ np.linalg.solve(*before) if i else 0.0)
            if pivot < least:
                self.R[i, i] += 4 * least - pivot

    def solve(self, w):
        """Return C^-1 w."""
        return np.linalg.solve(self.d * self.R / self.S, w)


def scaled_step(U, x, rule, metric):
    """One update in the metric of the covariance of the weights. Returns the new U and the residual norm."""
    w, r = fit(U, x)
    residual = np.linalg.norm(r)
    e = r / residual
    metric.learn(w, residual, rule.eta())
    v = metric.solve(w)
    if metric.previous is not None:
        e0, w0 = metric.previous
        rule.adapt((e0 @ e) * (w0 @ v) / np.sqrt((w @ v) * (w0 @ metric.solve(w0))))
    metric.previous = e, w
    theta = np.arctan(rule.eta() / max(1.0, np.sqrt(w @ v)) * np.linalg.norm(v))
    return geodesic_step(U, e, v / np.linalg.norm(v), theta), residual


def scaled_gasg21(U, X, rule, metric):
    """The scaled stream over the rows of X."""
    for x in X:
        U, _ = scaled_step(U, x, rule, metric)
    return U


def largest_angle(U, V):
    """Largest principal angle between the column spaces of the orthonormal U and V, from its sine."""
    return np.arcsin(min(1.0, np.linalg.norm(V - U @ (U.T @ V), 2)))
