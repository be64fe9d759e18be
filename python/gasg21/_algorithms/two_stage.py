"""How `fit` goes about it: passes of the stream, then the polish, then a look at whether to believe it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from gasg21 import _core
from gasg21._support.progress import Progress
from gasg21._algorithms.self_check import LOST, hold_out, predicts, predicts_some, swallowed
from gasg21._data.samples import Array, Samples
from gasg21.exceptions import InvalidInputError

# The polish stops when a pass moves the subspace by no more than this share of the estimated error.
_SHARE = 0.1
# Passes of the stream before the polish: at least, at most, and at most where this share is observed or more.
_LEAST_PASSES, _MOST_PASSES, _MOST_IF_DENSE, _DENSE = 2, 5, 2, 0.3
# What a pass may still change when the fit is checked on the held-out entries, before it goes on with all.
_GOOD_ENOUGH = 1e-3


@dataclass(frozen=True)
class Plan:
    """What a fit is asked to do."""

    max_passes: int
    tol: float
    polish: bool
    scaling: bool
    n_components: int  # to return; the tracker may work with more
    seed: int
    loss: _core.Loss = "l21"
    n_threads: int = 1


@dataclass
class Recovery:
    """A fit under way: what it has reached so far is always usable."""

    plan: Plan
    samples: Samples
    tracker: _core.Tracker
    components: Array = field(init=False)  # (n_components, n), orthonormal
    history: list[dict[str, Any]] = field(default_factory=list)
    status: str = "interrupted"
    estimated_angle: float = float(np.pi / 2)

    def __post_init__(self) -> None:
        self.components = self.tracker.components()[: self.plan.n_components]

    def run(self, progress: Progress | None) -> None:
        """Run to the end; on KeyboardInterrupt the status stays "interrupted"."""
        if not self.plan.polish:
            status = self._stream(self.samples, self.plan.max_passes, progress)
            lost = self._lost_in_stream()
            self.status = "undetermined" if lost and status != "max_passes" else status
            return
        held_out = hold_out(self.samples, len(self.tracker.components()), self.plan.seed)
        seen = dataclasses.replace(self.samples, held_out=held_out)
        self._stream(seen, self._most_passes(), progress)
        stream = self.tracker.components()
        polisher = self._polisher(stream)
        self._polish(polisher, seen, at_least=_GOOD_ENOUGH)
        if len(stream) == self.plan.n_components and swallowed(self.components, stream, self._observed_per_sample()):
            self.estimated_angle = max(self.estimated_angle, _core.largest_angle(stream, self.components))
            self.components, self.status = stream, "undetermined"
            return
        confirmed = predicts(self.components, self.samples, held_out)
        status = self._polish(polisher, self.samples)
        if status != "rank_deficient" and (not confirmed or self.estimated_angle > LOST):
            status = "undetermined"
        self.status = status

    @property
    def in_stream(self) -> bool:
        """Whether the polish has not begun."""
        return all(record["stage"] == "stream" for record in self.history)

    def _observed_per_sample(self) -> float:
        return count_observed(self.samples) / self.samples.n_samples

    # ---- the stream

    def _most_passes(self) -> int:
        """Few: the polish does the rest. More where little is observed, for a start that it can rely on."""
        dense = self._observed_per_sample() >= _DENSE * self.samples.n_features
        return max(1, min(_MOST_IF_DENSE if dense else _MOST_PASSES, self.plan.max_passes // 2))

    def _stream(self, samples: Samples, max_passes: int, progress: Progress | None) -> str:
        """Pass over the data until one moves the subspace by no more than tol or gains nothing; record each."""
        tol = max(self.plan.tol, 100 * float(np.finfo(samples.dtype).eps)) if self.plan.tol > 0 else -1.0
        for _ in range(max_passes):
            before = self.tracker.components()
            order = self.tracker.permutation(samples.n_samples)
            residuals = consume(self.tracker, samples, order, progress)
            counters = self.tracker.counters()
            if counters["n_used"] == 0:
                msg = f"no sample of X could be used: {without_entries(counters)}"
                raise InvalidInputError(msg)
            moved = _core.largest_angle(before, self.tracker.components())
            self.components = self.tracker.components()[: self.plan.n_components]
            near = residuals[residuals < 0.5]
            self._record(
                stage="stream",
                moved=moved,
                median_residual=float(np.nanmedian(residuals)),
                near_residual=float(np.median(near)) if len(near) else 1.0,
                n_iter=counters["n_used"],
                level=self.tracker.level,
                step_size=self.tracker.eta,
            )
            if moved <= tol:
                return "converged"
            if self.plan.scaling and self._stalled():
                return "noise_floor"
        return "max_passes"

    def _stalled(self) -> bool:
        """Whether the residuals of the samples near the subspace have not fallen by a tenth in two passes.

        Before a polish that hands over; alone it ends the fit, and not before the fourth pass.
        """
        near = [record["near_residual"] for record in self.history]
        if self.plan.polish:
            return len(near) > _LEAST_PASSES and near[-1] > 0.9 * near[-3]
        return len(near) > 3 and self.plan.tol > 0 and near[-1] > 0.9 * near[-3]

    def _lost_in_stream(self) -> bool:
        """Whether what the stream alone found is not to be believed."""
        if isinstance(self.plan.loss, str):
            self.estimated_angle = self._stream_error()
            return self.estimated_angle > LOST
        self.estimated_angle = float("nan")  # the error of least squares says nothing of an L1 fit
        held_out = hold_out(self.samples, self.plan.n_components, self.plan.seed)
        return not predicts_some(self.components, self.samples, held_out, self.plan.loss)

    def _stream_error(self) -> float:
        """Return the standard error of least squares on the fits, and not less than the stream still moves."""
        polisher = self._polisher(self.tracker.components())
        each_block(polisher.fit, self.samples)
        polisher.weigh()
        return max(polisher.estimated_angle, float(self.history[-1]["moved"]))

    # ---- the polish

    def _polish(self, polisher: _core.Polisher, samples: Samples, at_least: float = 0.0) -> str:
        """Reweighted least squares until a pass moves it by less than tol or a share of the estimated error."""
        eps = float(np.finfo(samples.dtype).eps)
        tol = max(self.plan.tol, 10 * eps)
        status = "max_passes"
        while sum(record["stage"] == "polish" for record in self.history) < 2 * self.plan.max_passes:
            self._polish_pass(polisher, samples)
            if self.history[-1]["moved"] <= max(tol, at_least, _SHARE * self.estimated_angle):
                status = "converged" if self.estimated_angle <= 10 * tol else "noise_floor"
                break
        spread = np.linalg.eigvalsh(polisher.scatter())[-self.plan.n_components :]
        return "rank_deficient" if spread[0] <= max(1e-13, (10 * eps) ** 2) * spread[-1] else status

    def _polish_pass(self, polisher: _core.Polisher, samples: Samples) -> None:
        each_block(polisher.fit, samples)
        polisher.weigh()
        self.estimated_angle = self._error(polisher)
        each_block(polisher.add, samples)
        moved = polisher.update()
        kept = leading(polisher.components(), polisher.scatter(), self.plan.n_components)
        if len(kept) < len(polisher.scatter()):  # the extra directions wander for ever
            moved = _core.largest_angle(self.components, kept)
        self.components = kept
        self._record(
            stage="polish",
            moved=moved,
            median_residual=float(np.nanmedian(polisher.residuals())),
            estimated_angle=self.estimated_angle,
        )

    def _error(self, polisher: _core.Polisher) -> float:
        """Return the standard error of the largest angle, over the directions that are kept."""
        if len(polisher.scatter()) == self.plan.n_components:
            return polisher.estimated_angle
        vectors = np.linalg.eigh(polisher.scatter())[1][:, -self.plan.n_components :]
        smallest = np.linalg.eigvalsh(vectors.T @ polisher.information() @ vectors)[0]
        return float(np.arcsin(min(1.0, np.sqrt(self.samples.n_features / max(smallest, 1e-300)))))

    def _polisher(self, components: Array) -> _core.Polisher:
        kind = _core.Polisher64 if self.samples.dtype == np.float64 else _core.Polisher32
        return kind(components, self.samples.n_samples, self.plan.n_threads)

    def _record(self, **values: Any) -> None:
        self.history.append({"pass": len(self.history) + 1, **values})


def leading(components: Array, scatter: Array, n_components: int) -> Array:
    """Return the directions of the subspace in which the inliers' weights vary most."""
    if n_components == len(components):
        return components
    vectors = np.linalg.eigh(scatter)[1][:, ::-1][:, :n_components]
    return np.ascontiguousarray(vectors.T.astype(components.dtype) @ components)


def consume(tracker: _core.Tracker, samples: Samples, order: Array | None, progress: Progress | None) -> Array:
    """Update the tracker with all samples; their residuals, NaN for those skipped."""
    blocks = samples.blocks(order)
    parts = [tracker.consume(b.payload, b.mask, b.order, progress, b.held_out) for b in blocks]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def each_block(method: Any, samples: Samples) -> None:
    """Call a method of a polisher with each block of samples."""
    for block in samples.blocks():
        first = block.rows.start or 0 if isinstance(block.rows, slice) else 0
        method(block.payload, block.mask, first, block.held_out)


def polish_residuals(polisher: _core.Polisher, samples: Samples, passes: int) -> Array:
    """Polish, and return the relative residuals in the end."""
    for _ in range(passes):
        each_block(polisher.fit, samples)
        polisher.weigh()
        each_block(polisher.add, samples)
        polisher.update()
    each_block(polisher.fit, samples)
    return polisher.residuals()


def count_observed(samples: Samples) -> int:
    """Return about how many entries are observed: counted in some thousand samples."""
    some = samples.every(max(1, samples.n_samples // 1000))
    if sp.issparse(some.data) and not some.absent_is_zero:
        share = some.data.nnz / (some.n_samples * some.n_features)
    else:
        observed = sum(
            int(np.sum(~np.isnan(b.payload) if b.mask is None else b.mask & ~np.isnan(b.payload)))
            for b in some.chunks()
        )
        share = observed / (some.n_samples * some.n_features)
    return int(share * samples.n_samples * samples.n_features)


def without_entries(counters: dict[str, int]) -> dict[str, int]:
    """Return the counters that count samples."""
    return {name: count for name, count in counters.items() if name != "entries_used"}
