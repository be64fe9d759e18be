"""How `KGASG21.fit` goes about it: candidates, selection, passes of the stream, then polish and repair."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gasg21 import _core
from gasg21._algorithms.two_stage import without_entries
from gasg21._support.progress import Progress
from gasg21._algorithms.self_check import LOST
from gasg21._data.samples import Array, Block, Samples
from gasg21.exceptions import InvalidInputError
from gasg21.step_size import StepSize, core_rule

if TYPE_CHECKING:
    from gasg21._estimators.gasg21 import GASG21

# Seeding looks at no more samples than this (and 200 per cluster), so that its cost does not grow with m.
_SEEDED_FROM, _SEEDED_PER_CLUSTER = 4000, 200
# The first step: no longer than the data is off its subspaces, or it would wreck a good start.
_LONGEST_STEP, _SHARE_OF_RESIDUAL, _SHORTEST_STEP = 0.1, 0.5, 1e-8
# Passes of the stream before the polish; rounds of it before the repair; candidates of the repair at least.
_STREAM_PASSES, _ROUNDS_BEFORE_REPAIR, _REPAIRS, _REPAIR_CANDIDATES = 3, 2, 4, 30
_SWEEPS = {"density": 3, "farthest": 0}  # of swaps after the greedy selection; the paper has none


@dataclass(frozen=True)
class UnionPlan:
    """What a fit is asked to do."""

    dimensions: tuple[int, ...]
    init: str | list[Array]
    n_candidates: int
    n_neighbors: int  # 0 = d + 3
    scaling: bool
    polish: bool
    step_size: str | StepSize
    max_passes: int
    tol: float
    seed: int
    n_threads: int

    @property
    def metric(self) -> _core.Metric:
        return _core.CovarianceScaling() if self.scaling else _core.NoScaling()

    def rule(self, residuals: Array, *, stream: bool = False) -> _core.StepRule:
        """Return the step rule for subspaces that leave these residuals."""
        typical = float(np.median(residuals)) if len(residuals) else 1.0
        eta0 = min(_LONGEST_STEP, max(_SHORTEST_STEP, _SHARE_OF_RESIDUAL * typical))
        return core_rule(self.step_size, scaling=self.scaling, stream=stream, eta0=eta0)


@dataclass
class UnionRecovery:
    """A fit under way: what it has reached after the selection is always usable."""

    plan: UnionPlan
    samples: Samples
    subspaces: list[Array] = field(default_factory=list)
    history: list[dict[str, Any]] = field(default_factory=list)
    timings: dict[str, float] = field(default_factory=dict)
    status: str = "interrupted"
    counters: dict[str, int] | None = None  # of the stream that found the subspaces, if it is another
    left_stream: bool = False  # the subspaces are no longer the stream's own
    estimated_angles: Array = field(init=False)
    stream: _core.KSubspaces = field(init=False)
    _block: Block = field(init=False)
    _seeder: _core.Seeder = field(init=False)
    _rule: _core.StepRule = field(init=False)

    def __post_init__(self) -> None:
        self._block = self.samples.whole()
        self.estimated_angles = np.full(len(self.plan.dimensions), np.pi / 2)

    def run(self, progress: Progress | None) -> None:
        """Run to the end; on KeyboardInterrupt the status stays "interrupted"."""
        self.start()
        began = time.perf_counter()
        try:
            if self.plan.polish:
                passes = max(1, min(_STREAM_PASSES, self.plan.max_passes // 2))
                self._stream(passes, progress)
                self.status = self._polish()
            else:
                self.status = self._stream(self.plan.max_passes, progress)
        finally:
            self.timings["refine"] = time.perf_counter() - began

    # ---- where it starts

    def start(self, *, streaming: bool = False) -> None:
        """Find the subspaces to start from, and the stream that goes on from them."""
        plan, began = self.plan, time.perf_counter()
        if isinstance(plan.init, str) and len(plan.dimensions) == 1:
            self._start_one(streaming=streaming)
            return
        at_most = max(_SEEDED_FROM, _SEEDED_PER_CLUSTER * len(plan.dimensions))
        kind = _core.Seeder64 if self.samples.dtype == np.float64 else _core.Seeder32
        self._seeder = kind(
            self._block.payload, self._block.mask, self.samples.n_features, at_most, plan.seed, plan.n_threads
        )
        if self._seeder.n_samples < len(plan.dimensions):
            msg = (
                f"only {self._seeder.n_samples} of the {self.samples.n_samples} samples of X can be used; there must "
                f"be at least n_clusters={len(plan.dimensions)}"
            )
            raise InvalidInputError(msg)
        if isinstance(plan.init, str):
            make = self._seeder.density if plan.init == "density" else self._seeder.farthest
            make(plan.dimensions, plan.n_candidates, plan.n_neighbors)
            self.timings["seed"] = time.perf_counter() - began
            began = time.perf_counter()
            chosen = self._seeder.select(plan.dimensions, _SWEEPS[plan.init])
            candidates = self._seeder.candidates()
            found = [candidates[q] for q in chosen]
            self.timings["select"] = time.perf_counter() - began
        else:
            found = plan.init
            self.timings.update(seed=time.perf_counter() - began, select=0.0)
        self._begin(found, streaming=streaming)

    def _begin(self, subspaces: list[Array], *, streaming: bool = False) -> None:
        self._rule = self.plan.rule(self._seeder.distances(subspaces), stream=streaming)
        self.stream = self._streams(subspaces, self._rule, self.plan.seed, self.plan.metric)
        self.subspaces = self.stream.subspaces()

    def go_on_as(self, plan: UnionPlan) -> None:
        """Let the stream go on as another plan says."""
        self.plan, self.counters = plan, self.stream.counters()
        self._begin(self.subspaces)

    def _start_one(self, *, streaming: bool) -> None:
        """Start one subspace as GASG21 does: there is nothing to select."""
        plan = self.plan
        self._rule = core_rule(plan.step_size, scaling=plan.scaling, stream=streaming)
        trackers = _core.Tracker64 if self.samples.dtype == np.float64 else _core.Tracker32
        tracker = trackers(self.samples.n_features, plan.dimensions[0], self._rule, plan.seed, "l21", plan.metric)
        self.timings.update(seed=0.0, select=0.0)
        self.stream = self._stream_of(tracker)
        self.subspaces = self.stream.subspaces()

    def adopt(self, one: GASG21) -> None:
        """Take over a fit of one subspace by GASG21, and where its stream stands."""
        self.stream = self._stream_of(one._tracker)
        self.subspaces = [one.components_]
        self.history, self.status = one.history_, one.status_
        self.estimated_angles = np.array([one.estimated_angle_])

    def stream_from_here(self) -> _core.KSubspaces:
        """Return the stream, standing where the fit has come to, with steps as long as that may be off."""
        if self.left_stream:
            rules = self.stream.rules
            rule = core_rule(self.plan.step_size, scaling=self.plan.scaling, stream=True, eta0=self._rule.eta)
            if isinstance(rule, _core.AdaptiveStep):
                levels = np.round(np.log2(rule.eta / np.maximum(self.estimated_angles, 1e-12))).astype(int)
                rules = [rule.at_level(max(0, int(level))) for level in levels]
            self.stream.restart(self.subspaces, rules)
        return self.stream

    @property
    def _streams(self) -> type[_core.KSubspaces]:
        return _core.KSubspaces64 if self.samples.dtype == np.float64 else _core.KSubspaces32

    def _stream_of(self, tracker: _core.Tracker) -> _core.KSubspaces:
        state = tracker.__getstate__()[2]
        return self._streams._from_state((2, [state], state[5], [0] * 8))

    # ---- the stream

    def _stream(self, max_passes: int, progress: Progress | None) -> str:
        """Pass over the data until one moves no subspace by more than tol; record each pass."""
        eps = float(np.finfo(self.samples.dtype).eps)
        tol = max(self.plan.tol, 100 * eps) if self.plan.tol > 0 else -1.0
        for _ in range(max_passes):
            order = self.stream.permutation(self.samples.n_samples)
            labels, residuals = self.stream.consume(self._block.payload, self._block.mask, order, progress)
            counters = self.stream.counters()
            if counters["n_used"] == 0:
                msg = f"no sample of X could be used: {without_entries(counters)}"
                raise InvalidInputError(msg)
            moved = self._take(self.stream.subspaces())
            near = residuals[residuals < 0.5]
            self._record(
                stage="stream",
                moved=moved,
                median_residual=float(np.nanmedian(residuals)),
                near_residual=float(np.median(near)) if len(near) else 1.0,
                members=np.bincount(labels[labels >= 0], minlength=len(self.subspaces)),
                n_iter=counters["n_used"],
            )
            if moved.max() <= tol:
                return "converged"
            if self._stalled():
                return "noise_floor"
        return "max_passes"

    def _stalled(self) -> bool:
        """Whether the residuals of the samples near a subspace have not fallen by a tenth in two passes."""
        if self.plan.polish or not self.plan.scaling or self.plan.tol == 0:
            return False
        near = [record["near_residual"] for record in self.history]
        return len(near) > 3 and near[-1] > 0.9 * near[-3]

    # ---- the polish

    def _polish(self) -> str:
        """Assign and polish until all subspaces are settled; look once for those that were missed."""
        kind = _core.KPolisher64 if self.samples.dtype == np.float64 else _core.KPolisher32
        polisher = kind(self.subspaces, self.plan.n_threads)
        for _ in range(_ROUNDS_BEFORE_REPAIR):
            self._round(polisher)
        for _ in range(_REPAIRS):
            count = max(_REPAIR_CANDIDATES, len(self.subspaces))
            exchanged = polisher.repair(self._seeder, count, self.plan.n_neighbors)
            if not exchanged:
                break
            for _ in range(_ROUNDS_BEFORE_REPAIR):
                self._round(polisher)
        for _ in range(2 * self.plan.max_passes):
            if polisher.settled:
                break
            self._round(polisher)
        return self._verdict(polisher)

    def _round(self, polisher: _core.KPolisher) -> None:
        polisher.round(self._block.payload, self._block.mask, self.plan.tol)
        self.estimated_angles = np.array(polisher.estimated_angles)
        self.left_stream = True
        self.subspaces = polisher.subspaces()
        self._record(
            stage="polish",
            moved=np.array(polisher.changes),
            members=np.array(polisher.members, np.intp),
            estimated_angle=self.estimated_angles,
        )

    def _verdict(self, polisher: _core.KPolisher) -> str:
        if not polisher.settled:
            return "max_passes"
        if self.estimated_angles.max() > LOST:
            return "undetermined"
        tol = max(self.plan.tol, 10 * float(np.finfo(self.samples.dtype).eps))
        return "converged" if self.estimated_angles.max() <= 10 * tol else "noise_floor"

    def _take(self, subspaces: list[Array]) -> Array:
        """Keep these subspaces; return by how much each has moved."""
        moved = np.array([_core.largest_angle(a, b) for a, b in zip(self.subspaces, subspaces, strict=True)])
        self.subspaces = subspaces
        return moved

    def _record(self, **values: Any) -> None:
        self.history.append({"pass": len(self.history) + 1, **values})
