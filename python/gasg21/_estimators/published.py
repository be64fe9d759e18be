"""The results of a fit and of a stream: immutable reports, and the fitted attributes that are read from them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gasg21 import _core
from gasg21._data.parameters import null_offset
from gasg21._support.arrays import Array
from gasg21._support.trees import stored


@stored(history=list, status=str, estimated_angle=float)
class FitReport(NamedTuple):
    """How the last `fit` went."""

    history: list[dict[str, Any]]
    status: str
    estimated_angle: float


@stored(status=str, changes=list)
class StreamReport(NamedTuple):
    """How a stream fares."""

    status: str
    changes: list[int]


@stored(subspace=(_core.Subspace64, _core.Subspace32), counters=dict, step_size=float, level=int)
@dataclass(frozen=True)
class Published:
    """A subspace on the compiled core as it is published: all of the same moment."""

    subspace: _core.Subspace
    counters: dict[str, int]  # how many samples were seen and used, and why others were not
    step_size: float
    level: int
    report: FitReport | None  # None: no `fit` yet
    stream: StreamReport | None = None  # None: `fit` came last
    contamination: float | None = None  # offset that a numeric contamination asks for; None: "auto"

    @cached_property
    def offset(self) -> float | None:
        """Offset of `score_samples`; None: the subspace decides about outliers.

        Where there is nothing to learn from, because few samples have come or the residual has one dimension, an
        outlier is what is as far from the subspace as a random direction.
        """
        if self.contamination is not None:
            return self.contamination
        subspace = self.subspace
        if subspace.n_features - subspace.n_components > 1 and subspace.decides:
            return None
        used = self.counters["n_used"]
        entries = self.counters["entries_used"] / used if used else subspace.n_features
        return null_offset(entries, len(subspace.basis))

    @cached_property
    def components(self) -> Array:
        return self.subspace.components

    @cached_property
    def mean(self) -> Array:
        return self.subspace.mean

    @cached_property
    def explained_variance(self) -> Array:
        return self.subspace.explained_variance

    @cached_property
    def doubt_about_decisions(self) -> str | None:
        """Say why decisions about outliers may mislead; None if nothing speaks against them."""
        subspace = self.subspace
        if self.offset is not None or self.report is None or subspace.is_exact:  # exact inliers leave no doubt
            return None
        if subspace.explains_too_little:
            advice = "Use more components, or center=True." if subspace.lift is None else "Use more components."
            return (
                "the subspace explains too little of the samples: a random vector of their length would pass for an "
                f"inlier. {advice}"
            )
        if subspace.flagged > 0.5:
            return (
                f"{subspace.flagged:.0%} of the samples are called outliers, more than half. The subspace may belong "
                "to a minority; contamination= sets the share."
            )
        if subspace.flagged == 0:
            return (
                "no sample is called an outlier: none stands out. If there are outliers, they look like inliers; "
                "contamination= sets the share."
            )
        return None


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
