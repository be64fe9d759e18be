"""`KGASG21.fit` for data in blocks: the usual fit of a sample, then rounds of the polish over all parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gasg21._algorithms.block_fit import Blocks
from gasg21._algorithms.block_sums import Scatter, start_scatter
from gasg21._algorithms.block_union import UnionRounds, nearest
from gasg21._algorithms.clusters import UnionPlan, assign_labels
from gasg21._data.block_source import BlockSource
from gasg21._data.parameters import seed_of
from gasg21._data.samples import Array, Samples
from gasg21._estimators.in_blocks import check_is_plain, each_part, opened, set_features
from gasg21._estimators.union import Coordinates, PublishedUnion
from gasg21._estimators.union_stream import UnionStream
from gasg21._support.engines import Engine
from gasg21._support.progress import PassCallback
from gasg21.exceptions import InvalidInputError

_SAMPLED_PER_CLUSTER = 1000


class UnionBlocks(UnionStream):
    """The fit of a union to data in blocks."""

    def _fit_blocks(
        self,
        source: BlockSource,
        mask: Any,
        began: float,
        callback: PassCallback | None = None,
        engine: Engine | None = None,
    ) -> KeyboardInterrupt | None:
        """Fit a draft. Returns what interrupted it."""
        check_is_plain(mask)
        if not self.polish:
            msg = "KGASG21.fit takes a BlockSource only with polish=True: the polish is what works on blocks"
            raise InvalidInputError(msg)
        self._check_parameters()
        with opened(self, source, seed_of(self.random_state), callback, engine) as blocks:
            clusters = self.n_clusters if isinstance(self.n_clusters, int) else 1
            sample = blocks.draw(max(source.n_sampled, _SAMPLED_PER_CLUSTER * clusters))
            samples, lift, lifted = self._begin(sample.data, sample.mask)
            set_features(self, source)
            union, plan = self._find_in_order(lifted, samples.n_features, blocks.progress)
            interrupt: BaseException | None = union.found["interrupt"]
            if interrupt is not None and not isinstance(interrupt, KeyboardInterrupt):
                raise interrupt
            self._publish(union, samples, lift, lifted, plan, began)
            if union.found["status"] != "interrupted":
                interrupt = self._polish_blocks(blocks, lifted, plan, union.found)
        return interrupt

    def _polish_blocks(
        self, blocks: Blocks, lifted: Samples, plan: UnionPlan, found: dict[str, Any]
    ) -> KeyboardInterrupt | None:
        """Polish what the sample has given over all parts, and publish it."""
        published = self._current()
        plain = published.coordinates == Coordinates()
        own, working = lifted, published.coordinates.working(lifted)
        labels = nearest(published.bases, working) if not plain else assign_labels(published.bases, working, 1)
        rounds = UnionRounds(
            [np.ascontiguousarray(U) for U in (published.bases if plain else published.subspaces)],
            [_scatter(U, own.subset(np.flatnonzero(labels == k))) for k, U in enumerate(published.subspaces)],
            None if plain else published.bases,
            Locator(published.coordinates),
            plan.tol,
            2 * plan.max_passes,
            self.n_passes_,
        )
        stopped: KeyboardInterrupt | None = None
        try:
            rounds.run(blocks)
        except KeyboardInterrupt as caught:  # what is reached so far stays
            stopped = caught
        self._published = self._polished(published, rounds, found, interrupted=stopped is not None)
        if stopped is None and self.reject_outliers:
            parts = each_part(type(self).predict, self, blocks.source, blocks.engine)
            self._published = self._published._replace(labels=np.concatenate(list(parts)))
        return stopped

    def _polished(
        self, published: PublishedUnion, rounds: UnionRounds, found: dict[str, Any], *, interrupted: bool
    ) -> PublishedUnion:
        """Return what is published after the rounds."""
        assert self._stream is not None
        assert published.report is not None
        before = published.report
        interrupted = interrupted or rounds.ended
        doubted = before.status in ("too_few_clusters", "too_many_clusters", "indistinct")
        status = "interrupted" if interrupted else before.status if doubted else rounds.status
        report = before._replace(
            history=before.history + rounds.history, status=status, estimated_angles=rounds.estimated_angles
        )
        bases = published.bases
        if rounds.bases is None:
            bases = rounds.subspaces
            self._stream.continue_from(bases, rounds.estimated_angles, found["stream_rule"])
        published = published._replace(subspaces=list(rounds.subspaces), bases=bases, report=report)
        if rounds.sums is None:
            return published
        counters = {name: count for name, count in rounds.sums.diagnostics.items() if name != "entries_used"}
        return published._replace(labels=rounds.sums.labels.astype(np.intp), counters=counters)


@dataclass(frozen=True)
class Locator:
    """From samples to those in the coordinates of the subspaces, and those in which they are assigned."""

    coordinates: Coordinates

    def __call__(self, samples: Samples) -> tuple[Samples, Samples]:
        lifted = self.coordinates.lifted(samples)
        return lifted, self.coordinates.working(lifted)


def _scatter(subspace: Array, members: Samples) -> Scatter | None:
    """Return the scatter of some members; None if there are too few."""
    if members.n_samples <= 2 * len(subspace):
        return None
    return start_scatter(np.ascontiguousarray(subspace, members.dtype), members.dense())
