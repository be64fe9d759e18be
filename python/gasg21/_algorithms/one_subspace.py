"""One subspace through the core, for algorithms that need a robust fit on the way: GASG21 with its defaults."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gasg21 import _core
from gasg21._data.parameters import check_components, core_metric, core_rule, null_offset
from gasg21._data.samples import Array, Batch
from gasg21._support.trees import stored


@stored(components=np.ndarray, mean=np.ndarray, estimated_angle=float, offset=float, n_threads=int)
@dataclass(frozen=True)
class OneSubspace:
    """A fitted subspace."""

    components: Array  # (d, n), orthonormal rows
    mean: Array  # (n,) of an affine subspace, else empty
    estimated_angle: float  # NaN: unknown
    offset: float  # scores below it are those of outliers
    n_threads: int

    @classmethod
    def fit(
        cls,
        X: Array,
        d: int,
        *,
        seed: int,
        n_threads: int,
        scaling: bool = True,
        tol: float = 1e-6,
        init: str = "random",
        max_passes: int = 20,
        center: bool = False,
    ) -> OneSubspace:
        """Fit the rows of an array; NaN is missing."""
        options = _core.RecoverOptions(
            max_passes=max_passes, tol=tol, center=center, doubt=False, seed=seed, n_threads=n_threads
        )
        batch = Batch(np.ascontiguousarray(X), None, slice(None))
        found = _recovered(batch, X.shape[1], d, options, scaling=scaling, init=init)
        counters = found.counters
        offset = null_offset(counters["entries_used"] / max(counters["n_used"], 1), d)
        subspace = found.subspace
        components = subspace.components if center else subspace.basis
        return cls(components, subspace.mean if center else np.zeros(0), found.estimated_angle, offset, n_threads)

    def is_outlier(self, X: Array) -> Array:
        """Whether each row is as far from the subspace as a random direction, or says nothing."""
        weights, residuals = _core.project(self.components, np.ascontiguousarray(X), None, "l21", self.n_threads)
        with np.errstate(invalid="ignore"):
            return np.asarray(~(-residuals >= self.offset) | ((residuals == 0) & ~weights.any(axis=1)))

    def complete(self, X: Array) -> Array:
        """Return X with its missing entries filled in; NaN where they are not determined."""
        out = np.array(X, order="C")
        _core.fill_missing(self.components, np.ascontiguousarray(X), None, out, "l21", self.n_threads)
        return out


def _recovered(
    batch: Batch, n: int, d: int, options: _core.RecoverOptions, *, scaling: bool = True, init: str = "random"
) -> _core.Recovered:
    found = _core.recover(
        batch.payload,
        batch.mask,
        n,
        check_components(d, n),
        rule=core_rule("adaptive", scaling=scaling),
        stream_rule=core_rule("adaptive", scaling=scaling, stream=True),
        loss="l21",
        metric=core_metric(scaling),
        init=init,
        options=options,
    )
    if found.interrupt is not None:
        raise found.interrupt
    return found
