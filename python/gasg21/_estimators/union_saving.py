"""What the model file of a union holds, and whether what was read belongs together."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from gasg21 import _core
from gasg21._algorithms.model_order import Selection
from gasg21._data.samples import Array
from gasg21._estimators.union import PublishedUnion
from gasg21._estimators.union_blocks import UnionBlocks
from gasg21._estimators.union_stream import moved
from gasg21._support.guarded import snapshot
from gasg21.exceptions import ModelFormatError

Self = TypeVar("Self", bound="SavedUnion")


class SavedUnion(UnionBlocks):
    """Files and pickles of a union."""

    def _frozen(self: Self) -> Self:
        frozen = snapshot(self)
        if frozen._stream is None or frozen._published is None:
            return frozen
        before = frozen._published
        frozen._stream = type(frozen._stream)._from_state(frozen._stream.__getstate__())  # others may move it
        if before.counters != frozen._stream.counters() and not _same(before.bases, frozen._stream.subspaces()):
            frozen._published = moved(before, before.bases, frozen._stream)
        return frozen

    @classmethod
    def _check_attributes(cls, attributes: dict[str, Any]) -> None:
        stream, published = attributes.get("_stream"), attributes.get("_published")
        good = isinstance(published, PublishedUnion | None) and isinstance(
            stream, _core.KSubspaces64 | _core.KSubspaces32 | None
        )
        if not good or (stream is None) != (published is None):
            msg = "there is no stream, or no subspaces"
            raise ModelFormatError(msg)
        if not isinstance(attributes.get("_selection"), Selection | None):
            msg = "the choice of the number of clusters is not one"
            raise ModelFormatError(msg)
        if published is not None and stream is not None:
            n, coordinates = attributes["n_features_in_"], published.coordinates
            shapes = [U.shape for U in stream.subspaces()]
            fits = [U.shape for U in published.subspaces] == [(d, coordinates.n_columns(n)) for d, _ in shapes]
            fits &= [U.shape for U in published.bases] == shapes
            if not fits or not all(coordinates.lead(n, r) for _, r in shapes):
                msg = "the stream and the subspaces do not belong together"
                raise ModelFormatError(msg)


def _same(some: list[Array], others: list[Array]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(some, others, strict=True))
