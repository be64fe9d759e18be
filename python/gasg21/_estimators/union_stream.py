"""`partial_fit` of a union: where its stream starts, how it goes on, and what is published meanwhile."""

from __future__ import annotations

from typing import Any

import numpy as np

from gasg21 import _core
from gasg21._algorithms.default_union import DefaultUnion
from gasg21._data.parameters import progress_bar
from gasg21._data.samples import Array, Samples, one_as_row
from gasg21._estimators.union import Coordinates, PublishedUnion, UnionStreamReport
from gasg21._estimators.union_publishing import UnionPublishing, in_data
from gasg21._estimators.union_search import UnionSearch, without_outliers
from gasg21.exceptions import InvalidInputError


class UnionStream(UnionPublishing, UnionSearch):
    """The stream of a union."""

    def _partial_fit(self, X: Any, mask: Any) -> BaseException | None:
        """Update a draft. Returns what stopped it between two vectors."""
        stopped: BaseException | None = None
        lifted, working, before = self._start_or_continue(*one_as_row(X, mask))
        assert self._stream is not None
        batch, bases = working.whole(), self._stream.subspaces()
        found: tuple[Array, Array] | None = None
        with progress_bar(self, lifted.n_samples, 1) as progress:
            try:
                found = self._stream.consume(batch.payload, batch.mask, None, progress)
            except BaseException as caught:  # the stream stands between two vectors
                stopped = caught
        published = moved(before, bases, self._stream)._replace(labels=None, residuals=None)
        if found is not None:
            labels = self._rejected(*found, lifted, working, published)
            published = published._replace(labels=labels, residuals=found[1])
        self._published = published._replace(stream=UnionStreamReport(*self._stream.following()))
        return stopped

    def _start_or_continue(self, X: Any, mask: Any) -> tuple[Samples, Samples, PublishedUnion]:
        """Return the samples, lifted, those in the working coordinates, and what was published before them."""
        if self._stream is not None:
            self._check_parameters()
            self._check_same_clusters()
            return self._located(X, mask)
        samples, lift, lifted = self._begin(X, mask)
        coordinates = Coordinates(lift, self._whitening_of(lifted, samples.n_features))
        working = coordinates.working(lifted)
        plan = self._started(self._plan(working, samples.n_features), working)
        good = without_outliers(lifted, working, coordinates.whitening, plan)
        start = plan.run(good, goal="start_of_stream")
        if start["interrupt"] is not None:
            raise start["interrupt"]
        self._stream = start["stream"]
        union = DefaultUnion(start, coordinates.whitening, None, None)
        return lifted, working, self._snapshot(union, coordinates, samples.dtype)

    def _check_same_clusters(self) -> None:
        now = self.n_components_
        if list(self._dimensions(self.n_features_in_)) != now:
            msg = (
                f"n_clusters={self.n_clusters!r} and n_components={self.n_components!r} must stay as they were while a "
                f"stream goes on ({len(now)} clusters of dimensions {now}); fit starts anew"
            )
            raise InvalidInputError(msg)
        assert self._stream is not None
        if self.replay not in (None, self._stream.replay):
            msg = f"replay={self.replay!r} must stay {self._stream.replay} while a stream goes on; fit starts anew"
            raise InvalidInputError(msg)


def moved(before: PublishedUnion, bases: list[Array], stream: _core.KSubspaces) -> PublishedUnion:
    """Return what is published once the stream has moved on from `bases`.

    Subspaces whose bases have not moved are kept: they may be better than those mapped back.
    """
    now = stream.subspaces()
    subspaces = in_data(now, before.coordinates.whitening)
    for k, (old, new) in enumerate(zip(bases, now, strict=True)):
        if np.array_equal(old, new):
            subspaces[k] = before.subspaces[k]
    return before._replace(subspaces=subspaces, bases=now, counters=stream.counters())
