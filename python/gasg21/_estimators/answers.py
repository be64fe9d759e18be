"""The steps of every method that reads a model before it computes: parts, a plain row, a snapshot."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from gasg21._data.block_source import BlockSource
from gasg21._data.frames import as_table
from gasg21._estimators.in_blocks import over_parts
from gasg21._support.arrays import Array
from gasg21._support.guarded import snapshot

Method = TypeVar("Method", bound=Callable[..., Any])
RowAnswer = Callable[[Any, Any, Array, Any], Array | None]

STACKLEVEL = 3  # of a warning in a decorated method, so that it names the line of the user's call


def answers(*, row: RowAnswer | None = None, columns: tuple[str, ...] | None = None) -> Callable[[Method], Method]:
    """Let a method take a `BlockSource`, answer one plain row at once, and else work on a snapshot.

    ``row(estimator, published, row, mask)`` returns None for what is not plain: that goes the long way. With
    ``columns`` the result becomes a table where `set_output` asks for one; ``()`` stands for the features.
    """

    def decorate(method: Method) -> Method:
        @functools.wraps(method)
        def answered(self: Any, X: Any, mask: Any = None) -> Any:
            if isinstance(X, BlockSource):
                return over_parts(answered, self, X, mask)
            plain = None if row is None else self._plain_row(X)
            if row is not None and plain is not None:
                at_once = row(self, self._current(), plain, mask)
                if at_once is not None:
                    return at_once
            reader = self if self._origin is not None else snapshot(self)
            found = method(reader, X, mask)
            return found if columns is None else as_table(reader, found, columns, X)

        return answered  # type: ignore[return-value]

    return decorate
