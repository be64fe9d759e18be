"""What `KGASG21.fit` makes of the subspaces that it has found: refits, doubts, a report, warnings."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from gasg21 import _core
from gasg21._algorithms.clusters import UnionPlan, assign, is_near
from gasg21._algorithms.default_union import DefaultUnion
from gasg21._algorithms.doubts import doubt_of, is_held_by_few
from gasg21._algorithms.ensemble import fit_members
from gasg21._algorithms.model_order import as_record
from gasg21._algorithms.residual_split import ResidualSplit, split_residuals
from gasg21._algorithms.union_lift import UnionLift
from gasg21._algorithms.whitening import Whitening
from gasg21._data.samples import Array, Samples
from gasg21._estimators.union import Coordinates, PublishedUnion, UnionMixin, UnionReport, finite_rows
from gasg21._estimators.union_parameters import UnionParameters
from gasg21.exceptions import ConvergenceWarning

_DEVIATIONS = 5.0  # above the typical residual, that a member may lie among outliers
_TOLD_APART = 0.8  # least agreement of the representations for clusters that can be told apart


class UnionPublishing(UnionMixin, UnionParameters):
    """From subspaces to what a fitted union publishes."""

    _stream: _core.KSubspaces | None = None

    def _publish(
        self,
        union: DefaultUnion,
        samples: Samples,
        lift: UnionLift | None,
        lifted: Samples,
        plan: UnionPlan,
        began: float,
    ) -> None:
        """Publish a fit, and let its stream go on from there."""
        found = union.found
        self._stream = found["stream"]
        assert self._stream is not None
        published = self._snapshot(union, Coordinates(lift, union.whitening), samples.dtype)
        working = published.coordinates.working(lifted)
        batch, settled = working.whole(), found["status"] in ("converged", "noise_floor")
        self._stream.follow_after_fit(batch.payload, batch.mask, plan.following(), settled)
        labels, residuals = assign(published.bases, working, plan.n_threads)
        if found["interrupt"] is None:
            good = is_near(published.bases, labels, residuals, working)
            if union.left_out is not None:
                good &= ~union.left_out
            members = np.where(good, labels, -1)
            self._refit_original(published, samples, lifted, members, plan, found)
            self._doubt(union, published, lifted, members, plan)
        published = published._replace(split=self._split(published, labels, residuals, lifted, working))
        rejected = self._rejected(labels, residuals, lifted, working, published)
        self._published = published._replace(labels=rejected, report=self._report(union, began))

    def _snapshot(self, union: DefaultUnion, coordinates: Coordinates, dtype: np.dtype[Any]) -> PublishedUnion:
        assert self._stream is not None
        bases, whitening = union.found["subspaces"], coordinates.whitening
        counters = union.found.get("counters") or self._stream.counters()
        dtype = dtype if whitening is None else np.dtype(np.float64)
        return PublishedUnion(in_data(bases, whitening), bases, coordinates, counters, dtype)

    def _refit_original(
        self,
        published: PublishedUnion,
        samples: Samples,
        lifted: Samples,
        labels: Array,
        plan: UnionPlan,
        found: dict[str, Any],
    ) -> None:
        """Fit each cluster by itself in the data's own coordinates, some of which whitening leaves out; or its flat."""
        lift, whitening = published.coordinates
        if whitening is None and (lift is None or not self.polish):
            return
        if whitening is not None:
            labels = np.where(whitening.is_outlier(finite_rows(lifted)), -1, labels)
        known = np.ones(len(plan.dimensions), bool)
        for k, d in enumerate(plan.dimensions):
            members = finite_rows(samples if lift is not None else lifted, np.flatnonzero(labels == k))
            one = fit_members(members, d - int(lift is not None), plan, center=lift is not None)
            if one is not None:
                flat = one.components if lift is None else lift.basis(one.components, one.mean)
                published.subspaces[k] = flat.astype(published.dtype)
                found["estimated_angles"][k] = np.pi / 2 if np.isnan(one.estimated_angle) else one.estimated_angle
                known[k] = not np.isnan(one.estimated_angle)
        if found["status"] in ("undetermined", "noise_floor", "max_passes"):
            lost = known.any() and _core.verdict(found["estimated_angles"][known], plan.tol) == "undetermined"
            found["status"] = "undetermined" if lost else "noise_floor"

    def _doubt(
        self, union: DefaultUnion, published: PublishedUnion, lifted: Samples, members: Array, plan: UnionPlan
    ) -> None:
        """Change the status if a cluster has too few members, or if their number does not suit the data."""
        found = union.found
        if not self.polish or len(plan.dimensions) == 1 or found["status"] not in ("converged", "noise_floor"):
            return
        few = is_held_by_few(members, plan.dimensions)
        if few.any():
            found["estimated_angles"][few] = np.pi / 2
            found["status"] = "undetermined"
            return
        if not self._decides_by_data() or self._selection is not None:
            return
        doubt = doubt_of([U.astype(lifted.dtype) for U in published.subspaces], lifted, plan)
        if doubt is None and union.consensus is not None and union.consensus.agreement < _TOLD_APART:
            doubt = "indistinct"
        found["status"] = doubt or found["status"]

    def _split(
        self, published: PublishedUnion, labels: Array, residuals: Array, lifted: Samples, working: Samples
    ) -> ResidualSplit:
        """Return from which residual on samples are outliers by comparison with the others."""
        if not self.reject_outliers:
            return ResidualSplit()
        near = is_near(published.bases, labels, residuals, working)
        return split_residuals(self._own_residuals(published.subspaces, labels, lifted)[1][near], _DEVIATIONS)

    def _warn_unless_converged(self, report: UnionReport) -> None:
        status = report.status
        if status in ("converged", "noise_floor", "interrupted") or (status == "max_passes" and self.tol == 0):
            return
        worst = int(np.argmax(report.estimated_angles))
        said = {
            "max_passes": f"some subspace moved by {np.max(report.history[-1]['moved']):.1e} rad in the last pass "
            f"(max_passes={self.max_passes}, tol={self.tol}). Raise max_passes; if that does not help, n_clusters or "
            "n_components may be too small.",
            "undetermined": f"the data does not determine all subspaces (not that of cluster {worst}, for one). Give "
            "more data or more entries of it, or use a smaller n_clusters or n_components.",
            "too_few_clusters": f"one more subspace would explain about as many samples as each of the "
            f"n_clusters={self.n_clusters} does. Use a larger n_clusters, or n_clusters='auto'.",
            "too_many_clusters": f"two of the n_clusters={self.n_clusters} subspaces share their samples, or one holds "
            "hardly any. Use a smaller n_clusters, or n_clusters='auto'.",
            "indistinct": f"the clusters cannot be told apart: different representations of the data agree only by "
            f"{report.agreement or 0:.2f} (1 is perfect). n_clusters={self.n_clusters} or n_components may be wrong.",
            "rank_deficient": "the samples do not span a subspace of dimension "
            f"n_components={len(self.subspaces_[worst])}: use a smaller n_components.",
        }[status]
        warnings.warn(said, ConvergenceWarning, stacklevel=3)

    def _report(self, union: DefaultUnion, began: float) -> UnionReport:
        found, spent = union.found, time.perf_counter() - began
        timings = found["timings"]
        timings["refine"] = spent - timings["seed"] - timings["select"]
        record = None if self._selection is None else as_record(self._selection)
        return UnionReport(
            found["history"], found["status"], found["estimated_angles"], timings, union.agreement, record
        )


def in_data(bases: list[Array], whitening: Whitening | None) -> list[Array]:
    """Return subspaces of the working coordinates in those of the (lifted) data."""
    return list(bases) if whitening is None else [whitening.original(U) for U in bases]
