"""How `KGASG21` searches for the subspaces: the samples that take part, the coordinates, and the plan of the runs."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from gasg21._algorithms.clusters import UnionPlan, assign, is_near
from gasg21._algorithms.default_union import DefaultUnion, recover_default, spectral_start
from gasg21._algorithms.ensemble import join_runs
from gasg21._algorithms.model_order import dimensions_of
from gasg21._algorithms.screening import Screening
from gasg21._algorithms.union_lift import UnionLift
from gasg21._algorithms.whitening import Whitening
from gasg21._data.parameters import check_integer, n_threads, seed_of
from gasg21._data.samples import Array, Samples, TakesSamples, check_samples
from gasg21._estimators.union import Coordinates, finite_rows
from gasg21._estimators.union_parameters import UnionParameters, is_auto
from gasg21._support.progress import Progress


class UnionSearch(TakesSamples, UnionParameters):
    """From samples to subspaces, by the parameters."""

    def _check_fit(self, X: Any, mask: Any) -> Samples:
        self._check_parameters()
        samples = check_samples(self, X, mask, reset=True)
        if not is_auto(self.n_clusters):
            check_integer("n_clusters", self.n_clusters, 1, samples.n_samples, "n_samples = ")
        self._given_dimensions(samples.n_features)
        self._selection = None
        return samples

    def _begin(self, X: Any, mask: Any) -> tuple[Samples, UnionLift | None, Samples]:
        """Return the samples, their lift and the lifted samples, and choose what is "auto" of K and d."""
        samples = self._check_fit(X, mask)
        lift = UnionLift.of(samples) if self.center else None
        lifted = Coordinates(lift).lifted(samples)
        self._selection = self._choose_order(lifted, samples.n_features)
        return samples, lift, lifted

    def _find_in_order(
        self, lifted: Samples, n_features: int, progress: Progress | None
    ) -> tuple[DefaultUnion, UnionPlan]:
        """Find the subspaces; with ``n_components="auto"`` then the dimension of each, and once more with these."""
        union, plan = self._find(lifted, n_features, progress)
        if not is_auto(self.n_components) or union.found["status"] == "interrupted":
            return union, plan
        assert self._selection is not None
        working = Coordinates(None, union.whitening).working(lifted)
        extra = int(self.center)
        found = tuple(max(1, d - extra) for d in dimensions_of(union.found["subspaces"], working, plan))
        if found == self._selection.n_components:
            return union, plan
        self._selection = self._selection._replace(n_components=found)
        return self._find(lifted, n_features, progress)

    def _find(self, lifted: Samples, n_features: int, progress: Progress | None) -> tuple[DefaultUnion, UnionPlan]:
        if self._decides_by_data():
            plan = self._plan(lifted, n_features)
            return recover_default(plan, lifted, finite_rows, self.screen, progress), plan
        whitening = self._whitening_of(lifted, n_features)
        working = Coordinates(None, whitening).working(lifted)
        plan = self._started(self._plan(working, n_features), working)
        good = without_outliers(lifted, working, whitening, plan)
        if self.screen is True and whitening is None:
            good = _screened(lifted, plan)
        return DefaultUnion(self._recover(plan, good, progress), whitening, None, None), plan

    def _started(self, plan: UnionPlan, working: Samples) -> UnionPlan:
        """Return the plan with the subspaces of a spectral start."""
        if not (isinstance(plan.init, str) and plan.init == "spectral"):
            return plan
        if len(plan.dimensions) == 1:
            return dataclasses.replace(plan, init="density")
        return dataclasses.replace(plan, init=spectral_start(plan, working, finite_rows, self.screen))

    def _recover(self, plan: UnionPlan, samples: Samples, progress: Progress | None) -> dict[str, Any]:
        n_runs = 1 if is_auto(self.n_ensemble) else int(self.n_ensemble)
        if n_runs == 1 or (len(plan.dimensions) == 1 and isinstance(plan.init, str)):
            return plan.run(samples, progress)

        def inliers(subspaces: list[Array]) -> Array:
            return is_near(subspaces, *assign(subspaces, samples, plan.n_threads), samples)

        return join_runs(plan, samples, n_runs, inliers, progress)

    def _whitening_of(self, lifted: Samples, n_features: int) -> Whitening | None:
        """Return the coordinates in which the clusters are to be found; None: those of the data."""
        if self.whiten is not True:
            return None
        dimensions = tuple(d + int(self.center) for d in self._dimensions(n_features))
        return Whitening.of(finite_rows(lifted), dimensions, seed_of(self.random_state), n_threads(self.n_jobs))


def without_outliers(lifted: Samples, working: Samples, whitening: Whitening | None, plan: UnionPlan) -> Samples:
    """Return the whitened samples without those that lie outside the span of all clusters."""
    if whitening is None:
        return working
    good = ~whitening.is_outlier(finite_rows(lifted))
    enough = good.sum() >= len(plan.dimensions)
    return Samples(working.data[good], None, working.dtype) if enough else working


def _screened(lifted: Samples, plan: UnionPlan) -> Samples:
    """Return the samples without those that lie outside the span of all clusters."""
    X = finite_rows(lifted)
    kept = Screening.of(X, plan.dimensions, plan.seed, plan.n_threads).keeps(X)
    return lifted.subset(np.flatnonzero(kept)) if kept.sum() >= len(plan.dimensions) else lifted
