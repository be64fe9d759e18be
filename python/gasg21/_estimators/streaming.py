"""`fit` and `partial_fit` of GASG21, GROUSE and GRASTA: validate, call the core, publish."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from gasg21 import _core
from gasg21._algorithms.block_fit import fit_blocks
from gasg21._algorithms.block_sums import BlockSums
from gasg21._data.block_source import BlockSource
from gasg21._data.constructor import check_parameters
from gasg21._data.parameters import check_components, is_auto_or_share, progress_bar, seed_of
from gasg21._data.samples import Batch, Samples, check_samples, known_values, one_as_row, refuse_infinite
from gasg21._estimators.fit_plan import FitPlan
from gasg21._estimators.fit_warnings import warn_of_offset, warn_unless_converged
from gasg21._estimators.in_blocks import check_is_plain, opened, set_features
from gasg21._estimators.parameter_tables import StreamParameters
from gasg21._estimators.published import FitReport, Published, StreamReport
from gasg21._estimators.published_subspace import PublishedSubspace
from gasg21._support.arrays import Array
from gasg21._support.engines import Engine
from gasg21._support.guarded import drafted, snapshot
from gasg21._support.progress import PassCallback, Progress
from gasg21.exceptions import InvalidInputError, ModelFormatError

_FEWEST_TO_CENTER = 20  # samples that a centre is estimated from
Self = TypeVar("Self", bound="StreamingSubspace")
_RECENT = 2048  # residuals of a stream that a numeric contamination is taken from


class StreamingSubspace(StreamParameters, PublishedSubspace):
    """A subspace that the compiled tracker fits and updates."""

    _loss: ClassVar[str]
    # Parameters of GASG21 alone.
    polish: bool = False
    working_components: int | None = None

    n_features_in_: int
    _pending: list[Array] = []  # noqa: RUF012 (replaced, never changed): samples before an affine stream can start
    _last_residuals: Array | float | None = None  # of the last `partial_fit`
    _recent: deque[float]  # minus the residuals of the last vectors of a stream
    _row_parameters: tuple[Any, ...] | None = None  # with these values one plain vector needs no further checks
    _has_names: bool = False  # whether its features have names

    # ---- fitting

    def fit(
        self, X: Any, y: None = None, mask: Any = None, *, callback: PassCallback | None = None
    ) -> StreamingSubspace:
        """Find the subspace, by shuffled passes over the data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or BlockSource
            One sample per row. NaN is missing. The stored entries of a sparse matrix are the observed ones. C-ordered
            float64 and float32 arrays, memory-mapped or not, are never copied; others are, once. A
            `gasg21.blocks.BlockSource` is fitted part by part, if the estimator polishes.
        y : ignored
        mask : bool array of the shape of X, optional
            True = observed.
        callback : callable, optional
            Called with the record of each pass, a dict as in `history_`. If it returns something true, the fit ends
            there: the model has the subspace reached so far, and ``status_ = "interrupted"``. What it raises ends
            the fit and leaves the model as it was.

        Returns
        -------
        self
            Ctrl-C raises KeyboardInterrupt and leaves the subspace reached so far, with
            ``status_ = "interrupted"``.
        """
        with drafted(self) as draft:
            interrupt, samples, batch, doubts = draft._fit(X, mask, callback)
        published = draft._published
        assert published is not None
        assert published.report is not None
        if interrupt is not None:
            raise interrupt
        warn_unless_converged(self, published.report, published.subspace.n_components, doubts)
        if not self.center and not self._plan().is_paper and samples.n_samples >= _FEWEST_TO_CENTER:
            warn_of_offset(samples, batch)
        return self

    def partial_fit(self, X: Any, y: None = None, mask: Any = None) -> StreamingSubspace:
        """Update the subspace with each sample, in the order given. The stream continues where it was.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_features,), or sparse matrix
            As for `fit`. One vector may be given without the first axis.
        y : ignored
        mask : bool array of the shape of X, optional
            True = observed.

        Returns
        -------
        self
            ``status_``, ``changes_`` and ``residuals_`` say how the stream fares.
        """
        if self._row_parameters == self._values_in_use(self):
            row = known_values(self, X) if self._has_names else X
            residual = self._tracker.consume_row(row, mask)  # type: ignore[union-attr]
            if residual is not None:
                self._recent.append(-residual)  # the next reader publishes: that takes longer than the update
                self._last_residuals = residual
                return self
        with drafted(self) as draft:
            interrupt = draft._partial_fit(X, mask)
        if interrupt is not None:
            raise interrupt
        return self

    def _fit(
        self, X: Any, mask: Any, callback: PassCallback | None
    ) -> tuple[KeyboardInterrupt | None, Samples, Batch, _core.Doubts]:
        """Fit a draft. Returns what interrupted it, the samples, and the doubts about the result."""
        self._check_parameters()
        if isinstance(X, BlockSource):
            return self._fit_blocks(X, mask, callback)
        # A stream meets every infinity in its first pass: then no search has to come before.
        meets_all = not self.polish and not is_auto_or_share(self.n_components)
        samples, plan = check_samples(self, X, mask, reset=True, finite=False), self._plan()
        if not meets_all and self.on_bad == "raise":
            refuse_infinite(samples, 1 if samples.is_small else plan.n_threads)
        batch, seed = samples.whole(), seed_of(self.random_state)
        passes = None if self.polish else self.max_passes
        search = (lambda: refuse_infinite(samples, 1)) if meets_all and self.on_bad == "raise" else None
        with progress_bar(self, samples.n_samples, passes, callback) as progress:
            d = plan.dimension(samples, batch, seed, progress)
            arguments = plan.recovery(samples, batch, d, seed, progress)
            found = _core.recover(**arguments, rotate=not plan.is_paper, search_infinite=search)
        return self._take_over(found, found.interrupt, samples, None), samples, batch, found.doubts

    def _fit_blocks(
        self, source: BlockSource, mask: Any, callback: PassCallback | None = None, engine: Engine | None = None
    ) -> tuple[KeyboardInterrupt | None, Samples, Batch, _core.Doubts]:
        """Fit a draft to data in blocks. The samples that it returns are some of them."""
        check_is_plain(mask)
        if not self.polish:
            msg = f"{type(self).__name__}.fit takes a BlockSource only with the polish, which works on blocks"
            raise InvalidInputError(msg)
        set_features(self, source)
        seed, plan = seed_of(self.random_state), self._plan()

        def solve(sample: Samples) -> _core.BlockFit:
            batch, progress = sample.whole(), blocks.progress
            d = plan.dimension(sample, batch, seed, progress)
            return _core.solve_sample(**plan.recovery(sample, batch, d, seed, progress))

        with opened(self, source, seed, callback, engine) as blocks:
            result = fit_blocks(blocks, solve, rotate=not plan.is_paper)
        interrupt = self._take_over(result.found, result.interrupt, result.sample, result.sums)
        return interrupt, result.sample, result.sample.whole(), result.found.doubts

    def _take_over(
        self, found: _core.Recovered, interrupt: BaseException | None, samples: Samples, sums: BlockSums | None
    ) -> KeyboardInterrupt | None:
        """Publish what the core has found. `sums` are over all samples, if `samples` are some of them."""
        if interrupt is not None and not isinstance(interrupt, KeyboardInterrupt):
            raise interrupt
        report = FitReport(found.history, found.status, found.estimated_angle)
        published = Published(found.subspace, found.counters, found.step_size, found.level, report, None)
        recent = deque[float](maxlen=_RECENT)
        if interrupt is None and not self._auto_offset():
            scores = _finite(-self._residuals(samples, telling=True, subspace=published.subspace))
            recent.extend(scores[-_RECENT:])
            if sums is None:
                published = self._with_offset(published, scores)
            else:
                published = replace(published, contamination=-sums.quantile(1 - float(self.contamination)))
        self._tracker, self._recent, self._row_parameters = found.tracker, recent, None
        self._last_residuals = None
        self._report, self._published, self._pending = report, published, []
        return interrupt

    def _partial_fit(self, X: Any, mask: Any) -> BaseException | None:
        """Update a draft. Returns what stopped it between two vectors."""
        self._check_parameters()
        first = self._tracker is None
        reset, dtype = first and not self._pending, None if first else self._model_dtype()
        samples = check_samples(self, *one_as_row(X, mask), reset=reset, dtype=dtype)
        if first:
            if self.center and not self._is_enough(samples):
                return None
            samples = self._with_pending(samples)
            self._start_stream(samples)
        else:
            self._check_same_components()
        stopped: BaseException | None = None
        with progress_bar(self, samples.n_samples, 1) as progress:
            try:
                self._consume(samples, progress)
            except BaseException as caught:  # the vectors before it count: the tracker stands between two vectors
                stopped = caught
        assert self._tracker is not None
        self._published = self._publish()
        self._row_parameters = None if self.verbose else self._values_in_use(self)
        self._has_names = hasattr(self, "feature_names_in_")
        return stopped

    def _start_at(self, basis: Array, mean: Any) -> None:
        """Start a stream at a known subspace, through the origin or through a point."""
        self._check_parameters()
        n = basis.shape[1]
        check_components(len(basis), n)
        point = np.zeros((1, n), basis.dtype)
        if mean is not None:
            point = np.array(mean, basis.dtype, ndmin=2)  # the lift of one sample has it as its centre
            if point.shape != (1, n) or not np.isfinite(point).all():
                msg = f"mean has shape {np.shape(mean)}; it must hold n_features = {n} finite numbers"
                raise InvalidInputError(msg)
        self.n_features_in_ = n
        self._start_stream(Samples(point, None, basis.dtype), basis)
        self._published = self._publish()

    def _start_stream(self, samples: Samples, init: Array | None = None) -> None:
        self._recent = deque(maxlen=_RECENT)
        self._tracker = self._plan().tracker(samples, seed_of(self.random_state), init)

    def _is_enough(self, samples: Samples) -> bool:
        """Return whether an affine stream can start: a lift needs some samples. Until then they wait."""
        d = 1 if is_auto_or_share(self.n_components) else check_components(self.n_components, samples.n_features)
        waiting = sum(map(len, self._pending)) + samples.n_samples
        if waiting >= max(_FEWEST_TO_CENTER, 2 * (d + 1)):
            return True
        self._pending = [*self._pending, np.array(samples.dense())]
        return False

    def _with_pending(self, samples: Samples) -> Samples:
        if not self._pending:
            return samples
        data, self._pending = np.concatenate([*self._pending, samples.dense()]), []
        return Samples(data, None, data.dtype)

    def _consume(self, samples: Samples, progress: Progress | None) -> None:
        assert self._tracker is not None
        parts = []
        try:
            for batch in samples.batches():
                parts.append(self._tracker.consume(batch.payload, batch.mask, None, progress))
                self._recent.extend(-parts[-1][-_RECENT:])
        finally:
            self._last_residuals = np.concatenate(parts) if parts else np.empty(0)

    # ---- parameters

    def _is_scaled(self) -> bool:
        """Return whether steps are measured in the scaled metric."""
        return False

    def _tracker_loss(self) -> _core.Loss:
        return self._loss

    def _plan(self) -> FitPlan:
        return FitPlan(self, self._tracker_loss(), self._is_scaled(), bool(self.polish), self.working_components)

    def _auto_offset(self) -> bool:
        return isinstance(self.contamination, str) and self.contamination == "auto"

    def _check_parameters(self) -> None:
        check_parameters(self)
        self._is_scaled()

    def _check_same_components(self) -> None:
        assert self._tracker is not None
        if self.center != self._tracker.is_lifted:
            msg = f"center={self.center!r} must stay {self._tracker.is_lifted} while a stream goes on; fit starts anew"
            raise InvalidInputError(msg)
        if self.replay not in (None, self._tracker.replay):
            msg = f"replay={self.replay!r} must stay {self._tracker.replay} while a stream goes on; fit starts anew"
            raise InvalidInputError(msg)
        if not is_auto_or_share(self.n_components) and self.n_components != self.n_components_:
            msg = (
                f"n_components={self.n_components!r} must stay {self.n_components_} while a stream goes on; "
                "fit starts anew"
            )
            raise InvalidInputError(msg)

    # ---- publishing

    @property
    def residuals_(self) -> Array:
        """Residuals of the unit-norm samples of the last `partial_fit`, each from before its update; NaN if skipped."""
        if self._last_residuals is None:
            msg = f"this {type(self).__name__} has not been updated by `partial_fit`"
            raise AttributeError(msg)
        return np.atleast_1d(np.asarray(self._last_residuals, np.float64))

    def _publish(self) -> Published:
        if self._tracker is None:
            waiting = sum(map(len, self._pending))
            more = f": {waiting} samples wait for more, which center=True needs to start" if waiting else ""
            msg = f"this {type(self).__name__} has not been fitted{more}"
            raise AttributeError(msg)
        return self._with_offset(self._snapshot(self._tracker, self._report), np.asarray(self._recent.copy()))

    # ---- saving

    _transient = ("_row_parameters", "_has_names")

    def _frozen(self: Self) -> Self:
        frozen = snapshot(self)
        if frozen._tracker is not None:  # which other threads may move
            frozen._tracker = type(frozen._tracker)._from_state(frozen._tracker.__getstate__())
            frozen._recent = frozen._recent.copy()
            frozen._published = frozen._current()
        return frozen

    def _is_started(self) -> bool:
        return bool(self._pending)

    @classmethod
    def _check_attributes(cls, attributes: dict[str, Any]) -> None:
        kinds = {
            "_tracker": _core.Tracker64 | _core.Tracker32 | None,
            "_published": Published | None,
            "_report": FitReport | None,
            "_recent": deque,
            "_pending": list,
            "n_features_in_": int,
        }
        for name, kind in kinds.items():
            if name in attributes and not isinstance(attributes[name], kind):
                msg = f"{name} is a {type(attributes[name]).__name__}"
                raise ModelFormatError(msg)
        tracker, published = attributes.get("_tracker"), attributes.get("_published")
        if tracker is not None and (
            published is None
            or tracker.n_features != published.subspace.n_features
            or tracker.n_features != attributes.get("n_features_in_")
        ):
            msg = "the tracker and the subspace do not belong together"
            raise ModelFormatError(msg)

    @classmethod
    def _from_core(cls: type[Self], tree: dict[str, Any]) -> Self:
        stream = tree["tracker"]
        said = _core.decode(stream.__getstate__(), objects=False)["object"]
        scaled = said["state"]["metric"]["type"] == "CovarianceScaling"
        n_components = stream.published()[0].n_components
        metric = "scaled" if scaled else "canonical"
        parameters: dict[str, Any] = {"metric": metric, "polish": scaled} if "metric" in cls._get_param_names() else {}
        loss = {f"admm_{name}": said["loss"][name] for name in ("rho", "max_iter", "tol") if name in said["loss"]}
        model = cls(n_components, center=stream.is_lifted, replay=stream.replay, **parameters, **loss)
        model._tracker, model.n_features_in_, model._recent = stream, stream.n_features, deque(maxlen=_RECENT)
        model._published = model._publish()
        return model

    def _snapshot(self, tracker: _core.Tracker, report: FitReport | None) -> Published:
        subspace, counters, step_size, level, status, changes = tracker.published(not self._plan().is_paper)
        return Published(subspace, counters, step_size, level, report, StreamReport(status, changes))

    def _with_offset(self, published: Published, scores: Array) -> Published:
        """Put the offset where the share `contamination` of the scores lies below it, unless it is "auto"."""
        scores = _finite(scores)
        if self._auto_offset() or not len(scores):
            return published
        return replace(published, contamination=float(np.percentile(scores, 100 * float(self.contamination))))


def _finite(scores: Array) -> Array:
    return scores[~np.isnan(scores)]
