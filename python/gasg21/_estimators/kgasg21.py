"""KGASG21: a union of subspaces."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from gasg21 import _core
from gasg21._algorithms.clusters import UnionPlan, assign, is_near
from gasg21._algorithms.ensemble import fit_members, join_runs
from gasg21._algorithms.whitening import Whitening
from gasg21._data.parameters import (
    check_choice,
    check_components,
    check_flag,
    check_integer,
    check_n_jobs,
    check_number,
    check_replay,
    n_threads,
    progress_bar,
    seed_of,
)
from gasg21._data.samples import Array, Samples, check_samples, one_as_row, unchanged_on_error
from gasg21._estimators.published import PublishedAttributes
from gasg21._estimators.union import PublishedUnion, UnionMixin, UnionReport, UnionStreamReport, finite_rows
from gasg21._support.progress import Progress
from gasg21.exceptions import ConvergenceWarning, InvalidInputError
from gasg21.step_size import StepSize


class KGASG21(UnionMixin, PublishedAttributes):
    """Robust clustering into a union of subspaces, from data with outliers and missing entries.

    Makes candidate subspaces from the neighbours of sampled points, selects the K with the least sum of distances, and
    refines them: each sample goes to the nearest subspace, which takes one step of `GASG21`. Then each subspace is
    polished on its own members, samples are assigned again, and so on. Missed subspaces are sought where samples lie
    densely and far from all subspaces. Each sample is scaled to unit length first; data is not centred. An affine
    subspace of dimension d is a linear one of dimension d + 1: for motion segmentation use n_components=4, or append
    a constant feature. ``init="farthest", scaling=False, polish=False`` is the paper's K-GASG21. docs/clustering.md
    explains it.

    Parameters
    ----------
    n_clusters : int
        Number K of subspaces.
    n_components : int or list of n_clusters ints
        Dimension of the subspaces, or of each.
    init : {"density", "farthest"} or list of n_clusters arrays of shape (d_i, n_features)
        "density" takes seeds where samples lie densely and no candidate is near, imputes missing entries, and
        exchanges candidates after the greedy selection. "farthest" is the paper's probabilistic farthest insertion
        on zero-filled data; it needs more candidates, and is always used with ``whiten=True``, where outliers are
        left out first. Or the subspaces to start from.
    n_candidates : int, optional
        Number of candidate subspaces; None means 3 per cluster for "density", 10 for "farthest".
    n_neighbors : int, optional
        Samples that a candidate is first fitted to, the seed among them. None means d + 3, or 2 d + 2 with
        ``whiten=True``, whose coordinates are noisier.
    n_ensemble : int
        Number of runs from different seeds (the paper's stream, 10 passes). The better half is joined by
        co-association and spectral clustering, then each cluster is fitted again with scaling and polish. For real
        data of up to a few thousand samples, where single runs differ. The matrix that joins the runs has
        n_samples^2 entries.
    whiten : bool
        Work in the leading principal coordinates, divided by the square root of their singular values; outliers are
        left out and missing entries filled in first. For real, ill-conditioned data whose clusters together have a
        low rank. `subspaces_` are then fitted to the clusters in the original coordinates (those that `partial_fit`
        moves are mapped back, which is less exact). The lengths of the samples count here. New samples need more
        than sum(d_i) observed entries. Data is copied, as float64.
    scaling : bool
        True measures steps in units of the weights' own spread, as in `GASG21`.
    polish : bool
        Whether `fit` polishes and repairs. `partial_fit` never does.
    reject_outliers : bool
        Whether samples as far from all subspaces as a random direction get the label -1.
    step_size : {"adaptive", "diminishing", "constant"} or an instance from `gasg21.step_size`
        Each subspace has its own rule. The first step of "adaptive" is at most 0.1 and at most half the median
        residual after the selection.
    max_passes : int
        Largest number of passes of the stream in `fit`. With polish the stream makes a few, and the polish at most
        twice as many rounds after those around the repair.
    tol : float
        The angle to aim at, in radians. 0 without polish runs all passes.
    on_bad, absent
        As for `GASG21`.
    random_state : int, RandomState, Generator or None
        An int gives the same bits every time.
    verbose : int
        1 shows a progress bar.
    n_jobs : int or None
        Threads, as for `GASG21`; for an ensemble the number of runs at the same time. It changes no bit of the
        results.

    Attributes
    ----------
    subspaces_ : list of n_clusters ndarrays of shape (d_i, n_features)
        Orthonormal bases.
    labels_ : ndarray of shape (n_samples,)
        Cluster of each training sample; -1 where too few entries are observed, and for outliers with
        ``reject_outliers=True``.
    residuals_ : ndarray of shape (n_samples,)
        After `partial_fit`: distance of each of its samples to its subspace; NaN if not determined.
    n_iter_ : int
        Vectors used by the stream.
    n_passes_ : int
        Passes of the stream and rounds of the polish in the last `fit`.
    status_ : str
        How the last `fit` ended: "converged" (to `tol`), "noise_floor" (as close as the noise lets it),
        "max_passes", "undetermined" (some subspace has too few members to be determined), "interrupted", or
        with one cluster "rank_deficient".
    converged_ : bool
        True for the first two of these.
    estimated_angles_ : ndarray of shape (n_clusters,)
        Standard error of the largest angle between each subspace and the true one, from the data alone; pi / 2
        where it is unknown (without polish).
    timings_ : dict
        Seconds that the last `fit` spent in "seed" (candidates), "select" and "refine".
    history_ : list of dict
        One record per pass: its stage, the angle by which each subspace ``moved`` (in the polish: by the first step
        of the round), the ``members`` of each.
    diagnostics_ : dict of int
        How many samples the stream has seen and used, and why others were not used.
    n_skipped_ : int
        Samples that could not be used.

    Examples
    --------
    >>> from gasg21 import KGASG21
    >>> from gasg21.datasets import make_union_of_subspaces
    >>> from gasg21.metrics import clustering_error
    >>> p = make_union_of_subspaces(400, 30, 2, 3, outlier_fraction=0.25, observed_fraction=0.8, random_state=0)
    >>> model = KGASG21(3, 2, reject_outliers=True, random_state=0).fit(p.data)
    >>> clustering_error(p.labels, model.labels_, outlier_label=-1)
    0.0
    """

    n_features_in_: int
    _stream: _core.KSubspaces | None = None

    def __init__(
        self,
        n_clusters: int = 2,
        n_components: int | list[int] = 1,
        *,
        init: Any = "density",
        n_candidates: int | None = None,
        n_neighbors: int | None = None,
        n_ensemble: int = 1,
        whiten: bool = False,
        scaling: bool = True,
        polish: bool = True,
        reject_outliers: bool = False,
        step_size: str | StepSize = "adaptive",
        replay: int | None = None,
        max_passes: int = 20,
        tol: float = 1e-6,
        on_bad: str = "raise",
        absent: str = "missing",
        random_state: Any = None,
        verbose: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.init = init
        self.n_candidates = n_candidates
        self.n_neighbors = n_neighbors
        self.n_ensemble = n_ensemble
        self.whiten = whiten
        self.scaling = scaling
        self.polish = polish
        self.reject_outliers = reject_outliers
        self.step_size = step_size
        self.replay = replay
        self.max_passes = max_passes
        self.tol = tol
        self.on_bad = on_bad
        self.absent = absent
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    # ---- fitting

    def fit(self, X: Any, y: None = None, mask: Any = None) -> KGASG21:
        """Find the subspaces and label the samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            One sample per row. NaN is missing. The stored entries of a sparse matrix are the observed ones. C-ordered
            float64 and float32 arrays, memory-mapped or not, are not copied, except for a few thousand samples that
            candidates are made from; other layouts are, once.
        y : ignored
        mask : bool array of the shape of X, optional
            True = observed.

        Returns
        -------
        self
            Ctrl-C raises KeyboardInterrupt. Once the stream has begun it leaves the subspaces reached so far, with
            ``status_ = "interrupted"``; before, and in an ensemble, it leaves everything as it was.
        """
        began = time.perf_counter()
        with unchanged_on_error(self):
            samples = self._check_fit(X, mask)
            whitening = self._whitening_of(samples)
            working = self._working(samples, whitening)
            plan = self._plan(working)
            with progress_bar(self, samples.n_samples, None if self.polish else self.max_passes) as progress:
                found = self._recover(plan, _without_outliers(samples, working, whitening, plan), progress)
            interrupt = found["interrupt"]
            if interrupt is not None and not isinstance(interrupt, KeyboardInterrupt):
                raise interrupt
            self._stream = found["stream"]
            published = self._snapshot(found["subspaces"], whitening, found.get("counters"))
            batch, settled = working.whole(), found["status"] in ("converged", "noise_floor")
            self._stream.follow_after_fit(batch.payload, batch.mask, plan.following(), settled)
            labels, residuals = assign(published.bases, working, plan.n_threads)
            if whitening is not None and interrupt is None:
                good = is_near(published.bases, labels, residuals, working)
                self._refit_original(published, samples, labels, good, plan, found)
            rejected = self._rejected(labels, residuals, samples, working, published)
            spent = time.perf_counter() - began
            timings = found["timings"]
            timings["refine"] = spent - timings["seed"] - timings["select"]
            report = UnionReport(found["history"], found["status"], found["estimated_angles"], timings)
            self._published = published._replace(labels=rejected, report=report)
        if interrupt is not None:
            raise interrupt
        self._warn_unless_converged(report)
        return self

    def partial_fit(self, X: Any, y: None = None, mask: Any = None) -> KGASG21:
        """Assign each sample to the nearest subspace and update that one, in the order given.

        The first call selects where to start from its samples, as `fit` does (it needs enough of them: some ten per
        cluster and dimension); later calls continue. It makes one run, whatever `n_ensemble` is. ``labels_`` and
        ``residuals_`` are those of the samples of this call, before each of them moved its subspace.
        """
        interrupt: KeyboardInterrupt | None = None
        with unchanged_on_error(self):
            samples, working, before = self._start_or_continue(*one_as_row(X, mask))
            assert self._stream is not None
            batch, bases = working.whole(), self._stream.subspaces()
            found: tuple[Array, Array] | None = None
            with progress_bar(self, samples.n_samples, 1) as progress:
                try:
                    found = self._stream.consume(batch.payload, batch.mask, None, progress)
                except KeyboardInterrupt as caught:  # the stream stands between two vectors
                    interrupt = caught
            published = self._snapshot(self._stream.subspaces(), before.whitening)
            _keep_unmoved(bases, before.subspaces, published)
            if found is not None:
                labels = self._rejected(*found, samples, working, published)
                published = published._replace(labels=labels, residuals=found[1])
            stream = UnionStreamReport(*self._stream.following())
            self._published = published._replace(report=before.report, stream=stream)
        if interrupt is not None:
            raise interrupt
        return self

    def fit_predict(self, X: Any, y: None = None, mask: Any = None) -> Array:
        """Find the subspaces and return the labels of the samples."""
        return self.fit(X, y, mask=mask).labels_

    def fit_transform(self, X: Any, y: None = None, mask: Any = None) -> Array:
        """Find the subspaces and return the residuals of the samples."""
        return self.fit(X, y, mask=mask).transform(X, mask=mask)

    def _start_or_continue(self, X: Any, mask: Any) -> tuple[Samples, Samples, PublishedUnion]:
        """Return the samples, those in the working coordinates, and what was published before them."""
        if self._stream is not None:
            self._check_parameters()
            self._check_same_clusters()
            samples, before = self._check_new(X, mask), self._current()
            return samples, self._working(samples, before.whitening), before
        samples = self._check_fit(X, mask)
        whitening = self._whitening_of(samples)
        working = self._working(samples, whitening)
        plan = self._plan(working)
        start = plan.run(_without_outliers(samples, working, whitening, plan), goal="start_of_stream")
        if start["interrupt"] is not None:
            raise start["interrupt"]
        self._stream = start["stream"]
        return samples, working, self._snapshot(start["subspaces"], whitening)

    def _whitening_of(self, samples: Samples) -> Whitening | None:
        """Return the coordinates in which the clusters are to be found; None: those of the data."""
        if not self.whiten:
            return None
        dimensions = self._dimensions(samples.n_features)
        return Whitening.of(finite_rows(samples), dimensions, seed_of(self.random_state), n_threads(self.n_jobs))

    def _recover(self, plan: UnionPlan, samples: Samples, progress: Progress | None) -> dict[str, Any]:
        if self.n_ensemble == 1 or (len(plan.dimensions) == 1 and isinstance(plan.init, str)):
            return plan.run(samples, progress)

        def inliers(subspaces: list[Array]) -> Array:
            return is_near(subspaces, *assign(subspaces, samples, plan.n_threads), samples)

        return join_runs(plan, samples, self.n_ensemble, inliers)

    # ---- parameters

    def _check_parameters(self) -> None:
        check_integer("n_clusters", self.n_clusters, 1)
        check_integer("n_ensemble", self.n_ensemble, 1)
        check_integer("max_passes", self.max_passes, 1)
        check_number("tol", self.tol, 0)
        check_n_jobs(self.n_jobs)
        check_replay(self.replay)
        for name in ("whiten", "scaling", "polish", "reject_outliers"):
            check_flag(name, getattr(self, name))

    def _check_fit(self, X: Any, mask: Any) -> Samples:
        self._check_parameters()
        samples = check_samples(self, X, mask, reset=True)
        check_integer("n_clusters", self.n_clusters, 1, samples.n_samples, "n_samples = ")
        self._dimensions(samples.n_features)
        return samples

    def _check_same_clusters(self) -> None:
        now = [len(subspace) for subspace in self._current().subspaces]
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

    def _dimensions(self, n_features: int) -> tuple[int, ...]:
        given = self.n_components
        if isinstance(given, list | tuple | np.ndarray):
            if len(given) != self.n_clusters:
                msg = f"n_components={given!r} must be one integer or a list of n_clusters={self.n_clusters} integers"
                raise InvalidInputError(msg)
            return tuple(check_components(d, n_features) for d in given)
        return (check_components(given, n_features),) * self.n_clusters

    def _plan(self, working: Samples) -> UnionPlan:
        dimensions = self._dimensions(self.n_features_in_)
        init: str | list[Array]
        if isinstance(self.init, str):
            check_choice("init", self.init, ("density", "farthest"))
            init = "farthest" if self.whiten else self.init  # whitening leaves outliers out, which density avoids
        else:
            init = self._given_subspaces(dimensions, working.dtype)
        if self.n_candidates is not None:
            check_integer("n_candidates", self.n_candidates, self.n_clusters)
        if self.n_neighbors is not None:
            check_integer("n_neighbors", self.n_neighbors, 1)
        return UnionPlan(
            dimensions=dimensions,
            init=init,
            n_candidates=self.n_candidates or 0,
            n_neighbors=self.n_neighbors or (2 * max(dimensions) + 2 if self.whiten else 0),
            scaling=bool(self.scaling),
            polish=bool(self.polish),
            step_size=self.step_size,
            max_passes=self.max_passes,
            tol=self.tol,
            seed=seed_of(self.random_state),
            n_threads=n_threads(self.n_jobs),
            replay=self.replay,
        )

    def _given_subspaces(self, dimensions: tuple[int, ...], dtype: np.dtype[Any]) -> list[Array]:
        if self.whiten:
            msg = "init must be 'density' or 'farthest' with whiten=True, which changes the coordinates"
            raise InvalidInputError(msg)
        wanted = [(d, self.n_features_in_) for d in dimensions]
        try:
            arrays = [np.array(each, dtype, order="C") for each in self.init]
        except (ValueError, TypeError) as error:
            msg = f"init={self.init!r} must be 'density', 'farthest' or a list of arrays of numbers"
            raise InvalidInputError(msg) from error
        if [a.shape for a in arrays] != wanted:
            msg = f"init has the shapes {[a.shape for a in arrays]}; they must be (d_i, n_features) = {wanted}"
            raise InvalidInputError(msg)
        for k, a in enumerate(arrays):
            if not np.isfinite(a).all() or np.linalg.matrix_rank(a) < len(a):
                msg = f"init[{k}] must have finite, linearly independent rows"
                raise InvalidInputError(msg)
        return [np.ascontiguousarray(np.linalg.qr(a.T)[0].T) for a in arrays]

    # ---- publishing

    def _snapshot(
        self, bases: list[Array], whitening: Whitening | None, counters: dict[str, int] | None = None
    ) -> PublishedUnion:
        assert self._stream is not None
        subspaces = list(bases) if whitening is None else [whitening.original(U) for U in bases]
        return PublishedUnion(subspaces, bases, whitening, counters or self._stream.counters())

    def _refit_original(
        self,
        published: PublishedUnion,
        samples: Samples,
        labels: Array,
        good: Array,
        plan: UnionPlan,
        found: dict[str, Any],
    ) -> None:
        """Fit each cluster in the data's own coordinates, some of which whitening leaves out."""
        assert published.whitening is not None
        X = finite_rows(samples)
        good = good & ~published.whitening.is_outlier(X)
        for k, d in enumerate(plan.dimensions):
            one = fit_members(X[good & (labels == k)], d, plan)
            if one is not None:
                published.subspaces[k] = one.components
                found["estimated_angles"][k] = one.estimated_angle
        if found["status"] in ("undetermined", "noise_floor"):
            lost = _core.verdict(found["estimated_angles"], plan.tol) == "undetermined"
            found["status"] = "undetermined" if lost else "noise_floor"

    def _warn_unless_converged(self, report: UnionReport) -> None:
        status = report.status
        if status in ("converged", "noise_floor") or (status == "max_passes" and self.tol == 0):
            return
        worst = int(np.argmax(report.estimated_angles))
        said = {
            "max_passes": f"some subspace moved by {np.max(report.history[-1]['moved']):.1e} rad in the last pass "
            f"(max_passes={self.max_passes}, tol={self.tol}). Raise max_passes; if that does not help, n_clusters or "
            "n_components may be too small.",
            "undetermined": f"the data does not determine all subspaces (not that of cluster {worst}, for one). Give "
            "more data or more entries of it, or use a smaller n_clusters or n_components.",
            "rank_deficient": "the samples do not span a subspace of dimension "
            f"n_components={len(self.subspaces_[worst])}: use a smaller n_components.",
        }[status]
        warnings.warn(said, ConvergenceWarning, stacklevel=3)

    # ---- fitted attributes

    @property
    def subspaces_(self) -> list[Array]:
        """Orthonormal bases of the subspaces, (d_i, n_features) each."""
        return list(self._current().subspaces)

    @property
    def labels_(self) -> Array:
        """Cluster of each training sample."""
        return _known(self._current().labels, "labels_")

    @property
    def residuals_(self) -> Array:
        """Distance of each sample of the last `partial_fit` to its subspace."""
        return _known(self._current().residuals, "residuals_")

    @property
    def cluster_status_(self) -> list[str]:
        """How the stream of each subspace fares, after `partial_fit`."""
        return list(_known(self._current().stream, "cluster_status_").statuses)

    @property
    def cluster_changes_(self) -> list[list[int]]:
        """After how many vectors of the stream each subspace was seen to change, after `partial_fit`."""
        return list(_known(self._current().stream, "cluster_changes_").cluster_changes)

    @property
    def estimated_angles_(self) -> Array:
        """Standard error of the largest angle between each subspace and the true one."""
        return np.asarray(self._fit_report().estimated_angles)

    @property
    def timings_(self) -> dict[str, float]:
        """Seconds that the last `fit` spent in "seed", "select" and "refine"."""
        return dict(self._fit_report().timings)


def _known(value: Array | None, name: str) -> Array:
    if value is None:
        msg = f"there is no {name} yet"
        raise AttributeError(msg)
    return value


def _without_outliers(samples: Samples, working: Samples, whitening: Whitening | None, plan: UnionPlan) -> Samples:
    """Return the whitened samples without those that lie outside the span of all clusters."""
    if whitening is None:
        return working
    good = ~whitening.is_outlier(finite_rows(samples))
    enough = good.sum() >= len(plan.dimensions)
    return Samples(working.data[good], None, working.dtype) if enough else working


def _keep_unmoved(bases: list[Array], subspaces: list[Array], after: PublishedUnion) -> None:
    """Keep subspaces whose bases in the stream have not moved: they may be better than those mapped back."""
    for k, (old, new) in enumerate(zip(bases, after.bases, strict=True)):
        if np.array_equal(old, new):
            after.subspaces[k] = subspaces[k]
