"""The parameters of a subspace as the core takes them, worked out once for a fit or the start of a stream."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gasg21 import _core
from gasg21._data.parameters import (
    check_choice,
    check_components,
    check_integer,
    core_following,
    core_metric,
    core_rule,
    is_share,
    n_threads,
    step_adapts,
)
from gasg21._data.samples import Batch, Samples
from gasg21._estimators.parameter_tables import StreamParameters
from gasg21._support.arrays import Array
from gasg21._support.progress import Progress
from gasg21.exceptions import InvalidInputError


@dataclass(frozen=True)
class FitPlan:
    """How the core is to fit and follow a subspace."""

    parameters: StreamParameters
    loss: _core.Loss
    scaled: bool
    polish: bool
    working_components: int | None

    @cached_property
    def n_threads(self) -> int:
        return n_threads(self.parameters.n_jobs)

    @cached_property
    def metric(self) -> _core.Metric:
        return core_metric(self.scaled)

    @cached_property
    def following(self) -> _core.Following:
        paper = not self.scaled and self.loss == "l21"
        helps = step_adapts(self.parameters.step_size)
        return core_following(self.parameters.replay, paper=paper, replay_helps=helps)

    @property
    def is_paper(self) -> bool:
        """Whether this is the paper's algorithm to the letter, whose basis is published as it is."""
        return not self.scaled and not self.polish and self.loss == "l21"

    def rule(self, *, stream: bool) -> _core.StepRule:
        """Return the step rule of a fit, or of a stream."""
        l1 = not isinstance(self.loss, str)
        return core_rule(self.parameters.step_size, scaling=self.scaled, stream=stream, l1=l1)

    def dimension(self, samples: Samples, batch: Batch, seed: int, progress: Progress | None = None) -> int:
        """Return the dimension of the subspace: as given, or as the data suggests."""
        wanted, n, center = self.parameters.n_components, samples.n_features, bool(self.parameters.center)
        is_auto = isinstance(wanted, str) and wanted == "auto"
        if not is_auto and not is_share(wanted):
            return check_components(wanted, n)
        check_components(1, n)
        if progress is not None:
            progress.stage("search for the dimension")
        return _core.choose_dimension(
            batch.payload,
            batch.mask,
            n,
            center=center,
            share=0.0 if is_auto else float(wanted),
            seed=seed,
            n_threads=self.n_threads,
            progress=progress,
        )

    def recovery(self, samples: Samples, batch: Batch, d: int, seed: int, progress: Progress | None) -> dict[str, Any]:
        """Return the arguments of `_core.recover`."""
        working = self._working_dimension(d, samples.n_features)
        return dict(
            samples=batch.payload,
            mask=batch.mask,
            n=samples.n_features,
            d=d,
            rule=self.rule(stream=False),
            stream_rule=self.rule(stream=True),
            loss=self.loss,
            metric=self.metric,
            init=self._start(working, samples),
            options=_core.RecoverOptions(
                max_passes=self.parameters.max_passes,
                tol=self.parameters.tol,
                center=bool(self.parameters.center),
                polish=bool(self.polish),
                working_components=working,
                seed=seed,
                n_threads=self.n_threads,
                following=self.following,
            ),
            progress=progress,
        )

    def tracker(self, samples: Samples, seed: int, init: Array | None = None) -> _core.Tracker:
        """Return a tracker that starts at some samples, or at a basis."""
        batch = samples.whole()
        d = self.dimension(samples, batch, seed)
        return _core.start_tracker(
            batch.payload,
            batch.mask,
            samples.n_features,
            d,
            rule=self.rule(stream=True),
            loss=self.loss,
            metric=self.metric,
            init=self._start(d, samples) if init is None else init,
            center=bool(self.parameters.center),
            seed=seed,
            following=self.following,
        )

    def _working_dimension(self, d: int, n_features: int) -> int:
        if self.working_components is None:
            return d
        if not self.polish:
            msg = f"working_components={self.working_components!r} must be None with polish=False"
            raise InvalidInputError(msg)
        return check_integer("working_components", self.working_components, d, n_features - 1, "n_features - 1 = ")

    def _start(self, d: int, samples: Samples) -> str | Array:
        if isinstance(self.parameters.init, str):
            check_choice("init", self.parameters.init, ("random", "spherical_pca"))
            return self.parameters.init
        try:
            init = np.array(self.parameters.init, samples.dtype, order="C")
        except (ValueError, TypeError) as error:
            msg = f"init={self.parameters.init!r} must be 'random', 'spherical_pca' or an array of numbers"
            raise InvalidInputError(msg) from error
        if init.shape != (d, samples.n_features):
            wanted = (d, samples.n_features)
            msg = f"init has shape {init.shape}; it must have (n_components, n_features) = {wanted}"
            raise InvalidInputError(msg)
        return init
