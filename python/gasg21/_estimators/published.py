"""Fitted attributes that a subspace and a union of subspaces share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np

from gasg21._support.trees import stored


@stored(status=str, changes=list)
class StreamReport(NamedTuple):
    """How a stream fares."""

    status: str
    changes: list[int]


class PublishedAttributes:
    """Attributes of the object that `_current` returns, and of the report of the last `fit` inside it."""

    @abstractmethod
    def _current(self) -> Any:
        """Return what is published; raise AttributeError if nothing is."""

    def _fit_report(self) -> Any:
        report = self._current().report
        if report is None:
            msg = f"this {type(self).__name__} has not been fitted by `fit`"
            raise AttributeError(msg)
        return report

    @property
    def n_iter_(self) -> int:
        """Vectors used by the stream."""
        return int(self._current().counters["n_used"])

    @property
    def n_skipped_(self) -> int:
        """Vectors that could not be used."""
        counters = self._current().counters
        return int(counters["n_seen"] - counters["n_used"])

    @property
    def diagnostics_(self) -> dict[str, int]:
        """How many vectors were seen and used, and why others were not used."""
        return {name: count for name, count in self._current().counters.items() if name != "entries_used"}

    @property
    def history_(self) -> list[dict[str, Any]]:
        """One record per pass of the last `fit`."""
        return list(self._fit_report().history)

    @property
    def n_passes_(self) -> int:
        """Passes of the stream and of the polish in the last `fit`."""
        return len(self._fit_report().history)

    @property
    def status_(self) -> str:
        """How the last `fit` ended; after `partial_fit`, how the stream fares."""
        stream = self._current().stream
        return str(self._fit_report().status) if stream is None else str(stream.status)

    @property
    def changes_(self) -> list[int]:
        """After how many vectors of the stream its subspace was seen to change; the last 1000 changes."""
        stream = self._current().stream
        return [] if stream is None else list(stream.changes)

    @property
    def converged_(self) -> bool:
        """Whether the last `fit` converged."""
        return self._fit_report().status in ("converged", "noise_floor")


def listed(features: Any, names: Any, most: int = 10) -> str:
    """List some features by name, or by index with ranges."""
    if names is not None:
        shown = [repr(str(names[i])) for i in features]
    else:
        breaks = np.flatnonzero(np.diff(features) > 1) + 1
        shown = [str(r[0]) if len(r) == 1 else f"{r[0]}-{r[-1]}" for r in np.split(np.asarray(features), breaks)]
    more = [f"... ({len(features)} in all)"] if len(shown) > most else []
    return ", ".join(shown[:most] + more)
