"""Made streams for `streams`: vectors of a subspace among outliers, in natural order, rotating, and what a model says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.signal import lfilter

from benchmarks.framework.core import largest_angle, stream_of

Array = np.ndarray[Any, Any]
FIRST_SEED = 1000  # the constants of the stream were chosen on others
FOUND, LOST = 0.25, 0.5  # radians: no noise floor is above the first; a stream further off than the second is lost
FLOOR = 1e-6  # the floor of a stream without noise, in radians


def generator(*numbers: int) -> np.random.Generator:
    """Return the generator of one run."""
    return np.random.default_rng((FIRST_SEED, *numbers))


def subspace(rng: np.random.Generator, n: int, d: int) -> Array:
    """Return a random basis, one vector per row."""
    return np.linalg.qr(rng.standard_normal((n, d)))[0].T


def autocorrelated(rng: np.random.Generator, count: int, width: int, correlation: float) -> Array:
    """Return ``count`` rows of independent AR(1) processes of variance 1."""
    fresh = rng.standard_normal((count, width))
    fresh[1:] *= np.sqrt(1 - correlation**2)
    return np.asarray(lfilter([1.0], [1.0, -correlation], fresh, axis=0))


def vectors(
    rng: np.random.Generator,
    U: Array,
    count: int,
    *,
    outliers: float = 0.2,
    noise: float = 0.0,
    correlation: float = 0.0,
) -> Array:
    """Return vectors of a subspace, with noise relative to their length, among outliers of the same length."""
    d, n = U.shape
    X = autocorrelated(rng, count, d, correlation) @ U
    if noise:
        X += noise * np.sqrt(d / n) * autocorrelated(rng, count, n, correlation)
    return with_outliers(rng, X, outliers, np.sqrt(d / n))


def with_outliers(rng: np.random.Generator, X: Array, share: float, size: float) -> Array:
    """Replace some rows by random ones, in place."""
    bad = rng.random(len(X)) < share
    X[bad] = size * rng.standard_normal((int(bad.sum()), X.shape[1]))
    return X


@dataclass
class Rotation:
    """A subspace all of whose directions rotate, by ``rate`` radians a vector."""

    rng: np.random.Generator
    n: int
    d: int
    rate: float
    time: int = 0

    def __post_init__(self) -> None:
        self.planes = subspace(self.rng, self.n, 2 * self.d)

    def basis(self) -> Array:
        """Return the basis of this moment."""
        angle = self.rate * self.time
        return np.cos(angle) * self.planes[: self.d] + np.sin(angle) * self.planes[self.d :]

    def vectors(self, count: int, *, outliers: float = 0.2, noise: float = 0.0) -> Array:
        """Return the next vectors."""
        angles = self.rate * np.arange(self.time + 1, self.time + count + 1)[:, None]
        self.time += count
        W = self.rng.standard_normal((count, self.d))
        X = np.hstack([W * np.cos(angles), W * np.sin(angles)]) @ self.planes
        size = np.sqrt(self.d / self.n)
        if noise:
            X += noise * size * self.rng.standard_normal(X.shape)
        return with_outliers(self.rng, X, outliers, size)


@dataclass
class Track:
    """Angles to the truth and statuses along one run."""

    angles: list[float] = field(default_factory=list)
    statuses: list[str] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)  # vectors between looks

    def feed(self, model: Any, X: Array, truth: Array | Callable[[], Array], every: int = 100) -> Track:
        """Update the model with the rows in order, and look every so many."""
        for start in range(0, len(X), every):
            batch = X[start : start + every]
            model.partial_fit(batch)
            self.look(model, truth() if callable(truth) else truth, len(batch))
        return self

    def look(self, model: Any, truth: Array, length: int) -> None:
        """Note how the model fares after ``length`` more vectors."""
        self.angles.append(largest_angle(stream_of(model).components(), truth))
        self.statuses.append(model.status_)
        self.lengths.append(length)

    def floor(self) -> float:
        """Return the median angle of the last half."""
        return float(np.clip(np.median(self.angles[len(self.angles) // 2 :]), FLOOR, FOUND))

    def shares(self) -> tuple[Array, Array]:
        """Return twice vectors and those of them that were told "tracking": while near the floor, and while lost."""
        angles, lengths = np.array(self.angles), np.array(self.lengths)
        told = np.array(self.statuses) == "tracking"
        near, lost = angles <= 2 * self.floor(), angles > LOST
        return tuple(np.array([lengths[when].sum(), lengths[when & told].sum()]) for when in (near, lost))  # type: ignore[return-value]
