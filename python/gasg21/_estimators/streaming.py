"""The shell that GASG21, GROUSE and GRASTA share: validate, run the core, publish what it found."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from gasg21 import _core
from gasg21._algorithms.dimension import choose_components
from gasg21._algorithms.two_stage import Plan, Recovery, consume, without_entries
from gasg21._support.progress import progress_bar
from gasg21._estimators.subspace import SubspaceMixin, null_offset
from gasg21._data.parameters import check_n_jobs, n_threads
from gasg21._data.samples import (
    Array,
    Samples,
    check_choice,
    check_components,
    check_integer,
    check_number,
    check_samples,
    seed_of,
    unchanged_on_error,
)
from gasg21.exceptions import ConvergenceWarning, InvalidInputError
from gasg21.step_size import StepSize, core_rule

_RECENT = 2048  # residuals of a stream that a numeric contamination is taken from
_PROBED = 1000  # samples to look at, at least, to see whether they span the subspace

# What follows from where the tracker stands.
_PUBLISHED = ("components_", "n_iter_", "n_skipped_", "diagnostics_", "step_size_", "level_", "offset_")

_ADVICE = {
    "max_passes": "Raise max_passes; if that does not help, n_components may be too small.",
    "rank_deficient": "Some of its directions are arbitrary: use a smaller n_components.",
    "undetermined": "Give more data or more entries of it, or use a smaller n_components.",
}


class StreamingSubspace(SubspaceMixin):
    """A subspace that is fitted and updated by the compiled tracker."""

    _loss: ClassVar[str]
    # What GASG21 has as parameters and the others do not.
    scaling: bool = False
    polish: bool = False
    working_components: int | None = None

    components_: Array
    n_components_: int
    n_features_in_: int
    n_iter_: int
    n_passes_: int
    n_skipped_: int
    converged_: bool
    status_: str
    estimated_angle_: float
    step_size_: float
    level_: int
    history_: list[dict[str, Any]]
    diagnostics_: dict[str, int]
    _tracker: _core.Tracker
    _recent: deque[float]
    _checked: bool = False  # the parameters are such that a plain vector needs no further checks

    def __init__(
        self,
        n_components: int | str = 1,
        *,
        step_size: str | StepSize = "adaptive",
        init: Any = "random",
        max_passes: int = 20,
        tol: float = 1e-6,
        contamination: str | float = "auto",
        on_bad: str = "raise",
        absent: str = "missing",
        random_state: Any = None,
        verbose: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.step_size = step_size
        self.init = init
        self.max_passes = max_passes
        self.tol = tol
        self.contamination = contamination
        self.on_bad = on_bad
        self.absent = absent
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: None = None, mask: Any = None) -> StreamingSubspace:
        """Find the subspace, by shuffled passes over the data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            One sample per row. NaN is missing; of a sparse matrix the stored entries are the observed
            ones. C-ordered float64 and float32 arrays, memory-mapped or not, are never copied.
        y : ignored
        mask : bool array of the shape of X, optional
            True = observed.

        Returns
        -------
        self
            Ctrl-C raises KeyboardInterrupt and leaves the subspace reached so far, with
            ``status_ = "interrupted"``.
        """
        interrupt: KeyboardInterrupt | None = None
        with unchanged_on_error(self):
            self._check_parameters()
            samples = check_samples(self, X, mask, reset=True)
            seed = seed_of(self.random_state)
            d = self._dimension(samples, seed)
            working = self._working_dimension(d, samples.n_features)
            rule = self._rule(stream=False)
            plan = Plan(
                max_passes=self.max_passes,
                tol=self.tol,
                polish=self.polish,
                scaling=self.scaling,
                n_components=d,
                seed=seed,
                loss=self._tracker_loss(),
                n_threads=n_threads(self.n_jobs),
            )
            recovery = Recovery(plan, samples, self._start(samples, working, rule, seed))
            try:
                passes = None if self.polish else self.max_passes
                with progress_bar(type(self).__name__, samples.n_samples, passes, self.verbose) as progress:
                    recovery.run(progress)
                self._publish_fit(recovery)
                if not self._spanned_by(samples):
                    self.status_, self.converged_ = "rank_deficient", False
                self._set_offset(lambda: self._telling_scores(samples))
            except KeyboardInterrupt as caught:
                interrupt = caught
                self._publish_fit(recovery)
                self.status_, self.converged_ = "interrupted", False
        if interrupt is not None:
            raise interrupt
        self._warn_unless_converged()
        return self

    def partial_fit(self, X: Any, y: None = None, mask: Any = None) -> StreamingSubspace:
        """Update the subspace with each sample, in the order given: the stream goes on where it was.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            As for `fit`.
        y : ignored
        mask : bool array of the shape of X, optional
            True = observed.

        Returns
        -------
        self
        """
        if mask is None and self._took_row(X):
            return self
        interrupt: KeyboardInterrupt | None = None
        with unchanged_on_error(self):
            self._check_parameters()
            first = not hasattr(self, "_tracker")
            dtype = None if first else self.components_.dtype
            samples = check_samples(self, X, mask, reset=first, dtype=dtype)
            tracker = self._start_stream(samples) if first else self._tracker
            if not first:
                self._check_same_components()
            with progress_bar(type(self).__name__, samples.n_samples, 1, self.verbose) as progress:
                try:
                    self._recent.extend(-consume(tracker, samples, None, progress)[-_RECENT:])
                except KeyboardInterrupt as caught:  # the tracker stands between two vectors
                    interrupt = caught
            self._publish(tracker)
            self._set_offset(lambda: np.asarray(self._recent))
            self._checked = self._auto_offset() and not self.verbose and not hasattr(self, "feature_names_in_")
        if interrupt is not None:
            raise interrupt
        return self

    def _took_row(self, X: Any) -> bool:
        """Go on with one plain vector (see `consume_row`), if no parameter has changed since the last call.

        The checks would take many times the update, and so would publishing: `__getattr__` does that when
        somebody looks.
        """
        if not self._checked:
            return False
        residual = self._tracker.consume_row(X)
        if residual is None:
            return False
        self._recent.append(-residual)
        if "components_" in self.__dict__:
            for name in _PUBLISHED:
                self.__dict__.pop(name, None)
        return True

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and not name.endswith("_"):
            self.__dict__.pop("_checked", None)  # a parameter
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        if name not in _PUBLISHED or "_tracker" not in self.__dict__:
            msg = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(msg)
        published = self._published(self._tracker)
        self.__dict__.update(published)
        return published[name]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(_PUBLISHED if "_tracker" in self.__dict__ else ())})

    def _start_stream(self, samples: Samples) -> _core.Tracker:
        seed = seed_of(self.random_state)
        rule = self._rule(stream=True)
        self._recent = deque(maxlen=_RECENT)
        return self._start(samples, self._dimension(samples, seed), rule, seed)

    def _tracker_loss(self) -> _core.Loss:
        return self._loss

    def _rule(self, stream: bool) -> _core.StepRule:
        l1 = not isinstance(self._tracker_loss(), str)
        return core_rule(self.step_size, scaling=self.scaling, stream=stream, l1=l1)

    def _check_parameters(self) -> None:
        check_integer("max_passes", self.max_passes, 1)
        check_number("tol", self.tol, 0)
        check_n_jobs(self.n_jobs)
        for name in ("scaling", "polish"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                msg = f"{name}={getattr(self, name)!r} must be True or False"
                raise InvalidInputError(msg)
        if not self._auto_offset():
            check_number("contamination", self.contamination, 0, 0.99, open_low=True)

    def _check_same_components(self) -> None:
        if self.n_components not in ("auto", self.n_components_):
            msg = (
                f"n_components={self.n_components!r} must stay {self.n_components_} while a stream goes on; "
                "fit starts anew"
            )
            raise InvalidInputError(msg)

    def _dimension(self, samples: Samples, seed: int) -> int:
        if isinstance(self.n_components, str) and self.n_components == "auto":
            return choose_components(samples, seed, n_threads(self.n_jobs))
        return check_components(self.n_components, samples.n_features)

    def _working_dimension(self, d: int, n_features: int) -> int:
        if self.working_components is None:
            return d
        if not self.polish:
            msg = f"working_components={self.working_components!r} must be None with polish=False"
            raise InvalidInputError(msg)
        return check_integer("working_components", self.working_components, d, n_features - 1, "n_features - 1 = ")

    def _start(self, samples: Samples, d: int, rule: _core.StepRule, seed: int) -> _core.Tracker:
        n, double = samples.n_features, samples.dtype == np.float64
        tracker = _core.Tracker64 if double else _core.Tracker32
        loss = self._tracker_loss()
        metric = _core.CovarianceScaling() if self.scaling else _core.NoScaling()
        if isinstance(self.init, str):
            check_choice("init", self.init, ("random", "spherical_pca"))
            if self.init == "random":
                return tracker(n, d, rule, seed, loss, metric)
            rows = _core.permutation(samples.n_samples, seed)[: max(20 * d, 100)]
            chosen = samples.take(np.sort(rows))
            start = _core.spherical_pca64 if double else _core.spherical_pca32
            components = start(chosen.payload, chosen.mask, n, d, seed)
            return tracker.from_components(components, rule, seed, loss, metric)
        try:
            init = np.array(self.init, samples.dtype, order="C")
        except (ValueError, TypeError) as error:
            msg = f"init={self.init!r} must be 'random', 'spherical_pca' or an array of numbers"
            raise InvalidInputError(msg) from error
        if init.shape != (d, n):
            msg = f"init has shape {init.shape}; it must have (n_components, n_features) = {(d, n)}"
            raise InvalidInputError(msg)
        try:
            return tracker.from_components(init, rule, seed, loss, metric)
        except ValueError as error:
            msg = "init must have finite, linearly independent rows"
            raise InvalidInputError(msg) from error

    def _publish_fit(self, recovery: Recovery) -> None:
        self._recent = deque(maxlen=_RECENT)
        self._checked = False
        self._publish(recovery.tracker)
        self._go_on_from(recovery)
        self.history_ = recovery.history
        self.n_passes_ = len(recovery.history)
        self.status_ = recovery.status
        self.converged_ = recovery.status in ("converged", "noise_floor")
        self.estimated_angle_ = recovery.estimated_angle

    def _go_on_from(self, recovery: Recovery) -> None:
        """Let `partial_fit` go on from what the fit found, with steps as long as it may be off."""
        trimmed = recovery.plan.n_components < self.n_components_
        paper = not (self.scaling or self.polish)
        if paper or (recovery.status == "interrupted" and recovery.in_stream and not trimmed):
            return  # the tracker itself is what there is
        self.components_ = recovery.components
        self.n_components_ = len(recovery.components)
        rule = self._rule(stream=True)
        if isinstance(rule, _core.AdaptiveStep):
            rule = rule.at_level(round(np.log2(rule.eta / max(recovery.estimated_angle, 1e-12))))
        else:
            rule = self._tracker.rule
        if trimmed:
            metric = _core.CovarianceScaling() if self.scaling else _core.NoScaling()
            kind = type(self._tracker)
            tracker = kind.from_components(self.components_, rule, recovery.plan.seed, self._tracker_loss(), metric)
            self._tracker = tracker.with_counters_of(self._tracker)
        else:
            self._tracker.restart(self.components_, rule)
        self._publish(self._tracker)
        self.components_ = recovery.components

    def _publish(self, tracker: _core.Tracker) -> None:
        self._tracker = tracker
        self.__dict__.update(self._published(tracker))
        self.n_components_ = len(self.components_)

    @staticmethod
    def _published(tracker: _core.Tracker) -> dict[str, Any]:
        counters, components = tracker.counters(), tracker.components()
        used = counters["n_used"]
        values = (
            components,
            used,
            counters["n_seen"] - used,
            without_entries(counters),
            tracker.eta,
            tracker.level,
            null_offset(counters["entries_used"] / max(used, 1), len(components)),
        )
        return dict(zip(_PUBLISHED, values, strict=True))

    def _auto_offset(self) -> bool:
        return isinstance(self.contamination, str) and self.contamination == "auto"

    def _set_offset(self, scores: Callable[[], Array]) -> None:
        """Put the offset where the share `contamination` of the scores lies below it, unless it is "auto"."""
        if self._auto_offset():
            return
        telling = scores()
        telling = telling[~np.isnan(telling)]
        self._recent.extend(telling[-_RECENT:] if not self._recent else ())
        if len(telling):
            self.offset_ = float(np.percentile(telling, 100 * float(self.contamination)))

    def _spanned_by(self, samples: Samples) -> bool:
        """Whether the samples reach every direction of the subspace: their weights have full rank."""
        wanted = max(_PROBED, 20 * self.n_components_)
        weights = self._project(samples.every(max(1, samples.n_samples // wanted)))[0]
        weights = weights[np.abs(weights).max(axis=1) > 0]  # without samples that tell nothing
        weights /= np.abs(weights).max(axis=1, keepdims=True)  # first, so that no square overflows
        weights /= np.linalg.norm(weights, axis=1, keepdims=True)
        if len(weights) < self.n_components_:
            return False
        s = np.linalg.svd(weights, compute_uv=False)
        return bool(s[-1] > 1e-6 * s[0])

    def _warn_unless_converged(self) -> None:
        if self.converged_ or (self.status_ == "max_passes" and self.tol == 0):
            return
        found = {
            "max_passes": f"the subspace still moved by {self.history_[-1]['moved']:.1e} rad in the last pass "
            f"(max_passes={self.max_passes}, tol={self.tol}).",
            "rank_deficient": f"the samples do not span a subspace of dimension n_components={self.n_components_}.",
            "undetermined": f"the data does not determine a subspace of dimension {self.n_components_}: what was found "
            "does not predict entries that were held out.",
        }[self.status_]
        warnings.warn(f"{found} {_ADVICE[self.status_]}", ConvergenceWarning, stacklevel=3)
